"""Checks markers against the passages and keeps the score; it holds no text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from citestream.events import Citation, Summary
from citestream.labels import Nearness

if TYPE_CHECKING:
    from collections.abc import Container

    from citestream.events import Ended, Label
    from citestream.passages import Passage, Passages
    from citestream.styles import Reading

__all__ = ["MOST_INVALID", "Tally"]

MOST_INVALID = 100
"""Distinct invalid labels that are kept; a hostile answer can write any number of them."""


FEW = 8
"""Labels that are found as quickly one after another as by their hashes."""


class Tally:
    """The score of one answer, shared by all its text blocks.

    Args:
        passages: What was in the prompt.
        prefixes: What stands before the labels in each style, and whether they are numbers.
        prior: Passages of earlier turns.
    """

    __slots__ = (
        "_cited",
        "_invalid",
        "_known",
        "_near",
        "_nearness",
        "_prefixes",
        "_prior",
        "_repaired",
        "kept",
        "passages",
        "refused",
        "removed",
        "truncated",
    )

    def __init__(
        self,
        passages: Passages,
        prefixes: tuple[tuple[str, bool], ...],
        prior: Passages | None = None,
    ) -> None:
        self.passages = passages
        """What was in the prompt."""
        # Passages of earlier turns, and all labels that have a passage. A
        # label that stands in both lists is the prompt's.
        self._prior = prior
        self._known: Container[Label] = passages.by_label
        if prior is not None:
            self._known = _Either(passages, prior)
        self._prefixes = prefixes
        # Most answers need none of these.
        self._nearness: Nearness | None = None
        self._near: tuple[str, ...] = ()
        self._repaired: dict[str, Label] | None = None
        self._invalid: dict[Label, None] | None = None
        # In the order of first use. When they are many, a dict finds them, and
        # their numbers from one; a few take less than half the memory so.
        self._cited: tuple[Label, ...] | dict[Label, int] = ()
        self.kept = 0
        """Markers with at least one valid label."""
        self.removed = 0
        """Markers without."""
        self.truncated = False
        """Whether invalid labels were left out."""
        self.refused = False
        """Whether the answer holds the refusal sentence."""

    @property
    def nearness(self) -> Nearness:
        """What is near a supplied label."""
        if self._nearness is None:
            prior = self._prior
            lists = (self.passages,) if prior is None else (self.passages, prior)
            self._nearness = Nearness(self._prefixes, lists)
        return self._nearness

    def check(self, reading: Reading) -> tuple[tuple[Label, ...], tuple[Label, ...]]:
        """Check a marker's labels and count it.

        Returns:
            The labels that have a passage, and those that have none.
        """
        labels = reading.labels
        known = self._known
        if reading.drifted:
            cited: tuple[Label, ...] = ()
            invalid = labels
        elif reading.found is not None:
            cited = tuple(dict.fromkeys(label for found in reading.found for label in found))
            invalid = tuple(
                label for label, found in zip(labels, reading.found, strict=True) if not found
            )
        else:
            cited = tuple([label for label in labels if label in known])
            invalid = tuple([label for label in labels if label not in known])
        for written, label in () if reading.drifted else reading.repaired:
            if self._repaired is None:
                self._repaired = {}
            if len(self._repaired) < MOST_INVALID:
                self._repaired[written] = label
        if cited:
            self.kept += 1
            for label in cited:
                if label not in self._cited:
                    self._cite(label)
        else:
            self.removed += 1
        for label in invalid:
            if self._invalid is None:
                self._invalid = {}
            if label not in self._invalid:
                if len(self._invalid) >= MOST_INVALID:
                    self.truncated = True
                    break
                self._invalid[label] = None
        if reading.unlisted:
            self.truncated = True
        return cited, invalid

    def keeps(self, reading: Reading) -> bool:
        """Return whether a marker is kept: a label of it has a passage."""
        if reading.drifted:
            return False
        if reading.found is not None:
            return any(reading.found)
        return any(label in self._known for label in reading.labels)

    def cite(self, raw: str, reading: Reading, drops: bool) -> Citation | None:
        """Check a marker in its canonical form and count it.

        Args:
            raw: The marker.
            reading: What it says.
            drops: Whether labels without a passage are left out.

        Returns:
            The citation, but for where it stands. `None`, and nothing is
            counted, when there is a label without a passage that is not left out.
        """
        labels = reading.labels
        if len(labels) == 1:
            # As nearly all are.
            label = labels[0]
            passages = self.passages.by_label.get(label)
            if passages:
                self.kept += 1
                if label not in self._cited:
                    self._cite(label)
                return Citation(raw, labels, (), raw, passages, 0, 0)
            if drops and label not in self._known and label in (self._invalid or ()):
                self.removed += 1
                return Citation("", (), labels, raw, (), 0, 0)
        known = self._known
        for label in labels:
            if label not in known:
                break
        else:
            self.kept += 1
            for label in labels:
                if label not in self._cited:
                    self._cite(label)
            return Citation(raw, labels, (), raw, self.passages_of(labels), 0, 0)
        if not drops:
            return None
        cited, invalid = self.check(reading)
        if not cited:
            return Citation("", (), invalid, raw, (), 0, 0)
        return Citation(
            reading.style.write(cited), cited, invalid, raw, self.passages_of(cited), 0, 0
        )

    def _cite(self, label: Label) -> None:
        """Take note of a label that is cited for the first time."""
        cited = self._cited
        if isinstance(cited, tuple):
            if len(cited) < FEW:
                self._cited = (*cited, label)
                return
            cited = self._cited = {known: place for place, known in enumerate(cited, 1)}
        cited[label] = len(cited) + 1

    def cut(self) -> None:
        """Count a marker that the end cut; its label is neither cited nor invalid."""
        self.removed += 1

    def note_near(self, contents: tuple[str, ...]) -> None:
        """Take note of brackets that are no markers, but nearly."""
        for content in contents:
            if len(self._near) < MOST_INVALID and content not in self._near:
                self._near += (content,)

    def _all_near(self) -> tuple[tuple[str, tuple[Label, ...]], ...]:
        near = [(str(label), self.nearness.of_label(label)) for label in self._invalid or ()]
        near += [(content, self.nearness.of_bracket(content)) for content in self._near]
        return tuple((written, labels) for written, labels in near if labels)

    def number(self, label: Label) -> int:
        """Return the place of a cited label in the order of first use, from one."""
        cited = self._cited
        return cited.index(label) + 1 if isinstance(cited, tuple) else cited[label]

    def passages_of(self, labels: tuple[Label, ...]) -> tuple[Passage, ...]:
        """Return the passages of some labels, in their order."""
        get = self.passages.get
        prior = self._prior
        found: list[Passage] = []
        for label in labels:
            passages = get(label)
            if not passages and prior is not None:
                passages = prior.get(label)
            found += passages
        return tuple(found)

    def summary(self, ended: Ended = "complete", reason: str | None = None) -> Summary:
        """Return the score."""
        cited = tuple(self._cited)
        return Summary(
            cited=cited,
            invalid=tuple(self._invalid or ()),
            unused=tuple(label for label in self.passages.labels if label not in self._cited),
            grounded=bool(cited) and not self.refused,
            refused_by="model" if self.refused else None,
            passages=() if self.refused else self.passages_of(cited),
            kept=self.kept,
            removed=self.removed,
            truncated=self.truncated,
            sentences=None,
            uncited=None,
            ended=ended,
            reason=reason,
            prior=tuple(label for label in cited if label not in self.passages.by_label),
            near=self._all_near(),
            repaired=tuple((self._repaired or {}).items()),
        )


class _Either:
    """The labels of two passage lists, as they are when asked."""

    __slots__ = ("_first", "_second")

    def __init__(self, first: Passages, second: Passages) -> None:
        self._first = first.by_label
        self._second = second.by_label

    def __contains__(self, label: object) -> bool:
        return label in self._first or label in self._second
