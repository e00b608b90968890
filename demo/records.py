"""The score of the last answers, for the page's plot; it knows no text and no question."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from citestream import Summary

__all__ = ["MOST_RECORDS", "Records"]

MOST_RECORDS = 200
"""How many answers are kept; a plot of more has no room to show them."""


class Records:
    """Counts of the last answers, the same that every door logs."""

    def __init__(self, most: int = MOST_RECORDS) -> None:
        self._rows: deque[dict[str, Any]] = deque(maxlen=most)
        self._total = 0

    def note(self, summary: Summary) -> None:
        """Keep the counts of an answer, and nothing that it says."""
        self._total += 1
        self._rows.append(
            {
                "number": self._total,
                "kept": summary.kept,
                "removed": summary.removed,
                "invalid": len(summary.invalid),
                "cited": len(summary.cited),
                "unused": len(summary.unused),
                "grounded": summary.grounded,
                "refused_by": summary.refused_by,
                "ended": summary.ended,
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what is kept, the oldest first, and how many answers there have been."""
        return {"total": self._total, "records": list(self._rows)}
