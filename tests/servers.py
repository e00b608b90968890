"""Real servers on loopback, and a client that shows when each byte arrives.

They know nothing of citations. `serving` runs an application in a thread of
the test's process, `serving_process` in a process of its own, for what a signal
does; `Reply` is the reader of one response, on a plain socket.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple, Self

import uvicorn

__all__ = ["Process", "Reply", "Sent", "Server", "serving", "serving_process", "until"]

# Far more than anything here takes; only a test that fails waits as long.
PATIENCE = 30.0

ROOT = Path(__file__).resolve().parent.parent


def until(condition: Callable[[], object], what: str) -> None:
    """Wait until a condition holds, and fail if it never does."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.005)


class Sent(NamedTuple):
    """A server-sent event as it arrived."""

    name: str
    """The event's name; `message` when it had none."""
    data: str

    def json(self) -> Any:
        return json.loads(self.data)


class Reply:
    """One response, read as it arrives.

    Args:
        port: The server's.
        path: What is asked for.
        method: How.
        body: Sent as JSON, if given.
        headers: Further request headers.
        receive_buffer: The size of the socket's receive buffer; small, it makes
            a reader who reads nothing felt at once.
    """

    def __init__(
        self,
        port: int,
        path: str = "/",
        *,
        method: str = "GET",
        body: Any = None,
        headers: dict[str, str] | None = None,
        receive_buffer: int | None = None,
    ) -> None:
        self._connection = HTTPConnection("127.0.0.1", port)
        self._socket = socket.socket()
        if receive_buffer is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._socket.settimeout(PATIENCE)
        self._socket.connect(("127.0.0.1", port))
        self._connection.sock = self._socket
        content = None if body is None else json.dumps(body).encode()
        kind = {} if body is None else {"content-type": "application/json"}
        self._connection.request(method, path, content, {**kind, **(headers or {})})
        self._response = self._connection.getresponse()
        self.status = self._response.status
        self.headers = {name.lower(): value for name, value in self._response.getheaders()}
        self.comments: list[str] = []
        """The comments so far, pings among them."""
        self.events = 0
        """How many events have been read."""
        self._received = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def block(self) -> bytes:
        """Return the next block of lines, up to a blank one; `b""` at the end."""
        while b"\n\n" not in self._received:
            more = self._response.read1(65536)
            if not more:
                rest, self._received = self._received, b""
                return rest
            self._received += more
        block, _, self._received = self._received.partition(b"\n\n")
        return block + b"\n\n"

    def event(self) -> Sent | None:
        """Return the next event; `None` at the end. Comments are kept apart."""
        while block := self.block():
            fields: dict[str, list[str]] = {}
            for line in block.decode("ascii").rstrip("\n").split("\n"):
                name, _, value = line.partition(":")
                fields.setdefault(name, []).append(value.removeprefix(" "))
            # A line that starts with a colon is a comment.
            self.comments += fields.pop("", [])
            if "data" in fields:
                self.events += 1
                return Sent(fields.get("event", ["message"])[-1], "\n".join(fields["data"]))
        return None

    def rest(self) -> list[Sent]:
        """Return all the events that are still to come."""
        events = []
        while (event := self.event()) is not None:
            events.append(event)
        return events

    def read(self) -> bytes:
        """Return all that is still to come, as bytes."""
        received, self._received = self._received, b""
        return received + self._response.read()

    def leave(self, *, abruptly: bool = False) -> None:
        """Hang up: politely, or as a phone without a network does."""
        with contextlib.suppress(OSError):
            if abruptly:
                reset = struct.pack("ii", 1, 0)
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            else:
                self._socket.shutdown(socket.SHUT_RDWR)
        self._response.close()
        self._connection.close()
        self._socket.close()


class Server:
    """A uvicorn server in a thread of this process."""

    def __init__(self, app: Any, send_buffer: int | None, config: dict[str, Any]) -> None:
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                # Logging belongs to the test; nothing here speaks to websockets
                # or waits for a lifespan unless the test says so.
                **{"log_config": None, "lifespan": "off", "ws": "none", **config},
            )
        )
        self._socket = socket.socket()
        if send_buffer is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        self._socket.bind(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )

    @property
    def requests(self) -> int:
        """How many requests are being answered."""
        return len(self._server.server_state.tasks)

    def start(self) -> None:
        self._thread.start()
        until(lambda: self._server.started, "the server to start")

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the server did not stop"
        self._socket.close()


@contextlib.contextmanager
def serving(app: Any, *, send_buffer: int | None = None, **config: Any) -> Iterator[Server]:
    """Run an ASGI application under uvicorn for the length of a `with` block.

    Args:
        app: The application.
        send_buffer: The size of the connections' send buffers, where it matters
            how much lies between the application and its reader.
        config: Further settings of `uvicorn.Config`.
    """
    server = Server(app, send_buffer, {"timeout_graceful_shutdown": 1, **config})
    server.start()
    try:
        yield server
    finally:
        server.stop()


class Process:
    """A server in a process of its own."""

    def __init__(self, kind: str, app: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.servers", kind, app],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.port = int(self.line())

    def line(self) -> str:
        """Return the next line that it writes on standard output, when it does."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().rstrip("\n")

    def terminate(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def wait(self) -> tuple[str, str]:
        """Return what it still writes until it ends, on standard output and standard error."""
        return self._process.communicate(timeout=PATIENCE)

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


@contextlib.contextmanager
def serving_process(kind: str, app: str) -> Iterator[Process]:
    """Run an ASGI application in another process.

    Args:
        kind: `"uvicorn"`, or `"hypercorn"` for trio.
        app: Where it is, as `module:name`.
    """
    process = Process(kind, app)
    try:
        yield process
    finally:
        process.kill()


# Seconds that a server in another process gives its open responses.
GRACE = 8


def _run_uvicorn(app: Any, listener: socket.socket) -> None:
    config = uvicorn.Config(
        app, log_level="warning", lifespan="off", timeout_graceful_shutdown=GRACE
    )
    uvicorn.Server(config).run(sockets=[listener])


def _run_hypercorn(app: Any, listener: socket.socket) -> None:
    import trio
    from hypercorn.config import Config
    from hypercorn.trio import serve

    async def terminated() -> None:
        with trio.open_signal_receiver(signal.SIGTERM) as signals:
            async for _ in signals:
                return

    async def main() -> None:
        config = Config()
        config.bind = [f"fd://{os.dup(listener.fileno())}"]
        config.graceful_timeout = 0.5
        await serve(app, config, shutdown_trigger=terminated)

    trio.run(main)


def _main(kind: str, where: str) -> None:
    module, _, name = where.partition(":")
    app = getattr(importlib.import_module(module), name)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    {"uvicorn": _run_uvicorn, "hypercorn": _run_hypercorn}[kind](app, listener)


if __name__ == "__main__":
    _main(*sys.argv[1:])
