"""A judge beside a stream: what it is asked, what its verdicts do, and that nothing waits long."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any

import anyio
import pytest
import trio

from citestream import NO_ANSWER, CitationStream, Passage, closing
from citestream.events import Caution, Citation, Claim, Event, Retract, Sentence, Text, Verdict
from citestream.judge import MOST_WAITING
from citestream.policy import AnswerPolicy
from citestream.testing import FakeModel
from tests.loops import on_every_loop
from tests.test_policy import ever_visible, summary_of, visible

PASSAGES = ["Refunds take five days.", "Late fees are two euros.", "Helmets are free."]
ANSWER = "Refunds take five days [1]. Everybody knows. Fees are ten euros [2][3]. So there [1]."


class Verifier:
    """A judge that says what its table says of a sentence's first word."""

    def __init__(self, **said: Verdict) -> None:
        self.said = said
        self.asked: list[tuple[str, tuple[int | str, ...]]] = []
        self.at_once = 0
        self.most_at_once = 0
        self.closed = 0
        self.go = anyio.Event()
        self.waits = False

    async def __call__(self, sentence: Sentence, passages: Sequence[Passage]) -> Verdict:
        self.asked.append((sentence.content, tuple(p.label for p in passages)))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self.waits:
                await self.go.wait()
            await anyio.lowlevel.checkpoint()
        finally:
            self.at_once -= 1
            self.closed += 1
        return self.said.get(sentence.content.split()[0], "supported")


async def events_of(stream: CitationStream) -> list[Event]:
    async with stream:
        return [event async for event in stream]


def claims_of(events: Sequence[Event]) -> list[tuple[str, str]]:
    return [(event.content, event.verdict) for event in events if isinstance(event, Claim)]


@on_every_loop
async def test_each_cited_sentence_is_asked_about_with_its_passages() -> None:
    verify = Verifier(Fees="contradicted", So="unknown")
    events = await events_of(CitationStream([ANSWER], PASSAGES, verify=verify))
    assert verify.asked == [
        ("Refunds take five days [1].", (1,)),
        ("Fees are ten euros [2][3].", (2, 3)),
        ("So there [1].", (1,)),
    ]
    assert visible(events) == ANSWER
    assert sorted(claims_of(events)) == [
        ("Fees are ten euros [2][3].", "contradicted"),
        ("Refunds take five days [1].", "supported"),
        ("So there [1].", "unknown"),
    ]
    summary = summary_of(events)
    assert [(claim.content, claim.verdict) for claim in summary.claims] == claims_of(events)
    assert sorted(claim["verdict"] for claim in summary.to_dict()["claims"]) == [
        "contradicted",
        "supported",
        "unknown",
    ]
    # Nothing is done about them unless a policy says so.
    assert (summary.refused_by, summary.warnings, summary.omitted) == (None, (), 0)


@on_every_loop
async def test_contradiction_is_warned_of_and_shown() -> None:
    verify = Verifier(Fees="contradicted")
    for emit in ("token", "sentence", "answer"):
        policy = AnswerPolicy(emit=emit, unsupported="warn")
        stream = CitationStream([*ANSWER], PASSAGES, policy=policy, verify=verify)
        events = await events_of(stream)
        assert visible(events) == ANSWER, emit
        assert summary_of(events).warnings == (
            Caution("unsupported", "Fees are ten euros [2][3]."),
        ), emit


@on_every_loop
async def test_contradicted_sentence_is_left_out() -> None:
    verify = Verifier(Fees="contradicted")
    for emit in ("sentence", "answer"):
        policy = AnswerPolicy(emit=emit, unsupported="omit")
        stream = CitationStream([*ANSWER], PASSAGES, policy=policy, verify=verify)
        events = await events_of(stream)
        shown = "Refunds take five days [1]. Everybody knows. So there [1]."
        assert ever_visible(events) == shown, emit
        assert "ten euros" not in repr(events), emit
        summary = summary_of(events)
        assert (summary.cited, summary.omitted, summary.sentences) == ((1,), 1, 3), emit
        assert len(summary.claims) == 2, emit


