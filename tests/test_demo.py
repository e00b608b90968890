"""The demo through a real server and a real client: the page, the answers, what is refused."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import venv
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from citestream import NO_ANSWER, Passages, check_citations
from demo.app import create_app
from demo.corpus import load
from demo.model import SCENARIOS, ModelError, RemoteModel, ScriptedModel, script
from tests.servers import serving

ROOT = Path(__file__).resolve().parent.parent

QUESTION = "Can I cancel a ride 30 minutes before it starts?"

Event = tuple[str, Any]


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """Serve an application, and give its address."""
    with serving(app) as server:
        yield f"http://127.0.0.1:{server.port}"


@pytest.fixture(scope="module")
def scripted() -> Iterator[httpx2.Client]:
    with (
        served(create_app(ScriptedModel(pause=0))) as url,
        httpx2.Client(base_url=url, timeout=10) as client,
    ):
        yield client


def ask(client: httpx2.Client, question: str, scenario: str | None = None) -> list[Event]:
    body = {"question": question} | ({"scenario": scenario} if scenario else {})
    with client.sse("/ask", method="POST", json=body) as events:
        assert events.response.status_code == 200
        return [(event.event, event.json()) for event in events]


def visible(events: list[Event]) -> str:
    return "".join(data["text"] for name, data in events if name in {"delta", "citation"})


# -- The page ---------------------------------------------------------------


def test_page_comes_with_a_strict_policy_and_without_inline_code(scripted: httpx2.Client) -> None:
    page = scripted.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["referrer-policy"] == "no-referrer"
    # What such a policy would block: a script or style of its own, a handler, another host.
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|//", page.text) == []


def test_all_that_the_page_names_is_there(scripted: httpx2.Client) -> None:
    page = scripted.get("/").text
    names = re.findall(r'(?:href|src)="(page/[^"]+)"', page)
    types = {name: scripted.get(f"/{name}").headers["content-type"] for name in names}
    assert types == {
        "page/demo.css": "text/css; charset=utf-8",
        "page/demo.js": "text/javascript; charset=utf-8",
    }


def test_page_makes_no_markup_of_text() -> None:
    code = (ROOT / "demo/page/demo.js").read_text(encoding="utf-8")
    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", code) == []


def test_model_says_what_it_can_be_told(scripted: httpx2.Client) -> None:
    assert scripted.get("/model").json() == {"name": "scripted", "scenarios": dict(SCENARIOS)}


# -- Answers ----------------------------------------------------------------


def test_clean_answer_arrives_event_by_event(scripted: httpx2.Client) -> None:
    question = "How much does a single ride cost?"
    *events, last = ask(scripted, question, "clean")
    passages = Passages(load().search(question, 4))
    written = script(question, list(passages), "clean")
    assert visible(events) == written
    assert written.startswith("A single ride costs 2 euros and lasts up to 30 minutes [1].")
    cards = [passage.payload() for passage in passages][:2]
    assert [data for name, data in events if name == "citation"] == [
        {"text": "[1]", "cited": [1], "invalid": [], "passages": [cards[0]]},
        {"text": "[2]", "cited": [2], "invalid": [], "passages": [cards[1]]},
    ]
    assert last == ("summary", check_citations(written, passages).summary.to_dict())
    assert last[1]["cited"] == [1, 2]


@pytest.mark.parametrize(
    ("scenario", "cited", "invalid", "grounded", "refused_by"),
    [
        ("clean", [1, 2], [], True, None),
        ("invented", [1, 2], [9], True, None),
        ("split", [1, 2], [9], True, None),
        ("code", [1], [9], True, None),
        ("uncited", [], [], False, None),
        ("refusal", [], [], False, "model"),
    ],
)
def test_scenario_misbehaves_as_it_says(
    scripted: httpx2.Client,
    scenario: str,
    cited: list[int],
    invalid: list[int],
    grounded: bool,
    refused_by: str | None,
) -> None:
    *_, (name, summary) = ask(scripted, QUESTION, scenario)
    assert name == "summary"
    assert (summary["cited"], summary["invalid"], summary["grounded"], summary["refused_by"]) == (
        cited,
        invalid,
        grounded,
        refused_by,
    )


def test_every_scenario_is_tried_above() -> None:
    assert set(SCENARIOS) == {"clean", "invented", "split", "code", "uncited", "refusal"}


@pytest.mark.parametrize("scenario", ["invented", "split"])
def test_invented_marker_is_shown_at_no_moment(scripted: httpx2.Client, scenario: str) -> None:
    written = script(QUESTION, list(Passages(load().search(QUESTION, 4))), scenario)
    assert "[9]" in written
    events = ask(scripted, QUESTION, scenario)
    # No event holds half a marker, so no moment between two of them shows one.
    brackets = [data["text"] for _, data in events if "[" in data.get("text", "")]
    assert brackets == ["[1]", "[2]"]
    assert visible(events) == written.replace("[2, 9]", "[2]").replace(" [9]", "")


def test_code_arrives_untouched(scripted: httpx2.Client) -> None:
    shown = visible(ask(scripted, QUESTION, "code"))
    assert "```python\nrows = table[0]\nprint(rows[9], rows[1])\n```\n" in shown
    assert shown.endswith("Here `rows[9]` is code and stays, and this is a citation of nothing.")


def test_question_without_a_hit_is_refused_without_the_model() -> None:
    class Forbidden(ScriptedModel):
        def answer(self, *_: Any) -> Any:
            raise AssertionError("the model was asked")

    with served(create_app(Forbidden())) as url, httpx2.Client(base_url=url) as client:
        events = ask(client, "Zxcvb?")
    assert visible(events) == NO_ANSWER
    assert events[-1][1]["refused_by"] == "model"
    assert events[-1][1]["passages"] == []


# -- What is refused --------------------------------------------------------

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("content", "headers", "status", "error"),
    [
        (b"{}", {}, 415, "expected application/json, got ''"),
        (b"{}", {"content-type": "text/plain"}, 415, "expected application/json, got 'text/plain'"),
        (b"{", JSON, 400, "expected JSON"),
        (b"\xff", JSON, 400, "expected JSON"),
        (b"[" * 3000, JSON, 400, "expected JSON"),
        (b"[]", JSON, 400, "expected a JSON object"),
        (b"{}", JSON, 400, "expected a question"),
        (b'{"question": 7}', JSON, 400, "expected a question"),
        (b'{"question": " "}', JSON, 400, "expected a question"),
        (b'{"question": "x", "k": 1}', JSON, 400, "expected question and scenario, got 'k'"),
        (
            json.dumps({"question": "x" * 501}).encode(),
            JSON,
            400,
            "expected at most 500 characters, got 501",
        ),
        (
            b'{"question": "x", "scenario": "y"}',
            JSON,
            400,
            f"expected a scenario ({', '.join(SCENARIOS)}), got 'y'",
        ),
        (
            b'{"question": "x", "scenario": []}',
            JSON,
            400,
            f"expected a scenario ({', '.join(SCENARIOS)}), got []",
        ),
        (b" " * 5000, JSON, 413, "expected at most 4096 bytes"),
    ],
)
def test_bad_request_is_answered_with_what_was_expected(
    scripted: httpx2.Client, content: bytes, headers: dict[str, str], status: int, error: str
) -> None:
    response = scripted.post("/ask", content=content, headers=headers)
    assert (response.status_code, response.json()) == (status, {"error": error})


@pytest.mark.parametrize(
    ("method", "path", "status", "error"),
    [
        ("GET", "/ask", 405, "Method Not Allowed"),
        ("GET", "/nowhere", 404, "Not Found"),
        ("GET", "/page/../app.py", 404, "Not Found"),
        ("GET", "/page/%2e%2e/app.py", 404, "Not Found"),
    ],
)
def test_wrong_path_or_method_is_answered_in_json(
    scripted: httpx2.Client, method: str, path: str, status: int, error: str
) -> None:
    response = scripted.request(method, path)
    assert (response.status_code, response.json()) == (status, {"error": error})


def test_page_elsewhere_cannot_call_the_server_by_a_name_of_its_own(
    scripted: httpx2.Client,
) -> None:
    response = scripted.get("/", headers={"host": "evil.example"})
    assert (response.status_code, response.text) == (400, "Invalid host header")


# -- Any OpenAI-compatible endpoint -----------------------------------------

Reply = Callable[[], Response]


class Endpoint:
    """A chat completion server that answers as it is told and keeps what it was sent."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.asked: list[tuple[str, Any]] = []
        self.app = Starlette(
            routes=[
                Route("/v1/models", self.models),
                Route("/v1/chat/completions", self.complete, methods=["POST"]),
            ]
        )

    async def models(self, request: Request) -> Response:
        self.asked.append((request.headers.get("authorization", ""), None))
        return JSONResponse({"data": [{"id": "small"}, {"id": "large"}]})

    async def complete(self, request: Request) -> Response:
        self.asked.append((request.headers.get("authorization", ""), await request.json()))
        return self.reply()


