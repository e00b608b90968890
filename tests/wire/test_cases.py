"""The tables of answers through every format and cut; no format changes what comes out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from citestream.events import Summary
from citestream.filter import CitationFilter
from citestream.passages import Passages
from citestream.wire.formats import Format, Formats
from tests.cases import BRACKETS, EXTRA, NUMERIC, Case
from tests.splits import Split, at_random, by_character, whole
from tests.surfaces import Outcome, run_filter
from tests.wire.bodies import chat_chunk, chat_stream, events, payloads, sse

# Every case goes through the filter in every cut elsewhere; what is asked here is
# whether a format carries text faithfully, for which a part of them is enough.
CASES = [*NUMERIC, *EXTRA[::5], *BRACKETS[::5]]

Carrier = Callable[[Sequence[str]], list[bytes]]


def as_text(chunks: Sequence[str]) -> list[bytes]:
    return [chunk.encode("utf-8", "surrogatepass") for chunk in chunks]


def as_strings(chunks: Sequence[str]) -> list[bytes]:
    return [sse(chunk) for chunk in chunks]


def as_objects(chunks: Sequence[str]) -> list[bytes]:
    return [sse({"text": chunk}, end="\r\n") for chunk in chunks]


def as_deltas(chunks: Sequence[str]) -> list[bytes]:
    return [b"event: delta\n" + sse({"text": chunk}) for chunk in chunks]


def as_chat(chunks: Sequence[str]) -> list[bytes]:
    return [chat_stream(*chunks)]


def as_padded_chat(chunks: Sequence[str]) -> list[bytes]:
    frames = [sse(chat_chunk(chunk, obfuscation="x" * (at % 5))) for at, chunk in enumerate(chunks)]
    return [*frames, sse(chat_chunk(None, "stop"))]


def as_body(chunks: Sequence[str]) -> list[bytes]:
    return [json.dumps({"choices": [{"message": {"content": "".join(chunks)}}]}).encode()]


def text_of_text(body: bytes) -> str:
    return body.decode("utf-8", "surrogatepass")


def text_of_events(body: bytes) -> str:
    pieces = []
    for fields in events(body):
        value = json.loads(fields["data"][0])
        if fields.get("event") != ["summary"]:
            pieces.append(value if isinstance(value, str) else value["text"])
    return "".join(pieces)


def text_of_chat(body: bytes) -> str:
    deltas = [frame["choices"][0].get("delta", {}) for frame in payloads(body)]
    return "".join([delta.get("content") or "" for delta in deltas])


def text_of_body(body: bytes) -> str:
    return str(json.loads(body)["choices"][0]["message"]["content"])


FORMATS: dict[str, tuple[Carrier, str, Format, Callable[[bytes], str]]] = {
    "text": (as_text, "text/plain", "auto", text_of_text),
    "strings": (as_strings, "text/event-stream", "json", text_of_events),
    "objects": (as_objects, "text/event-stream", "json", text_of_events),
    "own": (as_deltas, "text/event-stream", "citestream", text_of_events),
    "chat": (as_chat, "text/event-stream", "auto", text_of_chat),
    "padded chat": (as_padded_chat, "text/event-stream", "openai-chat", text_of_chat),
    "body": (as_body, "application/json", "auto", text_of_body),
}


def run(name: str, chunks: Sequence[str], case: Case) -> tuple[str, Summary]:
    carrier, media_type, format_, text_of = FORMATS[name]
    options: dict[str, Any] = case.options
    wire = Formats(format_, "text").open(
        media_type, "prose", lambda: CitationFilter(case.passages, **options)
    )
    out = b"".join([wire.feed(piece) for piece in carrier(chunks)]) + wire.finish()
    (summary,) = wire.summaries
    return text_of(out), summary


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("split", [by_character, at_random, whole])
def test_an_answer_is_the_same_in_every_format(name: str, split: Split) -> None:
    for case in CASES:
        expected = run_filter([case.answer], Passages(case.passages), case.options)
        for chunks in split(case.answer):
            visible, summary = run(name, chunks, case)
            assert Outcome(visible, summary) == expected, (case.name, chunks)
