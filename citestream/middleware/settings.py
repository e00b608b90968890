"""What the middleware was told, once for all responses, and what an endpoint tells it of one.

It does not know how a response is filtered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from citestream.filter import CitationFilter

if TYPE_CHECKING:
    from collections.abc import Callable

    from citestream.events import Summary
    from citestream.passages import Passages
    from citestream.styles import MarkerStyle
    from citestream.wire.formats import Formats, TextKind

__all__ = [
    "HOLDER",
    "FilterOptions",
    "Holder",
    "OnSummary",
    "Settings",
    "make_passages",
    "new_filter",
]

OnSummary: TypeAlias = "Callable[[Summary, Any], Any]"
"""Called with the summary of every answer and the scope of its request, sync or async."""


class FilterOptions(TypedDict, total=False):
    """What `CitationFilter` takes beside the passages, with its words and its defaults."""

    style: MarkerStyle | tuple[MarkerStyle, ...]
    match: Any
    invalid: Any
    replacement: str
    show: Any
    renumber: bool
    prior: Any
    repair: bool
    sentences: Any
    refusal: str | None


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
    options: FilterOptions
    """What the filter of every answer is given."""


class Holder:
    """What an endpoint says of its answer.

    It is an object that scopes share, so what is put into it arrives even
    where a middleware in between copied the scope.
    """

    __slots__ = ("options", "passages", "started", "text")

    def __init__(self, settings: Settings) -> None:
        self.options: FilterOptions = {**settings.options}
        self.text = settings.text
        self.passages: Passages | None = None
        self.started = False


def make_passages(passages: Any, options: FilterOptions) -> Passages:
    """Make passages as a filter with these options would, all its checks included."""
    return new_filter(passages, options).passages


def new_filter(passages: Any, options: FilterOptions) -> CitationFilter:
    """Make the filter of an answer."""
    # `style` may be several at once for callers that are written for it.
    settings: dict[str, Any] = {**options}
    return CitationFilter(passages, **settings)
