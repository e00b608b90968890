"""An application for real servers: answers that wait to be let go on, in stacks of middleware.

It knows no server. Every answer has a key; `/release` lets it go on, and
`/log` tells what became of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.lowlevel
from fastapi import Depends, FastAPI
from fastapi.sse import EventSourceResponse as FastAPIEvents
from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from citestream.events import Summary
from citestream.middleware import CitationMiddleware, attach_passages
from tests.wire.bodies import chat_chunk, done, sse

__all__ = ["app"]

# Tests of a slow reader wait until nothing moves, so one piece is large.
PIECE = 64 * 1024


@dataclass
class Answer:
    """What became of one answer."""

    released: anyio.Event = field(default_factory=anyio.Event)
    pulled: int = 0
    closed: int = 0
    summaries: list[dict[str, Any]] = field(default_factory=list)


ANSWERS: dict[str, Answer] = defaultdict(Answer)


def key_of(scope: Scope) -> str:
    return str(scope["query_string"].decode())


def note(summary: Summary, scope: Scope) -> None:
    ANSWERS[key_of(scope)].summaries.append(summary.to_dict())
    print("summary", summary.ended, flush=True)  # noqa: T201 - read by a test of the process


async def held(answer: Answer) -> AsyncIterator[str]:
    """Give two chunks, wait to be released, and give the rest."""
    try:
        for chunk in ("Five days", " [1"):
            answer.pulled += 1
            yield chunk
        await answer.released.wait()
        for chunk in ("]", " or so [9]", "."):
            answer.pulled += 1
            yield chunk
    finally:
        answer.closed += 1


async def endless(answer: Answer) -> AsyncIterator[str]:
    try:
        while True:
            answer.pulled += 1
            yield f"word {answer.pulled} [1] [9]. "
            await anyio.sleep(0.005)
    finally:
        answer.closed += 1


async def stream(request: Request) -> Response:
    """Answer as server-sent events with a JSON string each."""
    attach_passages(request, 2)
    answer = ANSWERS[key_of(request.scope)]
    source = endless if request.path_params["kind"] == "endless" else held

    async def body() -> AsyncIterator[bytes]:
        async for chunk in source(answer):
            yield sse(chunk)

    return StreamingResponse(body(), media_type="text/event-stream")


async def silent(request: Request) -> Response:
    """Answer nothing until released."""
    attach_passages(request, 2)
    answer = ANSWERS[key_of(request.scope)]

    async def body() -> AsyncIterator[bytes]:
        try:
            answer.pulled += 1
            await answer.released.wait()
            yield b"late"
        finally:
            answer.closed += 1

    return StreamingResponse(body(), media_type="text/plain")


async def pinging(request: Request) -> Response:
    """Answer with pings while the model is silent and text is held."""
    attach_passages(request, 2)
    return EventSourceResponse(held(ANSWERS[key_of(request.scope)]), ping=0.05)


async def flood(request: Request) -> Response:
    """Answer as fast as the reader reads, and for ever."""
    attach_passages(request, 2)
    answer = ANSWERS[key_of(request.scope)]

    async def body() -> AsyncIterator[bytes]:
        try:
            while True:
                answer.pulled += 1
                yield b"x" * PIECE
                # A source that never awaits would keep the loop to itself.
                await anyio.lowlevel.checkpoint()
        finally:
            answer.closed += 1

    return StreamingResponse(body(), media_type="text/plain")


async def failing(request: Request) -> Response:
    """Answer as a chat completion that breaks off."""
    attach_passages(request, 2)

    async def body() -> AsyncIterator[bytes]:
        yield sse(chat_chunk("Five [1]")) + sse(chat_chunk(" ["))
        raise RuntimeError("the model went away")

    return StreamingResponse(body(), media_type="text/event-stream")


async def chat(request: Request) -> Response:
    """Answer as a chat completion, whole or streamed, as asked."""
    attach_passages(request, 2)
    if (await request.json()).get("stream"):
        chunks = [chat_chunk(text) for text in ("Five [", "1", "] a [9", "].")]
        body = sse(*chunks, chat_chunk(None, "stop")) + done()
        return Response(body, media_type="text/event-stream")
    message = {"role": "assistant", "content": "Five [1] a [9]."}
    return JSONResponse({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})


class Layer(BaseHTTPMiddleware):
    """Does nothing, in the way that breaks streams most often."""

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        return await call_next(request)


class Copying:
    """Gives the application a scope of its own, as routers and tracers do."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app({**scope, "copied": True}, receive, send)


def stacked(*middleware: Middleware) -> Starlette:
    return Starlette(
        routes=[
            Route("/silent", silent),
            Route("/pinging", pinging),
            Route("/flood", flood),
            Route("/failing", failing),
            Route("/chat/completions", chat, methods=["POST"]),
            Route("/{kind:str}", stream, methods=["GET"]),
        ],
        middleware=list(middleware),
    )


fast = FastAPI(middleware=[Middleware(CitationMiddleware, on_summary=note)])


def attached(request: Request) -> None:
    """Attach the passages, before an endpoint that is a generator gets to run."""
    attach_passages(request, 2)


@fast.get("/stream", response_class=FastAPIEvents, dependencies=[Depends(attached)])
async def fast_stream(request: Request) -> AsyncIterator[str]:
    """Answer with FastAPI's own events."""
    async for chunk in held(ANSWERS[key_of(request.scope)]):
        yield chunk


async def release(request: Request) -> Response:
    ANSWERS[key_of(request.scope)].released.set()
    return JSONResponse({})


async def log(request: Request) -> Response:
    answer = ANSWERS[key_of(request.scope)]
    return JSONResponse(
        {"pulled": answer.pulled, "closed": answer.closed, "summaries": answer.summaries}
    )


citing = Middleware(CitationMiddleware, on_summary=note)
packing = Middleware(GZipMiddleware, minimum_size=1, exclude_content_types=())

app = Starlette(
    routes=[
        Route("/release", release),
        Route("/log", log),
        Mount("/alone", stacked(citing)),
        Mount("/inside", stacked(Middleware(Layer), Middleware(Layer), citing)),
        Mount("/outside", stacked(citing, Middleware(Layer), Middleware(Layer))),
        Mount("/copied", stacked(citing, Middleware(Copying))),
        Mount("/packed", stacked(packing, citing)),
        Mount("/unpacked", stacked(citing, packing)),
        # Around everything, so that the sub-application is mounted inside.
        Mount("/mounted", CitationMiddleware(stacked(), on_summary=note)),
        Mount("/fastapi", fast),
    ]
)
"""The application."""
