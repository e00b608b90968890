"""What the reader has got so far: where it ends, and what may stand there next.

It sets text apart from a kept marker where Markdown would make a link of the
two, and keeps a marker that was too long to hold from closing; it knows
nothing of passages or of what is still held.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import TYPE_CHECKING

from citestream.grammar import DEAD, State

if TYPE_CHECKING:
    from citestream.regions import Regions

__all__ = ["MOST_LOOSE", "Behind", "Visible"]

MOST_LOOSE = 32
"""Pieces shown before the regions are brought up to date.

Piece by piece it costs more than it is worth, and at the end it would keep the
answer in memory.
"""

# Without one of these, prose in the middle of a line stays just that.
_SPECIAL = ("\n", "`", "$", "\\", "://", "\r")
_SPECIAL_PATTERN = re.compile(r"[\n`$\\\r]|://")


class Behind(Enum):
    """What the visible text ends in, where that matters for what comes next."""

    TEXT = auto()
    MARKER = auto()
    """A kept marker."""
    LINE_MARKER = auto()
    """A kept marker at the start of a line, which a colon would make a definition."""
    OTHER_MARKER = auto()
    """A kept marker that no bracket closes, of which Markdown makes nothing."""
    BRACKET = auto()
    """A bracket that holds a kept marker, which a destination would make a link."""


_APART = {
    Behind.MARKER: "([",
    Behind.LINE_MARKER: "([:",
    Behind.OTHER_MARKER: "",
    Behind.BRACKET: "([",
}


# Looking a member up on its class costs as much as a call in CPython 3.11.
_BEHIND_BRACKET = Behind.BRACKET
_BEHIND_LINE_MARKER = Behind.LINE_MARKER
_BEHIND_MARKER = Behind.MARKER
_BEHIND_OTHER_MARKER = Behind.OTHER_MARKER
_BEHIND_TEXT = Behind.TEXT


class Visible:
    """The end of the visible text, and the regions it is in."""

    __slots__ = ("_on_line", "_regions", "behind", "gone", "loose", "parts", "spilled")

    def __init__(self, regions: Regions) -> None:
        self._regions = regions
        self._on_line = 0  # how many loose pieces are known to hold no new line
        self.gone = 0
        """How much of the visible text the regions went over."""
        self.loose: list[str] = []
        """Text shown that the regions did not go over yet."""
        self.parts = ""
        """Text shown since an event was last made of it."""
        self.behind = _BEHIND_TEXT
        self.spilled: State | None = None
        """How far a marker has come that was too long to hold; it must not become whole."""

    @property
    def regions(self) -> Regions:
        """The regions, up to date."""
        if self.loose:
            self.settle()
        return self._regions

    @regions.setter
    def regions(self, regions: Regions) -> None:
        """Go on from other regions: what was pending in these is decided."""
        self._regions = regions

    def settle(self) -> bool:
        """Bring the regions up to date.

        Returns:
            Whether this is prose in the middle of a line.
        """
        regions = self._regions
        if self.loose:
            loose = "".join(self.loose)
            self.loose.clear()
            self._on_line = 0
            self.gone += len(loose)
            regions.advance(loose)
        return regions.clear

    @property
    def offset(self) -> int:
        """How many characters were shown."""
        return self.gone + sum(map(len, self.loose))

    @property
    def last(self) -> str:
        """The last character shown; before the first one a line feed."""
        if self.behind is _BEHIND_MARKER or self.behind is _BEHIND_LINE_MARKER:
            return "]"
        return self.loose[-1][-1] if self.loose else self._regions.end

    @property
    def plain(self) -> bool:
        """Whether text without brackets can be shown as it is."""
        return self.behind is _BEHIND_TEXT and self.spilled is None and not self._regions.kept_depth

    @property
    def resting(self) -> bool:
        """Whether nothing speaks against a marker or text next, but perhaps a marker before."""
        if self.loose:
            self.settle()
        return (
            self.behind in (_BEHIND_TEXT, _BEHIND_MARKER, _BEHIND_OTHER_MARKER)
            and self.spilled is None
            and not self._regions.depth
        )

    def prose_until(self, text: str) -> int:
        """Return how far along `text`, shown next, this is prose in the middle of a line."""
        if self.loose:
            self.settle()
        if not self._regions.clear:
            return 0
        end = len(text)
        if end < 64:
            match = _SPECIAL_PATTERN.search(text)
            return match.start() if match else end
        for special in _SPECIAL:
            at = text.find(special, 0, end)
            if at >= 0:
                end = at
        return end

    def goes_on(self, text: str) -> bool:
        """Return whether the line goes on over `text`, shown next, outside fenced code."""
        if "\n" in text or "\r" in text:
            return False
        regions = self._regions
        if self.loose:
            if regions.clear:
                # Nothing but a new line could change that.
                loose = "".join(self.loose[self._on_line :])
                if "\n" not in loose and "\r" not in loose:
                    self._on_line = len(self.loose)
                    return True
            self.settle()
        return regions.clear or (regions.opened and not regions.line_start and not regions.in_fence)

    def finish(self) -> Regions:
        """Go on over the end of the answer, and return the regions there."""
        loose = "".join(self.loose)
        self.loose.clear()
        self.gone += len(loose)
        self._regions.finish(loose)
        return self._regions

    def note(self, text: str) -> None:
        """Take note of text that the reader got."""
        if len(self.loose) >= MOST_LOOSE:
            self.settle()
        self.loose.append(text)

    def cite_calm(self, end: int) -> None:
        """Take note of a kept marker in calm prose, behind which the cleaned answer is so long."""
        self.gone = end
        self._regions.last = "]"
        self.behind = _BEHIND_MARKER

    def pass_calm(self, text: str, last: str, end: int) -> None:
        """Take note of calm prose in the middle of a line, with markers in it.

        Args:
            text: The prose without the markers.
            last: The last character of all.
            end: How long the cleaned answer is.
        """
        self.gone = end
        self._regions.pass_calm(text, last)

    def show(self, text: str) -> None:
        """Show `text`, which holds no marker."""
        if self.spilled is not None:
            text = self._never_whole(text)
        while text:
            if self.behind is not _BEHIND_TEXT:
                if text[0] in _APART[self.behind]:
                    text = " " + text
                self.behind = _BEHIND_TEXT
            end = len(text)
            kept_depth = self._regions.kept_depth and self.regions.settled().kept_depth
            if kept_depth and "]" in text:
                end = text.index("]") or 1
            self.parts += text[:end]
            self.note(text[:end])
            if kept_depth and text[0] == "]" and self.regions.settled().kept_depth < kept_depth:
                self.behind = _BEHIND_BRACKET
            text = text[end:]

    def cite(self, text: str, close: str) -> None:
        """Take note of a marker that is shown as `text`; its style's are closed by `close`."""
        at_start = self.regions.settled().line_start
        self._regions.marker(text)
        self.gone += len(text)
        self.spilled = None
        if text[-1] == "]":
            self.behind = _BEHIND_LINE_MARKER if at_start else _BEHIND_MARKER
        else:
            other = close != "]" and text.endswith(close)
            self.behind = _BEHIND_OTHER_MARKER if other else _BEHIND_TEXT

    def _never_whole(self, text: str) -> str:
        """Return `text` without the brackets that would close the marker that spilled."""
        shown: list[str] = []
        state = self.spilled
        assert state is not None  # the caller has looked
        for index, char in enumerate(text):
            then = state[char]
            if then is DEAD:
                self.spilled = None
                return "".join(shown) + text[index:]
            if not then.whole:
                shown.append(char)
                state = then
        self.spilled = state
        return "".join(shown)
