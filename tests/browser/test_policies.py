"""The raw side under a policy: text that waits, goes or is left out; and what is said of claims."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from demo.app import create_app
from demo.model import ScriptedModel
from tests.browser.conftest import Opener
from tests.browser.watching import Watched
from tests.servers import serving

QUESTION = "Can I cancel a ride 30 minutes before it starts?"

FIRST = (
    "The booking fee of 6 euros is refunded when the ride is cancelled at least 60 minutes "
    "before it starts [1]."
)
UNCITED = "So it should work out in your case as well."
LAST = "It includes the first 45 minutes of every ride [2]."


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving(create_app(ScriptedModel(pause=0))) as server:
        yield f"http://127.0.0.1:{server.port}/"


def answered(opened: Opener, address: str, **setting: str) -> Watched:
    """Open the page with a setting, and ask."""
    query = {"question": QUESTION, "scenario": "half", "pace": "0", **setting}
    watched = opened(f"{address}?{urlencode(query)}")
    body = watched.page.locator("body")
    watched.until(lambda: body.get_attribute("data-state") == "ready", "the passages")
    answer(watched)
    return watched


def answer(watched: Watched) -> None:
    watched.page.get_by_role("button", name="Answer", exact=True).click()
    body = watched.page.locator("body")
    watched.until(lambda: body.get_attribute("data-state") == "done", "the answer")


def removed(watched: Watched) -> str:
    """Return what the raw side says was taken out."""
    return "".join(watched.page.locator("#raw .removed").all_text_contents())


def test_sentence_that_is_left_out_is_struck_on_the_raw_side_alone(
    address: str, opened: Opener
) -> None:
    watched = answered(opened, address, emit="sentence", failure="omit")
    page = watched.page
    assert UNCITED.rstrip(".") in removed(watched)
    assert "booking" not in removed(watched)
    assert "includes" not in removed(watched)
    assert "one sentence left out" in page.locator("#ended").inner_text()
    assert watched.violations() == []


def test_text_that_is_taken_back_goes_and_the_next_attempt_follows(
    address: str, opened: Opener
) -> None:
    watched = answered(opened, address, emit="token", failure="retry", pace="200")
    page = watched.page
    draft, second = watched.attempts()
    assert draft[-1].startswith(f"{FIRST} {UNCITED}")
    assert second[-1] == f"{FIRST} {LAST}"
    assert page.locator("#retracted").text_content() in {draft[-1], ""}
    assert page.locator("#attempts").inner_text() == (
        "attempt 1 was taken back: the model is asked once more"
    )
    assert "2 attempts" in page.locator("#ended").inner_text()
    raw = page.locator("#raw").text_content() or ""
    before, heading, after = raw.partition("Asked once more, attempt 2:")
    assert heading
    assert before.startswith(f"{FIRST} {UNCITED}")
    assert after == f"{FIRST} {LAST}"
    watched.until(lambda: page.locator("#retracted").text_content() == "", "the draft to go")


def test_whole_answer_waits_and_is_said_to_wait(address: str, opened: Opener) -> None:
    query = {"question": QUESTION, "scenario": "silent", "emit": "answer", "failure": "refuse"}
    watched = opened(f"{address}?{urlencode({**query, 'pace': '0'})}")
    page = watched.page
    body = page.locator("body")
    watched.until(lambda: body.get_attribute("data-state") == "ready", "the passages")
    page.get_by_role("button", name="Answer", exact=True).click()
    # It falls silent inside its last marker: all of it waits.
    watched.until(lambda: (page.locator("#raw").text_content() or "").endswith("[2"), "the text")
    written = page.locator("#raw").text_content() or ""
    said = f"held: {len(written)} characters"
    watched.until(lambda: page.locator("#held").inner_text().startswith(said), said)
    assert watched.answer() == ""
    page.get_by_role("button", name="Stop").click()
    watched.until(lambda: body.get_attribute("data-state") == "stopped", "the stop")
    assert watched.answer() == ""
    assert removed(watched) == written


def test_claims_are_marked_and_counted(address: str, opened: Opener) -> None:
    watched = answered(opened, address, scenario="roses", claims="compare")
    page = watched.page
    marked = page.locator("#answer [data-verdict]")
    verdicts = [sentence.get_attribute("data-verdict") for sentence in marked.all()]
    assert verdicts == ["supported", "unknown"]
    assert page.locator("#supported").inner_text() == "1 supported, 1 unknown"
