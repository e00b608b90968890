"""Answers of a real model, through every surface and cut, and as bytes through the whole chain."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from citestream import CitationStream, Passages, check_citations
from citestream.sse import CitationResponse
from demo.model import LocalModel
from tests.loops import on_every_loop
from tests.oracle import changed_otherwise, invented_in, links_on_markers
from tests.recordings import CHATS, FOLDER, RECORDINGS, Recording, named
from tests.servers import serving
from tests.splits import SPLITS, Split
from tests.surfaces import SURFACES, Surface, drive


def supplied(recording: Recording) -> range:
    return range(1, recording.passages + 1)


# -- What was recorded ------------------------------------------------------


def test_there_are_enough_streams_of_every_kind() -> None:
    assert len(CHATS) >= 30
    with_invented = [chat for chat in CHATS if invented_in(chat.text, supplied(chat))]
    assert len(with_invented) >= 15
    assert len(CHATS) - len(with_invented) >= 5
    # The model's tokens split every marker: none arrives whole.
    deltas = [text for chat in CHATS for text in contents(chat)]
    assert [text for text in deltas if "[" in text and "]" in text] == []


def test_recordings_stay_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.is_file()) < 1_000_000


def test_recordings_name_no_machine() -> None:
    # A server that is not told otherwise names its model by its path.
    assert [r.name for r in RECORDINGS if b"/lib/python" in r.body or b".gguf" in r.body] == []


@pytest.mark.parametrize("recording", [r for r in RECORDINGS if r.status == 200], ids=str)
def test_recording_answers_what_was_asked(recording: Recording) -> None:
    streamed = bool(recording.request.get("stream"))
    expected = "text/event-stream" if streamed else "application/json; charset=utf-8"
    assert recording.content_type == expected
    assert all(recording.texts.values())


def frames(recording: Recording) -> list[dict[str, Any]]:
    """Give the JSON of a stream of nothing but `data:` lines, without the end mark."""
    blocks = recording.body.decode().removesuffix("\n\n").split("\n\n")
    assert blocks.pop() == "data: [DONE]"
    return [json.loads(block.removeprefix("data: ")) for block in blocks]


def contents(recording: Recording) -> list[str]:
    deltas = [frame["choices"][0]["delta"] for frame in frames(recording)]
    return [delta["content"] for delta in deltas if delta.get("content")]


@pytest.mark.parametrize("chat", CHATS, ids=str)
def test_recorded_text_is_that_of_the_bytes(chat: Recording) -> None:
    assert "".join(contents(chat)) == chat.text


# -- Through the package ----------------------------------------------------


@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
@pytest.mark.parametrize("surface", SURFACES.values(), ids=SURFACES)
@pytest.mark.parametrize("chat", CHATS, ids=str)
def test_every_surface_and_cut_gives_the_same(
    chat: Recording, surface: Surface, split: Split
) -> None:
    passages = Passages(chat.passages)
    whole = drive([chat.text], passages)
    for chunks in split(chat.text):
        outcome = surface(chunks, passages, {})
        assert (outcome.visible, outcome.summary) == (whole.visible, whole.summary), chunks


TEXTS = [
    pytest.param(text, r, id=f"{r}-{key}") for r in RECORDINGS for key, text in r.texts.items()
]


@pytest.mark.parametrize(("text", "recording"), TEXTS)
def test_no_invented_marker_is_shown_and_nothing_else_changes(
    text: str, recording: Recording
) -> None:
    labels = supplied(recording)
    checked = check_citations(text, recording.passages)
    assert invented_in(checked.answer, labels) == []
    assert links_on_markers(checked.answer) == []
    assert changed_otherwise(text, checked.answer, labels) is None
    # What was invented is what the summary says, by another count.
    assert bool(checked.invalid) == bool(invented_in(text, labels))


@pytest.mark.parametrize("chat", CHATS + named("chat-usage-"), ids=str)
@on_every_loop
async def test_stream_reads_the_frames_as_a_client_library_gives_them(chat: Recording) -> None:
    async def source() -> AsyncIterator[dict[str, Any]]:
        for frame in frames(chat):
            yield frame

    stream = CitationStream(source(), chat.passages)
    visible = "".join([text async for text in stream.text()])
    checked = check_citations(chat.text, chat.passages)
    assert (visible, stream.summary) == (checked.answer, checked.summary)


# -- As bytes over HTTP -----------------------------------------------------


def replaying(size: int) -> Starlette:
    """Make a server that sends recordings, cut into pieces of a size."""
    bodies = {chat.name: chat.body for chat in CHATS}

    async def answer(request: Request) -> Response:
        assert (await request.json())["stream"] is True
        body = bodies[request.path_params["name"]]

        async def pieces() -> AsyncIterator[bytes]:
            for at in range(0, len(body), size):
                yield body[at : at + size]

        return StreamingResponse(pieces(), media_type="text/event-stream")

    return Starlette(routes=[Route("/{name}/v1/chat/completions", answer, methods=["POST"])])


def filtering(models: str) -> Starlette:
    """Make the application of the main job: a model's server behind, a reader in front."""

    async def ask(request: Request) -> Response:
        model = LocalModel(f"{models}/{request.path_params['name']}/v1")
        count = int(request.query_params["passages"])
        passages = Passages([f"passage {label}" for label in range(1, count + 1)])
        return CitationResponse(model.answer("Is it so?", passages), passages)

    return Starlette(routes=[Route("/{name}", ask)])


def read(client: httpx2.Client, path: str) -> tuple[str, dict[str, Any]]:
    """Return what a reader sees, and the summary."""
    with client.sse(path) as events:
        *shown, summary = [json.loads(event.data) for event in events]
    return "".join(event["text"] for event in shown), summary


# How a connection cuts bytes: not at all, across every frame, and each from
# the next, which is slow and done for some.
@pytest.mark.parametrize(("size", "every"), [(1_000_000, 1), (70, 1), (1, 12)])
def test_no_invented_marker_reaches_a_client_over_http(size: int, every: int) -> None:
    with (
        serving(replaying(size)) as models,
        serving(filtering(f"http://127.0.0.1:{models.port}")) as app,
        httpx2.Client(base_url=f"http://127.0.0.1:{app.port}", timeout=30) as client,
    ):
        for chat in CHATS[::every]:
            visible, summary = read(client, f"/{chat.name}?passages={chat.passages}")
            checked = check_citations(chat.text, chat.passages)
            assert invented_in(visible, supplied(chat)) == []
            assert visible == checked.answer
            assert summary["invalid"] == checked.invalid
            assert summary["cited"] == checked.cited
            assert summary["ended"] == "complete"
