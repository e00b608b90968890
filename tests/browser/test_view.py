"""What the page's module makes of an answer, in a browser, over a real server."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import anyio.to_thread
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from citestream import check_citations
from citestream.sse import CitationResponse
from tests.browser.conftest import Opener
from tests.browser.watching import ROOT, Expected, Watched, assert_read_well, expected
from tests.servers import serving, until

HERE = Path(__file__).parent

Respond: TypeAlias = Callable[[], Response]

# What a page of a strict site is served with.
POLICY = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; require-trusted-types-for 'script'"
    )
}


class Site:
    """A page with nothing but an answer, and one endpoint that responds as a test says."""

    def __init__(self) -> None:
        self.respond: Respond | None = None
        self.asked = 0
        files = {
            "/": HERE / "view.html",
            "/view.js": HERE / "view.js",
            "/view.css": HERE / "view.css",
            "/citestream.js": ROOT / "demo/page/citestream.js",
        }
        self.app = Starlette(
            routes=[
                Route("/ask", self.ask, methods=["POST"]),
                *(Route(path, self._file(file)) for path, file in files.items()),
            ]
        )
        self.url = ""

    async def ask(self, request: Request) -> Response:
        del request
        self.asked += 1
        assert self.respond is not None
        return self.respond()

    @staticmethod
    def _file(file: Path) -> Any:
        async def respond(request: Request) -> Response:
            del request
            return FileResponse(file, headers=POLICY)

        return respond


@pytest.fixture(scope="module")
def served() -> Iterator[Site]:
    site = Site()
    with serving(site.app) as server:
        site.url = f"http://127.0.0.1:{server.port}/"
        yield site


@pytest.fixture
def site(served: Site) -> Site:
    served.respond = None
    served.asked = 0
    return served


def start(site: Site, opened: Opener, respond: Respond, **settings: Any) -> Watched:
    """Open the page and ask."""
    site.respond = respond
    watched = opened(site.url, **settings)
    watched.until_true("window.start")
    watched.page.evaluate("start('/ask')")
    return watched


def finish(watched: Watched, end: str = "complete") -> None:
    watched.until_true("state.end")
    assert watched.page.evaluate("state.end") == end


def answering(chunks: list[str], passages: Any, pause: float = 0, **options: Any) -> Respond:
    async def source() -> AsyncIterator[str]:
        for chunk in chunks:
            yield chunk
            if pause:
                await anyio.sleep(pause)

    return lambda: CitationResponse(source(), passages, **options)


def frames(*events: tuple[str, Any], then: Callable[[], None] = lambda: None) -> Respond:
    """Send events as they are, and end as `then` does."""

    async def body() -> AsyncIterator[bytes]:
        for name, data in events:
            yield f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()
            await anyio.sleep(0.01)
        then()

    return lambda: StreamingResponse(body(), media_type="text/event-stream")


REFUNDS = {"text": "Refunds take 5 days.", "title": "Refunds", "url": "https://bikes.example/r"}
STATIONS = {"text": "Rides end at a station.", "title": "Stations"}

ANSWER = (
    "Refunds take 5 days [1]. A ride ends at a station [2, 9][1], or so [7].\n\n"
    "- It costs nothing (1) [9]\n- `rows[9]` is code [Source 2: b]\n\nNothing says [sic] why."
)


def test_answer_is_shown_to_the_letter_and_no_moment_shows_what_is_invented(
    site: Site, opened: Opener
) -> None:
    respond = answering(list(ANSWER), [REFUNDS, STATIONS], 0.001)
    watched = start(site, opened, respond)
    finish(watched)
    (texts,) = watched.attempts()
    whole = expected(ANSWER, 2)
    assert_read_well(texts, whole, ["[7]", ", 9", "[9] "])
    # One character at a time came, and one at a time was shown.
    assert len(texts) > len(whole.text) / 2
    assert watched.page.evaluate("view.text") == whole.text
    chips = watched.page.locator("#answer button").all()
    assert [(chip.text_content(), chip.get_attribute("aria-label")) for chip in chips] == [
        ("1", "Source 1: Refunds"),
        ("2", "Source 2: Stations"),
        ("1", "Source 1: Refunds"),
        ("2", "Source 2: Stations"),
    ]
    assert [chip.get_attribute("type") for chip in chips] == ["button"] * 4
    assert watched.violations() == []


def test_paragraphs_end_with_their_blank_lines(site: Site, opened: Opener) -> None:
    text = "\n One\nstill one.\n \n\nTwo [1].\n\n\n```\na\n\nb\n```\n"
    for chunks in (list(text), [text]):
        watched = start(site, opened, answering(chunks, 1))
        finish(watched)
        assert watched.page.locator("#answer > p").all_text_contents() == [
            "\n",
            " One\nstill one.\n \n",
            "\n",
            "Two [1].\n\n",
            "\n",
            "```\na\n\n",
            "b\n```\n",
        ]


def test_sentences_are_marked_where_they_stand(site: Site, opened: Opener) -> None:
    text = (
        "# Prices\n\nFree of charge. Refunds take 5 days [1]. \n\n- Rides end\n  there. [2] [1]\n"
        "- Nobody knows\n\n```\nCode. [1]\n```\n\nAll of it [2]."
    )
    for chunks in (list(text), [text]):
        watched = start(site, opened, answering(chunks, [REFUNDS, STATIONS], sentences=True))
        finish(watched)
        page = watched.page
        assert watched.answer() == text
        marked = page.locator("#answer .sentence")
        assert [
            (span.text_content(), span.get_attribute("data-covered")) for span in marked.all()
        ] == [
            ("Free of charge.", "false"),
            ("Refunds take 5 days [1].", "true"),
            ("Rides end\n  there. [2] [1]", "true"),
            ("Nobody knows", "false"),
            ("All of it [2].", "true"),
        ]
        assert page.evaluate("view.uncited.map((span) => span.textContent)") == [
            "Free of charge.",
            "Nobody knows",
        ]
        assert page.evaluate("view.sentences(1).map((span) => span.textContent)") == [
            "Refunds take 5 days [1].",
            "Rides end\n  there. [2] [1]",
        ]
        lit = "[...document.querySelectorAll('.lit')].map((node) => node.textContent)"
        page.evaluate("view.light(2)")
        assert page.evaluate(lit) == ["Rides end\n  there. [2] [1]", "2", "All of it [2].", "2"]
        page.evaluate("view.light('1')")
        assert page.evaluate(lit) == [
            "Refunds take 5 days [1].",
            "1",
            "Rides end\n  there. [2] [1]",
            "1",
        ]
        page.evaluate("view.light(null)")
        assert page.evaluate(lit) == []


def test_chip_that_has_the_focus_keeps_it_while_its_sentence_ends(
    site: Site, opened: Opener
) -> None:
    focused = threading.Event()

    async def source() -> AsyncIterator[str]:
        yield "Refunds take 5 days [1]"
        yield ", or so"
        await anyio.to_thread.run_sync(focused.wait)
        yield " they say. And more."

    watched = start(site, opened, lambda: CitationResponse(source(), [REFUNDS], sentences=True))
    watched.page.locator("#answer button").focus()
    focused.set()
    finish(watched)
    assert watched.page.locator("#answer .sentence").count() == 2
    assert watched.page.evaluate("document.activeElement.textContent") == "1"


def test_chip_opens_its_passages_by_focus_enter_space_and_click(site: Site, opened: Opener) -> None:
    watched = start(site, opened, answering(["A [1]. B [2]."], [REFUNDS, STATIONS]))
    finish(watched)
    keyboard = watched.page.keyboard
    keyboard.press("Tab")
    keyboard.press("Enter")
    keyboard.press("Tab")
    keyboard.press("Space")
    watched.page.locator("#answer button").first.click()
    first = {
        "label": "1",
        "passages": [
            {"label": 1, "id": None, "title": "Refunds", "url": "https://bikes.example/r"}
        ],
        "name": "Source 1: Refunds",
    }
    second = {
        "label": "2",
        "passages": [{"label": 2, "id": None, "title": "Stations", "url": None}],
        "name": "Source 2: Stations",
    }
    assert watched.page.evaluate("state.opened") == [
        {**first, "cause": "focus"},
        {**first, "cause": "click"},
        {**second, "cause": "focus"},
        {**second, "cause": "click"},
        {**first, "cause": "focus"},
        {**first, "cause": "click"},
    ]


def test_nothing_that_anybody_writes_becomes_markup(site: Site, opened: Opener) -> None:
    evil = "<img src=x onerror=hacked=1><script>hacked=1</script>&lt;"
    passage = {"text": evil, "title": f"'\"{evil}\u202e", "metadata": {"x": evil}}
    text = f"{evil} [1]. <b>{evil}</b> javascript:hacked=1 [1](javascript:hacked=1)."
    watched = start(
        site, opened, answering([text], [passage], expose=("text", "metadata"), sentences=True)
    )
    finish(watched)
    page = watched.page
    assert watched.answer() == check_citations(text, 1).answer
    names = "[...new Set([...document.querySelectorAll('#answer *')].map((e) => e.localName))]"
    assert sorted(page.evaluate(names)) == ["button", "p", "span"]
    assert page.locator("#answer button").first.get_attribute("aria-label") == (
        f"Source 1: '\"{evil}\u202e"
    )
    assert page.evaluate("view.passages.get('1')[0].text") == evil
    assert page.evaluate("typeof hacked") == "undefined"


def test_a_label_without_characters_of_its_own_has_a_chip_all_the_same(
    site: Site, opened: Opener
) -> None:
    watched = start(site, opened, answering(["All [1-3]."], 3, show="verbatim"))
    finish(watched)
    assert watched.answer() == "All [1-3]."
    chips = watched.page.locator("#answer button")
    assert [(chip.text_content(), chip.get_attribute("aria-label")) for chip in chips.all()] == [
        ("1-3", "Source 1"),
        ("", "Source 2"),
        ("", "Source 3"),
    ]
    box = chips.nth(1).bounding_box()
    assert box is not None
    assert box["width"] >= 24


SUMMARY = ("summary", {"cited": [], "ended": "complete"})
DRAFT = [
    ("delta", {"text": "A draft "}),
    (
        "citation",
        {"text": "[1]", "cited": [1], "invalid": [], "passages": [{"label": 1, "title": "Old"}]},
    ),
    ("sentence", {"content": "A draft [1]", "cited": [1], "covered": True}),
    ("retract", {"reason": "retry", "attempt": 1}),
]


def test_retracted_text_goes_with_its_passages(site: Site, opened: Opener) -> None:
    again = [
        ("delta", {"text": "Better "}),
        (
            "citation",
            {"text": "[2]", "cited": [2], "invalid": [], "passages": [{"label": 2, "title": "B"}]},
        ),
    ]
    watched = start(site, opened, frames(*DRAFT, *again, SUMMARY))
    finish(watched)
    page = watched.page
    assert watched.answer() == "Better [2]"
    assert page.evaluate("state.retracted") == [
        {"reason": "retry", "attempt": 1, "text": "A draft [1]"}
    ]
    assert page.evaluate("[...view.passages.keys()]") == ["2"]
    assert page.evaluate("[view.chips(1), view.sentences(1), view.uncited].flat()") == []
    draft, better = watched.attempts()
    assert_read_well(draft, Expected("A draft [1]", ((8, 11),)))
    assert_read_well(better, Expected("Better [2]", ((7, 10),)))


def test_what_is_said_of_a_sentence_is_written_on_it(site: Site, opened: Opener) -> None:
    events = [
        ("delta", {"text": "Free. Free. Red."}),
        *(("sentence", {"content": c, "cited": [], "covered": False}) for c in ("Free.", "Free.")),
        ("claim", {"content": "Free.", "verdict": "contradicted"}),
        ("warning", {"reason": "uncited_sentence", "content": "Free."}),
        ("warning", {"reason": "invented_citation", "content": "Free."}),
        ("warning", {"reason": "uncited_sentence", "content": "Free."}),
        ("claim", {"content": "Unheard of.", "verdict": "supported"}),
        ("warning", {"reason": "no_citation", "content": ""}),
        ("novelty", {"content": "Free."}),
        SUMMARY,
    ]
    watched = start(site, opened, frames(*events))
    finish(watched)
    spans = watched.page.locator("#answer .sentence").all()
    assert [
        (span.get_attribute("data-verdict"), span.get_attribute("data-warning")) for span in spans
    ] == [(None, None), ("contradicted", "uncited_sentence invented_citation")]
    assert watched.answer() == "Free. Free. Red."


def test_server_that_goes_is_said_and_what_came_is_kept(site: Site, opened: Opener) -> None:
    def fall() -> None:
        raise ConnectionResetError

    watched = start(site, opened, frames(("delta", {"text": "Half of"}), then=fall))
    finish(watched, "gone")
    assert watched.answer() == "Half of"
    # A browser reports what it could not load to its console.
    assert all("ERR_INCOMPLETE_CHUNKED" in complaint for complaint in watched.complaints)
    watched.complaints.clear()
    watched.page.wait_for_timeout(500)
    assert site.asked == 1


def test_stop_closes_the_model(site: Site, opened: Opener) -> None:
    closed = threading.Event()

    async def endless() -> AsyncIterator[str]:
        try:
            while True:
                yield "On and on. "
                await anyio.sleep(0.005)
        finally:
            closed.set()

    watched = start(site, opened, lambda: CitationResponse(endless(), 1))
    watched.until_answer("On and on")
    watched.page.evaluate("stop()")
    finish(watched, "AbortError")
    kept = watched.answer()
    until(closed.is_set, "the model to be closed")
    assert kept.startswith("On and on. ")
    assert watched.answer() == kept


def long_answer(size: int) -> list[str]:
    """Return the chunks of an answer of some paragraphs, full of citations."""
    sentence = "The city lends bicycles [1], and a ride ends at a station [2, 9]. "
    text = ((sentence * 6).rstrip() + "\n\n") * (size // (6 * len(sentence)) + 1)
    return re.findall(r"(?s).{1,16}", text[:size])


def test_answer_of_100_kb_is_shown_whole(site: Site, opened: Opener) -> None:
    chunks = long_answer(100_000)
    respond = answering(chunks, [REFUNDS, STATIONS], sentences=True)
    # Recorded it would take its square of time; the same text was recorded above, shorter.
    watched = start(site, opened, respond, record=False)
    finish(watched)
    checked = check_citations("".join(chunks), 2, sentences=True)
    assert watched.answer() == checked.answer
    counts = watched.page.evaluate(
        """() => {
          const walker = document.createTreeWalker(document.querySelector("#answer"), 4);
          let nodes = 0;
          while (walker.nextNode()) nodes++;
          return nodes;
        }"""
    )
    # Nine pieces of text in a sentence, the space behind it, and what has no sentence.
    sentences = watched.page.locator("#answer .sentence").count()
    assert sentences == checked.summary.sentences
    assert counts <= 10 * sentences + 10


def test_long_stretch_of_prose_is_no_single_text_node(site: Site, opened: Opener) -> None:
    # Appending copies a node: one that grew with the answer would cost its square.
    text = "word " * 4000
    watched = start(site, opened, answering(re.findall(r".{1,50}", text), 1))
    finish(watched)
    assert watched.answer() == text
    lengths = watched.page.evaluate(
        "[...document.querySelector('#answer p > span').childNodes].map(({ length }) => length)"
    )
    assert max(lengths) <= 1050
    assert len(lengths) <= 2 * len(text) / 1000
