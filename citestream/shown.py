"""The score of what a gate has let out, which may be less than what the model wrote.

It does not know why anything was let out or kept back.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from citestream.coverage import Coverage
from citestream.events import Summary

if TYPE_CHECKING:
    from collections.abc import Collection

    from citestream.events import Attempt, Caution, Citation, Claim, Ended, Label, Sentence
    from citestream.passages import Passage

__all__ = ["MOST_NOTED", "Shown", "refusal"]

MOST_NOTED = 100
"""Warnings and claims that the summary keeps; a hostile answer can cause any number."""


class Shown:
    """What a reader has, or will have when it leaves."""

    __slots__ = (
        "_cautions",
        "_cited",
        "_claims",
        "_coverage",
        "_kept",
        "_omitted",
        "_passages",
        "_truncated",
    )

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begin anew: nothing of it is left."""
        self._coverage = Coverage()
        self._cited: dict[Label, None] = {}
        self._passages: dict[int, Passage] = {}
        self._cautions: list[Caution] = []
        self._claims: list[Claim] = []
        self._kept = 0
        self._omitted = 0
        self._truncated = False

    def citation(self, citation: Citation) -> None:
        """Count a citation."""
        if citation.cited:
            self._kept += 1
            for label in citation.cited:
                self._cited[label] = None
            for passage in citation.passages:
                self._passages[id(passage)] = passage

    def sentence(self, sentence: Sentence) -> None:
        """Count a sentence."""
        self._coverage.count(sentence)

    def omission(self) -> None:
        """Count a sentence that was left out."""
        self._omitted += 1

    def caution(self, caution: Caution) -> None:
        """Keep a warning."""
        if len(self._cautions) < MOST_NOTED:
            self._cautions.append(caution)
        else:
            self._truncated = True

    def claim(self, claim: Claim) -> None:
        """Keep what a judge said."""
        if len(self._claims) < MOST_NOTED:
            self._claims.append(claim)
        else:
            self._truncated = True

    def summary(
        self,
        score: Summary,
        known: Collection[Label],
        attempts: tuple[Attempt, ...],
        ended: Ended,
        reason: str | None,
    ) -> Summary:
        """Return the score of what was shown.

        Args:
            score: The filter's, of all that the model wrote.
            known: The labels of the prompt, in passage order.
            attempts: What each attempt cost.
            ended: How the answer ended.
            reason: Why, when there is more to say.
        """
        cited = tuple(self._cited)
        refused = score.refused_by is not None
        coverage = self._coverage
        return replace(
            score,
            cited=cited,
            unused=tuple(label for label in known if label not in self._cited),
            grounded=bool(cited) and not refused,
            passages=() if refused else tuple(self._passages.values()),
            kept=self._kept,
            truncated=score.truncated or self._truncated or coverage.truncated,
            sentences=coverage.sentences,
            uncited=coverage.uncited,
            ended=ended,
            reason=reason,
            prior=tuple(label for label in cited if label not in known),
            cited_in=tuple(coverage.places.items()),
            warnings=tuple(self._cautions),
            omitted=self._omitted,
            attempts=attempts,
            claims=tuple(self._claims),
        )


def refusal(
    attempts: tuple[Attempt, ...], ended: Ended, reason: str | None, *, refused: bool
) -> Summary:
    """Return the score of an answer that failed: nothing of the draft is in it.

    Args:
        attempts: What each attempt cost.
        ended: How the answer ended.
        reason: Which check failed, or what broke off.
        refused: Whether the refusal was shown. It was not where the answer broke off
            before its second attempt.
    """
    return Summary(
        cited=(),
        invalid=(),
        unused=(),
        grounded=False,
        refused_by="policy" if refused else None,
        passages=(),
        kept=0,
        removed=0,
        truncated=False,
        sentences=0,
        uncited=(),
        ended=ended,
        reason=reason,
        attempts=attempts,
    )
