"""What the middleware costs a server that streams: rate, first text, closing, memory.

The server runs in a process of its own, with each application twice: as it is,
and inside the middleware. It does not measure the network, nor a model.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import resource
import socket
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import uvicorn
from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Mount, Route

from benchmarks.answers import PASSAGES, cited, in_words
from benchmarks.measure import Row, at_least
from citestream import Passages
from citestream.middleware import CitationMiddleware

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["rows"]

# Some 20,000 chunks: a tenth of a second and more at the rates we see, so
# that the request itself does not count.
CHUNKS = in_words(cited(130_000))

ROUNDS = 12

# Answers of which only the beginning or the end is measured.
ANSWERS = 100

STREAMS = 1_000

# -- The server --------------------------------------------------------------


def _own(chunk: str) -> bytes:
    return b'event: delta\ndata: {"text":%s}\n\n' % json.dumps(chunk).encode("ascii")


def _bare(chunk: str) -> bytes:
    return b"".join([b"data: %s\n" % line.encode() for line in chunk.split("\n")]) + b"\n"


def _string(chunk: str) -> bytes:
    return b"data: %s\n\n" % json.dumps(chunk).encode("ascii")


def _chat(chunk: str, **more: Any) -> bytes:
    choice = {"index": 0, "delta": {"content": chunk}, "logprobs": None, "finish_reason": None}
    frame = {
        "id": "chatcmpl-D3xPb1Zq7aP9xKhTx1w",
        "object": "chat.completion.chunk",
        "created": 1_767_225_600,
        "model": "gpt-x-2026-08-01",
        "service_tier": "default",
        "system_fingerprint": "fp_44709d6fcb",
        "choices": [choice],
        "usage": None,
        **more,
    }
    return b"data: %s\n\n" % json.dumps(frame, separators=(",", ":")).encode("ascii")


def _padded(chunk: str) -> bytes:
    return _chat(chunk, obfuscation="Zq7aP9xKhTx1wPb3"[: 16 - len(chunk) % 16])


# Made beforehand: what a server does to write its frames would hide the rest.
FRAMES = {
    "our own protocol": [_own(chunk) for chunk in CHUNKS],
    "bare text": [_bare(chunk) for chunk in CHUNKS],
    "JSON strings": [_string(chunk) for chunk in CHUNKS],
    "OpenAI chat": [_chat(chunk) for chunk in CHUNKS],
    "OpenAI chat, padded": [_padded(chunk) for chunk in CHUNKS],
}
BARS = {name: 0.8 if "chat" in name else 0.9 for name in FRAMES}

_closed: list[float] = []


async def _fast(request: Request) -> Response:
    """Send all frames as fast as they can go."""
    frames = FRAMES[request.path_params["name"]]

    async def body() -> AsyncGenerator[bytes, None]:
        for frame in frames:
            yield frame

    return EventSourceResponse(body())


async def _paced(request: Request) -> Response:
    """Send a frame every few milliseconds, and note when the source is closed."""
    frames = FRAMES["OpenAI chat"]
    pause = float(request.path_params["pause"])

    async def body() -> AsyncGenerator[bytes, None]:
        try:
            for frame in frames:
                yield frame
                await anyio.sleep(pause)
        finally:
            _closed.append(time.monotonic())

    return StreamingResponse(body(), media_type="text/event-stream")


async def _closings(request: Request) -> Response:
    del request
    return JSONResponse(_closed)


async def _worked(request: Request) -> Response:
    """Say how long the processor has worked for this server."""
    del request
    return JSONResponse(time.process_time())


def _serve(listening: socket.socket) -> None:
    routes = [
        Route("/fast/{name}", _fast),
        Route("/paced/{pause:float}", _paced),
        Route("/closed", _closings),
        Route("/worked", _worked),
    ]
    app = Starlette(routes=routes)
    inside = CitationMiddleware(Starlette(routes=routes), passages=Passages(PASSAGES))
    both = Starlette(routes=[Mount("/with", inside), Mount("/without", app)])
    uvicorn.Server(uvicorn.Config(both, log_level="error")).run(sockets=[listening])


@contextlib.contextmanager
def _serving() -> Iterator[tuple[int, int]]:
    """Run the server, and give its port and process."""
    context: Any = multiprocessing.get_context("fork")
    with socket.create_server(("127.0.0.1", 0), backlog=STREAMS) as listening:
        server = context.Process(target=_serve, args=(listening,), daemon=True)
        server.start()
        try:
            yield listening.getsockname()[1], server.pid
        finally:
            server.terminate()
            server.join()


# -- The client --------------------------------------------------------------


def _ask(port: int, path: str) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    path = path.replace(" ", "%20")
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    connection.sendall(request.encode())
    return connection


def _seconds(port: int, path: str) -> float:
    """Ask once and read to the end, and return how long the server worked for it.

    The server does nothing else and never waits, so this is how long it takes
    where it has a processor for itself, whoever else is at work here.
    """
    before = _json(port, "/without/worked")
    with _ask(port, path) as connection:
        last = b""
        while piece := connection.recv(1 << 20):
            last = (last + piece)[-64:]
        # Cut short, it would look quick.
        assert last.endswith(b"0\r\n\r\n"), last
    return float(_json(port, "/without/worked") - before)


def _until_text(connection: socket.socket) -> None:
    """Read to the first frame of an answer."""
    received = b""
    while b"data: " not in received:
        piece = connection.recv(65536)
        assert piece, received
        received += piece


def _first(port: int, path: str) -> float:
    start = time.perf_counter()
    with _ask(port, path) as connection:
        _until_text(connection)
        return time.perf_counter() - start


def _json(port: int, path: str) -> Any:
    with _ask(port, path) as connection:
        received = b""
        while piece := connection.recv(65536):
            received += piece
    return json.loads(received.partition(b"\r\n\r\n")[2])


def _rates(port: int) -> Iterator[Row]:
    for name in FRAMES:
        best = {"without": float("inf"), "with": float("inf")}
        for _ in range(ROUNDS):
            for side, seconds in best.items():
                best[side] = min(seconds, _seconds(port, f"/{side}/fast/{name}"))
        rate = {side: len(CHUNKS) / seconds for side, seconds in best.items()}
        what = f"events a second with the middleware, {name}"
        yield Row(what, f"{rate['with']:,.0f} of {rate['without']:,.0f}")
        yield at_least("the same as a ratio", rate["with"] / rate["without"], BARS[name])


def _first_texts(port: int) -> Row:
    times: dict[str, list[float]] = {"without": [], "with": []}
    for _ in range(ANSWERS):
        for side, seconds in times.items():
            seconds.append(_first(port, f"/{side}/paced/0.001"))
    added = [after - before for before, after in zip(*times.values(), strict=True)]
    before, more = (statistics.median(seconds) * 1e6 for seconds in (times["without"], added))
    what = "time to the first text, and what the middleware adds (median of pairs)"
    return Row(what, f"{before:,.0f} µs and {more:,.0f} µs")


def _closing(port: int, process: int, side: str) -> Row:
    """Leave after the first frame, and ask the source when it was closed.

    Of the time it takes, a busy machine adds what both sides wait for a processor.
    """
    times: list[tuple[float, float]] = []
    for _ in range(ANSWERS):
        before = len(_json(port, "/without/closed"))
        with _ask(port, f"/{side}/paced/0.001") as connection:
            _until_text(connection)
            waited = _waited(process) + _waited(os.getpid())
            left = time.monotonic()
        while len(closed := _json(port, "/without/closed")) == before:
            time.sleep(0.001)
        waited = _waited(process) + _waited(os.getpid()) - waited
        times.append((closed[-1] - left, waited))
    median = statistics.median([seconds for seconds, _ in times]) * 1e3
    worst, waited = (1e3 * seconds for seconds in max(times))
    return Row(
        f"source closed after a disconnect, {side} the middleware",
        f"{median:.1f} ms median, {worst:.1f} ms worst, "
        f"in which both sides waited {waited:.1f} ms for a processor",
    )


def _waited(process: int) -> float:
    """Return how many seconds a process was ready to run and had no processor."""
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[1]) for thread in threads) / 1e9


def _memory(side: str) -> float:
    """Return what one open stream takes of the server's memory, in bytes."""
    with _serving() as (port, process), contextlib.ExitStack() as connections:
        _first(port, f"/{side}/paced/0.001")
        before = _resident(process)
        for _ in range(STREAMS):
            connection = connections.enter_context(_ask(port, f"/{side}/paced/3600"))
            _until_text(connection)
        return (_resident(process) - before) / STREAMS


def _resident(process: int) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    (kilobytes,) = [line.split()[1] for line in lines if line.startswith("VmRSS:")]
    return int(kilobytes) * 1024


def rows() -> Iterator[Row]:
    """Measure every application with the middleware and without it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with _serving() as (port, process):
        yield from _rates(port)
        yield _first_texts(port)
        yield _closing(port, process, "without")
        yield _closing(port, process, "with")
    without, with_ = _memory("without"), _memory("with")
    yield Row(
        f"memory for each of {STREAMS:,} open streams, with and without the middleware",
        f"{with_ / 1024:.1f} and {without / 1024:.1f} KiB",
    )
