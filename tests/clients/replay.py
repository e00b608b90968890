"""A server that repeats answers: recorded ones, and shapes the recorded server cannot produce.

The shapes are made after the provider's published format. It knows nothing of
the clients that read them.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from citestream import Passages
from citestream.middleware import CitationMiddleware, attach_passages
from tests.recordings import Recording, named

__all__ = ["ANSWERS", "Replayed", "app"]


@dataclass(frozen=True)
class Replayed:
    """An answer to be read by a client."""

    name: str
    body: bytes = field(repr=False)
    media_type: str
    passages: int
    texts: dict[str, str]
    """What the model wrote, for each choice."""
    finishes: dict[str, str]
    legacy: bool = False
    usage: int | None = None
    tools: dict[str, str] = field(default_factory=dict)
    other: dict[str, str] = field(default_factory=dict)
    request: dict[str, Any] = field(default_factory=dict)

    @property
    def streamed(self) -> bool:
        return self.media_type == "text/event-stream"

    @property
    def json(self) -> bool:
        """Whether the answer is a JSON document."""
        return "response_format" in self.request


def _recorded(recording: Recording) -> Replayed:
    body = recording.body
    if recording.request.get("stream"):
        lines = [line[6:] for line in body.decode().split("\n") if line.startswith("data: {")]
        frames = [json.loads(line) for line in lines]
    else:
        frames = [json.loads(body)]
    finishes = {}
    usage = None
    for frame in frames:
        usage = (frame.get("usage") or {}).get("total_tokens", usage)
        for choice in frame["choices"]:
            if choice["finish_reason"]:
                finishes[str(choice["index"])] = choice["finish_reason"]
    kept = ("stream", "response_format", "stream_options")
    return Replayed(
        recording.name,
        body,
        recording.content_type.partition(";")[0],
        recording.passages,
        recording.texts,
        finishes,
        legacy=recording.path.endswith("/completions") and "chat" not in recording.path,
        usage=usage,
        request={key: recording.request[key] for key in kept if key in recording.request},
    )


def _chunk(delta: Any = None, finish: str | None = None, index: int = 0, **more: Any) -> Any:
    choice = {"index": index, "delta": delta or {}, "logprobs": None, "finish_reason": finish}
    return {
        "id": "chatcmpl-D3x",
        "object": "chat.completion.chunk",
        "created": 1_767_225_600,
        "model": "gpt-x-2026-08-01",
        "service_tier": "default",
        "system_fingerprint": "fp_44709d6fcb",
        "choices": [choice],
        **more,
    }


def _stream(*chunks: Any, end: str = "\n\n") -> bytes:
    frames = [f"data: {json.dumps(chunk, separators=(',', ':'))}{end}" for chunk in chunks]
    return "".join([*frames, f"data: [DONE]{end}"]).encode()


_ROLE = {"role": "assistant", "content": "", "refusal": None}
_TEXT = ["Refunds", " take", " five", " days", " [", "1", "]", ",", " or", " so", " [", "9", "]."]
_SHORT = ["See", " [2", ", 7", "]", "."]
_STREAM = "text/event-stream"


def _padded(texts: list[str]) -> Iterator[Any]:
    for text in texts:
        yield _chunk(
            {"content": text}, obfuscation="Zq7aP9xK"[: 8 - len(text) % 8] or "a", usage=None
        )


def _with_chances(texts: list[str]) -> Iterator[Any]:
    for text in texts:
        chunk = _chunk({"content": text})
        token = {"token": text, "logprob": -0.25, "bytes": [*text.encode()], "top_logprobs": []}
        chunk["choices"][0]["logprobs"] = {"content": [token], "refusal": None}
        yield chunk


def _call(arguments: str, **more: Any) -> Any:
    function = {"arguments": arguments, **({"name": "look_up"} if more else {})}
    return _chunk({"tool_calls": [{"index": 0, **more, "function": function}]})


def _made() -> Iterator[Replayed]:
    text, short = "".join(_TEXT), "".join(_SHORT)
    usage = {"prompt_tokens": 20, "completion_tokens": 13, "total_tokens": 33}
    for name, end in (("padded", "\n\n"), ("padded-crlf", "\r\n\r\n")):
        yield Replayed(
            name,
            _stream(
                _chunk(_ROLE, obfuscation="hT"),
                *_padded(_TEXT),
                _chunk(None, "stop", obfuscation="x1"),
                {**_chunk(), "choices": [], "usage": usage, "obfuscation": "w"},
                end=end,
            ),
            _STREAM,
            2,
            {"0": text},
            {"0": "stop"},
            usage=33,
        )
    yield Replayed(
        "log-probabilities",
        _stream(_chunk(_ROLE), *_with_chances(_TEXT), _chunk(None, "stop")),
        _STREAM,
        2,
        {"0": text},
        {"0": "stop"},
    )
    pairs = [
        _chunk({"content": piece}, index=index)
        for both in zip(_TEXT, [*_SHORT, *[""] * 8], strict=True)
        for index, piece in enumerate(both)
    ]
    yield Replayed(
        "two-choices",
        _stream(
            _chunk(_ROLE),
            _chunk(_ROLE, index=1),
            *pairs,
            _chunk(None, "length", 1),
            _chunk(None, "stop", 0),
        ),
        _STREAM,
        2,
        {"0": text, "1": short},
        {"0": "stop", "1": "length"},
    )
    yield Replayed(
        "tool-call",
        _stream(
            _chunk(_ROLE),
            _chunk({"content": "I look it up [1"}),
            _chunk({"content": "]. ["}),
            _call("", id="call_1", type="function"),
            _call('{"q": "[9]'),
            _call(' and [1"}'),
            _chunk(None, "tool_calls"),
        ),
        _STREAM,
        2,
        {"0": "I look it up [1]. ["},
        {"0": "tool_calls"},
        tools={"0": '{"q": "[9] and [1"}'},
    )
    yield Replayed(
        "refusal",
        _stream(
            _chunk({"role": "assistant", "content": None, "refusal": ""}),
            _chunk({"refusal": "No, see [9]"}),
            _chunk({"refusal": "."}),
            _chunk(None, "stop"),
        ),
        _STREAM,
        2,
        {"0": ""},
        {"0": "stop"},
        other={"refusal": "No, see [9]."},
    )
    yield Replayed(
        "reasoning",
        _stream(
            _chunk({"role": "assistant", "content": None, "reasoning_content": "Source [9] says"}),
            _chunk({"reasoning_content": " so."}),
            *[_chunk({"content": piece}) for piece in _SHORT],
            _chunk({"content": " Held ["}, "stop"),
        ),
        _STREAM,
        2,
        {"0": short + " Held ["},
        {"0": "stop"},
        other={"reasoning_content": "Source [9] says so."},
    )
    yield Replayed(
        "prompt-first",
        _stream(
            {**_chunk(), "choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
            _chunk(_ROLE),
            *[_chunk({"content": piece}) for piece in _SHORT],
            _chunk(None, "content_filter"),
        ),
        _STREAM,
        2,
        {"0": short},
        {"0": "content_filter"},
    )
    document = '{"answer":"Five days [1] plus [9] caf\\u00e9.","sources":[1,9]}'
    yield Replayed(
        "structured",
        _stream(
            _chunk(_ROLE),
            *[_chunk({"content": document[at : at + 3]}) for at in range(0, len(document), 3)],
            _chunk(None, "stop"),
        ),
        _STREAM,
        2,
        {"0": document},
        {"0": "stop"},
        request={"response_format": {"type": "json_object"}},
    )
    whole = {
        "id": "chatcmpl-D3x",
        "object": "chat.completion",
        "created": 1_767_225_600,
        "model": "gpt-x-2026-08-01",
        "choices": [
            {
                "index": index,
                "message": {
                    "role": "assistant",
                    "content": content,
                    "refusal": None,
                    "annotations": [],
                },
                "logprobs": None,
                "finish_reason": "stop",
            }
            for index, content in enumerate((text, short))
        ],
        "usage": usage,
        "service_tier": "default",
    }
    yield Replayed(
        "two-whole-choices",
        json.dumps(whole).encode(),
        "application/json",
        2,
        {"0": text, "1": short},
        {"0": "stop", "1": "stop"},
        usage=33,
    )


def _chosen() -> list[Recording]:
    """Choose recordings of every kind, and of plain chats those with the most markers."""
    kinds = ("chat-n", "chat-logprobs", "chat-schema", "chat-tools", "chat-usage", "chat-whole")
    chats = sorted(named("chat-q"), key=lambda chat: -chat.text.count("["))[:12]
    others = [r for kind in (*kinds, "completions-") for r in named(kind) if r.status == 200]
    return [*chats, *others]


ANSWERS = {answer.name: answer for answer in [*map(_recorded, _chosen()), *_made()]}
"""Every answer by name."""


async def _answer(request: Request) -> Response:
    answer = ANSWERS[(await request.json())["model"]]
    attach_passages(
        request,
        Passages(
            [
                {"text": f"Text {n}.", "url": f"https://docs.example/{n}"}
                for n in range(1, answer.passages + 1)
            ]
        ),
    )
    if not answer.streamed:
        return Response(answer.body, media_type=answer.media_type)

    async def body() -> AsyncIterator[bytes]:
        # In pieces that have nothing to do with events.
        for at in range(0, len(answer.body), 200):
            yield answer.body[at : at + 200]

    return StreamingResponse(body(), media_type=answer.media_type)


app = Starlette(
    routes=[
        Route("/v1/chat/completions", _answer, methods=["POST"]),
        Route("/v1/completions", _answer, methods=["POST"]),
    ],
    middleware=[Middleware(CitationMiddleware)],
)
"""The server."""
