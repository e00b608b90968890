"""Server-sent events through real servers: what arrives, when, and what is closed after it."""

from __future__ import annotations

import json
import logging
import random
import socket
import sys
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from sse_starlette.sse import SendTimeoutError
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message, Scope

from citestream import closing
from citestream.events import Citation, Event, Summary, Text
from citestream.exceptions import PassageError, SourceError
from citestream.filter import CitationFilter
from citestream.passages import Passage, Passages
from citestream.sse import (
    CITATION,
    DELTA,
    ERROR,
    SEND_TIMEOUT,
    SENTENCE,
    SUMMARY,
    CitationResponse,
)
from tests.loops import on_every_loop
from tests.servers import PATIENCE, Reply, Sent, serving, serving_process, until

CHUNKS = ["The sky is ", "blue [", "1], and the ", "sea [9", "] too [1]."]
PASSAGES = Passages(
    [
        {"text": "Blue.", "title": "Skies", "url": "https://example.org/sky", "id": "s"},
        {"text": "Grey.", "title": "Seas"},
    ]
)


class Model:
    """A source that the test drives and looks at from another thread."""

    def __init__(self, chunks: list[str], *, stuck: bool = False, pause: float = 0) -> None:
        self.chunks = chunks
        self.stuck = stuck
        self.pause = pause
        self.started = False
        self.pulled = 0
        self.closings = 0
        self.summaries: list[Summary] = []

    def __aiter__(self) -> AsyncIterator[str]:
        return self.generate()

    async def generate(self) -> AsyncGenerator[str]:
        self.started = True
        for chunk in self.chunks:
            await anyio.sleep(self.pause)
            self.pulled += 1
            yield chunk
        if self.stuck:
            await anyio.sleep_forever()

    async def aclose(self) -> None:
        self.closings += 1

    def told(self, summary: Summary) -> None:
        self.summaries.append(summary)

    def over(self) -> bool:
        return self.closings > 0 and bool(self.summaries)


def app_of(respond: Callable[[], Response]) -> Starlette:
    async def answer(request: Request) -> Response:
        return respond()

    return Starlette(routes=[Route("/", answer)])


def app_for(model: Any, passages: Any = PASSAGES, **options: Any) -> Starlette:
    told = getattr(model, "told", None)
    return app_of(lambda: CitationResponse(model, passages, on_summary=told, **options))


def visible(events: list[Sent]) -> str:
    return "".join(sent.json()["text"] for sent in events if sent.name in {DELTA, CITATION})


def ended(model: Model) -> list[tuple[str, str | None]]:
    return [(summary.ended, summary.reason) for summary in model.summaries]


# The protocol


def test_events_of_an_answer_arrive_as_they_are_described() -> None:
    model = Model(CHUNKS)
    with serving(app_for(model)) as server, Reply(server.port) as reply:
        events = reply.rest()
    assert [sent for sent in events if sent.name != DELTA] == [
        Sent(
            CITATION,
            '{"text":"[1]","cited":[1],"invalid":[],"passages":[{"label":1,"id":"s",'
            '"title":"Skies","url":"https://example.org/sky"}]}',
        ),
        Sent(CITATION, '{"text":"","cited":[],"invalid":[9],"passages":[]}'),
        Sent(CITATION, '{"text":"[1]","cited":[1],"invalid":[],"passages":[]}'),
        events[-1],
    ]
    assert events[-1].name == SUMMARY
    [summary] = model.summaries
    assert (summary.cited, summary.invalid, summary.unused) == ((1,), (9,), (2,))
    assert events[-1].json() == json.loads(json.dumps(summary.to_dict()))
    assert visible(events) == "The sky is blue [1], and the sea too [1]."
    assert ended(model) == [("complete", None)]
    assert model.closings == 1


def test_sentences_are_sent_if_asked_for() -> None:
    app = app_for(Model(["One [1]. Two", "."]), sentences=True)
    with serving(app) as server, Reply(server.port) as reply:
        events = reply.rest()
    assert [sent for sent in events if sent.name == SENTENCE] == [
        Sent(SENTENCE, '{"content":"One [1].","cited":[1],"covered":true}'),
        Sent(SENTENCE, '{"content":"Two.","cited":[],"covered":false}'),
    ]
    assert visible(events) == "One [1]. Two."
    assert events[-1].json()["uncited"] == ["Two."]