def frames(*payloads: Any) -> Reply:
    """Make a stream of frames; a payload that is bytes goes out as it is."""

    async def body() -> AsyncIterator[bytes]:
        for payload in payloads:
            yield (
                payload
                if isinstance(payload, bytes)
                else b"data: %s\n\n" % json.dumps(payload).encode()
            )

    return lambda: StreamingResponse(body(), media_type="text/event-stream")


def content(text: str | None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}


FINISH = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
USAGE = {"choices": [], "usage": {"completion_tokens": 5}}
DONE = b"data: [DONE]\n\n"


@contextmanager
def asking(
    endpoint: Endpoint, name: str | None = None, key: str | None = None
) -> Iterator[httpx2.Client]:
    with served(endpoint.app) as url:
        app = create_app(RemoteModel(f"{url}/v1/", name, key))
        with served(app) as demo, httpx2.Client(base_url=demo, timeout=10) as client:
            yield client


def test_endpoint_is_asked_with_the_passages_and_filtered() -> None:
    endpoint = Endpoint(
        frames(
            content(None),
            b": ping\n\n",
            content("Free ["),
            content("9"),
            content("] until ["),
            content("1]."),
            FINISH,
            USAGE,
            DONE,
        )
    )
    with asking(endpoint, key="secret") as client:
        events = ask(client, QUESTION)
    assert visible(events) == "Free until [1]."
    assert events[-1][1]["invalid"] == [9]
    (listing, _), (key, sent) = endpoint.asked
    assert listing == key == "Bearer secret"
    passages = Passages(load().search(QUESTION, 4))
    assert sent == {
        "model": "small",
        "messages": [
            {"role": "system", "content": passages.instructions()},
            {"role": "user", "content": f"{passages.prompt()}\n\nQuestion: {QUESTION}"},
        ],
        "max_tokens": 512,
        "stream": True,
    }


