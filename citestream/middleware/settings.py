"""What the middleware was told, once for all responses, and what an endpoint tells it of one.

It does not know how a response is filtered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from citestream.filter import CitationFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from citestream.events import Summary
    from citestream.passages import Passages
    from citestream.wire.formats import Formats, TextKind

__all__ = ["HOLDER", "Holder", "OnSummary", "Settings", "make_passages"]

OnSummary: TypeAlias = "Callable[[Summary, Any], Any]"
"""Called with the summary of every answer and the scope of its request, sync or async."""

HOLDER = "citestream.passages"
"""Where the holder is in the scope."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for every response."""

    passages: Any
    """Passages, a callable that takes the scope, or what finds them in the request."""
    formats: Formats
    """Opens what reads a body."""
    text: TextKind | None
    """What the text is; `None`: what the request asks for."""
    on_summary: OnSummary | None
    """Called with each summary and the scope."""
    surface: str
    """What the log calls this door."""
    options: Mapping[str, Any]
    """What the filter of every answer is given."""


class Holder:
    """What an endpoint says of its answer.

    It is an object that scopes share, so what is put into it arrives even
    where a middleware in between copied the scope.
    """

    __slots__ = ("options", "passages", "started", "text")

    def __init__(self, settings: Settings) -> None:
        self.options = settings.options
        self.text = settings.text
        self.passages: Passages | None = None
        self.started = False


def make_passages(passages: Any, options: Mapping[str, Any]) -> Passages:
    """Make passages as a filter with these options would, all its checks included."""
    return CitationFilter(passages, **options).passages
