"""Where a sentence of the visible answer ends, and which sentences carry a citation.

It follows the events of a text block and knows neither the passages nor what is
done about a sentence without a citation. No library does this: those that split
sentences want the whole text or keep one that never ends, and none is told where
a marker stands.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from citestream.blocks import Kind, Line, read_line
from citestream.events import Sentence, Text
from citestream.regions import MOST_UNDECIDED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from citestream.events import Citation, Label

__all__ = [
    "ABBREVIATIONS",
    "MOST_PLACES",
    "MOST_SENTENCE",
    "MOST_UNCITED",
    "Abbreviations",
    "Coverage",
    "Sentences",
]

MOST_SENTENCE = 4096
"""Characters of a sentence, at most. What is longer is cut there, and each piece is a sentence.

Prose has some hundred, the longest sentences of statutes two thousand.
"""

MOST_UNCITED = 100
"""Uncited sentences whose text is kept; a hostile answer can write any number of them."""

MOST_PLACES = 100
"""Sentences that are kept for each label."""

# No more than this of a line is looked at to find out what kind of line it is.
MOST_BEGINNING = 256

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
_BLANKS = re.compile(r"[^\S\r\n]*")
# A table's cell ends like a line: there a bar is as good as white space.
_ROW_BLANKS = re.compile(r"(?:[^\S\r\n]|\|)*")
_NEWLINE = re.compile(r"[\r\n]")
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
_INFO_END = re.compile(r"[`\r\n]")
_CODE = re.compile(r"`+|[\r\n]")
_UNDERLINE = re.compile(r"[ \t>]*(?:=+|-+)[ \t]*")
_DELIMITER_ROW = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_MAY_BE_DELIMITER_ROW = re.compile(r"[|:\- \t]*")
_BAR = re.compile(r"(?<!\\)\|")

# All that may end a sentence or begin code.
_find_special = re.compile(f"[{_STOPS}\n\r`]").search

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


# Abbreviations

# Each of these is a place where uncited text can hide: whatever follows one
# belongs to its sentence. So the lists are short, words that often end a
# sentence ("etc.", "Inc.") are not in them, and "No." needs its number.
ABBREVIATIONS = {
    "en": tuple(
        "al., approx., Art., Arts., cf., Cf., Ch., Dr., e.g., E.g., Eq., Eqs., Fig., Figs., i.e., "
        "I.e., Mr., Mrs., Ms., No. #, Nos. #, p. #, para. #, paras. #, pp. #, Prof., Sec., Secs., "
        "St., Vol. #, vs.".split(", ")
    ),
    # "am 3. Mai" is everyday German, an answer that ends in "25." is not.
    "de": tuple(
        "#., Abb., Abs., al., Art., bspw., bzw., ca., d., d.h., Dr., evtl., Fr., ggf., h., Hr., "
        "inkl., Kap., Mio., Mrd., Nr. #, Nrn. #, Prof., Rn. #, s., sog., St., Tab., u., u.a., v., "
        "vgl., Vgl., z., z.B.".split(", ")
    ),
    "fr": tuple(
        "al., art., Art., av., cf., Cf., chap., Dr., env., ex., fig., Fig., No. #, p., pp. #, "
        "Prof., vol. #".split(", ")
    ),
    "es": tuple(
        "al., aprox., art., Art., arts., cap., cf., Cf., Dr., Dra., EE., ej., fig., Fig., núm. #, "
        "p., pág. #, págs. #, párr., pp. #, Sr., Sra., Ud., Uds., UU., vol. #".split(", ")
    ),
}
"""Words whose full stop ends no sentence, by language, in the form that `Abbreviations` takes."""


class Abbreviations:
    """Words whose full stop ends no sentence."""

    __slots__ = ("_words", "before_number", "longest", "others")

    def __init__(self, words: Iterable[str] = ABBREVIATIONS["en"]) -> None:
        """Take the words, case and all.

        Args:
            words: `"Fig."` ends no sentence. `"No. #"` ends none where a
                digit follows. `"#."` stands for a number of one or two digits.

        Raises:
            ValueError: A word is none of these.
        """
        self._words = tuple(words)
        before_number: set[str] = set()
        others: set[str] = set()
        for word in self._words:
            bare = word.removesuffix(" #")
            if len(bare) < 2 or bare[-1] != "." or len(bare.split()) > 1:
                raise ValueError(
                    "expected each abbreviation to be one word that ends in a full stop, "
                    f'such as "Fig." or "No. #", got {word!r}'
                )
            (others if bare == word else before_number).add(bare[:-1])
        self.before_number = frozenset(before_number)
        """Those that end no sentence where a digit follows, without the full stop."""
        self.others = frozenset(others)
        """Those that never end one, without the full stop."""
        self.longest = max(map(len, before_number | others), default=1)
        """How long the longest of them is."""

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)


ENGLISH = Abbreviations()


# Coverage


class Coverage:
    """Counts the sentences of one answer; all its text blocks share it."""

    __slots__ = ("_places", "_uncited", "sentences", "truncated", "uncited_sentences")

    def __init__(self) -> None:
        self.sentences = 0
        """How many sentences have ended."""
        self.uncited_sentences = 0
        """How many of them carry no valid citation."""
        self.truncated = False
        """Whether `uncited` leaves sentences out, or `places` does."""
        self._uncited: list[str] = []
        self._places: dict[Label, list[int]] = {}

    def count(self, sentence: Sentence) -> None:
        """Count a sentence that has ended."""
        self.sentences += 1
        if not sentence.covered:
            self.uncited_sentences += 1
            if len(self._uncited) < MOST_UNCITED:
                self._uncited.append(sentence.content)
            else:
                self.truncated = True
        for label in sentence.cited:
            places = self._places.get(label)
            if places is None:
                self._places[label] = [self.sentences]
            elif len(places) < MOST_PLACES:
                places.append(self.sentences)
            else:
                self.truncated = True

    @property
    def uncited(self) -> tuple[str, ...]:
        """The sentences that carry no valid citation."""
        return tuple(self._uncited)

    @property
    def places(self) -> dict[Label, tuple[int, ...]]:
        """The numbers of the sentences, from one, in which each label is cited."""
        return {label: tuple(places) for label, places in self._places.items()}


# Sentences


class _Info(NamedTuple):
    """A line that opens fenced code unless another backtick follows on it."""

    run: str
    """The backticks that begin it."""
    at: int
    """Where the info string behind them begins, from the line's start."""
    containers: tuple[int, ...]
    otherwise: Line
    """What the line is when a backtick follows."""


