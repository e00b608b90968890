"""The front door: the names that users need.

It does not load what serves streams until that is asked for: importing it
loads the standard library alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from citestream.events import Citation, Summary, Text
from citestream.filter import CitationFilter, check_citations, filter_text, strip_invalid
from citestream.passages import NO_ANSWER, Passage, Passages
from citestream.styles import MarkerStyle

if TYPE_CHECKING:
    from citestream.stream import CitationStream

__all__ = [
    "NO_ANSWER",
    "Citation",
    "CitationFilter",
    "CitationStream",
    "MarkerStyle",
    "Passage",
    "Passages",
    "Summary",
    "Text",
    "check_citations",
    "filter_text",
    "strip_invalid",
]


def __getattr__(name: str) -> Any:
    if name == "CitationStream":
        # It needs anyio, and whoever feeds a filter by hand does not.
        from citestream.stream import CitationStream  # noqa: PLC0415

        globals()[name] = CitationStream
        return CitationStream
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