@on_every_loop
async def test_contradiction_refuses_and_asks_again() -> None:
    for emit in ("token", "sentence", "answer"):
        verify = Verifier(Fees="contradicted")
        refusing = AnswerPolicy(emit=emit, unsupported="refuse")
        events = await events_of(
            CitationStream([*ANSWER], PASSAGES, policy=refusing, verify=verify)
        )
        assert visible(events) == NO_ANSWER, emit
        assert summary_of(events).reason == "unsupported", emit
        assert summary_of(events).claims == (), emit
        if emit != "token":
            assert "ten euros" not in repr(events), emit

        retrying = AnswerPolicy(emit=emit, unsupported="retry")
        told: list[str] = []

        def retry(correction: str, told: list[str] = told) -> list[str]:
            told.append(correction)
            return ["Better ", "[1]."]

        stream = CitationStream(
            [*ANSWER], PASSAGES, policy=retrying, verify=Verifier(Fees="contradicted"), retry=retry
        )
        events = await events_of(stream)
        assert visible(events) == "Better [1].", emit
        assert told == [
            "Your last answer contradicted a passage that it cited. Say only what the passages say."
        ]
        assert claims_of(events)[-1:] == [("Better [1].", "supported")], emit
        assert [claim.content for claim in summary_of(events).claims] == ["Better [1]."], emit


@on_every_loop
async def test_sentence_waits_for_its_verdict_and_the_source_does_not() -> None:
    verify = Verifier()
    verify.waits = True
    model = FakeModel("Good [1]. ", "Fine [2]. ", "And ", "so ", "on ", "[3]. ", "And")
    policy = AnswerPolicy(emit="sentence", unsupported="omit")
    stream = CitationStream(model, PASSAGES, policy=policy, verify=verify)
    seen: list[Event] = []
    async with stream:
        with anyio.move_on_after(0.1):
            seen += await stream.batch()
        # All has been read, and nothing has passed yet.
        assert model.pulled == 7
        assert visible(seen) == ""


@on_every_loop
async def test_what_has_passed_comes_out_while_the_judge_is_at_work() -> None:
    go = anyio.Event()

    async def verify(sentence: Sentence, passages: Sequence[Passage]) -> Verdict:
        if sentence.content.startswith("Slow"):
            await go.wait()
        return "supported"

    policy = AnswerPolicy(emit="sentence", unsupported="omit")
    stream = CitationStream(
        ["Good [1]. Slow [2]. Last [3]."], PASSAGES, policy=policy, verify=verify
    )
    seen: list[Event] = []
    async with stream:
        while "Good [1]." not in visible(seen):
            seen += await stream.batch()
        assert visible(seen) == "Good [1]."
        go.set()
        while batch := await stream.batch():
            seen += batch
    assert visible(seen) == "Good [1]. Slow [2]. Last [3]."


@on_every_loop
async def test_only_a_few_are_asked_about_at_a_time() -> None:
    for at_once in (1, 3):
        verify = Verifier()
        answer = "".join(f"Number {n} is [1]. " for n in range(20))
        stream = CitationStream([*answer], PASSAGES, verify=verify, verify_at_once=at_once)
        events = await events_of(stream)
        assert len(claims_of(events)) == 20
        assert verify.most_at_once <= at_once


@on_every_loop
async def test_slow_judge_knows_nothing_when_its_time_is_over() -> None:
    for emit, action in (("token", "refuse"), ("sentence", "omit"), ("answer", "refuse")):
        verify = Verifier()
        verify.waits = True
        policy = AnswerPolicy(emit=emit, unsupported=action)  # type: ignore[arg-type]
        stream = CitationStream(
            [*ANSWER], PASSAGES, policy=policy, verify=verify, verify_seconds=0.05, verify_at_once=1
        )
        with anyio.fail_after(5):
            events = await events_of(stream)
        assert visible(events) == ANSWER, emit
        assert {verdict for _, verdict in claims_of(events)} == {"unknown"}, emit
        assert len(claims_of(events)) == 3, emit
        assert verify.at_once == 0, emit


