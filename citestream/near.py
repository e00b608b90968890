"""Finds what a reader sees that is no marker but nearly one: `[6c]`, `[Edit]`.

It looks at the visible text outside code, where the refusal is looked for as
well; nothing is held or changed for it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from citestream.refusal import RefusalFinder

if TYPE_CHECKING:
    from citestream.labels import Nearness

__all__ = ["MOST_NEAR", "NearFinder"]

MOST_NEAR = 100
"""Different ones that are kept; as many as there are of invalid labels."""

# Characters that are searched at once.
_MOST_FRESH = 256

# What is near a label is hardly longer than one.
_bracket = re.compile(r"\[([^\[\]\n\r]{2,128})\]")
_MOST_BRACKET = 130


class NearFinder(RefusalFinder):
    """Searches pieces of text for the refusal, if there is one, and for what is near a label."""

    __slots__ = ("_begun", "_found", "_nearness", "_refusal")

    def __init__(self, refusal: str | None, nearness: Nearness) -> None:
        super().__init__(refusal or "")
        self._refusal = refusal
        self._nearness = nearness
        self._found: tuple[str, ...] = ()
        self._begun = ""  # a bracket that has not ended

    def clone(self) -> NearFinder:
        """Return an independent copy."""
        new = NearFinder.__new__(NearFinder)
        for name in (*RefusalFinder.__slots__, *NearFinder.__slots__):
            setattr(new, name, getattr(self, name))
        return new

    @property
    def near(self) -> tuple[str, ...]:
        """What stood in brackets and is near a supplied label, in order, without repeats."""
        self._search()
        return self._found

    @property
    def found(self) -> bool:
        """Whether the refusal stood in the text."""
        self._search()
        return self._seen

    def feed(self, text: str) -> None:
        """Take the next piece of text."""
        self._fresh += text
        if len(self._fresh) > _MOST_FRESH:
            self._search()

    def _search(self) -> None:
        fresh = self._fresh
        if "[" in fresh or self._begun:
            self._look(self._begun + fresh)
        if self._refusal is None or self._seen:
            self._fresh = ""
        else:
            # A bracket that has not ended goes on behind all of what was fresh.
            self._search_for_refusal(again=not self._begun)

    def _look(self, text: str) -> None:
        for match in _bracket.finditer(text):
            if self._nearness.of_bracket(match[1]) and match[1] not in self._found:
                self._found = (*self._found, match[1])[:MOST_NEAR]
        opened = text.rfind("[")
        goes_on = opened >= 0 and text.find("]", opened) < 0 and len(text) - opened < _MOST_BRACKET
        self._begun = text[opened:] if goes_on else ""
