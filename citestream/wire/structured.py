"""Structured output: an answer that is a JSON document, of which only the string values are prose.

It does not know how the text is framed, nor what the document means.
"""

from __future__ import annotations

import re
from collections import deque
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from citestream.events import Citation, Ended, Summary, Text
from citestream.wire.answer import note

if TYPE_CHECKING:
    from collections.abc import Iterable

    from citestream.filter import BlockFilter, CitationFilter

__all__ = ["JsonAnswer"]

# Deeper than any schema; what is nested deeper counts as prose, so that
# nothing is left unchecked.
MOST_DEPTH = 256

_SPACE = re.compile(r"[ \t\r\n]+")
_LITERAL = re.compile(r"[-+.0-9A-Za-z]+")
_RUN = re.compile(r'[^"\\]+')
# A complete escape; a pair of surrogates is one character and so one escape.
_ESCAPE = re.compile(
    r'\\(?:["\\/bfnrt]|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4})'
)
# What may still become one when more comes.
_CUT_ESCAPE = re.compile(
    r"\\(?:u[0-9a-fA-F]{0,3})?\Z|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?\Z"
)
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}

_State: TypeAlias = Literal[
    "value",
    "first value",
    "key",
    "first key",
    "colon",
    "after",
    "literal",
    "string",
    "name",
    "prose",
]


