"""Checks markers against the passages and keeps the score; it holds no text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from citestream.events import Summary

if TYPE_CHECKING:
    from collections.abc import Container

    from citestream.events import Ended, Label
    from citestream.labels import Nearness
    from citestream.passages import Passage, Passages
    from citestream.styles import Reading

__all__ = ["MOST_INVALID", "Tally"]

MOST_INVALID = 100
"""Distinct invalid labels that are kept; a hostile answer can write any number of them."""


class Tally:
    """The score of one answer, shared by all its text blocks."""

    __slots__ = (
        "_cited",
        "_invalid",
        "_known",
        "_near",
        "_prior",
        "_repaired",
        "kept",
        "nearness",
        "passages",
        "refused",
        "removed",
        "truncated",
    )

    def __init__(
        self, passages: Passages, nearness: Nearness, prior: Passages | None = None
    ) -> None:
        self.passages = passages
        """What was in the prompt."""
        # Passages of earlier turns, and all labels that have a passage. A
        # label that stands in both lists is the prompt's.
        self._prior = prior
        self._known: Container[Label] = passages.by_label
        if prior is not None:
            self._known = _Either(passages, prior)
        self.nearness = nearness
        """What is near a supplied label."""
        self._near: dict[str, None] = {}
        self._repaired: dict[str, Label] = {}
        # Dicts for their order; the numbers count from one, for renumbering.
        self._cited: dict[Label, int] = {}
        self._invalid: dict[Label, None] = {}
        self.kept = 0
        """Markers with at least one valid label."""
        self.removed = 0
        """Markers without."""
        self.truncated = False
        """Whether invalid labels were left out."""
        self.refused = False
        """Whether the answer holds the refusal sentence."""

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
            cited = tuple(label for label in labels if label in known)
            invalid = (
                ()
                if len(cited) == len(labels)
                else tuple(label for label in labels if label not in known)
            )
        for written, label in () if reading.drifted else reading.repaired:
            if len(self._repaired) < MOST_INVALID:
                self._repaired[written] = label
        if cited:
            self.kept += 1
            for label in cited:
                if label not in self._cited:
                    self._cited[label] = len(self._cited) + 1
        else:
            self.removed += 1
        for label in invalid:
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

    def keep(self, labels: tuple[Label, ...]) -> tuple[Passage, ...] | None:
        """Count a marker if all its labels have a passage; return their passages."""
        passages: tuple[Passage, ...] | None = None
        if len(labels) == 1:
            passages = self.passages.by_label.get(labels[0])
        if not passages:
            known = self._known
            for label in labels:
                if label not in known:
                    return None
            passages = self.passages_of(labels)
        self.kept += 1
        cited = self._cited
        for label in labels:
            if label not in cited:
                cited[label] = len(cited) + 1
        return passages

    def cut(self) -> None:
        """Count a marker that the end cut; its label is neither cited nor invalid."""
        self.removed += 1

    def note_near(self, contents: tuple[str, ...]) -> None:
        """Take note of brackets that are no markers, but nearly."""
        for content in contents:
            if len(self._near) < MOST_INVALID:
                self._near[content] = None

    def _all_near(self) -> tuple[tuple[str, tuple[Label, ...]], ...]:
        near = [(str(label), self.nearness.of_label(label)) for label in self._invalid]
        near += [(content, self.nearness.of_bracket(content)) for content in self._near]
        return tuple((written, labels) for written, labels in near if labels)

    def number(self, label: Label) -> int:
        """Return the place of a cited label in the order of first use, from one."""
        return self._cited[label]

    def passages_of(self, labels: tuple[Label, ...]) -> tuple[Passage, ...]:
        """Return the passages of some labels, in their order."""
        get = self.passages.get
        if self._prior is None:
            return tuple(passage for label in labels for passage in get(label))
        earlier = self._prior.get
        return tuple(passage for label in labels for passage in get(label) or earlier(label))

    def summary(self, ended: Ended = "complete", reason: str | None = None) -> Summary:
        """Return the score."""
        cited = tuple(self._cited)
        return Summary(
            cited=cited,
            invalid=tuple(self._invalid),
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
            repaired=tuple(self._repaired.items()),
        )


class _Either:
    """The labels of two passage lists, as they are when asked."""

    __slots__ = ("_first", "_second")

    def __init__(self, first: Passages, second: Passages) -> None:
        self._first = first.by_label
        self._second = second.by_label

    def __contains__(self, label: object) -> bool:
        return label in self._first or label in self._second
