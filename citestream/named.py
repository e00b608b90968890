"""Markers that name labels of letters and digits: users' own patterns, and providers' forms.

Their grammar, and how they are read; it does not know which labels were supplied.
"""

from __future__ import annotations

import re

from citestream.exceptions import StyleError
from citestream.frames import REGIONS, frames
from citestream.grammar import (
    DEAD,
    Alt,
    Automaton,
    Chars,
    Expression,
    Literal,
    Repeat,
    Seq,
    follow,
    optional,
)
from citestream.patterns import least_length, literals, parse
from citestream.spelling import BLANKS, NOT_REMARK, SEPARATOR, framed, spelled
from citestream.typography import (
    BLANK,
    BREAKS,
    COMMA,
    INVISIBLE,
    OPENS_REGION,
    fold,
    strip_invisible,
)

__all__ = ["FileForm", "PatternForm", "PrivateForm"]

_separator = re.compile(
    rf"[{BLANK}]*(?:[{COMMA}][{BLANK}]*(?:and[{BLANK}]+)?|&|and[{BLANK}]+)", re.IGNORECASE
)
_blanks = re.compile(f"[{BLANK}]*")


class PatternForm:
    """How labels of a pattern stand in a marker, each behind a prefix if there is one."""

    numeric = False
    """Whether labels are numbers."""

    def __init__(
        self,
        opening: str,
        closing: str,
        prefix: str,
        label: str,
        *,
        ignore_case: bool,
        most_held: int,
    ) -> None:
        """Read the pattern.

        Raises:
            StyleError: Nothing could hold such markers, or tell where they end.
        """
        self._open = opening
        self._close = closing
        self._prefix = prefix
        self._ignore_case = ignore_case
        self._label = parse(label)
        forms = frames(opening, closing)
        openers = "".join({opener[0] for opener in forms})
        others = "".join(closer for closer in forms.values() if closer != closing)
        self._labels = Automaton(self._label, openers + others + BREAKS + REGIONS)
        if self._labels.empty:
            raise StyleError(
                f"expected a label pattern that matches at least one character, got {label!r}: "
                "an empty label names nothing"
            )
        for opener, closer in forms.items():
            if self._labels.may_hold(closer):
                raise StyleError(
                    f"expected labels that cannot hold {closer!r}, got {label!r}: "
                    "nothing would tell where the marker ends"
                )
            if opener[0] in literals(self._label):
                raise StyleError(
                    f"expected labels without {opener[0]!r}, got {label!r}: "
                    "it may open another marker"
                )
        least = len(opening) + len(prefix) + least_length(self._label) + len(closing)
        if least > most_held:
            raise StyleError(
                f"expected markers of at most {most_held} characters, got {label!r}, whose "
                f"shortest has {least}: raise most_held, or allow shorter labels"
            )

    def expression(self) -> Expression:
        """Return what a marker may look like."""
        label = Seq((self._label, BLANKS))
        prefix: Expression = Seq(())
        if self._prefix:
            prefix = Seq((spelled(self._prefix, ignore_case=self._ignore_case), BLANKS))
        more = Repeat(Seq((SEPARATOR, optional(prefix), label)))
        return framed(self._open, self._close, Seq((prefix, label, more)))

    def write(self, labels: tuple[int | str, ...]) -> str:
        """Return the canonical form of a marker that names `labels`."""
        inside = ", ".join([f"{self._prefix}{label}" for label in labels])
        return f"{self._open}{inside}{self._close}"

    def can_write(self, label: int | str) -> bool:
        """Return whether a marker can name `label`."""
        return isinstance(label, str) and follow(self._labels.start, label).whole

    def read(self, raw: str) -> tuple[tuple[int | str, ...], int] | None:
        """Return the labels of a whole marker, and that all are listed."""
        text = strip_invisible(raw)
        inside = text[len(self._open) : len(text) - len(self._close)].strip()
        found: list[str] = []
        at = 0
        while at < len(inside):
            at = self._behind_prefix(inside, at)
            end, after = self._longest(inside, at)
            found.append(inside[at:end].strip())
            at = after
        return tuple(found), 0

    def may_still_be(self, raw: str) -> bool:  # noqa: ARG002 - the grammar says it all
        """Return whether a marker that has begun so can end as one."""
        return True

    def has_label(self, raw: str) -> bool:
        """Return whether a marker that the end cut has at least one character of a label."""
        inside = strip_invisible(raw)[len(self._open) :].strip()
        return len(inside) > len(self._prefix)

    def _behind_prefix(self, inside: str, at: int) -> int:
        prefix = strip_invisible(self._prefix)
        here = inside[at : at + len(prefix)]
        same = here.lower() == prefix.lower() if self._ignore_case else here == prefix
        return _end(_blanks, inside, at + len(prefix)) if same else at

    def _longest(self, inside: str, at: int) -> tuple[int, int]:
        """Return where the longest label at `at` ends, and where the next one begins."""
        best = (len(inside), len(inside))
        state = self._labels.start
        for index in range(at, len(inside)):
            state = state[inside[index]]
            if state is DEAD:
                break
            if state.whole:
                after = _end(_blanks, inside, index + 1)
                separator = _separator.match(inside, index + 1)
                if after == len(inside):
                    best = (index + 1, after)
                elif separator is not None:
                    best = (index + 1, separator.end())
        return best[0], _end(_blanks, inside, best[1])


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


