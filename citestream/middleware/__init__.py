"""CitationMiddleware: checks the citations of answers that an application already streams.

It holds settings, and knows neither the formats of bodies nor how one response is filtered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from citestream.exceptions import UnfilterableResponseError
from citestream.gate import check_options
from citestream.middleware.responder import Responder
from citestream.middleware.settings import (
    HOLDER,
    FilterOptions,
    Holder,
    OnSummary,
    Settings,
    check_policy,
    make_passages,
)
from citestream.wire.formats import FORMATS, Format, Formats, TextKind
from citestream.wire.request import BodyPassages, PromptPassages

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection
    from starlette.types import ASGIApp, Receive, Scope, Send

    from citestream.policy import AnswerPolicy

__all__ = ["BodyPassages", "CitationMiddleware", "PromptPassages", "attach_passages"]


class CitationMiddleware:
    """Filter the answers of an application, in whatever format it sends them.

    Only responses that passages are attached to are touched, and those that
    cannot be read are refused with status 502: never passed on unchecked.
    Errors (400 and up), HEAD, 204, 304, 206 and websockets are left alone.

    Args:
        app: The application around which this stands.
        passages: What was in the prompt, for responses that `attach_passages`
            says nothing of: passages, or a callable that takes the scope (sync
            or async, called when the response starts; `None` leaves it alone),
            or `BodyPassages` or `PromptPassages`, which find them in the request.
        format: What the bodies are: `"auto"`, `"text"`, `"json"` (a string, or an
            object with one text field), `"citestream"` or `"openai-chat"`.
        text_field: The text field of JSON objects.
        text: What the text is: `"prose"`, or `"json"`, a document whose strings
            alone are prose. By default it is what the request asks for with
            `response_format`.
        policy: What every answer must satisfy to be shown. The middleware cannot ask again
            and has no judge, and only our own events can take text back: in every other
            format a policy that refuses needs `emit="answer"`. Structured output is
            refused under a policy.
        on_summary: Called with each summary and the scope.
        surface: What the log calls this door.
        options: All that `CitationFilter` takes.

    Raises:
        PassageError: Constant passages cannot be used.
        PolicyError: The policy asks for what a middleware cannot do.
        ValueError: A setting has a value it does not take.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        passages: Any = None,
        format: Format = "auto",  # noqa: A002 - the word of every caller
        text_field: str = "text",
        text: TextKind | None = None,
        policy: AnswerPolicy | None = None,
        on_summary: OnSummary | None = None,
        surface: str = "middleware",
        **options: Unpack[FilterOptions],
    ) -> None:
        if format not in FORMATS:
            raise ValueError(f"expected format= among {', '.join(FORMATS)}, got {format!r}")
        _check_kind(text)
        make_passages((), options)
        if policy is not None:
            check_policy(policy, format, text)
            check_options(policy, options)
        if _is_constant(passages):
            # A mistake shows now, and not with the first answer.
            passages = make_passages(passages, options)
        self.app = app
        self.settings = Settings(
            passages, Formats(format, text_field), text, on_summary, surface, options, policy
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; see ASGI."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        await Responder(self.settings, scope, receive, send).run(self.app)


def attach_passages(
    request: HTTPConnection | Scope,
    passages: Any,
    *,
    text: TextKind | None = None,
    **options: Unpack[FilterOptions],
) -> None:
    """Say what was in the prompt of the answer to this request.

    Args:
        request: The request, or its scope.
        passages: What was in the prompt, as for `CitationFilter`. None at all is a
            list as well: then every marker is invented.
        text: What the text is, if not as the middleware has it.
        options: What `CitationFilter` takes beside the passages, such as `style`, where it
            is to be other than the middleware has it.

    Raises:
        UnfilterableResponseError: No `CitationMiddleware` is around this request,
            or its response has started: the answer would leave unchecked.
        PassageError: The passages cannot be used.
        PolicyError: The options contradict the middleware's policy.
    """
    scope: Any = getattr(request, "scope", request)
    holder = scope.get(HOLDER)
    if not isinstance(holder, Holder):
        raise UnfilterableResponseError(
            "expected a CitationMiddleware around this request, got none: "
            "add it to the application, or the answer leaves unchecked"
        )
    if holder.started:
        raise UnfilterableResponseError(
            "expected passages before the response starts, got them after: "
            "attach them in the endpoint, not in the generator of its body"
        )
    _check_kind(text)
    if holder.policy is not None:
        check_options(holder.policy, {**holder.options, **options})
    holder.options.update(options)
    holder.passages = make_passages(passages, holder.options)
    if text is not None:
        holder.text = text


def _is_constant(passages: Any) -> bool:
    return not (
        passages is None
        or callable(passages)
        or isinstance(passages, BodyPassages | PromptPassages)
    )


def _check_kind(text: object) -> None:
    if text not in (None, "prose", "json"):
        raise ValueError(f"expected text= to be 'prose' or 'json', got {text!r}")
