"""The one log record of an answer, the same for every door.

It knows no text of the answer and no stream: counts and labels come from the
summary, and a label that the model or a passage made up is written so that it
can neither break a line nor fill a log.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from citestream.events import Label, Summary

__all__ = ["MOST_CHARACTERS", "MOST_LABELS", "log_answer"]

# A person reads the line: past a dozen labels the count says more than the list.
MOST_LABELS = 12
"""How many labels of a kind are listed."""
# Room for a passage's own label ("Article 6(3)", a file name), none for a story.
MOST_CHARACTERS = 40
"""How many characters of a `str` are shown, before they are escaped."""

_log = logging.getLogger("citestream")


def log_answer(summary: Summary, surface: str) -> None:
    """Log how an answer ended and what it cited, as one record on `citestream`.

    Args:
        summary: The answer's score.
        surface: Which door it left by, such as `"stream"` or `"sse"`.
    """
    if not _log.isEnabledFor(logging.INFO):
        return
    _log.info(
        "answer surface=%s ended=%s reason=%s grounded=%s refused_by=%s"
        " kept=%d removed=%d cited=%s invalid=%s unused=%d truncated=%s",
        surface,
        summary.ended,
        None if summary.reason is None else _shown(summary.reason),
        summary.grounded,
        summary.refused_by,
        summary.kept,
        summary.removed,
        _listed(summary.cited),
        _listed(summary.invalid),
        len(summary.unused),
        summary.truncated,
    )


def _listed(labels: tuple[Label, ...]) -> str:
    shown = [_shown(label) for label in labels[:MOST_LABELS]]
    if len(labels) > MOST_LABELS:
        shown.append(f"and {len(labels) - MOST_LABELS} more")
    return f"{len(labels)}({', '.join(shown)})"


def _shown(value: Label) -> str:
    # `repr` escapes line breaks, controls and direction marks.
    if isinstance(value, str) and len(value) > MOST_CHARACTERS:
        return f"{value[:MOST_CHARACTERS]!r}..."
    return repr(value)
