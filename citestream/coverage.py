"""Counts the sentences of an answer, those without a citation, and where each label is cited.

It does not know where a sentence ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from citestream.events import Label, Sentence

__all__ = ["MOST_PLACES", "MOST_UNCITED", "Coverage"]

MOST_UNCITED = 100
"""Uncited sentences whose text is kept; a hostile answer can write any number of them."""

MOST_PLACES = 100
"""Sentences that are kept for each label."""


class Coverage:
    """Counts the sentences of one answer; all its text blocks share it."""

    __slots__ = ("_places", "_uncited", "sentences", "truncated", "uncited_sentences")

    def __init__(self) -> None:
        self.sentences = 0
        """How many sentences have ended."""
        self.uncited_sentences = 0
        """How many of them carry no valid citation."""
        self.truncated = False
        """Whether `uncited` leaves sentences out, or `places` does."""
        self._uncited: list[str] = []
        self._places: dict[Label, list[int]] = {}

    def count(self, sentence: Sentence) -> None:
        """Count a sentence that has ended."""
        self.sentences += 1
        if not sentence.covered:
            self.uncited_sentences += 1
            if len(self._uncited) < MOST_UNCITED:
                self._uncited.append(sentence.content)
            else:
                self.truncated = True
        for label in sentence.cited:
            places = self._places.get(label)
            if places is None:
                self._places[label] = [self.sentences]
            elif len(places) < MOST_PLACES:
                places.append(self.sentences)
            else:
                self.truncated = True

    @property
    def uncited(self) -> tuple[str, ...]:
        """The sentences that carry no valid citation."""
        return tuple(self._uncited)

    @property
    def places(self) -> dict[Label, tuple[int, ...]]:
        """The numbers of the sentences, from one, in which each label is cited."""
        return {label: tuple(places) for label, places in self._places.items()}
