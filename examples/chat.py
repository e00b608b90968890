r"""A chat endpoint of OpenAI's format that was there before, and what checking its citations takes.

    pip install citestream uvicorn
    uvicorn examples.chat:app
    curl -N 127.0.0.1:8000/v1/chat/completions -H 'content-type: application/json' -d \
      '{"stream": true, "messages": [{"role": "user", "content":
        "[1] A refund takes five days.\n[2] Helmets are free.\n\nHow long is a refund?"}]}'

The endpoint does not know that its answers are checked: the one line at the end
is all that was added. The model is a stand-in.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from citestream.middleware import CitationMiddleware, PromptPassages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

__all__ = ["app"]

# -- What was there ----------------------------------------------------------


async def generate(messages: list[dict[str, Any]]) -> AsyncIterator[str]:
    """Answer in tokens; this model cites the first source and then makes one up."""
    if not messages:
        return
    for token in [
        "It",
        " takes",
        " five",
        " days",
        " [",
        "1",
        "].",
        " Weekends count [",
        "7",
        "].",
    ]:
        yield token


def head(kind: str) -> dict[str, Any]:
    """Return what every chunk and every completion begins with."""
    return {"id": "chatcmpl-1", "object": kind, "created": int(time.time()), "model": "stand-in"}


async def completions(request: Request) -> Response:
    """Answer a chat, streamed or whole."""
    body = await request.json()
    if body.get("stream"):
        return StreamingResponse(events(body["messages"]), media_type="text/event-stream")
    content = "".join([token async for token in generate(body["messages"])])
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return JSONResponse({**head("chat.completion"), "choices": [choice]})


async def events(messages: list[dict[str, Any]]) -> AsyncIterator[str]:
    """Write the chunks of a stream."""

    def event(delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return f"data: {json.dumps({**head('chat.completion.chunk'), 'choices': [choice]})}\n\n"

    yield event({"role": "assistant", "content": ""})
    async for token in generate(messages):
        yield event({"content": token})
    yield event({}, "stop")
    yield "data: [DONE]\n\n"


app = Starlette(routes=[Route("/v1/chat/completions", completions, methods=["POST"])])
"""The application."""

# -- What is new -------------------------------------------------------------

# The sources are numbered in the prompt, so what was supplied is known from there.
app.add_middleware(CitationMiddleware, passages=PromptPassages("brackets"))
