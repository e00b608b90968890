"""Random and scripted answers under a policy: what is shown keeps the promise.

`CITESTREAM_ANSWERS=10000` tries as many as the promise was measured with.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from citestream import NO_ANSWER, Citation, CitationFilter, Text, check_citations
from citestream.events import Event, Retract, Sentence, Summary
from citestream.gate import Gate
from citestream.policy import AnswerPolicy
from citestream.sentences import MOST_SENTENCE
from citestream.styles import LABEL, NUMERIC
from citestream.testing import invented
from tests.answers import hostile_answer
from tests.cases import BRACKETS, EXTRA, SENTENCES
from tests.cases import NUMERIC as NUMERIC_CASES
from tests.test_policy import EMITS, feed, summary_of, visible

ANSWERS = int(os.environ.get("CITESTREAM_ANSWERS", "400"))

STRICT = AnswerPolicy.strict()
BY_SENTENCE = AnswerPolicy.strict(emit="sentence")
OMITTING = AnswerPolicy(
    emit="sentence", uncited_sentence="omit", invented_citation="omit", no_citation="refuse"
)
LABELS = (1, 2, 3)

WORDS = [
    *"refunds take five days when a rider cancels early under Art. 6 of the plan".split(),
    *'e.g. today, says Dr. Who, at 3.5 km "so" (yes) it\'s Fahrräder 好的 v1.2.3 U.S. of'.split(),
    "`x[9] = y`",
    "**bold**",
]
GOOD = ("[1]", "[2]", "[1, 2]", "[3]", "[1][2]", "[Source 1]", "[1-3]", "(see [1])")
BAD = ("[9]", "[7, 8]", "[1, 9]", "[Source 12]", "[0]", "[99999999999]", "[[9]]", "([8])")
NO_PROSE = (
    "# A title",
    "## Another [9]",
    "So it says:",
    "```py\nx[9] = 1. Not a sentence.\n```",
    "| a | b |\n|---|---|",
    "---",
)


@dataclass(frozen=True)
class Written:
    """A sentence with a word that no other has, and what is right for it."""

    text: str
    word: str
    shown: bool


def sentence(dice: random.Random, number: int, good: float) -> Written:
    word = f"word{number}x"
    words = [*dice.choices(WORDS, k=dice.randrange(6)), word]
    kind = dice.random()
    mark, shown = " " + dice.choice(GOOD), True
    if kind > good:
        shown = False
        mark = dice.choice(("", "", " " + dice.choice(BAD)))
    stop = dice.choice("..?!…")
    text = " ".join(words)
    # In words behind a stop it would be a sentence of its own.
    before = dice.random() < 0.7 or "(" in mark
    text = text + mark + stop if before else text + stop + mark
    return Written(text, word, shown)


def answer_of(dice: random.Random) -> tuple[str, list[Written]]:
    """Write an answer of which it is known where its sentences end and what each one cites."""
    written: list[Written] = []
    blocks: list[str] = []
    good = dice.choice((0.5, 0.9, 1.0))
    for _ in range(dice.randint(1, 5)):
        if dice.random() < 0.25:
            # Nothing in it is a sentence, but its markers are judged.
            blocks.append(dice.choice(NO_PROSE))
            continue
        own = [sentence(dice, len(written) + n, good) for n in range(dice.randint(1, 4))]
        written += own
        texts = [w.text for w in own]
        kind = dice.random()
        if kind < 0.3:
            bullet = dice.choice(("- ", "1. ", "* ", "> "))
            blocks.append("\n".join(bullet + text for text in texts))
        else:
            blocks.append(dice.choice((" ", "  ", "\n")).join(texts))
    return "\n\n".join(blocks) + dice.choice(("", "\n")), written


def cut(dice: random.Random, answer: str) -> list[str]:
    most = dice.choice((1, 8, 8, 8, 40, 40, 10_000, 10_000))
    chunks = []
    at = 0
    while at < len(answer):
        size = dice.randint(1, most)
        chunks.append(answer[at : at + size])
        at += size
    return chunks


def run(policy: AnswerPolicy, chunks: Sequence[str]) -> tuple[list[str], Summary]:
    """Return all that was ever on the screen, in order, and the summary."""
    gate = Gate(3, policy)
    screens: list[str] = []
    shown = ""
    batches: list[list[Event]] = [*map(gate.feed, chunks), gate.finish()]
    for batch in batches:
        for event in batch:
            if isinstance(event, Retract):
                screens.append(shown)
                shown = ""
            elif isinstance(event, Text | Citation):
                shown += event.text
    summary = batches[-1][-1]
    assert isinstance(summary, Summary)
    return [*screens, shown], summary


def broken(screen: str) -> list[object]:
    """Return what on a screen breaks the promise, found by filtering it once more."""
    if screen in ("", NO_ANSWER):
        return []
    again = check_citations(screen, 3, sentences=True)
    uncited: list[object] = [*(again.summary.uncited or ())]
    return [*uncited, *again.invalid, *([again.summary.removed] if again.summary.removed else [])]


def test_written_answers_are_shown_or_refused_as_they_deserve() -> None:
    failures: list[str] = []
    shown = refused = 0
    for seed in range(ANSWERS):
        dice = random.Random(seed)
        answer, written = answer_of(dice)
        chunks = cut(dice, answer)
        # A heading that names [9] is no sentence, and is judged all the same.
        all_good = all(w.shown for w in written) and "## Another" not in answer
        for policy in (STRICT, BY_SENTENCE):
            screens, summary = run(policy, chunks)
            whole = all_good and written != []
            if (summary.refused_by is None) is not whole or broken(screens[-1]):
                failures.append(f"{seed} {policy.emit} {summary.reason} {answer!r}")
            if policy is STRICT and len(screens) > 1:
                failures.append(f"{seed} {policy.emit} was taken back: {answer!r}")
            for screen in screens:
                # Before it was taken back there was nothing wrong with it either.
                words = {w.word for w in written if w.word in screen and not w.shown}
                if words or invented(_prose(screen), LABELS):
                    failures.append(f"{seed} {policy.emit} {words} {screen!r}")
            shown += summary.refused_by is None
            refused += summary.refused_by is not None
        screens, summary = run(OMITTING, chunks)
        expected = [w.word for w in written if w.shown]
        found = re.findall(r"word[0-9]+x", screens[-1])
        if (found if summary.refused_by is None else []) != expected or broken(screens[-1]):
            failures.append(f"{seed} omit {summary.reason} {answer!r} {screens[-1]!r}")
    assert failures[:5] == []
    assert min(shown, refused) > ANSWERS / 5, "both must be tried"


def test_hostile_answers_show_nothing_invented_and_nothing_uncited() -> None:
    failures: list[str] = []
    shown = 0
    for seed in range(ANSWERS):
        dice = random.Random(seed)
        answer = hostile_answer(dice, 30)
        if dice.random() < 0.5:
            answer += " [1]."
        chunks = cut(dice, answer)
        for policy in (STRICT, BY_SENTENCE, OMITTING):
            screens, summary = run(policy, chunks)
            shown += summary.refused_by is None
            if summary.refused_by is None and screens[-1]:
                again = check_citations(screens[-1], 3, sentences=True)
                # What is left out may change what the rest of a hostile answer means
                # to Markdown, but a citation that was invented it cannot bring back.
                if again.invalid or (policy is not OMITTING and again.summary.uncited):
                    failures.append(f"{seed} {policy.emit} {answer!r} {screens[-1]!r}")
            elif screens[-1] != NO_ANSWER:
                failures.append(f"{seed} {policy.emit} {answer!r} {screens[-1]!r}")
    assert failures[:5] == []
    assert shown > ANSWERS / 50


def test_sentence_cases_pass_exactly_if_all_their_sentences_are_cited() -> None:
    policy = AnswerPolicy(emit="answer", uncited_sentence="refuse")
    failures = []
    for case in SENTENCES:
        style = LABEL if any(isinstance(label, str) for label in case.passages) else NUMERIC
        events = feed(Gate(case.passages, policy, style=style), [case.answer])
        refused = summary_of(events).reason == "uncited_sentence"
        if refused is not bool(case.uncited):
            failures.append((case.name, visible(events)))
    assert failures == []


def test_policy_without_checks_changes_nothing_of_any_case() -> None:
    failures: list[object] = []
    for case in (*NUMERIC_CASES, *BRACKETS, *EXTRA):
        plain = CitationFilter(case.passages, sentences=True, **case.options)
        events: list[Event] = [*plain.feed(case.answer), *plain.finish()]
        for emit in EMITS:
            for chunks in ([case.answer], [*case.chunks]):
                policy = AnswerPolicy(emit=emit)
                gated = feed(Gate(case.passages, policy, sentences=True, **case.options), chunks)
                _with_cost(summary_of(gated), summary_of(events))
                # Where a sentence comes among the events depends on the cut.
                if set(map(_told, gated)) != set(map(_told, events)):
                    failures.append((case.name, emit, chunks))
                if visible(gated) != visible(events):
                    failures.append((case.name, emit, visible(gated)))
    assert failures == []


def test_no_cut_changes_what_is_shown() -> None:
    failures = []
    for seed in range(ANSWERS // 3):
        dice = random.Random(seed)
        answer = answer_of(dice)[0] if dice.random() < 0.5 else hostile_answer(dice, 20)
        for policy in (STRICT, BY_SENTENCE, OMITTING):
            whole, one = run(policy, [answer])
            parts, other = run(policy, cut(dice, answer))
            if (whole[-1], one.reason) != (parts[-1], other.reason):
                failures.append(f"{seed} {policy.emit} {answer!r} {whole!r} {parts!r}")
            elif one.refused_by is None and one != _with_cost(other, one):
                failures.append(f"{seed} {policy.emit} {answer!r} {one} {other}")
    assert failures[:5] == []


def test_nothing_waits_longer_than_for_what_decides_its_sentence() -> None:
    """What is withheld is the open sentence, and white space and list marks before it."""
    failures = []
    for seed in range(ANSWERS // 3):
        answer, _ = answer_of(random.Random(seed))
        gate = Gate(3, AnswerPolicy(emit="sentence", uncited_sentence="warn"))
        plain = CitationFilter(3, sentences=True)
        filtered, out, settled = "", "", 0
        for character in answer:
            events: list[Event] = [*plain.feed(character)]
            for event in events:
                if isinstance(event, Sentence):
                    settled = event.end
                elif isinstance(event, Text | Citation):
                    filtered += event.text
            out += visible(gate.feed(character))
            # All that the filter let out up to the end of the last sentence is out.
            if not out.startswith(filtered[:settled]):
                failures.append(f"{seed} {answer!r} {out!r} {filtered[:settled]!r}")
            if not filtered.startswith(out):
                failures.append(f"{seed} {answer!r} {out!r} is not {filtered!r}")
            if len(filtered) - len(out) > MOST_SENTENCE + 512:
                failures.append(f"{seed} {len(filtered) - len(out)} are withheld")
        out += visible(gate.finish())
        if out != filtered + visible(plain.finish()):
            failures.append(f"{seed} {answer!r} {out!r}")
    assert failures[:5] == []


def test_code_and_headings_wait_for_no_sentence() -> None:
    gate = Gate(3, AnswerPolicy(emit="sentence", uncited_sentence="refuse"))
    shown = visible(gate.feed("# A title\n\n```py\n"))
    for number in range(50):
        line = f"x = {number}\n"
        shown += visible(gate.feed(line))
        assert shown.rstrip("\n").endswith(line.strip()), "a line of code is out when it has come"


def test_next_character_decides_that_a_sentence_has_ended() -> None:
    gate = Gate(3, AnswerPolicy(emit="sentence", uncited_sentence="refuse"))
    shown = [
        visible(gate.feed(piece)) for piece in ("Good [1]", ".", " ", "N", "ext [2]. [3]", " O")
    ]
    assert shown == ["", "", "", "Good [1].", "", " Next [2]. [3]"]


def _prose(screen: str) -> str:
    """Return a screen without what the oracle would take for markers and is none."""
    return re.sub(r"```.*?(?:```|\Z)|`[^`]*`", " ", screen, flags=re.DOTALL)


def _told(event: Event) -> str:
    return "" if isinstance(event, Text) else repr(event)


def _with_cost(summary: Summary, other: Summary) -> Summary:
    """Return a summary with the attempts of another: how much was read depends on the cut."""
    summary.attempts = other.attempts
    return summary
