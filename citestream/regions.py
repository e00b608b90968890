"""What is not prose: code, maths, URLs, escapes, judged on the text as the reader gets it.

It follows the visible text of an answer, piece by piece, and says of the place
reached whether a bracket there could be a marker; it does not know what a
marker is.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Protocol

from citestream.blocks import Kind, read_line

__all__ = ["MOST_UNDECIDED", "Finder", "Place", "Regions", "Verdict"]

MOST_UNDECIDED = 512
"""Characters that wait, at most, for a region that may or may not close."""

# A paragraph with more openers than this of different kinds, none of them
# closed, is in doubt. Prose has one or two.
MOST_OPEN = 8

# No more than this of a line is kept to find out what kind of line it is (a
# rule of dashes, a run of blanks); a longer beginning is taken for text.
MOST_BEGINNING = 256

_SPECIAL = re.compile(r"[\n`\[\]$\\:\r]")
_INFO_END = re.compile(r"[`\n\r]")
_SCHEME_END = re.compile(r"[A-Za-z0-9]")
# What a URL does not go on over, and what counts inside it.
_URL_STOP = re.compile(r"[^!#%-'*-;=?-Z^_a-z{}~]")
_BLANK_LINES = re.compile(r"\n+")
_RUN = re.compile(r"`+|\$+")
_MATHS = {"(": "\\)", "[": "\\]"}


class Place(Enum):
    """What a bracket at the place reached would be."""

    PROSE = auto()
    LITERAL = auto()
    """Fenced code."""
    ESCAPED = auto()
    """A backslash stands before it."""
    PENDING = auto()
    """A region is open that may or may not close."""
    URL = auto()


class Verdict(Enum):
    """What became of a pending opener."""

    OPEN = auto()
    CLOSED = auto()
    FAILED = auto()


class Finder(Protocol):
    """Searches the text outside code for something."""

    def feed(self, text: str) -> None:
        """Search the next piece of text."""

    def clone(self) -> Finder:
        """Return an independent copy."""


# Looking a member up on its class costs as much as a call in CPython 3.11.
_PLACE_ESCAPED = Place.ESCAPED
_PLACE_LITERAL = Place.LITERAL
_PLACE_PENDING = Place.PENDING
_PLACE_PROSE = Place.PROSE
_PLACE_URL = Place.URL
_VERDICT_CLOSED = Verdict.CLOSED
_VERDICT_FAILED = Verdict.FAILED
_VERDICT_OPEN = Verdict.OPEN
_KIND_BLANK = Kind.BLANK
_KIND_CONTINUATION = Kind.CONTINUATION
_KIND_FENCE = Kind.FENCE
_KIND_FENCED = Kind.FENCED
_KIND_FENCE_END = Kind.FENCE_END
_KIND_HEADING = Kind.HEADING
_KIND_HTML = Kind.HTML
_KIND_MAY_BE_FENCE = Kind.MAY_BE_FENCE
_KIND_RULE = Kind.RULE
_KIND_WAIT = Kind.WAIT

# All of such a line is gone over at once, and what ends it.
_ENDS_WITH_LINE = (_KIND_BLANK, _KIND_RULE, _KIND_FENCE_END)


class _Opener:
    """An opener whose region may or may not close."""

    __slots__ = ("closer", "depth", "finder", "kept_depth")

    def __init__(self, closer: str, regions: Regions) -> None:
        self.closer = closer
        self.depth = regions.depth
        self.kept_depth = regions.kept_depth
        # A refusal inside code does not count, so where it is code that
        # closes, the search goes on from where it stood at the opener.
        self.finder = regions.finder.clone() if closer[0] == "`" else None


class Regions:
    """Follows the visible text and knows which regions it is in.

    A paragraph's openers are kept in the order of their appearance. The first
    one that finds its closer turns all between into a region; where the
    paragraph ends first, an opener was text, and the next one counts.
    """

    __slots__ = (
        "_bracket_line",
        "_containers",
        "_doubt",
        "_fence",
        "_heading",
        "_info",
        "_info_containers",
        "_info_text",
        "_opened",
        "_openers",
        "_paragraph",
        "_parens",
        "_past",
        "_tail",
        "_told",
        "_url",
        "_verdict",
        "_watched",
        "clear",
        "depth",
        "finder",
        "kept_depth",
        "last",
        "line_start",
    )

    def __init__(self, finder: Finder) -> None:
        self.depth = 0
        """How many brackets that are not markers are open in this paragraph."""
        self.kept_depth = 0
        """How many of them, from the outermost, hold a marker that was kept."""
        self.last = "\n"
        """The last character seen."""
        self.line_start = True
        """Whether nothing but indentation, bullets and heading marks stands on the line."""
        self.clear = False
        """Whether this is prose in the middle of a line, with nothing open or undecided."""
        self.finder = finder
        """Where the text outside code goes, in search of a refusal."""
        self._tail = ""  # seen, but what it is depends on what follows
        self._told = 0  # how much of the text being walked the finder has had
        self._opened = False  # is it known what kind of line this is?
        self._paragraph = False
        self._heading = False
        self._doubt = False  # does the rest of the paragraph count as prose?
        self._fence = ""  # the run that opened it, "" outside
        # Backticks whose line may yet open a fence, and the text behind them.
        self._info: _Opener | None = None
        self._info_text = ""
        self._info_containers: tuple[int, ...] = ()  # those of the fence
        self._containers: tuple[int, ...] = ()
        self._openers: tuple[_Opener, ...] = ()
        self._url = False
        self._parens = 0  # parentheses open inside the URL
        self._bracket_line = -1  # the depth outside a bracket that began the line
        self._watched: _Opener | None = None
        self._verdict = _VERDICT_OPEN
        self._past = 0  # characters passed before it was known that the watched one had closed

    def clone(self) -> Regions:
        """Return an independent copy."""
        new = Regions.__new__(Regions)
        for name in Regions.__slots__:
            setattr(new, name, getattr(self, name))
        new.finder = self.finder.clone()
        return new

    @property
    def opened(self) -> bool:
        """Whether it is known what kind of line this is."""
        return self._opened

    @property
    def in_fence(self) -> bool:
        """Whether the line is known to be fenced code."""
        return self._opened and self._fence != ""

    @property
    def end(self) -> str:
        """The last character, what it is may be undecided; at the beginning a line feed."""
        return self._tail[-1] if self._tail else self.last

    def place(self) -> Place:
        """Return what a bracket would be that came next."""
        if self.clear:
            return _PLACE_PROSE
        if self._tail == "\\" and self._opened and not self._fence:
            return _PLACE_ESCAPED
        here = self.settled()
        if here._fence:
            return _PLACE_LITERAL
        if here._openers or here._info:
            return _PLACE_PENDING
        return _PLACE_URL if here._url else _PLACE_PROSE

    def settled(self, follower: str = "[") -> Regions:
        """Return the state in which what was seen is followed by `follower`."""
        if self._opened and not self._tail:
            return self
        here = self.clone()
        here._settle(follower)
        return here

    def marker(self, text: str) -> None:
        """Go on over the written form of a marker, whose brackets open nothing."""
        if self._tail or not self._opened:
            self._settle("[")
        self.line_start = False
        self.clear = not (self._openers or self._fence or self._info or self._url)
        self.last = text[-1]
        self.kept_depth = self.depth

    def pass_calm(self, text: str, last: str) -> None:
        """Go on over calm prose in the middle of a line that ends in `last`, markers left out."""
        self.last = last
        if text:
            self.finder.feed(text)

    # A region that may or may not close

    def watch(self) -> Regions:
        """Return a copy that looks ahead for what becomes of the first pending opener."""
        ahead = self.settled().clone()
        ahead._watched = ahead._info if ahead._info_first else ahead._openers[0]
        return ahead

    def look(self, text: str) -> tuple[Verdict, int]:
        """Go on over `text`, at most until the watched opener is closed or fails.

        Returns:
            The verdict, and how many characters of `text` belong to the
            region; fewer than none when it had closed before.
        """
        used = self.advance(text)
        return self._verdict, used - self._past

    def look_at_end(self) -> Verdict:
        """Return the verdict when the answer ends here: a fence is cut, all else is text."""
        self._settle("\n")
        if self._verdict is _VERDICT_OPEN:
            # A fence that the end cuts has ended the paragraph, and what was open in it.
            fence = self._info is not None and self._info is self._watched
            return _VERDICT_CLOSED if fence else _VERDICT_FAILED
        return self._verdict

    @property
    def doubted(self) -> bool:
        """Whether the watched opener failed since the paragraph is in doubt."""
        return self._doubt and self._verdict is _VERDICT_FAILED

    def without_first_opener(self, follower: str) -> Regions:
        """Return the state in which the first pending opener is text."""
        here = self.settled(follower).clone()
        if here._info_first:
            here._not_a_fence()
        else:
            here._openers = here._openers[1:]
        here.clear = not (here.line_start or here._openers or here._info or here._url)
        return here

    def in_doubt(self, follower: str) -> Regions:
        """Return the state in which the rest of the paragraph counts as prose."""
        here = self.settled(follower).clone()
        if here._info:
            here._not_a_fence()
        here._be_in_doubt()
        here.clear = not here.line_start
        return here

    def finish(self, text: str) -> None:
        """Go on over the end of the answer, of which only a refusal is still asked."""
        if self._fence or self._info or self._tail or "`" in text or "~" in text:
            self.advance(text)
            self._settle("\n")
            if self._info is not None:
                assert self._info.finder is not None  # they are backticks
                self.finder = self._info.finder
        else:
            self.finder.feed(text)

    # Walking

    def advance(self, text: str) -> int:
        """Go on over `text`, which the reader gets.

        Returns:
            How many characters of it were passed: all of them, unless a
            watched opener was decided before.
        """
        if self.clear and not (
            # A loop over these would cost twice as much.
            "\n" in text
            or "`" in text
            or "]" in text
            or "[" in text
            or "$" in text
            or ":" in text
            or "\\" in text
            or "\r" in text
        ):
            # Nothing in it opens, closes or ends anything.
            self.last = text[-1:] or self.last
            self.finder.feed(text)
            return len(text)
        used = self._walk(text)
        self.clear = (
            self._opened
            and not self.line_start
            and not (self._tail or self._openers or self._fence or self._info or self._url)
        )
        return used

    def _walk(self, text: str) -> int:
        before = len(self._tail)
        text = self._tail + text
        self._tail = ""
        self._told = 0
        pos = 0
        size = len(text)
        while pos < size:
            if not self._opened:
                then = self._open_line(text, pos, known=False)
            elif self._fence:
                then = self._pass_fenced(text, pos, size, known=False)
            else:
                then = self._inline(text, pos, size, known=False)
            if then < 0:
                pos = ~then
                break
            pos = then
            if self._verdict is not _VERDICT_OPEN:
                self._tell(text, pos)
                self.last = text[pos - 1]
                return pos - before
        self._tell(text, pos)
        self._tail = text[pos:]
        if pos:
            self.last = text[pos - 1]
        return size - before

    def _settle(self, follower: str) -> None:
        """Decide about the tail, knowing that `follower` comes next."""
        text, self._tail = self._tail, ""
        self._told = 0
        size = len(text)
        pos = 0
        while pos < size or (pos == size and not self._opened):
            if not self._opened:
                pos = self._open_line(text + follower, pos, known=True)
            elif self._fence:
                pos = self._pass_fenced(text + follower, pos, size, known=True)
            else:
                pos = self._inline(text + follower, pos, size, known=True)
            if self._verdict is not _VERDICT_OPEN:
                break
        self._tell(text, size)
        if text:
            self.last = text[-1]

    def _tell(self, text: str, pos: int) -> None:
        """Give the finder the text up to `pos` that it has not had."""
        if pos > self._told:
            self.finder.feed(text[self._told : pos])
        self._told = pos

    def _inline(self, text: str, pos: int, end: int, *, known: bool) -> int:
        """Go on over a line's text, at most to the next line.

        Returns:
            Where it stopped; the complement of that when what stands there
            depends on text still to come.
        """
        while pos < end:
            if self._info:
                match = _INFO_END.search(text, pos, end)
                self._info_text += text[pos : match.start() if match else end]
                if len(self._info_text) > MOST_UNDECIDED:
                    self._not_a_fence()
                    self._be_in_doubt()
                    pos = match.start() if match else end
                    continue
                if match is None:
                    return end
                pos = match.start()
                if text[pos] == "`":
                    self._tell(text, pos)
                    self._not_a_fence()
                    if self._verdict is not _VERDICT_OPEN:
                        return pos
                    continue
                if _may_go_on(text, pos, end) and not known:
                    return ~pos
                self._begin_fence(self._info)
                self._told = _next_line(text, pos)
                return self._told
            if self._url:
                pos = self._pass_url(text, pos, end)
                continue
            match = _SPECIAL.search(text, pos, end)
            if match is None:
                self.line_start = False
                return end
            if match.start() > pos:
                self.line_start = False
                pos = match.start()
            char = text[pos]
            if char == "[":
                if self.line_start:
                    self._bracket_line = self.depth
                self.depth += 1
                then = pos + 1
            elif char == "]":
                then = self._close_bracket(text, pos, end, known)
            elif char == ":":
                then = self._colon(text, pos, end, known)
            elif char in "\r\n":
                if _may_go_on(text, pos, end) and not known:
                    return ~pos
                self._end_line()
                return _next_line(text, pos)
            else:
                then = self._delimiter(text, pos, end, known)
            if then < 0:
                return ~pos
            self.line_start = False
            pos = then
            if self._verdict is not _VERDICT_OPEN:
                return pos
        return pos

    def _close_bracket(self, text: str, pos: int, end: int, known: bool) -> int:
        if self.depth - 1 == self._bracket_line >= 0:
            # "[label]:" at the start of a line may end the paragraph, or not.
            if pos + 1 == end and not known:
                return -1
            self._bracket_line = -1
            if text.startswith(":", pos + 1):
                self._be_in_doubt()
        if self.depth:
            self.depth -= 1
            self.kept_depth = min(self.kept_depth, self.depth)
        return pos + 1

    def _colon(self, text: str, pos: int, end: int, known: bool) -> int:
        before = text[pos - 1] if pos else self.last
        if self._doubt or not _SCHEME_END.match(before):
            return pos + 1
        if text.startswith("://", pos) and pos + 3 <= end:
            self._url = True
            self._parens = 0
            return pos + 3
        if not known and "://".startswith(text[pos:end]):
            return -1
        return pos + 1

    def _pass_url(self, text: str, pos: int, end: int) -> int:
        """Go on inside a URL, to its end or to a bracket in it."""
        match = _URL_STOP.search(text, pos, end)
        if match is None:
            return end
        pos = match.start()
        char = text[pos]
        if char == "(":
            self._parens += 1
        elif char == ")" and self._parens:
            self._parens -= 1
        elif char == "[":
            self.depth += 1
        elif char == "]":
            if self.depth:
                self.depth -= 1
                self.kept_depth = min(self.kept_depth, self.depth)
        elif char == "$" and not any(o.closer[0] == "$" for o in self._openers):
            pass
        else:
            # A dollar may close what is pending; anything else ends the URL.
            self._url = False
            return pos
        return pos + 1

    def _delimiter(self, text: str, pos: int, end: int, known: bool) -> int:
        """Open or close a region; return where it ends, or -1 if that is not known."""
        char = text[pos]
        if char == "\\":
            if pos + 1 >= end:
                return pos + 1 if known else -1
            escaped = text[pos + 1]
            if escaped == "`":
                return self._backticks(text, pos + 1, end, known, escaped=True)
            if escaped in "([":
                self._open(_MATHS[escaped])
            elif escaped in ")]":
                self._close("\\" + escaped)
            elif escaped in "\r\n":
                return pos + 1
            return pos + 2
        if char == "`":
            return self._backticks(text, pos, end, known, escaped=False)
        then = _run_end(text, pos, end)
        double = then - pos > 1
        may_grow = then == end and not (known or double)
        before = text[pos - 1] if pos else self.last
        for opener in self._openers:
            if opener.closer == "$$":
                if double:
                    self._close("$$")
                    return pos + 2
                if may_grow:
                    return -1
            if opener.closer == "$" and not before.isspace():
                self._close("$")
                return pos + 1
        if may_grow:
            return -1
        if double:
            self._open("$$")
            return pos + 2
        follower = text[then : then + 1]
        if follower and not follower.isspace() and not follower.isdigit():
            self._open("$")
        return pos + 1

    def _backticks(self, text: str, pos: int, end: int, known: bool, *, escaped: bool) -> int:
        then = _run_end(text, pos, min(end, pos + MOST_UNDECIDED))
        if then - pos == MOST_UNDECIDED:
            self._be_in_doubt()
            return then
        if then == end and not known:
            return -1
        run = text[pos:then]
        if not self._close(run):
            # A backslash takes one backtick from a run that opens, none from
            # one that closes.
            run = run[1:] if escaped else run
            if run:
                self._tell(text, pos)
                self._open(run)
        else:
            self._told = then
        return then

    def _open(self, closer: str) -> None:
        if self._doubt or any(opener.closer == closer for opener in self._openers):
            return
        if len(self._openers) == MOST_OPEN:
            self._be_in_doubt()
            return
        self._openers = (*self._openers, _Opener(closer, self))

    def _close(self, closer: str) -> bool:
        for index, opener in enumerate(self._openers):
            if opener.closer == closer:
                self._openers = self._openers[:index]
                self.depth = opener.depth
                self.kept_depth = opener.kept_depth
                if opener.finder is not None:
                    self.finder = opener.finder
                if opener is self._watched:
                    self._verdict = _VERDICT_CLOSED
                return True
        return False

    def _be_in_doubt(self) -> None:
        if self._watched in self._openers:
            self._verdict = _VERDICT_FAILED
        self._openers = ()
        self._url = False
        self._doubt = True

    @property
    def _info_first(self) -> bool:
        """Whether backticks that began the line are to be decided before any opener.

        Either they open a fence, or they close the first opener before what is behind them.
        """
        info = self._info
        return info is not None and not (self._openers and self._openers[0].closer != info.closer)

    def _not_a_fence(self) -> None:
        """Read the backticks that began the line, and the text behind them, as inline."""
        info, self._info = self._info, None
        text, self._info_text = self._info_text, ""
        self._paragraph = True
        assert info is not None  # the caller has looked
        if self._close(info.closer):
            self.finder.feed(text)
            if info is self._watched:
                self._verdict = _VERDICT_FAILED
            elif self._verdict is _VERDICT_CLOSED:
                self._past = len(text)
        else:
            self._openers = (*self._openers, info)
        self.last = "`"
        self._inline(text + "`", 0, len(text), known=True)
        self.last = (text or "`")[-1]

    # Lines

    def _pass_fenced(self, text: str, pos: int, end: int, *, known: bool) -> int:
        """Go on over fenced code, at most to the next line."""
        at = _line_end(text, pos, end)
        then = end if at < 0 else _next_line(text, at)
        if at >= 0:
            if _may_go_on(text, at, end) and not known:
                self._told = at
                return ~at
            self._opened = False
        self._told = then
        return then

    def _end_line(self) -> None:
        self._opened = False
        self.line_start = True
        self._url = False
        self._bracket_line = -1
        if self._heading:
            self._end_paragraph()

    def _end_paragraph(self) -> None:
        if self._watched is not None and self._watched in self._openers:
            self._verdict = _VERDICT_FAILED
        self._openers = ()
        self._paragraph = self._heading = self._doubt = self._url = False
        self.depth = self.kept_depth = 0

    def _begin_fence(self, info: _Opener) -> None:
        """Read the backticks that began the line, now at its end, as a fence."""
        self._info = None
        self._info_text = ""
        if info is self._watched:
            self._verdict = _VERDICT_CLOSED
        assert info.finder is not None  # they are backticks
        self.finder = info.finder
        self._end_paragraph()
        self._containers = self._info_containers
        self._fence = info.closer
        self._opened = False
        self.line_start = True

    def _open_line(self, text: str, pos: int, *, known: bool) -> int:
        """Find out what kind of line begins at `pos`.

        Returns:
            Where its own text begins, or the next line where it has none; the
            complement of `pos` when that depends on text still to come.
        """
        if text[pos] == "\n" and not (self._fence or self._containers):
            # Nothing but a blank line. There may be hundreds, and they are all alike.
            self.line_start = True
            self._end_paragraph()
            match = None if self._watched else _BLANK_LINES.match(text, pos)
            return match.end() if match else pos + 1
        newline = _line_end(text, pos, len(text))
        complete = newline >= 0
        line = text[pos:newline] if complete else text[pos:]
        if len(line) >= MOST_BEGINNING:
            # However much of it is there, as much is looked at.
            line, complete = line[:MOST_BEGINNING], False
        kind, at, containers, run = read_line(
            line,
            self._containers,
            fence=self._fence,
            paragraph=self._paragraph,
            complete=complete,
            may_wait=not (complete or known or len(line) == MOST_BEGINNING),
        )
        ends = kind in _ENDS_WITH_LINE
        if kind is _KIND_WAIT or (ends and not known and _may_go_on(text, newline, len(text))):
            return ~pos
        following = _next_line(text, newline) if ends else pos
        before = self._containers
        self._containers = containers
        if kind is _KIND_FENCED:
            self._opened = True
            self.line_start = False
            self._told = pos + at
            return pos + at
        self.line_start = True
        was_fence = self._fence
        if was_fence:
            self._fence = ""
            self._told = following if kind is _KIND_FENCE_END else pos
        if kind is _KIND_CONTINUATION:
            self._opened = True
            return pos + at
        if kind is _KIND_MAY_BE_FENCE:
            # A backtick that follows would say that it is none.
            otherwise = read_line(
                line + " `",
                before,
                fence=was_fence,
                paragraph=self._paragraph,
                complete=False,
                may_wait=False,
            )
            self._info_containers = containers
            self._containers = otherwise.containers
            if otherwise.kind is not _KIND_CONTINUATION:
                self._end_paragraph()
            self._tell(text, pos)
            self._info = _Opener(run, self)
            self._opened = True
            self.line_start = False
            return pos + at
        self._end_paragraph()
        if ends:
            return following
        if kind is _KIND_FENCE:
            self._tell(text, pos)
            self._fence = run
            self._opened = True
            self._told = pos + at
            return pos + at
        self._opened = self._paragraph = True
        self._heading = kind is _KIND_HEADING
        self._doubt = kind is _KIND_HTML
        return pos + at


def _line_end(text: str, pos: int, end: int) -> int:
    """Return where the line ends, or -1: a carriage return ends one as well."""
    newline = text.find("\n", pos, end)
    alone = text.find("\r", pos, newline if newline >= 0 else end)
    return newline if alone < 0 else alone


def _next_line(text: str, at: int) -> int:
    """Return where the line behind the line break at `at` begins."""
    return at + 2 if text.startswith("\r\n", at) else at + 1


def _may_go_on(text: str, at: int, end: int) -> bool:
    """Return whether the line break at `at` may be the half of one."""
    return text[at] == "\r" and at + 1 == end


def _run_end(text: str, pos: int, end: int) -> int:
    match = _RUN.match(text, pos, end)
    return match.end() if match else pos
