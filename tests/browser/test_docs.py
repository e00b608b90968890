"""The page that docs/client.md is about, as it stands there, in a browser."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from tests.browser.conftest import Opener
from tests.browser.watching import ROOT, assert_read_well, expected
from tests.servers import serving

PAGE = (ROOT / "docs/client.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (code,) = re.findall(rf"(?ms)^```{language}\n(.*?)^```$", PAGE)
    return str(code)


def test_page_of_the_docs_works_as_it_says(
    opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "page").mkdir()
    for name, language in {
        "app.py": "python",
        "page/index.html": "html",
        "page/chat.js": "js",
        "page/chat.css": "css",
    }.items():
        (tmp_path / name).write_text(block(language), encoding="utf-8")
    module = ROOT / "demo/page/citestream.js"
    (tmp_path / "page/citestream.js").write_bytes(module.read_bytes())
    monkeypatch.chdir(tmp_path)
    app = runpy.run_path("app.py")["app"]
    with serving(app) as server:
        watched = opened(f"http://127.0.0.1:{server.port}/")
        page = watched.page
        page.get_by_label("Question").fill("How long do refunds take?")
        page.keyboard.press("Enter")
        watched.until_true("document.querySelector('.sentence:nth-of-type(2)')")
        whole = "Refunds take 5 days [1]. Helmets are free."
        assert whole in re.sub(r"\s+", " ", PAGE)
        for _ in range(2):
            # Asked again, it begins anew.
            watched.until(lambda: watched.answer() == whole, "the answer")
            page.get_by_role("button", name="Ask").click()
        watched.until(lambda: watched.answer() == whole, "the answer")
        for texts in watched.attempts():
            assert_read_well(texts, expected(whole, 1), ["[7]"])
        chip = page.get_by_role("button", name="Source 1: Refunds", exact=True)
        chip.focus()
        chip.press("Enter")
        assert page.locator("#passage").inner_text().split("\n\n") == [
            "Source 1: Refunds",
            "Refunds take 5 days.",
            "Open the source",
        ]
        assert page.locator("#source").get_attribute("href") == "https://bikes.example/r"
        assert page.locator(".lit").all_text_contents() == ["Refunds take 5 days [1].", "1"]
        assert watched.violations() == []
        page.keyboard.press("Escape")
        assert page.locator("#passage").is_hidden()
        assert page.locator(".lit").count() == 0
        assert page.locator('[data-covered="false"]').all_text_contents() == ["Helmets are free."]
        assert page.get_by_role("button", name="Stop").is_disabled()
        assert page.locator("#end").inner_text() == ""


def test_links_and_names_of_the_docs_are_there() -> None:
    targets = re.findall(r"\]\(([^)#]+)", PAGE)
    assert [target for target in targets if not (ROOT / "docs" / target).is_file()] == []
    code = (ROOT / "demo/page/citestream.js").read_text(encoding="utf-8")
    exported = set(
        re.findall(r"^export (?:async )?(?:class|function\*?) (\w+)", code, re.MULTILINE)
    )
    # Exported for the tests alone.
    assert {name for name in exported if name not in PAGE} == {"EventParser", "partsOf"}
    assert set(re.findall(r"`(\w+)\(", PAGE)) <= exported | {"show", "clear", "chips"} | {
        "sentences",
        "sentence",
        "light",
        "onOpen",
        "onRetract",
    }
