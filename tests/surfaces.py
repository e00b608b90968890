"""Ways to drive the package over an answer; it knows no case and no cut.

A surface takes chunks, passages and a filter's options, and gives what a
reader and a caller end up with. To add one, write a function of the same
shape and name it in `SURFACES`.
"""

from __future__ import annotations

import asyncio
import atexit
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from starlette.types import Message

from citestream import CitationFilter, CitationStream, check_citations, filter_text
from citestream.events import Citation, Event, Summary
from citestream.filter import PassageSource
from citestream.sse import CitationResponse

__all__ = [
    "SURFACES",
    "Outcome",
    "Surface",
    "drive",
    "drive_both",
    "run_check",
    "run_filter",
    "run_filter_text",
    "run_sse",
    "run_stream",
    "score",
]


@dataclass(frozen=True)
class Outcome:
    """What came out of an answer, compared as a whole."""

    visible: str
    """What the reader sees, joined."""
    summary: Summary


Surface: TypeAlias = Callable[[Sequence[str], PassageSource, Mapping[str, Any]], Outcome]


@dataclass(frozen=True)
class Filtered:
    """All that a filter said, its events joined where a cut parts them."""

    visible: str
    citations: list[Citation]
    summary: Summary


def drive(
    chunks: Sequence[str], passages: PassageSource, options: Mapping[str, Any] = {}
) -> Filtered:
    """Feed a filter, and check what holds of its events whatever the answer is."""
    filter_ = CitationFilter(passages, **options)
    events: list[Event] = []
    for chunk in chunks:
        events += filter_.feed(chunk)
    events += filter_.finish()
    summary = events.pop()
    assert isinstance(summary, Summary)
    pieces: list[str] = []
    citations: list[Citation] = []
    length = 0
    for event in events:
        assert not isinstance(event, Summary), "a summary before the end"
        if isinstance(event, Citation):
            assert event.start == length, (event, length)
            assert event.end == length + len(event.text), (event, length)
            citations.append(event)
        else:
            assert event.text, "a text event without text"
        pieces.append(event.text)
        length += len(event.text)
    assert filter_.held == "", "text is held after the end"
    return Filtered("".join(pieces), citations, summary)


def drive_both(answer: str, passages: PassageSource = 3, **options: Any) -> Filtered:
    """Feed an answer whole and by character, and give what came out of both."""
    filtered = drive([answer], passages, options)
    assert drive(list(answer), passages, options) == filtered, answer
    return filtered


def run_filter(
    chunks: Sequence[str], passages: PassageSource, options: Mapping[str, Any]
) -> Outcome:
    filtered = drive(chunks, passages, options)
    return Outcome(filtered.visible, filtered.summary)


def run_check(
    chunks: Sequence[str], passages: PassageSource, options: Mapping[str, Any]
) -> Outcome:
    """Check the whole answer at once: the cut cannot matter here."""
    checked = check_citations("".join(chunks), passages, **options)
    summary = checked.summary
    assert checked.cited == list(summary.cited)
    assert checked.invalid == list(summary.invalid)
    assert checked.unused == list(summary.unused)
    assert checked.grounded is summary.grounded
    return Outcome(checked.answer, summary)


def run_filter_text(
    chunks: Sequence[str], passages: PassageSource, options: Mapping[str, Any]
) -> Outcome:
    texts = filter_text(iter(chunks), passages, **options)
    visible = "".join(texts)
    assert texts.summary is not None
    return Outcome(visible, texts.summary)


@cache
def _runner() -> asyncio.Runner:
    """Give one loop for all answers: a new one for each costs more than the answer."""
    runner = asyncio.Runner()
    atexit.register(runner.close)
    return runner


async def in_turn(chunks: Sequence[str]) -> AsyncIterator[str]:
    for chunk in chunks:
        yield chunk


def run_stream(
    chunks: Sequence[str], passages: PassageSource, options: Mapping[str, Any]
) -> Outcome:
    async def read() -> Outcome:
        stream = CitationStream(in_turn(chunks), passages, **options)
        visible = "".join([text async for text in stream.text()])
        assert stream.summary is not None
        return Outcome(visible, stream.summary)

    return _runner().run(read())


def run_sse(chunks: Sequence[str], passages: PassageSource, options: Mapping[str, Any]) -> Outcome:
    """Read the events of a response as a client does, to a summary like any other.

    JSON knows no half of a surrogate pair beside the other: two are one character.
    """
    sent: list[bytes] = []

    async def send(message: Message) -> None:
        sent.append(message.get("body", b""))

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError("the client stays")

    async def read() -> Summary:
        response = CitationResponse(in_turn(chunks), passages, ping=0, **options)
        await response({"type": "http", "method": "GET", "headers": []}, receive, send)
        assert response.stream.summary is not None
        return response.stream.summary

    summary = _runner().run(read())
    *events, last = [block.split(b"\ndata: ") for block in b"".join(sent).split(b"\n\n")[:-1]]
    assert {name for name, _ in events} <= {b"event: delta", b"event: citation"}
    assert last[0] == b"event: summary"
    assert json.loads(last[1]) == json.loads(json.dumps(summary.to_dict()))
    return Outcome("".join(json.loads(data)["text"] for _, data in events), summary)


SURFACES: dict[str, Surface] = {
    "filter": run_filter,
    "check": run_check,
    "filter_text": run_filter_text,
    "stream": run_stream,
    "sse": run_sse,
}


def score(summary: Summary) -> dict[str, Any]:
    """Give the summary as the JSON every surface sends, for messages a person can read."""
    return summary.to_dict()
