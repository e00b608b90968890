from __future__ import annotations

import inspect
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citestream import CitationFilter, Passages
from citestream.events import Summary
from citestream.exceptions import PassageError, StyleError, UnfilterableResponseError
from citestream.middleware import (
    BodyPassages,
    CitationMiddleware,
    PromptPassages,
    attach_passages,
)
from citestream.middleware.settings import FilterOptions
from tests.loops import on_every_loop
from tests.wire.bodies import chat_chunk, chat_stream, payloads, sse

PASSAGES = ["Refunds take five days.", "Late fees are two euros.", "Helmets are free."]

Endpoint = Callable[[Request], Awaitable[Response]]


class Exchange:
    """One request to an application, without a server: every message as it was sent."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        method: str = "POST",
        body: bytes = b"",
        headers: dict[str, str] | None = None,
        extensions: Sequence[str] = (),
        requests: Sequence[Message] | None = None,
    ) -> None:
        self._app = app
        self.scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "method": method,
            "path": "/",
            "raw_path": b"/",
            "query_string": b"",
            "root_path": "",
            "headers": [(k.encode(), v.encode()) for k, v in (headers or {}).items()],
            "extensions": {name: {} for name in extensions},
            "state": {},
        }
        self.sent: list[Message] = []
        self._requests = list(
            requests or [{"type": "http.request", "body": body, "more_body": False}]
        )
        self.gone = anyio.Event()

    async def receive(self) -> Message:
        if self._requests:
            return self._requests.pop(0)
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    async def run(self) -> Exchange:
        await self._app(self.scope, self.receive, self.send)
        return self

    @property
    def status(self) -> int:
        (start,) = [m for m in self.sent if m["type"] == "http.response.start"]
        assert self.sent[0] is start
        return int(start["status"])

    @property
    def headers(self) -> dict[str, str]:
        pairs = [(k.decode().lower(), v.decode()) for k, v in self.sent[0]["headers"]]
        assert len(dict(pairs)) == len(pairs), "a header twice"
        return dict(pairs)

    @property
    def bodies(self) -> list[bytes]:
        return [m.get("body", b"") for m in self.sent if m["type"] == "http.response.body"]

    @property
    def body(self) -> bytes:
        return b"".join(self.bodies)

    @property
    def ended(self) -> bool:
        return self.sent[-1].get("more_body", False) is False


def endpoint(respond: Endpoint) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = await respond(request)
        await response(scope, receive, send)

    return app


def answering(
    *chunks: bytes | str, media_type: str = "text/plain", passages: Any = PASSAGES, **options: Any
) -> ASGIApp:
    """Make an application that streams an answer with passages attached."""

    async def respond(request: Request) -> Response:
        if passages is not None:
            attach_passages(request, passages, **options)

        async def body() -> AsyncIterator[bytes | str]:
            for chunk in chunks:
                yield chunk

        return StreamingResponse(body(), media_type=media_type)

    return endpoint(respond)


@on_every_loop
async def test_an_answer_is_filtered_as_it_streams() -> None:
    heard: list[tuple[Summary, str]] = []
    app = CitationMiddleware(
        answering("Five days", " [1", "]", " or so [", "9]", "."),
        on_summary=lambda summary, scope: heard.append((summary, scope["path"])),
    )
    exchange = await Exchange(app).run()
    assert exchange.status == 200
    assert exchange.bodies == [b"Five days", b" [1]", b" or so", b".", b""]
    assert exchange.headers == {
        "content-type": "text/plain; charset=utf-8",
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
    }
    ((summary, path),) = heard
    assert (summary.cited, summary.invalid, summary.ended, path) == ((1,), (9,), "complete", "/")


@on_every_loop
async def test_on_summary_may_be_async_and_what_it_raises_is_logged_alone() -> None:
    heard: list[Summary] = []

    async def note(summary: Summary, _: Scope) -> None:
        await anyio.lowlevel.checkpoint()
        heard.append(summary)
        raise RuntimeError("the metrics are down")

    exchange = await Exchange(CitationMiddleware(answering("[1]"), on_summary=note)).run()
    assert exchange.body == b"[1]"
    assert len(heard) == 1


def test_one_record_is_logged_for_each_answer(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "citestream")
    anyio.run(Exchange(CitationMiddleware(answering("secret [1] [9]"), surface="chat")).run)
    (record,) = caplog.records
    assert record.getMessage() == (
        "answer surface=chat ended=complete reason=None grounded=True refused_by=None "
        "kept=1 removed=1 cited=1(1) invalid=1(9) unused=2 truncated=False"
    )


# -- Where passages come from ------------------------------------------------


@on_every_loop
async def test_without_passages_nothing_is_touched() -> None:
    chunks = ("a [9]", "", "b [")
    plain = await Exchange(answering(*chunks, passages=None)).run()
    inside = await Exchange(CitationMiddleware(answering(*chunks, passages=None))).run()
    assert inside.sent == plain.sent


@on_every_loop
async def test_constant_passages_hold_for_every_response() -> None:
    app = CitationMiddleware(answering("a [9].", passages=None), passages=PASSAGES)
    assert (await Exchange(app).run()).body == b"a."
    assert (await Exchange(app).run()).body == b"a."


@pytest.mark.parametrize("asynchronous", [False, True])
def test_passages_may_come_from_a_callable_on_the_scope(asynchronous: bool) -> None:
    def find(scope: Scope) -> Any:
        return scope["state"].get("hits")

    async def find_later(scope: Scope) -> Any:
        await anyio.lowlevel.checkpoint()
        return find(scope)

    async def respond(request: Request) -> Response:
        if request.method == "POST":
            request.state.hits = PASSAGES
        return PlainTextResponse("a [9].")

    app = CitationMiddleware(endpoint(respond), passages=find_later if asynchronous else find)
    assert anyio.run(Exchange(app).run).body == b"a."
    assert anyio.run(Exchange(app, method="GET").run).body == b"a [9]."


@on_every_loop
async def test_attached_passages_come_before_those_of_the_middleware() -> None:
    app = CitationMiddleware(answering("a [2] [3].", passages=PASSAGES[:2]), passages=PASSAGES)
    assert (await Exchange(app).run()).body == b"a [2]."


@on_every_loop
async def test_no_passage_at_all_makes_every_marker_invented() -> None:
    assert (
        await Exchange(CitationMiddleware(answering("a [1].", passages=[]))).run()
    ).body == b"a."


@on_every_loop
async def test_passages_may_be_added_while_the_answer_streams() -> None:
    passages = Passages(PASSAGES)

    async def respond(request: Request) -> Response:
        attach_passages(request, passages)

        async def body() -> AsyncIterator[str]:
            yield "a [4] "
            passages.add("Bells are required.")
            yield "b [4]"

        return StreamingResponse(body(), media_type="text/plain")

    assert (await Exchange(CitationMiddleware(endpoint(respond))).run()).body == b"a b [4]"


@on_every_loop
async def test_options_of_the_filter_come_from_the_middleware_and_from_the_endpoint() -> None:
    app = answering("a [9] [1].", replacement="(?)")
    exchange = await Exchange(CitationMiddleware(app, invalid="flag", replacement="!")).run()
    assert exchange.body == b"a (?) [1]."


def test_b10_passages_without_a_middleware_are_no_silent_bypass() -> None:
    with pytest.raises(UnfilterableResponseError) as caught:
        anyio.run(Exchange(answering("a [9]")).run)
    assert str(caught.value) == (
        "expected a CitationMiddleware around this request, got none: "
        "add it to the application, or the answer leaves unchecked"
    )


def test_passages_after_the_start_are_no_silent_bypass() -> None:
    async def respond(request: Request) -> Response:
        async def body() -> AsyncIterator[str]:
            attach_passages(request, PASSAGES)
            yield "a [9]"

        return StreamingResponse(body(), media_type="text/plain")

    with pytest.raises(UnfilterableResponseError) as caught:
        anyio.run(Exchange(CitationMiddleware(endpoint(respond))).run)
    assert str(caught.value) == (
        "expected passages before the response starts, got them after: "
        "attach them in the endpoint, not in the generator of its body"
    )


@on_every_loop
async def test_passages_reach_the_holder_through_a_copied_scope() -> None:
    app = answering("a [9].")

    async def copying(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "path": "/other"}, receive, send)

    assert (await Exchange(CitationMiddleware(copying)).run()).body == b"a."


@on_every_loop
async def test_a_scope_serves_as_well_as_a_request() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        attach_passages(scope, PASSAGES)
        await PlainTextResponse("a [9].")(scope, receive, send)

    assert (await Exchange(CitationMiddleware(app)).run()).body == b"a."


def test_the_requests_own_passages_are_taken_out_before_anybody_sees_them() -> None:
    seen: list[Any] = []

    async def respond(request: Request) -> Response:
        seen.extend((await request.body(), request.headers["content-length"]))
        return JSONResponse({"text": "a [2] [3]."})

    app = CitationMiddleware(endpoint(respond), passages=BodyPassages("sources"))
    body = b'{"q": "x", "sources": ["a", "b"], "n": 1.0}'
    headers = {"content-type": "application/json", "content-length": str(len(body))}
    halves: list[Message] = [
        {"type": "http.request", "body": body[:20], "more_body": True},
        {"type": "http.request", "body": body[20:]},
    ]
    exchange = anyio.run(Exchange(app, headers=headers, requests=halves).run)
    assert seen == [b'{"q": "x", "n": 1.0}', "20"]
    assert json.loads(exchange.body)["text"] == "a [2]."
    # Without the field, and without JSON, there are none.
    for kind in ("application/json", "text/plain"):
        exchange = anyio.run(
            Exchange(app, headers={"content-type": kind, "content-length": "2"}, body=b"{}").run
        )
        assert exchange.body == b'{"text":"a [2] [3]."}'
    assert seen[2:] == [b"{}", "2", b"{}", "2"]


def test_bad_passages_of_a_request_are_the_clients_mistake() -> None:
    app = CitationMiddleware(answering("x", passages=None), passages=BodyPassages())
    headers = {"content-type": "application/json"}
    exchange = anyio.run(Exchange(app, headers=headers, body=b'{"passages": 1.5}').run)
    assert exchange.status == 400
    error = json.loads(exchange.body)["error"]
    assert error["code"] == "bad_passages"
    assert error["message"].startswith("expected ")


def test_a_request_too_long_to_be_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citestream.middleware.responder.MOST_REQUEST", 10)
    headers = {"content-type": "application/json"}
    for passages in (BodyPassages(), PromptPassages()):
        app = CitationMiddleware(answering("x", passages=None), passages=passages)
        exchange = anyio.run(Exchange(app, headers=headers, body=b'{"a": "xxxxx"}').run)
        assert exchange.status == 413


def test_a_client_that_leaves_while_its_request_is_read_gets_nothing() -> None:
    app = CitationMiddleware(answering("x", passages=None), passages=BodyPassages())
    headers = {"content-type": "application/json"}
    requests: list[Message] = [
        {"type": "http.request", "body": b"{", "more_body": True},
        {"type": "http.disconnect"},
    ]
    assert anyio.run(Exchange(app, headers=headers, requests=requests).run).sent == []


def test_the_numbered_sources_of_the_prompt_are_passages() -> None:
    async def respond(request: Request) -> Response:
        assert (await request.json())["messages"]
        return PlainTextResponse("a [2] [3].")

    app = CitationMiddleware(endpoint(respond), passages=PromptPassages())
    messages = [{"role": "user", "content": "[1] one\n[2] two\n\nHow long?"}]
    headers = {"content-type": "application/json"}
    body = json.dumps({"messages": messages}).encode()
    assert anyio.run(Exchange(app, headers=headers, body=body).run).body == b"a [2]."
    messages[0]["content"] = "How long?"
    body = json.dumps({"messages": messages}).encode()
    assert anyio.run(Exchange(app, headers=headers, body=body).run).body == b"a [2] [3]."


# -- Structured output -------------------------------------------------------

DOCUMENT = '{"answer": "Five [1] a [9].", "sources": [1, 9]}'
CHECKED = '{"answer": "Five [1] a.", "sources": [1, 9]}'


def test_a_request_for_json_makes_only_its_strings_prose() -> None:
    async def respond(request: Request) -> Response:
        await request.json()
        attach_passages(request, PASSAGES)
        return Response(chat_stream(*DOCUMENT), media_type="text/event-stream")

    app = CitationMiddleware(endpoint(respond))
    headers = {"content-type": "application/json"}
    body = b'{"response_format": {"type": "json_schema", "json_schema": {}}}'
    requests: list[list[Message]] = [
        [{"type": "http.request", "body": body}],
        [
            {"type": "http.request", "body": body[:9], "more_body": True},
            {"type": "http.request", "body": body[9:]},
        ],
    ]
    for pieces in requests:
        exchange = anyio.run(Exchange(app, headers=headers, requests=pieces).run)
        content = [f["choices"][0]["delta"].get("content") for f in payloads(exchange.body)]
        assert "".join(text or "" for text in content) == CHECKED


@pytest.mark.parametrize("where", ["middleware", "endpoint"])
def test_the_caller_may_say_that_text_is_json(where: str) -> None:
    kind: dict[str, Any] = {"text": "json"}
    app = answering(*DOCUMENT, **(kind if where == "endpoint" else {}))
    middleware = CitationMiddleware(app, **(kind if where == "middleware" else {"text": "prose"}))
    assert anyio.run(Exchange(middleware).run).body == CHECKED.encode()


# -- B08 to B10 --------------------------------------------------------------


@on_every_loop
async def test_b08_headers_that_described_the_body_go() -> None:
    async def respond(request: Request) -> Response:
        attach_passages(request, PASSAGES)
        return Response(
            b"a [9].",
            media_type="text/plain",
            headers={
                "ETag": '"x"',
                "Accept-Ranges": "bytes",
                "Digest": "x",
                "Cache-Control": "no-store",
            },
        )

    exchange = await Exchange(CitationMiddleware(endpoint(respond))).run()
    assert exchange.headers == {
        "content-type": "text/plain; charset=utf-8",
        "content-length": "2",
        "cache-control": "no-store, no-cache, no-transform",
        "x-accel-buffering": "no",
    }
    assert exchange.body == b"a."


@on_every_loop
async def test_b08_messages_of_the_application_stay_its_own() -> None:
    start: Message = {
        "type": "http.response.start",
        "status": 200,
        "headers": [(b"content-type", b"text/plain"), (b"content-length", b"6")],
    }
    body: Message = {"type": "http.response.body", "body": b"a [9]."}
    before = json.dumps([repr(start), repr(body)])

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        attach_passages(scope, PASSAGES)
        await send(start)
        await send(body)

    exchange = await Exchange(CitationMiddleware(app)).run()
    assert exchange.body == b"a."
    assert json.dumps([repr(start), repr(body)]) == before


def refused(app: ASGIApp, **request: Any) -> str:
    """Return the sentence of a response that was refused."""
    exchange = anyio.run(Exchange(CitationMiddleware(app), **request).run)
    assert exchange.status == 502
    assert exchange.headers["content-length"] == str(len(exchange.body))
    assert exchange.ended
    error = json.loads(exchange.body)["error"]
    assert (error["type"], error["code"]) == ("server_error", "unfilterable_response")
    return str(error["message"])


def test_b09_a_compressed_body_is_refused_before_the_start() -> None:
    async def respond(request: Request) -> Response:
        attach_passages(request, PASSAGES)
        return Response(
            b"\x1f\x8b...", media_type="text/plain", headers={"Content-Encoding": "gzip"}
        )

    assert refused(endpoint(respond)) == (
        "expected an unencoded body, got Content-Encoding 'gzip': "
        "add CitationMiddleware inside the compressing middleware"
    )


@pytest.mark.parametrize("media_type", ["text/html", "application/octet-stream", None])
def test_b10_a_content_type_nobody_reads_is_refused_before_the_start(media_type: Any) -> None:
    async def respond(request: Request) -> Response:
        attach_passages(request, PASSAGES)
        return Response(b"secret [9]", media_type=media_type)

    assert refused(endpoint(respond)).startswith(
        "expected text/plain, text/event-stream or application/json for the format 'auto', "
        f"got content type '{media_type or ''}"
    )


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (b'{"secret": "[9]"}', "application/json"),
        (b"secret", "application/json"),
        (sse({"secret": "[9]"}), "text/event-stream"),
        (b"data: {", "text/event-stream; charset=latin-1"),
    ],
)
def test_a_body_of_unknown_shape_is_refused_and_nothing_of_it_is_told(
    body: bytes, media_type: str
) -> None:
    for chunks in ([body], [body[:3], body[3:]], [b"", body]):
        assert "secret" not in refused(answering(*chunks, media_type=media_type))


def test_the_source_of_a_refused_body_is_stopped() -> None:
    seen: list[str] = []

    async def respond(request: Request) -> Response:
        attach_passages(request, PASSAGES)

        async def body() -> AsyncIterator[str]:
            try:
                for chunk in "abc":
                    seen.append(chunk)
                    yield chunk
            finally:
                seen.append("closed")

        return StreamingResponse(body(), media_type="text/html")

    refused(endpoint(respond))
    assert seen[0] == "a"
    assert "b" not in seen


@pytest.mark.parametrize("status", [204, 206, 304, 400, 404, 500])
def test_b10_statuses_that_carry_no_answer_are_untouched(status: int) -> None:
    async def respond(request: Request) -> Response:
        attach_passages(request, PASSAGES)
        body = b"" if status in (204, 304) else b"a [9]"
        return Response(body, status, media_type="text/html", headers={"ETag": "x"})

    plain = anyio.run(Exchange(CitationMiddleware(endpoint(respond))).run)
    assert plain.status == status
    assert plain.headers["etag"] == "x"
    assert plain.body == (b"" if status in (204, 304) else b"a [9]")


@on_every_loop
async def test_b10_head_is_untouched() -> None:
    async def respond(request: Request) -> Response:
        attach_passages(request, PASSAGES)
        return Response(b"", media_type="text/plain", headers={"content-length": "6"})

    exchange = await Exchange(CitationMiddleware(endpoint(respond)), method="HEAD").run()
    assert exchange.headers["content-length"] == "6"
    assert "cache-control" not in exchange.headers


@on_every_loop
async def test_b10_an_empty_body_needs_no_filter() -> None:
    async def respond(request: Request) -> Response:
        attach_passages(request, PASSAGES)
        return RedirectResponse("/elsewhere")

    exchange = await Exchange(CitationMiddleware(endpoint(respond))).run()
    assert (exchange.status, exchange.headers["location"]) == (307, "/elsewhere")


@on_every_loop
async def test_b10_a_websocket_passes() -> None:
    seen: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.extend((scope, receive, send))

    scope: Scope = {"type": "websocket"}

    async def receive() -> Message:
        return {}

    async def send(_: Message) -> None:
        return

    await CitationMiddleware(app)(scope, receive, send)
    assert seen == [scope, receive, send]


def test_b10_a_file_is_read_by_the_application_and_not_by_the_server(tmp_path: Any) -> None:
    path = tmp_path / "answer.txt"
    path.write_text("a [9].")

    async def respond(request: Request) -> Response:
        attach_passages(request, PASSAGES)
        return FileResponse(path)

    extensions = ["http.response.pathsend", "http.response.zerocopysend", "other"]
    exchange = Exchange(CitationMiddleware(endpoint(respond)), method="GET", extensions=extensions)
    assert anyio.run(exchange.run).body == b"a."
    assert "etag" not in exchange.headers
    assert list(exchange.scope["extensions"]) == extensions

    async def stubborn(scope: Scope, receive: Receive, send: Send) -> None:
        assert list(scope["extensions"]) == ["other"]
        attach_passages(scope, PASSAGES)
        headers = [(b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.pathsend", "path": str(path)})

    assert refused(stubborn, extensions=extensions).startswith("expected the bytes of a body")


def test_other_messages_pass() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        attach_passages(scope, PASSAGES)
        await send({"type": "http.response.debug", "info": {}})
        headers = [(b"content-type", b"text/plain")]
        await send(
            {"type": "http.response.start", "status": 200, "headers": headers, "trailers": True}
        )
        await send({"type": "http.response.body", "body": memoryview(b"a [9].")})
        await send({"type": "http.response.trailers", "headers": []})

    sent = anyio.run(Exchange(CitationMiddleware(app)).run).sent
    assert [message["type"] for message in sent] == [
        "http.response.debug",
        "http.response.start",
        "http.response.body",
        "http.response.trailers",
    ]
    assert (sent[1]["trailers"], sent[2]["body"]) == (True, b"a.")


# -- Lifetimes, as far as they need no server --------------------------------


@on_every_loop
async def test_t05_there_is_one_start_and_one_end_whatever_comes() -> None:
    for chunks in ([], [""], ["["], ["[9]"], ["a", "", " [1]"]):
        exchange = await Exchange(CitationMiddleware(answering(*chunks))).run()
        starts = [m for m in exchange.sent if m["type"] == "http.response.start"]
        ends = [m for m in exchange.sent if m.get("more_body") is False]
        assert (len(starts), len(ends), exchange.ended) == (1, 1, True)


def failing(*chunks: str | bytes, media_type: str) -> ASGIApp:
    async def respond(request: Request) -> Response:
        attach_passages(request, PASSAGES)

        async def body() -> AsyncIterator[str | bytes]:
            for chunk in chunks:
                yield chunk
            raise RuntimeError("the prompt was: secret")

        return StreamingResponse(body(), media_type=media_type)

    return endpoint(respond)


def broken(app: ASGIApp) -> tuple[Exchange, list[Summary]]:
    heard: list[Summary] = []
    exchange = Exchange(CitationMiddleware(app, on_summary=lambda s, _: heard.append(s)))
    with pytest.raises(RuntimeError, match="the prompt was: secret"):
        anyio.run(exchange.run)
    assert b"secret" not in exchange.body
    return exchange, heard


def test_t10_a_chat_stream_that_breaks_off_says_so_and_ends() -> None:
    app = failing(sse(chat_chunk("a [1]")), sse(chat_chunk(" [")), media_type="text/event-stream")
    exchange, (summary,) = broken(app)
    assert exchange.ended
    *frames, error = payloads(exchange.body)
    assert [frame["choices"][0]["delta"]["content"] for frame in frames] == ["a [1]", " ["]
    assert error["error"]["message"] == "The answer was interrupted."
    assert exchange.body.endswith(b"data: [DONE]\n\n")
    assert frames[-1]["citestream"]["ended"] == "error"
    assert (summary.cited, summary.reason) == ((1,), f"source failed ({error['error']['id']})")


def test_t10_bare_text_that_breaks_off_is_seen_to_break_off() -> None:
    exchange, (summary,) = broken(failing("a [1]", " [", media_type="text/plain"))
    assert exchange.bodies == [b"a [1]", b" ["]
    assert not exchange.ended
    assert (summary.ended, summary.cited) == ("error", (1,))


def test_t10_a_whole_body_that_breaks_off_leaves_the_error_to_the_server() -> None:
    exchange, (summary,) = broken(failing('{"text": "a', media_type="application/json"))
    assert exchange.sent == []
    assert summary.ended == "error"


def test_t10_a_function_of_the_caller_that_raises_breaks_the_answer_off() -> None:
    def show(_: Any) -> str:
        raise RuntimeError("the prompt was: secret")

    async def respond(request: Request) -> Response:
        attach_passages(request, PASSAGES, show=show)
        return Response(sse("a", "b [1]", "."), media_type="text/event-stream")

    exchange, (summary,) = broken(endpoint(respond))
    assert summary.ended == "error"
    assert b"b" not in exchange.body.replace(b"unused", b"")


def test_a_stream_that_stops_being_readable_is_broken_off_and_not_passed_on() -> None:
    app = answering(sse("a"), sse(["secret [9]"]), sse("b"), media_type="text/event-stream")
    exchange = Exchange(CitationMiddleware(app))
    with pytest.raises(UnfilterableResponseError):
        anyio.run(exchange.run)
    assert b"secret" not in exchange.body
    assert exchange.ended
    assert b"event: error" in exchange.body


def test_an_application_that_swallows_the_refusal_sends_nothing_more() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        attach_passages(scope, PASSAGES)
        headers = [(b"content-type", b"text/html")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for _ in range(3):
            try:
                await send({"type": "http.response.body", "body": b"[9]", "more_body": True})
            except UnfilterableResponseError:
                continue

    refused(app)


def test_an_application_that_fails_before_it_starts_is_the_servers_to_answer() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        attach_passages(scope, PASSAGES)
        raise RuntimeError("no model")

    heard: list[Summary] = []
    exchange = Exchange(CitationMiddleware(app, on_summary=lambda s, _: heard.append(s)))
    with pytest.raises(RuntimeError, match="no model"):
        anyio.run(exchange.run)
    assert (exchange.sent, heard) == ([], [])


@on_every_loop
async def test_t03_held_text_is_not_pushed_at_a_client_that_is_gone() -> None:
    heard: list[Summary] = []
    taken = anyio.Event()

    async def respond(request: Request) -> Response:
        attach_passages(request, PASSAGES)

        async def body() -> AsyncIterator[str]:
            yield "a [1]"
            yield " b ["
            taken.set()
            await anyio.sleep_forever()

        return StreamingResponse(body(), media_type="text/plain")

    exchange = Exchange(
        CitationMiddleware(endpoint(respond), on_summary=lambda s, _: heard.append(s))
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(exchange.run)
        with anyio.fail_after(5):
            await taken.wait()
        exchange.gone.set()
    assert exchange.bodies == [b"a [1]", b" b"]
    (summary,) = heard
    assert (summary.ended, summary.reason) == ("cancelled", "client disconnected")
    assert summary.cited == (1,)


@on_every_loop
async def test_t06_a_cancellation_passes_and_the_summary_still_comes() -> None:
    heard: list[Summary] = []

    async def note(summary: Summary, _: Scope) -> None:
        await anyio.sleep(0.01)
        heard.append(summary)

    async def respond(request: Request) -> Response:
        attach_passages(request, PASSAGES)

        async def body() -> AsyncIterator[str]:
            yield "a"
            await anyio.sleep_forever()

        return StreamingResponse(body(), media_type="text/plain")

    exchange = Exchange(CitationMiddleware(endpoint(respond), on_summary=note))
    with anyio.move_on_after(0.2) as scope:
        await exchange.run()
    assert scope.cancelled_caught
    assert [(summary.ended, summary.reason) for summary in heard] == [("cancelled", None)]
    assert not exchange.ended


def test_t03_a_send_that_raises_ends_the_answer_as_cancelled() -> None:
    heard: list[Summary] = []
    exchange = Exchange(
        CitationMiddleware(answering("a", " ["), on_summary=lambda s, _: heard.append(s))
    )

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            raise OSError("gone")

    exchange.send = send  # type: ignore[method-assign]
    with pytest.raises(OSError, match="gone"):
        anyio.run(exchange.run)
    assert [summary.ended for summary in heard] == ["cancelled"]


@on_every_loop
async def test_w10_answers_at_once_never_mix() -> None:
    async def respond(request: Request) -> Response:
        number = int(request.headers["number"])
        attach_passages(request, number)

        async def body() -> AsyncIterator[str]:
            for character in f"{number}: [{number}] [{number + 1}].":
                yield character
                await anyio.lowlevel.checkpoint()

        return StreamingResponse(body(), media_type="text/plain")

    app = CitationMiddleware(endpoint(respond))
    exchanges = [Exchange(app, headers={"number": str(n)}) for n in range(1, 31)]
    async with anyio.create_task_group() as tasks:
        for exchange in exchanges:
            tasks.start_soon(exchange.run)
    assert [exchange.body.decode() for exchange in exchanges] == [
        f"{n}: [{n}]." for n in range(1, 31)
    ]


@on_every_loop
async def test_messages_that_come_while_passages_are_awaited_wait() -> None:
    found = anyio.Event()

    async def find(_: Scope) -> list[str]:
        await found.wait()
        return PASSAGES

    async def forward(send: Send, message: Message) -> None:
        await send(message)

    headers = [(b"content-type", b"text/event-stream")]
    start: Message = {"type": "http.response.start", "status": 200, "headers": headers}
    ping: Message = {"type": "http.response.body", "body": b": ping\n\n", "more_body": True}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(forward, send, start)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(forward, send, ping)
            await anyio.wait_all_tasks_blocked()
            found.set()
        await send({"type": "http.response.body", "body": sse("a [9].")})

    exchange = await Exchange(CitationMiddleware(app, passages=find)).run()
    assert exchange.status == 200
    assert exchange.bodies[0] == b": ping\n\n"
    assert exchange.bodies[1].startswith(sse("a."))


# -- Settings ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"format": "xml"},
            "expected format= among auto, text, json, citestream, openai-chat, got 'xml'",
        ),
        ({"text": "html"}, "expected text= to be 'prose' or 'json', got 'html'"),
        (
            {"policy": object()},
            "expected an AnswerPolicy, got object",
        ),
    ],
)
def test_a_bad_setting_is_refused_when_the_middleware_is_made(
    settings: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError) as caught:
        CitationMiddleware(answering("x"), **settings)
    assert str(caught.value) == sentence


def test_bad_passages_and_options_are_refused_when_the_middleware_is_made() -> None:
    with pytest.raises(PassageError):
        CitationMiddleware(answering("x"), passages=-1)
    with pytest.raises((ValueError, TypeError, StyleError)):
        CitationMiddleware(answering("x"), invalid="explode")
    with pytest.raises(ValueError, match="expected text= to be"):
        anyio.run(Exchange(CitationMiddleware(answering("x", text="html"))).run)
    with pytest.raises(PassageError):
        anyio.run(Exchange(CitationMiddleware(answering("x", passages=-1))).run)


def test_the_options_are_those_of_the_filter() -> None:
    parameters = list(inspect.signature(CitationFilter.__init__).parameters)
    assert parameters[:2] == ["self", "passages"]
    assert sorted(FilterOptions.__annotations__) == sorted(parameters[2:])


def test_b03_a_style_may_be_given_with_the_passages() -> None:
    from citestream.styles import NUMERIC

    app = answering("a [1,2] [1].", style=NUMERIC.replace(strict=True))
    assert anyio.run(Exchange(CitationMiddleware(app)).run).body == b"a [1]."
