"""What a marker looks like, as data: `MarkerStyle` and the built-in styles.

A style says how a marker opens and closes and which labels it names; it does
not know which labels have a passage.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from citestream.exceptions import StyleError
from citestream.grammar import (
    Alt,
    Automaton,
    Chars,
    Expression,
    Literal,
    Repeat,
    Seq,
    State,
    optional,
)

__all__ = ["MOST_HELD", "NUMERIC", "MarkerStyle", "Reading"]

MOST_HELD = 256
"""Characters held back for one marker, by default.

Fifty three-digit labels with their separators fit, and so does a marker with
the name of a file in it.
"""

MOST_RANGE = 100
"""Labels that one range may name; models write out lists, they do not cite whole books."""

# Characters that take no room and so must not hide a marker: soft hyphen,
# zero-width spaces and joiners, direction marks, variation selectors.
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff"
)
_BLANK = " \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_DASH = "\\-\u2010-\u2015\u2212\ufe58\ufe63\uff0d"
_COMMA = ",;\uff0c\u3001\uff1b"
_PAIRS = ("[]", "\u3010\u3011", "\uff3b\uff3d")
# A remark holds no brackets and spans no lines; nor does it open a region, in
# which a bracket inside it would be code.
_NOT_REMARK = "^`$\\\\\\[\\]\u3010\u3011\uff3b\uff3d\n\r\u000b\u000c\u0085\u2028\u2029"
_WORDS = ("source", "document", "doc", "reference", "ref", "passage", "citation")

_strip_invisible = re.compile(f"[{_INVISIBLE}]+")
_items = re.compile(rf"(\d+)(?:[{_BLANK}]*[{_DASH}][{_BLANK}]*(\d+))?")
_numbered = re.compile(
    rf"[^\d]*?(?P<list>\d+(?:(?:[{_BLANK}{_COMMA}{_DASH}&]|and)*\d+)*)[{_BLANK}]*(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_after_dagger = re.compile(rf"[{_COMMA}][{_BLANK}]*(\d+)[{_BLANK}]*\u2020")


class Reading(NamedTuple):
    """A marker, read."""

    labels: tuple[int | str, ...]
    """The labels it names, in the order written."""
    unlisted: int
    """How many more it names that are too long to convert, or too many to list."""
    drifted: bool
    """Whether the style is strict and this is not its canonical form."""
    style: MarkerStyle
    """The style that reads it, and writes it back."""


@dataclass(frozen=True)
class MarkerStyle:
    """How citations are written. Make a variant with `replace`."""

    open: str = "["
    """What opens a marker."""
    close: str = "]"
    """What closes it."""
    strict: bool = False
    """Whether only the canonical form cites; the other spellings are removed and reported."""
    prose_from: int | None = None
    """Numbers from here on are prose when a marker holds nothing else; for years, 1000."""
    digits_most: int = 9
    """Digits of a number that is converted; `int()` refuses more than 4300 of them."""
    most_held: int = MOST_HELD
    """Characters held back, at most, while a marker might be forming."""

    def __post_init__(self) -> None:
        if not 16 <= self.most_held <= 65536:
            raise StyleError(
                f"expected most_held between 16 and 65536 characters, got {self.most_held!r}: "
                "a marker must fit, and a reader must not wait for ever"
            )
        if not 1 <= self.digits_most <= 18:
            raise StyleError(
                f"expected digits_most between 1 and 18, got {self.digits_most!r}: "
                "a label is a small number"
            )
        if self.prose_from is not None and self.prose_from < 1:
            raise StyleError(
                f"expected prose_from of 1 or more, got {self.prose_from!r}: "
                "leave it out to read every number as a label"
            )

    @property
    def numeric(self) -> bool:
        """Whether labels are numbers."""
        return True

    def replace(self, **changes: Any) -> MarkerStyle:
        """Return a variant of this style.

        Raises:
            StyleError: A field that is not one, or a value out of bounds.
        """
        try:
            return replace(self, **changes)
        except TypeError:
            known = ", ".join(sorted(self.__dataclass_fields__))
            unknown = ", ".join(sorted(set(changes) - set(self.__dataclass_fields__)))
            raise StyleError(f"expected fields among {known}, got {unknown or changes!r}") from None

    def write(self, labels: tuple[int | str, ...]) -> str:
        """Return the canonical form of a marker that names `labels`."""
        return f"{self.open}{', '.join(map(str, labels))}{self.close}"

    def can_write(self, label: int | str) -> bool:
        """Return whether a marker in this style can name `label`."""
        return (
            isinstance(label, int)
            and 0 <= label < 10**self.digits_most
            and not (self.prose_from is not None and label >= self.prose_from)
        )

    # What the scanner asks

    @cached_property
    def start(self) -> State:
        """The state before a marker's first character."""
        return Automaton(_numeric_marker()).start

    @cached_property
    def opener(self) -> re.Pattern[str]:
        """Finds the characters that a marker can begin with."""
        return re.compile(f"[{re.escape(''.join(self.pairs))}]")

    @cached_property
    def pairs(self) -> dict[str, str]:
        """Brackets that go with a marker when they stand around it and nothing else."""
        return {pair[0]: pair[1] for pair in _PAIRS}

    @cached_property
    def common(self) -> re.Pattern[str] | None:
        """The form in which nearly all markers come, or its beginning where the text ends.

        Its groups are the label and the bracket that closes it.
        """
        if self.prose_from is not None:
            return None
        return re.compile(rf"\[(?:([1-9][0-9]{{0,{self.digits_most - 1}}})(?:(\])|\Z)|\Z)")

    @cached_property
    def quick(self) -> re.Pattern[str] | None:
        """A small chunk of calm prose in which one marker of the common form has begun or ended.

        Its groups are the text before, the space before, the label, the
        bracket that closes it, and the text after, none of which needs a
        second look.
        """
        if self.prose_from is not None:
            return None
        calm = re.escape("".join(self.pairs)) + r"\n\r`$\\:"
        end = rf"[^{calm} (*_!]"
        return re.compile(
            rf"((?:[^{calm}]*{end})?)( ?)\["
            rf"(?:([1-9][0-9]{{0,{self.digits_most - 1}}})"
            rf"(?:(\])((?:[^{calm} ,;&(](?:[^{calm}]*{end})?(?<![(*_!]))?))?)?"
        )

    @cached_property
    def other_opener(self) -> re.Pattern[str]:
        """Finds characters that a marker can begin with, but for the canonical one."""
        return re.compile(f"[{re.escape(''.join(self.pairs).replace(self.open, ''))}]")

    def read(self, raw: str) -> Reading | None:
        """Read a whole marker, or return `None` when it is prose after all."""
        if raw.isascii() and raw[1:-1].isdigit() and len(raw) - 2 <= self.digits_most:
            number = int(raw[1:-1])
            if self.prose_from is not None and number >= self.prose_from:
                return None
            return Reading((number,), 0, self.strict and raw != self.write((number,)), self)
        text = _strip_invisible.sub("", raw)[1:-1]
        match = _numbered.match(text)
        if match is None:  # pragma: no cover - the grammar has found a number
            return None
        labels: list[int] = []
        unlisted = 0
        for first, last in _items.findall(match["list"]):
            if len(first) > self.digits_most or len(last) > self.digits_most:
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
                if len(digits) > self.digits_most:
                    unlisted += 1
                else:
                    labels.append(int(digits))
        if self.prose_from is not None and not unlisted and min(labels) >= self.prose_from:
            return None
        found = tuple(labels)
        return Reading(found, unlisted, self.strict and raw != self.write(found), self)

    def may_still_be(self, raw: str) -> bool:
        """Return whether a marker that has begun so can end as one.

        The grammar does not compare numbers, and a reversed range is prose.
        """
        if raw.isascii() and "-" not in raw:
            return True
        text = _strip_invisible.sub("", raw)[1:]
        match = _numbered.match(text)
        if match is None:
            return True
        for item in _items.finditer(match["list"]):
            first, last = item.groups()
            if last and item.end() + match.start("list") < len(text):
                longest = max(len(first), len(last))
                if longest <= self.digits_most and int(last) < int(first):
                    return False
        return True

    def has_label(self, raw: str) -> bool:
        """Return whether a marker that the end cut has at least one character of a label."""
        return any(map(str.isdecimal, raw))


