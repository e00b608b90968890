"""What the filter costs a real server: uvicorn, one connection, chunks as fast as they can go.

The server runs in a process of its own and the client reads bytes and nothing
else, so that it is never the slower one. It does not measure the network.
"""

from __future__ import annotations

import json
import multiprocessing
import socket
import time
from typing import TYPE_CHECKING, Any

import uvicorn
from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.routing import Route

from benchmarks.answers import PASSAGES, cited, in_words
from benchmarks.measure import Row, at_least
from citestream import Passages
from citestream.sse import CitationResponse

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["rows"]

# Some 20,000 chunks: a tenth of a second at the rates we see, so that the
# request itself does not count.
CHUNKS = in_words(cited(130_000))

ROUNDS = 12


async def _answer() -> AsyncGenerator[str, None]:
    for chunk in CHUNKS:
        yield chunk


async def _frames() -> AsyncGenerator[bytes, None]:
    """Frame the chunks by hand, which is the quickest that the response takes."""
    async for chunk in _answer():
        yield b'event: delta\r\ndata: {"text": %s}\r\n\r\n' % json.dumps(chunk).encode("ascii")


async def _unfiltered(request: Request) -> Response:
    del request
    return EventSourceResponse(_frames())


async def _filtered(request: Request) -> Response:
    del request
    return CitationResponse(_answer(), Passages(PASSAGES))


def _serve(listening: socket.socket) -> None:
    app = Starlette(routes=[Route("/unfiltered", _unfiltered), Route("/filtered", _filtered)])
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listening])


def _seconds(port: int, path: str) -> float:
    """Ask once and read to the end."""
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port)) as connection:
        start = time.perf_counter()
        connection.sendall(request.encode())
        last = b""
        while piece := connection.recv(1 << 20):
            last = (last + piece)[-64:]
        # Cut short, it would look quick.
        assert last.endswith(b"0\r\n\r\n"), last
        return time.perf_counter() - start


def rows() -> list[Row]:
    """Measure the same chunks with the filter and without it."""
    context: Any = multiprocessing.get_context("fork")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        server = context.Process(target=_serve, args=(listening,), daemon=True)
        server.start()
        best = {"/unfiltered": float("inf"), "/filtered": float("inf")}
        try:
            for _ in range(ROUNDS):
                for path, seconds in best.items():
                    best[path] = min(seconds, _seconds(port, path))
        finally:
            server.terminate()
            server.join()
    rate = {path: len(CHUNKS) / seconds for path, seconds in best.items()}
    return [
        Row(
            "chunks a second through uvicorn and sse-starlette, without and with the filter",
            f"{rate['/unfiltered']:,.0f} and {rate['/filtered']:,.0f}",
        ),
        at_least("the same as a ratio", rate["/filtered"] / rate["/unfiltered"], 0.9),
    ]