def test_every_event_is_two_ascii_lines() -> None:
    with (
        serving(app_for(Model(["Ça [1]", " €\n\n😀 [9]."]))) as server,
        Reply(server.port) as reply,
    ):
        raw = reply.read()
    assert raw.isascii()
    *blocks, rest = raw.split(b"\n\n")
    assert rest == b""
    for block in blocks:
        name, data = block.split(b"\n")
        assert name in {b"event: delta", b"event: citation", b"event: summary"}
        assert data.startswith(b"data: {")
        assert data.endswith(b"}")


def test_headers_keep_proxies_from_holding_events_back() -> None:
    app = app_for(Model(CHUNKS), headers={"x-request-id": "7"}, status_code=201)
    with serving(app) as server, Reply(server.port) as reply:
        reply.rest()
    assert reply.status == 201
    headers = {
        name: reply.headers[name] for name in reply.headers if name not in {"date", "server"}
    }
    assert headers == {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
        "connection": "keep-alive",
        "x-request-id": "7",
        "transfer-encoding": "chunked",
    }


def test_cache_control_can_be_replaced_whatever_its_case() -> None:
    response = CitationResponse([], 1, headers={"Cache-Control": "private"})
    assert response.headers.getlist("cache-control") == ["private"]
    anyio.run(response.stream.aclose)


def test_passage_is_exposed_no_further_than_asked() -> None:
    passage = Passage(
        1, "Blue.", place="page 2", version="3", score=0.5, metadata={"at": {"x": float("nan")}}
    )
    app = app_of(
        lambda: CitationResponse(
            ["Blue [1]."], [passage], expose=("text", "place", "version", "score", "metadata")
        )
    )
    with serving(app) as server, Reply(server.port) as reply:
        events = reply.rest()
    [payload] = events[-3].json()["passages"]
    assert payload == {
        "label": 1,
        "id": None,
        "title": None,
        "url": None,
        "text": "Blue.",
        "place": "page 2",
        "version": "3",
        "score": 0.5,
        "metadata": {"at": {"x": None}},
    }
    # What the summary repeats, the client has had.
    assert events[-1].json()["passages"] == [{"label": 1, "id": None, "title": None, "url": None}]


def test_each_passage_of_a_shared_label_is_introduced_once() -> None:
    passages = Passages({1: ["One.", "Two."]})
    app = app_of(lambda: CitationResponse(["x [1] ", "y [1]"], passages, expose=["text"]))
    with serving(app) as server, Reply(server.port) as reply:
        introduced = [s.json()["passages"] for s in reply.rest() if s.name == CITATION]
    assert [[passage["text"] for passage in passages] for passages in introduced] == [
        ["One.", "Two."],
        [],
    ]


def test_bad_arguments_are_refused_at_once() -> None:
    with pytest.raises(PassageError, match=r"^expected fields to expose among text, "):
        CitationResponse([], 1, expose=["password"])
    with pytest.raises(SourceError):
        CitationResponse("Sky [1].", 1)
    with pytest.raises(ValueError) as caught:
        CitationResponse([], 1, send_timeout=0)
    assert str(caught.value) == "expected a send_timeout above 0 or None, got 0"


def test_first_event_arrives_before_the_second_is_made() -> None:
    go_on = threading.Event()

    async def source() -> AsyncIterator[str]:
        yield "The sky"
        while not go_on.is_set():  # noqa: ASYNC110  # set by the test's thread
            await anyio.sleep(0.002)
        yield " is blue [1]."

    with serving(app_for(source())) as server, Reply(server.port) as reply:
        assert reply.event() == Sent(DELTA, '{"text":"The sky"}')
        go_on.set()
        assert visible(reply.rest()) == " is blue [1]."


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_background_runs_when_the_source_is_closed(method: str) -> None:
    model = Model(CHUNKS)
    seen: list[int] = []
    task = BackgroundTask(lambda: seen.append(model.closings))
    app = app_for(model, background=task)
    with serving(app) as server, Reply(server.port, method=method) as reply:
        reply.rest()
        until(lambda: seen, "the background task")
    assert seen == [1]


