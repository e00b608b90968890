"""A policy at every door that bytes leave by: what passes, and what is never told."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from citestream import NO_ANSWER
from citestream.events import Summary
from citestream.exceptions import PolicyError
from citestream.middleware import CitationMiddleware, attach_passages
from citestream.policy import AnswerPolicy
from citestream.sse import CitationResponse
from citestream.testing import FakeModel, cuts
from tests.loops import on_every_loop
from tests.servers import Reply, serving, until
from tests.test_middleware import Exchange, answering, endpoint
from tests.wire.bodies import chat_chunk, chat_stream, events, payloads, sse

PASSAGES = [
    {"text": "Refunds take five days.", "title": "Refunds", "url": "https://docs.example/1"},
    {"text": "Late fees are two euros.", "title": "Fees"},
]


@dataclass(frozen=True)
class Door:
    """A way in which an application sends an answer, and how its client reads it."""

    name: str
    write: Callable[[Sequence[str]], list[bytes]]
    visible: Callable[[bytes], str]
    summary: Callable[[bytes], dict[str, Any] | None]
    media_type: str = "text/event-stream"
    settings: dict[str, Any] = field(default_factory=dict)


def _event(name: str, value: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps(value)}\n\n".encode()


def _own_visible(body: bytes) -> str:
    shown = ""
    for fields in events(body):
        name, value = fields["event"][0], json.loads(fields["data"][0])
        if name == "retract":
            shown = ""
        elif name in ("delta", "citation"):
            shown += value["text"]
    return shown


def _chat_visible(body: bytes) -> str:
    choices = [choice for payload in payloads(body) for choice in payload.get("choices", ())]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


def _last(body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = payloads(body)[-1]
    return found


def _finish_frame(body: bytes) -> dict[str, Any]:
    (frame,) = [payload for payload in payloads(body) if "citestream" in payload]
    found: dict[str, Any] = frame["citestream"]
    return found


def _whole_chat(chunks: Sequence[str]) -> list[bytes]:
    message = {"role": "assistant", "content": "".join(chunks)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = json.dumps({"object": "chat.completion", "choices": [choice]}).encode()
    return [body[:10], body[10:]]


DOORS = [
    Door(
        "text",
        lambda chunks: [chunk.encode() for chunk in chunks],
        bytes.decode,
        lambda _: None,
        media_type="text/plain",
    ),
    Door(
        "bare text in events",
        lambda chunks: [f"data: {chunk}\n\n".encode() for chunk in chunks if "\n" not in chunk],
        lambda body: "".join(
            "\n".join(fields["data"]) for fields in events(body) if "event" not in fields
        ),
        lambda body: json.loads(events(body)[-1]["data"][0]),
    ),
    Door(
        "JSON strings in events",
        lambda chunks: [sse(chunk) for chunk in chunks],
        lambda body: "".join(p for p in payloads(body) if isinstance(p, str)),
        _last,
    ),
    Door(
        "a field in events",
        lambda chunks: [sse({"text": chunk, "type": "delta"}) for chunk in chunks],
        lambda body: "".join(p.get("text", "") for p in payloads(body)),
        _last,
    ),
    Door(
        "our own protocol",
        lambda chunks: [*[_event("delta", {"text": c}) for c in chunks], _event("summary", {})],
        _own_visible,
        _last,
        settings={"format": "citestream"},
    ),
    Door(
        "OpenAI chat",
        lambda chunks: [chat_stream(*chunks)],
        _chat_visible,
        _finish_frame,
    ),
    Door(
        "whole OpenAI chat",
        _whole_chat,
        lambda body: str(json.loads(body)["choices"][0]["message"]["content"]),
        lambda body: json.loads(body)["citestream"],
        media_type="application/json",
    ),
    Door(
        "a whole JSON body",
        lambda chunks: [json.dumps({"text": "".join(chunks)}).encode()],
        lambda body: str(json.loads(body)["text"]),
        lambda body: json.loads(body)["citestream"],
        media_type="application/json",
    ),
]


def in_words(answer: str) -> list[str]:
    return re.findall(r"\S+\s*", answer)


async def through(
    door: Door, chunks: Sequence[str], policy: AnswerPolicy, passages: Any = PASSAGES
) -> tuple[bytes, list[Summary]]:
    told: list[Summary] = []
    app = CitationMiddleware(
        answering(*door.write(chunks), media_type=door.media_type, passages=passages),
        policy=policy,
        on_summary=lambda summary, _: told.append(summary),
        **door.settings,
    )
    exchange = await Exchange(app).run()
    assert exchange.status == 200
    assert exchange.ended
    return exchange.body, told


STRICT = AnswerPolicy.strict()
OMITTING = AnswerPolicy(emit="sentence", uncited_sentence="omit", invented_citation="omit")
WARNING = AnswerPolicy(uncited_sentence="warn")

GOOD = "Refunds take five days [1]. Late fees are two euros [2]."
DRAFT = "Zanzibar takes five days [1]. Quito is free. Lima is not [2]. Oslo is cold [77]."


@on_every_loop
async def test_answer_that_passes_is_the_same_at_every_door() -> None:
    for door in DOORS:
        for policy in (STRICT, OMITTING, WARNING):
            body, told = await through(door, in_words(GOOD), policy)
            assert door.visible(body) == GOOD, door.name
            (summary,) = told
            assert (summary.cited, summary.refused_by) == ((1, 2), None), door.name
            sent = door.summary(body)
            assert sent in (None, json.loads(json.dumps(summary.to_dict()))), door.name


@on_every_loop
async def test_refusal_is_fixed_text_and_nothing_else_at_every_door() -> None:
    for door in DOORS:
        for chunks in ([DRAFT], list(DRAFT), in_words(DRAFT)):
            body, told = await through(door, chunks, STRICT)
            assert door.visible(body) == NO_ANSWER, (door.name, chunks)
            for secret in (b"Zanzibar", b"Quito", b"77", b"uncited_", b"docs.example", b"Fees"):
                assert secret not in body, (door.name, secret)
            (summary,) = told
            assert (summary.refused_by, summary.reason) == ("policy", "uncited_sentence")
            sent = door.summary(body)
            if sent is not None:
                assert (sent["refused_by"], sent["reason"]) == ("policy", None), door.name
                assert (sent["passages"], sent["cited"], sent["unused"]) == ([], [], [])


@on_every_loop
async def test_refusal_before_the_answer_is_one_at_every_door() -> None:
    floor = AnswerPolicy.strict(floor=0.5)
    low = [{"text": "A.", "score": 0.1}, {"text": "B.", "score": 0.2}]
    for door in DOORS:
        for policy, passages, reason in [(STRICT, [], "no_passages"), (floor, low, "below_floor")]:
            body, told = await through(door, ["Zanzibar [1]", "."], policy, passages)
            assert door.visible(body) == NO_ANSWER, door.name
            assert b"Zanzibar" not in body, door.name
            assert [summary.reason for summary in told] == [reason], door.name


@on_every_loop
async def test_omitted_sentence_leaves_by_no_door() -> None:
    for door in DOORS:
        for chunks in ([DRAFT], list(DRAFT)):
            body, told = await through(door, chunks, OMITTING)
            assert door.visible(body) == "Zanzibar takes five days [1]. Lima is not [2].", door.name
            assert b"Quito" not in body, door.name
            assert b"Oslo" not in body, door.name
            (summary,) = told
            assert (summary.omitted, summary.sentences, summary.uncited) == (2, 2, ())


@on_every_loop
async def test_warning_is_in_the_summary_of_every_door() -> None:
    for door in DOORS:
        body, told = await through(door, [DRAFT], WARNING)
        assert "Quito is free." in door.visible(body), door.name
        (summary,) = told
        assert [caution.content for caution in summary.warnings] == [
            "Quito is free.",
            "Oslo is cold.",
        ]
        sent = door.summary(body)
        if sent is not None:
            assert sent["warnings"][0] == {
                "reason": "uncited_sentence",
                "content": "Quito is free.",
            }, door.name


@on_every_loop
async def test_draft_does_not_leave_when_the_source_breaks() -> None:
    for door in DOORS:
        frames = door.write(["Zanzibar is free [1]. ", "Lima is"])
        heard: list[Summary] = []

        async def respond(
            request: Request, frames: list[bytes] = frames, door: Door = door
        ) -> Response:
            attach_passages(request, PASSAGES)

            async def body() -> AsyncIterator[bytes]:
                # What ends the stream is not sent any more.
                yield frames[0][:-40] if len(frames) == 1 else frames[0]
                raise RuntimeError("the secret draft")

            return StreamingResponse(body(), media_type=door.media_type)

        app = CitationMiddleware(
            endpoint(respond),
            policy=STRICT,
            on_summary=lambda summary, _: heard.append(summary),  # noqa: B023
            **door.settings,
        )
        exchange = Exchange(app)
        with pytest.raises(RuntimeError):
            await exchange.run()
        assert b"Zanzibar" not in exchange.body, door.name
        assert b"secret" not in exchange.body, door.name
        assert [(s.ended, s.cited, s.refused_by) for s in heard] == [("error", (), None)], door.name


# -- What the middleware cannot do -------------------------------------------


CANNOT: list[tuple[AnswerPolicy, dict[str, Any], str]] = [
    (AnswerPolicy(emit="answer", no_citation="retry"), {}, "sees one answer"),
    (AnswerPolicy(unsupported="warn"), {}, "a middleware asks none"),
    (STRICT, {"text": "json"}, "expected prose under a policy"),
    (AnswerPolicy(no_citation="refuse"), {}, "expected emit=\"answer\" for format='auto'"),
    (AnswerPolicy(no_citation="refuse"), {"format": "openai-chat"}, "format='openai-chat'"),
    (
        AnswerPolicy(emit="sentence", no_citation="refuse"),
        {"format": "text"},
        "only format='citestream' has an event that takes shown text back",
    ),
    (STRICT, {"refusal": None}, "expected a refusal sentence"),
    (OMITTING, {"renumber": True}, "expected renumber=False"),
]


def test_what_the_middleware_cannot_do_is_refused_when_it_is_made() -> None:
    for policy, settings, message in CANNOT:
        with pytest.raises(PolicyError) as caught:
            CitationMiddleware(answering("x"), policy=policy, **settings)
        assert message in str(caught.value)
    # Before the model was called nothing was shown, so nothing is taken back.
    for policy in (AnswerPolicy(no_passages="refuse"), AnswerPolicy(floor=0.1), WARNING, OMITTING):
        CitationMiddleware(answering("x"), policy=policy)


@on_every_loop
async def test_options_of_one_answer_cannot_contradict_the_policy() -> None:
    async def respond(request: Request) -> Response:
        with pytest.raises(PolicyError):
            attach_passages(request, PASSAGES, renumber=True)
        return Response()

    await Exchange(CitationMiddleware(endpoint(respond), policy=OMITTING)).run()


@on_every_loop
async def test_structured_output_is_refused_under_a_policy() -> None:
    inner = answering(chat_stream('{"a": "Zanzibar [1]."}'), media_type="text/event-stream")
    wanted = json.dumps({"response_format": {"type": "json_object"}}).encode()

    async def reading(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await inner(scope, receive, send)

    middle = CitationMiddleware(reading, policy=STRICT)
    exchange = await Exchange(
        middle, body=wanted, headers={"content-type": "application/json"}
    ).run()
    assert exchange.status == 502
    assert b"expected prose under a policy" in exchange.body
    assert b"Zanzibar" not in exchange.body


# -- Details of the formats --------------------------------------------------


@on_every_loop
async def test_chat_stream_keeps_its_order_around_withheld_text() -> None:
    frames = [
        chat_chunk("", usage=None),
        chat_chunk("Refunds take five days [1]."),
        chat_chunk(None, "stop"),
    ]
    body = sse(*frames, {"choices": [], "usage": {"total_tokens": 9}}) + b"data: [DONE]\n\n"
    app = CitationMiddleware(
        answering(body, media_type="text/event-stream", passages=PASSAGES), policy=STRICT
    )
    out = (await Exchange(app).run()).body
    shown = [
        (choice["delta"].get("content"), choice["finish_reason"])
        for payload in payloads(out)
        for choice in payload["choices"]
    ]
    assert shown[-2:] == [("Refunds take five days [1].", None), (None, "stop")]
    assert payloads(out)[-1]["usage"] == {"total_tokens": 9}
    assert out.endswith(b"data: [DONE]\n\n")


@on_every_loop
async def test_turn_that_only_calls_a_tool_is_no_answer() -> None:
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    first, last = chat_chunk(None), chat_chunk(None, "tool_calls")
    first["choices"][0]["delta"] = {"role": "assistant", "content": None, "tool_calls": [call]}
    body = sse(first, last) + b"data: [DONE]\n\n"
    told: list[Summary] = []

    async def ask(body: bytes, media_type: str) -> bytes:
        app = CitationMiddleware(
            answering(body, media_type=media_type, passages=PASSAGES),
            policy=STRICT,
            on_summary=lambda summary, _: told.append(summary),
        )
        return (await Exchange(app).run()).body

    out = await ask(body, "text/event-stream")
    assert _chat_visible(out) == ""
    assert b'"tool_calls"' in out
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    out = await ask(json.dumps({"choices": [choice]}).encode(), "application/json")
    assert json.loads(out)["choices"][0]["message"]["content"] is None
    assert [(s.refused_by, s.reason) for s in told] == [(None, "tool_calls")] * 2


@on_every_loop
async def test_empty_answer_is_refused_at_every_door() -> None:
    for door in DOORS:
        body, told = await through(door, [""], STRICT)
        assert door.visible(body) == NO_ANSWER, door.name
        assert [summary.reason for summary in told] == ["no_citation"], door.name
    message = {"role": "assistant", "content": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    app = CitationMiddleware(
        answering(
            json.dumps({"choices": [choice]}), media_type="application/json", passages=PASSAGES
        ),
        policy=STRICT,
    )
    out = json.loads((await Exchange(app).run()).body)
    assert out["choices"][0]["message"]["content"] == NO_ANSWER


@on_every_loop
async def test_each_choice_is_judged_by_itself() -> None:
    frames = [
        chat_chunk("Good [1]", index=0),
        chat_chunk("Zanzibar.", index=1),
        chat_chunk(".", index=0),
        chat_chunk(None, "stop", index=1),
        chat_chunk(None, "stop", index=0),
    ]
    body = sse(*frames) + b"data: [DONE]\n\n"
    app = CitationMiddleware(
        answering(body, media_type="text/event-stream", passages=PASSAGES), policy=STRICT
    )
    out = (await Exchange(app).run()).body
    shown = {0: "", 1: ""}
    for payload in payloads(out):
        for choice in payload["choices"]:
            shown[choice["index"]] += choice["delta"].get("content") or ""
    assert shown == {0: "Good [1].", 1: NO_ANSWER}


@on_every_loop
async def test_refusal_ships_no_annotations() -> None:
    message = {
        "role": "assistant",
        "content": "Zanzibar.",
        "annotations": [{"type": "url_citation", "url_citation": {"url": "https://evil.example"}}],
    }
    body = json.dumps(
        {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    ).encode()
    app = CitationMiddleware(
        answering(body, media_type="application/json", passages=PASSAGES), policy=STRICT
    )
    out = json.loads((await Exchange(app).run()).body)
    assert out["choices"][0]["message"]["annotations"] == []
    assert out["choices"][0]["message"]["content"] == NO_ANSWER


@on_every_loop
async def test_text_that_repeats_the_answer_is_judged_like_it() -> None:
    body = sse({"text": "Good [1]. "}, {"text": "Zanzibar."}, {"type": "done", "text": DRAFT})
    app = CitationMiddleware(
        answering(body, media_type="text/event-stream", passages=PASSAGES), policy=STRICT
    )
    out = (await Exchange(app).run()).body
    assert b"Zanzibar" not in out
    assert out.count(NO_ANSWER.encode()) == 2


@on_every_loop
async def test_our_own_protocol_says_that_text_is_taken_back() -> None:
    for emit in ("token", "sentence"):
        policy = AnswerPolicy(emit=emit, uncited_sentence="refuse", no_citation="warn")
        door = next(door for door in DOORS if door.name == "our own protocol")
        body, told = await through(door, ["Zanzibar [1]. ", "Quito. ", "Lima"], policy)
        read = [(f["event"][0], json.loads(f["data"][0])) for f in events(body)]
        names = [name for name, _ in read]
        at = names.index("retract")
        assert read[at] == ("retract", {"reason": "refusal", "attempt": 1})
        assert names[at + 1 :] == ["delta", "summary"]
        assert door.visible(body) == NO_ANSWER
        assert [summary.reason for summary in told] == ["uncited_sentence"]


@on_every_loop
async def test_our_own_protocol_warns() -> None:
    door = next(door for door in DOORS if door.name == "our own protocol")
    body, _ = await through(door, ["Zanzibar. ", "Quito [1]."], WARNING)
    read = [(f["event"][0], json.loads(f["data"][0])) for f in events(body)]
    assert ("warning", {"reason": "uncited_sentence", "content": "Zanzibar."}) in read


@on_every_loop
async def test_events_of_an_inner_stream_betray_nothing_that_is_withheld() -> None:
    inner = b"".join(
        [
            _event("delta", {"text": "Good [1]. Zanzibar."}),
            _event("sentence", {"content": "Zanzibar.", "cited": [], "covered": False}),
            _event("warning", {"reason": "uncited_sentence", "content": "Zanzibar."}),
            _event("claim", {"content": "Zanzibar.", "verdict": "unknown"}),
            _event("summary", {"uncited": ["Zanzibar."]}),
        ]
    )
    app = CitationMiddleware(
        answering(inner, media_type="text/event-stream", passages=PASSAGES),
        policy=STRICT,
        format="citestream",
    )
    out = (await Exchange(app).run()).body
    assert b"Zanzibar" not in out
    assert _own_visible(out) == NO_ANSWER
    # Without a policy they are filtered like the text that they repeat.
    plain = CitationMiddleware(
        answering(
            inner.replace(b"Zanzibar.", b"Zanzibar [9]."),
            media_type="text/event-stream",
            passages=PASSAGES,
        ),
        format="citestream",
    )
    out = (await Exchange(plain).run()).body
    assert b"Zanzibar [9]" not in out
    assert out.count(b"Zanzibar") == 4


@on_every_loop
async def test_upstream_retraction_begins_a_new_judgement() -> None:
    inner = b"".join(
        [
            _event("delta", {"text": "Zanzibar. And"}),
            _event("retract", {"reason": "retry", "attempt": 1}),
            _event("delta", {"text": "Good [1]."}),
            _event("summary", {}),
        ]
    )
    app = CitationMiddleware(
        answering(inner, media_type="text/event-stream", passages=PASSAGES),
        policy=STRICT,
        format="citestream",
    )
    out = (await Exchange(app).run()).body
    assert _own_visible(out) == "Good [1]."


# -- Server-sent events ------------------------------------------------------


async def sent_by(response: Response) -> bytes:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await response(scope, receive, send)

    return (await Exchange(app, method="GET").run()).body


@on_every_loop
async def test_response_shows_what_passes_and_refuses_the_rest() -> None:
    for emit in ("token", "sentence", "answer"):
        policy = AnswerPolicy.strict(emit=emit)
        for chunks in cuts("Good [1]. Zanzibar. More [2]."):
            if len(chunks) == 2 and len(chunks[0]) % 5:
                continue
            told: list[Summary] = []
            body = await sent_by(
                CitationResponse(chunks, PASSAGES, policy=policy, on_summary=told.append, ping=0)
            )
            assert _own_visible(body) == NO_ANSWER, (emit, chunks)
            assert [summary.reason for summary in told] == ["uncited_sentence"]
            assert _last(body) == json.loads(json.dumps(told[0].to_dict()))
            assert b"uncited_" not in body, (emit, chunks)
            if emit != "token":
                assert b"Zanzibar" not in body, (emit, chunks)


@on_every_loop
async def test_response_tells_of_warnings_and_claims() -> None:
    async def verify(sentence: Any, passages: Any) -> Any:
        return "supported"

    policy = AnswerPolicy(uncited_sentence="warn")
    body = await sent_by(
        CitationResponse(["Good [1]. ", "Bad. And"], PASSAGES, policy=policy, verify=verify, ping=0)
    )
    read = [(f["event"][0], json.loads(f["data"][0])) for f in events(body)]
    assert ("warning", {"reason": "uncited_sentence", "content": "Bad."}) in read
    assert ("claim", {"content": "Good [1].", "verdict": "supported"}) in read
    assert read[-1][1]["claims"] == [{"content": "Good [1].", "verdict": "supported"}]


def test_pings_go_out_while_the_answer_is_withheld_and_the_source_is_closed_after() -> None:
    model = FakeModel("Good [1]. ", "Fine [2]. ", "More", stall_after=3)

    def respond() -> Response:
        return CitationResponse(model, PASSAGES, policy=STRICT, ping=0.05)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await respond()(scope, receive, send)

    with serving(app) as server:
        reply = Reply(server.port)
        assert reply.block().startswith(b": ping")
        assert reply.block().startswith(b": ping")
        assert model.pulled == 3
        reply.leave()
        until(lambda: model.closed == 1, "the source is closed when its reader leaves")


@on_every_loop
async def test_disconnect_while_withheld_drops_the_draft(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "citestream")
    heard: list[Summary] = []
    holding = anyio.Event()

    async def respond(request: Request) -> Response:
        attach_passages(request, PASSAGES)

        async def body() -> AsyncIterator[str]:
            yield "Zanzibar [1]. "
            holding.set()
            await anyio.sleep_forever()

        return StreamingResponse(body(), media_type="text/plain")

    app: ASGIApp = CitationMiddleware(
        endpoint(respond), policy=STRICT, on_summary=lambda summary, _: heard.append(summary)
    )
    exchange = Exchange(app)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(exchange.run)
        await holding.wait()
        exchange.gone.set()
    assert exchange.body == b""
    assert [(s.ended, s.cited, s.reason) for s in heard] == [
        ("cancelled", (), "client disconnected")
    ]
    assert not any("Zanzibar" in record.getMessage() for record in caplog.records)


# -- The lifetimes of a stream, under a policy -------------------------------


@on_every_loop
async def test_source_that_raises_ends_a_withheld_answer_with_an_error_alone() -> None:
    for emit, shown in (("token", "Good [1]. Zanzibar"), ("sentence", "Good [1]."), ("answer", "")):
        model = FakeModel("Good [1]. ", "Zanzibar", " and so on", error_after=2)
        policy = AnswerPolicy.strict(emit=emit)
        told: list[Summary] = []
        body = await sent_by(
            CitationResponse(model, PASSAGES, policy=policy, on_summary=told.append, ping=0)
        )
        read = [(f["event"][0], json.loads(f["data"][0])) for f in events(body)]
        assert _own_visible(body) == shown, emit
        assert [name for name, _ in read[-2:]] == ["error", "summary"], emit
        assert set(read[-2][1]) == {"reason", "id"}, emit
        assert (read[-1][1]["ended"], read[-1][1]["refused_by"]) == ("error", None), emit
        assert read[-1][1]["attempts"][0]["outcome"] == "error", emit
        assert b"the model failed" not in body, emit
        if emit != "token":
            assert b"Zanzibar" not in body, emit
        assert model.closed == 1, emit
        assert len(told) == 1, emit


@on_every_loop
async def test_client_that_is_gone_before_the_first_item_costs_nothing() -> None:
    model = FakeModel("Zanzibar [1].", stall_after=0)
    told: list[Summary] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        response = CitationResponse(model, PASSAGES, policy=STRICT, on_summary=told.append, ping=0)
        await response(scope, receive, send)

    exchange = Exchange(app, method="GET")
    exchange.gone.set()
    with anyio.fail_after(5):
        await exchange.run()
    assert (model.pulled, model.closed) == (0, 1)
    assert [(s.ended, s.passages, s.refused_by) for s in told] == [("cancelled", (), None)]
    assert b"summary" not in exchange.body


def test_reader_who_leaves_after_a_sentence_stops_the_model() -> None:
    model = FakeModel("Good [1]. ", "Fine [2]. ", "More", " and more", stall_after=3)
    policy = AnswerPolicy(emit="sentence", uncited_sentence="retry")
    told: list[Summary] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        response = CitationResponse(
            model, PASSAGES, policy=policy, retry=lambda _: [], on_summary=told.append
        )
        await response(scope, receive, send)

    with serving(app) as server:
        reply = Reply(server.port)
        sent = reply.event()
        assert sent is not None
        assert sent.name == "delta"
        reply.leave()
        until(lambda: bool(told), "the summary is told")
    assert (model.pulled, model.closed) == (3, 1)
    assert told[0].ended == "cancelled"
    assert [attempt.outcome for attempt in told[0].attempts] == ["cancelled"]


@on_every_loop
async def test_source_that_is_down_is_answered_before_the_stream_under_a_policy() -> None:
    for emit in ("token", "answer"):
        model = FakeModel(error_after=0)
        response = CitationResponse(
            model, PASSAGES, policy=AnswerPolicy.strict(emit=emit), first_item=True, ping=0
        )

        async def app(
            scope: Scope, receive: Receive, send: Send, response: Response = response
        ) -> None:
            await response(scope, receive, send)

        exchange = await Exchange(app, method="GET").run()
        assert exchange.status == 502
        assert set(json.loads(exchange.body)) == {"reason", "id"}


@on_every_loop
async def test_refusal_before_the_model_is_no_failure() -> None:
    response = CitationResponse(FakeModel("Zanzibar."), [], policy=STRICT, first_item=True, ping=0)
    body = await sent_by(response)
    assert _own_visible(body) == NO_ANSWER
