"""Which supplied label a written one is: typography, hierarchy, near misses.

It knows the labels and the passages' texts, and nothing of brackets.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from typing import TYPE_CHECKING

from citestream.typography import fold

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from citestream.passages import Passages

__all__ = ["Names", "Nearness", "begins_one", "written_form"]

MOST_ASKED = 1000
"""Brackets that are compared with the labels; a hostile answer is made of nothing else."""

_SUBDIVISION = "(,"
_boundary = re.compile(r" ?[(,]")
_parts = re.compile(r"\([^()]+\)|,[^(),]*|[^(),]+")
_joining = frozenset({"to", "through", "-", "and", "or", "&", ";"})
_range = frozenset({"to", "through", "-"})


def begins_one(ordered: Sequence[str], text: str) -> bool:
    """Return whether one of some texts, in the order of characters, begins with `text`."""
    at = bisect_left(ordered, text)
    return at < len(ordered) and ordered[at].startswith(text)


def written_form(text: str) -> str:
    """Return a written label as it is reported and written back: folded, accents in one piece."""
    return unicodedata.normalize("NFC", fold(text))


class Names:
    """The labels of some passage lists that are text, and which of them a written one is.

    Labels may be added to the lists while an answer streams.
    """

    __slots__ = (
        "_count",
        "_lists",
        "_order",
        "_supplied",
        "_texts",
        "broader",
        "folded",
        "hierarchical",
        "ordered",
    )

    def __init__(self, *lists: Passages, hierarchical: bool = False) -> None:
        self._lists = lists
        # Asked for at every marker.
        self._supplied = [passages.by_label for passages in lists]
        self.hierarchical = hierarchical
        """Whether a broader or narrower label finds its passage as well."""
        self._count = -1
        self.folded: dict[str, int | str] = {}
        """The supplied labels by what they fold to."""
        self.ordered: list[str] = []
        """What they fold to, in the order of characters."""
        self.broader: frozenset[str] = frozenset()
        """What is broader than a supplied label."""
        self._order: dict[int | str, int] = {}
        self._texts: dict[tuple[str, int], str] = {}

    def grown(self) -> bool:
        """Take in labels that were added; return whether there are any."""
        count = 0
        for supplied in self._supplied:
            count += len(supplied)
        if count == self._count:
            return False
        self._count = count
        self.folded = {}
        self._order = {}
        for passages in self._lists:
            for label in passages.by_label:
                self._order.setdefault(label, len(self._order))
                if isinstance(label, str):
                    self.folded.setdefault(fold(label), label)
        self.ordered = sorted(self.folded)
        if self.hierarchical:
            self.broader = frozenset(part for label in self.ordered for part in _broader(label))
        return True

    def knows(self, label: int | str) -> bool:
        """Return whether a label was supplied, just so."""
        return any(label in passages.by_label for passages in self._lists)

    def find(self, text: str) -> int | str | None:
        """Return the supplied label that a written one is, if it is one."""
        for passages in self._lists:
            if text in passages.by_label:
                return text
        self.grown()
        return self.folded.get(fold(text))

    def matching(self, text: str) -> tuple[int | str, ...]:
        """Return every label that a written one matches, in passage order.

        Broader: the written one ends where a supplied one goes on with `(` or
        `,`. Narrower: the other way round, and the subdivision occurs in the
        passage's text.
        """
        label = self.find(text)
        written = fold(text)
        found = set() if label is None else {label}
        at = bisect_left(self.ordered, written)
        while at < len(self.ordered) and self.ordered[at].startswith(written):
            longer = self.ordered[at]
            if _boundary.match(longer, len(written)):
                found.add(self.folded[longer])
            at += 1
        for shorter in _broader(written):
            supplied = self.folded.get(shorter)
            if supplied is not None and self._holds(shorter, written[len(shorter) :]):
                found.add(supplied)
        return tuple(sorted(found, key=self._order.__getitem__))

    def ambiguous(self, label: str) -> bool:
        """Return whether a supplied label matches others as well."""
        folded = fold(label)
        return folded in self.broader or any(part in self.folded for part in _broader(folded))

    def _holds(self, folded: str, subdivision: str) -> bool:
        """Return whether a passage of a label has, in one of its texts, all of a subdivision."""
        label = self.folded[folded]
        for passages in self._lists:
            for index, passage in enumerate(passages.get(label)):
                # A passage is never changed, and those added come after it.
                key = (f"{id(passages)} {folded}", index)
                if key not in self._texts:
                    self._texts[key] = fold(passage.text or "")
                if _occurs(subdivision, self._texts[key]):
                    return True
        return False

    def near(self, text: str) -> tuple[int | str, ...]:
        """Return the supplied labels one edit, one case or one hyphen away, in passage order."""
        self.grown()
        written = fold(text)
        bare = _bare(written)
        found = [
            label
            for folded, label in self.folded.items()
            if folded != written and (_bare(folded) == bare or _one_edit(folded, written))
        ]
        return tuple(sorted(found, key=self._order.__getitem__))

    def repaired(self, text: str) -> int | str | None:
        """Return the one label that a written one is near, if its numbers are the same.

        A label with another number is another label, however near it is.
        """
        near = self.near(text)
        # One that differs in case or hyphens alone is nearer than the others.
        same = tuple(label for label in near if _bare(fold(str(label))) == _bare(fold(text)))
        near = same or near
        if len(near) != 1 or _numbers(str(near[0])) != _numbers(text):
            return None
        return near[0]


class Nearness:
    """What is near the supplied labels, for styles whose markers stand in square brackets.

    Args:
        prefixes: What stands before the labels in each style, and whether they are numbers.
        lists: What supplies the labels.
    """

    __slots__ = ("_asked", "_known", "_lists", "_prefixes")

    def __init__(self, prefixes: tuple[tuple[str, bool], ...], lists: tuple[Passages, ...]) -> None:
        self._prefixes = prefixes
        self._lists = lists
        self._known: Names | None = None
        self._asked: dict[str, tuple[int | str, ...]] = {}

    @property
    def _names(self) -> Names:
        # Most answers hold nothing that would have to be compared.
        if self._known is None:
            self._known = Names(*self._lists)
        return self._known

    def of_label(self, label: int | str) -> tuple[int | str, ...]:
        """Return what an invalid label is near; a wrong number is near none."""
        return self._names.near(label) if isinstance(label, str) else ()

    def of_bracket(self, content: str) -> tuple[int | str, ...]:
        """Return what the content of a bracket that is no marker is near.

        Nothing, when that was asked of too many different ones.
        """
        near = self._asked.get(content)
        if near is None:
            if len(self._asked) >= MOST_ASKED:
                return ()
            near = self._asked[content] = self._near_bracket(content)
        return near

    def _near_bracket(self, content: str) -> tuple[int | str, ...]:
        for prefix, numeric in self._prefixes:
            near = self._number(prefix, content) if numeric else self._label(prefix, content)
            if near:
                return near
        return ()

    def _number(self, prefix: str, content: str) -> tuple[int | str, ...]:
        before = re.escape(_bare(fold(prefix)))
        inside = _bare(fold(content)) if prefix else content
        match = re.fullmatch(rf"{before}([0-9]{{1,9}})[a-z]?", inside, re.IGNORECASE)
        if match is None or content == f"{prefix}{match[1]}":
            return ()  # or it is a marker that was kept
        number = int(match[1])
        return (number,) if self._names.knows(number) else ()

    def _label(self, prefix: str, content: str) -> tuple[int | str, ...]:
        if content[: len(prefix)].casefold() != prefix.casefold():
            return ()
        label = content[len(prefix) :]
        return () if self._names.find(label) is not None else self._names.near(label)


def _broader(label: str) -> Iterator[str]:
    """Give each part of a label that ends before a subdivision."""
    for match in _boundary.finditer(label):
        if match.start():
            yield label[: match.start()]


def _occurs(subdivision: str, text: str) -> bool:
    """Return whether every point, and every name behind a comma, stands in a text.

    Of a range such as `(a) to (h)` both ends do, in their order.
    """
    parts = _parts.findall(subdivision)
    left_over = _parts.sub("", subdivision).strip()
    last = ""
    through = False
    named = False
    for part in parts:
        words = part.lstrip(",").split()
        while words and words[0] in _joining:
            through = words.pop(0) in _range
        then_through = False
        while words and words[-1] in _joining:
            then_through = words.pop() in _range
        rest = " ".join(words)
        if rest and part[0] not in _SUBDIVISION:
            return False  # it stands behind a point, and is none
        if rest:
            named = True
            if not _stands_in(rest, text) or (through and not _in_order(last, rest)):
                return False
            last = rest
            through = False
        through = through or then_through
    return named and not left_over and not through


def _stands_in(part: str, text: str) -> bool:
    if part[0] == "(":
        return part in text
    return re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text, re.IGNORECASE) is not None


def _in_order(first: str, last: str) -> bool:
    low, high = first.strip("()"), last.strip("()")
    if low.isdecimal() and high.isdecimal():
        return len(low) <= 9 and len(high) <= 9 and int(low) <= int(high)
    return len(low) != len(high) or low <= high


def _bare(folded: str) -> str:
    """Return a folded label without its case and its hyphens."""
    return folded.casefold().translate({ord("-"): None, ord("_"): None, ord(" "): None})


def _numbers(text: str) -> list[str]:
    return re.findall(r"\d+", fold(text))


def _one_edit(a: str, b: str) -> bool:
    """Return whether one character put in, left out, changed or swapped makes the two the same."""
    if len(a) > len(b):
        a, b = b, a
    if len(b) - len(a) > 1 or len(b) < 3:
        return False  # of two characters, one edit leaves nothing in common
    at = 0
    while at < len(a) and a[at] == b[at]:
        at += 1
    if len(a) < len(b):
        return a[at:] == b[at + 1 :]
    swapped = a[at : at + 2] == b[at : at + 2][::-1] and a[at + 2 :] == b[at + 2 :]
    return a[at + 1 :] == b[at + 1 :] or swapped