def test_head_is_answered_and_the_source_closed() -> None:
    model = Model(CHUNKS)
    app = app_for(model, first_item=True)
    with serving(app) as server, Reply(server.port, method="HEAD") as reply:
        assert (reply.status, reply.read()) == (200, b"")
        until(model.over, "the source to be closed")
    assert not model.started
    assert model.closings == 1
    assert ended(model) == [("cancelled", None)]


def test_log_holds_one_record_of_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "citestream")
    with serving(app_for(Model(CHUNKS))) as server, Reply(server.port) as reply:
        reply.rest()
    [record] = [r.getMessage() for r in caplog.records if r.name == "citestream"]
    assert record == (
        "answer surface=sse ended=complete reason=None grounded=True refused_by=None"
        " kept=2 removed=1 cited=1(1) invalid=1(9) unused=1 truncated=False"
    )


# T01, T02, T03: the client leaves


@pytest.mark.parametrize("abruptly", [False, True])
def test_t01_client_that_leaves_before_the_first_item(abruptly: bool) -> None:
    model = Model([], stuck=True)
    with serving(app_for(model)) as server:
        reply = Reply(server.port)
        until(lambda: model.started, "the source to start")
        reply.leave(abruptly=abruptly)
        until(model.over, "the source to be closed")
        until(lambda: not server.requests, "the request to end")
    assert (model.pulled, model.closings) == (0, 1)
    assert ended(model) == [("cancelled", "client disconnected")]


def test_t01_client_that_left_before_the_response_began() -> None:
    model = Model([], stuck=True)
    gone = threading.Event()

    async def answer(request: Request) -> Response:
        while not await request.is_disconnected():  # noqa: ASYNC110  # it has no event
            await anyio.sleep(0.002)
        gone.set()
        return CitationResponse(model, 1, on_summary=model.told)

    with serving(Starlette(routes=[Route("/", answer)])) as server:
        hasty = threading.Thread(target=lambda: Hasty(server.port).leave())
        hasty.start()
        assert gone.wait(PATIENCE)
        until(model.over, "the source to be closed")
        hasty.join()
    assert (model.pulled, model.closings) == (0, 1)
    assert ended(model) == [("cancelled", "client disconnected")]


class Hasty:
    """A client that does not wait for an answer."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")

    def leave(self) -> None:
        self._socket.close()


@pytest.mark.parametrize("abruptly", [False, True])
def test_t02_client_that_leaves_after_three_events(abruptly: bool) -> None:
    model = Model([f"{number}," for number in range(1000)], pause=0.01)
    with serving(app_for(model)) as server:
        reply = Reply(server.port)
        for _ in range(3):
            reply.event()
        reply.leave(abruptly=abruptly)
        until(model.over, "the source to be closed")
        pulled = model.pulled
        until(lambda: not server.requests, "the request to end")
        time.sleep(0.05)
        assert model.pulled == pulled
    assert model.closings == 1
    assert ended(model) == [("cancelled", "client disconnected")]


def test_t02_source_that_never_awaits_is_stopped_too() -> None:
    """It cannot keep the server from noticing that the client left."""
    pulled = 0
    told: list[Summary] = []

    async def hog() -> AsyncIterator[str]:
        nonlocal pulled
        while pulled < 10_000_000:
            pulled += 1
            yield f"{pulled},"

    app = app_of(lambda: CitationResponse(hog(), 1, on_summary=told.append))
    with serving(app) as server:
        reply = Reply(server.port)
        reply.event()
        reply.leave()
        until(lambda: told, "the summary")
    assert told[0].ended == "cancelled"
    assert pulled < 10_000_000


class InProcess:
    """An ASGI client without a server, for what must not be sent."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.leave = anyio.Event()
        self.leave_after: int | None = None

    async def receive(self) -> Message:
        await self.leave.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)
        if len(self.sent) == self.leave_after:
            self.leave.set()

    async def call(self, response: Response, **scope: Any) -> None:
        whole: Scope = {"type": "http", "method": "GET", "headers": [], **scope}
        await response(whole, self.receive, self.send)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


