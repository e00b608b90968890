"""The middleware under real servers, with their buffering, their disconnects, their shutdown."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import subprocess
import sys
import uuid
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.middleware_app import ANSWERS, app
from tests.servers import ROOT, Reply, serving, serving_process, until
from tests.wire.bodies import events, payloads


@contextlib.contextmanager
def serving_granian(where: str) -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "granian", "--interface", "asgi", "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--workers", "1", "--workers-kill-timeout", "1", "--no-ws", "--no-log", where],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: _listens(port), "granian to start")
        yield port
    finally:
        process.terminate()
        process.wait(15)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@dataclass(frozen=True)
class Client:
    """Talks to one server about one answer."""

    port: int
    key: str

    def open(self, path: str, **options: Any) -> Reply:
        return Reply(self.port, f"{path}?{self.key}", **options)

    def ask(self, path: str) -> Any:
        with self.open(path) as reply:
            return json.loads(reply.read())

    def release(self) -> None:
        self.ask("/release")

    @property
    def log(self) -> Any:
        return self.ask("/log")


WHERE = "tests.middleware_app:app"


@pytest.fixture(scope="module", params=["uvicorn", "uvloop", "hypercorn", "granian"])
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    with contextlib.ExitStack() as stack:
        if request.param == "granian":
            yield stack.enter_context(serving_granian(WHERE))
        elif request.param == "hypercorn":
            yield stack.enter_context(serving_process("hypercorn", WHERE)).port
        else:
            loop = "uvloop" if request.param == "uvloop" else "asyncio"
            yield stack.enter_context(serving(app, loop=loop)).port


@pytest.fixture
def client(port: int) -> Client:
    return Client(port, uuid.uuid4().hex)


STACKS = ["alone", "inside", "outside", "copied", "mounted", "unpacked", "fastapi"]


@pytest.mark.parametrize("stack", STACKS)
def test_t04_an_event_leaves_before_the_next_one_is_produced(client: Client, stack: str) -> None:
    with client.open(f"/{stack}/stream") as reply:
        # The second chunk is held, and nothing more is produced before the release.
        assert reply.block() == b'data: "Five days"\n\n'
        client.release()
        rest = reply.read()
    assert [fields["data"][0] for fields in events(rest)][:-1] == ['" [1]"', '" or so"', '"."']
    until(lambda: client.log["closed"], "the source to be closed")
    (summary,) = client.log["summaries"]
    assert (summary["cited"], summary["invalid"], summary["ended"]) == ([1], [9], "complete")
    assert client.log["closed"] == 1


def test_b09_inside_a_compressing_middleware_events_leave_one_by_one(client: Client) -> None:
    with client.open("/packed/stream", headers={"accept-encoding": "gzip"}) as reply:
        assert reply.headers["content-encoding"] == "gzip"
        unpack = zlib.decompressobj(31)
        first = b""
        while b"\n\n" not in first:
            first += unpack.decompress(reply._response.read1(65536))
        assert first == b'data: "Five days"\n\n'
        client.release()
        rest = unpack.decompress(reply.read())
    assert [fields["data"][0] for fields in events(rest)][:-1] == ['" [1]"', '" or so"', '"."']


def test_b09_outside_of_a_compressing_middleware_the_body_is_refused(client: Client) -> None:
    body = {"stream": False}
    with client.open(
        "/unpacked/chat/completions", method="POST", body=body, headers={"accept-encoding": "gzip"}
    ) as reply:
        assert reply.status == 502
        message = json.loads(reply.read())["error"]["message"]
    assert message.endswith("add CitationMiddleware inside the compressing middleware")


@pytest.mark.parametrize("stack", ["alone", "inside", "outside"])
def test_t02_a_client_that_leaves_stops_the_source(client: Client, stack: str) -> None:
    with client.open(f"/{stack}/endless") as reply:
        for _ in range(3):
            assert reply.block()
    until(lambda: client.log["closed"], "the source to be closed")
    pulled = client.log["pulled"]
    until(lambda: client.log["summaries"], "the summary")
    log = client.log
    assert (log["pulled"], log["closed"]) == (pulled, 1)
    (summary,) = log["summaries"]
    assert summary["ended"] == "cancelled"
    assert summary["cited"] == [1]


def test_t01_a_client_that_leaves_before_the_first_item_still_has_a_summary(
    client: Client,
) -> None:
    with socket.create_connection(("127.0.0.1", client.port)) as connection:
        connection.sendall(f"GET /alone/silent?{client.key} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        until(lambda: client.log["pulled"], "the source to be asked")
    until(lambda: client.log["summaries"], "the summary")
    log = client.log
    assert (log["closed"], [s["ended"] for s in log["summaries"]]) == (1, ["cancelled"])


def test_t12_pings_go_out_while_text_is_held(client: Client) -> None:
    with client.open("/alone/pinging") as reply:
        received = b""
        while received.count(b": ping") < 3:
            received += reply._response.read1(65536)
        # What is held is no longer in the way of a ping than in front of it.
        assert b"Five days" in received
        assert b"[1" not in received
        client.release()
        received += reply.read()
    texts = [f["data"][0] for f in events(received) if "data" in f and "event" not in f]
    assert texts == ["Five days", " [1]", " or so", "."]


def test_t11_a_slow_reader_is_not_run_ahead_of(client: Client) -> None:
    with client.open("/alone/flood", receive_buffer=4096):
        seen = [-1]

        def still() -> bool:
            seen.append(client.log["pulled"])
            return seen[-1] > 0 and seen[-1] == seen[-2]

        until(still, "the source to stand still")
        # A few megabytes in the buffers of the two sockets and of the server.
        assert seen[-1] < 200
    until(lambda: client.log["closed"], "the source to be closed")


def test_w05_streamed_and_whole_answers_of_a_route_agree(client: Client) -> None:
    path = "/alone/chat/completions"
    with client.open(path, method="POST", body={"stream": True}) as reply:
        frames = payloads(reply.read())
    with client.open(path, method="POST", body={}) as reply:
        assert reply.headers["cache-control"] == "no-cache, no-transform"
        body = reply.read()
        assert int(reply.headers.get("content-length", len(body))) == len(body)
        whole = json.loads(body)
    content = "".join(f["choices"][0]["delta"].get("content") or "" for f in frames)
    assert content == whole["choices"][0]["message"]["content"] == "Five [1] a."
    assert frames[-1]["citestream"] == whole["citestream"]


def test_t10_a_stream_that_breaks_off_ends_in_its_own_dialect(client: Client) -> None:
    with client.open("/alone/failing") as reply:
        body = reply.read()
    *_, last, error = payloads(body)
    assert body.endswith(b"data: [DONE]\n\n")
    assert last["citestream"]["ended"] == "error"
    assert error["error"]["code"] == "source_failed"
    assert b"went away" not in body


def test_t10_the_exception_reaches_the_log_of_the_server(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with serving(app) as server, caplog.at_level(logging.ERROR):
        with Reply(server.port, "/alone/failing") as reply:
            error = payloads(reply.read())[-1]["error"]
        until(lambda: "the model went away" in caplog.text, "the exception in the log")
    messages = [r.getMessage() for r in caplog.records if r.name == "citestream"]
    assert messages == [f"source failed ({error['id']}): RuntimeError"]


def test_t06_a_shutdown_ends_open_answers_as_cancelled() -> None:
    key = uuid.uuid4().hex
    with serving(app) as server:
        reply = Reply(server.port, f"/alone/endless?{key}")
        assert reply.block()
    # The server has stopped, so no task of it is left.
    reply.leave()
    answer = ANSWERS[key]
    assert (answer.closed, [s["ended"] for s in answer.summaries]) == (1, ["cancelled"])


def test_t06_a_terminated_trio_server_ends_open_answers_as_cancelled() -> None:
    with (
        serving_process("hypercorn", WHERE) as process,
        Reply(process.port, "/alone/endless") as reply,
    ):
        assert reply.block()
        process.terminate()
        out, _ = process.wait()
    assert out == "summary cancelled\n"
