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
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from citestream import NO_ANSWER, Passages, check_citations
from demo.app import create_app
from demo.corpus import Corpus, Document, load
from demo.model import AS_IT_IS, Manner, ModelError, RemoteModel, ScriptedModel
from demo.records import Records
from demo.scripts import SCENARIOS, script
from demo.settings import STYLES
from demo.trials import TRIALS
from tests.servers import serving, until

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


def watch(client: httpx2.Client, question: str, **setting: Any) -> list[Event]:
    """Ask, and return every event, the raw ones among them."""
    body = {"question": question, **setting}
    with client.sse("/ask", method="POST", json=body) as events:
        assert events.response.status_code == 200, events.response.read()
        return [(event.event, event.json()) for event in events]


def ask(client: httpx2.Client, question: str, **setting: Any) -> list[Event]:
    """Ask, and return the events of the library's own protocol."""
    events = watch(client, question, **setting)
    return [(name, data) for name, data in events if name != "raw"]


def found(question: str, most: int = 4, style: str = "numeric") -> Passages:
    """Return the passages that a question finds."""
    rows = [document.as_passage(score) for document, score in load().search(question, most)]
    return Passages(rows, style=STYLES[style])


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
    names = re.findall(r'(?:href|src)="(page/[^"]+)"', scripted.get("/").text)
    for module in (ROOT / "demo/page").glob("*.js"):
        code = module.read_text(encoding="utf-8")
        names += [
            f"page/{name}" for name in re.findall(r'^import .* from "\./(.*)";', code, re.MULTILINE)
        ]
    types = {name: scripted.get(f"/{name}").headers["content-type"] for name in names}
    assert types == {
        "page/demo.css": "text/css; charset=utf-8",
        **{
            f"page/{name}.js": "text/javascript; charset=utf-8"
            for name in (
                "demo",
                "citestream",
                "passages",
                "plot",
                "popover",
                "raw",
                "score",
                "setting",
            )
        },
    }