@on_every_loop
async def test_t03_nothing_is_sent_to_a_client_that_left() -> None:
    """Neither what was held nor a summary nor the end of the body."""
    model = Model(["a [1"], stuck=True)
    client = InProcess()
    client.leave_after = 2
    response = CitationResponse(model, 1, on_summary=model.told)
    await client.call(response)
    assert [message["type"] for message in client.sent] == [
        "http.response.start",
        "http.response.body",
    ]
    assert client.body == b'event: delta\ndata: {"text":"a"}\n\n'
    assert ended(model) == [("cancelled", "client disconnected")]
    assert model.closings == 1


@on_every_loop
async def test_t03_exactly_one_summary_and_it_is_last() -> None:
    client = InProcess()
    await client.call(CitationResponse(CHUNKS, 1))
    assert client.body.count(b"event: summary\n") == 1
    assert client.body.split(b"\n\n")[-2].startswith(b"event: summary\n")
    assert [m["more_body"] for m in client.sent[1:]] == [True] * (len(client.sent) - 2) + [False]


# T06: shutdown and cancellation


@on_every_loop
async def test_t06_cancellation_passes_through() -> None:
    model = Model(["a"], stuck=True)
    client = InProcess()
    response = CitationResponse(model, 1, on_summary=model.told)
    returned = False

    async def call() -> None:
        nonlocal returned
        await client.call(response)
        returned = True

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert not returned
    assert len(client.sent) == 2
    assert model.closings == 1
    assert ended(model) == [("cancelled", None)]


@on_every_loop
async def test_t06_source_that_hangs_in_closing_delays_by_the_grace_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(closing, "CLOSE_GRACE", 0.2)

    class Hangs(Model):
        async def aclose(self) -> None:
            self.closings += 1
            await anyio.sleep_forever()

    model = Hangs(["a"], stuck=True)
    client = InProcess()
    start = anyio.current_time()
    client.leave_after = 2
    await client.call(CitationResponse(model, 1, on_summary=model.told))
    assert 0.2 <= anyio.current_time() - start < 3
    assert model.closings == 1
    assert ended(model) == [("cancelled", "client disconnected")]


def for_shutdown() -> Starlette:
    """Make the application that another process serves."""

    class Speaks(Model):
        async def generate(self) -> AsyncGenerator[str]:
            say("started")
            try:
                async for chunk in super().generate():
                    yield chunk
            finally:
                say("closed")

        def told(self, summary: Summary) -> None:
            say(f"{summary.ended} {summary.reason}")

    def say(what: str) -> None:
        sys.stdout.write(f"{what}\n")
        sys.stdout.flush()

    def respond(stuck: bool, **options: Any) -> CitationResponse:
        model = Speaks(["The sky [1] is", " blue [", "1"], stuck=stuck, pause=0.2)
        return CitationResponse(model, 1, on_summary=model.told, **options)

    async def stuck(request: Request) -> Response:
        return respond(stuck=True)

    async def slow(request: Request) -> Response:
        return respond(stuck=False, shutdown_grace_period=PATIENCE)

    async def silent(request: Request) -> Response:
        return CitationResponse(Speaks([], stuck=True), 1, first_item=True)

    return Starlette(
        routes=[Route("/stuck", stuck), Route("/slow", slow), Route("/silent", silent)]
    )


shutdown_app = for_shutdown()
HERE = "tests.test_sse:shutdown_app"


def test_t06_shutdown_ends_the_answer_with_a_summary() -> None:
    with serving_process("uvicorn", HERE) as server, Reply(server.port, "/stuck") as reply:
        while (sent := reply.event()) and "blue" not in sent.data:
            pass
        server.terminate()
        events = reply.rest()
        output, errors = server.wait()
    # What was held is not released, and the end of the body is proper.
    assert [sent.name for sent in events] == [SUMMARY]
    assert events[0].json()["ended"] == "cancelled"
    assert events[0].json()["reason"] == "server shutdown"
    assert events[0].json()["cited"] == [1]
    assert output.splitlines() == ["started", "closed", "cancelled server shutdown"]
    assert errors == ""


