"""Where a sentence of the visible answer ends: follows the events of a block, line by line.

It knows neither the passages nor what is done about a sentence without a
citation. No library does this: those that split sentences want the whole text or
keep one that never ends, and none is told where a marker stands.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from citestream.abbreviations import ABBREVIATIONS, ENGLISH, Abbreviations
from citestream.blocks import Kind, Line, read_line
from citestream.coverage import Coverage
from citestream.events import Text
from citestream.stops import BLANKS, Stops, find_special, is_escaped, is_hard_break, match_end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from citestream.events import Citation, Sentence

__all__ = [
    "ABBREVIATIONS",
    "MOST_SENTENCE",
    "Abbreviations",
    "Sentences",
]

MOST_SENTENCE = 4096
"""Characters of a sentence, at most. What is longer is cut there, and each piece is a sentence.

Prose has some hundred, the longest sentences of statutes two thousand.
"""

# No more than this of a line is looked at to find out what kind of line it is.
MOST_BEGINNING = 256

_NEWLINE = re.compile(r"[\r\n]")
_INFO_END = re.compile(r"[`\r\n]")
_UNDERLINE = re.compile(r"[ \t>]*(?:=+|-+)[ \t]*")
_DELIMITER_ROW = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_MAY_BE_DELIMITER_ROW = re.compile(r"[|:\- \t]*")
_BAR = re.compile(r"(?<!\\)\|")

# Looking a member up on its class costs as much as a call in CPython 3.11.
_KIND_BLANK = Kind.BLANK
_KIND_CONTINUATION = Kind.CONTINUATION
_KIND_FENCE = Kind.FENCE
_KIND_FENCED = Kind.FENCED
_KIND_FENCE_END = Kind.FENCE_END
_KIND_HEADING = Kind.HEADING
_KIND_HTML = Kind.HTML
_KIND_MAY_BE_FENCE = Kind.MAY_BE_FENCE
_KIND_PARAGRAPH = Kind.PARAGRAPH
_KIND_RULE = Kind.RULE
_KIND_WAIT = Kind.WAIT


class _Info(NamedTuple):
    """A line that opens fenced code unless another backtick follows on it."""

    run: str
    """The backticks that begin it."""
    at: int
    """Where the info string behind them begins, from the line's start."""
    containers: tuple[int, ...]
    otherwise: Line
    """What the line is when a backtick follows."""


