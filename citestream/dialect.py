"""The styles of one answer, joined and bound to its labels: what a scanner asks.

It finds no marker itself and keeps no score.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Protocol

from citestream.canonical import Common, common_brackets
from citestream.exceptions import StyleError
from citestream.grammar import DEAD, Joined, Machine, State, follow
from citestream.labels import Names
from citestream.shapes import LabelForm, LabelMachine, label_machine, split
from citestream.styles import MOST_READINGS, MarkerStyle, Reading, misspelt

if TYPE_CHECKING:
    from collections.abc import Callable

    from citestream.passages import Passages

__all__ = ["Bound", "Dialect", "bind", "check_styles", "prefixes"]


class Dialect(Protocol):
    """What markers look like in one answer."""

    @property
    def start(self) -> State:
        """The state before a marker's first character."""

    @property
    def opener(self) -> re.Pattern[str]:
        """Finds the characters that a marker can begin with."""

    @property
    def openers(self) -> str:
        """The characters that a marker can begin with."""

    @property
    def overlaps(self) -> bool:
        """Whether a marker can begin inside another one that turns out to be none."""

    @property
    def pairs(self) -> dict[str, str]:
        """Brackets that go with a marker when they stand around it and nothing else."""

    @property
    def most_held(self) -> int:
        """Characters held back, at most, while a marker might be forming."""

    @property
    def common(self) -> Common:
        """Finds the form in which nearly all markers come."""

    def has_begun(self, text: str) -> bool:
        """Return whether a marker may begin with a beginning that `common` found."""

    @property
    def read_common(self) -> Callable[[str], Reading | None]:
        """Reads a marker that `common` found, or returns `None`: it needs a second look."""

    def read(self, raw: str) -> Reading | None:
        """Read a whole marker, or return `None` when it is prose after all."""

    def may_still_be(self, raw: str) -> bool:
        """Return whether a marker that has begun so can end as one."""

    def has_label(self, raw: str) -> bool:
        """Return whether a marker that the end cut has at least one character of a label."""


def check_styles(style: object) -> tuple[MarkerStyle, ...]:
    """Return the styles that a caller gave, one or a tuple of them.

    Raises:
        StyleError: It is something else, or none.
    """
    if isinstance(style, MarkerStyle):
        return (style,)
    styles = style if isinstance(style, tuple) else ()
    if not styles or not all(isinstance(one, MarkerStyle) for one in styles):
        raise StyleError(
            f"expected a MarkerStyle or a tuple of them, got {style!r}: "
            "choose from citestream.styles"
        )
    return styles


def bind(
    styles: tuple[MarkerStyle, ...], lists: tuple[Passages, ...], match: str, repair: bool
) -> Dialect:
    """Return what a scanner asks about the markers of one answer.

    Args:
        styles: The styles that are active at once.
        lists: What supplies the labels.
        match: `"exact"` or `"hierarchical"`.
        repair: Whether a label that is no supplied one, but near exactly one, is read as that.
    """
    if len(styles) == 1 and styles[0].numeric and not repair:
        return styles[0]  # it needs to know no labels
    names = Names(*lists, hierarchical=match == "hierarchical")
    parts = [Bound(style, names, repair) for style in styles]
    if repair:
        parts += [_Misspelt(part, names) for part in parts if part.style.numeric]
    return _Joint(parts, names)


def prefixes(styles: tuple[MarkerStyle, ...]) -> tuple[tuple[str, bool], ...]:
    """Return what stands before a label in square brackets, and whether that is a number."""
    if len(styles) == 1:
        return styles[0].prefixes
    return tuple(found for style in styles for found in style.prefixes)


class Bound:
    """A style that knows which labels were supplied."""

    def __init__(self, style: MarkerStyle, names: Names, repair: bool) -> None:
        self.style = style
        """The style."""
        self._names = names
        self._repair = repair
        self._of_labels = isinstance(style.form, LabelForm)
        self.machine: Machine | None = None
        """What follows a marker of this style."""

    @property
    def close(self) -> str:
        """What closes a marker."""
        return self.style.close

    def renew(self, openers: str) -> Machine:
        """Make the machine, or make it again for labels that were added."""
        if self._of_labels:
            names = self._names
            names.grown()
            self.machine = label_machine(
                tuple(names.ordered), names.broader, openers, hierarchical=names.hierarchical
            )
        elif self.machine is None:
            self.machine = self.style.machine(openers)
        return self.machine

    def follows(self, raw: str) -> State:
        """Return how far a marker has come in this style."""
        assert self.machine is not None  # it was made when the first marker began
        return follow(self.machine.start, raw)

    def write(self, labels: tuple[int | str, ...]) -> str:
        """Return the canonical form of a marker that names `labels`."""
        text = self.style.write(labels)
        if self._of_labels and len(labels) > 1 and self._split(text) != list(labels):
            # A comma in one of them would hide where it ends.
            return f"{self.style.open}{'; '.join(map(str, labels))}{self.style.close}"
        return text

    def read(self, raw: str) -> Reading | None:
        """Read a whole marker of this style, or return `None` when it is prose after all."""
        style = self.style
        names = self._names
        if self._of_labels:
            labels: tuple[int | str, ...] = tuple(self._split(raw))
            unlisted = 0
        else:
            read = style.form.read(raw)
            if read is None:
                return None
            labels, unlisted = read
            if style.numeric:
                return Reading(labels, unlisted, style.strict and raw != style.write(labels), self)
            supplied = [(label, names.find(str(label))) for label in labels]
            labels = tuple(label if found is None else found for label, found in supplied)
        drifted = style.strict and raw != self.write(labels)
        found = None
        if names.hierarchical and self._of_labels:
            found = tuple(names.matching(str(label)) for label in labels)
        if not self._repair:
            return Reading(labels, unlisted, drifted, self, found)
        repaired: list[tuple[str, int | str]] = []
        right: list[int | str] = []
        for index, label in enumerate(labels):
            known = found[index] if found is not None else names.find(str(label)) is not None
            meant = None if known else names.repaired(str(label))
            if meant is not None:
                repaired.append((str(label), meant))
            right.append(label if meant is None else meant)
        if found is not None:
            found = tuple(names.matching(str(label)) for label in right)
        return Reading(tuple(right), unlisted, drifted, self, found, tuple(repaired))

    def _split(self, raw: str) -> list[str]:
        assert isinstance(self.machine, LabelMachine)
        return split(raw[1:-1], self._names, self.machine.shapes)