def test_t06_answer_may_end_by_itself_in_the_grace_period() -> None:
    with serving_process("uvicorn", HERE) as server, Reply(server.port, "/slow") as reply:
        reply.event()
        server.terminate()
        events = reply.rest()
        output, errors = server.wait()
    assert events[-1].name == SUMMARY
    assert events[-1].json()["ended"] == "complete"
    assert output.splitlines() == ["started", "closed", "complete None"]
    assert errors == ""


def test_t06_shutdown_before_the_first_item_is_a_503() -> None:
    with serving_process("uvicorn", HERE) as server:
        replies: list[Reply] = []
        asking = threading.Thread(target=lambda: replies.append(Reply(server.port, "/silent")))
        asking.start()
        assert server.line() == "started"
        server.terminate()
        asking.join(PATIENCE)
        with replies[0] as reply:
            assert reply.status == 503
            assert json.loads(reply.read()) == {"reason": "server shutdown", "id": None}
        _, errors = server.wait()
    assert errors == ""


def test_t06_shutdown_on_trio_closes_the_source() -> None:
    """Hypercorn cancels what is left after its own grace period."""
    with serving_process("hypercorn", HERE) as server, Reply(server.port, "/stuck") as reply:
        reply.event()
        server.terminate()
        output, _ = server.wait()
    assert output.splitlines() == ["started", "closed", "cancelled None"]


# T07, T08, T09: sources of every kind


async def holding(model: Model) -> AsyncIterator[str]:
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep_forever)
            with anyio.fail_after(60):
                async for chunk in model:
                    yield chunk
            group.cancel_scope.cancel()
    finally:
        model.closings += 1


