"""The demo's web application; it knows no socket and not which model answers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import FileResponse, JSONResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from citestream import Passages
from citestream.claims import overlap
from citestream.sse import CitationResponse
from demo.corpus import load
from demo.model import ScriptedModel
from demo.policies import NOTHING_FOUND, POLICIES
from demo.records import Records
from demo.settings import CLAIMS, MOST_CHARACTERS, MOST_TEXT, STYLES, RequestError, Settings
from demo.trials import TRIALS
from demo.watched import Watch, WatchedResponse, WatchedSource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from demo.corpus import Corpus, Document
    from demo.model import Model
    from demo.settings import Asked, Searched

__all__ = ["create_app"]

_PAGE = Path(__file__).parent / "page"

# Eight passages of 2000 characters, of three bytes each, and change.
MOST_BYTES = 65536

# What a client sees of a passage that is cited, besides its title and address.
_EXPOSED = ("text", "place", "version", "score")

# Text and nothing else: no script but ours, no frame, no form that goes elsewhere.
_HEADERS = [
    (
        b"content-security-policy",
        (
            b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
            b"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
    ),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]


class _SecurityHeaders:
    """Adds the same headers to every response, those of errors among them."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *_HEADERS]}
            await send(message)

        await self.app(scope, receive, send_with_headers)


def create_app(
    *models: Model, corpus: Corpus | None = None, hosts: Sequence[str] = ("127.0.0.1", "localhost")
) -> Starlette:
    """Make the application for some models.

    Args:
        models: Who answers, the first one unless a request names another; without
            any, the scripted one.
        corpus: What is searched, if not what comes with the demo.
        hosts: The names that a browser may call this server by. Other names
            are refused, so that a page elsewhere cannot reach a server on
            loopback under a name of its own.

    Raises:
        ValueError: Two models have the same name.
    """
    named = {model.name: model for model in models or (ScriptedModel(),)}
    if models and len(named) < len(models):
        raise ValueError(f"expected models of different names, got {', '.join(named)}")
    pages = _Pages(named, corpus or load())
    return Starlette(
        routes=[
            Route("/", pages.index),
            Route("/options", pages.options),
            Route("/records", pages.records),
            Route("/search", pages.search, methods=["POST"]),
            Route("/ask", pages.ask, methods=["POST"]),
            Mount("/page", StaticFiles(directory=_PAGE)),
        ],
        middleware=[
            Middleware(_SecurityHeaders),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts)),
        ],
        exception_handlers={HTTPException: _error, RequestError: _bad_request},
    )


async def _error(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, headers=error.headers)


async def _bad_request(request: Request, error: Exception) -> Response:
    del request
    return JSONResponse({"error": str(error)}, 400)


class _Pages:
    """What the server answers with."""

    def __init__(self, models: Mapping[str, Model], corpus: Corpus) -> None:
        self._models = models
        self._corpus = corpus
        self._settings = Settings(corpus, models)
        self._records = Records()

    async def index(self, request: Request) -> Response:
        del request
        return FileResponse(_PAGE / "index.html")

    async def options(self, request: Request) -> Response:
        """Say what a request may choose, the first of each being the default."""
        del request
        return JSONResponse(
            {
                "models": [
                    {
                        "name": model.name,
                        "scenarios": dict(model.scenarios),
                        "most_passages": model.most_passages,
                        "styles": ["numeric"] if model.numbers_only else list(STYLES),
                    }
                    for model in self._models.values()
                ],
                "rankers": list(self._corpus.rankers),
                "styles": list(STYLES),
                "policies": POLICIES,
                "claims": CLAIMS,
                "trials": TRIALS,
                "limits": {"question": MOST_CHARACTERS, "text": MOST_TEXT},
            }
        )

    async def records(self, request: Request) -> Response:
        """Give the counts of the last answers."""
        del request
        return JSONResponse(self._records.to_dict(), headers={"cache-control": "no-store"})

    async def search(self, request: Request) -> Response:
        """Give the passages that a question finds, as the model would see them."""
        searched = self._settings.searched(await _json_of(request))
        found = self._found(searched)
        passages = _passages(found, searched.style)
        style = STYLES[searched.style]
        return JSONResponse(
            {
                "passages": [
                    {**passage.payload(_EXPOSED), "marker": style.write((passage.label,))}
                    for passage in passages
                ]
            }
        )

    async def ask(self, request: Request) -> Response:
        """Answer a question as server-sent events."""
        asked = self._settings.asked(await _json_of(request))
        passages = _passages(self._given(asked), asked.search.style)
        options: dict[str, Any] = {
            "style": STYLES[asked.search.style],
            "match": "hierarchical" if asked.search.style == "label" else "exact",
        }
        if not passages:
            # Nothing to answer from: the model is not called at all.
            return CitationResponse(
                (), passages, policy=NOTHING_FOUND, on_summary=self._records.note, **options
            )
        watch = Watch(passages, **options)

        def attempt(stricter: str | None = None) -> WatchedSource:
            manner = replace(asked.manner, stricter=stricter)
            model = asked.search.model
            return watch.source(model.answer(asked.search.question, passages, manner))

        return WatchedResponse(
            watch,
            attempt(),
            passages,
            policy=asked.policy,
            retry=attempt,
            verify=overlap if asked.claims else None,
            expose=_EXPOSED,
            on_summary=self._records.note,
            # A model that is down is then a 502, and not an answer that breaks off.
            first_item=True,
            sentences=True,
            **options,
        )

    def _found(self, searched: Searched) -> list[dict[str, Any]]:
        found = self._corpus.search(searched.question, searched.most, searched.ranker)
        return [_row(document, score) for document, score in found]

    def _given(self, asked: Asked) -> list[dict[str, Any]]:
        """Return the passages that the reader wants the answer from."""
        if asked.passages is None:
            return self._found(asked.search)
        # The scores are the server's own, like all but the text.
        every = self._corpus.search(
            asked.search.question, len(self._corpus.documents), asked.search.ranker
        )
        scores = {document.id: score for document, score in every}
        return [
            _row(self._corpus.by_id[edited.id], scores.get(edited.id, 0.0), edited.text)
            for edited in asked.passages
        ]


def _row(document: Document, score: float, text: str | None = None) -> dict[str, Any]:
    return {"label": document.label, **document.as_passage(score, text)}


def _passages(rows: list[dict[str, Any]], style: str) -> Passages:
    """Number the passages, or leave them their own labels."""
    if style != "label":
        rows = [{**row, "label": number} for number, row in enumerate(rows, 1)]
    return Passages(rows, style=STYLES[style])


async def _json_of(request: Request) -> Any:
    """Read a JSON body of bounded size."""
    # A page of another origin can post anything but this type without asking first.
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise HTTPException(415, f"expected application/json, got {content_type!r:.60}")
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            raise HTTPException(413, f"expected at most {MOST_BYTES} bytes")
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise HTTPException(400, "expected JSON") from None
