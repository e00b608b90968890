"""What the reader has got so far: where it ends, and what may stand there next.

It sets text apart from a kept marker where Markdown would make a link of the
two, and keeps a marker that was too long to hold from closing; it knows
nothing of passages or of what is still held.
"""

from __future__ import annotations

from enum import Enum, auto

from citestream.grammar import DEAD, State
from citestream.regions import Regions

__all__ = ["Behind", "Visible"]

# Pieces shown before the regions are brought up to date: one by one costs more
# than it is worth, and all at the end would keep the answer in memory.
MOST_LOOSE = 16


class Behind(Enum):
    """What the visible text ends in, where that matters for what comes next."""

    TEXT = auto()
    MARKER = auto()
    """A kept marker."""
    LINE_MARKER = auto()
    """A kept marker at the start of a line, which a colon would make a definition."""
    BRACKET = auto()
    """A bracket that holds a kept marker, which a destination would make a link."""


_APART = {Behind.MARKER: "([", Behind.LINE_MARKER: "([:", Behind.BRACKET: "(["}


class Visible:
    """The end of the visible text, and the regions it is in."""

    __slots__ = ("_loose", "_regions", "behind", "offset", "parts", "spilled")

    def __init__(self, regions: Regions) -> None:
        self._regions = regions
        self._loose: list[str] = []  # shown, and not yet gone over
        self.parts: list[str] = []
        """Text shown since an event was last made of it."""
        self.offset = 0
        """How many characters were shown."""
        self.behind = Behind.TEXT
        self.spilled: State | None = None
        """How far a marker has come that was too long to hold; it must not become whole."""

    @property
    def regions(self) -> Regions:
        """The regions, up to date."""
        if self._loose:
            self._regions.advance("".join(self._loose))
            self._loose.clear()
        return self._regions

    @regions.setter
    def regions(self, regions: Regions) -> None:
        self._loose.clear()
        self._regions = regions

    @property
    def last(self) -> str:
        """The last character shown; before the first one a line feed."""
        return self._loose[-1][-1] if self._loose else self._regions.end

    @property
    def idle(self) -> bool:
        """Whether text without brackets can be shown as it is."""
        return (
            self.behind is Behind.TEXT and self.spilled is None and not self._regions.kept_depth
        )

    def note(self, text: str) -> None:
        """Take note of text that the reader got."""
        self.offset += len(text)
        self._loose.append(text)
        if len(self._loose) >= MOST_LOOSE:
            self._regions.advance("".join(self._loose))
            self._loose.clear()

    def show(self, text: str) -> None:
        """Show `text`, which holds no marker."""
        if self.spilled is not None:
            text = self._never_whole(text)
        while text:
            if self.behind is not Behind.TEXT:
                if text[0] in _APART[self.behind]:
                    text = " " + text
                self.behind = Behind.TEXT
            end = len(text)
            kept_depth = self._regions.kept_depth and self.regions.settled().kept_depth
            if kept_depth:
                end = text.find("]") + 1 or end
            self.parts.append(text[:end])
            self.note(text[:end])
            if kept_depth and text[end - 1] == "]":
                if self.regions.settled().kept_depth < kept_depth:
                    self.behind = Behind.BRACKET
            text = text[end:]

    def cite(self, text: str) -> None:
        """Take note of a marker that is shown as `text`."""
        at_start = self.regions.settled().line_start
        self._regions.marker(text)
        self.offset += len(text)
        self.spilled = None
        if text[-1] != "]":
            self.behind = Behind.TEXT
        else:
            self.behind = Behind.LINE_MARKER if at_start else Behind.MARKER

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
