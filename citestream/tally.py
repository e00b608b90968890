"""Checks markers against the passages and keeps the score; it holds no text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from citestream.events import Summary

if TYPE_CHECKING:
    from citestream.events import Ended, Label
    from citestream.passages import Passage, Passages

__all__ = ["MOST_INVALID", "Tally"]

MOST_INVALID = 100
"""Distinct invalid labels that are kept; a hostile answer can write any number of them."""


class Tally:
    """The score of one answer, shared by all its text blocks."""

    __slots__ = ("_cited", "_invalid", "kept", "passages", "refused", "removed", "truncated")

    def __init__(self, passages: Passages) -> None:
        self.passages = passages
        """What was in the prompt."""
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

    def check(
        self, labels: tuple[Label, ...], unlisted: int = 0, *, drifted: bool = False
    ) -> tuple[tuple[Label, ...], tuple[Label, ...]]:
        """Check a marker's labels and count it.

        Args:
            labels: What the marker names.
            unlisted: How many more labels it names that are too long to
                convert; they are invalid, and not listed.
            drifted: Whether the marker is spelled as the style does not
                allow; then none of its labels counts.

        Returns:
            The labels that have a passage, and those that have none.
        """
        known = self.passages.by_label
        if drifted:
            cited: tuple[Label, ...] = ()
            invalid = labels
        else:
            cited = tuple(label for label in labels if label in known)
            invalid = (
                ()
                if len(cited) == len(labels)
                else tuple(label for label in labels if label not in known)
            )
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
        if unlisted:
            self.truncated = True
        return cited, invalid

    def keep(self, label: Label) -> tuple[Passage, ...] | None:
        """Count a marker that names one label, if that has a passage; return its passages."""
        passages = self.passages.by_label.get(label)
        if not passages:
            if passages is None:
                return None
            passages = self.passages.get(label)
        self.kept += 1
        if label not in self._cited:
            self._cited[label] = len(self._cited) + 1
        return passages

    def cut(self) -> None:
        """Count a marker that the end cut; its label is neither cited nor invalid."""
        self.removed += 1

    def number(self, label: Label) -> int:
        """Return the place of a cited label in the order of first use, from one."""
        return self._cited[label]

    def passages_of(self, labels: tuple[Label, ...]) -> tuple[Passage, ...]:
        """Return the passages of some labels, in their order."""
        get = self.passages.get
        return tuple(passage for label in labels for passage in get(label))

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
        )
