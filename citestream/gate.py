"""Judges an answer by a policy while it streams, and lets out what has passed.

It does not know where the chunks come from, and asks no judge itself: it says
what there is to ask, and is told.
"""

from __future__ import annotations

import logging
import math
import re
import time
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from citestream.corrections import correction
from citestream.events import Attempt, Caution, Citation, Claim, Retract, Sentence, Summary, Text
from citestream.exceptions import FinishedError, PolicyError
from citestream.exposed import Exposure
from citestream.filter import Checked, CitationFilter
from citestream.passages import NO_ANSWER
from citestream.policy import CHECKS, AnswerPolicy
from citestream.refusal import RefusalFinder
from citestream.shown import MOST_NOTED, Shown, refusal
from citestream.withheld import Withheld

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from citestream.events import Check, Ended, Event, Label, Outcome, Verdict
    from citestream.passages import Passage, Passages
    from citestream.policy import Action

__all__ = [
    "MOST_DRAFT",
    "MOST_WITHHELD",
    "Ask",
    "Decision",
    "Gate",
    "check_answer",
    "check_options",
]

MOST_WITHHELD = 1_000_000
"""Characters of an answer that wait for its end, at most; a longer one is `too_long`.

A model's longest answers have some 200,000.
"""

MOST_DRAFT = 16_384
"""Characters of a refused draft that are logged."""

# Inline code cites nothing and refuses nothing.
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)

_log = logging.getLogger("citestream")
# By itself, so that those who may not keep what models write can turn it off.
_drafts = logging.getLogger("citestream.draft")


@dataclass(frozen=True, slots=True)
class Decision:
    """That an answer is not shown, or not shown on."""

    reason: Check
    """The first check that failed."""
    action: Action
    """`"retry"` or `"refuse"`."""
    correction: str
    """What was wrong, as an instruction for the model's next attempt."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A sentence and the passages it cites, for a judge."""

    number: int
    """Names it in the answer."""
    sentence: Sentence
    passages: tuple[Passage, ...]


@dataclass(slots=True)
class _Judged:
    """A sentence that has ended, on its way to the reader."""

    sentence: Sentence
    passages: tuple[Passage, ...] = ()
    """What it cites, for a judge."""
    cautions: list[Caution] = field(default_factory=list)
    omitted: bool = False
    waits: bool = False
    """Whether a judge has to say something of it first."""
    claim: Claim | None = None
    marks: int = 0
    """How many of its markers cite a passage."""
    exposes: bool = False
    """Whether it shows an invented marker when others are left out."""
    out: bool = False


