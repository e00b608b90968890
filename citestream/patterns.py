"""Label patterns that users write, read into the expressions of the grammar.

The language is small and closed: literals, classes, groups, alternation, and
repeats that are not nested without bound. It is read here and never handed to
`re`, so no pattern can make a text costly; what a label is for is not known.
"""

from __future__ import annotations

import re
from typing import NoReturn, assert_never

from citestream.exceptions import StyleError
from citestream.grammar import Alt, Chars, Expression, Literal, Repeat, Seq
from citestream.typography import BREAKS, DASH, INVISIBLE, OPENS_REGION

__all__ = ["MOST_PLACES", "least_length", "literals", "parse"]

MOST_PLACES = 2048
"""Characters that a pattern may spell out, its counted repeats written out.

A label pattern in use has a dozen; a state of the automaton holds as many
places as the pattern has, at most, and is asked for each of them.
"""
MOST_COUNT = 256
"""The highest count of a repeat: as much as a marker is long, by default."""

_NAMED = {"d": r"\d", "w": r"\w"}
_REFUSED_ESCAPES = {
    "s": "a marker never spans lines, so write a space",
    "D": "write the characters that may stand there, or [^0-9...]",
    "W": "write the characters that may stand there",
    "S": "write the characters that may stand there, or [^...]",
    "b": "a label is matched whole, so no boundary is needed",
    "B": "a label is matched whole, so no boundary is needed",
    "A": "a label is matched whole, so no anchor is needed",
    "Z": "a label is matched whole, so no anchor is needed",
}
# What is typed for another character, and taken for it.
_ALIKE = {"-": DASH, "'": "'\u2018\u2019\u201a\u201b\u2032", '"': '"\u201c\u201d\u201e\u201f\u2033'}
_INVISIBLE = Repeat(Chars(INVISIBLE))


def parse(pattern: str) -> Expression:
    r"""Read a label pattern.

    Args:
        pattern: Literals, `\d`, `\w`, classes such as `[a-z0-9_.-]` and
            `[^|]`, groups, `|`, and the repeats `?`, `*`, `+`, `{n}`, `{n,}`
            and `{n,m}`.

    Raises:
        StyleError: It is something else, or repeats without bound what does
            so itself. The message says where, and why.
    """
    if not isinstance(pattern, str):
        raise StyleError(
            f"expected a label pattern as str, got {type(pattern).__name__}: "
            "write it as a string, it is not compiled"
        )
    return _Parser(pattern).parse()


def least_length(expression: Expression) -> int:
    """Return how many characters the shortest text has that an expression describes."""
    match expression:
        case Literal(text):
            return len(text)
        case Chars():
            return 1
        case Alt(options):
            return min(map(least_length, options))
        case Seq(parts):
            return sum(map(least_length, parts))
        case Repeat(part, least):
            return least * least_length(part)
    assert_never(expression)


def literals(expression: Expression) -> set[str]:
    """Return the characters that an expression spells out, outside classes."""
    match expression:
        case Literal(text):
            return set(text)
        case Chars():
            return set()
        case Alt(parts) | Seq(parts):
            return set().union(*map(literals, parts))
        case Repeat(part):
            return literals(part)
    assert_never(expression)


def _places(expression: Expression) -> int:
    match expression:
        case Literal(text):
            return len(text)
        case Chars():
            return 1
        case Alt(parts) | Seq(parts):
            return sum(map(_places, parts))
        case Repeat(part, least, most):
            return _places(part) * max(least if most is None else most, 1)
    assert_never(expression)


def _unbounded(expression: Expression) -> bool:
    match expression:
        case Repeat(_, _, None) if expression is not _INVISIBLE:
            return True
        case Repeat(part):
            return _unbounded(part)
        case Alt(parts) | Seq(parts):
            return any(map(_unbounded, parts))
        case _:
            return False