class JsonAnswer:
    """An answer whose prose is inside the strings of a JSON document.

    Each string value is a text block of its own, so a marker never spans two
    of them. What is not JSON after all is prose from there on: a model that
    ignores the wish for JSON is checked like any other.
    """

    __slots__ = (
        "_block",
        "_cut",
        "_filter",
        "_length",
        "_nesting",
        "_spelled",
        "_state",
        "changed",
        "noted",
        "summary",
    )

    def __init__(self, citations: CitationFilter) -> None:
        self._filter = citations
        self._block: BlockFilter | None = None
        self._state: _State = "value"
        self._nesting: list[str] = []
        # An escape whose rest has not come.
        self._cut = ""
        # How the characters that came as escapes were spelled, so that they
        # leave as they came.
        self._spelled: dict[str, deque[str]] = {}
        self._length = 0
        self.changed = False
        self.noted: list[tuple[int, int, Any]] = []
        self.summary: Summary | None = None

    @property
    def passing(self) -> bool:
        """Nothing passes unread: a bracket may be one of the document's own."""
        return False

    def feed(self, text: str) -> str:
        """Give the next piece of the document and return what is now visible."""
        text, self._cut = self._cut + text, ""
        start = self._length
        pieces: list[str] = []
        at = 0
        while at < len(text):
            at, piece = self._step(text, at)
            pieces.append(piece)
            self._length += len(piece)
        visible = "".join(pieces)
        assert self._length == start + len(visible)
        return visible

    def finish(self, ended: Ended = "complete", reason: str | None = None) -> str:
        """Say that no more comes and return what was held."""
        visible = self._end_block() + self._cut
        *_, summary = self._filter.finish(ended, reason)
        assert isinstance(summary, Summary)
        self.summary = summary
        return visible

    def discard(self, ended: Ended = "cancelled", reason: str | None = None) -> None:
        """Drop what is held, for a reader that is gone."""
        if self._block is not None:
            self._block.discard()
        self.summary = self._filter.discard(ended, reason)

    def _step(self, text: str, at: int) -> tuple[int, str]:
        """Read on from a place and return where it got to and what is visible of it."""
        state = self._state
        if state == "prose":
            return len(text), self._prose(text[at:])
        if state in ("string", "name"):
            return self._inside(text, at)
        if state == "literal":
            match = _LITERAL.match(text, at)
            if match is not None:
                return match.end(), match[0]
            self._state = state = "after"
        space = _SPACE.match(text, at)
        if space is not None:
            return space.end(), space[0]
        return self._mark(text, at, state)

    def _mark(self, text: str, at: int, state: _State) -> tuple[int, str]:
        mark = text[at]
        nesting = self._nesting
        inside = nesting[-1] if nesting else ""
        if state in ("value", "first value") and mark == '"':
            self._state = "string"
            self._block = self._filter.block()
        elif state in ("value", "first value") and mark in "{[" and len(nesting) < MOST_DEPTH:
            nesting.append(mark)
            self._state = "first key" if mark == "{" else "first value"
        elif state in ("value", "first value") and mark in "-0123456789tfn":
            self._state = "literal"
            return at, ""
        elif state in ("key", "first key") and mark == '"':
            self._state = "name"
        elif state == "colon" and mark == ":":
            self._state = "value"
        elif state == "after" and mark == "," and inside:
            self._state = "key" if inside == "{" else "value"
        elif (state == "after" or state.startswith("first")) and inside + mark in ("{}", "[]"):
            nesting.pop()
            self._state = "after"
        else:
            self._state = "prose"
            self._block = self._filter.block()
            return at, ""
        return at + 1, mark

    def _inside(self, text: str, at: int) -> tuple[int, str]:
        """Read on inside a string."""
        if text[at] == '"':
            visible = self._end_block() + '"'
            self._state = "colon" if self._state == "name" else "after"
            return at + 1, visible
        run = _RUN.match(text, at)
        if run is not None:
            return run.end(), self._string(run[0])
        if _CUT_ESCAPE.match(text, at):
            self._cut = text[at:]
            return len(text), ""
        escape = _ESCAPE.match(text, at)
        if escape is None:
            # No JSON reader takes it, so it is given on as it is.
            return at + 1, self._string("\\", "\\")
        return escape.end(), self._string(_unescaped(escape[0]), escape[0])

    def _string(self, text: str, spelled: str | None = None) -> str:
        if self._state == "name":
            return text if spelled is None else spelled
        assert self._block is not None
        if spelled is not None:
            self._spelled.setdefault(text, deque()).append(spelled)
        return self._written(self._block.feed(text))

    def _end_block(self) -> str:
        block, self._block = self._block, None
        if block is None:
            return ""
        if self._state == "prose":
            return "".join(self._plain(block.finish(), self._length))
        visible = self._written(block.finish())
        self._spelled.clear()
        return visible

    def _prose(self, text: str) -> str:
        assert self._block is not None
        return self._plain(self._block.feed(text), self._length)

    def _plain(self, events: Iterable[Text | Citation | Summary], at: int) -> str:
        pieces: list[str] = []
        for event in events:
            if not isinstance(event, Summary):
                pieces.append(event.text)
                if isinstance(event, Citation):
                    note(self.noted, event, at, at + len(event.text))
                at += len(event.text)
        return "".join(pieces)

    def _written(self, events: Iterable[Text | Citation | Summary]) -> str:
        """Return events as the inside of a JSON string."""
        pieces: list[str] = []
        at = self._length
        for event in events:
            if isinstance(event, Text):
                piece = self._spell(event.text)
            elif isinstance(event, Citation):
                # The marker is written anew, so how its characters were
                # spelled is of no use to what follows.
                for character in event.raw:
                    self._spelling(character)
                piece = encode_basestring_ascii(event.text)[1:-1]
                note(self.noted, event, at, at + len(piece))
            else:
                continue
            pieces.append(piece)
            at += len(piece)
        return "".join(pieces)

    def _spell(self, text: str) -> str:
        if not self._spelled and '"' not in text and "\\" not in text:
            return text
        return "".join([self._spelling(character) for character in text])

    def _spelling(self, character: str) -> str:
        spelled = self._spelled.get(character)
        if not spelled:
            return encode_basestring(character)[1:-1] if character in '"\\' else character
        first = spelled.popleft()
        if not spelled:
            del self._spelled[character]
        return first


def _unescaped(escape: str) -> str:
    if escape[1] != "u":
        return _SHORT.get(escape[1], escape[1])
    first = int(escape[2:6], 16)
    if len(escape) == 6:
        return chr(first)
    return chr(0x10000 + ((first - 0xD800) << 10) + int(escape[8:], 16) - 0xDC00)