@pytest.mark.parametrize("first_item", [False, True])
@pytest.mark.parametrize("stuck", [False, True])
def test_t07_source_may_hold_scopes_across_its_yields(
    stuck: bool, first_item: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    model = Model(CHUNKS, stuck=stuck)
    app = app_of(
        lambda: CitationResponse(
            holding(model), PASSAGES, on_summary=model.told, first_item=first_item
        )
    )
    with serving(app) as server:
        reply = Reply(server.port)
        if stuck:
            while (sent := reply.event()) and "too" not in sent.data:
                pass
        else:
            assert visible(reply.rest()) == "The sky is blue [1], and the sea too [1]."
        reply.leave()
        until(model.over, "the source to be closed")
        until(lambda: not server.requests, "the request to end")
    assert model.closings == 1
    assert ended(model) == [("cancelled", "client disconnected") if stuck else ("complete", None)]
    assert caplog.messages == []


class SyncModel:
    """A source that blocks its thread."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.closings = 0
        self.summaries: list[Summary] = []

    def __iter__(self) -> Iterator[str]:
        try:
            yield "The sky ["
            self.go_on.wait(PATIENCE)
            yield "1]"
        finally:
            self.closings += 1

    def told(self, summary: Summary) -> None:
        self.summaries.append(summary)


def test_t08_pings_go_out_while_a_sync_source_blocks() -> None:
    model = SyncModel()
    with serving(app_for(model, ping=0.02)) as server, Reply(server.port) as reply:
        assert (reply.event() or Sent("", "")).name == DELTA
        assert reply.block().startswith(b": ping")
        assert reply.block().startswith(b": ping")
        model.go_on.set()
        assert visible(reply.rest()) == " [1]"
    assert model.closings == 1


def test_t08_client_that_leaves_a_sync_source() -> None:
    model = SyncModel()
    with serving(app_for(model)) as server:
        reply = Reply(server.port)
        reply.event()
        reply.leave()
        # The thread cannot be stopped, but it is the last that anybody waits for.
        time.sleep(0.05)
        model.go_on.set()
        until(lambda: model.summaries, "the summary")
        until(lambda: not server.requests, "the request to end")
    assert model.closings == 1
    assert [(s.ended, s.reason) for s in model.summaries] == [("cancelled", "client disconnected")]


def test_t09_closing_reaches_the_generator_inside_a_clients_stream() -> None:
    """As an SDK's stream does, it makes a generator and has a `close` of its own."""
    log: list[str] = []

    class Stream:
        async def __aiter__(self) -> AsyncIterator[str]:
            try:
                yield "a"
                await anyio.sleep_forever()
            finally:
                log.append("generator closed")

        async def close(self) -> None:
            log.append("stream closed")

    with serving(app_for(Stream())) as server:
        reply = Reply(server.port)
        reply.event()
        reply.leave()
        until(lambda: len(log) == 2, "the stream to be closed")
    assert log == ["generator closed", "stream closed"]


# T10: a source that raises


def test_t10_error_says_nothing_of_what_went_wrong(caplog: pytest.LogCaptureFixture) -> None:
    async def source() -> AsyncIterator[str]:
        yield "The sky [1"
        yield "] is [ob"
        yield "vious ["
        raise RuntimeError("the prompt was: swordfish")

    with serving(app_for(source())) as server, Reply(server.port) as reply:
        events = reply.rest()
    assert visible(events) == "The sky [1] is [obvious ["
    assert [sent.name for sent in events[-2:]] == [ERROR, SUMMARY]
    error, summary = events[-2].json(), events[-1].json()
    assert error == {"reason": "source failed", "id": error["id"]}
    assert (summary["ended"], summary["reason"]) == ("error", f"source failed ({error['id']})")
    assert (summary["cited"], summary["kept"]) == ([1], 1)
    assert "swordfish" not in str(events)
    # The server's log has it all, under the same id.
    [record] = [record for record in caplog.records if error["id"] in record.getMessage()]
    assert record.levelno == logging.ERROR
    assert "swordfish" in caplog.text


# T11: a slow reader


# What the kernel holds for a reader, instead of megabytes.
SMALL = 4096


def test_t11_source_is_not_run_ahead_of_a_slow_reader() -> None:
    """What lies between the two is what the server and the sockets hold, and no more."""
    model = Model(["x" * 1000 + "," for _ in range(100_000)])
    with serving(app_for(model), send_buffer=SMALL) as server:
        reply = Reply(server.port, receive_buffer=SMALL)
        reply.event()
        for _ in range(3):
            ahead = -1
            while ahead != model.pulled:
                ahead = model.pulled
                time.sleep(0.1)
            # uvicorn stops at 64 KiB, and the kernel takes twice what it is told.
            assert ahead - reply.events < 150
            while model.pulled == ahead:
                reply.event()
        reply.leave()
        until(model.over, "the source to be closed")
    assert model.closings == 1


def test_t11_reader_who_reads_nothing_does_not_hold_the_model(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = Model(["x" * 1000 + "," for _ in range(100_000)])
    with serving(app_for(model, send_timeout=0.2), send_buffer=SMALL) as server:
        reply = Reply(server.port, receive_buffer=SMALL)
        until(model.over, "the source to be closed")
        until(lambda: not server.requests, "the request to end")
        reply.leave(abruptly=True)
    assert model.closings == 1
    assert model.pulled < 150
    assert ended(model) == [("cancelled", "client too slow")]
    assert any(r.exc_info and r.exc_info[0] is SendTimeoutError for r in caplog.records)


@on_every_loop
async def test_t11_end_of_the_body_is_under_the_time_limit_too() -> None:
    class Stalls(InProcess):
        async def send(self, message: Message) -> None:
            await super().send(message)
            if message.get("more_body") is False:
                await anyio.sleep_forever()

    client = Stalls()
    with pytest.raises(SendTimeoutError):
        await client.call(CitationResponse(["a"], 1, send_timeout=0.05))


@on_every_loop
async def test_send_timeout_is_finite_by_default() -> None:
    response = CitationResponse([], 1)
    assert response.send_timeout == SEND_TIMEOUT == 30
    await response.stream.aclose()


@on_every_loop
async def test_silent_model_is_no_slow_reader() -> None:
    client = InProcess()
    await client.call(CitationResponse(Model(["a"] * 3, pause=0.2), 1, send_timeout=0.05))
    assert client.body.count(b"event: delta\n") == 3
    assert client.sent[-1]["more_body"] is False


@on_every_loop
async def test_send_timeout_can_be_turned_off() -> None:
    class Slow(InProcess):
        async def send(self, message: Message) -> None:
            await anyio.sleep(0.02)
            await super().send(message)

    for timeout, seconds in (None, 0.2), (0.2, 0.2):
        client = Slow()
        start = anyio.current_time()
        await client.call(CitationResponse(["a"] * 20, 1, send_timeout=timeout))
        # The limit is for one event, not for all of them.
        assert anyio.current_time() - start > seconds
        assert client.body.count(b"event: delta\n") == 20


@on_every_loop
async def test_source_is_closed_when_send_raises() -> None:
    class Breaks(InProcess):
        async def send(self, message: Message) -> None:
            await super().send(message)
            if len(self.sent) == 2:
                raise OSError("broken pipe")

    model = Model(CHUNKS)
    client = Breaks()
    with pytest.raises(OSError, match="broken pipe"):
        await client.call(CitationResponse(model, 1, on_summary=model.told))
    assert (model.pulled, model.closings, len(client.sent)) == (1, 1, 2)
    assert ended(model) == [("cancelled", None)]


# T12: pings


def test_t12_pings_go_out_while_text_is_held_and_the_model_is_silent() -> None:
    model = Model(["The sky [1"], stuck=True)
    with serving(app_for(model, ping=0.02)) as server, Reply(server.port) as reply:
        assert reply.block() == b'event: delta\ndata: {"text":"The sky"}\n\n'
        for _ in range(3):
            block = reply.block()
            assert block.startswith(b": ping")
            assert block.count(b"\n") == 2
    assert model.pulled == 1


def test_t12_pings_can_be_turned_off() -> None:
    model = Model(["a", "b"], pause=0.1)
    with serving(app_for(model, ping=0)) as server, Reply(server.port) as reply:
        assert visible(reply.rest()) == "ab"
        assert reply.comments == []


# B03: what the model writes stays inside its line

HOSTILE = [
    "\n\nevent: summary\ndata: {}\n\n",
    "\r\n\r\nid: 7\r\nretry: 1\r\n",
    "\r\rdata: x\r\r",
    "  leading and trailing  ",
    "\ufeff",
    "\x00\x1b[2J",
    "\u2028\u2029\x85\x0b\x0c",
    "\ud83d",
    "\udc80\udcff",
    "\ud83d\ude00",
    '"}\n\n: ping\n\n{"',
    "</script><!--",
    "😀é漢",
    "\\n\\u0000",
]


def filtered(chunks: list[str]) -> tuple[str, Summary]:
    """Return what a client should end up with.

    Two halves of a surrogate pair are one character there, as in any JSON.
    """
    whole = CitationFilter(PASSAGES)
    events: list[Event] = [event for chunk in chunks for event in whole.feed(chunk)]
    *rest, summary = whole.finish()
    assert isinstance(summary, Summary)
    text = "".join(e.text for e in events + rest if isinstance(e, Text | Citation))
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass"), summary


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_b03_text_survives_and_forges_nothing(text: str) -> None:
    chunks = ["a", text, "b [1]", text, "[9", "]", text]
    expected, _ = filtered(chunks)
    with serving(app_for(iter(chunks))) as server, Reply(server.port) as reply:
        received = reply.rest()
    assert visible(received) == expected
    assert reply.comments == []
    assert {sent.name for sent in received} == {DELTA, CITATION, SUMMARY}
    assert [sent.name for sent in received].count(SUMMARY) == 1


def test_b03_random_text_survives() -> None:
    dice = random.Random(7)
    alphabet = [*'\n\r :[]19{}"\\', "data: ", "event: error\n", "\n\n", "\u2028", "\ud800", "\x00"]
    chunks = ["".join(dice.choices(alphabet, k=dice.randint(0, 6))) for _ in range(3000)]
    expected, summary = filtered(chunks)
    with serving(app_for(chunks)) as server, Reply(server.port) as reply:
        received = reply.rest()
    assert visible(received) == expected
    assert {sent.name for sent in received} == {DELTA, CITATION, SUMMARY}
    assert received[-1].json() == json.loads(json.dumps(summary.to_dict()))


def test_b03_titles_and_urls_of_passages_forge_nothing() -> None:
    title = "\n\nevent: error\ndata: {}\n\n</script>\ud800"
    passages = [{"text": "x", "title": title, "url": "https://example.org/?a=\u00e9"}]
    with serving(app_for(["a [1]"], passages)) as server, Reply(server.port) as reply:
        received = reply.rest()
    assert [sent.name for sent in received if sent.name != DELTA] == [CITATION, SUMMARY]
    assert received[-2].json()["passages"][0]["title"] == title
    assert received[-1].json()["passages"][0]["title"] == title


# The first item


class Failing:
    """A model that is down."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __aiter__(self) -> Failing:
        return self

    async def __anext__(self) -> str:
        await anyio.lowlevel.checkpoint()
        raise self.error


def test_model_that_is_down_is_a_502(caplog: pytest.LogCaptureFixture) -> None:
    told: list[Summary] = []
    app = app_of(
        lambda: CitationResponse(
            Failing(OSError("connection to swordfish refused")),
            1,
            first_item=True,
            ping=0.01,
            on_summary=told.append,
            headers={"x-request-id": "7"},
        )
    )
    with serving(app) as server, Reply(server.port) as reply:
        body = reply.read()
    assert reply.status == 502
    refusal = json.loads(body)
    assert refusal == {"reason": "source failed", "id": refusal["id"]}
    headers = {
        name: reply.headers[name] for name in reply.headers if name not in {"date", "server"}
    }
    assert headers == {
        "content-type": "application/json",
        "content-length": str(len(body)),
        "cache-control": "no-store",
        "x-request-id": "7",
    }
    assert [(s.ended, s.reason) for s in told] == [("error", f"source failed ({refusal['id']})")]
    assert refusal["id"] in caplog.text
    assert "swordfish" in caplog.text


def test_without_the_option_a_model_that_is_down_is_an_error_in_the_stream() -> None:
    with serving(app_for(Failing(OSError("gone")))) as server, Reply(server.port) as reply:
        assert (reply.status, [sent.name for sent in reply.rest()]) == (200, [ERROR, SUMMARY])


def test_first_item_is_waited_for_and_nothing_is_sent_before_it() -> None:
    model = Model(["The sky [", "1]"], pause=0.1)
    app = app_for(model, first_item=True, ping=0.01)
    with serving(app) as server, Reply(server.port) as reply:
        assert reply.status == 200
        assert reply.block() == b'event: delta\ndata: {"text":"The sky"}\n\n'
        assert reply.block().startswith(b": ping")
        assert visible(reply.rest()) == " [1]"
    assert ended(model) == [("complete", None)]


def test_first_item_need_not_be_text_that_can_be_shown() -> None:
    model = Model(["[1"], stuck=True)
    app = app_for(model, first_item=True, ping=0.01)
    with serving(app) as server, Reply(server.port) as reply:
        assert reply.status == 200
        assert reply.block().startswith(b": ping")


def test_answer_without_an_item_is_an_answer() -> None:
    with serving(app_for(Model([]), first_item=True)) as server, Reply(server.port) as reply:
        assert (reply.status, [sent.name for sent in reply.rest()]) == (200, [SUMMARY])


def test_client_that_leaves_while_the_first_item_is_waited_for() -> None:
    model = Model([], stuck=True)
    with serving(app_for(model, first_item=True)) as server:
        hasty = Hasty(server.port)
        until(lambda: model.started, "the source to start")
        hasty.leave()
        until(model.over, "the source to be closed")
    assert model.closings == 1
    assert ended(model) == [("cancelled", "client disconnected")]


@on_every_loop
async def test_websocket_that_asks_for_a_page_is_answered_in_its_own_words() -> None:
    for chunks, status in (["a"], 200), (Failing(OSError("gone")), 502):
        client = InProcess()
        response = CitationResponse(chunks, 1, first_item=True)
        await client.call(response, type="websocket")
        kinds = {message["type"] for message in client.sent}
        assert kinds == {"websocket.http.response.start", "websocket.http.response.body"}
        assert client.sent[0]["status"] == status
        assert client.sent[-1]["more_body"] is False
