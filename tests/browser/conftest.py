"""Chromium of the system, and pages in it that fail a test for what they complain of."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.watching import Watched

__all__ = ["Opener"]

Opener: TypeAlias = Callable[..., Watched]
"""Opens an address in a page of its own, with the settings of `Watched`."""


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    # For this folder alone: its loop runs in the thread of the tests, and no
    # other could run there while it does.
    where = shutil.which("chromium")
    assert where is not None, "install Debian's package chromium, or put one on the path"
    # Chromium refuses its sandbox to root, which is who tests in a container.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=where, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opener]:
    pages: list[Watched] = []

    def open_(url: str, **settings: Any) -> Watched:
        watched = Watched(browser, **settings)
        pages.append(watched)
        watched.page.goto(url)
        return watched

    yield open_
    complaints = [complaint for watched in pages for complaint in watched.complaints]
    for watched in pages:
        watched.close()
    assert complaints == [], "a page complained; a test that means it clears `complaints`"
