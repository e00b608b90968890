"""Recorded bytes of a real server through the format that reads them, in several cuts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from citestream import Passages, check_citations
from citestream.filter import CitationFilter
from citestream.wire.formats import Formats, TextKind
from tests.oracle import invented_in
from tests.recordings import Recording, named
from tests.wire.bodies import Filtered, payloads

CHATS = [
    recording
    for prefix in ("chat-", "completions-", "native-")
    for recording in named(prefix)
    if recording.status == 200
]


def kind_of(recording: Recording) -> TextKind:
    return "json" if "response_format" in recording.request else "prose"


def run(recording: Recording, pieces: list[bytes]) -> Filtered:
    passages = Passages(
        [
            {"text": f"Text {n}.", "url": f"https://docs.example/{n}"}
            for n in range(1, recording.passages + 1)
        ]
    )
    wire = Formats("auto", "text").open(
        recording.content_type.partition(";")[0],
        kind_of(recording),
        lambda: CitationFilter(passages),
    )
    out = b"".join([wire.feed(piece) for piece in pieces]) + wire.finish()
    return Filtered(out, wire.summaries)


def pieces_of(body: bytes) -> Iterator[list[bytes]]:
    yield [body]
    yield re.findall(rb".+?(?:\n\n|\Z)", body, re.DOTALL)
    for size in (7, 1000):
        yield [body[at : at + size] for at in range(0, len(body), size)]


def frames_of(recording: Recording, body: bytes) -> list[Any]:
    return payloads(body) if recording.request.get("stream") else [json.loads(body)]


def texts_of(frames: list[Any]) -> dict[str, str]:
    """Join the text of every choice, wherever the format keeps it."""
    found: dict[str, str] = {}
    for frame in frames:
        for choice in frame.get("choices", [frame]):
            holder = choice.get("delta") or choice.get("message") or choice
            text = holder.get("content") or holder.get("text") or ""
            index = str(choice.get("index", 0))
            found[index] = found.get(index, "") + text
    return found


def summaries_of(frames: list[Any]) -> dict[str, Any]:
    found = {}
    for frame in frames:
        choices = frame.get("choices", [frame])
        for choice in choices:
            summary = choice.get("citestream") or (len(choices) == 1 and frame.get("citestream"))
            if summary:
                found[str(choice.get("index", 0))] = summary
    return found


@pytest.mark.parametrize("recording", CHATS, ids=str)
def test_a_recorded_answer_leaves_as_the_one_shot_check_says(recording: Recording) -> None:
    results = [run(recording, pieces) for pieces in pieces_of(recording.body)]
    assert results == [results[0]] * len(results)
    frames = frames_of(recording, results[0].body)
    texts = texts_of(frames)
    assert texts.keys() == recording.texts.keys()
    summaries = summaries_of(frames)
    for index, written in recording.texts.items():
        if kind_of(recording) == "prose":
            checked = check_citations(written, recording.passages)
            assert texts[index] == checked.answer
            summary = summaries[index]
            assert (summary["cited"], summary["invalid"]) == (checked.cited, checked.invalid)
        else:
            before, after = json.loads(written), json.loads(texts[index])
            assert after["sources"] == before["sources"]
            assert after["answer"] == check_citations(before["answer"], recording.passages).answer
            assert texts[index].count('"sources"') == 1
        visible = after["answer"] if kind_of(recording) == "json" else texts[index]
        assert invented_in(visible, range(1, recording.passages + 1)) == []


@pytest.mark.parametrize("recording", CHATS, ids=str)
def test_nothing_but_text_and_what_betrays_it_changes(recording: Recording) -> None:
    """Put the text of both sides aside, and compare what else the frames say."""

    def rest(frame: Any) -> Any:
        frame = json.loads(json.dumps(frame))
        frame.pop("citestream", None)
        frame.pop("created", None)
        for choice in frame.get("choices", []):
            choice.pop("citestream", None)
            choice.pop("logprobs", None)
            choice.pop("text", None)
            for holder in (choice.get("delta"), choice.get("message")):
                if holder:
                    holder.pop("annotations", None)
                    holder.pop("content", None)
        for name in ("content", "tokens", "tokens_predicted"):
            frame.pop(name, None)
        return frame

    before = [rest(frame) for frame in frames_of(recording, recording.body)]
    after = [rest(frame) for frame in frames_of(recording, run(recording, [recording.body]).body)]
    # Frames may be left out or put in for text alone, so each kind is there once.
    assert [f for f in after if f not in before] == []
    assert [f for f in before if f not in after] == []


def test_finish_usage_and_log_probabilities_of_kept_text_leave_byte_for_byte() -> None:
    for recording in [*named("chat-usage-"), *named("chat-logprobs-")]:
        if not recording.request.get("stream"):
            continue
        out = run(recording, [recording.body]).body
        for block in recording.body.split(b"\n\n"):
            if b'"usage"' in block or block == b"data: [DONE]":
                assert block in out
        kept = [b for b in recording.body.split(b"\n\n") if b"logprobs" in b and b in out]
        assert bool(kept) == (b"logprobs" in recording.body)
        for frame in payloads(out):
            for choice in frame["choices"]:
                chances = (choice.get("logprobs") or {}).get("content") or []
                tokens = "".join(chance["token"] for chance in chances)
                assert tokens in ("", choice["delta"].get("content"))