def _numeric_marker() -> Expression:
    """Return what a numbered marker may look like, with all the drift that models write."""
    invisible = Repeat(Chars(_INVISIBLE))
    blanks = Repeat(Chars(_BLANK + _INVISIBLE))
    blank = Seq((invisible, Chars(_BLANK), blanks))
    number = Seq((Chars(r"\d"), Repeat(Chars(r"\d" + _INVISIBLE)), blanks))
    item = Seq((number, optional(Seq((Chars(_DASH), blanks, number)))))

    def spelled(word: str) -> Expression:
        return Seq(
            tuple(Seq((Literal(c, ignore_case=True), invisible)) for c in word[:-1])
            + (Literal(word[-1], ignore_case=True),)
        )

    conjunction = Seq((spelled("and"), blank))
    separator = Alt(
        (
            Seq((Chars(_COMMA), blanks, optional(conjunction))),
            Seq((Literal("&"), blanks)),
            conjunction,
        )
    )
    numbers = Seq((item, Repeat(Seq((separator, item)))))
    remark = Repeat(Chars(_NOT_REMARK))
    word = Seq(
        (
            Alt(tuple(spelled(word) for word in _WORDS)),
            optional(Seq((invisible, Literal("s", ignore_case=True)))),
            Alt(
                (
                    Seq((blanks, Literal("."), blanks, optional(Literal(":")), blanks)),
                    Seq((blanks, Literal(":"), blanks)),
                    blank,
                )
            ),
        )
    )
    content = Seq(
        (
            blanks,
            Alt(
                (
                    Seq((numbers, optional(Seq((Literal("\u2020"), remark))))),
                    Seq((word, numbers, optional(Seq((Chars(":\u2020"), remark))))),
                )
            ),
        )
    )
    return Alt(tuple(Seq((Literal(a), content, Literal(b))) for a, b in _PAIRS))


NUMERIC = MarkerStyle()
"""Numbers in square brackets, `[1]`, `[1, 2]`, with all the drift that models write."""
