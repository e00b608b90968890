"""A question on its way to an answer: what is called, when, with what, and what comes of it."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import anyio
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Message

from citestream import NO_ANSWER, Passages
from citestream.events import Citation, Event, Retract, Summary, Text
from citestream.exceptions import PassageError, PolicyError
from citestream.policy import AnswerPolicy
from citestream.respond import Prompt, respond
from citestream.sse import CitationResponse
from citestream.styles import LABEL
from citestream.testing import FakeModel
from tests.loops import on_every_loop
from tests.servers import Reply, serving, until
from tests.test_policy import ever_visible, summary_of, visible

FOUND = [
    {"text": "Refunds take five days.", "title": "Refunds", "score": 0.6},
    {"text": "Rides end at a station.", "title": "Returning", "score": 0.3},
]
NAMED_SEVEN = (
    "Your last answer named [7], which is none of the passages. "
    "Use only the markers that were given to you."
)
STRICT = AnswerPolicy.strict()


class Asked:
    """A retriever and a model that note what they were asked."""

    def __init__(self, *answers: FakeModel, found: Any = FOUND) -> None:
        self.answers = list(answers)
        self.models = list(answers)
        self.found = found
        self.questions: list[Any] = []
        self.prompts: list[Prompt] = []

    async def retrieve(self, question: Any) -> Any:
        self.questions.append(question)
        return self.found

    def generate(self, prompt: Prompt) -> FakeModel:
        self.prompts.append(prompt)
        return self.answers.pop(0)


async def events_of(stream: Any) -> list[Event]:
    async with stream:
        return [event async for event in stream]


@on_every_loop
async def test_question_becomes_an_answer() -> None:
    asked = Asked(FakeModel("Five ", "days [1", "].", " At a station [2]."))
    told: list[Summary] = []
    stream = respond("How long?", asked.retrieve, asked.generate, STRICT, on_summary=told.append)
    assert asked.questions == []
    events = await events_of(stream)
    assert visible(events) == "Five days [1]. At a station [2]."
    assert asked.questions == ["How long?"]
    (prompt,) = asked.prompts
    passages = Passages(FOUND)
    assert prompt.messages == [
        {"role": "system", "content": passages.instructions()},
        {"role": "user", "content": f"{passages.prompt()}\n\nHow long?"},
    ]
    assert str(prompt) == f"{passages.instructions()}\n\n{passages.prompt()}\n\nHow long?"
    assert prompt.attempt == 1
    summary = summary_of(events)
    assert told == [summary]
    assert (summary.cited, summary.grounded) == ((1, 2), True)
    assert [passage.title for passage in summary.passages] == ["Refunds", "Returning"]
    assert [(a.characters, a.outcome) for a in summary.attempts] == [(32, "shown")]
    assert asked.models[0].closed == 1


@on_every_loop
async def test_without_a_policy_it_is_a_stream_like_any_other() -> None:
    asked = Asked(FakeModel("Bad [9]."))
    events = await events_of(respond("Q", asked.retrieve, asked.generate))
    assert visible(events) == "Bad."
    assert summary_of(events).attempts == ()


@on_every_loop
async def test_model_is_not_called_when_there_is_nothing_to_answer_from() -> None:
    floor = AnswerPolicy.strict(floor=0.7)
    for found, policy, reason in [
        ([], STRICT, "no_passages"),
        (FOUND, floor, "below_floor"),
        ([], floor, "no_passages"),
    ]:
        asked = Asked(found=found)
        events = await events_of(respond("Q", asked.retrieve, asked.generate, policy))
        assert asked.prompts == []
        assert visible(events) == NO_ANSWER
        assert summary_of(events).reason == reason
        assert summary_of(events).attempts[0].characters == 0


@on_every_loop
async def test_second_attempt_is_told_what_was_wrong() -> None:
    policy = AnswerPolicy(emit="sentence", invented_citation="retry", max_sentences=2)
    first = FakeModel("Good [1]. ", "Zanzibar [7]. ", "And", " so on.")
    second = FakeModel("Better [2].")
    asked = Asked(first, second)
    events = await events_of(respond("Q", asked.retrieve, asked.generate, policy))
    rules = Passages(FOUND).instructions() + "\nUse at most 2 sentences."
    assert [(prompt.attempt, prompt.instructions) for prompt in asked.prompts] == [
        (1, rules),
        (
            2,
            f"{rules}\n{NAMED_SEVEN}",
        ),
    ]
    at = events.index(Retract("retry", 1))
    assert ever_visible(events[:at]) == "Good [1]."
    assert visible(events) == "Better [2]."
    assert asked.questions == ["Q"]
    assert (first.closed, first.pulled, second.closed) == (1, 3, 1)
    assert "Zanzibar" not in repr(events)
    summary = summary_of(events)
    assert summary.cited == (2,)
    assert [(a.outcome, a.reason) for a in summary.attempts] == [
        ("retried", "invented_citation"),
        ("shown", None),
    ]


@on_every_loop
async def test_second_failure_is_refused_and_there_is_no_third() -> None:
    policy = AnswerPolicy(emit="answer", uncited_sentence="retry")
    asked = Asked(FakeModel("Bad. And"), FakeModel("Worse. And"))
    events = await events_of(respond("Q", asked.retrieve, asked.generate, policy))
    assert events[:-1] == [Text(NO_ANSWER)]
    summary = summary_of(events)
    assert (summary.refused_by, summary.reason) == ("policy", "uncited_sentence")
    assert [(a.outcome, a.reason) for a in summary.attempts] == [
        ("retried", "uncited_sentence"),
        ("refused", "uncited_sentence"),
    ]
    sent = summary.to_dict()
    assert sent["reason"] is None
    assert [set(attempt) for attempt in sent["attempts"]] == [
        {"characters", "seconds", "outcome"},
        {"characters", "seconds", "outcome"},
    ]


@on_every_loop
async def test_retriever_and_model_may_be_sync_or_async() -> None:
    threads: list[int] = []

    def retrieve(question: str) -> list[str]:
        threads.append(threading.get_ident())
        return ["A."]

    async def retrieve_async(prefix: str, question: str) -> list[str]:
        threads.append(threading.get_ident())
        return [prefix + question]

    class Retriever:
        async def __call__(self, question: str) -> list[str]:
            threads.append(threading.get_ident())
            return ["A."]

    async def chunks(prompt: Prompt) -> AsyncIterator[str]:
        yield "Good [1]."

    async def later(prompt: Prompt) -> AsyncIterator[str]:
        return chunks(prompt)

    def whole(prompt: Prompt) -> list[str]:
        return ["Good ", "[1]."]

    retrievers: list[Callable[[str], Any]] = [
        retrieve,
        partial(retrieve_async, "A"),
        Retriever(),
        lambda question: retrieve_async("A", question),
    ]
    for retriever in retrievers:
        for generate in (chunks, later, whole):
            threads.clear()
            events = await events_of(respond("Q", retriever, generate, STRICT))
            assert visible(events) == "Good [1]."
            assert (threads == [threading.get_ident()]) is (retriever is not retrieve)


@on_every_loop
async def test_what_fails_before_the_answer_fails_like_a_source(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def broken(_: Any) -> Any:
        raise ConnectionError("the secret question")

    async def stops(_: Any) -> Any:
        raise StopAsyncIteration

    def stops_in_a_thread(_: Any) -> Any:
        raise StopAsyncIteration

    asked = Asked()
    for retrieve, generate, error in [
        (broken, asked.generate, ConnectionError),
        (stops, asked.generate, RuntimeError),
        (stops_in_a_thread, asked.generate, RuntimeError),
        (asked.retrieve, broken, ConnectionError),
        (asked.retrieve, stops, RuntimeError),
        (Asked(found="one string").retrieve, asked.generate, PassageError),
        (asked.retrieve, lambda _: "a string", TypeError),
    ]:
        stream = respond("Q", retrieve, generate, STRICT)
        events: list[Event] = []
        with pytest.raises(error):  # noqa: PT012 - what came before counts
            while True:
                events += [await anext(stream)]
        summary = summary_of(events)
        assert events == [summary]
        assert (summary.ended, summary.cited, summary.passages) == ("error", (), ())
        assert stream.failure is not None
        assert summary.reason == f"source failed ({stream.failure.id})"
        assert "secret" not in repr(summary)
    caplog.clear()


@on_every_loop
async def test_stream_that_nobody_reads_asks_for_nothing() -> None:
    asked = Asked()
    async with respond("Q", asked.retrieve, asked.generate, STRICT) as stream:
        pass
    assert asked.questions == []
    assert stream.summary is not None
    assert (stream.summary.ended, stream.summary.passages) == ("cancelled", ())


@on_every_loop
async def test_reader_who_leaves_closes_what_runs() -> None:
    model = FakeModel("Good [1]. ", "Fine [2]. ", "More", stall_after=2)
    asked = Asked(model)
    policy = AnswerPolicy(emit="sentence", uncited_sentence="refuse")
    stream = respond("Q", asked.retrieve, asked.generate, policy)
    async with stream:
        async for event in stream:
            if isinstance(event, Citation):
                break
    assert model.closed == 1
    assert stream.summary is not None
    assert (stream.summary.ended, stream.summary.cited) == ("cancelled", (1,))


@on_every_loop
async def test_cancellation_while_retrieving_or_generating_passes_through() -> None:
    async def hang(_: Any) -> Any:
        await anyio.sleep_forever()

    asked = Asked()
    for retrieve, generate in [(hang, asked.generate), (asked.retrieve, hang)]:
        stream = respond("Q", retrieve, generate, STRICT)
        with anyio.move_on_after(0.02) as scope:
            await events_of(stream)
        assert scope.cancelled_caught
        assert stream.summary is not None
        assert stream.summary.ended == "cancelled"


def test_what_cannot_work_is_refused_when_it_is_made() -> None:
    asked = Asked()
    cases: list[tuple[AnswerPolicy, dict[str, Any]]] = [
        (AnswerPolicy(unsupported="warn"), {}),
        (STRICT, {"refusal": None}),
    ]
    for policy, options in cases:
        with pytest.raises(PolicyError):
            respond("Q", asked.retrieve, asked.generate, policy, **options)
    with pytest.raises(ValueError):
        respond("Q", asked.retrieve, asked.generate, STRICT, match="fuzzy")


@on_every_loop
async def test_labels_and_styles_come_from_what_was_retrieved() -> None:
    law = {"Article 5(1)": "Prohibited: (a) one; (b) two.", "Article 60": "Testing."}
    asked = Asked(FakeModel("These are banned [Article 5(1)(a)]."), found=law)
    events = await events_of(
        respond("Q", asked.retrieve, asked.generate, STRICT, style=LABEL, match="hierarchical")
    )
    assert visible(events) == "These are banned [Article 5(1)(a)]."
    assert summary_of(events).cited == ("Article 5(1)",)
    assert "[Article 60]" in asked.prompts[0].instructions


# -- As the source of a door -------------------------------------------------


async def sent_by(response: Response) -> bytes:
    sent: list[bytes] = []

    async def send(message: Message) -> None:
        sent.append(message.get("body", b""))

    async def receive() -> Message:
        await anyio.sleep_forever()
        raise AssertionError("the client stays")

    await response({"type": "http", "method": "GET", "headers": []}, receive, send)
    return b"".join(sent)


@on_every_loop
async def test_response_takes_it_in_place_of_a_source(caplog: pytest.LogCaptureFixture) -> None:
    asked = Asked(FakeModel("Good [1]."))
    with caplog.at_level(logging.INFO, "citestream"):
        response = CitationResponse(respond("Q", asked.retrieve, asked.generate, STRICT), ping=0)
        body = await sent_by(response)
    assert body.count(b"event: citation") == 1
    assert body.rstrip().split(b"\n")[-2] == b"event: summary"
    assert any("answer surface=sse" in record.getMessage() for record in caplog.records)
    beside: list[dict[str, Any]] = [{"passages": 3}, {"on_summary": print}, {"policy": STRICT}]
    for more in beside:
        stream = respond("Q", asked.retrieve, asked.generate, STRICT)
        with pytest.raises(ValueError) as caught:
            CitationResponse(stream, **more)
        assert "expected a stream alone" in str(caught.value)
        await stream.aclose()


@on_every_loop
async def test_text_alone_takes_it_too() -> None:
    asked = Asked(FakeModel("Bad. And"), FakeModel("Good [1]."))
    policy = AnswerPolicy(emit="answer", uncited_sentence="retry")
    response = StreamingResponse(
        respond("Q", asked.retrieve, asked.generate, policy).text(), media_type="text/plain"
    )
    assert await sent_by(response) == b"Good [1]."
    stream = respond("Q", asked.retrieve, asked.generate, AnswerPolicy(no_citation="refuse"))
    with pytest.raises(PolicyError):
        stream.text()
    await stream.aclose()


def test_attempts_never_mix_on_the_wire() -> None:
    asked = Asked(
        FakeModel("Zanzibar ", "[1]. ", "Then bad. ", "More", stall_after=4),
        FakeModel("Better ", "[1].", " Good [2]."),
    )
    policy = AnswerPolicy(emit="sentence", uncited_sentence="retry")

    async def ask(request: Request) -> Response:
        return CitationResponse(respond("Q", asked.retrieve, asked.generate, policy))

    app = Starlette(routes=[Route("/", ask)])
    with serving(app) as server, Reply(server.port) as reply:
        events = reply.rest()
    names = [sent.name for sent in events]
    at = names.index("retract")
    assert json.loads(events[at].data) == {"reason": "retry", "attempt": 1}
    before = "".join(sent.json().get("text", "") for sent in events[:at])
    after = "".join(sent.json().get("text", "") for sent in events[at + 1 :])
    assert (before, after) == ("Zanzibar [1].", "Better [1]. Good [2].")
    # The passages begin anew: both were introduced after the retraction.
    introduced = [
        passage["title"]
        for sent in events[at + 1 :]
        if sent.name == "citation"
        for passage in sent.json()["passages"]
    ]
    assert introduced == ["Refunds", "Returning"]
    assert names[-1] == "summary"
    assert [a["outcome"] for a in events[-1].json()["attempts"]] == ["retried", "shown"]
    # The first model hangs, and is closed all the same.
    until(lambda: asked.models[0].closed == 1, "the first model is closed")


@on_every_loop
async def test_judge_is_asked_in_both_attempts() -> None:
    asked: list[str] = []

    async def verify(sentence: Any, passages: Any) -> Any:
        asked.append(sentence.content)
        return "contradicted" if sentence.content.startswith("Ten") else "supported"

    models = Asked(FakeModel("Ten days [1]."), FakeModel("Five days [1]."))
    policy = AnswerPolicy(emit="answer", unsupported="retry")
    events = await events_of(respond("Q", models.retrieve, models.generate, policy, verify=verify))
    assert visible(events) == "Five days [1]."
    assert asked == ["Ten days [1].", "Five days [1]."]
    assert [claim.verdict for claim in summary_of(events).claims] == ["supported"]
    # Without a policy it only tells.
    plain = Asked(FakeModel("Ten days [1]."))
    events = await events_of(respond("Q", plain.retrieve, plain.generate, verify=verify))
    assert visible(events) == "Ten days [1]."
    assert [claim.verdict for claim in summary_of(events).claims] == ["contradicted"]