class Gate:
    """Filters an answer as `CitationFilter` does, and lets out what its policy lets pass.

    It is fed and finished like a filter. When the answer fails, `decision`
    says so: what is fed from then on is dropped, and after a refusal the
    fixed text has come out. A failure that asks for a retry is left to whoever
    drives it.

    Args:
        passages: What was in the prompt, as for `CitationFilter`.
        policy: What is checked.
        before: What earlier attempts cost.
        judged: Whether a judge is asked: then `asks` fills, and `hear` tells.
        sentences: As for `CitationFilter`: whether `Sentence` events come out.
        options: All else that `CitationFilter` takes.

    Raises:
        PolicyError: The policy and the options contradict each other.
    """

    def __init__(
        self,
        passages: Any,
        policy: AnswerPolicy,
        *,
        before: tuple[Attempt, ...] = (),
        judged: bool = False,
        sentences: Any = False,
        **options: Any,
    ) -> None:
        check_options(policy, options, judged=judged)
        self._filter = CitationFilter(passages, sentences=sentences or True, **options)
        self.policy = policy
        """What is checked."""
        self.decision: Decision | None = None
        """That the answer failed; `None` as long as it has not."""
        self.asks: list[Ask] = []
        """What there is to ask the judge. Whoever asks it clears the list."""
        self._ended: float | None = None
        self.began = time.monotonic()
        """When the attempt began, on the clock of `time.monotonic`."""
        self._before = before
        self._judged = judged
        self._tells = bool(sentences)
        self._actions: dict[Check, Action] = dict(policy.checks)
        self._at_once = policy.emit == "token"
        self._whole = policy.emit == "answer"
        self._withheld = Withheld()
        self._settled = 0  # up to where what belongs to no sentence has been let out
        self._out: list[Event] = []
        self._released = False  # has all that waited for the end of the answer come out?
        # Sentences that have ended and are not out, and those a judge has.
        self._queue: deque[_Judged] = deque()
        self._asked: dict[int, _Judged] = {}
        self._number = 0
        # Markers that no sentence has claimed yet.
        self._marks: deque[Citation] = deque()
        refusal = options.get("refusal", NO_ANSWER)
        self._finder = None if refusal is None else RefusalFinder(refusal)
        self._shown = Shown()
        self._passed = 0  # sentences that are not left out
        self._uncited = 0  # those of them without a citation
        self._citing = 0  # markers that cite a passage and are not left out
        # Labels that have no passage, of sentences that were judged.
        self._invalid: dict[Label, None] = {}
        self._why_omitted: Check | None = None
        self._exposure = Exposure(options) if policy.omits else None
        self._seen = False  # has anything left?
        # What the whole answer failed, told when it is out.
        self._late: list[Check] = []
        self._score: Summary | None = None
        self._finished = False
        # What the model wrote, for the log and for what it cost.
        self._draft: list[str] = []
        self._characters = 0
        self._judge_passages()

    @property
    def passages(self) -> Passages:
        """What was in the prompt."""
        return self._filter.passages

    @property
    def finished(self) -> bool:
        """Whether the answer has ended."""
        return self._finished

    @property
    def attempt(self) -> int:
        """Which attempt this is, from one."""
        return len(self._before) + 1

    @property
    def waiting(self) -> bool:
        """Whether a judge is still to be heard."""
        return bool(self._asked)

    def feed(self, chunk: str) -> list[Event]:
        """Judge the next chunk and return what may be shown now.

        Raises:
            FinishedError: The answer has ended.
            SourceError: The chunk is not a `str`.
        """
        if self._finished:
            self._check_open()
        if self.decision is not None:
            return self.take()
        # A list of events, whatever kinds the filter's type leaves out.
        events: list[Any] = self._filter.feed(chunk)
        if self._characters < MOST_DRAFT:
            self._draft.append(chunk)
        self._characters += len(chunk)
        if not events:
            # All of it is held.
            return self.take()
        if len(events) == 1 and events[0].__class__ is Text and (self._whole or not self._out):
            # The most common chunk: more of a sentence that goes on.
            if self._at_once:
                self._seen = True
                return events
            self._withheld.add(events[0])
            if self._filter.settled == self._settled:
                if self._whole and self._characters > MOST_WITHHELD:
                    self._decide("too_long", "refuse")
                    return self.take()
                return []
            self._advance()
        else:
            self._take(events)
        return self.take()

    def hear(self, number: int, verdict: Verdict) -> None:
        """Take what a judge says of an ask; `take` gives what may be shown then."""
        judged = self._asked.pop(number, None)
        if judged is None:
            return
        judged.waits = False
        claim = judged.claim = Claim(judged.sentence.content, verdict)
        if verdict == "contradicted":
            self._fail("unsupported", judged)
        if self.decision is None:
            if judged.omitted:
                self._leave_out(judged)
            if judged.out:
                self._tell_claim(claim)
            self._advance()

    def take(self) -> list[Event]:
        """Return what may be shown now and has not been returned."""
        if not self._out or (self._whole and not self._released):
            return []
        events, self._out = self._out, []
        self._seen = True
        return events

    def end(self) -> None:
        """Say that the answer is whole: its last sentence is judged, and then the whole of it."""
        if self.decision is not None or self._score is not None:
            return
        *events, score = self._filter.finish()
        assert isinstance(score, Summary)
        self._score = score
        self._take(events, last=True)

    def finish(self, ended: Ended = "complete", reason: str | None = None) -> list[Event]:
        """Say that no more comes; return what was kept back and has passed, the summary last.

        Of an answer that broke off, only what has passed before is shown.

        Raises:
            FinishedError: It was already called.
        """
        if ended != "complete":
            if self._at_once and self.decision is None and self._score is None:
                *events, score = self._filter.finish(ended, reason)
                assert isinstance(score, Summary)
                self._score = score
                # A sentence that broke off fails nothing.
                self._show(e for e in events if isinstance(e, Text | Citation))
            summary = self.discard(ended, reason)
            return [*self.take(), summary]
        self._check_open()
        self.conclude()
        self._finished = True
        return [*self.take(), self._summary(ended, reason)]

    def discard(self, ended: Ended = "cancelled", reason: str | None = None) -> Summary:
        """Drop what is kept back and return the summary.

        Raises:
            FinishedError: The answer has ended already.
        """
        self._check_open()
        self._finished = True
        if self.decision is not None:
            return self._summary(ended, reason)
        if self._score is None:
            self._score = self._filter.discard(ended, reason)
        if not self._at_once:
            # What is known of text that nobody has seen is for nobody.
            self._score = replace(
                self._score, invalid=tuple(self._invalid), removed=0, near=(), repaired=()
            )
            self._withheld.clear()
        if self._whole:
            self._forget()
            self._score.invalid = ()
        return self._summary(ended, reason)

    def cost(self, outcome: Outcome, reason: Check | None = None) -> tuple[Attempt, ...]:
        """Return what this attempt and those before it cost."""
        ended = time.monotonic() if self._ended is None else self._ended
        return (*self._before, Attempt(self._characters, ended - self.began, outcome, reason))

    # What comes from the filter

    def _take(self, events: Iterable[Event], *, last: bool = False) -> None:
        sentences: list[Sentence] = []
        for event in events:
            if isinstance(event, Sentence):
                sentences.append(event)
            elif isinstance(event, Text | Citation):
                if isinstance(event, Citation):
                    self._mark(event)
                if self._at_once:
                    self._show((event,))
                else:
                    self._withheld.add(event)
        final = sentences.pop() if last and sentences else None
        for sentence in sentences:
            judged, failures = self._failures(sentence)
            self._judge(judged, failures)
            if self.decision is not None:
                return
        if last:
            self._judge_last(final)
        else:
            self._judge_between(self._filter.settled)
        if self.decision is None and not self._at_once:
            self._advance()
            if self._whole and self._characters > MOST_WITHHELD:
                self._decide("too_long", "refuse")
            elif len(self._withheld) > MOST_WITHHELD:
                # A judge holds it up; what follows is more than can wait.
                for number in list(self._asked):
                    self.hear(number, "unknown")

    def _mark(self, mark: Citation) -> None:
        """Keep a marker until its sentence has ended."""
        if self._marks and not mark.text and not mark.cited:
            last = self._marks[-1]
            if last.end == mark.start and not last.cited:
                # Any number of removed markers can stand in one place.
                if len(last.invalid) < MOST_NOTED:
                    invalid = tuple(dict.fromkeys((*last.invalid, *mark.invalid)))
                    self._marks[-1] = replace(last, invalid=invalid)
                return
        self._marks.append(mark)

    # Judging

    def _judge_passages(self) -> None:
        """Judge what is known before there is an answer."""
        passages = self._filter.passages
        if not passages:
            self._fail("no_passages")
        if self.decision is None and self.policy.floor is not None:
            scores = [passage.score for passage in passages if passage.score is not None]
            if max(scores, default=float("-inf")) < self.policy.floor:
                self._fail("below_floor")

    def _failures(self, sentence: Sentence) -> tuple[_Judged, list[Check]]:
        """Return what a sentence fails, in the order of the checks."""
        self._judge_between(sentence.start)
        marks = self._marks_before(sentence.end + 1)
        judged = _Judged(sentence, marks=sum(bool(mark.cited) for mark in marks))
        if self._judged and sentence.covered:
            judged.passages = tuple(passage for mark in marks for passage in mark.passages)
        failures: list[Check] = []
        if self._refuses(sentence):
            failures.append("model_refused")
        judged.exposes = self._exposure is not None and self._exposure.exposes(
            sentence, marks, self.passages
        )
        if judged.exposes or any(_is_invented(mark) for mark in marks):
            failures.append("invented_citation")
        if not sentence.covered:
            failures.append("uncited_sentence")
        most = self.policy.max_sentences
        if most is not None and self._passed >= most:
            failures.append("too_long")
        return judged, failures

    def _judge_between(self, end: float) -> None:
        """Judge the markers up to a place that are in no sentence: in a heading, before a colon."""
        if any(_is_invented(mark) for mark in self._marks_before(end)):
            self._fail("invented_citation")

    def _refuses(self, sentence: Sentence) -> bool:
        if self._finder is None or self._finder.found:
            # It is said once, and was judged then.
            return False
        self._finder.feed(_CODE.sub(" ", sentence.content))
        return self._finder.found

    def _marks_before(self, end: float) -> list[Citation]:
        """Take the markers that begin before a place."""
        marks: list[Citation] = []
        while self._marks and self._marks[0].start < end:
            mark = self._marks.popleft()
            marks.append(mark)
            self._citing += bool(mark.cited)
            for label in mark.invalid:
                if len(self._invalid) < MOST_NOTED:
                    self._invalid[label] = None
        return marks

    def _judge(self, judged: _Judged, failures: Iterable[Check]) -> None:
        """Do what the policy says of a sentence that has ended, and of the whole with the last."""
        self._passed += 1
        self._uncited += not judged.sentence.covered
        for check in failures:
            self._fail(check, judged)
        if self.decision is not None:
            return
        if judged.exposes and not judged.omitted:
            # Whatever the policy says of markers: the filter promises that none is shown.
            self._omit("invented_citation", judged)
        self._queue.append(judged)
        if judged.omitted:
            self._leave_out(judged)
        elif judged.passages:
            judged.waits = self._actions.get("unsupported", "warn") != "warn"
            self._asked[self._number] = judged
            self.asks.append(Ask(self._number, judged.sentence, judged.passages))
            self._number += 1
        if self._at_once:
            self._advance()

    def _leave_out(self, judged: _Judged) -> None:
        self._passed -= 1
        self._uncited -= not judged.sentence.covered
        self._citing -= judged.marks

    def _judge_last(self, sentence: Sentence | None) -> None:
        """Judge the last sentence, and with it the whole answer."""
        if sentence is None:
            failures = self._failures_of_whole(None, [])
            for check in failures:
                if self.decision is None:
                    self._fail(check)
            return
        judged, of_last = self._failures(sentence)
        failures = self._failures_of_whole(judged, of_last)
        self._judge(judged, sorted({*of_last, *failures}, key=CHECKS.index))

    def _failures_of_whole(self, last: _Judged | None, of_last: list[Check]) -> list[Check]:
        """Return what the whole answer fails; of its last sentence alone it is not yet known."""
        assert self._score is not None
        failures: list[Check] = []
        if self._score.refused_by is not None and not (self._finder and self._finder.found):
            # It was said over several sentences, or where there are none.
            failures.append("model_refused")
        self._judge_between(math.inf)
        # `conclude` looks once more, when what is left out is left out.
        if not self._citing:
            failures.append("no_citation")
        sentences, uncited = self._passed, self._uncited
        if last is not None and not any(self._actions.get(c) == "omit" for c in of_last):
            sentences += 1
            uncited += not last.sentence.covered
        most = self.policy.max_uncited_share
        if most is not None and uncited > most * sentences:
            failures.append("uncited_share")
        return failures

    def _fail(self, check: Check, judged: _Judged | None = None) -> None:
        """Do what the policy says of a check that failed."""
        action = self._actions.get(check)
        if action is None or self.decision is not None:
            return
        if check in _OF_WHOLE:
            if action == "warn":
                self._late.append(check)
            else:
                self._decide(check, action)
        elif judged is not None and judged.omitted:
            pass  # what is not shown fails nothing more
        elif action == "warn":
            caution = Caution(check, "" if judged is None else judged.sentence.content)
            if judged is None or judged.out:
                self._warn(caution)
            else:
                judged.cautions.append(caution)
        elif action != "omit":
            self._decide(check, action)
        elif judged is not None:
            self._omit(check, judged)

    def _omit(self, check: Check, judged: _Judged) -> None:
        judged.omitted = True
        judged.cautions.clear()
        self._why_omitted = self._why_omitted or check
        assert self._exposure is not None  # the policy omits
        self._exposure.omit(judged.sentence.content)

    def conclude(self) -> None:
        """Let the rest out, or refuse when nothing was left; a judge has had its time."""
        self.end()
        for number in list(self._asked):
            self.hear(number, "unknown")
        if self.decision is not None or self._released:
            return
        self._advance()
        if self._why_omitted is not None:
            if not self._passed and (self._whole or not self._withheld.shown):
                self._decide(self._why_omitted, "refuse")
            elif not self._citing and "no_citation" not in self._late:
                # What cited something was left out at the end, or by a judge.
                self._fail("no_citation")
        if self.decision is None:
            for check in self._late:
                self._warn(Caution(check, ""))
            self._released = True

    # What comes out

    def _advance(self) -> None:
        """Let out the sentences that have passed, and what stands between them."""
        queue = self._queue
        while queue and not queue[0].waits:
            judged = queue.popleft()
            sentence = judged.sentence
            if judged.omitted:
                self._shown.omission()
                self._show(self._withheld.omit(sentence.start, sentence.end))
                continue
            if not self._at_once:
                moved = self._withheld.show(sentence.start, sentence.end)
                self._show(moved)
                end = self._withheld.shown
                if end != sentence.end:
                    start = end - (sentence.end - sentence.start)
                    sentence = replace(sentence, start=start, end=end)
            judged.out = True
            self._shown.sentence(sentence)
            if self._tells:
                self._out.append(sentence)
            for caution in judged.cautions:
                self._warn(caution)
            if judged.claim is not None:
                self._tell_claim(judged.claim)
        if not queue and not self._at_once:
            if self._score is None:
                self._settled = self._filter.settled
                self._show(self._withheld.flow(self._settled))
            else:
                self._show(self._withheld.rest())

    def _show(self, events: Iterable[Text | Citation]) -> None:
        for event in events:
            self._out.append(event)
            if isinstance(event, Citation):
                self._shown.citation(event)

    def _warn(self, caution: Caution) -> None:
        self._out.append(caution)
        self._shown.caution(caution)

    def _tell_claim(self, claim: Claim) -> None:
        self._out.append(claim)
        self._shown.claim(claim)

    # What ends it

    def _decide(self, check: Check, action: Action) -> None:
        self._ended = time.monotonic()
        wrong = correction(
            check,
            labels=tuple(self._invalid),
            number=self._passed,
            max_sentences=self.policy.max_sentences,
        )
        self.decision = Decision(check, action, wrong)
        outcome = "retried" if action == "retry" else "refused"
        _log.info("attempt %d %s reason=%s", self.attempt, outcome, check)
        draft = "".join(self._draft)[:MOST_DRAFT]
        _drafts.info("attempt %d reason=%s draft=%r", self.attempt, check, draft)
        if not self._filter.finished:
            self._filter.discard()
        self._forget()
        if self._seen:
            self._out.append(Retract("retry" if action == "retry" else "refusal", self.attempt))
        if action == "refuse":
            self._out.append(Text(self.policy.refusal))
            self._released = True

    def _forget(self) -> None:
        """Drop all that is not out, and the score of what was."""
        self._out.clear()
        self._withheld.clear()
        self._queue.clear()
        self._asked.clear()
        self.asks.clear()
        self._marks.clear()
        self._draft.clear()
        self._invalid.clear()
        self._shown.clear()

    def _summary(self, ended: Ended, reason: str | None) -> Summary:
        if self.decision is not None:
            refused = self.decision.action == "refuse"
            why = self.decision.reason
            cost = self.cost("refused" if refused else "retried", why)
            return refusal(cost, ended, why if refused else reason, refused=refused)
        assert self._score is not None
        cost = self.cost("shown" if ended == "complete" else ended)
        return self._shown.summary(self._score, self.passages.by_label, cost, ended, reason)

    def _check_open(self) -> None:
        if self._finished:
            raise FinishedError(
                "expected an open gate, got one that has finished: make one gate per answer"
            )


