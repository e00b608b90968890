"""What a marker looks like, as data: `MarkerStyle` and the built-in styles.

A style says how a marker opens and closes and which labels it names; it does
not know which labels have a passage.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from citestream.canonical import Common
from citestream.exceptions import StyleError
from citestream.frames import REGIONS, check_frame, frames
from citestream.grammar import Automaton, Expression, Machine, State
from citestream.named import FileForm, PatternForm, PrivateForm
from citestream.numbered import NumberForm
from citestream.shapes import LabelForm
from citestream.typography import BREAKS, PAIRS

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "CITATION",
    "FOOTNOTE",
    "LABEL",
    "MOST_HELD",
    "NUMERIC",
    "OPENAI",
    "OPENAI_PRIVATE",
    "RAGFLOW",
    "RAGFLOW_OLD",
    "WEB",
    "MarkerStyle",
    "Reading",
    "misspelt",
    "prefixed",
]

MOST_HELD = 256
"""Characters held back for one marker, by default.

Fifty three-digit labels with their separators fit, and so does a marker with
the name of a file in it.
"""


MOST_READINGS = 1000
"""Different markers whose readings are kept; a hostile answer is made of nothing else."""


class Writes(Protocol):
    """What a marker is written back by."""

    @property
    def close(self) -> str:
        """What closes a marker."""

    def write(self, labels: tuple[int | str, ...], /) -> str:
        """Return the canonical form of a marker that names `labels`."""


class Form(Protocol):
    """How the labels of one kind stand in a marker."""

    numeric: bool

    def write(self, labels: tuple[int | str, ...]) -> str:
        """Return the canonical form of a marker that names `labels`."""

    def can_write(self, label: int | str) -> bool:
        """Return whether a marker can name `label`."""

    def has_label(self, raw: str) -> bool:
        """Return whether a marker that the end cut has at least one character of a label."""


class ReadForm(Form, Protocol):
    """A form whose markers can be told without the supplied labels."""

    def expression(self) -> Expression:
        """Return what a marker may look like."""

    def read(self, raw: str) -> tuple[tuple[int | str, ...], int] | None:
        """Return the labels of a whole marker and how many are not listed; `None`: it is prose."""

    def may_still_be(self, raw: str) -> bool:
        """Return whether a marker that has begun so can end as one."""


class Reading(NamedTuple):
    """A marker, read."""

    labels: tuple[int | str, ...]
    """The labels it names, in the order written."""
    unlisted: int
    """How many more it names that are too long to convert, or too many to list."""
    drifted: bool
    """Whether the style is strict and this is not its canonical form."""
    style: Writes
    """What writes it back."""
    found: tuple[tuple[int | str, ...], ...] | None = None
    """The supplied labels that each label matches; `None` when each matches itself alone."""
    repaired: tuple[tuple[str, int | str], ...] = ()
    """What was written in place of some labels."""


@dataclass(frozen=True)
class MarkerStyle:
    """How citations are written. Make a variant with `replace`.

    Raises:
        StyleError: Such markers cannot be held within a bound, or not be told
            from what is around them. The message gives the reason.
    """

    open: str = "["
    """What opens a marker."""
    close: str = "]"
    """What closes it."""
    prefix: str = ""
    """What stands before each label and is no part of it."""
    label: str | None = None
    """The pattern of a label; `None`: a number. A small language, see `citestream.patterns`."""
    ignore_case: bool = True
    """Whether the prefix may be written in another case."""
    strict: bool = False
    """Whether only the canonical form cites; the other spellings are removed and reported."""
    prose_from: int | None = None
    """Numbers from here on are prose when a marker holds nothing else; for years, 1000."""
    digits_most: int = 9
    """Digits of a number that is converted; `int()` refuses more than 4300 of them."""
    most_held: int = MOST_HELD
    """Characters held back, at most, while a marker might be forming."""

    def __post_init__(self) -> None:
        check_frame(self.open, self.close, self.prefix)
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

        _ = self.form  # a pattern is checked when it is read

    @cached_property
    def form(self) -> Any:
        """How labels stand in a marker: a `Form`."""
        if self.label is not None:
            return PatternForm(
                self.open,
                self.close,
                self.prefix,
                self.label,
                ignore_case=self.ignore_case,
                most_held=self.most_held,
            )
        return NumberForm(
            self.open,
            self.close,
            self.prefix,
            ignore_case=self.ignore_case,
            digits_most=self.digits_most,
            prose_from=self.prose_from,
        )

    @property
    def numeric(self) -> bool:
        """Whether labels are numbers."""
        form: Form = self.form
        return form.numeric

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
        form: Form = self.form
        return form.write(labels)

    def can_write(self, label: int | str) -> bool:
        """Return whether a marker in this style can name `label`."""
        form: Form = self.form
        return form.can_write(label)

    @cached_property
    def prefixes(self) -> tuple[tuple[str, bool], ...]:
        """What stands before a label in square brackets, and whether that is a number."""
        return ((self.prefix, self.numeric),) if self.open == "[" else ()

    # What the scanner asks

    def machine(self, openers: str) -> Machine:
        """Return what follows a marker, among styles whose markers begin with `openers`."""
        machine = self._machines.get(openers)
        if machine is None:
            form: ReadForm = self.form
            closers = "".join(PAIRS.values()) if self.pairs else ""
            machine = Automaton(form.expression(), openers + closers + BREAKS + REGIONS)
            self._machines[openers] = machine
        return machine

    @cached_property
    def _machines(self) -> dict[str, Machine]:
        # What is made for one answer serves all: making it costs more than an answer.
        return {}

    @cached_property
    def start(self) -> State:
        """The state before a marker's first character."""
        return self.machine(self.openers).start

    @cached_property
    def openers(self) -> str:
        """The characters that a marker can begin with."""
        return "".join(dict.fromkeys(opener[0] for opener in frames(self.open, self.close)))

    @cached_property
    def overlaps(self) -> bool:
        """Whether a marker can begin inside another one that turns out to be none."""
        return any(char in self.openers for char in self.open[1:] + self.prefix + self.close)

    @cached_property
    def opener(self) -> re.Pattern[str]:
        """Finds the characters that a marker can begin with."""
        return re.compile(f"[{re.escape(self.openers)}]")

    @cached_property
    def pairs(self) -> dict[str, str]:
        """Brackets that go with a marker when they stand around it and nothing else."""
        return PAIRS if self.openers[0] in PAIRS else {}

    @cached_property
    def common(self) -> Common:
        """Finds the form in which nearly all markers come."""
        form = self.form
        marker = form.common() if isinstance(form, NumberForm) else None
        return Common(self.openers, self.open[0], self.most_held, marker)

    def has_begun(self, text: str) -> bool:
        """Return whether a marker of the common form may begin with what `common` found."""
        return text[0] == self.open[0]  # the pattern has seen to the rest

    @cached_property
    def read_common(self) -> Callable[[str], Reading | None]:
        """Reads a marker of the common form; a few of them make up most of all answers."""
        return _Readings(self).__getitem__

    def read(self, raw: str) -> Reading | None:
        """Read a whole marker, or return `None` when it is prose after all."""
        form: ReadForm = self.form
        found = form.read(raw)
        if found is None:
            return None
        labels, unlisted = found
        return Reading(labels, unlisted, self.strict and raw != self.write(labels), self)

    def may_still_be(self, raw: str) -> bool:
        """Return whether a marker that has begun so can end as one."""
        form: ReadForm = self.form
        return form.may_still_be(raw)

    def has_label(self, raw: str) -> bool:
        """Return whether a marker that the end cut has at least one character of a label."""
        form: Form = self.form
        return form.has_label(raw)


