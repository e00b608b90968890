"""Filters one text block of an answer: scanner, tally and mending joined.

It knows nothing of where the chunks come from, of other blocks, or of what is
made of the events.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import TYPE_CHECKING

from citestream.events import Citation, Text
from citestream.exceptions import FinishedError, SourceError
from citestream.mending import CLOSERS, destination, lead, needs_space, separator, wrapper
from citestream.near import NearFinder
from citestream.regions import Place, Regions
from citestream.scanner import Found, Scanner
from citestream.short import MAY_LEAD, ShortWay
from citestream.styles import NUMERIC
from citestream.visible import MOST_LOOSE, Behind, Visible

if TYPE_CHECKING:
    from citestream.dialect import Dialect
    from citestream.events import Label
    from citestream.styles import Reading
    from citestream.tally import Tally
    from citestream.writing import Writer

__all__ = ["BlockFilter"]

# A longer chunk is gone over in pieces, since a removed marker is cut out of
# the text that is being looked at, and that must not be the whole answer.
_PIECE = 1024

_LINE_BREAK = re.compile(r"[\n\r]")


class _Stage(Enum):
    """How far it is known what becomes of a hole."""

    RUN = auto()
    """Another marker may follow, behind a separator or none."""
    SURROUNDINGS = auto()
    """The wrapper and the space before it may go."""
    MEET = auto()
    """Its two sides meet."""


# Looking a member up on its class costs as much as a call in CPython 3.11.
_BEHIND_BRACKET = Behind.BRACKET
_BEHIND_LINE_MARKER = Behind.LINE_MARKER
_BEHIND_MARKER = Behind.MARKER
_BEHIND_OTHER_MARKER = Behind.OTHER_MARKER
_BEHIND_TEXT = Behind.TEXT
_BEHIND_ANY_MARKER = (_BEHIND_MARKER, _BEHIND_LINE_MARKER, _BEHIND_OTHER_MARKER)
_BEHIND_TEXT_ALONE = (_BEHIND_TEXT, _BEHIND_OTHER_MARKER)
_FOUND_CUT = Found.CUT
_FOUND_MARKER = Found.MARKER
_FOUND_PROSE = Found.PROSE
_FOUND_SPILL = Found.SPILL
_FOUND_WAIT = Found.WAIT
_PLACE_ESCAPED = Place.ESCAPED
_PLACE_LITERAL = Place.LITERAL
_PLACE_PROSE = Place.PROSE
_PLACE_URL = Place.URL
_STAGE_RUN = _Stage.RUN
_STAGE_SURROUNDINGS = _Stage.SURROUNDINGS
_STAGE_MEET = _Stage.MEET


_AT_REST = Scanner(NUMERIC)
_NO_EVENTS: list[Text | Citation] = []


class BlockFilter(ShortWay):
    """Filters one text block of an answer, under a score that several may share."""

    __slots__ = (
        "_finished",
        "_hole",
        "_judged",
        "_marks",
        "_mended",
        "_outer_holes",
        "_refusal",
        "_run",
        "_scanner",
        "_stage",
    )

    def __init__(self, tally: Tally, style: Dialect, writer: Writer, refusal: str | None) -> None:
        finder = NearFinder(refusal, tally)
        super().__init__(tally, style, writer, Visible(Regions(finder)))
        self._refusal = refusal
        # There is one while something is undecided, and another one next time.
        self._scanner = _AT_REST
        self._finished = False
        # A marker was removed from the held text at this place, and what goes
        # with it is not yet decided; -1 when there is no such hole.
        self._hole = -1
        self._stage = _STAGE_RUN
        self._mended = -1  # the place of the last hole, once it is closed
        # The place of the bracket being read that may be the next marker of a
        # run, behind the hole; -1 when there is none.
        self._run = -1
        # Holes before brackets that have another hole inside them, and where
        # those brackets stand, which may yet be the next markers of a run.
        self._outer_holes: tuple[tuple[int, int], ...] = ()
        # A marker that was checked, while it is not known what belongs to it.
        self._judged: _Judged | None = None
        # Removed markers that are not reported yet, each with its place.
        self._marks: tuple[tuple[int, Citation], ...] = ()

    @property
    def finished(self) -> bool:
        """Whether the block has ended."""
        return self._finished

    @property
    def held(self) -> str:
        """The text held back now, as the model wrote it, without removed markers."""
        held = self._waiting + self._scanner.text
        if self._dropped is None:
            return held
        # Once something follows, it is gone.
        behind = held[self._dropped_at + len(self._dropped.raw) :]
        return held[: self._dropped_at] + behind if behind else held

    def feed(self, chunk: str) -> list[Text | Citation]:
        """Filter the next chunk and return what is now certain.

        Args:
            chunk: The next piece of the answer, of any length. An empty chunk
                is allowed and changes nothing.

        Returns:
            Events in the order of the text. Empty when all of the text is
            still held back.

        Raises:
            FinishedError: `finish()` was already called.
            SourceError: The chunk is not a `str`.
        """
        try:
            if self._stop not in chunk and (
                chunk.isascii() or self._common.other_opener.search(chunk) is None
            ):
                if chunk[-1] not in MAY_LEAD:
                    loose = self._loose
                    loose.append(chunk)
                    if len(loose) > MOST_LOOSE:
                        self._visible.settle()
                    return [Text(chunk)]
                if (
                    self._resting
                    and chunk[-1] == " "
                    and chunk[-2:-1] not in MAY_LEAD
                    and self._visible.goes_on(chunk)
                ):
                    chunk = chunk[:-1]
                    self._loose.append(chunk)
                    self._waiting = " "
                    self._stop = ""
                    return [Text(chunk)]
            text = self._waiting + chunk
        except (TypeError, AttributeError, IndexError):
            pass  # it is empty or no str; `_feed` knows what to say
        else:
            if self._resting and chunk:
                events = self._take_small(text)
                if events is not None:
                    return events
        return self._feed(chunk)

    def finish(self) -> list[Text | Citation]:
        """Say that no more comes, and return what was held back.

        Raises:
            FinishedError: It was already called.
        """
        self._check_open()
        events: list[Text | Citation] = []
        self._events = events
        if self._waiting or not self._resting:
            self._wake(self._waiting)
            self._waiting = ""
            self._scanner.final = True
            self._go()
            self._show(len(self._scanner.text))
            self._flush()
        self._events = _NO_EVENTS
        self._end()
        return events

    def discard(self) -> None:
        """Drop what is held back; the block ends here.

        Raises:
            FinishedError: It has ended already.
        """
        self._check_open()
        self._end()

    def _end(self) -> None:
        self._finished = True
        self._resting = False
        self._stop = ""
        self._dropped = None
        finder = self._visible.finish().finder
        assert isinstance(finder, NearFinder)  # it was made for this block
        self._tally.note_near(finder.near)
        if finder.found:
            self._tally.refused = True
        self._scanner = _AT_REST
        self._waiting = ""

    def _check_open(self) -> None:
        if self._finished:
            raise FinishedError(
                "expected an open filter, got one that has finished: make one filter per answer"
            )

    def _feed(self, chunk: str) -> list[Text | Citation]:
        if not isinstance(chunk, str):
            raise SourceError(
                f"expected a chunk of the answer as str, got {type(chunk).__name__}: "
                "decode bytes first, with an incremental decoder"
            )
        self._check_open()
        events: list[Text | Citation] = []
        self._events = events
        if len(chunk) <= _PIECE:
            self._take(chunk)
        else:
            for line in chunk.splitlines(keepends=True):
                for start in range(0, len(line), _PIECE):
                    self._take(line[start : start + _PIECE])
        self._events = _NO_EVENTS
        return events

    def _take(self, text: str) -> None:
        """Filter the next piece of the answer."""
        if self._resting:
            text = self._rest(self._waiting + text)
            self._waiting = ""
        while not self._resting:
            self._wake(text)
            again = self._go()
            if self._marks:
                self._show(0)
            self._flush()
            if not self._can_rest():
                self._stop = self._common.stop if self._plain() else ""
                return
            text = self._scanner.text
            self._scanner = _AT_REST
            self._resting = True
            if again:
                text = self._rest(text)
        self._waiting = text
        idle = not text and self._visible.behind is _BEHIND_TEXT
        self._stop = self._common.stop if idle else ""

    def _wake(self, text: str) -> None:
        """Give the scanner text to go over."""
        if self._scanner is _AT_REST:
            self._scanner = Scanner(self._style)
        self._scanner.text += text
        if self._dropped is not None:
            self._take_up(self._dropped)
            self._dropped = None

    def _take_up(self, dropped: Citation) -> None:
        """Go on from a marker that was checked on the short way and will not be shown."""
        scanner = self._scanner
        certain = self._certain(self._dropped_at)
        self._show(certain)
        self._begin_at(self._dropped_at - certain)
        scanner.read()
        assert scanner.reading is not None  # it is the same marker
        self._judged = _Judged(scanner.reading, (), dropped.invalid, scanner)

    def _plain(self) -> bool:
        """Return whether text without brackets can go out as it is."""
        scanner = self._scanner
        return not scanner.text and self._hole < 0 and not self._marks and self._visible.plain

    @property
    def _may_shorten(self) -> bool:
        """Whether there is a short way past markers."""
        return self._marker is not None

    def _can_rest(self) -> bool:
        """Return whether nothing is undecided but what the held text is."""
        return (
            self._hole < 0
            and not self._scanner.open
            and self._judged is None
            and not self._marks
            and self._visible.resting
        )

    # Going over the held text

    def _go(self) -> bool:
        """Show, check and mend as far as the text goes that has arrived.

        Returns:
            Whether there is text left that may be gone over the short way.
        """
        scanner = self._scanner
        while True:
            if self._judged is not None:
                if not self._settle(self._judged):
                    self._show_before(self._judged)
                    return False
            elif self._hole >= 0 and self._run < 0:
                if not self._mend():
                    return False
            elif scanner.open:
                if not self._read():
                    return False
                continue
            elif not scanner.text:
                return False
            else:
                if not self._begin():
                    return False
                continue
            if self._may_shorten and not scanner.final and scanner.text and self._can_rest():
                return True

    def _begin(self) -> bool:
        """Look for the next bracket; return whether there is one to be read."""
        scanner = self._scanner
        if (
            scanner.text[0] == "("
            and self._behind_marker
            and self._visible.behind is not _BEHIND_OTHER_MARKER
        ):
            # The model's own link on a marker that was kept: the marker stays.
            end = min(len(scanner.text), scanner.limit)
            found, more = destination(scanner.text, 0, end)
            if found:
                scanner.drop(found)
                return True
            if more and scanner.peek(end) is None:
                return False
            if self._marks:
                self._show(0)
            self._visible.show(" ")
        at = scanner.find()
        if at < 0:
            self._show(self._certain(len(scanner.text)))
            return False
        certain = self._certain(at)
        self._show(certain)
        self._begin_at(at - certain)
        return True

    def _begin_at(self, at: int) -> None:
        """Begin to read the bracket at `at`, unless it stands in code or is escaped."""
        scanner = self._scanner
        regions = self._visible.regions
        if at and not regions.clear:
            regions = regions.clone()
            regions.advance(scanner.text[:at])
        place = regions.place()
        if place is _PLACE_LITERAL:
            line_break = _LINE_BREAK.search(scanner.text, at)
            self._show(line_break.end() if line_break else len(scanner.text))
        elif place is _PLACE_ESCAPED:
            scanner.searched = at + 1
        else:
            behind = self._visible.behind
            if place is _PLACE_URL and at == 0 and behind not in _BEHIND_TEXT_ALONE:
                # A space would set the bracket apart, and end the URL.
                place = _PLACE_PROSE
            scanner.begin(at, place, regions)

    def _certain(self, end: int) -> int:
        """Return how much of the text before `end`, where a marker is or may be, is certain.

        What may go with that marker is not: a separator behind a kept marker,
        a space, a wrapper.
        """
        scanner = self._scanner
        visible = self._visible
        text = scanner.text
        if scanner.final and end == len(text):
            return end
        if self._behind_marker:
            found, more = separator(text, 0, end)
            if found == end or (more and end == len(text)):
                return 0
        start = lead(text, end, 0, visible.last)
        if start == end:
            return end
        regions = visible.regions
        if regions.clear and "\n" not in text[:start] and "\r" not in text[:start]:
            return start
        regions = regions.clone()
        regions.advance(text[:start])
        if regions.settled(text[start]).in_fence:
            return end
        if text[start] == " ":
            # At the start of a line the space before a marker stays.
            regions.advance(" ")
            if regions.settled().line_start:
                start += 1
        return start

    def _read(self) -> bool:
        """Read the bracket on; return whether it is known what it is."""
        scanner = self._scanner
        found = scanner.read()
        for _ in range(scanner.failed):
            regions = self._visible.regions
            self._visible.regions = regions.without_first_opener(scanner.follower)
        scanner.failed = 0
        if scanner.in_doubt:
            self._visible.regions = self._visible.regions.in_doubt(scanner.follower)
            scanner.in_doubt = False
        if found is _FOUND_WAIT:
            self._show_lead()
            return False
        if found is _FOUND_MARKER or found is _FOUND_CUT:
            outer = self._outer_holes[-1] if self._outer_holes and self._run < 0 else None
            if outer is not None and scanner.stands_at(outer[1]):
                # The bracket that might follow was read again, and is a marker.
                self._hole, self._run = outer
                self._outer_holes = self._outer_holes[:-1]
            if self._run >= 0:
                follows = scanner.stands_at(self._run)
                if follows is None:
                    return False
                if follows:
                    scanner.take_before(self._hole, self._run)
                    self._move_marks(self._hole, self._run)
                else:
                    # It stands inside the bracket that might follow.
                    self._outer_holes += ((self._hole, self._run),)
                    self._hole = -1
                self._run = -1
            if found is _FOUND_CUT:
                self._tally.cut()
                scanner.pop()
                self._remove(scanner.start, scanner.end, None)
            else:
                reading = scanner.reading
                assert reading is not None  # a marker was read
                cited, invalid = self._tally.check(reading)
                self._judged = _Judged(reading, cited, invalid, scanner)
            return True
        scanner.give_up()
        if self._run >= 0:
            self._outer_holes += ((self._hole, self._run),)
            self._run = -1
        if self._outer_holes:
            self._close_outer_holes()
        elif found is _FOUND_PROSE:
            scanner.searched = scanner.end
        else:
            self._show(scanner.end)
            if found is _FOUND_SPILL:
                self._visible.spilled = scanner.spilled
        return True

    def _show_lead(self) -> None:
        """Show what is before a marker that is kept if it is one, and text if it is not."""
        scanner = self._scanner
        reading = scanner.reading
        if reading is None or not scanner.read_early or not self._keeps_all_before:
            return
        if self._tally.keeps(reading):
            bare = scanner.wraps(scanner.start, scanner.end) is False
            if bare:
                scanner.leave_outer()
            linked = not bare or scanner.peek(scanner.end) in {None, "("}
            self._show(scanner.lead_end if linked else scanner.start)

    @property
    def _keeps_all_before(self) -> bool:
        """Whether all before a marker that is kept comes out as it is."""
        return self._may_shorten and self._hole < 0 and not self._outer_holes

    def _close_outer_holes(self) -> int:
        """Mend the holes that no marker of a run follows; return by how much the text shrank."""
        scanner = self._scanner
        size = len(scanner.text)
        while self._outer_holes:
            self._hole, _ = self._outer_holes[-1]
            self._outer_holes = self._outer_holes[:-1]
            self._stage = _STAGE_SURROUNDINGS
            self._mend()
        scanner.searched = 0
        return size - len(scanner.text)

    def _settle(self, judged: _Judged) -> bool:
        """Find out what belongs to a checked marker; return whether it is known.

        Brackets around it and nothing else go with it, and the model's own link.
        """
        scanner = self._scanner
        while True:
            wraps = scanner.wraps(judged.start, judged.end)
            if wraps is None:
                return False
            if wraps:
                # The pair is then what is being read.
                scanner.pop()
                judged.wrap(scanner.text)
                continue
            if judged.text is None:
                judged.text = self._writer.write(
                    judged.reading, judged.cited, judged.invalid, judged.raw, self._tally
                )
            image = self._image_mark(judged.start)
            if judged.linked or (judged.text and not image and not scanner.may_wrap(judged.start)):
                break  # nothing that follows can belong to it any more
            follower = scanner.peek(judged.end)
            if follower is None:
                return False
            if follower != "(" or judged.reading.style.close != "]":
                break  # Markdown makes a link of square brackets alone
            end = min(len(scanner.text), scanner.limit)
            found, more = destination(scanner.text, judged.end, end)
            if more and scanner.peek(end) is None:
                return False
            if found == judged.end:
                break
            judged.link(found, image)
        self._judged = None
        passages = self._tally.passages_of(judged.cited)
        citation = Citation(judged.text, judged.cited, judged.invalid, judged.raw, passages, 0, 0)
        scanner.pop()
        if judged.text:
            self._keep(judged.start, judged.end, citation, judged.reading.style.close)
        else:
            self._remove(judged.start, judged.end, citation)
        return True

    def _show_before(self, judged: _Judged) -> None:
        """Show what is before a marker that is kept, whatever still belongs to it."""
        if judged.cited and self._keeps_all_before:
            shown = self._scanner.lead_end
            self._show(shown)
            judged.start -= shown
            judged.end -= shown

    def _image_mark(self, start: int) -> bool:
        """Return whether the exclamation mark of an image stands before a marker."""
        text = self._scanner.text
        base = self._scanner.outer_base
        if start <= base or text[start - 1] != "!":
            return False
        return start - 1 == base or text[start - 2] != "\\"

    def _keep(self, start: int, end: int, citation: Citation, close: str) -> None:
        """Show a marker, and the text before it."""
        scanner = self._scanner
        visible = self._visible
        scanner.give_up()
        self._hole = -1
        # Those removed from inside the marker come before it.
        self._marks = tuple([(min(place, start), inner) for place, inner in self._marks])
        shrunk = self._close_outer_holes()
        start -= shrunk
        end -= shrunk
        self._show(start)
        if visible.behind is _BEHIND_BRACKET:
            self._visible.show(" ")
        self._flush()
        citation.start = visible.offset
        visible.cite(citation.text, close)
        citation.end = visible.offset
        self._events.append(citation)
        scanner.drop(end - start)
        scanner.searched = 0
        self._mended = -1

    def _remove(self, start: int, end: int, citation: Citation | None) -> None:
        """Take a marker out of the text; what goes with it is decided when more is known."""
        scanner = self._scanner
        self._hole = start
        self._stage = _STAGE_RUN
        if start < self._mended:
            # It stood inside this one, whose space is its own.
            self._mended = -1
        self._cut(start, end)
        if citation is not None:
            self._marks += ((start, citation),)
        if self._behind_marker and not scanner.open:
            # Behind a kept marker the separator goes with the removed one.
            found, _ = separator(scanner.text, 0, start)
            if start and (found == start or scanner.text[:start] == " "):
                self._cut(0, start)
            self._stage = _STAGE_MEET if self._hole == 0 else _STAGE_RUN

    @property
    def _behind_marker(self) -> bool:
        return self._visible.behind in _BEHIND_ANY_MARKER

    # Mending

    def _mend(self) -> bool:
        """Close the hole that a removed marker left; return whether it is known how."""
        scanner = self._scanner
        if self._stage is _STAGE_RUN:
            end = min(len(scanner.text), scanner.limit)
            found, more = separator(scanner.text, self._hole, end)
            if more and scanner.peek(end) is None:
                return False
            if found < end and scanner.opens(found):
                # Nothing but a separator is before it: it is read.
                self._begin_at(found)
                self._run = found
                return True
            self._stage = _STAGE_SURROUNDINGS
        if self._stage is _STAGE_SURROUNDINGS:
            if not self._take_surroundings():
                return False
            self._stage = _STAGE_MEET
        hole = self._hole
        follower = scanner.peek(hole)
        if follower is None:
            return False
        before = scanner.text[hole - 1] if hole else self._visible.last
        if not scanner.open and hole == 0 and self._visible.regions.settled().line_start:
            if follower == " ":
                self._cut(hole, hole + 1)
        elif before == follower == ".":
            self._cut(hole, hole + 1)
        elif follower and needs_space(before, follower):
            scanner.insert(hole, " ")
        self._mended = self._hole
        self._hole = -1
        return True

    def _take_surroundings(self) -> bool:
        """Take the wrapper and the space of a removed marker; return whether it is known."""
        scanner = self._scanner
        text = scanner.text
        hole = self._hole
        opener = wrapper(text, hole, scanner.base, self._visible.last)
        if opener:
            closer = CLOSERS[opener]
            end = hole + len(closer)
            following = text[hole : min(end, scanner.limit)]
            if following == closer:
                self._cut(hole, end)
                hole -= len(opener)
                self._cut(hole, hole + len(opener))
            elif closer.startswith(following) and scanner.peek(hole + len(following)) is None:
                return False
        # Where another marker went from here, the space before that was its own.
        if hole > scanner.base and scanner.text[hole - 1] == " " and hole != self._mended:
            self._cut(hole - 1, hole)
        return True

    def _cut(self, start: int, end: int) -> None:
        """Remove a piece of the held text, and keep the places in it right."""
        self._scanner.cut(start, end)
        self._hole = _moved(self._hole, start, end)
        self._mended = _moved(self._mended, start, end)
        self._move_marks(start, end)

    def _move_marks(self, start: int, end: int) -> None:
        self._marks = tuple(
            [(_moved(place, start, end), citation) for place, citation in self._marks]
        )

    # Showing

    def _show(self, count: int) -> None:
        """Show the first `count` characters of the held text."""
        scanner = self._scanner
        visible = self._visible
        pos = 0
        while self._marks and self._marks[0][0] <= count:
            place, citation = self._marks[0]
            self._marks = self._marks[1:]
            visible.show(scanner.text[pos:place])
            self._flush()
            citation.start = citation.end = visible.offset
            self._events.append(citation)
            pos = place
        visible.show(scanner.text[pos:count])
        scanner.drop(count)
        if self._hole >= 0:
            self._hole -= count
        self._mended -= count
        self._marks = tuple([(place - count, citation) for place, citation in self._marks])

    def _flush(self) -> None:
        """Make an event of the text shown."""
        if self._visible.parts:
            self._events.append(Text(self._visible.parts))
            self._visible.parts = ""


class _Judged:
    """A marker that was checked, while it is not known yet what belongs to it."""

    __slots__ = ("cited", "end", "invalid", "linked", "raw", "reading", "start", "text")

    def __init__(
        self,
        reading: Reading,
        cited: tuple[Label, ...],
        invalid: tuple[Label, ...],
        scanner: Scanner,
    ) -> None:
        self.reading = reading
        self.cited = cited
        self.invalid = invalid
        self.start = scanner.start
        self.end = scanner.end
        self.raw = scanner.text[scanner.start : scanner.end]
        self.text: str | None = None
        self.linked = False

    def wrap(self, text: str) -> None:
        """Take in the brackets around it."""
        self.start -= 1
        self.raw = text[self.start] + self.raw + text[self.end]
        self.end += 1
        self.text = None
        self.linked = False

    def link(self, end: int, image: bool) -> None:
        """Take in the link destination behind it, and an image's mark."""
        self.end = end
        self.start -= image
        self.linked = True


def _moved(place: int, start: int, end: int) -> int:
    """Return where a place is once the text from `start` to `end` is gone."""
    return place - (end - start) if place >= end else min(place, start)
