"""Markers that name numbers, with or without a prefix: their grammar, and how they are read.

It knows all the drift that models write, and not which numbers have a passage.
"""

from __future__ import annotations

import re

from citestream.grammar import Alt, Chars, Expression, Literal, Repeat, Seq, optional
from citestream.spelling import BLANKS, NOT_REMARK, SEPARATOR, framed, one_blank, spelled
from citestream.typography import BLANK, COMMA, DASH, INVISIBLE, strip_invisible

__all__ = ["MOST_RANGE", "NumberForm"]

MOST_RANGE = 100
"""Labels that one range may name; models write out lists, they do not cite whole books."""

_WORDS = ("source", "document", "doc", "reference", "ref", "passage", "citation")

_after_dagger = re.compile(rf"[{COMMA}][{BLANK}]*(\d+)[{BLANK}]*\u2020")


class NumberForm:
    """How numbers stand in a marker."""

    numeric = True
    """Whether labels are numbers."""

    def __init__(
        self,
        opening: str,
        closing: str,
        prefix: str,
        *,
        ignore_case: bool,
        digits_most: int,
        prose_from: int | None,
    ) -> None:
        self._open = opening
        self._close = closing
        self._prefix = prefix
        self._ignore_case = ignore_case
        self._digits_most = digits_most
        self._prose_from = prose_from
        self._bare = not prefix and len(opening) == len(closing) == 1
        # What stands before a number. Only bare numbers have words before them.
        flags = "(?i:" if ignore_case else "(?:"
        before = rf"{flags}{re.escape(strip_invisible(prefix))})[{BLANK}]*" if prefix else ""
        second = f"(?:{before})?" if prefix else ""
        self._items = re.compile(rf"{second}(\d+)(?:[{BLANK}]*[{DASH}][{BLANK}]*{second}(\d+))?")
        between = rf"(?:[{BLANK}{COMMA}{DASH}&]|(?i:and))*{second}"
        first = rf"[{BLANK}]*{before}" if prefix else r"[^\d]*?"
        self._content = re.compile(
            rf"{first}(?P<list>\d+(?:{between}\d+)*)[{BLANK}]*(?P<rest>.*)", re.DOTALL
        )

    def expression(self) -> Expression:
        """Return what a marker may look like."""
        digits = Seq((Chars(r"\d"), Repeat(Chars(r"\d" + INVISIBLE)), BLANKS))
        remark = Repeat(Chars(NOT_REMARK))
        if self._prefix:
            prefix = Seq((spelled(self._prefix, ignore_case=self._ignore_case), BLANKS))
            numbers = _list(prefix, optional(prefix), digits)
            content: Expression = Seq((numbers, optional(Seq((Chars(":\u2020"), remark)))))
        else:
            nothing: Expression = Seq(())
            numbers = _list(nothing, nothing, digits)
            content = Alt(
                (
                    Seq((numbers, optional(Seq((Literal("\u2020"), remark))))),
                    Seq((_word(), numbers, optional(Seq((Chars(":\u2020"), remark))))),
                )
            )
        return framed(self._open, self._close, content)

    def write(self, labels: tuple[int | str, ...]) -> str:
        """Return the canonical form of a marker that names `labels`."""
        inside = ", ".join([f"{self._prefix}{label}" for label in labels])
        return f"{self._open}{inside}{self._close}"

    def can_write(self, label: int | str) -> bool:
        """Return whether a marker can name `label`."""
        return (
            isinstance(label, int)
            and 0 <= label < 10**self._digits_most
            and not (self._prose_from is not None and label >= self._prose_from)
        )

    def common(self) -> str | None:
        """Return the pattern of the canonical form, or its beginning where the text ends.

        Its group is what closes the marker. `None`: there is no telling by a pattern.
        """
        if self._prose_from is not None or self._close != "]":
            return None
        # One that begins with a zero is not in its canonical form.
        zero = "0(?![0-9])|" if self._prefix else ""
        number = rf"(?:{zero}[1-9][0-9]{{0,{self._digits_most - 1}}})"
        more = rf"(?:, {re.escape(self._prefix)}{number})*"
        then = rf"{number}{more}(?:(\])|(?:, ?)?\Z)"
        for char in reversed(self._open + self._prefix):
            then = rf"{re.escape(char)}(?:{then}|\Z)"
        return then

    def read(self, raw: str) -> tuple[tuple[int | str, ...], int] | None:
        """Return the labels of a whole marker and how many are not listed; `None`: it is prose."""
        bare = raw[1:-1] if self._bare and raw.isascii() else ""
        if bare.isdigit() and len(bare) <= self._digits_most:
            # As nearly all are written.
            number = int(bare)
            is_prose = self._prose_from is not None and number >= self._prose_from
            return None if is_prose else ((number,), 0)
        match = self._content.match(self._inside(raw, len(self._close)))
        assert match is not None  # the grammar has found a number
        labels: list[int] = []
        unlisted = 0
        for first, last in self._items.findall(match["list"]):
            if len(first) > self._digits_most or len(last) > self._digits_most:
                unlisted += 1
                continue
            low = int(first)
            high = int(last or first)
            if high < low:
                return None
            if high - low >= MOST_RANGE:
                unlisted += 1
            else:
                labels.extend(range(low, high + 1))
        if match["rest"].startswith("\u2020"):
            for digits in _after_dagger.findall(match["rest"]):
                if len(digits) > self._digits_most:
                    unlisted += 1
                else:
                    labels.append(int(digits))
        if self._prose_from is not None and not unlisted and min(labels) >= self._prose_from:
            return None
        return tuple(labels), unlisted

    def may_still_be(self, raw: str) -> bool:
        """Return whether a marker that has begun so can end as one.

        The grammar does not compare numbers, and a reversed range is prose.
        """
        if raw.isascii() and "-" not in raw:
            return True
        text = self._inside(raw, 0)
        match = self._content.match(text)
        if match is None:
            return True
        for item in self._items.finditer(match["list"]):
            first, last = item.groups()
            if last and item.end() + match.start("list") < len(text):
                longest = max(len(first), len(last))
                if longest <= self._digits_most and int(last) < int(first):
                    return False
        return True

    def has_label(self, raw: str) -> bool:
        """Return whether a marker that the end cut has at least one character of a label."""
        return any(map(str.isdecimal, self._inside(raw, 0)))

    def _inside(self, raw: str, behind: int) -> str:
        """Return what stands in a marker; `behind` characters at its end are not in it."""
        text = strip_invisible(raw)
        return text[len(self._open) : len(text) - behind]


def _list(first: Expression, other: Expression, digits: Expression) -> Expression:
    """Return numbers and ranges of them; `first` stands before the first, `other` before others."""
    more = optional(Seq((Chars(DASH), BLANKS, other, digits)))
    item = Seq((other, digits, more))
    return Seq((first, digits, more, Repeat(Seq((SEPARATOR, item)))))


def _word() -> Expression:
    """Return a word that models put before a number, and what parts the two."""
    return Seq(
        (
            Alt(tuple(spelled(word) for word in _WORDS)),
            optional(Seq((Repeat(Chars(INVISIBLE)), Literal("s", ignore_case=True)))),
            Alt(
                (
                    Seq((BLANKS, Literal("."), BLANKS, optional(Literal(":")), BLANKS)),
                    Seq((BLANKS, Literal(":"), BLANKS)),
                    one_blank(),
                )
            ),
        )
    )
