"""The demo's page in a browser: what a reader sees of every script, and does with it."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncGenerator, Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Page, Route

from citestream import NO_ANSWER, Passages, check_citations
from citestream.styles import LABEL, NUMERIC, prefixed
from demo.app import create_app
from demo.corpus import load
from demo.model import AS_IT_IS, Manner, ScriptedModel
from demo.scripts import SCENARIOS, script
from demo.trials import TRIALS
from tests.browser.conftest import Opener
from tests.browser.watching import Watched, assert_read_well, expected
from tests.oracle import invented_in
from tests.servers import serving, serving_process, until

QUESTION = "Can I cancel a ride 30 minutes before it starts?"
ARTICLES = "Which practices are banned outright, and when is the by-law in force?"
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 320, "height": 640}
STYLES = {"numeric": NUMERIC, "prefix": prefixed("S"), "label": LABEL}


class Counted(ScriptedModel):
    """The scripted model, which says how often it was asked and when it was closed."""

    def __init__(self) -> None:
        super().__init__(pause=0)
        self.asked = 0
        self.closed = 0

    async def answer(
        self, question: str, passages: Passages, manner: Manner = AS_IT_IS
    ) -> AsyncGenerator[str, None]:
        self.asked += 1
        try:
            async for chunk in super().answer(question, passages, manner):
                yield chunk
        finally:
            self.closed += 1


class Demo:
    """The demo on a port, and its model."""

    def __init__(self, port: int, model: Counted) -> None:
        self.port = port
        self.model = model

    def link(self, **setting: Any) -> str:
        return f"http://127.0.0.1:{self.port}/?{urlencode({'question': QUESTION, **setting})}"


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    model = Counted()
    with serving(create_app(model)) as server:
        yield Demo(server.port, model)


@pytest.fixture(autouse=True)
def short_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    # Long enough to be seen, in a script that is silent for ten seconds.
    monkeypatch.setattr("demo.model._SILENCE", 0.5)


def passages_for(question: str, style: str = "numeric", most: int = 4) -> Passages:
    rows = []
    for number, (document, score) in enumerate(load().search(question, most), 1):
        label = document.label if style == "label" else number
        rows.append({"label": label, **document.as_passage(score)})
    return Passages(rows, style=STYLES[style])


def until_state(watched: Watched, *states: str) -> None:
    watched.until(
        lambda: watched.page.locator("body").get_attribute("data-state") in states,
        f"the state {' or '.join(states)}",
    )


def ready(opened: Opener, url: str, **settings: Any) -> Watched:
    """Open the page and wait for the passages."""
    watched = opened(url, **settings)
    until_state(watched, "ready")
    return watched


def answer(watched: Watched, *ends: str) -> None:
    """Ask for the answer and wait for its end."""
    watched.page.get_by_role("button", name="Answer", exact=True).click()
    until_state(watched, *(ends or ("done",)))


def summary(page: Page) -> dict[str, str]:
    return {
        name: page.locator(f"#{name}").inner_text()
        for name in ("cited", "invalid", "unused", "grounded", "ended")
    }


# -- Every script ---------------------------------------------------------------


def written(scenario: str, question: str, passages: Passages) -> str:
    text = script(question, passages, scenario)
    return text[: text.rindex("[") + 2] if scenario == "broken" else text


def test_every_script_is_read_well_at_every_moment(demo: Demo, opened: Opener) -> None:
    """One character at a time, and the scripts that cut themselves as they do."""
    watched = ready(opened, demo.link(pace=0, chunk=1))
    page = watched.page
    passages = passages_for(QUESTION)
    faults = []
    for scenario in SCENARIOS:
        if scenario == "long":
            continue
        page.locator("#scenario").select_option(scenario)
        answer(watched, "done", "failed")
        text = written(scenario, QUESTION, passages)
        whole = check_citations(text, passages)
        try:
            assert_read_well(watched.attempts()[-1], expected(text, passages))
            assert invented_in(whole.answer, range(1, 5)) == []
            chips = page.locator("#answer button").all()
            labels = {int(chip.get_attribute("data-label") or 0) for chip in chips}
            assert labels == set(whole.cited)
            assert page.locator("#cited").inner_text() == (
                ", ".join(map(str, whole.cited)) or "none"
            )
            assert page.locator("#invalid").inner_text() == (
                ", ".join(map(str, whole.invalid)) or "none"
            )
            grounded = page.locator("#grounded").inner_text()
            assert grounded.startswith("yes" if whole.grounded else "no")
        except AssertionError as error:
            faults.append(f"{scenario}: {error}")
    assert faults == []


def test_other_styles_are_read_well(demo: Demo, opened: Opener) -> None:
    for style, question in (("prefix", QUESTION), ("label", ARTICLES)):
        watched = ready(
            opened, demo.link(question=question, style=style, pace=0, chunk=1, scenario="statute")
        )
        answer(watched)
        passages = passages_for(question, style)
        match = "hierarchical" if style == "label" else "exact"
        for scenario in ("statute", "invented") if style == "label" else ("split", "invented"):
            watched.page.locator("#scenario").select_option(scenario)
            answer(watched)
            whole = expected(
                script(question, passages, scenario), passages, style=STYLES[style], match=match
            )
            invented = ["[S9]"] if style == "prefix" else ["[Article 99]", "[x99.md]"]
            assert_read_well(watched.attempts()[-1], whole, invented)
            assert whole.markers, "nothing to see"


def test_summary_says_what_came_of_it(demo: Demo, opened: Opener) -> None:
    watched = ready(opened, demo.link(pace=0, scenario="invented"))
    page = watched.page
    answer(watched)
    assert summary(page) == {
        "cited": "1, 2",
        "invalid": "9",
        "unused": "3, 4",
        "grounded": "yes: at least one valid citation, and no refusal",
        "ended": "the model came to its end",
    }
    assert page.locator("#verdict").get_attribute("data-kind") == "good"
    assert page.locator("#uncited").inner_text().startswith("1 of 3")
    assert page.locator('.sentence[data-covered="false"]').all_text_contents() == [
        "A helmet is lent out for free."
    ]
    for scenario, kind, grounded in (
        ("uncited", "bad", "no: nothing valid is cited"),
        ("refusal", "plain", "no: the model refused"),
        ("broken", "bad", "no: nothing valid is cited"),
    ):
        page.locator("#scenario").select_option(scenario)
        answer(watched, "done", "failed")
        assert page.locator("#verdict").get_attribute("data-kind") == kind, scenario
        if scenario != "broken":
            assert page.locator("#grounded").inner_text() == grounded
    assert page.locator("#ended").inner_text() == "the model failed"


def test_raw_side_shows_what_the_reader_does_not_get(demo: Demo, opened: Opener) -> None:
    watched = ready(opened, demo.link(pace=0, scenario="invented"))
    answer(watched)
    page = watched.page
    passages = passages_for(QUESTION)
    assert page.locator("#raw").text_content() == script(QUESTION, passages, "invented")
    removed = page.locator("#raw .removed").all_text_contents()
    assert "9" in "".join(removed)
    assert [text for text in removed if "[1]" in text or "[2]" in text] == []


def test_held_text_is_said_to_be_held(
    demo: Demo, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("demo.model._SILENCE", 3)
    watched = ready(opened, demo.link(pace=0, scenario="silent"))
    page = watched.page
    page.get_by_role("button", name="Answer", exact=True).click()
    watched.until(lambda: page.locator("#raw .held").text_content() not in ("", None), "a hold")
    held = page.locator("#raw .held").text_content() or ""
    assert held.strip().startswith("[")
    assert f"held: {len(held)} character" in page.locator("#held").inner_text()
    assert not watched.answer().endswith(held)
    until_state(watched, "done")
    assert page.locator("#raw .held").text_content() == ""


def test_long_answer_is_shown_whole(demo: Demo, opened: Opener) -> None:
    # Recorded, it would take its square of time.
    watched = ready(opened, demo.link(scenario="long", pace=0, chunk=16), record=False)
    answer(watched)
    passages = passages_for(QUESTION)
    text = script(QUESTION, passages, "long")
    checked = check_citations(text, passages, sentences=True)
    assert len(text) >= 100_000
    assert watched.answer() == checked.answer
    assert watched.page.locator("#answer .sentence").count() == checked.summary.sentences


# -- Policies ---------------------------------------------------------------------


def test_policy_decides_what_is_shown_and_what_is_taken_back(demo: Demo, opened: Opener) -> None:
    passages = passages_for(QUESTION)
    draft, again = (
        expected(script(QUESTION, passages, s), passages) for s in ("invented", "clean")
    )
    refusal = expected(NO_ANSWER, passages)
    omitted = expected(script(QUESTION, passages, "clean"), passages)
    # Emit, failure, script; what is taken back, and what stays.
    cases = [
        ("token", "retry", "invented", [draft], again),
        ("token", "retry", "stubborn", [draft, draft], refusal),
        ("token", "refuse", "invented", [draft], refusal),
        ("sentence", "retry", "invented", [draft], again),
        ("sentence", "omit", "half", [], omitted),
        ("sentence", "refuse", "uncited", [], refusal),
        ("answer", "retry", "invented", [], again),
        ("answer", "retry", "stubborn", [], refusal),
    ]
    watched = ready(opened, demo.link(pace=0, chunk=1))
    page = watched.page
    faults = []
    for emit, failure, scenario, gone, stays in cases:
        before = len(watched.attempts())
        for name, value in (("emit", emit), ("failure", failure), ("scenario", scenario)):
            page.locator(f"#{name}").select_option(value)
        answer(watched)
        *drafts, last = watched.attempts()[before:]
        try:
            assert len(drafts) == len(gone), drafts
            for texts, whole in zip(drafts, gone, strict=True):
                assert_read_well(texts, whole, finished=False)
            assert_read_well(last, stays)
            refused = page.locator("#grounded").inner_text() == "no: the policy refused"
            assert refused == (stays is refusal)
            assert ("taken back" in page.locator("#attempts").inner_text()) == bool(gone)
        except AssertionError as error:
            faults.append(f"{emit} {failure} {scenario}: {error}")
    assert faults == []


# -- What a reader does ----------------------------------------------------------


def test_chips_open_and_close_by_keyboard(demo: Demo, opened: Opener) -> None:
    watched = ready(opened, demo.link(pace=0, scenario="clean"))
    page = watched.page
    answer(watched)
    title = load().search(QUESTION, 4)[1][0].title
    chip = page.get_by_role("button", name=f"Source 2: {title}", exact=True)
    page.locator("#answer button").first.focus()
    page.keyboard.press("Tab")
    popover = page.locator("#popover")
    assert popover.is_visible()
    assert page.locator("#popover-title").inner_text() == f"Source 2: {title}"
    assert chip.evaluate("(node) => node === document.activeElement")
    assert page.locator("li.card.lit").get_attribute("data-label") == "2"
    page.keyboard.press("Enter")
    assert popover.evaluate("(node) => node.contains(document.activeElement)")
    text = load().search(QUESTION, 4)[1][0].text
    assert text.split("\n")[0] in popover.inner_text()
    page.keyboard.press("Escape")
    assert popover.is_hidden()
    assert chip.evaluate("(node) => node === document.activeElement")
    # The focus that came back does not open it again; a click does.
    chip.click()
    assert popover.is_visible()
    page.keyboard.press("Escape")
    assert popover.is_hidden()


def test_tap_opens_a_chip_and_a_tap_elsewhere_closes_it(demo: Demo, opened: Opener) -> None:
    watched = ready(
        opened, demo.link(pace=0, scenario="clean"), viewport=NARROW, has_touch=True, is_mobile=True
    )
    page = watched.page
    answer(watched)
    page.locator("#answer button").first.tap()
    assert page.locator("#popover").is_visible()
    box = page.locator("#popover").bounding_box()
    assert box is not None
    assert 0 <= box["x"] <= box["x"] + box["width"] <= NARROW["width"]
    page.locator("#answer-title").tap()
    assert page.locator("#popover").is_hidden()


def test_goals_are_reached_or_missed(demo: Demo, opened: Opener) -> None:
    watched = ready(opened, demo.link(pace=0, scenario="clean"))
    page = watched.page

    def goals() -> list[str | None]:
        names = ("goal-cites", "goal-answers")
        return [page.locator(f"#{name}").get_attribute("data-met") for name in names]

    assert goals() == ["", ""]
    page.locator('li.card[data-label="2"] input.holds').check()
    answer(watched)
    assert goals() == ["true", "true"]
    page.locator('li.card[data-label="4"] input.holds').check()
    assert goals() == ["false", "true"]
    page.locator("#scenario").select_option("refusal")
    answer(watched)
    assert goals() == ["false", "false"]


def test_passages_are_ranked_and_as_many_as_asked_for(demo: Demo, opened: Opener) -> None:
    watched = ready(opened, demo.link())
    page = watched.page
    for ranker in ("bm25", "words"):
        for most in (1, 6):
            page.locator("#ranker").select_option(ranker)
            page.locator("#most").select_option(str(most))
            found = load().search(QUESTION, most, ranker)
            titles = [document.title for document, _ in found]
            until_cards(watched, titles)
            cards = page.locator("li.card .score").all_text_contents()
            shown = [float(text.removeprefix("score ")) for text in cards]
            # Two digits are shown, and halves are rounded another way.
            assert shown == pytest.approx([score for _, score in found], abs=0.0051)
            assert shown == sorted(shown, reverse=True)


def until_cards(watched: Watched, titles: list[str]) -> None:
    cards = watched.page.locator("li.card .title")
    watched.until(lambda: cards.all_text_contents() == titles, f"the cards {titles}")


def test_question_that_finds_nothing_is_refused_without_the_model(
    demo: Demo, opened: Opener
) -> None:
    asked = demo.model.asked
    watched = ready(opened, demo.link(question="Zxcvb?"))
    assert watched.page.locator("li.card").count() == 0
    answer(watched)
    assert watched.answer() == NO_ANSWER
    assert demo.model.asked == asked


def test_every_trial_comes_to_its_end(demo: Demo, opened: Opener) -> None:
    watched = ready(opened, demo.link())
    page = watched.page
    names = page.locator("#trial option").all_text_contents()[1:]
    assert names == [trial["name"] for trial in TRIALS]
    faults = []
    for number, trial in enumerate(TRIALS):
        page.locator("#trial").select_option(str(number))
        until_state(watched, "ready")
        setting = trial["setting"]
        shown = {name: page.locator(f"#{name}").input_value() for name in setting}
        assert shown == {name: str(value) for name, value in setting.items()}
        page.locator("#pace").select_option("0")
        answer(watched)
        style = STYLES[setting.get("style", "numeric")]
        match = "hierarchical" if style is LABEL else "exact"
        question = setting["question"]
        passages = passages_for(question, setting.get("style", "numeric"), setting.get("most", 4))
        text = script(question, passages, setting.get("scenario", "invented"))
        try:
            whole = expected(text, passages, style=style, match=match)
            assert_read_well(watched.attempts()[-1], whole)
        except AssertionError as error:
            faults.append(f"{trial['name']}: {error}")
    assert faults == []


def test_focus_is_seen_wherever_it_is(demo: Demo, opened: Opener) -> None:
    watched = ready(opened, demo.link(pace=0, scenario="clean"))
    page = watched.page
    answer(watched)
    page.locator("body").focus()
    page.evaluate("scrollTo(0, 0)")
    reached = set()
    unseen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        name, seen = page.evaluate(
            """() => {
              const node = document.activeElement;
              const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(node);
              const seen = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
              const name = node.id || node.className || node.localName;
              return [name, seen || boxShadow !== "none"];
            }"""
        )
        reached.add(name)
        if not seen and name != "body":
            unseen.append(name)
    assert unseen == []
    assert {"question", "search", "ask", "trial", "scenario", "link", "chip"} <= reached


def test_card_lights_what_rests_on_it(demo: Demo, opened: Opener) -> None:
    watched = ready(opened, demo.link(pace=0, scenario="clean"))
    page = watched.page
    answer(watched)
    first, second = page.locator("#answer .sentence").all_text_contents()
    page.locator('li.card[data-label="2"]').hover()
    assert page.locator("#answer .lit").all_text_contents() == [second, "2"]
    page.locator('li.card[data-label="1"]').hover()
    assert page.locator("#answer .lit").all_text_contents() == [first, "1"]
    page.locator("h1").hover()
    assert page.locator("#answer .lit").count() == 0


def test_stop_stops_the_model(demo: Demo, opened: Opener) -> None:
    watched = ready(opened, demo.link(pace=30, scenario="long"))
    page = watched.page
    closed = demo.model.closed
    page.get_by_role("button", name="Answer", exact=True).click()
    watched.until(lambda: len(watched.answer()) > 20, "some text")
    page.get_by_role("button", name="Stop").click()
    until_state(watched, "stopped")
    until(lambda: demo.model.closed == closed + 1, "the model to be closed")
    kept = watched.answer()
    assert len(kept) > 20
    assert "Stopped" in page.locator("#verdict").inner_text()
    # It can be asked again.
    page.locator("#pace").select_option("0")
    page.locator("#scenario").select_option("clean")
    answer(watched)


def test_reload_in_the_middle_stops_the_model_and_keeps_the_setting(
    demo: Demo, opened: Opener
) -> None:
    watched = ready(opened, demo.link(pace=30, scenario="long", most=3))
    page = watched.page
    asked, closed = demo.model.asked, demo.model.closed
    page.get_by_role("button", name="Answer", exact=True).click()
    watched.until(lambda: len(watched.answer()) > 20, "some text")
    page.reload()
    until_state(watched, "ready")
    until(lambda: demo.model.closed == closed + 1, "the model to be closed")
    assert watched.answer() == ""
    assert page.locator("#scenario").input_value() == "long"
    assert page.locator("li.card").count() == 3
    # Nobody asked again.
    assert demo.model.asked == asked + 1


def test_server_that_goes_in_the_middle_is_said_and_what_came_is_kept(opened: Opener) -> None:
    with serving_process("uvicorn", "tests.browser.demo_app:app") as process:
        watched = ready(
            opened, f"http://127.0.0.1:{process.port}/?{urlencode({'question': QUESTION})}"
        )
        page = watched.page
        page.locator("#scenario").select_option("long")
        page.get_by_role("button", name="Answer", exact=True).click()
        watched.until(lambda: len(watched.answer()) > 20, "some text")
        process.kill()
        until_state(watched, "gone")
    kept = watched.answer()
    assert len(kept) > 20
    assert "gone" in page.locator("#verdict").inner_text()
    assert watched.violations() == []
    # Asked again, it says that nobody is there.
    page.locator("#question").fill("Another question?")
    page.get_by_role("button", name="Search").click()
    until_state(watched, "failed")
    assert page.locator("#problem").inner_text() == "The server cannot be reached."
    # A browser reports what it could not load to its console.
    assert all("Failed to load" in complaint for complaint in watched.complaints)
    watched.complaints.clear()


def test_link_carries_the_whole_setting(demo: Demo, opened: Opener) -> None:
    setting = {
        "question": "Was ist „x&y“? <b>",
        "scenario": "sneaky",
        "style": "prefix",
        "ranker": "words",
        "most": "3",
        "pace": "8",
        "chunk": "16",
        "emit": "sentence",
        "failure": "omit",
        "claims": "compare",
    }
    watched = opened(demo.link())
    until_state(watched, "ready")
    page = watched.page
    for name, value in setting.items():
        control = page.locator(f"#{name}")
        if name == "question":
            control.fill(value)
        else:
            control.select_option(value)
    link = page.locator("#link").get_attribute("href") or ""
    carried = {name: value for name, (value,) in parse_qs(urlsplit(link).query).items()}
    assert {name: carried.get(name) for name in setting} == setting
    # The page's own address is the link, so that a reload keeps it.
    assert page.url == demo.link().partition("?")[0] + link
    again = opened(demo.link().partition("?")[0] + link)
    until_state(again, "ready", "failed")
    assert {name: again.page.locator(f"#{name}").input_value() for name in setting} == setting
    assert again.page.locator("#link").get_attribute("href") == link


def test_passage_can_be_edited_before_the_answer(demo: Demo, opened: Opener) -> None:
    watched = ready(opened, demo.link(pace=0, scenario="clean"))
    page = watched.page
    card = page.locator('li.card[data-label="1"]')
    card.locator("button.edit").click()
    card.locator("textarea").fill("A ride can be cancelled by shouting [7] <b>loudly</b>.")
    answer(watched)
    assert watched.answer().startswith(
        "A ride can be cancelled by shouting (7) <b>loudly</b> [1]."
    ), watched.answer()


def test_answers_are_plotted_over_time(demo: Demo, opened: Opener) -> None:
    watched = ready(opened, demo.link(pace=0, scenario="invented"))
    before = watched.page.locator("#plot-text").inner_text()
    for _ in range(2):
        answer(watched)
    watched.until(
        lambda: watched.page.locator("#plot-text").inner_text() not in ("", before), "the plot"
    )
    assert watched.page.locator("#plot svg").count() >= 1


def test_screen_reader_hears_whole_sentences_and_the_verdict(demo: Demo, opened: Opener) -> None:
    watched = opened(demo.link(pace=0, scenario="clean"))
    until_state(watched, "ready")
    page = watched.page
    page.evaluate(
        """() => {
          window.heard = [];
          new MutationObserver((changes) => {
            for (const { addedNodes } of changes) {
              for (const node of addedNodes) heard.push(node.textContent);
            }
          }).observe(document.getElementById("speech"), { childList: true, subtree: true });
        }"""
    )
    assert page.locator("#speech").get_attribute("aria-live") == "polite"
    answer(watched)
    verdict = page.locator("#verdict").inner_text()
    sentences = page.locator("#answer .sentence").all_text_contents()
    assert page.evaluate("heard") == [*sentences, verdict]
    assert page.locator("[aria-live], [role=status], [role=alert]").locator("#answer").count() == 0


# -- Hostile servers ---------------------------------------------------------------

EVIL = "<img src=x onerror=hacked=1>"


def events(*named: tuple[str, Any]) -> str:
    return "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in named)


SUMMARY = {
    "cited": [1],
    "invalid": [],
    "unused": [],
    "grounded": True,
    "refused_by": None,
    "passages": [],
    "kept": 1,
    "removed": 0,
    "truncated": False,
    "sentences": 1,
    "uncited": [],
    "ended": "complete",
    "reason": None,
}


def fulfil(page: Page, path: str, body: str, content_type: str) -> None:
    def respond(route: Route) -> None:
        route.fulfill(status=200, content_type=content_type, body=body)

    page.unroute(f"**/{path}")
    page.route(f"**/{path}", respond)


def test_hostile_title_and_address_stay_text(demo: Demo, opened: Opener) -> None:
    watched = ready(opened, demo.link())
    for url in ("javascript:hacked=1", "java\tscript:hacked=1", "data:text/html,x", EVIL):
        look_at_hostile(watched, url)


def look_at_hostile(watched: Watched, url: str) -> None:
    page = watched.page
    passage = {
        "label": 1,
        "id": EVIL,
        "title": f"{EVIL}'\"",
        "url": url,
        "place": EVIL,
        "version": EVIL,
        "text": EVIL,
        "score": 1.5,
        "marker": "[1]",
    }
    fulfil(page, "search", json.dumps({"passages": [passage]}), "application/json")
    cited = {"text": "[1]", "cited": [1], "invalid": [], "passages": [passage]}
    fulfil(
        page,
        "ask",
        events(("delta", {"text": f"{EVIL} "}), ("citation", cited), ("summary", SUMMARY)),
        "text/event-stream",
    )
    page.get_by_role("button", name="Search").click()
    watched.until(lambda: EVIL in (page.locator("#passages").text_content() or ""), "the card")
    until_state(watched, "ready")
    answer(watched)
    page.locator("#answer button").click()
    assert EVIL in (page.locator("#popover").text_content() or "")
    assert watched.answer() == f"{EVIL} [1]"
    assert page.locator("#passages a, #popover a, #answer a").count() == 0
    assert page.locator("#passages img, #popover img, #answer img").count() == 0
    assert page.evaluate("typeof hacked") == "undefined"


# -- Screens --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("viewport", "scheme"), [(WIDE, "light"), (WIDE, "dark"), (NARROW, "light"), (NARROW, "dark")]
)
def test_every_state_can_be_read_and_reached(
    demo: Demo, opened: Opener, viewport: dict[str, int], scheme: str
) -> None:
    watched = ready(
        opened,
        demo.link(pace=0, scenario="invented"),
        viewport=viewport,
        color_scheme=scheme,
        reduced_motion="reduce",
    )
    page = watched.page
    found: dict[str, Any] = {}

    def look(state: str) -> None:
        found[state] = (watched.overflow(), watched.violations())
        assert page.evaluate("document.getAnimations().length") == 0

    answer(watched)
    page.locator("#answer button").first.focus()
    assert page.locator("#popover").is_visible()
    look("done, a passage open")
    page.keyboard.press("Escape")
    if viewport == NARROW:
        page.locator("#controls > summary").click()
    page.locator("li.card button.edit").first.click()
    page.locator("#scenario").select_option("uncited")
    answer(watched)
    look("not grounded, a passage edited")
    assert found == dict.fromkeys(found, (0, []))


def test_running_answer_can_be_read_and_reached(demo: Demo, opened: Opener) -> None:
    watched = ready(opened, demo.link(pace=30, scenario="long"), viewport=NARROW)
    watched.page.get_by_role("button", name="Answer", exact=True).click()
    watched.until(lambda: watched.page.locator("#answer button").count() > 0, "a chip")
    assert (watched.overflow(), watched.violations()) == (0, [])
    watched.page.get_by_role("button", name="Stop").click()
    until_state(watched, "stopped")


def test_page_needs_nobody_else(demo: Demo, opened: Opener) -> None:
    watched = opened("about:blank")
    hosts: set[str] = set()
    lock = threading.Lock()

    def note(url: str) -> None:
        with lock:
            hosts.add(urlsplit(url).netloc)

    watched.page.on("request", lambda request: note(request.url))
    watched.page.goto(demo.link(pace=0))
    until_state(watched, "ready")
    answer(watched)
    assert hosts - {""} == {f"127.0.0.1:{demo.port}"}
