"""Finds markers in an answer that comes in pieces: text in, markers out.

It holds the text that is not yet shown and reads what may become a marker,
one character at a time; it knows no passages, and not what becomes of a marker.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import TYPE_CHECKING

from citestream.grammar import DEAD, State
from citestream.mending import leads
from citestream.regions import MOST_UNDECIDED, Place, Verdict

if TYPE_CHECKING:
    from citestream.dialect import Dialect
    from citestream.regions import Regions
    from citestream.styles import Reading

__all__ = ["MOST_NESTED", "Found", "Scanner"]

MOST_NESTED = 4
"""Brackets open inside each other that may all still become markers."""

# A bracket inside a URL is part of it when one of these follows.
_URL_GOES_ON = re.compile(r"[A-Za-z0-9/=&%#+~@?-]")


class Found(Enum):
    """What became of the bracket that is being read."""

    WAIT = auto()
    """It depends on text still to come."""
    PROSE = auto()
    """It is no marker; what was read of it is text, up to `end`."""
    REGION = auto()
    """It lies in a region that closes; all is text up to `end`."""
    MARKER = auto()
    """It is a marker, from `start` to `end`."""
    CUT = auto()
    """It is a marker, from `start`, that the end of the answer cut."""
    SPILL = auto()
    """It is too long to hold; all is text up to `end`, and `spilled` tells how far it came."""


# Looking a member up on its class costs as much as a call in CPython 3.11.
_FOUND_CUT = Found.CUT
_FOUND_MARKER = Found.MARKER
_FOUND_PROSE = Found.PROSE
_FOUND_REGION = Found.REGION
_FOUND_SPILL = Found.SPILL
_FOUND_WAIT = Found.WAIT
_PLACE_PENDING = Place.PENDING
_PLACE_PROSE = Place.PROSE
_PLACE_URL = Place.URL
_VERDICT_CLOSED = Verdict.CLOSED
_VERDICT_OPEN = Verdict.OPEN


class Scanner:
    """The text not yet shown, and the bracket in it that is being read."""

    __slots__ = (
        "_ahead",
        "_at",
        "_chain",
        "_here",
        "_looked",
        "_place",
        "_regions",
        "_style",
        "end",
        "failed",
        "final",
        "in_doubt",
        "limit",
        "reading",
        "searched",
        "spilled",
        "start",
        "text",
    )

    def __init__(self, style: Dialect) -> None:
        self._style = style
        self.limit = style.most_held
        """Characters of `text` that may be looked at: those held at most."""
        self.text = ""
        """What is not yet shown."""
        self.searched = 0
        """Up to here no bracket needs to be read any more."""
        self.final = False
        """Whether no more text comes."""
        self.start = 0
        self.end = 0
        self.reading: Reading | None = None
        """What the marker says."""
        # Brackets opened inside each other, each with how far it has come.
        self._chain: list[tuple[int, State]] = []
        self._at = 0
        self._place = _PLACE_PROSE
        # The regions at the outermost bracket.
        self._here: Regions
        # The outermost may stand in a region, if that closes: the regions
        # there, the copy that looks ahead, and how far it has looked.
        self._regions: Regions | None = None
        self._ahead: Regions | None = None
        self._looked = 0
        self.failed = 0
        """How many openers of regions were found to be text, while reading."""
        self.in_doubt = False
        """Whether it took too long to find out, and the rest of the paragraph is prose."""
        self.spilled: State | None = None
        """How far the marker has come that is too long to hold."""

    # The text

    def find(self) -> int:
        """Return where the next bracket is that may open a marker, or -1."""
        match = self._style.opener.search(self.text, self.searched)
        return match.start() if match else -1

    def peek(self, index: int) -> str | None:
        """Return the character at `index`; `""` if there is none, `None` if it is to come."""
        if index < self.limit:
            if index < len(self.text):
                return self.text[index]
            return "" if self.final else None
        return "" if self.final or len(self.text) > self.limit else None

    def drop(self, count: int) -> None:
        """Forget the first `count` characters: they were shown, or removed."""
        self.text = self.text[count:]
        self.searched = max(0, self.searched - count)
        if self._chain:
            self._chain = [(at - count, state) for at, state in self._chain]
            self._at -= count
            self._looked -= count
            self.start -= count
            self.end -= count

    @property
    def read_early(self) -> bool:
        """Whether a bracket is read whole, and waits for a region that may or may not close."""
        return self._regions is not None and self.open and self._chain[-1][1].whole

    @property
    def lead_end(self) -> int:
        """Where all ends that is before the outermost bracket and an image's mark of it."""
        at = self._chain[0][0] if self._chain else self.start
        return at - (self.text[at - 1 : at] == "!")

    def leave_outer(self) -> None:
        """Read on the innermost bracket alone: those around it are text."""
        first, innermost = self._chain[0][0], self._chain[-1]
        if self._regions is not None and first < innermost[0]:
            self._regions = self._here = self._regions.clone()
            self._here.advance(self.text[first : innermost[0]])
        self._chain = [innermost]

    def cut(self, start: int, end: int) -> None:
        """Remove a piece of the text; it is read again from there."""
        self.text = self.text[:start] + self.text[end:]
        if self.searched > start:
            self.searched = max(start, self.searched - (end - start))
        self._read_again(start)

    def insert(self, at: int, text: str) -> None:
        """Put something into the text."""
        self.text = self.text[:at] + text + self.text[at:]
        self._read_again(at)

    # The bracket

    @property
    def follower(self) -> str:
        """What comes next, as the regions are told: where a marker begins, a bracket."""
        first = self.text[0]
        return "[" if first in self._style.openers else first

    @property
    def open(self) -> bool:
        """Whether a bracket is being read."""
        return bool(self._chain)

    def opens(self, at: int) -> bool:
        """Return whether the character at `at` may open a marker."""
        return self.text[at] in self._style.openers

    @property
    def outer_base(self) -> int:
        """Where the content of the bracket around the innermost one begins, or 0."""
        return self._chain[-2][0] + 1 if len(self._chain) > 1 else 0

    @property
    def base(self) -> int:
        """Where the content of the innermost bracket begins; 0 when none is being read."""
        return self._chain[-1][0] + 1 if self._chain else 0

    def begin(self, at: int, place: Place, regions: Regions) -> None:
        """Begin to read the bracket at `at`.

        Args:
            at: Where it stands.
            place: What the regions say of that place.
            regions: The regions there.
        """
        self._chain.append((at, self._style.start[self.text[at]]))
        self._at = at + 1
        if len(self._chain) == 1:
            self._place = place
            self._here = regions
            self._regions = regions if place is _PLACE_PENDING else None
            self._ahead = None
            self.failed = 0
            self.in_doubt = False

    def give_up(self) -> None:
        """Stop reading: none of the brackets that are open is a marker."""
        self._chain.clear()
        self._ahead = None

    def pop(self) -> None:
        """Stop reading the innermost bracket; the one around it goes on."""
        self._chain.pop()
        if not self._chain:
            self._ahead = None

    def stands_at(self, at: int) -> bool | None:
        """Return whether the marker stands at `at`, alone or in brackets around it and no more.

        `None`: that is to come.
        """
        for index in range(1, self.start - at + 1):
            opener = self.text[self.start - index]
            closer = self.peek(self.end + index - 1)
            if closer is None:
                return None
            if opener not in self._style.pairs or closer != self._style.pairs[opener]:
                return False
        return True

    def take_before(self, start: int, end: int) -> None:
        """Remove a piece of the text before the brackets that began behind it."""
        size = end - start
        self.text = self.text[:start] + self.text[end:]
        self._chain = [(at - size if at >= end else at, state) for at, state in self._chain]
        self._at -= size
        self.start -= size
        self.end -= size

    def may_wrap(self, start: int) -> bool:
        """Return whether another bracket opens right before `start`."""
        return len(self._chain) > 1 and self._chain[-2][0] == start - 1

    def wraps(self, start: int, end: int) -> bool | None:
        """Return whether a pair of brackets stands around `start:end`; `None`: it is to come."""
        if not self.may_wrap(start):
            return False
        closer = self.peek(end)
        if closer is None:
            return None
        return closer != "" and closer == self._style.pairs.get(self.text[start - 1])

    def read(self) -> Found:
        """Read on, and say what becomes of the innermost bracket."""
        found = self._read_chain()
        if found is _FOUND_PROSE:
            if self._style.overlaps:
                self._step_back()
            self.give_up()
            return found
        if self._regions is not None:
            region = self._look_ahead()
            if region is not None:
                return region
        if found is _FOUND_MARKER and self._in_url():
            return self._judge_in_url()
        if found is _FOUND_WAIT:
            if len(self.text) > self.limit:
                self.end = self.limit
                self.spilled = self._chain[-1][1]
                return _FOUND_SPILL
            if self.final:
                return self._judge_cut()
        return found

    def _read_chain(self) -> Found:
        text = self.text
        style = self._style
        end = min(len(text), self.limit)
        at = self._at
        start, state = self._chain[-1]
        if state.whole:
            return _FOUND_MARKER
        if state is DEAD:
            # What went with a removed marker was less than hoped.
            self.end = at
            return _FOUND_PROSE
        while at < end:
            char = text[at]
            then = state[char]
            if then is DEAD:
                if not style.may_still_be(text[start:at]):
                    self.end = at
                    return _FOUND_PROSE
                # A marker that opens here may go, and its lead with it.
                opens = leads(text, at, end)
                self._chain[-1] = (start, state)
                self._at = at
                if opens is None and not (self.final or end < len(text)):
                    return _FOUND_WAIT
                if opens is None or text[opens] not in style.openers:
                    self.end = at
                    return _FOUND_PROSE
                char = text[opens]
                if len(self._chain) == MOST_NESTED:
                    self.end = opens + 1
                    self.spilled = style.start[char]
                    return _FOUND_SPILL
                start, state = opens, style.start[char]
                self._chain.append((start, state))
                at = opens + 1
                continue
            at += 1
            state = then
            if state.whole:
                self.start, self.end = start, at
                self.reading = style.read(text[start:at])
                if self.reading is None:
                    return _FOUND_PROSE
                break
        self._chain[-1] = (start, state)
        self._at = at
        if state.whole:
            return _FOUND_MARKER
        if not style.may_still_be(text[start:at]):
            self.end = at
            return _FOUND_PROSE
        return _FOUND_WAIT

    def _step_back(self) -> None:
        """Let what was read end before a character in it that another marker may begin with."""
        starts = {at for at, _ in self._chain}
        for at in range(self._chain[0][0] + 1, self.end):
            if at not in starts and self.text[at] in self._style.openers:
                self.end = at
                return

    def _read_again(self, at: int) -> None:
        """Read the innermost bracket again up to `at`, since what was before it is gone."""
        if self._chain:
            start, _ = self._chain[-1]
            state = self._style.start
            for char in self.text[start:at]:
                state = state[char]
            self._chain[-1] = (start, state)
            self._at = at

    def _look_ahead(self) -> Found | None:
        """Find out whether the region that may be open here closes; `None`: this is prose."""
        while self._regions is not None:
            if self._ahead is None:
                self._ahead = self._regions.watch()
                self._looked = self._chain[0][0]
            end = min(len(self.text), MOST_UNDECIDED)
            verdict, used = self._ahead.look(self.text[self._looked : end])
            if verdict is _VERDICT_CLOSED:
                self.end = self._looked + used
                self.give_up()
                return _FOUND_REGION
            if verdict is _VERDICT_OPEN:
                self._looked = end
                if len(self.text) > MOST_UNDECIDED:
                    self.in_doubt = True
                    self._regions = None
                    break
                if not self.final:
                    return _FOUND_WAIT
                if self._ahead.look_at_end() is _VERDICT_CLOSED:
                    self.end = len(self.text)
                    self.give_up()
                    return _FOUND_REGION
            if self._ahead.doubted:
                self.in_doubt = True
                self._regions = None
                break
            # The opener was text. Perhaps another one is pending.
            self.failed += 1
            self._ahead = None
            self._here = self._regions = self._regions.without_first_opener(self.follower)
            self._place = self._regions.place()
            if self._place is not _PLACE_PENDING:
                self._regions = None
        return None

    def _in_url(self) -> bool:
        """Return whether the marker that was read stands in a URL."""
        before = self.text[self._chain[0][0] : self.start]
        if before and (self._place is _PLACE_URL or "://" in before):
            regions = self._here.clone()
            regions.advance(before)
            return regions.place() is _PLACE_URL
        return self._place is _PLACE_URL

    def _judge_in_url(self) -> Found:
        if not any(map(str.isspace, self.text[self.start : self.end])):
            follower = self.peek(self.end)
            if follower is None:
                return _FOUND_WAIT
            if follower and _URL_GOES_ON.match(follower):
                self.give_up()
                return _FOUND_PROSE
        return _FOUND_MARKER

    def _judge_cut(self) -> Found:
        """Say what a bracket is that the answer ends in."""
        start, _ = self._chain[-1]
        self.start = start
        self.end = len(self.text)
        if self._style.has_label(self.text[start:]):
            return _FOUND_CUT
        self.give_up()
        return _FOUND_PROSE
