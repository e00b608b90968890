"""What a policy refuses to be, and what each check does to an answer, whatever is shown at once."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from citestream import NO_ANSWER, Citation, CitationStream, Passages, Text, check_citations
from citestream.events import Caution, Ended, Event, Retract, Sentence, Summary
from citestream.exceptions import CitestreamError, FinishedError, PolicyError, SourceError
from citestream.gate import MOST_DRAFT, Gate, check_answer
from citestream.policy import CHECKS, Action, AnswerPolicy, Emit
from citestream.shown import MOST_NOTED
from citestream.testing import FakeModel, cuts
from citestream.withheld import MOST_REMOVED
from tests.loops import on_every_loop

EMITS: tuple[Emit, ...] = ("token", "sentence", "answer")


@dataclass(frozen=True)
class Failing:
    """An answer that fails one check, and nothing else."""

    answer: str
    without: str
    """What is left of it where the failing sentence is left out."""
    sentence: str = ""
    """The sentence that fails, if it is one."""
    first: str = "Good [1]."
    """What has passed before it failed."""
    passages: Any = 3
    limits: Any = None
    early: bool = True
    """Whether it fails before its end."""


FAILING: dict[str, Failing] = {
    "no_passages": Failing("Good.", "", passages=0, first=""),
    "below_floor": Failing(
        "Good [1].",
        "",
        passages=[{"text": "A.", "score": 0.1}, {"text": "B.", "score": 0.17}],
        first="",
        limits={"floor": 0.18},
    ),
    "model_refused": Failing(
        f"Good [1]. {NO_ANSWER} [2] Last [2].", "", sentence=f"{NO_ANSWER} [2]"
    ),
    "invented_citation": Failing(
        "Good [1]. Bad [2, 9]. Last [2].", "Good [1]. Last [2].", sentence="Bad [2]."
    ),
    "no_citation": Failing("One. Two.", "", early=False, first="One. Two."),
    "uncited_sentence": Failing("Good [1]. Bad. Last [2].", "Good [1]. Last [2].", sentence="Bad."),
    "uncited_share": Failing(
        "Good [1]. Bad. Worse.",
        "",
        limits={"max_uncited_share": 0.5},
        early=False,
        first="Good [1]. Bad.",
    ),
    "too_long": Failing(
        "Good [1]. Fine [2]. Last [2]. Very last [1].",
        "Good [1]. Fine [2].",
        sentence="Last [2].",
        first="Good [1]. Fine [2].",
        limits={"max_sentences": 2},
    ),
}
OMITTED = {"too_long": 2}


def policy_of(check: str, action: Action, emit: Emit, **more: Any) -> AnswerPolicy:
    settings: dict[str, Any] = {check: action, **(FAILING[check].limits or {}), **more}
    return AnswerPolicy(emit=emit, **settings)


def feed(gate: Gate, chunks: Sequence[str]) -> list[Event]:
    events: list[Event] = []
    for chunk in chunks:
        events += gate.feed(chunk)
    return [*events, *gate.finish()]


def visible(events: Sequence[Event]) -> str:
    """Return what a reader sees in the end."""
    shown = ""
    for event in events:
        shown = "" if isinstance(event, Retract) else shown + _text(event)
    return shown


def ever_visible(events: Sequence[Event]) -> str:
    """Return all that a reader has seen, what was taken back among it."""
    return "".join(map(_text, events))


def _text(event: Event) -> str:
    return event.text if isinstance(event, Text | Citation) else ""


def summary_of(events: Sequence[Event]) -> Summary:
    assert sum(isinstance(event, Summary) for event in events) == 1
    summary = events[-1]
    assert isinstance(summary, Summary)
    return summary


REFUSED = {
    "cited": [],
    "invalid": [],
    "unused": [],
    "grounded": False,
    "refused_by": "policy",
    "passages": [],
    "kept": 0,
    "removed": 0,
    "truncated": False,
    "sentences": 0,
    "uncited": [],
    "ended": "complete",
    "reason": None,
    "prior": [],
    "near": [],
    "repaired": [],
    "cited_in": [],
    "warnings": [],
    "omitted": 0,
    "claims": [],
}


def refused(summary: Summary) -> dict[str, Any]:
    """Return what every client gets of a refusal, but for what it cost."""
    sent = summary.to_dict()
    del sent["attempts"]
    return sent


# -- What a policy is --------------------------------------------------------


def test_policy_lists_its_checks_in_order() -> None:
    policy = AnswerPolicy(
        emit="sentence",
        max_sentences=4,
        uncited_sentence="omit",
        invented_citation="retry",
        floor=0.18,
    )
    assert str(policy).splitlines() == [
        "emit sentence: a sentence is shown once it has passed",
        "1. below_floor (floor=0.18): refuse",
        "2. invented_citation: retry, then refuse",
        "3. uncited_sentence: omit",
        "4. too_long (max_sentences=4): refuse",
        f"the refusal: {NO_ANSWER}",
    ]
    assert [check for check, _ in policy.checks] == [
        check for check in CHECKS if policy.action(check)
    ]


def test_policy_without_checks_says_so() -> None:
    assert str(AnswerPolicy()).splitlines() == [
        "emit token: text is shown at once",
        "nothing is checked",
        f"the refusal: {NO_ANSWER}",
    ]
    assert repr(AnswerPolicy()) == "AnswerPolicy(emit='token')"


def test_repr_makes_the_policy_again() -> None:
    for policy in (AnswerPolicy.strict(), AnswerPolicy.strict(floor=0.1, max_sentences=4)):
        assert eval(repr(policy)) == policy


def test_policy_is_a_value() -> None:
    assert AnswerPolicy.strict() == AnswerPolicy.strict()
    assert hash(AnswerPolicy.strict()) == hash(AnswerPolicy.strict())
    with pytest.raises(AttributeError):
        AnswerPolicy().emit = "answer"  # type: ignore[misc]


def test_strict_policy_is_the_whole_answer_or_the_refusal() -> None:
    policy = AnswerPolicy.strict()
    assert policy.emit == "answer"
    assert policy.checks == (
        ("no_passages", "refuse"),
        ("model_refused", "refuse"),
        ("invented_citation", "refuse"),
        ("no_citation", "refuse"),
        ("uncited_sentence", "refuse"),
    )
    assert not policy.retracts


def test_order_of_the_checks_is_fixed() -> None:
    assert CHECKS == (
        "no_passages",
        "below_floor",
        "model_refused",
        "invented_citation",
        "no_citation",
        "uncited_sentence",
        "uncited_share",
        "too_long",
        "unsupported",
    )


BAD_POLICIES: list[tuple[dict[str, Any], str]] = [
    ({"emit": "word"}, "expected emit="),
    ({"invented_citation": "hide"}, 'expected invented_citation="omit", "warn"'),
    ({"uncited_sentence": "omit"}, "text that was shown cannot be left out"),
    ({"emit": "answer", "no_citation": "omit"}, "only a sentence can be left out"),
    ({"emit": "answer", "model_refused": "omit"}, "only a sentence can be left out"),
    ({"emit": "answer", "uncited_share": "omit", "max_uncited_share": 0.5}, "only a sentence"),
    ({"no_passages": "retry"}, "it is known before there is an answer"),
    ({"no_passages": "omit", "emit": "answer"}, "it is known before there is an answer"),
    ({"below_floor": "retry", "floor": 0.2}, "it is known before there is an answer"),
    ({"below_floor": "refuse"}, "expected floor= beside below_floor="),
    ({"too_long": "warn"}, "expected max_sentences= beside too_long="),
    ({"uncited_share": "warn"}, "expected max_uncited_share= beside uncited_share="),
    ({"floor": float("nan")}, "expected floor to be a finite number"),
    ({"floor": "0.2"}, "expected floor to be a finite number"),
    ({"max_uncited_share": 1}, "expected max_uncited_share to be a number from 0 to below 1"),
    ({"max_uncited_share": True}, "expected max_uncited_share to be"),
    ({"max_sentences": 0}, "expected max_sentences to be a whole number from 1"),
    ({"max_sentences": 2.0}, "expected max_sentences to be a whole number from 1"),
    ({"fallback": "warn"}, 'expected a check with "retry" beside fallback='),
    ({"no_citation": "retry", "fallback": "retry"}, "there is one retry and no more"),
    ({"emit": "answer", "no_citation": "retry", "fallback": "omit"}, "only a sentence can be"),
    ({"uncited_sentence": "retry", "fallback": "omit"}, "text that was shown cannot"),
    ({"refusal": " "}, "expected refusal to be a sentence to show"),
    ({"refusal": None}, "expected refusal to be a sentence to show"),
]


def test_what_cannot_work_is_refused_when_it_is_built() -> None:
    for settings, message in BAD_POLICIES:
        with pytest.raises(PolicyError) as caught:
            AnswerPolicy(**settings)
        assert message in str(caught.value), settings
        assert isinstance(caught.value, CitestreamError | ValueError)


def test_what_the_filter_contradicts_is_refused_when_it_is_built() -> None:
    omitting = AnswerPolicy(emit="sentence", uncited_sentence="omit")
    cases: list[tuple[AnswerPolicy, dict[str, Any], str]] = [
        (omitting, {"renumber": True}, "expected renumber=False"),
        (AnswerPolicy.strict(), {"refusal": None}, "expected a refusal sentence"),
        (AnswerPolicy(unsupported="warn"), {}, "expected verify= beside unsupported="),
    ]
    for policy, options, message in cases:
        with pytest.raises(PolicyError) as caught:
            Gate(3, policy, **options)
        assert message in str(caught.value)
    with pytest.raises(PolicyError):
        Gate(3, "strict")  # type: ignore[arg-type]


@on_every_loop
async def test_stream_refuses_a_retry_that_nobody_can_make() -> None:
    policy = AnswerPolicy(emit="answer", no_citation="retry")
    with pytest.raises(PolicyError) as caught:
        CitationStream([], 3, policy=policy)
    assert "expected retry= beside a policy" in str(caught.value)


@on_every_loop
async def test_text_alone_cannot_be_taken_back() -> None:
    taking_back = AnswerPolicy(no_citation="refuse")
    async with CitationStream([], 3, policy=taking_back) as stream:
        with pytest.raises(PolicyError) as caught:
            stream.text()
        assert "takes nothing back" in str(caught.value)
    async with CitationStream(["A [1]."], 3, policy=AnswerPolicy.strict()) as stream:
        assert [text async for text in stream.text()] == ["A ", "[1]", "."]


def test_whole_answer_is_judged_at_once() -> None:
    for emit in EMITS:
        strict = AnswerPolicy.strict(emit=emit)
        passed = check_answer("Good [1]. Fine [2].", 3, strict)
        assert (passed.answer, passed.cited, passed.unused) == ("Good [1]. Fine [2].", [1, 2], [3])
        assert passed.grounded
        failed = check_answer("Good [1]. Bad [9].", 3, strict)
        assert (failed.answer, failed.cited, failed.invalid) == (NO_ANSWER, [], [])
        assert (failed.summary.reason, failed.grounded) == ("invented_citation", False)
    with pytest.raises(PolicyError) as caught:
        check_answer("Bad.", 3, AnswerPolicy(no_citation="retry"))
    assert 'expected a policy without "retry"' in str(caught.value)
    with pytest.raises(SourceError):
        check_answer(None, 3, AnswerPolicy())  # type: ignore[arg-type]


# -- Each check, each action, each way to show -------------------------------


def test_each_check_refuses_whatever_is_shown_at_once() -> None:
    for check, failing in FAILING.items():
        for emit in EMITS:
            policy = policy_of(check, "refuse", emit)
            for chunks in cuts(failing.answer):
                events = feed(Gate(failing.passages, policy), chunks)
                summary = summary_of(events)
                where = (check, emit, chunks)
                assert visible(events) == NO_ANSWER, where
                assert refused(summary) == REFUSED, where
                assert summary.reason == check, where
                (attempt,) = summary.attempts
                assert (attempt.outcome, attempt.reason) == ("refused", check), where
                retracted = [event for event in events if isinstance(event, Retract)]
                seen = ever_visible(events).removesuffix(NO_ANSWER)
                assert bool(retracted) is bool(seen), where
                assert retracted in ([], [Retract("refusal", 1)]), where
                if emit == "answer" or not failing.first:
                    assert seen == "", where
                elif emit == "sentence":
                    assert failing.first.startswith(seen.rstrip()), where


def test_each_check_warns_and_shows_the_answer() -> None:
    for check, failing in FAILING.items():
        for emit in EMITS:
            policy = policy_of(check, "warn", emit)
            for chunks in cuts(failing.answer):
                events = feed(Gate(failing.passages, policy), chunks)
                summary = summary_of(events)
                cautions = [event for event in events if isinstance(event, Caution)]
                where = (check, emit, chunks)
                expected = check_citations(failing.answer, failing.passages, sentences=True)
                assert visible(events) == expected.answer, where
                assert summary.refused_by == ("model" if check == "model_refused" else None)
                assert cautions[0] == Caution(check, failing.sentence), where  # type: ignore[arg-type]
                assert len(cautions) == OMITTED.get(check, 1), where
                assert summary.warnings == tuple(cautions), where
                assert summary.attempts[0].outcome == "shown", where
                theirs, ours = expected.summary.to_dict(), summary.to_dict()
                for key in ("warnings", "attempts"):
                    del theirs[key], ours[key]
                assert ours == theirs, where


def test_sentence_that_fails_is_left_out() -> None:
    for check in ("invented_citation", "uncited_sentence", "too_long"):
        failing = FAILING[check]
        for emit in EMITS[1:]:
            policy = policy_of(check, "omit", emit)
            for chunks in cuts(failing.answer):
                events = feed(Gate(failing.passages, policy), chunks)
                summary = summary_of(events)
                where = (check, emit, chunks)
                assert visible(events) == failing.without, where
                assert summary.omitted == OMITTED.get(check, 1), where
                assert summary.cited == (1, 2), where
                assert summary.sentences == 2, where
                assert summary.cited_in == ((1, (1,)), (2, (2,))), where
                assert summary.kept == 2, where
                assert summary.invalid == ((9,) if check == "invented_citation" else ()), where
                assert not any(isinstance(event, Retract) for event in events), where


def test_places_fit_what_is_shown() -> None:
    policy = AnswerPolicy(emit="sentence", uncited_sentence="omit")
    gate = Gate(3, policy, sentences=True)
    events = feed(gate, ["Bad. Good [1]. Bad too. ", "Fine [2]."])
    shown = visible(events)
    assert shown == "Good [1]. Fine [2]."
    for event in events:
        if isinstance(event, Citation):
            assert shown[event.start : event.end] == event.text
        elif isinstance(event, Sentence):
            assert shown[event.start : event.end] == event.content
    assert [event.content for event in events if isinstance(event, Sentence)] == [
        "Good [1].",
        "Fine [2].",
    ]


OMITTING = [
    ("Bad. Good [1]. Bad. Fine [2]. Bad.", "Good [1]. Fine [2]."),
    ("- Bad\n- Good [1]\n- Bad\n- Fine [2]\n", "- Good [1]\n- Fine [2]\n"),
    ("1. Good [1].\n2. Bad. Fine [2].\n", "1. Good [1].\n2. Fine [2].\n"),
    ("# Head\n\nBad.\n\nGood [1]. Bad.", "# Head\n\nGood [1]."),
    ("Good [1].\n\n```\ncode\n```\nBad. Fine [2].", "Good [1].\n\n```\ncode\n```\nFine [2]."),
    ("Good [1].\n\nBad one. Fine [2].", "Good [1].\n\nFine [2]."),
    ("Good [1]. Bad one.\n\nFine [2].", "Good [1].\n\nFine [2]."),
    ("| a | b |\n|---|---|\n| p | q |\n| x | y [1] |", "| a | b |\n|---|---|\n| x | y [1] |"),
    ("好[1]。坏。好[2]。", "好[1]。好[2]。"),
    ("Bad.\n\nBad.\n\nGood [1].\n", "Good [1].\n"),
    ("# Head [9]\n\nGood [1].", "# Head\n\nGood [1]."),
    ("Good [1]. Bad [9].\n\n# End [9]", "Good [1].\n\n# End"),
    ("# Head [9]\n\nGood [1]. Fine [2].", "# Head\n\nGood [1]. Fine [2]."),
    # Blanks behind a closing fence would open the code again.
    ("```\ncode\n```\nBad one.\u3000\n\nFine [2].", "```\ncode\n```\n\nFine [2]."),
]


def test_what_stood_around_an_omitted_sentence_goes_with_it() -> None:
    policies = [
        AnswerPolicy(emit=emit, uncited_sentence="omit", invented_citation="omit")
        for emit in EMITS[1:]
    ]
    for answer, expected in OMITTING:
        for policy in policies:
            for chunks in cuts(answer):
                events = feed(Gate(3, policy), chunks)
                assert visible(events) == expected, (policy.emit, chunks)


def test_answer_of_which_nothing_is_left_is_refused() -> None:
    for emit in EMITS[1:]:
        policy = AnswerPolicy(emit=emit, uncited_sentence="omit", invented_citation="omit")
        events = feed(Gate(3, policy), ["Bad [9].", " Worse."])
        assert events[:-1] == [Text(NO_ANSWER)]
        assert refused(summary_of(events)) == REFUSED
        assert summary_of(events).reason == "invented_citation"


def test_omitting_and_refusing_go_together() -> None:
    policy = AnswerPolicy(emit="answer", invented_citation="omit", uncited_sentence="refuse")
    # What is not shown fails nothing more, what is shown does.
    assert visible(feed(Gate(3, policy), ["Good [1]. Bad [9]."])) == "Good [1]."
    assert visible(feed(Gate(3, policy), ["Good [1]. Bad."])) == NO_ANSWER


def test_what_is_left_out_counts_neither_as_cited_nor_as_uncited() -> None:
    for emit in EMITS[1:]:
        share = AnswerPolicy(emit=emit, uncited_sentence="omit", max_uncited_share=0.1)
        for answer in ("Bad. Worse. Good [1].", "Good [1]. Bad. Worse."):
            assert visible(feed(Gate(3, share), [answer])) == "Good [1]."
        cited = AnswerPolicy(emit=emit, invented_citation="omit", no_citation="refuse")
        for answer in ("So it is. Bad [1, 9].", "Bad [1, 9]. So it is."):
            events = feed(Gate(3, cited), [answer])
            assert (visible(events), summary_of(events).reason) == (NO_ANSWER, "no_citation")


def test_warning_lets_the_sentence_pass_on_to_the_next_check() -> None:
    policy = AnswerPolicy(emit="answer", invented_citation="warn", uncited_sentence="refuse")
    events = feed(Gate(3, policy), ["Good [1]. Bad [9]."])
    assert summary_of(events).reason == "uncited_sentence"
    both = AnswerPolicy(invented_citation="warn", uncited_sentence="warn", no_citation="warn")
    events = feed(Gate(3, both), ["Bad [9]."])
    assert summary_of(events).warnings == (
        Caution("invented_citation", "Bad."),
        Caution("uncited_sentence", "Bad."),
        Caution("no_citation", ""),
    )


# -- When the decision falls, and which reason it gives ----------------------


def test_decision_falls_at_the_first_sentence_that_fails() -> None:
    for check, failing in FAILING.items():
        if not failing.early:
            continue
        for emit in EMITS:
            gate = Gate(failing.passages, policy_of(check, "refuse", emit))
            fed = ""
            for character in failing.answer:
                if gate.decision is not None:
                    break
                fed += character
                gate.feed(character)
            assert gate.decision is not None
            # The next character that is no space decides that a sentence has ended.
            end = failing.answer.find(failing.sentence[:3]) if failing.sentence else 0
            stop = failing.answer.find(". ", end) if failing.sentence else 0
            assert len(fed) <= stop + len(". [2] L"), (check, emit, fed)


def test_first_check_in_order_gives_the_reason() -> None:
    strict = AnswerPolicy.strict(max_sentences=1)
    for answer, reason in [
        ("Bad [9].", "invented_citation"),
        ("Probably yes.", "no_citation"),
        ("Good [1]. Bad [9].", "invented_citation"),
        ("Good [1]. Bad.", "uncited_sentence"),
        ("Good [1]. Good [1].", "too_long"),
        ("Bad. Worse [9].", "uncited_sentence"),
        (NO_ANSWER, "model_refused"),
        (f"{NO_ANSWER} [9]", "model_refused"),
        ("", "no_citation"),
        ("# Only a title", "no_citation"),
        ("# A title [9]", "invented_citation"),
    ]:
        reasons = {summary_of(feed(Gate(3, strict), chunks)).reason for chunks in cuts(answer)}
        assert reasons == {reason}, answer


def test_refusal_over_two_sentences_is_found_at_the_end() -> None:
    policy = AnswerPolicy(emit="answer", model_refused="refuse")
    refusal = "I do not know. Ask the city."
    for chunks in cuts(f"{refusal} Rides end at a station [1]."):
        events = feed(Gate(3, policy, refusal=refusal), chunks)
        assert summary_of(events).reason == "model_refused", chunks


def test_refusal_in_code_is_none() -> None:
    policy = AnswerPolicy(emit="answer", model_refused="refuse")
    answer = f"It says `{NO_ANSWER}` then [1]."
    assert visible(feed(Gate(3, policy), [answer])) == answer


def test_floor_is_of_the_best_score() -> None:
    policy = AnswerPolicy(floor=0.18)
    for scores, below in [((0.1, 0.2), False), ((0.18,), False), ((0.17, None), True)]:
        passages = Passages([{"text": "A.", "score": score} for score in scores])
        gate = Gate(passages, policy)
        assert (gate.decision is not None) is below
    # Without a score nothing says that it is good enough.
    assert Gate(3, policy).decision is not None


# -- Nothing of a draft leaves -----------------------------------------------


def test_draft_and_reason_go_to_the_log_alone(caplog: pytest.LogCaptureFixture) -> None:
    policy = AnswerPolicy.strict()
    with caplog.at_level(logging.INFO, "citestream"):
        events = feed(Gate(["A."], policy), ["Zanzibar\n is free [1]. So", " is Quito [77]. More"])
    assert "Zanzibar" not in repr(events)
    assert "Quito" not in repr(events)
    assert "invented" not in repr(summary_of(events).to_dict())
    records = {record.name: record.getMessage() for record in caplog.records}
    assert records["citestream"] == "attempt 1 refused reason=invented_citation"
    assert records["citestream.draft"] == (
        "attempt 1 reason=invented_citation draft='Zanzibar\\n is free [1]. So is Quito [77]. More'"
    )


def test_logged_draft_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate(3, AnswerPolicy(emit="answer", no_citation="refuse"))
    with caplog.at_level(logging.INFO, "citestream.draft"):
        feed(gate, ["word "] * MOST_DRAFT)
    (record,) = caplog.records
    assert len(record.getMessage()) < MOST_DRAFT + 100
    caplog.clear()
    with caplog.at_level(logging.INFO, "citestream.draft"):
        check_answer("long " * MOST_DRAFT, 3, AnswerPolicy(no_citation="refuse"))
    (record,) = caplog.records
    assert MOST_DRAFT < len(record.getMessage()) < MOST_DRAFT + 100


def test_what_was_not_shown_when_it_broke_off_is_not_told() -> None:
    broken: tuple[Ended, ...] = ("error", "cancelled")
    for ended in broken:
        gate = Gate(3, AnswerPolicy(emit="answer", uncited_sentence="warn"))
        gate.feed("Zanzibar. Quito [1, 77]. Lim")
        *events, summary = gate.finish(ended, "source failed (1)")
        assert events == []
        assert isinstance(summary, Summary)
        assert summary.to_dict() == {
            **REFUSED,
            "refused_by": None,
            "unused": [1, 2, 3],
            "ended": ended,
            "reason": "source failed (1)",
            "attempts": [
                {
                    "characters": 28,
                    "seconds": summary.to_dict()["attempts"][0]["seconds"],
                    "outcome": ended,
                }
            ],
        }


def test_what_had_passed_when_it_broke_off_stays() -> None:
    gate = Gate(3, AnswerPolicy(emit="sentence", uncited_sentence="refuse"))
    shown = gate.feed("Good [1]. Zanzibar [2, 77]")
    *events, summary = gate.finish("error", "source failed")
    assert visible(shown) == "Good [1]."
    assert events == []
    assert isinstance(summary, Summary)
    assert (summary.cited, summary.invalid, summary.sentences) == ((1,), (), 1)
    assert "Zanzibar" not in repr(summary)


def test_text_shown_at_once_is_released_when_it_breaks_off() -> None:
    gate = Gate(3, AnswerPolicy(uncited_sentence="refuse"))
    shown = gate.feed("Good [1]. And the")
    *events, summary = gate.finish("error", "source failed")
    assert visible([*shown, *events]) == "Good [1]. And the"
    assert isinstance(summary, Summary)
    assert (summary.ended, summary.cited, summary.refused_by) == ("error", (1,), None)


def test_refusal_that_nobody_waits_for_is_one_all_the_same() -> None:
    gate = Gate(3, AnswerPolicy.strict())
    gate.feed("Bad. And")
    summary = gate.discard()
    assert refused(summary) == {**REFUSED, "ended": "cancelled"}


def test_gate_is_for_one_answer() -> None:
    gate = Gate(3, AnswerPolicy())
    gate.finish()
    assert gate.finished
    for again in (lambda: gate.feed("A"), gate.finish, gate.discard):
        with pytest.raises(FinishedError):
            again()


# -- Bounds ------------------------------------------------------------------


def test_answer_that_waits_for_its_end_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citestream.gate.MOST_WITHHELD", 1000)
    gate = Gate(3, AnswerPolicy(emit="answer", uncited_sentence="warn"))
    for _ in range(100):
        gate.feed("Words and words [1]. ")
    assert gate.decision is not None
    assert summary_of(feed(gate, [])).reason == "too_long"


def test_warnings_are_bounded() -> None:
    gate = Gate(3, AnswerPolicy(uncited_sentence="warn"))
    summary = summary_of(feed(gate, ["Bad one. "] * (MOST_NOTED + 50)))
    assert len(summary.warnings) == MOST_NOTED
    assert summary.truncated


def test_corrections_name_what_was_wrong_in_none_of_the_models_words() -> None:
    expected = {
        "model_refused": "Your last answer said that there is no answer. "
        "Read the passages again and say what they hold on the question.",
        "invented_citation": "Your last answer named [9], which is none of the passages. "
        "Use only the markers that were given to you.",
        "no_citation": "Your last answer had no marker at all. "
        "End every sentence with the marker of the passage that supports it.",
        "uncited_sentence": "Sentence 2 of your last answer had no marker. "
        "End every sentence with the marker of the passage that supports it.",
        "uncited_share": "Too many sentences of your last answer had no marker. "
        "End every sentence with the marker of the passage that supports it.",
        "too_long": "Your last answer was too long. Use at most 2 sentences.",
    }
    found = {}
    for check in expected:
        failing = FAILING[check]
        gate = Gate(failing.passages, policy_of(check, "retry", "answer"))
        gate.feed(failing.answer)
        gate.end()
        assert gate.decision is not None
        assert (gate.decision.reason, gate.decision.action) == (check, "retry")
        found[check] = gate.decision.correction
    assert found == expected


# -- Attempts ----------------------------------------------------------------


@on_every_loop
async def test_each_check_asks_once_more() -> None:
    for check, failing in FAILING.items():
        if check in ("no_passages", "below_floor"):
            continue
        for emit in EMITS:
            first = FakeModel(*failing.answer)
            second = FakeModel("Second [1].")
            corrections: list[str] = []

            def retry(
                correction: str, again: FakeModel = second, told: list[str] = corrections
            ) -> FakeModel:
                told.append(correction)
                return again

            policy = policy_of(check, "retry", emit)
            async with CitationStream(first, failing.passages, policy=policy, retry=retry) as s:
                events = [event async for event in s]
            where = (check, emit)
            summary = summary_of(events)
            assert visible(events) == "Second [1].", where
            assert (first.closed, second.closed) == (1, 1), where
            assert len(corrections) == 1, where
            assert summary.refused_by is None, where
            assert [(a.outcome, a.reason) for a in summary.attempts] == [
                ("retried", check),
                ("shown", None),
            ], where
            assert summary.attempts[1].characters == len("Second [1]."), where
            if failing.early:
                assert first.pulled < len(failing.answer), where
                assert summary.attempts[0].characters == first.pulled, where
            retracts = [event for event in events if isinstance(event, Retract)]
            assert retracts in ([], [Retract("retry", 1)]), where
            assert bool(retracts) is (emit != "answer"), where
            if emit == "answer":
                assert ever_visible(events) == "Second [1].", where


@on_every_loop
async def test_second_failure_falls_back() -> None:
    for fallback, expected, reason in [
        (None, NO_ANSWER, "uncited_sentence"),
        ("refuse", NO_ANSWER, "uncited_sentence"),
        ("warn", "Good [2]. Worse.", None),
        ("omit", "Good [2].", None),
    ]:
        policy = AnswerPolicy(
            emit="answer",
            uncited_sentence="retry",
            fallback=fallback,  # type: ignore[arg-type]
        )
        stream = CitationStream(
            ["Bad. And so on."], 3, policy=policy, retry=lambda _: ["Good [2]. Worse."]
        )
        async with stream:
            events = [event async for event in stream]
        summary = summary_of(events)
        assert visible(events) == expected
        assert summary.reason == reason
        assert len(summary.attempts) == 2
        assert summary.omitted == (fallback == "omit")
        assert summary.warnings == (
            (Caution("uncited_sentence", "Worse."),) if fallback == "warn" else ()
        )


@on_every_loop
async def test_retry_may_be_async_and_may_fail() -> None:
    policy = AnswerPolicy(emit="answer", no_citation="retry")

    async def again(correction: str) -> AsyncIterator[str]:
        async def chunks() -> AsyncIterator[str]:
            yield f"{len(correction) > 0} [1]."

        return chunks()

    async with CitationStream(["Bad."], 3, policy=policy, retry=again) as stream:
        assert visible([event async for event in stream]) == "True [1]."

    for error in (RuntimeError("the secret draft"), StopAsyncIteration()):

        async def fails(correction: str, error: BaseException = error) -> Any:
            raise error

        stream = CitationStream(["Zanzibar."], 3, policy=policy, retry=fails)
        events: list[Event] = []
        with pytest.raises(RuntimeError):  # noqa: PT012 - what came before counts
            while True:
                events += [await anext(stream)]
        summary = summary_of(events)
        assert events == [summary]
        assert (summary.ended, summary.refused_by, summary.cited) == ("error", None, ())
        assert "Zanzibar" not in repr(summary)


@on_every_loop
async def test_half_a_character_of_one_attempt_is_not_of_the_next() -> None:
    policy = AnswerPolicy(emit="answer", uncited_sentence="retry")
    first = [b"Bad. And the caf\xc3"]
    async with CitationStream(
        first, 3, policy=policy, retry=lambda _: [b"\xc3\xa9t\xc3", b"\xa9 [1]."]
    ) as stream:
        assert visible([event async for event in stream]) == "été [1]."


@on_every_loop
async def test_source_is_closed_when_an_answer_is_refused() -> None:
    for emit in EMITS:
        model = FakeModel("Good [1]. ", "Bad. ", "More", " and more", " [1].")
        policy = AnswerPolicy(emit=emit, uncited_sentence="refuse")
        async with CitationStream(model, 3, policy=policy) as stream:
            events = [event async for event in stream]
            assert model.closed == 1
        assert model.pulled == 3
        assert visible(events) == NO_ANSWER
        assert model.closed == 1


@on_every_loop
async def test_model_is_never_called_when_there_is_nothing_to_answer_from() -> None:
    for check in ("no_passages", "below_floor"):
        model = FakeModel("Good [1].")
        failing = FAILING[check]
        policy = policy_of(check, "refuse", "token")
        async with CitationStream(model, failing.passages, policy=policy) as stream:
            events = [event async for event in stream]
        assert (model.pulled, model.closed) == (0, 1)
        assert visible(events) == NO_ANSWER
        assert summary_of(events).reason == check


@on_every_loop
async def test_stream_without_a_policy_has_no_gate() -> None:
    stream = CitationStream(["A [1]."], 3)
    assert stream._attempts is None
    assert stream._feed == stream._filter.feed
    assert stream._pull == stream._source.pull
    await stream.aclose()


# -- What is around a sentence that is left out ------------------------------


def test_omission_exposes_nothing_that_maths_protected() -> None:
    policies = [
        AnswerPolicy(emit=emit, **checks)  # type: ignore[arg-type]
        for emit in EMITS[1:]
        for checks in (
            {"uncited_sentence": "omit", "invented_citation": "omit"},
            # Whatever is said of markers: that none is shown is the filter's promise.
            {"uncited_sentence": "omit"},
        )
    ]
    for answer, expected in [
        # The second sentence holds the end of the maths, and is left out.
        ("Fine [1] $x[9]!\nBad$ it is. Good [2].", "Good [2]."),
        ("Bad$ it. Fine [1] $x[9]$ and $y. Good [2].", "Good [2]."),
        # Code that is whole stays, and what is left out with both its ends does no harm.
        ("Bad `a[9]` it. See `b[9]` [1]. Good [2].", "See `b[9]` [1]. Good [2]."),
        ("Bad. <b>See `b[9]` [1]. Good [2].", "Good [2]."),
    ]:
        for policy in policies:
            for chunks in cuts(answer):
                shown = visible(feed(Gate(3, policy), chunks))
                assert shown == expected, (policy, chunks)
                assert check_citations(shown, 3).summary.removed == 0


def test_removed_markers_in_one_place_are_bounded() -> None:
    for emit in EMITS:
        gate = Gate(3, AnswerPolicy(emit=emit, no_citation="warn"))
        for _ in range(50):
            gate.feed("[7][9]" * 100)
        assert len(gate._marks) == 1
        assert len(gate._withheld._events) <= MOST_REMOVED
        summary = summary_of(feed(gate, ["Word [1]."]))
        assert (summary.removed, summary.invalid) == (10_000, (7, 9))


def test_markers_in_a_heading_are_judged_when_it_has_passed() -> None:
    for emit in EMITS:
        gate = Gate(3, AnswerPolicy(emit=emit, invented_citation="refuse"))
        gate.feed("# Title [1] ")
        gate.feed("[1] " * 1000)
        assert len(gate._marks) <= 1
        assert gate.decision is None
        gate.feed("[9]\n\nNo sentence has")
        assert gate.decision is not None


def test_verdict_that_never_comes_is_unknown() -> None:
    gate = Gate(3, AnswerPolicy(emit="sentence", unsupported="omit"), judged=True)
    events = [*gate.feed("Good [1]. Fine [2]. And"), *gate.finish()]
    assert visible(events) == "Good [1]. Fine [2]. And"
    assert [claim.verdict for claim in summary_of(events).claims] == ["unknown", "unknown"]


def test_what_waits_for_a_judge_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citestream.gate.MOST_WITHHELD", 1000)
    gate = Gate(3, AnswerPolicy(emit="sentence", unsupported="omit"), judged=True)
    shown = ""
    for number in range(200):
        shown += visible(gate.feed(f"Number {number} is so [1]. "))
        assert len(gate._withheld) < 1100
    assert "Number 99 is so [1]." in shown
    # A late verdict changes nothing any more.
    gate.hear(0, "contradicted")
    assert "Number 0 is so" in visible([*gate.take(), *gate.finish()]) + shown


def test_refusal_in_a_heading_is_one() -> None:
    policy = AnswerPolicy(emit="answer", model_refused="refuse")
    for answer in (f"# {NO_ANSWER}\n", f"Good [1].\n\n# {NO_ANSWER}"):
        for chunks in cuts(answer):
            assert summary_of(feed(Gate(3, policy), chunks)).reason == "model_refused", chunks