def test_page_makes_no_markup_of_text_and_asks_nobody_else() -> None:
    unsafe = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\("
    for path in sorted((ROOT / "demo/page").iterdir()):
        text = path.read_text(encoding="utf-8")
        assert re.findall(unsafe, text) == [], path.name
        code = re.sub(r"(?m)^\s*//.*$", "", text)
        addresses = set(re.findall(r"https?://[^\s\"'`)]+", code))
        assert addresses - {"http://www.w3.org/2000/svg"} == set(), path.name


def test_server_says_what_there_is_to_choose(scripted: httpx2.Client) -> None:
    options = scripted.get("/options").json()
    assert options == {
        "models": [
            {
                "name": "scripted",
                "scenarios": dict(SCENARIOS),
                "most_passages": 8,
                "styles": ["numeric", "prefix", "label"],
            }
        ],
        "rankers": ["bm25", "words"],
        "styles": ["numeric", "prefix", "label"],
        "policies": {
            "token": ["report", "warn", "retry", "refuse"],
            "sentence": ["warn", "omit", "retry", "refuse"],
            "answer": ["warn", "omit", "retry", "refuse"],
        },
        "claims": ["off", "compare"],
        "trials": TRIALS,
        "limits": {"question": 500, "text": 2000},
    }


def test_every_trial_is_a_setting_that_finds_something(scripted: httpx2.Client) -> None:
    for trial in TRIALS:
        *_, (name, summary) = ask(scripted, **{**trial["setting"], "pace": 0})
        assert name == "summary", trial
        assert summary["ended"] == "complete", trial


# -- Search -----------------------------------------------------------------


@pytest.mark.parametrize("ranker", ["bm25", "words"])
def test_search_gives_the_passages_as_the_model_sees_them(
    scripted: httpx2.Client, ranker: str
) -> None:
    body = {"question": QUESTION, "ranker": ranker, "most": 2}
    found = load().search(QUESTION, 2, ranker)
    rows = [document.as_passage(score) for document, score in found]
    assert scripted.post("/search", json=body).json() == {
        "passages": [
            {**row, "label": number, "marker": f"[{number}]"} for number, row in enumerate(rows, 1)
        ]
    }
    assert rows[0]["id"] == "booking"
    assert rows[0]["score"] > rows[1]["score"] > 0


def test_marker_is_written_in_the_style_that_was_chosen(scripted: httpx2.Client) -> None:
    markers = {}
    for style in STYLES:
        body = {"question": "Which practices are banned outright?", "style": style}
        passages = scripted.post("/search", json=body).json()["passages"]
        markers[style] = [passage["marker"] for passage in passages]
    assert markers == {
        "numeric": ["[1]", "[2]"],
        "prefix": ["[S1]", "[S2]"],
        "label": ["[Article 5(1)]", "[Article 5(2)]"],
    }


def test_question_that_finds_nothing_gives_no_passages(scripted: httpx2.Client) -> None:
    assert scripted.post("/search", json={"question": "Zxcvb?"}).json() == {"passages": []}


# -- Answers ----------------------------------------------------------------


def test_clean_answer_arrives_event_by_event(scripted: httpx2.Client) -> None:
    question = "How much does a single ride cost?"
    *events, last = ask(scripted, question, scenario="clean")
    passages = found(question)
    written = script(question, passages, "clean")
    assert visible(events) == written
    assert written.startswith("A single ride costs 2 euros and lasts up to 30 minutes [1].")
    exposed = ("text", "place", "version", "score")
    cards = [passage.payload(exposed) for passage in passages][:2]
    assert [data for name, data in events if name == "citation"] == [
        {"text": "[1]", "cited": [1], "invalid": [], "passages": [cards[0]]},
        {"text": "[2]", "cited": [2], "invalid": [], "passages": [cards[1]]},
    ]
    checked = check_citations(written, passages, sentences=True)
    assert last == ("summary", checked.summary.to_dict())
    assert last[1]["cited"] == [1, 2]


@pytest.mark.parametrize(
    ("scenario", "cited", "invalid", "grounded", "refused_by"),
    [
        ("clean", [1, 2], [], True, None),
        ("invented", [1, 2], [9], True, None),
        ("split", [1, 2], [9], True, None),
        ("stubborn", [1, 2], [9], True, None),
        ("code", [1], [9], True, None),
        ("uncited", [], [], False, None),
        ("refusal", [], [], False, "model"),
        ("refused", [1], [], False, "model"),
        ("seven", [], [7], False, None),
        ("sneaky", [1, 4], [9], True, None),
        ("numbers", [1, 4], [9, 0, 2024], True, None),
        ("half", [1, 2], [], True, None),
        ("roses", [1], [], True, None),
        # Its labels are prose in this style.
        ("statute", [], [], False, None),
        ("broken", [1], [], True, None),
        ("hostile", [1], [9], True, None),
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
    *_, (name, summary) = ask(scripted, QUESTION, scenario=scenario)
    assert name == "summary"
    assert (summary["cited"], summary["invalid"], summary["grounded"], summary["refused_by"]) == (
        cited,
        invalid,
        grounded,
        refused_by,
    )
    assert summary["ended"] == ("error" if scenario == "broken" else "complete")


@pytest.mark.parametrize("scenario", ["invented", "split"])
def test_invented_marker_is_shown_at_no_moment(scripted: httpx2.Client, scenario: str) -> None:
    written = script(QUESTION, found(QUESTION), scenario)
    assert "[9]" in written
    events = ask(scripted, QUESTION, scenario=scenario)
    # No event holds half a marker, so no moment between two of them shows one.
    brackets = [data["text"] for _, data in events if "[" in data.get("text", "")]
    assert brackets == ["[1]", "[2]"]
    assert visible(events) == written.replace("[2, 9]", "[2]").replace(" [9]", "")


def test_invented_marker_is_shown_in_no_style(scripted: httpx2.Client) -> None:
    for style, invented in {"prefix": "S9", "label": "x99.md"}.items():
        events = watch(scripted, QUESTION, scenario="invented", style=style)
        written = "".join(data["text"] for name, data in events if name == "raw")
        assert written.count(invented) == 2
        assert invented not in visible(events)
        assert "[" in visible(events)


def test_statute_is_cited_more_broadly_and_more_narrowly(scripted: httpx2.Client) -> None:
    (trial,) = [trial for trial in TRIALS if trial["setting"].get("scenario") == "statute"]
    events = ask(scripted, **trial["setting"])
    assert visible(events) == (
        "Riding with a second person on the carrier is banned [Article 5(1)(a)]. So is towing a "
        "trailer [Article 5]. Juggling is banned. The by-law is in force since 2024. Schools "
        "have a playground."
    )
    assert events[-1][1]["invalid"] == ["Article 5(1)(z)", "Article 6", "Article 99"]


def test_code_arrives_untouched(scripted: httpx2.Client) -> None:
    shown = visible(ask(scripted, QUESTION, scenario="code"))
    assert "```python\nrows = table[0]\nprint(rows[9], rows[1])\n```\n" in shown
    assert shown.endswith("Here `rows[9]` is code and stays, and this is a citation of nothing.")


def test_chunks_are_as_large_as_was_asked_for(scripted: httpx2.Client) -> None:
    written = script(QUESTION, found(QUESTION), "clean")
    for chunk, chunks in {
        3: [written[at : at + 3] for at in range(0, len(written), 3)],
        10_000: [written],
    }.items():
        events = watch(scripted, QUESTION, scenario="clean", chunk=chunk)
        assert [data["text"] for name, data in events if name == "raw"][:-1] == chunks


def test_answer_of_a_hundred_kilobytes_arrives_whole(scripted: httpx2.Client) -> None:
    events = watch(scripted, QUESTION, scenario="long", pace=0, chunk=1000)
    written = "".join(data["text"] for name, data in events if name == "raw")
    assert len(written) >= 100_000
    assert visible(events) == check_citations(written, found(QUESTION)).answer
    assert events[-1][1]["ended"] == "complete"


def test_question_without_a_hit_is_refused_without_the_model() -> None:
    class Forbidden(ScriptedModel):
        def answer(self, *_: Any) -> Any:
            raise AssertionError("the model was asked")

    with served(create_app(Forbidden())) as url, httpx2.Client(base_url=url) as client:
        events = watch(client, "Zxcvb?")
        nothing = watch(client, QUESTION, passages=[])
    for answer in (events, nothing):
        assert visible(answer) == NO_ANSWER
        assert [name for name, _ in answer] == ["delta", "summary"]
        assert answer[-1][1]["refused_by"] == "policy"
        assert answer[-1][1]["passages"] == []


def test_passages_are_those_that_the_reader_sends_back(scripted: httpx2.Client) -> None:
    edited = [{"id": "safety"}, {"id": "booking", "text": "Rides are cancelled by owls."}]
    events = ask(scripted, QUESTION, scenario="clean", passages=edited)
    assert visible(events).endswith("Rides are cancelled by owls [2].")
    first, second = [data["passages"][0] for name, data in events if name == "citation"]
    document = load().by_id["safety"]
    scores = {found.id: score for found, score in load().search(QUESTION, 99)}
    # All but the text is the server's own.
    assert first == {"label": 1, **document.as_passage(scores["safety"])}
    assert second == {
        "label": 2,
        **load().by_id["booking"].as_passage(scores["booking"], "Rides are cancelled by owls."),
    }


def test_hostile_passage_arrives_as_text_alone() -> None:
    title = "<img src=x onerror=alert(1)> [7]"
    document = Document(
        "x", "x.md", title, "https://bikes.example/\"'<x>", "<b>", "1", "A ride is free. [9]"
    )
    app = create_app(ScriptedModel(pause=0), corpus=Corpus([document]))
    with served(app) as url, httpx2.Client(base_url=url) as client:
        *events, _ = ask(client, "Is a ride free?", scenario="clean")
    (passage,) = [data["passages"][0] for name, data in events if name == "citation"]
    assert passage["title"] == title
    assert visible(events) == "A ride is free [1]."


def test_client_that_stops_closes_the_model() -> None:
    closed = threading.Event()

    class Endless(ScriptedModel):
        async def answer(
            self, question: str, passages: Passages, manner: Manner = AS_IT_IS
        ) -> AsyncGenerator[str, None]:
            try:
                while True:
                    await anyio.sleep(0.005)
                    yield "word "
            finally:
                closed.set()

    with served(create_app(Endless())) as url, httpx2.Client(base_url=url) as client:
        with client.sse("/ask", method="POST", json={"question": QUESTION}) as events:
            # Held on to: dropping it would hang up.
            arriving = iter(events)
            next(arriving)
            assert not closed.is_set()
        assert closed.wait(5)
        until(lambda: client.get("/records").json()["records"], "the answer to be recorded")
        (record,) = client.get("/records").json()["records"]
    assert record["ended"] == "cancelled"


# -- Policies ---------------------------------------------------------------

CLAIM = "The booking fee of 6 euros is refunded when the ride is cancelled at least 60 minutes"
HALF = f"{CLAIM} before it starts [1]."
OTHER = "It includes the first 45 minutes of every ride [2]."


@pytest.mark.parametrize(
    ("emit", "failure", "shown", "names"),
    [
        (
            "token",
            "warn",
            f"{HALF} So it should work out in your case as well. {OTHER}",
            {"warning"},
        ),
        ("token", "retry", f"{HALF} {OTHER}", {"retract"}),
        ("token", "refuse", NO_ANSWER, {"retract"}),
        ("sentence", "omit", f"{HALF} {OTHER}", set()),
        ("sentence", "retry", f"{HALF} {OTHER}", {"retract"}),
        ("sentence", "refuse", NO_ANSWER, {"retract"}),
        ("answer", "omit", f"{HALF} {OTHER}", set()),
        ("answer", "retry", f"{HALF} {OTHER}", set()),
        ("answer", "refuse", NO_ANSWER, set()),
    ],
)
def test_policy_does_what_was_chosen(
    scripted: httpx2.Client, emit: str, failure: str, shown: str, names: set[str]
) -> None:
    events = watch(scripted, QUESTION, scenario="half", emit=emit, failure=failure)
    assert {name for name, _ in events} - names == {
        "raw",
        "delta",
        "summary",
        *(() if failure == "refuse" and emit == "answer" else ("citation", "sentence")),
    }
    assert names <= {name for name, _ in events}
    text = ""
    for name, data in events:
        text = "" if name == "retract" else text + data.get("text", "") * (name != "raw")
    assert text == shown
    attempts = {data["attempt"] for name, data in events if name == "raw"}
    assert attempts == ({1, 2} if failure == "retry" else {1})


def test_second_attempt_may_fail_too(scripted: httpx2.Client) -> None:
    *events, (_, summary) = ask(
        scripted, QUESTION, scenario="stubborn", emit="answer", failure="retry"
    )
    assert visible(events) == NO_ANSWER
    assert summary["refused_by"] == "policy"
    assert [attempt["outcome"] for attempt in summary["attempts"]] == ["retried", "refused"]


def test_claims_are_compared_with_what_they_cite(scripted: httpx2.Client) -> None:
    passages = [{"id": "booking"}, {"id": "prices"}]
    events = ask(scripted, QUESTION, scenario="roses", claims="compare", passages=passages)
    assert [(data["content"], data["verdict"]) for name, data in events if name == "claim"] == [
        (HALF, "supported"),
        ("Roses are red, violets are blue [1].", "unknown"),
    ]


def test_endpoint_is_told_what_was_wrong_when_it_is_asked_again() -> None:
    replies = iter([frames(content("Free [9]."), DONE), frames(content("Free [1]."), DONE)])

    def reply() -> Response:
        return next(replies)()

    endpoint = Endpoint(reply)
    with asking(endpoint, name="small") as client:
        events = ask(client, QUESTION, emit="answer", failure="retry")
    assert visible(events) == "Free [1]."
    first, second = [sent["messages"] for _, sent in endpoint.asked]
    assert second[1] == first[1]
    assert second[0]["content"] == (
        f"{first[0]['content']}\nYour last answer named [9], which is none of the passages. "
        "Use only the markers that were given to you."
    )


# -- Over time --------------------------------------------------------------


def test_records_hold_the_counts_of_each_answer_and_no_text() -> None:
    with (
        served(create_app(ScriptedModel(pause=0))) as url,
        httpx2.Client(base_url=url, timeout=10) as client,
    ):
        assert client.get("/records").json() == {"total": 0, "records": []}
        ask(client, QUESTION, scenario="invented")
        ask(client, QUESTION, scenario="refusal", most=2)
        response = client.get("/records")
    assert response.headers["cache-control"] == "no-store"
    assert response.json() == {
        "total": 2,
        "records": [
            {
                "number": 1,
                "kept": 2,
                "removed": 1,
                "invalid": 1,
                "cited": 2,
                "unused": 2,
                "grounded": True,
                "refused_by": None,
                "ended": "complete",
            },
            {
                "number": 2,
                "kept": 0,
                "removed": 0,
                "invalid": 0,
                "cited": 0,
                "unused": 2,
                "grounded": False,
                "refused_by": "model",
                "ended": "complete",
            },
        ],
    }


def test_only_the_last_records_are_kept() -> None:
    records = Records(most=3)
    summary = check_citations("Yes [1].", 2).summary
    for _ in range(5):
        records.note(summary)
    kept = records.to_dict()
    assert (kept["total"], [row["number"] for row in kept["records"]]) == (5, [3, 4, 5])


# -- What is refused --------------------------------------------------------

JSON = {"content-type": "application/json"}
KEYS = (
    "question, ranker, most, style, model, passages, scenario, pace, chunk, emit, failure, claims"
)


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
        (
            json.dumps({"question": "x" * 501}).encode(),
            JSON,
            400,
            "expected a question of at most 500 characters, got 501",
        ),
        (b" " * 70000, JSON, 413, "expected at most 65536 bytes"),
    ],
)
def test_bad_body_is_answered_with_what_was_expected(
    scripted: httpx2.Client, content: bytes, headers: dict[str, str], status: int, error: str
) -> None:
    for path in ("/ask", "/search"):
        response = scripted.post(path, content=content, headers=headers)
        assert (response.status_code, response.json()) == (status, {"error": error})


LISTED = ", ".join(SCENARIOS)


@pytest.mark.parametrize(
    ("setting", "error"),
    [
        ({"k": 1}, f"expected no key besides {KEYS}, got 'k'"),
        # Where an endpoint is, only the command line says.
        ({"url": "http://10.0.0.1/"}, f"expected no key besides {KEYS}, got 'url'"),
        (
            {"model": "http://10.0.0.1/"},
            "expected for model one of: scripted; got 'http://10.0.0.1/'",
        ),
        ({"scenario": "y"}, f"expected for scenario one of: {LISTED}; got 'y'"),
        ({"scenario": []}, f"expected for scenario one of: {LISTED}; got []"),
        ({"ranker": "best"}, "expected for ranker one of: bm25, words; got 'best'"),
        ({"style": 7}, "expected for style one of: numeric, prefix, label; got 7"),
        ({"most": 0}, "expected for most a number from 1 to 8, got 0"),
        ({"most": 9}, "expected for most a number from 1 to 8, got 9"),
        ({"most": True}, "expected for most a number from 1 to 8, got True"),
        ({"pace": -1}, "expected for pace a number from 0 to 1000, got -1"),
        ({"pace": 0.5}, "expected for pace a number from 0 to 1000, got 0.5"),
        ({"chunk": "3"}, "expected for chunk a number from 0 to 10000, got '3'"),
        ({"emit": "word"}, "expected for emit one of: token, sentence, answer; got 'word'"),
        (
            {"emit": "token", "failure": "omit"},
            "expected for failure one of: report, warn, retry, refuse; got 'omit'",
        ),
        (
            {"emit": "answer", "failure": "report"},
            "expected for failure one of: warn, omit, retry, refuse; got 'report'",
        ),
        ({"claims": "yes"}, "expected for claims one of: off, compare; got 'yes'"),
        ({"passages": {}}, "expected a list of at most 8 passages"),
        ({"passages": [{}] * 9}, "expected a list of at most 8 passages"),
        ({"passages": ["safety"]}, "expected a JSON object"),
        ({"passages": [{}]}, "expected the id of a document, got None"),
        ({"passages": [{"id": "no"}]}, "expected the id of a document, got 'no'"),
        (
            {"passages": [{"id": "safety", "url": "javascript:x"}]},
            "expected no key besides id, text, got 'url'",
        ),
        ({"passages": [{"id": "safety"}] * 2}, "expected each passage once"),
        ({"passages": [{"id": "safety", "text": ""}]}, "expected the text of a passage"),
        ({"passages": [{"id": "safety", "text": 7}]}, "expected the text of a passage"),
        (
            {"passages": [{"id": "safety", "text": "x" * 2001}]},
            "expected a passage of at most 2000 characters, got 2001",
        ),
    ],
)
def test_bad_setting_is_answered_with_what_was_expected(
    scripted: httpx2.Client, setting: dict[str, Any], error: str
) -> None:
    response = scripted.post("/ask", json={"question": "x", **setting})
    assert (response.status_code, response.json()) == (400, {"error": error})


def test_search_takes_no_more_than_it_needs(scripted: httpx2.Client) -> None:
    response = scripted.post("/search", json={"question": "x", "scenario": "clean"})
    assert response.json() == {
        "error": "expected no key besides question, ranker, most, style, model, got 'scenario'"
    }


@pytest.mark.parametrize(
    ("method", "path", "status", "error"),
    [
        ("GET", "/ask", 405, "Method Not Allowed"),
        ("GET", "/search", 405, "Method Not Allowed"),
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


# -- Several models ---------------------------------------------------------


class Numbered(ScriptedModel):
    """A model as small as the local one."""

    name = "small"
    scenarios: Mapping[str, str] = {}
    most_passages = 2
    numbers_only = True


def test_request_names_the_model_and_the_first_is_the_default() -> None:
    app = create_app(Numbered(pause=0), ScriptedModel(pause=0))
    with served(app) as url, httpx2.Client(base_url=url) as client:
        options = client.get("/options").json()["models"]
        small = client.post("/search", json={"question": QUESTION, "most": 4}).json()
        large = client.post("/search", json={"question": QUESTION, "model": "scripted"}).json()
        style = client.post("/ask", json={"question": QUESTION, "style": "label"})
        many = client.post("/ask", json={"question": QUESTION, "passages": [{}] * 3})
        answer = ask(client, QUESTION, model="scripted", scenario="clean")
    assert [
        (model["name"], model["most_passages"], model["styles"], len(model["scenarios"]))
        for model in options
    ] == [
        ("small", 2, ["numeric"], 0),
        ("scripted", 8, ["numeric", "prefix", "label"], len(SCENARIOS)),
    ]
    assert (len(small["passages"]), len(large["passages"])) == (2, 4)
    assert style.json() == {"error": "expected the style numeric, which is all that small writes"}
    assert many.json() == {"error": "expected a list of at most 2 passages"}
    assert answer[-1][1]["cited"] == [1, 2]


def test_two_models_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^expected models of different names, got scripted$"):
        create_app(ScriptedModel(), ScriptedModel())


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
    passages = found(QUESTION)
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
        (model,) = client.get("/options").json()["models"]
        assert (model["name"], model["scenarios"]) == ("large", {})
    assert [(key, sent["model"]) for key, sent in endpoint.asked] == [("", "large")]


def test_endpoint_follows_no_script() -> None:
    with asking(Endpoint(frames(DONE))) as client:
        response = client.post("/ask", json={"question": "x", "scenario": "clean"})
    assert (response.status_code, response.json()) == (
        400,
        {"error": "expected for scenario one of: none; got 'clean'"},
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


def test_command_gives_the_page_the_choice_of_models(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "citestream", "demo", "--port", "0"]
    # Nobody is asked before somebody asks.
    models = ["--model", "http://127.0.0.1:9/v1", "--model", "scripted", "--model-name", "large"]
    with started([*command, *models], ROOT) as (url, process):
        options = httpx2.get(f"{url}/options").json()
        assert process.stdout is not None
        assert process.stdout.readline() == "model: large, scripted\n"
    assert [model["name"] for model in options["models"]] == ["large", "scripted"]


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
