"""What the page costs a reader: Chromium, the demo in a process of its own, a scripted model.

It needs the `chromium` of the system and is left out where there is none. The
page shows what the model wrote beside what its reader sees; when the reader has
the first text is measured against that, in the same page and the same frame.
A task's length is the processor's time, as elsewhere here. It does not measure
the network.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import statistics
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from benchmarks.measure import Row, at_most

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

__all__ = ["is_possible", "rows"]

ANSWERS = 100

# Each begins another way: with prose, with a refusal, with markup. None is slow.
SCENARIOS = (
    "invented",
    "clean",
    "split",
    "code",
    "half",
    "sneaky",
    "uncited",
    "hostile",
    "refused",
)

# Words as models give them, for a reader who watches; the second is the speed.
PACE = 30

# Four characters are a token's.
FULL_SPEED = {"scenario": "long", "pace": 0, "chunk": 4}

ROUNDS = 3

# Milliseconds; what browsers call a long task, and a reader may notice.
LONG_TASK = 50

# Notes the frame in which each side shows its first text, from the click on.
_FIRST_TEXT = """
() => new Promise((resolve) => {
  const sides = { raw: "#raw", read: "#answer" };
  const first = {};
  const look = (now) => {
    for (const [name, selector] of Object.entries(sides)) {
      if (!(name in first) && document.querySelector(selector).textContent.trim()) {
        first[name] = now;
      }
    }
    if ("raw" in first && "read" in first) resolve(first.read - first.raw);
    else requestAnimationFrame(look);
  };
  document.querySelector("#ask").click();
  requestAnimationFrame(look);
})
"""

_WEIGHT = """
() => {
  const entries = [
    ...performance.getEntriesByType("navigation"),
    ...performance.getEntriesByType("resource"),
  ].filter(({ name }) => /[/]$|[/][?]|[/]page[/]/.test(name));
  return entries.map(({ name, encodedBodySize }) => [name, encodedBodySize]);
}
"""


def is_possible() -> bool:
    """Say whether there is a browser to measure with, and what drives it."""
    return shutil.which("chromium") is not None and find_spec("playwright") is not None


def rows() -> Iterator[Row]:
    """Measure."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - not needed by the others

    with _served() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield from _first_text(browser, url)
        yield from _long_answer(browser, url)
        yield from _weight(browser, url)
        browser.close()


def _first_text(browser: Browser, url: str) -> Iterator[Row]:
    page = _ready(browser, url, pace=PACE)
    waits = []
    for number in range(ANSWERS):
        page.locator("#scenario").select_option(SCENARIOS[number % len(SCENARIOS)])
        waits.append(float(page.evaluate(_FIRST_TEXT)))
        page.locator("#stop").click()
        page.locator("body[data-state=stopped], body[data-state=done]").wait_for()
    page.context.close()
    what = f"first text for the reader after the model's own beside it, of {ANSWERS} answers: "
    # A frame takes 17 ms; a word at this pace 33.
    yield at_most(f"{what}median", statistics.median(waits), 1000 // PACE, " ms")
    yield Row(f"{what}worst", f"{max(waits):.0f} ms")


def _long_answer(browser: Browser, url: str) -> Iterator[Row]:
    longest = []
    seconds = []
    for _ in range(ROUNDS):
        page = _ready(browser, url, **FULL_SPEED)
        browser.start_tracing(page=page, categories=["toplevel"])
        start = page.evaluate("performance.now()")
        page.locator("#ask").click()
        page.locator("body[data-state=done]").wait_for(timeout=300_000)
        seconds.append((page.evaluate("performance.now()") - start) / 1000)
        longest.append(_longest_task(json.loads(browser.stop_tracing())["traceEvents"]))
        page.context.close()
    what = "longest task of the page in an answer of 100 kB at full speed"
    yield at_most(f"{what}, worst of {ROUNDS}", max(longest), LONG_TASK, " ms")
    yield Row("such an answer, from the click to its summary", f"{min(seconds):.1f} s")


def _longest_task(events: list[dict[str, Any]]) -> float:
    """Return the longest task of a page's main thread, in milliseconds of the processor."""
    tasks: dict[tuple[int, int], list[float]] = {}
    mains = set()
    for event in events:
        thread = (event["pid"], event["tid"])
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain":
            mains.add(thread)
        elif event["name"].endswith("RunTask") and "tdur" in event:
            tasks.setdefault(thread, []).append(event["tdur"] / 1000)
    # Other pages' threads have nothing to do meanwhile.
    busiest = max(mains & tasks.keys(), key=lambda thread: sum(tasks[thread]))
    return max(tasks[busiest])


def _weight(browser: Browser, url: str) -> Iterator[Row]:
    page = _ready(browser, url)
    sizes = {name: int(size) for name, size in page.evaluate(_WEIGHT)}
    module = sum(size for name, size in sizes.items() if name.endswith("/citestream.js"))
    page.context.close()
    yield Row(
        "page weight, not compressed",
        f"{sum(sizes.values()) / 1000:.1f} kB in {len(sizes)} files",
    )
    yield Row("of it the module that can be lifted", f"{module / 1000:.1f} kB")


def _ready(browser: Browser, url: str, **setting: object) -> Page:
    """Open the page with a setting, and wait for its passages."""
    page = browser.new_context().new_page()
    question = "Can I cancel a ride 30 minutes before it starts?"
    page.goto(f"{url}?{urlencode({'question': question, **setting})}")
    page.locator("body[data-state=ready]").wait_for()
    return page


@contextlib.contextmanager
def _served() -> Iterator[str]:
    command = [sys.executable, "-u", "-m", "citestream", "demo", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - ours
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"http://\S+", line)
            assert found is not None, line
            yield found[0]
        finally:
            process.terminate()
