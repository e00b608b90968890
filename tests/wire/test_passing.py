"""Frames that pass unread or are only compared, against reading every frame in full."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from citestream.events import Citation, Summary, Text
from citestream.filter import CitationFilter
from citestream.styles import NUMERIC, MarkerStyle
from citestream.wire.formats import Format, Formats, TextKind
from citestream.wire.frames import MOST_PASSED, EventStream
from tests.recordings import named
from tests.wire.bodies import PASSAGES, chat_chunk, filtered, payloads, sse

# Plain words, what may lead to a marker, markers whole and in pieces, what JSON
# escapes, what Markdown makes code of, and characters that are no ASCII.
PIECES = [
    *("a", " word", " is", ".", ",", " 7", "x" * 70, "s:", " https://a", "\u007f", "\t"),
    *(" ", " (", "**", "_", "!", " !", "\n", "\r", "\n\n", "a ", "a\n"),
    *("[", "1", "]", "[1", "[1]", " [1].", " [9]", "[2][9]", " [1, 3]", "](", "[[9]]", "【1】"),
    *('"', "\\", "\\u0061", "\u2028", "é", "ü" * 3, "\x00", "`", "```\n", "$", "\ud800"),
]

OPTIONS: dict[str, dict[str, Any]] = {
    "exact": {},
    "renumbered": {"renumber": True, "sentences": True},
    "hidden": {"show": "none"},
}


def as_strings(text: str, at: int) -> bytes:
    del at
    return sse(text, end="\r\n")


def as_raw_strings(text: str, at: int) -> bytes:
    del at
    return b"data: %b\n\n" % json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")


def as_bare(text: str, at: int) -> bytes:
    del at
    lines = re.split("\r\n|\r|\n", text)
    return b"".join([b"data: %b\n" % line.encode("utf-8", "replace") for line in lines]) + b"\n"


def as_objects(text: str, at: int) -> bytes:
    return sse({"text": text} if at % 20 else {"text": text, "n": at})


def as_deltas(text: str, at: int) -> bytes:
    if at % 40 == 39:
        return b": ping\n\n"
    return b'event: delta\ndata: {"text":%b}\n\n' % json.dumps(text).encode()


def as_chat(text: str, at: int) -> bytes:
    # A time in seconds changes now and then.
    return sse({**chat_chunk(text), "created": at // 30})


def as_padded_chat(text: str, at: int) -> bytes:
    return sse(chat_chunk(text, obfuscation="aZ9x"[: at % 5]))


def as_choices(text: str, at: int) -> bytes:
    return sse(chat_chunk(text, index=at // 3 % 2))


FORMATS: dict[str, tuple[Callable[[str, int], bytes], Format]] = {
    "strings": (as_strings, "json"),
    "raw strings": (as_raw_strings, "json"),
    "bare": (as_bare, "text"),
    "objects": (as_objects, "json"),
    "deltas": (as_deltas, "citestream"),
    "chat": (as_chat, "openai-chat"),
    "padded chat": (as_padded_chat, "openai-chat"),
    "choices": (as_choices, "openai-chat"),
}


def reread(stream: EventStream) -> None:
    """Let a stream read every frame in full."""
    setattr(stream, "_remember", lambda *_: None)  # noqa: B010 - a method for mypy


def run(
    pieces: Sequence[bytes],
    format_: Format,
    options: dict[str, Any],
    *,
    end: str = "finish",
    in_full: bool,
) -> tuple[list[bytes], list[Summary]]:
    """Give what leaves for every piece and at the end, and the scores."""
    wire = Formats(format_, "text").open(
        "text/event-stream", "prose", lambda: CitationFilter(PASSAGES, **options)
    )
    assert isinstance(wire, EventStream)
    if in_full:
        reread(wire)
    out = [wire.feed(piece) for piece in pieces]
    if end == "finish":
        out.append(wire.finish())
    elif end == "fail":
        out.append(wire.fail("7")[0])
    else:
        wire.discard()
    return out, wire.summaries


def answer(random_: random.Random) -> list[str]:
    """Make an answer of plain runs, some longer than may pass unfed, and of anything."""
    texts: list[str] = []
    while len(texts) < 120:
        if random_.random() < 0.3:
            texts += random_.choices(PIECES[:8], k=random_.choice((3, MOST_PASSED, 50)))
        texts += random_.choices(PIECES, k=random_.randint(1, 6))
    return texts


def cuts(frames: list[bytes], random_: random.Random) -> Iterator[list[bytes]]:
    """Give the frames one by one, some joined, and cut anywhere."""
    yield frames
    joined: list[bytes] = []
    for frame in frames:
        if joined and random_.random() < 0.2:
            joined[-1] += frame
        else:
            joined.append(frame)
    yield joined
    cut: list[bytes] = []
    for frame in joined:
        at = random_.randrange(len(frame) + 1) if random_.random() < 0.2 else 0
        cut += [frame[:at], frame[at:]]
    yield cut


@pytest.mark.parametrize("name", FORMATS)
def test_what_passes_unread_leaves_as_if_it_had_been_read(name: str) -> None:
    random_ = random.Random(name)
    write, format_ = FORMATS[name]
    for options in OPTIONS.values():
        for end in ("finish", "fail", "discard"):
            frames = [write(text, at) for at, text in enumerate(answer(random_))]
            for pieces in cuts(frames[: random_.randint(60, len(frames))], random_):
                assert run(pieces, format_, options, end=end, in_full=False) == run(
                    pieces, format_, options, end=end, in_full=True
                )


def test_recorded_frames_that_pass_unread_leave_as_if_they_had_been_read() -> None:
    random_ = random.Random(0)
    for recording in named("chat-"):
        if not recording.request.get("stream") or "response_format" in recording.request:
            continue
        frames = re.findall(rb".+?(?:\n\n|\Z)", recording.body, re.DOTALL)
        for pieces in cuts(frames, random_):
            assert run(pieces, "openai-chat", {}, in_full=False) == run(
                pieces, "openai-chat", {}, in_full=True
            ), recording.name


class Noting(CitationFilter):
    """Notes what it is fed."""

    def __init__(self, fed: list[str]) -> None:
        super().__init__(PASSAGES)
        self._fed = fed

    def feed(self, chunk: str) -> list[Text | Citation]:
        self._fed.append(chunk)
        return super().feed(chunk)


def test_plain_frames_pass_and_the_filter_is_told_before_anything_else() -> None:
    fed: list[str] = []
    wire = Formats("openai-chat", "text").open("text/event-stream", "prose", lambda: Noting(fed))
    plain = ["Five", " days", ","] + [" more"] * 40
    other = [" [1]", ".", ' a"b', "é", " end"]
    frames = [sse(chat_chunk(text)) for text in plain + other]
    assert [wire.feed(frame) for frame in frames] == frames
    wire.finish()
    assert fed == [
        # Two are read to see that they are of one shape.
        "Five",
        " days",
        "," + " more" * 31,
        " more" * 9,
        # Behind a marker that is kept a separator could follow.
        " [1]",
        ".",
        ' a"b',
        "é",
        " end",
    ]


ANGLES = MarkerStyle("<<", ">>")


@pytest.mark.parametrize(
    ("kind", "style", "texts", "visible"),
    [
        ("prose", ANGLES, ["a", " b", " c", " <<", "9", ">>", " d"], "a b c d"),
        ("json", NUMERIC, ['"a', " b", " c", " [", "9", "]", ' d"'], '"a b c d"'),
        ("prose", NUMERIC, ["a", " b", " `c", " [", "9", "]`", " d"], "a b `c [9]` d"),
    ],
)
def test_text_does_not_pass_while_it_may_be_a_marker(
    kind: TextKind, style: MarkerStyle, texts: list[str], visible: str
) -> None:
    frames = [sse({"text": text}) for text in texts]
    body = filtered(frames, text=kind, style=style).body
    assert "".join([value.get("text", "") for value in payloads(body)]) == visible
