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

# Characters shown before the regions are brought up to date: piece by piece it
# costs more than it is worth, and at the end it would keep the answer in memory.
MOST_LOOSE = 256

# Stands for a marker in the text that the regions go over: it opens nothing,
# is part of no word, and as white space does not count in a refusal.
MARK = "\x1f"

# Without one of these, prose in the middle of a line stays just that.
_SPECIAL = ("\n", "`", "$", "\\", "://", "\r")


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

    __slots__ = ("_gone", "_regions", "behind", "loose", "parts", "spilled")

    def __init__(self, regions: Regions) -> None:
        self._regions = regions
        self._gone = 0  # how much of the visible text the regions went over, and marks are not
        self.loose = ""
        """Text shown that the regions did not go over yet."""
        self.parts: list[str] = []
        """Text shown since an event was last made of it."""
        self.behind = Behind.TEXT
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
        self._regions = regions

    def settle(self) -> None:
        """Bring the regions up to date."""
        loose, self.loose = self.loose, ""
        self._gone += len(loose)
        self._regions.advance(loose)

    @property
    def offset(self) -> int:
        """How many characters were shown."""
        return self._gone + len(self.loose)

    @property
    def last(self) -> str:
        """The last character shown; before the first one a line feed."""
        if self.behind is Behind.MARKER or self.behind is Behind.LINE_MARKER:
            return "]"
        return self.loose[-1] if self.loose else self._regions.end

    @property
    def plain(self) -> bool:
        """Whether text without brackets can be shown as it is."""
        return (
            self.behind is Behind.TEXT and self.spilled is None and not self._regions.kept_depth
        )

    @property
    def resting(self) -> bool:
        """Whether nothing speaks against a marker or text next, but perhaps a marker before."""
        if "[" in self.loose:
            self.settle()
        return (
            (self.behind is Behind.TEXT or self.behind is Behind.MARKER)
            and self.spilled is None
            and not self._regions.depth
        )

    def prose_until(self, text: str) -> int:
        """Return how far along `text`, shown next, this is prose in the middle of a line."""
        loose = self.loose
        if loose and (not self._regions.clear or loose[-1] in ":/" or _has_special(loose)):
            self.settle()
        if not self._regions.clear:
            return 0
        end = len(text)
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
        if not regions.opened or regions.line_start or "\n" in self.loose or "\r" in self.loose:
            regions = self.regions
        return regions.opened and not regions.line_start and not regions.in_fence

    def finish(self) -> Regions:
        """Go on over the end of the answer, and return the regions there."""
        self._regions.finish(self.loose)
        self._gone += len(self.loose)
        self.loose = ""
        return self._regions

    def note(self, text: str) -> None:
        """Take note of text that the reader got."""
        if len(self.loose) > MOST_LOOSE:
            self.settle()
        self.loose += text

    def note_cited(self, text: str, hidden: int) -> None:
        """Take note of text with kept markers, each a `MARK` for `hidden` characters in all."""
        self.note(text)
        self._gone += hidden - text.count(MARK)
        self.behind = Behind.MARKER

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
            if kept_depth and "]" in text:
                end = text.index("]") or 1
            self.parts.append(text[:end])
            self.note(text[:end])
            if kept_depth and text[0] == "]":
                if self.regions.settled().kept_depth < kept_depth:
                    self.behind = Behind.BRACKET
            text = text[end:]

    def cite(self, text: str) -> None:
        """Take note of a marker that is shown as `text`."""
        at_start = self.regions.settled().line_start
        self._regions.marker(text)
        self._gone += len(text)
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


def _has_special(text: str) -> bool:
    for special in _SPECIAL:
        if special in text:
            return True
    return False