def prefixed(prefix: str, *, label: str | None = None, ignore_case: bool = True) -> MarkerStyle:
    """Return the style of markers such as `[S1]`, `[doc1]`, `[cite:kb-7]`.

    Args:
        prefix: What stands before each label and is no part of it.
        label: The pattern of a label; `None`: a number.
        ignore_case: Whether the prefix may be written in another case.

    Raises:
        StyleError: The prefix is empty, or no such markers can be told apart.
    """
    if not prefix:
        raise StyleError(
            "expected a prefix, got an empty one: use NUMERIC, or MarkerStyle(label=...)"
        )
    return MarkerStyle(prefix=prefix, label=label, ignore_case=ignore_case)


class _Readings(dict[str, "Reading | None"]):
    """What markers of the common form say that were read before."""

    def __init__(self, style: MarkerStyle) -> None:
        super().__init__()
        assert style.common.marker is not None  # there is a common form
        self._marker = style.common.marker
        self._style = style

    def __missing__(self, raw: str) -> Reading | None:
        if len(self) >= MOST_READINGS:
            self.clear()
        match = self._marker.fullmatch(raw)
        if match is None or not match[1]:
            return None
        reading = self[raw] = self._style.read(raw)
        return reading


def misspelt(style: MarkerStyle) -> MarkerStyle:
    """Return the style of a numbered style's near misses: numbers with a letter behind, `[6c]`."""
    return MarkerStyle(
        style.open,
        style.close,
        style.prefix,
        rf"[0-9]{{1,{style.digits_most}}}[A-Za-z]",
        style.ignore_case,
        most_held=style.most_held,
    )


class _Files(MarkerStyle):
    @cached_property
    def form(self) -> FileForm:
        return FileForm(self.digits_most)


class _Private(MarkerStyle):
    @cached_property
    def form(self) -> PrivateForm:
        return PrivateForm()


class _Labels(MarkerStyle):
    @cached_property
    def form(self) -> LabelForm:
        return LabelForm(self.most_held)


NUMERIC = MarkerStyle()
"""Numbers in square brackets, `[1]`, `[1, 2]`, with all the drift that models write."""

FOOTNOTE = prefixed("^")
"""Markdown's footnotes, `[^1]`."""

OPENAI = _Files(open="\u3010", close="\u3011")
"""OpenAI's file search, `【4:0†source】`; its label is `4:0`."""

OPENAI_PRIVATE = _Private(open="\ue200", close="\ue201")
"""OpenAI's own marks, with private-use characters around `cite` and `turn0file0`, the label."""

RAGFLOW = prefixed("ID:")
"""RAGFlow's `[ID:0]`, counted from zero."""

RAGFLOW_OLD = MarkerStyle(open="##", close="$$")
"""RAGFlow's older `##0$$`, counted from zero."""

WEB = prefixed("web:")
"""Web results, `[web:3]`."""

CITATION = prefixed("citation:")
"""Numbers behind a word, `[citation:3]`."""

LABEL = _Labels()
"""The passages' own labels, `[Article 6(3)]`, `[policy.pdf]`."""
