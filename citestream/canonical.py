"""Markers in the form in which nearly all come, found without following them.

They are looked up among the labels; what is not there, or written otherwise,
gets a second look elsewhere.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from citestream.numbered import calm_prose

if TYPE_CHECKING:
    from citestream.labels import Names
    from citestream.styles import MarkerStyle

__all__ = [
    "AnyCanonical",
    "Canonical",
    "CanonicalLabels",
    "CanonicalNumbers",
    "Common",
    "Met",
    "MetInProse",
    "Quick",
    "QuickCanonical",
]


class Met(Protocol):
    """A marker of the common form, or its beginning."""

    def groups(self) -> tuple[Any, ...]:
        """Return its label, and what closes it if it has come."""

    def end(self) -> int:
        """Return where it ends."""


class Common(Protocol):
    """Finds markers in the form in which nearly all come."""

    def match(self, text: str, at: int, /) -> Met | None:
        """Read the marker at a place, or `None`: it needs a second look."""


class MetInProse(Protocol):
    """A small chunk with one marker in it."""

    def groups(self) -> tuple[Any, ...]:
        """Return the text before, the space, the label, what closes it, and the text after."""

    def end(self, group: int, /) -> int:
        """Return where a group ends."""


class Quick(Protocol):
    """Finds a small chunk of calm prose in which one marker of the common form stands."""

    def fullmatch(self, text: str, /) -> MetInProse | None:
        """Read the chunk, or `None`: it needs a second look."""


class _Met:
    __slots__ = ("_closed", "_end", "_label")

    def __init__(self, label: int | str, closed: bool, end: int) -> None:
        self._label = label
        self._closed = closed
        self._end = end

    def groups(self) -> tuple[int | str, bool]:
        return self._label, self._closed

    def end(self) -> int:
        return self._end


class Canonical:
    """Finds markers of one label in their canonical form."""

    longest = 0
    """Characters of the longest one."""

    def label_of(self, marker: str) -> int | str | None:
        """Return the label that a whole marker names, or `None`: it needs a second look."""
        raise NotImplementedError

    def has_begun(self, text: str) -> bool:
        """Return whether a marker may begin with `text`."""
        raise NotImplementedError

    def match(self, text: str, at: int) -> _Met | None:
        """Read the marker at a place, or `None`: it needs a second look."""
        end = text.find("]", at, at + self.longest) + 1
        if end:
            label = self.label_of(text[at:end])
            return None if label is None else _Met(label, True, end)
        size = len(text)
        if size - at < self.longest and self.has_begun(text[at:]):
            return _Met("", False, size)
        return None


class CanonicalNumbers(Canonical):
    """Numbers in their common form."""

    def __init__(self, style: MarkerStyle, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self.longest = len(style.open + style.prefix + style.close) + style.digits_most

    def label_of(self, marker: str) -> int | None:
        """Return the number that a whole marker names, or `None`: it needs a second look."""
        match = self._pattern.fullmatch(marker)
        return int(match[1]) if match else None

    def has_begun(self, text: str) -> bool:
        """Return whether a marker may begin with `text`."""
        return self._pattern.fullmatch(text) is not None


class CanonicalLabels(Canonical):
    """Supplied labels that are text."""

    def __init__(self, style: MarkerStyle, names: Names) -> None:
        self._style = style
        self._names = names
        self._markers: dict[str, int | str] = {}
        self._ordered: list[str] = []
        self._taken: object = None
        self._take_in()

    def label_of(self, marker: str) -> int | str | None:
        """Return the label that a whole marker names, or `None`: it needs a second look."""
        if self._names.grown() or self._taken is not self._names.folded:
            self._take_in()
        return self._markers.get(marker)

    def has_begun(self, text: str) -> bool:
        """Return whether a marker may begin with `text`."""
        if self._names.grown() or self._taken is not self._names.folded:
            self._take_in()
        first = bisect_left(self._ordered, text)
        return first < len(self._ordered) and self._ordered[first].startswith(text)

    def _take_in(self) -> None:
        names = self._names
        names.grown()
        self._taken = names.folded
        self._markers = {
            self._style.write((label,)): label
            for label in names.folded.values()
            if self._style.can_write(label)
            and not (names.hierarchical and names.ambiguous(str(label)))
        }
        self._ordered = sorted(self._markers)
        # Labels that are added may be longer.
        self.longest = self._style.most_held


class AnyCanonical(Canonical):
    """What any of several finds."""

    def __init__(self, commons: list[Canonical]) -> None:
        self._commons = commons
        self.longest = max(common.longest for common in commons)

    def label_of(self, marker: str) -> int | str | None:
        """Return the label that a whole marker names, or `None`: it needs a second look."""
        for common in self._commons:
            label = common.label_of(marker)
            if label is not None:
                return label
        return None

    def has_begun(self, text: str) -> bool:
        """Return whether a marker may begin with `text`."""
        return any(common.has_begun(text) for common in self._commons)


class QuickCanonical:
    """Finds a small chunk of calm prose with one common marker, or the beginning of one."""

    def __init__(self, openers: str, common: Canonical) -> None:
        self._pattern = _calm_prose(openers)
        self._common = common

    def fullmatch(self, text: str) -> _MetInProse | None:
        """Read the chunk, or `None`: it needs a second look."""
        match = self._pattern.fullmatch(text)
        if match is None:
            return None
        begun, closed = match.group(3, 4)
        if closed is None:
            return _MetInProse(match, None) if self._common.has_begun(begun) else None
        label = self._common.label_of(begun + closed)
        return None if label is None else _MetInProse(match, label)


class _MetInProse:
    __slots__ = ("_label", "_match")

    def __init__(self, match: re.Match[str], label: int | str | None) -> None:
        self._match = match
        self._label = label

    def groups(self) -> tuple[Any, ...]:
        before, space, _, closed, after = self._match.groups()
        return before, space, self._label, closed, after

    def end(self, group: int, /) -> int:
        return self._match.end(group)


@lru_cache(maxsize=32)  # a process uses one or two combinations
def _calm_prose(openers: str) -> re.Pattern[str]:
    before, after = calm_prose(openers)
    return re.compile(rf"{before}(\[[^\[\]\n\r`$\\]*)(?:(\]){after})?")