@on_every_loop
async def test_text_does_not_wait_for_a_slow_judge() -> None:
    verify = Verifier()
    verify.waits = True
    seen: list[Event] = []
    async with CitationStream([*ANSWER], PASSAGES, verify=verify) as stream:
        while visible(seen) != ANSWER:
            with anyio.fail_after(1):
                seen += await stream.batch()
        assert claims_of(seen) == []
        verify.go.set()
        while batch := await stream.batch():
            seen += batch
    assert len(claims_of(seen)) == 3


@on_every_loop
async def test_failing_judge_is_logged_once_and_knows_nothing() -> None:
    records: list[logging.LogRecord] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    async def fails(sentence: Sentence, passages: Sequence[Passage]) -> Verdict:
        raise ConnectionError("the judge is down")

    async def babbles(sentence: Sentence, passages: Sequence[Passage]) -> Any:
        return "maybe"

    def at_once(sentence: Sentence, passages: Sequence[Passage]) -> Any:
        return "supported"

    log, keep = logging.getLogger("citestream"), Keep()
    log.addHandler(keep)
    try:
        for verify, verdict, said in [
            (fails, "unknown", "a judge failed"),
            (babbles, "unknown", "a judge said str, which is no verdict"),
            (at_once, "supported", None),
        ]:
            records.clear()
            policy = AnswerPolicy(emit="answer", unsupported="refuse")
            stream = CitationStream([*ANSWER], PASSAGES, policy=policy, verify=verify)
            events = await events_of(stream)
            assert visible(events) == ANSWER
            assert {said for _, said in claims_of(events)} == {verdict}
            warned = [r.getMessage() for r in records if r.levelno >= logging.WARNING]
            assert warned == ([] if said is None else [said])
    finally:
        log.removeHandler(keep)


@on_every_loop
async def test_judge_that_was_cancelled_by_somebody_else_knows_nothing() -> None:
    async def cancelled(sentence: Sentence, passages: Sequence[Passage]) -> Verdict:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await anyio.sleep_forever()
        raise RuntimeError("a cancelled client")

    events = await events_of(CitationStream([*ANSWER], PASSAGES, verify=cancelled))
    assert {verdict for _, verdict in claims_of(events)} == {"unknown"}


@on_every_loop
async def test_judge_that_cannot_be_cancelled_holds_up_the_end_for_a_bounded_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(closing, "CLOSE_GRACE", 0.05)
    over = anyio.Event()

    async def stubborn(sentence: Sentence, passages: Sequence[Passage]) -> Verdict:
        with anyio.CancelScope(shield=True):
            await over.wait()
        return "supported"

    stream = CitationStream([*ANSWER], PASSAGES, verify=stubborn, verify_seconds=0.05)
    with anyio.fail_after(5):
        events = await events_of(stream)
    assert {verdict for _, verdict in claims_of(events)} == {"unknown"}
    over.set()
    await anyio.sleep(0.01)


def running() -> int:
    """Return how many tasks there are beside this one."""
    try:
        return len(asyncio.all_tasks()) - 1
    except RuntimeError:
        return trio.lowlevel.current_statistics().tasks_living


