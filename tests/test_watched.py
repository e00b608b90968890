"""The demo's raw events: what the model wrote, what of it is held, and what was taken out."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from itertools import islice
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from starlette.types import Message

from citestream.testing import cuts
from demo.watched import Watch, WatchedResponse
from tests.cases import BRACKETS, EXTRA, NUMERIC
from tests.loops import on_every_loop

Event = tuple[str, Any]


async def chunks(*texts: str) -> AsyncGenerator[str, None]:
    for text in texts:
        await anyio.lowlevel.checkpoint()
        yield text


async def sent(
    source: AsyncGenerator[str, None], passages: Any = 2, **options: Any
) -> list[Message]:
    """Return the messages of a watched answer."""
    watch = Watch(passages)
    response = WatchedResponse(watch, watch.source(source), passages, ping=0, **options)
    messages: list[Message] = []

    async def receive() -> Message:
        await anyio.sleep_forever()
        raise AssertionError

    async def send(message: Message) -> None:
        messages.append(message)

    await response({"type": "http", "method": "POST"}, receive, send)
    return messages


def events_of(messages: list[Message]) -> list[Event]:
    body = b"".join(message.get("body", b"") for message in messages).decode("ascii")
    events = []
    for block in body.split("\n\n")[:-1]:
        name, data = block.split("\n")
        events.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return events


def raw(
    text: str, held: int, left: str, markers: list[tuple[int, int, bool]], attempt: int = 1
) -> Event:
    places = [{"start": start, "end": end, "kept": kept} for start, end, kept in markers]
    data = {"text": text, "held": held, "left": left, "markers": places, "attempt": attempt}
    return ("raw", data)


@on_every_loop
async def test_raw_text_comes_before_what_is_made_of_it() -> None:
    messages = await sent(chunks("Free [", "1", "]. Not [9", "]."))
    *events, (last, _) = events_of(messages)
    assert last == "summary"
    citation = {"text": "[1]", "cited": [1], "invalid": []}
    assert [
        (name, {key: value for key, value in data.items() if key != "passages"})
        for name, data in events
    ] == [
        raw("Free [", 2, "Free", []),
        ("delta", {"text": "Free"}),
        raw("1", 3, "", []),
        raw("]. Not [9", 3, " [1]. Not", [(5, 8, True)]),
        ("delta", {"text": " "}),
        ("citation", citation),
        ("delta", {"text": ". Not"}),
        raw("].", 0, ".", [(14, 17, False)]),
        ("citation", {"text": "", "cited": [], "invalid": [9]}),
        ("delta", {"text": "."}),
        raw("", 0, "", []),
    ]


@on_every_loop
async def test_first_item_is_told_once_the_response_has_begun() -> None:
    messages = await sent(chunks("Free [1]."), first_item=True)
    assert messages[0]["type"] == "http.response.start"
    assert [name for name, _ in events_of(messages)][:2] == ["raw", "delta"]


@on_every_loop
async def test_refusal_of_a_model_that_is_down_holds_nothing_else() -> None:
    async def down() -> AsyncGenerator[str, None]:
        nothing: list[str] = []
        for text in nothing:
            yield text
        raise OSError("the prompt was secret")

    start, body = await sent(down(), first_item=True)
    assert start["status"] == 502
    assert json.loads(body["body"])["reason"] == "source failed"


@on_every_loop
async def test_marker_that_the_end_cut_is_told_as_removed() -> None:
    async def broken() -> AsyncGenerator[str, None]:
        yield "Free [1]. Or [2"
        raise OSError

    events = events_of(await sent(broken()))
    assert [data for name, data in events if name == "raw"] == [
        raw("Free [1]. Or [2", 3, "Free [1]. Or", [(5, 8, True)])[1],
        raw("", 0, "", [(12, 15, False)])[1],
    ]


@on_every_loop
async def test_places_count_as_a_browser_does() -> None:
    events = events_of(await sent(chunks("\U0001f6b2 [1] \U0001f6b2 [9].")))
    (told, _) = [data for name, data in events if name == "raw"]
    assert told["markers"] == [
        {"start": 3, "end": 6, "kept": True},
        {"start": 10, "end": 13, "kept": False},
    ]
    assert told["left"] == "\U0001f6b2 [1] \U0001f6b2."


@pytest.mark.parametrize(
    ("answer", "removed"),
    [
        ("See [1](https://evil.example/).", ["(https://evil.example/)"]),
        ("See [9](https://evil.example/).", ["[9](https://evil.example/)"]),
        ("See [9[9]].", ["[9[9]]"]),
        ("See ([9]).", ["([9])"]),
        ("See [8], [9], and [1].", ["[8], [9], and"]),
        ("See [1] (and so on) [sic].", []),
    ],
)
def test_all_that_is_taken_out_is_told(answer: str, removed: list[str]) -> None:
    async def main() -> None:
        events = events_of(await sent(chunks(answer)))
        markers = [mark for name, data in events if name == "raw" for mark in data["markers"]]
        found = [answer[mark["start"] : mark["end"]] for mark in markers if not mark["kept"]]
        assert [text.strip() for text in found] == removed

    anyio.run(main)


def test_every_case_is_told_whole_for_every_cut() -> None:
    async def main() -> list[str]:
        wrong = []
        for case in [*NUMERIC, *BRACKETS, *EXTRA][::9]:
            if case.style != "numeric" or case.options or not 0 < len(case.answer) <= 120:
                continue
            for pieces in islice(cuts(case.answer), 3):
                events = events_of(await sent(chunks(*pieces), case.passages))
                told = [data for name, data in events if name == "raw"]
                text = "".join(
                    data["text"] for name, data in events if name in {"delta", "citation"}
                )
                if (
                    "".join(data["text"] for data in told) != case.answer
                    or told[-1]["held"] != 0
                    or "".join(data["left"] for data in told) != text
                    or any(data["held"] < 0 for data in told)
                ):
                    wrong.append(f"{case.name}: {pieces!r}")
        return wrong

    assert anyio.run(main) == []


@on_every_loop
async def test_closing_the_response_closes_the_model() -> None:
    closed = []

    async def endless() -> AsyncGenerator[str, None]:
        try:
            while True:
                await anyio.lowlevel.checkpoint()
                yield "word "
        finally:
            closed.append(True)

    watch = Watch(2)
    response = WatchedResponse(watch, watch.source(endless()), 2, ping=0)

    async def receive() -> Message:
        await anyio.sleep(0.02)
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        await anyio.lowlevel.checkpoint()

    await response({"type": "http", "method": "POST"}, receive, send)
    assert closed == [True]