def test_endpoint_is_asked_for_the_model_that_was_named() -> None:
    endpoint = Endpoint(frames(content("Yes [1]."), DONE))
    with asking(endpoint, name="large") as client:
        ask(client, QUESTION)
        assert client.get("/model").json() == {"name": "large", "scenarios": {}}
    assert [(key, sent["model"]) for key, sent in endpoint.asked] == [("", "large")]


def test_endpoint_follows_no_script() -> None:
    with asking(Endpoint(frames(DONE))) as client:
        response = client.post("/ask", json={"question": "x", "scenario": "clean"})
    assert (response.status_code, response.json()) == (
        400,
        {"error": "expected a scenario (none), got 'clean'"},
    )


@pytest.mark.parametrize(
    "reply",
    [
        lambda: PlainTextResponse("no", 500),
        lambda: PlainTextResponse("<html>"),
        frames(b"data: <html>\n\n"),
        frames({"error": {"message": "the prompt was ..."}}),
        frames({"choices": 7}),
        frames({"choices": [{"delta": {"content": 7}}]}),
        frames(7),
    ],
)
def test_model_that_is_down_is_a_502(reply: Reply) -> None:
    with asking(Endpoint(reply), name="small") as client:
        response = client.post("/ask", json={"question": QUESTION})
    assert response.status_code == 502
    assert response.json() == {"reason": "source failed", "id": response.json()["id"]}


def test_endpoint_nobody_listens_on_is_a_502() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
    with served(create_app(RemoteModel(url))) as demo:
        response = httpx2.post(f"{demo}/ask", json={"question": QUESTION})
    assert response.status_code == 502
    assert response.json() == {"reason": "source failed", "id": response.json()["id"]}


def test_endpoint_that_lists_no_model_is_a_502() -> None:
    async def models(_: Request) -> Response:
        return JSONResponse({"data": []})

    endpoint = Endpoint(frames(DONE))
    endpoint.app = Starlette(routes=[Route("/v1/models", models)])
    with asking(endpoint) as client:
        response = client.post("/ask", json={"question": QUESTION})
    assert response.status_code == 502