class _Opener(NamedTuple):
    """Backticks that may or may not find their like."""

    end: int
    length: int
    passed: int
    """How many marks lie before them."""


class Sentences:
    """Follows the events of a text block and says where its sentences end.

    Held is no more than the open sentence and what decides its end: the next
    character that is no space, the markers before that, at a line's end what
    kind of line comes next. Code that may or may not close decides, too, for
    at most `MOST_UNDECIDED` characters.
    """

    __slots__ = (
        "_abbreviations",
        "_at",
        "_base",
        "_break",
        "_calm",
        "_code",
        "_containers",
        "_coverage",
        "_doubt",
        "_end",
        "_ended",
        "_fence",
        "_head",
        "_info",
        "_line",
        "_line_at",
        "_line_break",
        "_marked",
        "_marks",
        "_numbered",
        "_paragraph",
        "_passed",
        "_row",
        "_skip",
        "_soft",
        "_stop",
        "_table",
        "_text",
        "_word_at",
        "_word_mark",
        "_worded",
    )

    def __init__(
        self, coverage: Coverage | None = None, abbreviations: Abbreviations = ENGLISH
    ) -> None:
        """Begin at the start of a text block.

        Args:
            coverage: Where the sentences are counted as they end.
            abbreviations: Words whose full stop ends no sentence.
        """
        self._coverage = Coverage() if coverage is None else coverage
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
        self._code: _Opener | None = None
        self._soft: dict[int, int] = {}  # line breaks passed inside the code, and their ends
        self._doubt = False  # is the rest of the paragraph prose, backticks and all?
        # A line of which it is not known what it is: where it begins, -1
        # elsewhere, and where the one before it ended.
        self._line = 0
        self._break = 0
        self._info: _Info | None = None
        self._skip = False  # to the end of the line: it is a heading, or code
        self._line_at = 0  # where the line's own text begins in the cleaned answer
        self._line_break = 0  # where the line before it ended there
        self._head = False  # does a bar begin the line, which may be a table's header?
        self._row = False
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
            if event.__class__ is Text and _find_special(text) is None:
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
                        if _find_special(text) is not None:
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
        if len(self._text) >= MOST_SENTENCE:
            self._wake()
            self._cut()

    def _cut(self) -> None:
        """Bring a text that has become too long under the limit."""
        while len(self._text) >= MOST_SENTENCE:
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

    def _find(self, final: bool) -> bool:
        """Look for what may end the sentence, or begin code."""
        text = self._text
        marks = self._marks
        while True:
            mark = marks[self._passed] if self._passed < len(marks) else None
            limit = len(text) if mark is None else mark.start - self._base
            match = _find_special(text, self._at, limit)
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
        blanks = _ROW_BLANKS if self._row else _BLANKS
        while True:
            mark = marks[self._passed] if self._passed < len(marks) else None
            limit = len(text) if mark is None else mark.start - self._base
            at = self._at
            if at == self._end:
                self._end = at = _match_end(_ATTACHED, text, at, limit)
            self._at = at = _match_end(blanks, text, at, limit)
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
            if not (self._row or _is_hard_break(text, at)):
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

    def _begin_code(self, at: int, limit: int, final: bool) -> bool:
        """Read the backticks there; return whether all of them have come."""
        text = self._text
        end = _match_end(_BACKTICKS, text, at, limit)
        if end == len(text) and not final:
            self._at = at
            return False
        # A backslash takes one of them.
        length = end - at - _is_escaped(text, at)
        self._at = end
        if length and not self._doubt:
            self._code = _Opener(end, length, self._passed)
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

    def _read_as_text(self, opener: _Opener) -> None:
        """Go back to backticks that opened nothing, and on from there."""
        self._code = None
        self._at = opener.end
        self._passed = opener.passed

    def _end_line(self, at: int, final: bool) -> bool:
        """Go on over the line break there; return whether all of it has come."""
        text = self._text
        then = _next_line(text, at)
        if text[at] == "\r" and then == len(text) and not final:
            self._at = at
            return False
        if at and self._end < 0 and self._code is None and not self._head:
            if self._row or _is_hard_break(text, at):
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
        at = _match_end(_BLANKS, self._text, start, limit)
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


def _match_end(pattern: re.Pattern[str], text: str, at: int, limit: int) -> int:
    match = pattern.match(text, at, limit)
    return at if match is None else match.end()


def _next_line(text: str, at: int) -> int:
    """Return where the line behind the line break at `at` begins."""
    return at + 2 if text.startswith("\r\n", at) else at + 1


def _is_escaped(text: str, at: int) -> bool:
    before = text[:at]
    return (at - len(before.rstrip("\\"))) % 2 == 1


def _is_hard_break(text: str, at: int) -> bool:
    return text.endswith("  ", 0, at) or _is_escaped(text, at)


def _cells(row: str) -> int:
    """Return how many cells a table's row has."""
    row = row.strip()
    ends = row.startswith("|") + (row.endswith("|") and not _is_escaped(row, len(row) - 1))
    return len(_BAR.findall(row)) + 1 - ends
