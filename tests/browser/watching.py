"""A page in Chromium, watched: every text its reader could see, what it complained of.

It knows no server and no page but for the element that holds the answer.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citestream import Citation, CitationFilter, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from playwright.sync_api import Browser, ConsoleMessage, Page

__all__ = ["ANSWER", "Expected", "Watched", "assert_read_well", "expected"]

ROOT = Path(__file__).resolve().parent.parent.parent

# Where `tests/clients/install` puts it.
AXE = ROOT / ".clients/browser/node_modules/axe-core/axe.min.js"

# Far more than anything here takes; only a test that fails waits as long.
PATIENCE = 30.0

ANSWER = "#answer"
"""The element whose text content is the answer as its reader sees it."""

# Installed before the page's own scripts. A mutation's record is written when
# the script that made it is done, so nothing that was painted is missed. Text
# that was added is kept as such: an answer of 100 kB grows in thousands of steps.
_RECORDER = """
(() => {
  const seen = [];
  let last = "";
  window.seenByReader = seen;
  new MutationObserver(() => {
    const text = document.querySelector(%s)?.textContent ?? "";
    if (text === last) return;
    const grew = text.startsWith(last);
    seen.push(grew ? [last.length, text.slice(last.length)] : [0, text]);
    last = text;
  }).observe(document, { subtree: true, childList: true, characterData: true });
})();
"""

_TIMER = """
(() => {
  window.longestTask = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) {
      window.longestTask = Math.max(window.longestTask, duration);
    }
  }).observe({ type: "longtask" });
})();
"""

# The element a browser says it is at, as a list of what it holds.
_AXE_RUN = """
async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  return violations.map(({ id, impact, nodes }) =>
    ({ id, impact, nodes: nodes.map(({ html, failureSummary }) => `${html}: ${failureSummary}`) }));
}
"""


@cache
def _axe() -> str:
    assert AXE.is_file(), "run tests/clients/install first"
    return AXE.read_text(encoding="utf-8")


class Watched:
    """A page and what was seen of it.

    Args:
        browser: The browser.
        record: Whether every text is recorded; it costs time at every change.
        context: Further settings of the browser's context.
    """

    def __init__(self, browser: Browser, *, record: bool = True, **context: Any) -> None:
        self._context = browser.new_context(**context)
        self._context.set_default_timeout(PATIENCE * 1000)
        self.page: Page = self._context.new_page()
        self.complaints: list[str] = []
        """What went to the console as a warning or an error, and what was thrown."""
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.add_init_script(_TIMER)
        if record:
            self.page.add_init_script(_RECORDER % json.dumps(ANSWER))

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(f"{message.text} ({message.location['url']})")

    def close(self) -> None:
        self._context.close()

    def attempts(self) -> list[list[str]]:
        """Return every text that the answer's element had, one list from each empty one on."""
        attempts: list[list[str]] = []
        text = ""
        for kept, added in self.page.evaluate("window.seenByReader"):
            # Counted in UTF-16 by the page: no test has characters beyond the first plane.
            text = text[:kept] + added
            if not kept and (not attempts or attempts[-1]):
                attempts.append([])
            if text:
                attempts[-1].append(text)
        return attempts

    def answer(self) -> str:
        """Return the text of the answer's element."""
        return self.page.locator(ANSWER).text_content() or ""

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait until a condition holds.

        Playwright's own way to wait for a function builds it from a string in
        the page, which a strict policy forbids.
        """
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, (
                f"waited in vain: {what}; the page complained of {self.complaints}"
            )
            # Unlike a plain sleep it lets the page's events in.
            self.page.wait_for_timeout(10)

    def until_true(self, expression: str) -> None:
        """Wait until an expression is true in the page."""
        self.until(lambda: self.page.evaluate(f"Boolean({expression})"), expression)

    def until_answer(self, part: str) -> None:
        """Wait until the answer holds a text."""
        self.until(lambda: part in self.answer(), part)

    def longest_task(self) -> float:
        """Return the longest task so far in milliseconds; 0 when none was over 50."""
        return float(self.page.evaluate("window.longestTask"))

    def violations(self) -> list[Any]:
        """Return what axe holds against the page that is serious or critical."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(_axe())
        found = self.page.evaluate(_AXE_RUN)
        return [one for one in found if one["impact"] in {"serious", "critical"}]

    def overflow(self) -> int:
        """Return by how many pixels the page can be scrolled sideways."""
        return int(
            self.page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
        )


@dataclass(frozen=True)
class Expected:
    """An answer as its reader has to see it in the end."""

    text: str
    markers: tuple[tuple[int, int], ...]
    """Where each citation starts and ends."""


def expected(answer: str, passages: Any, **options: Any) -> Expected:
    """Say what a reader has to see of an answer, by the filter fed once."""
    citations = CitationFilter(passages, **options)
    events = [*citations.feed(answer), *citations.finish()]
    seen = [event for event in events if isinstance(event, Text | Citation)]
    return Expected(
        "".join(event.text for event in seen),
        tuple((event.start, event.end) for event in seen if isinstance(event, Citation)),
    )


def assert_read_well(
    texts: Sequence[str],
    whole: Expected,
    invented: Collection[str] = (),
    *,
    finished: bool = True,
) -> None:
    """Assert that an answer only grew, and that no moment showed half a marker or an invented one.

    Args:
        texts: All that was seen.
        whole: The answer as it has to be in the end.
        invented: Markers that must have been seen at no moment.
        finished: Whether it came to its end, and was not taken back before.
    """
    assert texts, "nothing was seen"
    inside = {place for start, end in whole.markers for place in range(start + 1, end)}
    faults = []
    for text in texts:
        if not whole.text.startswith(text):
            faults.append(f"no beginning of the answer: {text[-80:]!r}")
        elif len(text) in inside:
            faults.append(f"half a marker: {text[-80:]!r}")
        faults += [f"{marker} in {text[-80:]!r}" for marker in invented if marker in text]
    assert not faults, faults[:5]
    assert not finished or texts[-1] == whole.text, (texts[-1], whole.text)