def test_endpoint_that_fails_midway_keeps_its_reasons_to_itself() -> None:
    endpoint = Endpoint(frames(content("Free [1]. And"), {"error": "the prompt was secret"}))
    with asking(endpoint, name="small") as client:
        events = ask(client, QUESTION)
    assert visible(events) == "Free [1]. And"
    assert [name for name, _ in events[-2:]] == ["error", "summary"]
    assert events[-1][1]["ended"] == "error"
    assert "secret" not in json.dumps(events)


def test_client_that_leaves_stops_the_endpoint() -> None:
    stopped = threading.Event()

    async def endless() -> AsyncIterator[bytes]:
        import anyio

        try:
            while True:
                yield b"data: %s\n\n" % json.dumps(content("word ")).encode()
                await anyio.sleep(0.01)
        finally:
            stopped.set()

    endpoint = Endpoint(lambda: StreamingResponse(endless(), media_type="text/event-stream"))
    with asking(endpoint, name="small") as client:
        with client.sse("/ask", method="POST", json={"question": QUESTION}) as events:
            next(iter(events))
        assert stopped.wait(5)


@pytest.mark.parametrize("url", ["", "ftp://x/v1", "http://", "model", "//x"])
def test_model_that_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"^expected scripted, local or a URL with http\(s\)"):
        RemoteModel(url)


@pytest.mark.asyncio
async def test_model_error_names_its_endpoint() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
    with pytest.raises(ModelError, match=f"^{re.escape(url)}: ConnectError"):
        await anext(RemoteModel(url, "small").answer(QUESTION, Passages(1)))


# -- The command ------------------------------------------------------------


@contextmanager
def started(command: list[str], cwd: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start the demo as a process of its own, and give its address."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            match = re.match(r"citestream demo: (http://127\.0\.0\.1:\d+)/ ", first)
            assert match is not None, first + process.stdout.read()
            yield match[1], process
        finally:
            process.kill()


def test_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "citestream", "demo", "--port", "0"]
    with started(command, ROOT) as (url, process):
        with httpx2.Client(base_url=url, timeout=10) as client:
            events = ask(client, QUESTION)
        assert events[-1][0] == "summary"
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        process.wait(10)
        assert time.monotonic() - start < 10
        assert process.stdout is not None
        assert process.stdout.read() == "model: scripted\n"


def demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "citestream", "demo", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


def test_port_that_is_taken_is_said_in_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = demo("--port", port)
    assert result.stderr == (
        f"Error: cannot listen on 127.0.0.1, port {port}: Address already in use\n"
    )
    assert result.returncode == 1


def test_model_that_is_unknown_is_said_in_a_sentence() -> None:
    result = demo("--model", "clever")
    assert result.stderr == (
        "Error: expected scripted, local or a URL with http(s), got 'clever'\n"
    )
    assert result.returncode == 1


def test_installed_wheel_works_in_an_empty_folder(tmp_path: Path) -> None:
    wheels, environment, empty = tmp_path / "wheels", tmp_path / "venv", tmp_path / "empty"
    empty.mkdir()
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    quiet = ["-q", "--disable-pip-version-check"]
    subprocess.run(
        [python, "-m", "pip", "wheel", *quiet, "--no-deps", "-w", wheels, ROOT], check=True
    )
    (wheel,) = wheels.iterdir()
    subprocess.run([python, "-m", "pip", "install", *quiet, f"{wheel}[demo]"], check=True)
    command = [str(environment / "bin" / "citestream")]
    with (
        started([*command, "demo", "--port", "0"], empty) as (url, _),
        httpx2.Client(base_url=url, timeout=10) as client,
    ):
        assert ask(client, QUESTION)[-1][1]["invalid"] == [9]
        assert client.get("/page/demo.js").status_code == 200
    version = subprocess.run(
        [*command, "--version"], cwd=empty, check=True, capture_output=True, text=True
    )
    assert version.stdout == "citestream, version 0.1.0\n"
    typed = (
        "from importlib import resources as r; print((r.files('citestream')/'py.typed').is_file())"
    )
    found = subprocess.run([python, "-c", typed], cwd=empty, capture_output=True, check=True)
    assert found.stdout == b"True\n"