class Sentences(Stops):
    """Follows the events of a text block and says where its sentences end.

    Held is no more than the open sentence and what decides its end: the next
    character that is no space, the markers before that, at a line's end what
    kind of line comes next. Code that may or may not close decides, too, for
    at most `MOST_UNDECIDED` characters.
    """

    __slots__ = (
        "_break",
        "_containers",
        "_fence",
        "_head",
        "_info",
        "_line",
        "_line_at",
        "_line_break",
        "_paragraph",
        "_skip",
        "_table",
    )

    def __init__(
        self, coverage: Coverage | None = None, abbreviations: Abbreviations = ENGLISH
    ) -> None:
        """Begin at the start of a text block.

        Args:
            coverage: Where the sentences are counted as they end.
            abbreviations: Words whose full stop ends no sentence.
        """
        super().__init__(Coverage() if coverage is None else coverage, abbreviations)
        # A line of which it is not known what it is: where it begins, -1
        # elsewhere, and where the one before it ended.
        self._line = 0
        self._break = 0
        self._info: _Info | None = None
        self._skip = False  # to the end of the line: it is a heading, or code
        self._line_at = 0  # where the line's own text begins in the cleaned answer
        self._line_break = 0  # where the line before it ended there
        self._head = False  # does a bar begin the line, which may be a table's header?
        self._table = False
        self._containers: tuple[int, ...] = ()
        self._fence = ""
        self._paragraph = False

    @property
    def settled(self) -> int:
        """Up to where the text belongs to sentences that have ended, or to none at all.

        In code points of the cleaned answer. What stands behind it may yet
        turn out to be a sentence, or to end one.
        """
        return self._base

    def feed(self, events: Sequence[Text | Citation]) -> list[Sentence]:
        """Follow the next events; return the sentences that nothing more can belong to.

        Args:
            events: What the reader gets, in order. A removed marker is a
                citation without text.
        """
        if self._calm and len(events) == 1:
            # Nearly always: a piece of a sentence, in which nothing ends.
            event = events[0]
            text = event.text
            if event.__class__ is Text and find_special(text) is None:
                whole = self._text + text
                if len(whole) < MOST_SENTENCE:
                    self._text = whole
                    return []
        for event in events:
            text = event.text
            if self._calm:
                whole = self._text + text
                if len(whole) < MOST_SENTENCE:
                    if isinstance(event, Text):
                        if find_special(text) is not None:
                            self._wake()
                            self._text = whole
                            if self._find(False):
                                self._scan()
                        else:
                            self._text = whole
                        continue
                    if text:
                        self._marks.append(event)
                        self._text = whole
                        continue
            elif (
                self._end == len(self._text)
                and text[:1] == " "
                and text[1:].isalpha()
                and len(text) < MOST_SENTENCE
                and self._line < 0
                and not self._marked
                and isinstance(event, Text)
            ):
                # The most common way that a sentence ends.
                self._end_sentence(self._end, self._end)
                self._base += 1
                self._text = text[1:]
                self._worded = self._calm = True
                continue
            if isinstance(event, Text):
                self._take(text)
            else:
                self._mark(event)
        if not self._ended:
            return []
        ended, self._ended = self._ended, []
        return ended

    def finish(self) -> list[Sentence]:
        """Say that no more comes; return the sentences still open."""
        self._wake()
        self._scan(final=True)
        end = self._break if self._line >= 0 else len(self._text)
        self._close(end, len(self._text))
        ended, self._ended = self._ended, []
        return ended

    # Taking events

    def _wake(self) -> None:
        """Say how far the text has been gone over, which nobody does while it is calm."""
        if self._calm:
            self._calm = False
            self._at = len(self._text)
            self._passed = len(self._marks)

    def _take(self, text: str) -> None:
        """Go on over the next piece of text, however long."""
        self._wake()
        start = 0
        room = MOST_SENTENCE - len(self._text)
        while len(text) - start >= room:
            self._text += text[start : start + room]
            start += room
            self._scan()
            self._cut()
            self._wake()
            room = MOST_SENTENCE - len(self._text)
        self._text += text[start:]
        self._scan()

    def _mark(self, citation: Citation) -> None:
        """Go on over a citation, whose text is no prose."""
        text = citation.text
        if not text and not citation.cited:
            # Of a removed marker it only matters that it says what is no code.
            if self._code is None and self._info is None:
                return
        elif not text and self._marks:
            last = self._marks[-1]
            if last.end == citation.start and last.cited:
                # Any number of markers without text can stand in one place.
                cited = tuple(dict.fromkeys(last.cited + citation.cited))
                self._marks[-1] = replace(last, cited=cited)
                return
        self._marks.append(citation)
        self._text += text
        if not self._calm:
            self._scan()
        self._cut()

    def _cut(self) -> None:
        """Bring a text that has become too long under the limit."""
        while len(self._text) >= MOST_SENTENCE:
            self._wake()
            self._overflow()
            self._scan()

    def _scan(self, *, final: bool = False) -> None:
        """Go on over the text as far as it is known what it is."""
        more = True
        while more:
            if self._line >= 0:
                more = self._open_line(final)
            elif self._end >= 0:
                more = self._behind_stop(final)
            elif self._skip:
                more = self._skip_line(final)
            elif self._code is not None:
                more = self._close_code(final)
            elif self._head:
                more = self._pass_header(final)
            else:
                more = self._find(final)

    def _overflow(self) -> None:
        """Decide something of the text that has become too long."""
        if self._line > 0:
            self._close(self._break, self._line)
            self._line = self._break = 0
        elif self._info is not None:
            # It begins to be a long line, and may still open fenced code.
            otherwise = Line(_KIND_PARAGRAPH, 0, self._info.containers)
            self._info = self._info._replace(at=0, otherwise=otherwise)
            self._end_sentence(len(self._text), len(self._text))
        elif self._head:
            self._be_no_header()
        elif self._code is not None:
            self._read_as_text(self._code)
        elif self._end >= 0:
            self._end_sentence(self._end, self._at)
        else:
            self._end_sentence(len(self._text), len(self._text))

    # Inside a line

    def _end_line(self, at: int, final: bool) -> bool:
        """Go on over the line break there; return whether all of it has come."""
        text = self._text
        then = _next_line(text, at)
        if text[at] == "\r" and then == len(text) and not final:
            self._at = at
            return False
        if at and self._end < 0 and self._code is None and not self._head:
            if self._row or is_hard_break(text, at):
                self._end_sentence(at, at)
                return True
            if self._leads_on(at):
                self._forget(at)
                return True
        soft = self._soft.pop(self._base + at, None)
        if soft is not None:
            self._at = soft - self._base
            return True
        self._at = self._break = at
        self._line = then
        return True

    def _leads_on(self, end: int) -> bool:
        """Return whether a colon stands at the end of the line, and so this is no sentence."""
        at = len(self._text[:end].rstrip("*_~ \t")) - 1
        if at < 0 or self._text[at] not in ":：":
            return False
        return not self._passed or self._marks[self._passed - 1].end != self._base + at + 1

    # Ends

    def _close(self, end: int, rest: int) -> None:
        """Give out what stands before `end`, where its block ends, and go on from `rest`."""
        behind: list[Citation] = []
        if end:
            text = self._text
            while self._marks and self._marks[-1].start > self._base + end:
                behind.append(self._marks.pop())
            self._text = text[:end]
            self._passed = min(self._passed, len(self._marks))
            if self._code is not None and self._code.end > end:
                self._code = None
            self._line = -1
            if self._head:
                self._be_no_header()
            self._scan(final=True)
            size = len(self._text)
            if self._row or not self._leads_on(size):
                self._end_sentence(size, size)
            else:
                self._forget(size)
            self._text = text[end:]
            self._marks += reversed(behind)
        self._soft.clear()
        self._line = -1
        self._forget(rest - end)

    # Lines

    def _skip_line(self, final: bool) -> bool:
        """Go on over a line that holds no sentence."""
        text = self._text
        match = _NEWLINE.search(text)
        if match is None:
            self._forget(len(text))
            return False
        at = match.start()
        then = _next_line(text, at)
        if text[at] == "\r" and then == len(text) and not final:
            self._forget(at)
            return False
        self._forget(then)
        self._skip = False
        self._line = self._break = 0
        return True

    def _pass_header(self, final: bool) -> bool:
        """Go on over a line that may be a table's header: that is known on the next one."""
        match = _NEWLINE.search(self._text, self._at)
        if match is not None:
            return self._end_line(match.start(), final)
        self._at = len(self._text)
        if final:
            self._be_no_header()
        return final

    def _be_no_header(self) -> None:
        """Read the line that began with a bar as a table's row."""
        self._head = False
        self._row = True
        self._at = 0

    def _open_line(self, final: bool) -> bool:
        """Find out what kind of line begins; return whether it is known."""
        text = self._text
        start = self._line
        if start == len(text):
            return False
        first = self._base + start
        marks = self._marks[self._passed :]
        mark = next((m for m in marks if m.text and m.start >= first), None)
        limit = len(text) if mark is None else mark.start - self._base
        if self._end >= 0 and self._ends_above(start, limit):
            return True
        if self._info is not None:
            return self._read_info(self._info, limit, mark is not None, final)
        window = min(limit, start + MOST_BEGINNING)
        newline = _NEWLINE.search(text, start, window)
        rest = window
        complete = final and window == len(text)
        if newline is not None:
            window = newline.start()
            rest = _next_line(text, window)
            if text[window] == "\r" and rest == len(text) and not final:
                return False
            complete = True
        line = text[start:window]
        may_wait = not complete and window - start < MOST_BEGINNING
        if mark is not None and window == limit:
            line += "["
            may_wait = False
        read = read_line(
            line,
            self._containers,
            fence=self._fence,
            paragraph=self._paragraph,
            complete=complete,
            may_wait=may_wait,
        )
        if read.kind is _KIND_WAIT:
            return False
        if read.kind is _KIND_MAY_BE_FENCE:
            # A backtick that follows would say that it is none.
            otherwise = read_line(
                line + " `",
                self._containers,
                fence=self._fence,
                paragraph=self._paragraph,
                complete=False,
                may_wait=False,
            )
            self._info = _Info(read.run, read.at, read.containers, otherwise)
            return True
        if read.kind is _KIND_CONTINUATION and not self._table:
            row = line[read.at :]
            if may_wait and _MAY_BE_DELIMITER_ROW.fullmatch(row):
                return False
            if complete and self._begin_table(row, rest):
                return True
        self._begin_line(read, line, rest)
        return True

    def _ends_above(self, start: int, limit: int) -> bool:
        """End the sentence whose stop was on the line before, unless a marker may follow."""
        at = match_end(BLANKS, self._text, start, limit)
        if at == limit or self._text[at] in "\r\n>":
            return False
        while self._passed < len(self._marks) and (
            self._marks[self._passed].end <= self._base + at
        ):
            self._passed += 1
        self._end_sentence(self._end, start)
        self._line = self._break = 0
        return True

    def _read_info(self, info: _Info, limit: int, marked: bool, final: bool) -> bool:
        """Go on over a line that may open fenced code; return whether it is known."""
        text = self._text
        start = self._line
        found = _INFO_END.search(text, start + info.at, limit)
        if found is None and not (marked or final):
            return False
        at = limit if found is None else found.start()
        if marked if found is None else text[at] == "`":
            line = info.otherwise
        else:
            line = Line(_KIND_FENCE, at - start, info.containers, info.run)
        self._info = None
        self._begin_line(line, "", at)
        return True

    def _begin_line(self, read: Line, line: str, rest: int) -> None:
        """Begin a line of which it is known what it is.

        Args:
            read: What it is.
            line: The line, as far as that was looked at.
            rest: Where the next line begins, if this one holds no text.
        """
        kind, at, containers, run = read
        start = self._line
        goes_on = kind is _KIND_CONTINUATION
        if goes_on and not (self._head or self._table or self._text.startswith("|", start + at)):
            self._go_on(start + at)
            return
        if (
            kind is _KIND_RULE
            and self._paragraph
            and containers == self._containers
            and _UNDERLINE.fullmatch(line)
        ):
            # What it underlines was a heading.
            self._forget(start)
        else:
            self._close(self._break, start)
        # Now the text begins with the line.
        if not goes_on:
            self._containers = containers
            self._paragraph = kind is _KIND_PARAGRAPH or kind is _KIND_HTML
            self._doubt = kind is _KIND_HTML
            self._table = False
        self._row = self._table
        if kind is not _KIND_FENCED:
            self._fence = run if kind is _KIND_FENCE else ""
        self._line = -1
        if kind is _KIND_BLANK or kind is _KIND_RULE or kind is _KIND_FENCE_END:
            self._forget(rest - start)
            self._line = self._break = 0
        else:
            self._forget(at)
            self._line_at = self._line_break = self._base
            self._skip = kind in {_KIND_HEADING, _KIND_FENCE, _KIND_FENCED}
            self._head = (
                self._paragraph and not self._table and not self._skip and self._text[:1] == "|"
            )

    def _go_on(self, own: int) -> None:
        """Go on with the paragraph on its next line, whose own text begins at `own`."""
        base = self._base
        if self._code is not None:
            self._soft[base + self._break] = base + own
        self._line_break = base + self._break
        self._line_at = base + own
        self._line = -1
        self._at = own
        marks = self._marks
        while self._passed < len(marks) and marks[self._passed].end < self._line_at:
            self._passed += 1

    def _begin_table(self, row: str, rest: int) -> bool:
        """Begin a table if this row and the line before say so; return whether they do."""
        if "|" not in row or not _DELIMITER_ROW.fullmatch(row):
            return False
        header = self._line_at - self._base
        if header >= 0:
            if _cells(self._text[header : self._break]) != _cells(row):
                return False
            self._head = False
            self._close(max(0, self._line_break - self._base), rest)
        else:
            # A sentence has ended on the header, too early to know: so the
            # rest of it is one as well.
            self._close(self._break, rest)
        self._table = True
        self._line = self._break = 0
        return True


def _next_line(text: str, at: int) -> int:
    """Return where the line behind the line break at `at` begins."""
    return at + 2 if text.startswith("\r\n", at) else at + 1


def _cells(row: str) -> int:
    """Return how many cells a table's row has."""
    row = row.strip()
    ends = row.startswith("|") + (row.endswith("|") and not is_escaped(row, len(row) - 1))
    return len(_BAR.findall(row)) + 1 - ends