class _Parser:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def parse(self) -> Expression:
        if len(self._pattern) > MOST_PLACES:
            self._refuse(f"it is longer than {MOST_PLACES} characters")
        whole = self._alternation(0)
        if self._at < len(self._pattern):
            self._refuse("a closing parenthesis has no opening one")
        return whole

    def _refuse(self, reason: str) -> NoReturn:
        raise StyleError(
            "expected a label pattern of literals, classes, groups, alternatives and repeats, "
            f"got {self._pattern[:80]!r}: at character {self._at + 1}, {reason}"
        )

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _alternation(self, depth: int) -> Expression:
        if depth > 16:
            self._refuse("groups are nested more than 16 deep")
        options = [self._sequence(depth)]
        while self._peek() == "|":
            self._at += 1
            options.append(self._sequence(depth))
        return options[0] if len(options) == 1 else Alt(tuple(options))

    def _sequence(self, depth: int) -> Expression:
        parts: list[Expression] = []
        while (char := self._peek()) and char not in "|)":
            parts.append(self._repeated(self._atom(char, depth)))
        return Seq(tuple(parts))

    def _atom(self, char: str, depth: int) -> Expression:
        if char == "(":
            return self._group(depth)
        if char == "[":
            return self._class()
        if char == "\\":
            return self._escape()
        if char == ".":
            self._refuse("a full stop would stand for what closes the marker: name the characters")
        if char in "^$":
            self._refuse("a label is matched whole, so no anchor is needed")
        if char in "*+?{":
            self._refuse("a repeat has nothing before it to repeat")
        self._at += 1
        return self._one(char)

    def _one(self, char: str) -> Expression:
        if char in BREAKS:
            self._refuse("a marker never spans lines")
        if char in "`$\\":
            self._refuse(f"{char!r} opens code, maths or an escape, where nothing is a marker")
        if char in _ALIKE:
            return Seq((Chars(_ALIKE[char].replace("\\-", "") + r"\-"), _INVISIBLE))
        return Seq((Literal(char), _INVISIBLE))

    def _escape(self) -> Expression:
        char = self._pattern[self._at + 1 : self._at + 2]
        if not char:
            self._refuse("a backslash stands at the end")
        if char in _REFUSED_ESCAPES:
            self._refuse(f"\\{char} is not allowed: {_REFUSED_ESCAPES[char]}")
        if char not in _NAMED and char.isalnum():
            self._refuse(f"\\{char} is not allowed: only \\d, \\w and escaped punctuation are")
        self._at += 2
        if char in _NAMED:
            return Seq((Chars(_NAMED[char]), _INVISIBLE))
        return self._one(char)

    def _group(self, depth: int) -> Expression:
        opened = self._at
        self._at += 1
        if self._peek() == "?":
            if self._pattern[self._at + 1 : self._at + 2] != ":":
                self._refuse("of the groups that begin with (? only (?: is allowed")
            self._at += 2
        inner = self._alternation(depth + 1)
        if self._peek() != ")":
            self._at = opened
            self._refuse("a group does not end")
        self._at += 1
        return inner

    def _class(self) -> Expression:
        opened = self._at
        self._at += 1
        negated = self._peek() == "^"
        self._at += negated
        members: list[str] = []
        while (char := self._peek()) != "]" or not members:
            if not char:
                self._at = opened
                self._refuse("a class does not end")
            members.append(self._member(char))
        self._at += 1
        inside = "".join(members)
        if negated:
            return Seq((Chars(f"^{inside}{BREAKS}{OPENS_REGION}"), _INVISIBLE))
        for plain, alike in _ALIKE.items():
            if re.fullmatch(f"[{inside}]", plain):
                inside += alike
        return Seq((Chars(inside), _INVISIBLE))

    def _member(self, char: str) -> str:
        low = self._single(char)
        if self._peek() != "-" or self._pattern[self._at + 1 : self._at + 2] in ("]", ""):
            return _NAMED[low[1]] if len(low) > 1 else re.escape(low)
        self._at += 1
        high = self._single(self._peek())
        if len(low) > 1 or len(high) > 1:
            self._refuse("a range goes from one character to another")
        if high < low:
            self._refuse(f"the range {low}-{high} is empty")
        return f"{re.escape(low)}-{re.escape(high)}"

    def _single(self, char: str) -> str:
        """Read a member of a class: a character, or the escape that stands for several."""
        self._at += 1
        if char != "\\":
            return char
        char = self._peek()
        if char in _NAMED and char:
            self._at += 1
            return f"\\{char}"
        if not char or char.isalnum():
            self._refuse(f"\\{char} is not allowed in a class: only \\d, \\w and punctuation are")
        self._at += 1
        return char

    def _repeated(self, part: Expression) -> Expression:
        char = self._peek()
        if not char or char not in "*+?{":
            return part
        least, most = self._count(char)
        if self._peek() and self._peek() in "*+?{":
            self._refuse("a repeat of a repeat says nothing new: use a group and one repeat")
        if most is None and _unbounded(part):
            self._refuse("a repeat without bound holds another one, which can be read in many ways")
        repeat = Repeat(part, least, most)
        if _places(repeat) > MOST_PLACES:
            self._refuse(f"written out it has more than {MOST_PLACES} characters")
        return repeat

    def _count(self, char: str) -> tuple[int, int | None]:
        if char != "{":
            self._at += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        match = re.compile(r"\{([0-9]{1,4})(?:(,)([0-9]{0,4}))?\}").match(self._pattern, self._at)
        if match is None:
            self._refuse("a brace opens no count such as {2}, {2,} or {2,5}: escape it")
        first, comma, last = match.groups()
        least = int(first)
        most = least if not comma else int(last) if last else None
        if max(least, most or 0) > MOST_COUNT:
            self._refuse(f"a count is at most {MOST_COUNT}")
        if most is not None and most < max(least, 1):
            self._refuse("a count of nothing")
        self._at = match.end()
        return least, most