class FileForm:
    """OpenAI's file search: `【4:0†source】`, its label `4:0`."""

    numeric = False
    """Whether labels are numbers."""

    _items = re.compile(rf"(\d+)[{BLANK}]*(?::[{BLANK}]*(\d+))?[{BLANK}]*(\u2020[^{COMMA}]*)?")

    def __init__(self, digits_most: int) -> None:
        self._digits_most = digits_most

    def expression(self) -> Expression:
        """Return what a marker may look like."""
        digits = Seq((Chars(r"\d"), Repeat(Chars(r"\d" + INVISIBLE)), BLANKS))
        place = Seq((Literal(":"), BLANKS, digits))
        dagger = Seq((Literal("\u2020"), _remark(), BLANKS))
        # Full-width numbers in brackets are prose in some scripts, and times stand in brackets.
        full = Seq((digits, optional(place), dagger))
        wide = Alt((full, Seq((digits, place))))
        options: list[Expression] = []
        for opener, closer in frames("\u3010", "\u3011").items():
            item = full if opener == "[" else wide
            more = Repeat(Seq((SEPARATOR, item)))
            options.append(Seq((Literal(opener), BLANKS, item, more, Literal(closer))))
        return Alt(tuple(options))

    def write(self, labels: tuple[int | str, ...]) -> str:
        """Return the canonical form of a marker that names `labels`."""
        return "".join([f"\u3010{label}\u2020source\u3011" for label in labels])

    def can_write(self, label: int | str) -> bool:
        """Return whether a marker can name `label`."""
        if not isinstance(label, str):
            return False
        match = re.fullmatch(r"(0|[1-9][0-9]*)(?::(0|[1-9][0-9]*))?", label)
        return match is not None and all(
            len(digits or "") <= self._digits_most for digits in match.groups()
        )

    def read(self, raw: str) -> tuple[tuple[int | str, ...], int] | None:
        """Return the labels of a whole marker, and how many are not listed."""
        labels: list[str] = []
        unlisted = 0
        for file, place, _ in self._items.findall(strip_invisible(raw)[1:-1]):
            if max(len(file), len(place)) > self._digits_most:
                unlisted += 1
            else:
                labels.append(f"{int(file)}:{int(place)}" if place else f"{int(file)}")
        return tuple(labels), unlisted

    def may_still_be(self, raw: str) -> bool:  # noqa: ARG002 - the grammar says it all
        """Return whether a marker that has begun so can end as one."""
        return True

    def has_label(self, raw: str) -> bool:
        """Return whether a marker that the end cut has at least one character of a label."""
        return any(map(str.isdecimal, raw))


def _remark() -> Expression:
    """Return what stands behind the dagger: `source`, a file's name, lines.

    Behind the word itself nothing follows, so that a marker which does not
    close is prose from the next blank on.
    """
    word = "source"
    char = NOT_REMARK + COMMA
    no_blank = Chars(char + BLANK)
    rest = Repeat(Chars(char))
    options: list[Expression] = [
        # Another letter comes somewhere, or the word goes on.
        Seq((Literal(word[:count]), Chars(f"{char}{BLANK}{letter}"), rest))
        for count, letter in enumerate(word)
    ]
    options += [Seq((Literal(word[:count]), Chars(BLANK), rest)) for count in range(1, len(word))]
    options += [Literal(word[:count]) for count in range(1, len(word) + 1)]
    options.append(Seq((Literal(word), no_blank, rest)))
    return optional(Alt(tuple(options)))


class PrivateForm:
    """OpenAI's own marks: private-use characters around `cite` and `turn0file0`."""

    numeric = False
    """Whether labels are numbers."""

    _label = re.compile(r"turn[0-9]{1,9}[a-z]{1,32}[0-9]{1,9}")

    def expression(self) -> Expression:
        """Return what a marker may look like."""
        part = Repeat(Chars(f"^\ue200-\ue202{BREAKS}{OPENS_REGION}{BLANK}"), 1)
        word = Seq((optional(Literal("file")), Literal("cite")))
        more = Repeat(Seq((Literal("\ue202"), part)), 1)
        return Seq((Literal("\ue200"), word, more, Literal("\ue201")))

    def write(self, labels: tuple[int | str, ...]) -> str:
        """Return the canonical form of a marker that names `labels`."""
        named = "".join([f"\ue202{label}" for label in labels])
        return f"\ue200cite{named}\ue201"

    def can_write(self, label: int | str) -> bool:
        """Return whether a marker can name `label`."""
        return isinstance(label, str) and self._label.fullmatch(label) is not None

    def read(self, raw: str) -> tuple[tuple[int | str, ...], int] | None:
        """Return the labels of a whole marker, and how many are not listed."""
        parts = [fold(part) for part in raw[1:-1].split("\ue202")[1:]]
        labels = [part for part in parts if self._label.fullmatch(part)]
        # What else there is are lines (`L8-L13`) of the file before it.
        return tuple(labels), 0 if labels else 1

    def may_still_be(self, raw: str) -> bool:  # noqa: ARG002 - the grammar says it all
        """Return whether a marker that has begun so can end as one."""
        return True

    def has_label(self, raw: str) -> bool:
        """Return whether a marker that the end cut has at least one character of a label."""
        return not raw.endswith("\ue202") and "\ue202" in raw