@on_every_loop
async def test_no_judge_is_left_running() -> None:
    before = running()
    for ending in ("closed", "cancelled", "failed", "refused"):
        verify = Verifier()
        verify.waits = True

        async def source(ending: str = ending) -> AsyncIterator[str]:
            yield "Good [1]. Fine [2]. And "
            await anyio.sleep(0.01)
            if ending == "failed":
                raise ConnectionError
            yield "bad. And "
            await anyio.sleep_forever()

        policy = AnswerPolicy(uncited_sentence="refuse") if ending == "refused" else None
        stream = CitationStream(source(), PASSAGES, policy=policy, verify=verify)
        if ending == "closed":
            await stream.batch()
            await stream.batch()
            await anyio.sleep(0.01)
            await stream.aclose()
        elif ending == "cancelled":
            with anyio.move_on_after(0.05):
                await events_of(stream)
        elif ending == "failed":
            with pytest.raises(ConnectionError):
                await events_of(stream)
        else:
            assert visible(await events_of(stream)) == NO_ANSWER
        await anyio.lowlevel.checkpoint()
        assert verify.at_once == 0, ending
        assert verify.closed == len(verify.asked) > 0, ending
        with anyio.fail_after(1):
            while running() > before:  # noqa: ASYNC110 - nothing tells of the end of a task
                await anyio.sleep(0.001)


@on_every_loop
async def test_claims_of_a_refused_answer_are_nobodys() -> None:
    verify = Verifier(Refunds="contradicted")
    policy = AnswerPolicy(emit="answer", uncited_sentence="refuse")
    events = await events_of(CitationStream([*ANSWER], PASSAGES, policy=policy, verify=verify))
    assert [type(event) for event in events[:-1]] == [Text]
    assert summary_of(events).claims == ()


@on_every_loop
async def test_places_of_what_is_shown_fit_when_a_judge_left_something_out() -> None:
    verify = Verifier(Fees="contradicted")
    policy = AnswerPolicy(emit="sentence", unsupported="omit", uncited_sentence="omit")
    stream = CitationStream([*ANSWER], PASSAGES, policy=policy, verify=verify, sentences=True)
    events = await events_of(stream)
    shown = visible(events)
    assert shown == "Refunds take five days [1]. So there [1]."
    for event in events:
        if isinstance(event, Citation):
            assert shown[event.start : event.end] == event.text
        if isinstance(event, Sentence):
            assert shown[event.start : event.end] == event.content


@on_every_loop
async def test_answer_that_cited_only_what_was_contradicted_is_judged_again() -> None:
    verify = Verifier(Fees="contradicted")
    policy = AnswerPolicy(emit="answer", unsupported="omit", no_citation="refuse")
    for answer, reason in [
        ("So it is. Fees are ten euros [2].", "no_citation"),
        ("Fees are ten euros [2].", "unsupported"),
    ]:
        stream = CitationStream([*answer], PASSAGES, policy=policy, verify=verify)
        events = await events_of(stream)
        assert visible(events) == NO_ANSWER
        assert summary_of(events).reason == reason


@on_every_loop
async def test_flood_of_sentences_is_bounded() -> None:
    verify = Verifier()
    verify.waits = True
    stream = CitationStream(
        ["Yes [1]. " * (MOST_WAITING + 60)],
        PASSAGES,
        verify=verify,
        verify_seconds=0.05,
    )
    with anyio.fail_after(10):
        events = await events_of(stream)
    assert len(claims_of(events)) == MOST_WAITING + 60
    assert len(verify.asked) < MOST_WAITING
    assert summary_of(events).truncated


def test_judge_that_cannot_work_is_refused_when_it_is_made() -> None:
    for settings, error in [
        ({"verify": "overlap"}, TypeError),
        ({"verify": Verifier, "verify_at_once": 0}, ValueError),
        ({"verify": Verifier, "verify_seconds": 0}, ValueError),
    ]:
        with pytest.raises(error):
            CitationStream([], 3, **settings)  # type: ignore[arg-type]


@on_every_loop
async def test_retraction_comes_before_the_second_attempt_and_its_claims() -> None:
    policy = AnswerPolicy(unsupported="retry")
    stream = CitationStream(
        [*"Fees are ten euros [2]. ", "So there [1]."],
        PASSAGES,
        policy=policy,
        verify=Verifier(Fees="contradicted"),
        retry=lambda _: ["Better [1]."],
    )
    events = await events_of(stream)
    at = events.index(Retract("retry", 1))
    assert claims_of(events[at:]) == [("Better [1].", "supported")]
    assert summary_of(events).cited == (1,)
