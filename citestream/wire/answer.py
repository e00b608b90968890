"""One answer inside frames: text in, visible text out, its citations with a URL noted down.

It does not know how the text is framed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias

from citestream.events import Citation, Ended, Event, Summary, Text
from citestream.filter import CitationFilter
from citestream.gate import Gate

__all__ = ["Answer", "Filters", "ProseAnswer", "note"]

Filters: TypeAlias = Callable[[], CitationFilter | Gate]
"""Makes the filter of the next answer, or its gate where there is a policy."""

# Ten citations in each sentence of a very long answer. What is beyond it is
# shown and counted, and only the list beside the text leaves it out.
MOST_NOTED = 1000


class Answer(Protocol):
    """What a frame format needs of an answer, whatever kind of text it is."""

    changed: bool
    """Whether any frame left with other text than it came with; the format says so."""
    noted: list[tuple[int, int, Any]]
    """Where each citation of a passage with a URL stands in the visible text."""
    summary: Summary | None
    """The score, once the answer has ended."""

    @property
    def passing(self) -> bool:
        """Whether plain text leaves as it comes, as `CitationFilter.passing` says it."""
        ...

    def feed(self, text: str) -> str:
        """Give the next piece and return what is now visible."""
        ...

    def finish(self, ended: Ended = "complete", reason: str | None = None) -> str:
        """Say that no more comes and return what was held."""
        ...

    def discard(self, ended: Ended = "cancelled", reason: str | None = None) -> None:
        """Drop what is held, for a reader that is gone."""
        ...


class ProseAnswer:
    """An answer whose whole text is prose."""

    __slots__ = ("_feed", "_filter", "changed", "noted", "summary")

    def __init__(self, citations: CitationFilter | Gate) -> None:
        self._filter = citations
        self._feed: Callable[[str], Sequence[Event]] = citations.feed
        self.changed = False
        self.noted: list[tuple[int, int, Any]] = []
        self.summary: Summary | None = None

    @property
    def passing(self) -> bool:
        """Whether plain text leaves as it comes; a gate always wants to see it first."""
        return isinstance(self._filter, CitationFilter) and self._filter.passing

    def feed(self, text: str) -> str:
        """Give the next piece and return what is now visible."""
        events = self._feed(text)
        if len(events) == 1 and (event := events[0]).__class__ is Text:
            return event.text
        return self._visible(events)

    def finish(self, ended: Ended = "complete", reason: str | None = None) -> str:
        """Say that no more comes and return what was held."""
        *events, summary = self._filter.finish(ended, reason)
        assert isinstance(summary, Summary)
        self.summary = summary
        return self._visible(events)

    def discard(self, ended: Ended = "cancelled", reason: str | None = None) -> None:
        """Drop what is held, for a reader that is gone."""
        self.summary = self._filter.discard(ended, reason)

    def _visible(self, events: Iterable[Event]) -> str:
        pieces: list[str] = []
        for event in events:
            if isinstance(event, Text):
                pieces.append(event.text)
            elif isinstance(event, Citation):
                pieces.append(event.text)
                note(self.noted, event, event.start, event.end)
        return "".join(pieces)


def note(noted: list[tuple[int, int, Any]], citation: Citation, start: int, end: int) -> None:
    """Remember the passages of a shown citation that have a URL."""
    if citation.text:
        for passage in citation.passages:
            if passage.url and len(noted) < MOST_NOTED:
                noted.append((start, end, passage))
