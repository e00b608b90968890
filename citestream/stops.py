"""Where a sentence of prose ends inside its block: stops, markers behind them, code.

It does not know what kinds of lines there are, nor what is done at their ends.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

from citestream.events import Sentence
from citestream.regions import MOST_UNDECIDED

if TYPE_CHECKING:
    from citestream.abbreviations import Abbreviations
    from citestream.coverage import Coverage
    from citestream.events import Citation, Label

__all__ = ["BLANKS", "Opener", "Stops", "find_special", "is_escaped", "is_hard_break", "match_end"]

_STOPS = ".!?…。！？؟۔।"
# The scripts of these put no space behind them.
_FIRM_STOPS = "。！？"
# What closes a quotation, a bracket or emphasis, and what is not seen at all.
_CLOSERS = (
    r"\"'”’»›)\]}」』）】》〉〕］｝*_~"
    r"\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
)
# These close in some languages and open in others: behind a firm stop they open.
_LATE_CLOSERS = "“‘«‹"

_ATTACHED = re.compile(
    rf"(?:[{_STOPS}{_CLOSERS}]|(?<![{_FIRM_STOPS}”’」』）】])[{_LATE_CLOSERS}])*"
)
_FIRM = re.compile(f"[{_FIRM_STOPS}]")
BLANKS = re.compile(r"[^\S\r\n]*")
"""White space within a line, as much as there is."""
# A table's cell ends like a line: there a bar is as good as white space.
_ROW_BLANKS = re.compile(r"(?:[^\S\r\n]|\|)*")
_WORD = re.compile(r"[^\W_]")
# What may stand between the markers of a run, and what that may begin with.
_SEPARATOR = re.compile(r"(?:[,;，；、&][^\S\r\n]*)?(?:(?:and|or)[^\S\r\n]*)?")
_MAY_BE_SEPARATOR = re.compile(r"(?:[,;，；、&][^\S\r\n]*)?(?:an?|o|(?:and|or)[^\S\r\n]*)?")
# Stands before a word without a blank.
_OPENERS = "([{\"'“‘«‹„‚*_~|/-–—"
_ENUMERATOR = re.compile(r"\W*(?:[0-9]{1,2}|[^\W\d_])")
# One capital letter, or several with a full stop behind each.
_INITIAL = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_BACKTICKS = re.compile(r"`+")
_CODE = re.compile(r"`+|[\r\n]")

find_special = re.compile(f"[{_STOPS}\n\r`]").search
"""Finds all that may end a sentence or begin code."""


class Opener(NamedTuple):
    """Backticks that may or may not find their like."""

    end: int
    length: int
    passed: int
    """How many marks lie before them."""


class Stops(ABC):
    """The open sentence, and how far it is known where it ends."""

    __slots__ = (
        "_abbreviations",
        "_at",
        "_base",
        "_calm",
        "_code",
        "_coverage",
        "_doubt",
        "_end",
        "_ended",
        "_marked",
        "_marks",
        "_numbered",
        "_passed",
        "_row",
        "_soft",
        "_stop",
        "_text",
        "_word_at",
        "_word_mark",
        "_worded",
    )

    def __init__(self, coverage: Coverage, abbreviations: Abbreviations) -> None:
        self._coverage = coverage
        self._abbreviations = abbreviations
        self._ended: list[Sentence] = []
        # The open sentence and what is undecided behind it. It starts at
        # `_base` in the cleaned answer; marks and soft breaks are counted from
        # the answer's start, all other places from there.
        self._text = ""
        self._base = 0
        self._marks: list[Citation] = []
        self._at = 0  # how far the text has been gone over
        self._passed = 0  # how many marks lie before that
        self._calm = False  # is all of it gone over, and nothing undecided?
        # A word must have come before a stop counts, and marks are no words.
        self._worded = False
        self._word_at = 0
        self._word_mark = 0
        # Behind a stop: where the sentence ends so far, -1 elsewhere.
        self._end = -1
        self._stop = 0
        self._marked = False  # has a marker come since the stop?
        self._numbered = False  # would a digit say that it is no stop?
        self._code: Opener | None = None
        self._soft: dict[int, int] = {}  # line breaks passed inside the code, and their ends
        self._doubt = False  # is the rest of the paragraph prose, backticks and all?
        self._row = False  # is this a table's row, whose end is the line's?

    @abstractmethod
    def _end_line(self, at: int, final: bool) -> bool:
        """Go on over the line break there; return whether all of it has come."""

    # Stops

    def _find(self, final: bool) -> bool:
        """Look for what may end the sentence, or begin code."""
        text = self._text
        marks = self._marks
        while True:
            mark = marks[self._passed] if self._passed < len(marks) else None
            limit = len(text) if mark is None else mark.start - self._base
            match = find_special(text, self._at, limit)
            if match is None:
                if mark is not None:
                    self._passed += 1
                    self._at = mark.end - self._base
                    continue
                self._at = limit
                self._calm = not final
                return False
            at = match.start()
            char = text[at]
            if char in "\r\n":
                return self._end_line(at, final)
            self._at = at + 1
            if char == "`":
                if not self._begin_code(at, limit, final):
                    return False
                if self._code is not None:
                    return True
            elif self._begin_end(at):
                # Nothing is known yet of what stands behind it.
                return final or mark is not None or at + 1 < limit

    def _begin_end(self, stop: int) -> bool:
        """Begin the end of the sentence at the stop there, if what is before it allows that."""
        if not (self._worded or self._has_word(stop)):
            return False
        self._numbered = False
        if self._text[stop] == "." and self._is_abbreviated(stop):
            return False
        self._stop = stop
        self._end = stop + 1
        self._marked = False
        return True

    def _is_abbreviated(self, stop: int) -> bool:
        """Return whether the full stop there belongs to the word before it."""
        text = self._text
        if self._passed:
            last = self._marks[self._passed - 1]
            if last.end - self._base == stop and last.text:
                return False
        elif stop < 8 and _ENUMERATOR.fullmatch(text, 0, stop):
            return True
        words = self._abbreviations
        word = text[max(0, stop - words.longest - 8) : stop]
        if word[-1].isspace():
            return False
        word = word.rsplit(None, 1)[-1].lstrip(_OPENERS)
        if word in words.others:
            return True
        self._numbered = word in words.before_number
        if len(word) > 2 and "." not in word:
            return False
        return (word.isupper() and _INITIAL.fullmatch(word) is not None) or (
            "#" in words.others and word.isdecimal()
        )

    def _has_word(self, end: int) -> bool:
        """Return whether a word stands before `end`, apart from the marks."""
        while not self._worded:
            passed = self._word_mark < self._passed
            limit = self._marks[self._word_mark].start - self._base if passed else end
            self._worded = _WORD.search(self._text, self._word_at, limit) is not None
            if not passed:
                self._word_at = end
                break
            self._word_at = self._marks[self._word_mark].end - self._base
            self._word_mark += 1
        return self._worded

    def _behind_stop(self, final: bool) -> bool:
        """Look for what belongs to the sentence behind its stop, and whether it ends there."""
        text = self._text
        marks = self._marks
        at = self._at
        if (
            at == self._end
            and text[at : at + 1] == " "
            and text[at + 1 : at + 2].isalpha()
            and self._passed == len(marks)
            and not self._marked
        ):
            # The most common way, without a search.
            self._end_sentence(at, at + 1)
            return True
        blanks = _ROW_BLANKS if self._row else BLANKS
        while True:
            mark = marks[self._passed] if self._passed < len(marks) else None
            limit = len(text) if mark is None else mark.start - self._base
            at = self._at
            if at == self._end:
                self._end = at = match_end(_ATTACHED, text, at, limit)
            self._at = at = match_end(blanks, text, at, limit)
            if at < limit and self._marked and text[at] not in "\r\n":
                between = text[at:limit]
                if mark is not None and _SEPARATOR.fullmatch(between):
                    self._at = at = limit
                elif mark is None and not final and _MAY_BE_SEPARATOR.fullmatch(between):
                    return False
            if at < limit:
                break
            if mark is None:
                if not final:
                    return False
                break
            self._passed += 1
            if mark.text:
                self._at = self._end = mark.end - self._base
                self._marked = True
            elif mark.cited:
                self._marked = True
        follower = text[at : at + 1]
        if follower in {"\n", "\r"}:
            if not (self._row or is_hard_break(text, at)):
                return self._end_line(at, final)
        elif not (
            at > self._end
            or not follower
            or self._marked
            or _FIRM.search(text, self._stop, self._end)
        ) or (self._numbered and not self._marked and follower.isdecimal()):
            self._end = -1
            return True
        self._end_sentence(self._end, at)
        return True

    # Code

    def _begin_code(self, at: int, limit: int, final: bool) -> bool:
        """Read the backticks there; return whether all of them have come."""
        text = self._text
        end = match_end(_BACKTICKS, text, at, limit)
        if end == len(text) and not final:
            self._at = at
            return False
        # A backslash takes one of them.
        length = end - at - is_escaped(text, at)
        self._at = end
        if length and not self._doubt:
            self._code = Opener(end, length, self._passed)
        return True

    def _close_code(self, final: bool) -> bool:
        """Look for the backticks that close the code, or for what says that it is none."""
        opener = self._code
        assert opener is not None  # the caller has looked
        text = self._text
        most = opener.end + MOST_UNDECIDED
        # No marker is recognised in code: where one was, there is none.
        mark = self._marks[self._passed] if self._passed < len(self._marks) else None
        limit = min(most, len(text) if mark is None else mark.start - self._base)
        at = self._at
        while True:
            match = _CODE.search(text, at, limit)
            if match is None:
                break
            at = match.start()
            if text[at] != "`":
                soft = self._soft.get(self._base + at)
                if soft is not None:
                    at = soft - self._base
                    continue
                if self._row:
                    self._read_as_text(opener)
                    return True
                return self._end_line(at, final)
            end = match.end()
            if end == len(text) < most and mark is None and not final:
                self._at = at
                return False
            if end - at == opener.length and end < most:
                self._code = None
                self._at = end
                self._soft = {at: to for at, to in self._soft.items() if at >= self._base + end}
                return True
            at = end
        self._at = limit
        if mark is None and not final and len(text) < most:
            return False
        self._doubt = self._doubt or limit == most
        self._read_as_text(opener)
        return True

    def _read_as_text(self, opener: Opener) -> None:
        """Go back to backticks that opened nothing, and on from there."""
        self._code = None
        self._at = opener.end
        self._passed = opener.passed

    # Ends

    def _end_sentence(self, end: int, rest: int) -> None:
        """Give out what stands before `end`, and go on from `rest`."""
        if self._worded or self._has_word(end):
            text = self._text[:end]
            content = text.strip()
            start = self._base
            if len(content) < end:
                start += end - len(text.lstrip())
            cited: tuple[Label, ...] = ()
            if self._passed:
                cited = self._marks[0].cited
                if self._passed > 1 or len(cited) > 1:
                    marks = self._marks[: self._passed]
                    cited = tuple(dict.fromkeys([label for mark in marks for label in mark.cited]))
            sentence = Sentence(content, cited, cited != (), start, start + len(content))
            self._coverage.count(sentence)
            self._ended.append(sentence)
        self._forget(rest)

    def _forget(self, rest: int) -> None:
        """Go on from `rest`; what stands before it belongs to no sentence any more."""
        self._text = self._text[rest:]
        self._base += rest
        if self._marks:
            passed, self._passed = self._passed, 0
            self._marks = [mark for mark in self._marks[passed:] if mark.start >= self._base]
            self._word_mark = 0
        self._at = self._word_at = 0
        self._end = -1
        self._worded = False
        self._code = None


def match_end(pattern: re.Pattern[str], text: str, at: int, limit: int) -> int:
    """Return where the match at a place ends; the place itself if there is none."""
    match = pattern.match(text, at, limit)
    return at if match is None else match.end()


def is_escaped(text: str, at: int) -> bool:
    """Return whether a backslash that counts stands before a place."""
    before = text[:at]
    return (at - len(before.rstrip("\\"))) % 2 == 1


def is_hard_break(text: str, at: int) -> bool:
    """Return whether the line break at a place is more than a space."""
    return text.endswith("  ", 0, at) or is_escaped(text, at)
