"""The demo's web application; it knows no socket and not which model answers."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import FileResponse, JSONResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from citestream import NO_ANSWER, Passages
from citestream.sse import CitationResponse
from demo.corpus import load

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from demo.corpus import Corpus
    from demo.model import Model

__all__ = ["create_app"]

_PAGE = Path(__file__).parent / "page"

_logger = logging.getLogger("citestream.demo")

# A question is a sentence or two.
MOST_CHARACTERS = 500

# Such a question in JSON, every character escaped (six bytes each), and change.
MOST_BYTES = 4096

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


def create_app(model: Model, *, hosts: Sequence[str] = ("127.0.0.1", "localhost")) -> Starlette:
    """Make the application for a model.

    Args:
        model: Who answers.
        hosts: The names that a browser may call this server by. Other names
            are refused, so that a page elsewhere cannot reach a server on
            loopback under a name of its own.
    """
    pages = _Pages(model, load())
    return Starlette(
        routes=[
            Route("/", pages.index),
            Route("/model", pages.model),
            Route("/ask", pages.ask, methods=["POST"]),
            Mount("/page", StaticFiles(directory=_PAGE)),
        ],
        middleware=[
            Middleware(_SecurityHeaders),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts)),
        ],
        exception_handlers={HTTPException: _error},
    )


async def _error(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, headers=error.headers)


class _Pages:
    """What the server answers with."""

    def __init__(self, model: Model, corpus: Corpus) -> None:
        self._model = model
        self._corpus = corpus

    async def index(self, request: Request) -> Response:
        del request
        return FileResponse(_PAGE / "index.html")

    async def model(self, request: Request) -> Response:
        """Say who answers and what it can be told to do."""
        del request
        return JSONResponse({"name": self._model.name, "scenarios": dict(self._model.scenarios)})

    async def ask(self, request: Request) -> Response:
        """Answer a question as server-sent events."""
        question, scenario = self._asked(await _json_of(request))
        found = self._corpus.search(question, self._model.most_passages)
        if not found:
            # Nothing to answer from: the model is not called at all.
            return CitationResponse(_refusal(), Passages([]))
        passages = Passages(found)
        # A model that is down is then a 502, and not an answer that breaks off.
        return CitationResponse(
            self._model.answer(question, passages, scenario), passages, first_item=True
        )

    def _asked(self, body: Any) -> tuple[str, str | None]:
        """Return the question and the scenario of a request, or refuse it with a reason."""
        if not isinstance(body, dict):
            raise HTTPException(400, "expected a JSON object")
        if unknown := sorted(body.keys() - {"question", "scenario"}):
            raise HTTPException(400, f"expected question and scenario, got {unknown[0]!r:.40}")
        question = body.get("question")
        if not isinstance(question, str) or not question.strip():
            raise HTTPException(400, "expected a question")
        if len(question) > MOST_CHARACTERS:
            raise HTTPException(
                400, f"expected at most {MOST_CHARACTERS} characters, got {len(question)}"
            )
        scenario = body.get("scenario")
        if scenario is None:
            return question, None
        if not isinstance(scenario, str) or scenario not in self._model.scenarios:
            known = ", ".join(self._model.scenarios) or "none"
            raise HTTPException(400, f"expected a scenario ({known}), got {scenario!r:.40}")
        return question, scenario


async def _refusal() -> AsyncGenerator[str, None]:
    yield NO_ANSWER


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
