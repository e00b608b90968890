"""Finds one exact sentence, the refusal, in text that comes in pieces.

It does not know what code is, nor what a refusal means for the score.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = ["RefusalFinder", "fold"]

# Kinds of quotation marks and dashes that typography puts for the plain ones.
_TYPOGRAPHY = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc\u02bb\u00b4`\u2035", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u00ad", "-")
    | dict.fromkeys("\u200b\u200c\u200d\u200e\u200f\u2060\ufeff", "")
)
# Characters that are searched at once.
_MOST_FRESH = 256

_APOSTROPHES = "'\u2018\u2019\u201a\u201b\u2032\u02bc\u02bb\u00b4`\u2035\uff07"


_marker = re.compile(r"\[[0-9]+\]")


def fold(text: str) -> str:
    """Return `text` without what does not count: case, typography, width, space and markers."""
    if "[" in text:
        text = _marker.sub("", text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_TYPOGRAPHY))
    elif "`" in text:
        text = text.replace("`", "'")
    return "".join(text.casefold().split())


@lru_cache(maxsize=64)
def _needle(refusal: str) -> tuple[str, int]:
    """Return what to look for, and from where, counted from the end, it may begin in a text.

    Folding costs ten times a search. Where there is an apostrophe to come, no
    text without one need be folded: the refusal has come as far as to there, or
    not begun. At least every second character of calm text is left of it when it is
    folded. 0: it has none.
    """
    needle = fold(refusal)
    return needle, -2 * needle.find("'") - 2 if "'" in needle else 0


class RefusalFinder:
    """Searches pieces of text for the refusal, across their borders."""

    __slots__ = ("_fresh", "_needle", "_recent", "_seen")

    def __init__(self, refusal: str) -> None:
        self._needle = _needle(refusal)
        self._recent = ""  # folded
        self._fresh = ""  # not yet searched
        self._seen = False

    @property
    def found(self) -> bool:
        """Whether the refusal stood in the text."""
        self._search()
        return self._seen

    def feed(self, text: str) -> None:
        """Take the next piece of text."""
        if not self._seen:
            self._fresh += text
            if len(self._fresh) > _MOST_FRESH:
                self._search()

    def _search(self) -> None:
        text, self._fresh = self._fresh, ""
        needle, tail = self._needle
        if tail and "'" not in self._recent and not _has_apostrophe(text):
            end = fold(text[4 * tail :])
            if len(end) > -tail:
                self._recent = end
                return
        text = self._recent + fold(text)
        self._seen |= needle in text
        self._recent = text[1 - len(needle) :]


def _has_apostrophe(text: str) -> bool:
    if text.isascii():
        return "'" in text or "`" in text
    return any(apostrophe in text for apostrophe in _APOSTROPHES)
