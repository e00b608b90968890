"""Finds what a reader sees that is no marker but nearly one: `[6c]`, `[Edit]`.

It looks at the visible text outside code, where the refusal is looked for as
well; nothing is held or changed for it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

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


class KnowsNearness(Protocol):
    """The score of an answer."""

    @property
    def nearness(self) -> Nearness:
        """What is near a supplied label."""


class NearFinder(RefusalFinder):
    """Searches pieces of text for the refusal, if there is one, and for what is near a label."""

    __slots__ = ("_begun", "_found", "_score")

    def __init__(self, refusal: str | None, score: KnowsNearness) -> None:
        super().__init__(refusal or "")
        self._score = score
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

    def feed(self, text: str) -> None:
        """Take the next piece of text."""
        fresh = self._fresh + text
        tail = self._needle[1]
        if tail and not (
            self._recent or self._begun or "'" in fresh or "[" in fresh or "`" in fresh
        ):
            end = fresh[tail:]
            if fresh.isascii() and end.isprintable() and "  " not in end:
                self._fresh = end
                return
        self._fresh = fresh
        if len(fresh) > _MOST_FRESH:
            self._search()

    def _search(self) -> None:
        fresh = self._fresh
        if "[" in fresh or self._begun:
            self._look(self._begun + fresh)
        if self._seen or not self._needle[0]:
            self._fresh = ""
            return
        super()._search()
        recent = self._recent
        if not self._begun and recent.isascii() and "[" not in recent and "'" not in recent:
            # Folding it again changes nothing.
            self._fresh, self._recent = recent, ""

    def _look(self, text: str) -> None:
        nearness = self._score.nearness
        for match in _bracket.finditer(text):
            if nearness.of_bracket(match[1]) and match[1] not in self._found:
                self._found = (*self._found, match[1])[:MOST_NEAR]
        opened = text.rfind("[")
        goes_on = opened >= 0 and text.find("]", opened) < 0 and len(text) - opened < _MOST_BRACKET
        self._begun = text[opened:] if goes_on else ""
