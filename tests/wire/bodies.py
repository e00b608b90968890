"""Drives a wire format over the bytes of a body; what leaves is read with a reader of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from citestream.events import Summary
from citestream.filter import CitationFilter
from citestream.wire.formats import Format, Formats, TextKind

__all__ = [
    "PASSAGES",
    "Filtered",
    "chat_chunk",
    "chat_stream",
    "cuts",
    "done",
    "events",
    "filtered",
    "payloads",
    "sse",
]

PASSAGES: list[dict[str, str]] = [
    {"text": "Refunds take five days.", "title": "Refunds", "url": "https://docs.example/1"},
    {"text": "Late fees are two euros.", "title": "Fees"},
    {"text": "Helmets are free.", "url": "https://docs.example/3"},
]


@dataclass(frozen=True)
class Filtered:
    """What became of a body."""

    body: bytes
    summaries: list[Summary]


def filtered(
    body: bytes | Sequence[bytes],
    media_type: str = "text/event-stream",
    format_: Format = "auto",
    *,
    text: TextKind = "prose",
    field: str = "text",
    **options: Any,
) -> Filtered:
    """Run a body, whole or in pieces, through the format that is opened for it."""
    wire = Formats(format_, field).open(
        media_type, text, lambda: CitationFilter(PASSAGES, **options)
    )
    pieces = [body] if isinstance(body, bytes) else body
    out = b"".join([wire.feed(piece) for piece in pieces]) + wire.finish()
    return Filtered(out, wire.summaries)


def cuts(body: bytes) -> Iterator[list[bytes]]:
    """Yield a body whole, byte by byte, and cut in two at every place."""
    yield [body]
    yield [body[at : at + 1] for at in range(len(body))]
    for at in range(1, len(body)):
        yield [body[:at], body[at:]]


def sse(*payloads: object, end: str = "\n") -> bytes:
    """Write events as most servers do: one data line of JSON each."""
    frames = [f"data: {json.dumps(payload)}{end}{end}" for payload in payloads]
    return "".join(frames).encode()


def done() -> bytes:
    return b"data: [DONE]\n\n"


def chat_chunk(
    content: str | None = None, finish: str | None = None, index: int = 0, **members: Any
) -> dict[str, Any]:
    """Make a chunk of a chat completion stream, after the provider's published shape."""
    delta = {} if content is None else {"content": content}
    return {
        "id": "chatcmpl-7",
        "object": "chat.completion.chunk",
        "created": 1_767_225_600,
        "model": "some-model",
        "service_tier": "default",
        "choices": [{"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}],
        **members,
    }


def chat_stream(*contents: str, finish: str = "stop") -> bytes:
    """Make a whole chat completion stream of one choice."""
    first = chat_chunk("")
    first["choices"][0]["delta"] = {"role": "assistant", "content": "", "refusal": None}
    chunks = [chat_chunk(content) for content in contents]
    return sse(first, *chunks, chat_chunk(None, finish)) + done()


def events(body: bytes) -> list[dict[str, list[str]]]:
    """Read a stream by the rules of the standard: each event as its fields, comments under ""."""
    text = body.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    found: list[dict[str, list[str]]] = [{}]
    for line in re.split(r"\r\n|\r|\n", text):
        if not line:
            found.append({})
            continue
        name, _, value = line.partition(":")
        found[-1].setdefault(name, []).append(value.removeprefix(" "))
    return [fields for fields in found if fields]


def payloads(body: bytes) -> list[Any]:
    """Return the JSON of every event that has some, in order."""
    data = ["\n".join(fields["data"]) for fields in events(body) if "data" in fields]
    return [json.loads(text) for text in data if text.strip() != "[DONE]"]