_OF_WHOLE = frozenset(("no_citation", "uncited_share"))


def _is_invented(mark: Citation) -> bool:
    # One that is too long to convert lists no label at all.
    return bool(mark.invalid) or not mark.cited


def check_answer(answer: str, passages: Any, policy: AnswerPolicy, **options: Any) -> Checked:
    """Judge a whole answer by a policy.

    Args:
        answer: What the model wrote.
        passages: What was in the prompt, as for `CitationFilter`.
        policy: What is checked. What is shown at once is all the same here.
        **options: The options of `CitationFilter`.

    Returns:
        What may be shown, which is the refusal where the answer failed, and its score.

    Raises:
        SourceError: The answer is not a `str`.
        PolicyError: The policy asks for a second attempt, or for a judge.
    """
    if policy.retries:
        raise PolicyError(
            'expected a policy without "retry", got one that asks the model again: '
            "a whole answer is all there is, so use citestream.respond"
        )
    gate = Gate(passages, policy, **options)
    shown = ""
    summary: Summary | None = None
    for event in [*gate.feed(answer), *gate.finish()]:
        if isinstance(event, Summary):
            summary = event
        elif isinstance(event, Retract):
            shown = ""
        elif isinstance(event, Text | Citation):
            shown += event.text
    assert summary is not None  # it is always the last
    return Checked(
        answer=shown,
        cited=list(summary.cited),
        invalid=list(summary.invalid),
        unused=list(summary.unused),
        grounded=summary.grounded,
        summary=summary,
    )


def check_options(
    policy: AnswerPolicy, options: Mapping[str, Any], *, judged: bool = False
) -> None:
    """Check that a policy and the options of a filter fit together.

    Raises:
        PolicyError: They do not.
    """
    if not isinstance(policy, AnswerPolicy):
        raise PolicyError(f"expected an AnswerPolicy, got {type(policy).__name__}")
    if policy.omits and options.get("renumber"):
        raise PolicyError(
            "expected renumber=False beside a policy that omits sentences, got True: "
            "the numbers of what is left out would be missing"
        )
    if policy.model_refused is not None and options.get("refusal", NO_ANSWER) is None:
        raise PolicyError(
            "expected a refusal sentence to look for beside model_refused=, got refusal=None"
        )
    if policy.unsupported is not None and not judged:
        raise PolicyError("expected verify= beside unsupported=, got no judge")
