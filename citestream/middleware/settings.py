"""What the middleware was told, once for all responses, and what an endpoint tells it of one.

It does not know how a response is filtered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from citestream.exceptions import PolicyError
from citestream.filter import CitationFilter
from citestream.gate import Gate, check_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from citestream.events import Summary
    from citestream.passages import Passages
    from citestream.policy import AnswerPolicy
    from citestream.styles import MarkerStyle
    from citestream.wire.formats import Format, Formats, TextKind

__all__ = [
    "HOLDER",
    "FilterOptions",
    "Holder",
    "OnSummary",
    "Settings",
    "check_policy",
    "filters",
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
    policy: AnswerPolicy | None
    """What every answer must satisfy to be shown."""


class Holder:
    """What an endpoint says of its answer.

    It is an object that scopes share, so what is put into it arrives even
    where a middleware in between copied the scope.
    """

    __slots__ = ("options", "passages", "policy", "started", "text")

    def __init__(self, settings: Settings) -> None:
        self.options: FilterOptions = {**settings.options}
        self.text = settings.text
        self.policy = settings.policy
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


def filters(
    passages: Passages, options: FilterOptions, policy: AnswerPolicy | None
) -> Callable[[], CitationFilter | Gate]:
    """Return what makes the filter of each answer in a response, or its gate."""
    if policy is None:
        return lambda: new_filter(passages, options)
    settings: dict[str, Any] = {**options}
    return lambda: Gate(passages, policy, **settings)


def check_policy(policy: AnswerPolicy, format: Format, text: TextKind | None) -> None:  # noqa: A002
    """Check that the middleware can do what a policy says.

    Raises:
        PolicyError: It cannot. The message says what instead.
    """
    check_options(policy, {}, judged=True)
    if policy.retries:
        raise PolicyError(
            'expected a policy without "retry", got one that asks the model again: '
            "a middleware sees one answer, so let the endpoint use citestream.respond"
        )
    if policy.unsupported is not None:
        raise PolicyError(
            "expected a policy without unsupported=, got one that needs a judge: "
            "a middleware asks none, so let the endpoint use CitationStream with verify="
        )
    if text == "json":
        raise PolicyError(
            "expected prose under a policy, got text='json': "
            "a refusal is a sentence, and no JSON document of that schema"
        )
    if policy.retracts and format != "citestream":
        raise PolicyError(
            f'expected emit="answer" for format={format!r}, '
            f'got emit={policy.emit!r} with "refuse": '
            "only format='citestream' has an event that takes shown text back"
        )