class _Misspelt(Bound):
    """A numbered style's near misses, read as the numbers that were meant."""

    def __init__(self, meant: Bound, names: Names) -> None:
        super().__init__(misspelt(meant.style), names, False)
        self._meant = meant

    def read(self, raw: str) -> Reading | None:
        """Read a whole marker, or return `None` when its numbers are not all supplied."""
        written, _ = self.style.form.read(raw)
        numbers = [int(label[:-1]) for label in written]
        if not all(map(self._names.knows, numbers)):
            return None
        repaired = tuple(zip(written, numbers, strict=True))
        return Reading(tuple(numbers), 0, self._meant.style.strict, self._meant, None, repaired)


class _Joint:
    """Several styles at once, bound to the labels supplied."""

    def __init__(self, parts: list[Bound], names: Names) -> None:
        self._parts = parts
        self._names = names
        # Markers that were read, and beginnings of some, and the labels that
        # they were read for.
        self._readings: dict[str, Reading] = {}
        self._begun: dict[str, bool] = {}
        self._read_for = names.folded
        styles = [part.style for part in parts]
        self.openers = "".join(dict.fromkeys("".join([style.openers for style in styles])))
        self._opener = "[" if "[" in self.openers else styles[0].open[0]
        self.overlaps = any(style.overlaps for style in styles) or (
            len({style.openers for style in styles}) > 1
        )
        self.most_held = max(style.most_held for style in styles)
        self.pairs: dict[str, str] = {}
        for style in styles:
            self.pairs |= style.pairs
        self._start: State | None = None
        self._started = names.folded

    @property
    def start(self) -> State:
        names = self._names
        names.grown()
        if self._start is None or self._started is not names.folded:
            self._started = names.folded
            machines = tuple(part.renew(self.openers) for part in self._parts)
            self._start = _joined(machines).start
        return self._start

    @cached_property
    def opener(self) -> re.Pattern[str]:
        return re.compile(f"[{re.escape(self.openers)}]")

    @property
    def common(self) -> Common:
        return common_brackets(self.openers, self._opener, self.most_held)

    def has_begun(self, text: str) -> bool:
        self._forget()
        begun = self._begun.get(text)
        if begun is None:
            state = follow(self.start, text)
            begun = state is not DEAD and not state.whole and self.may_still_be(text)
            self._begun[text] = begun
        return begun

    def _forget(self) -> None:
        """Forget what was read for other labels than there are now, or too much of it."""
        names = self._names
        names.grown()
        if self._read_for is not names.folded or len(self._begun) >= MOST_READINGS:
            # What is near a label, or broader than one, may be so no longer.
            self._read_for = names.folded
            self._readings.clear()
            self._begun.clear()

    def read_common(self, raw: str) -> Reading | None:
        self._forget()
        reading = self._readings.get(raw)
        if reading is None and self._is_whole(raw):
            reading = self.read(raw)
            if reading is None or not self._is_certain(raw, reading):
                return None
            if len(self._readings) >= MOST_READINGS:
                self._readings.clear()
            self._readings[raw] = reading
        return reading

    def _is_whole(self, raw: str) -> bool:
        """Return whether all of `raw` is one marker, and no less of it."""
        state = self.start
        for char in raw:
            if state.whole:
                return False
            state = state[char]
        return state.whole

    def _is_certain(self, raw: str, reading: Reading) -> bool:
        """Return whether it is canonical, and says the same whatever the passages' texts are."""
        if reading.unlisted or reading.repaired or raw != reading.style.write(reading.labels):
            return False
        if reading.found is None:
            return True
        found = tuple([(label,) for label in reading.labels])
        ambiguous = map(self._names.ambiguous, map(str, reading.labels))
        return reading.found == found and not any(ambiguous)

    def read(self, raw: str) -> Reading | None:
        readings = [part.read(raw) for part in self._parts if part.follows(raw).whole]
        found = [reading for reading in readings if reading is not None]
        # Of several styles that read it, one whose labels are all known is meant.
        known = (reading for reading in found if self._knows(reading))
        return next(known, found[0] if found else None)

    def _knows(self, reading: Reading) -> bool:
        if reading.found is not None:
            return all(reading.found)
        return not reading.unlisted and all(map(self._names.knows, reading.labels))

    def may_still_be(self, raw: str) -> bool:
        return any(
            isinstance(part.style.form, LabelForm) or part.style.may_still_be(raw)
            for part in self._parts
            if part.follows(raw) is not DEAD
        )

    def has_label(self, raw: str) -> bool:
        return any(
            part.style.has_label(raw) for part in self._parts if part.follows(raw) is not DEAD
        )


def _joined(machines: tuple[Machine, ...]) -> Machine:
    if len(machines) == 1:
        return machines[0]
    return _kept(machines)


@lru_cache(maxsize=32)  # a process uses one or two combinations
def _kept(machines: tuple[Machine, ...]) -> Machine:
    return Joined(machines)
