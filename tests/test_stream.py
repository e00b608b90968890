"""A stream owns its source, ends in one way, and says so once; on asyncio and trio."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from citestream import closing
from citestream.events import Citation, Event, Sentence, Summary, Text
from citestream.exceptions import PassageError, SourceError
from citestream.filter import filter_text
from citestream.passages import Passage, Passages
from citestream.stream import SOURCE_FAILED, CitationStream, Failure
from tests.loops import on_every_loop

CHUNKS = ["The sky is ", "blue [", "1], and the ", "sea [9", "] too."]


class Source:
    """An async source that notes how far it was pulled and how it was closed."""

    def __init__(self, chunks: list[str], error: Exception | None = None) -> None:
        self.chunks = chunks
        self.error = error
        self.pulled = 0
        self.closings = 0
        self.tasks: set[int] = set()
        self.generator = self.generate()

    async def generate(self) -> AsyncGenerator[str]:
        for chunk in self.chunks:
            await anyio.lowlevel.checkpoint()
            self.pulled += 1
            yield chunk
        if self.error is not None:
            raise self.error

    def __aiter__(self) -> Source:
        return self

    async def __anext__(self) -> str:
        self.tasks.add(anyio.get_current_task().id)
        return await anext(self.generator)

    async def aclose(self) -> None:
        await anyio.sleep(0.001)
        self.tasks.add(anyio.get_current_task().id)
        self.closings += 1
        await self.generator.aclose()


class Told:
    """A callback that notes every summary."""

    def __init__(self) -> None:
        self.summaries: list[Summary] = []

    def __call__(self, summary: Summary) -> None:
        self.summaries.append(summary)

    async def later(self, summary: Summary) -> None:
        await anyio.sleep(0.001)
        self.summaries.append(summary)

    def as_the_one(self, summary: Summary | None) -> bool:
        return len(self.summaries) == 1 and self.summaries[0] is summary


def a_summary(**fields: Any) -> Summary:
    values = {
        "cited": (1,),
        "invalid": (9,),
        "unused": (2, 3),
        "grounded": True,
        "refused_by": None,
        "passages": (Passage(1),),
        "kept": 1,
        "removed": 1,
        "truncated": False,
        "sentences": None,
        "uncited": None,
        "ended": "complete",
        "reason": None,
        **fields,
    }
    return Summary(**values)


EVENTS: list[Event] = [
    Text("The sky is"),
    Text(" blue "),
    Citation("[1]", (1,), (), "[1]", (Passage(1),), 16, 19),
    Text(", and the"),
    Text(" sea"),
    Citation("", (), (9,), "[9]", (), 32, 32),
    Text(" too."),
    a_summary(),
]


def joined(events: list[Event]) -> list[Event]:
    """Join texts that follow each other: where they are cut is the filter's business."""
    result: list[Event] = []
    for event in events:
        if isinstance(event, Text) and result and isinstance(result[-1], Text):
            result[-1] = Text(result[-1].text + event.text)
        else:
            result.append(event)
    return result


def visible(events: Sequence[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text | Citation))


async def as_chunks() -> AsyncIterator[str]:
    for chunk in CHUNKS:
        yield chunk


class AsyncIterable:
    def __aiter__(self) -> AsyncIterator[str]:
        return as_chunks()


SOURCES: dict[str, Callable[[], Any]] = {
    "async-generator": as_chunks,
    "async-iterable": AsyncIterable,
    "list": lambda: CHUNKS,
    "tuple": lambda: tuple(CHUNKS),
    "iterator": lambda: iter(CHUNKS),
    "generator": lambda: (chunk for chunk in CHUNKS),
    "bytes": lambda: [chunk.encode() for chunk in CHUNKS],
    "items": lambda: [{"choices": [{"delta": {"content": chunk}}]} for chunk in CHUNKS],
}


async def read_on(stream: CitationStream, seen: list[Event]) -> None:
    async for event in stream:
        seen.append(event)  # noqa: PERF401  # one by one: the stream may raise


# What comes out


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
@on_every_loop
async def test_events_and_the_summary_last(source: Callable[[], Any]) -> None:
    stream = CitationStream(source(), 3)
    before = stream.summary
    assert before is None
    events = [event async for event in stream]
    assert joined(events) == joined(EVENTS)
    assert stream.summary is events[-1]
    assert [event async for event in stream] == []


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
@on_every_loop
async def test_visible_text_alone(source: Callable[[], Any]) -> None:
    stream = CitationStream(source(), 3)
    texts = [text async for text in stream.text()]
    assert "".join(texts) == "The sky is blue [1], and the sea too."
    assert "" not in texts
    assert stream.summary == a_summary()


@on_every_loop
async def test_events_come_as_soon_as_they_are_certain() -> None:
    source = Source(CHUNKS)
    async with CitationStream(source, 3) as events:
        seen = [(visible([event]), source.pulled) async for event in events]
    text, first = seen[0]
    assert (text, first) == ("The sky is", 1)
    assert [pulled for _, pulled in seen] == sorted(pulled for _, pulled in seen)


@on_every_loop
async def test_batch_holds_what_came_with_one_chunk() -> None:
    stream = CitationStream(["a [1] b", " [", "9] c"], 1)
    batches = []
    while batch := await stream.batch():
        batches.append(batch)
    assert [visible(batch) for batch in batches] == ["a [1] b", " c", ""]
    assert list(batches[-1]) == [stream.summary]
    assert not await stream.batch()


@on_every_loop
async def test_batch_goes_on_where_an_iteration_stopped() -> None:
    stream = CitationStream(["a [1] b", "c"], 1)
    assert await anext(stream) == Text("a ")
    assert visible(await stream.batch()) == "[1] b"
    assert visible(await stream.batch()) == "c"
    await stream.aclose()


@on_every_loop
async def test_options_reach_the_filter() -> None:
    stream = CitationStream(["a [2][9]"], 2, renumber=True, invalid="flag", replacement="(?)")
    assert visible([event async for event in stream]) == "a [1](?)"


@on_every_loop
async def test_sentences_come_out_and_are_no_text() -> None:
    chunks = ["One [1]. Two", ". Three [1]"]
    events = [event async for event in CitationStream(chunks, 1, sentences=True)]
    sentences = [event.content for event in events if isinstance(event, Sentence)]
    assert sentences == ["One [1].", "Two.", "Three [1]"]
    texts = [text async for text in CitationStream(chunks, 1, sentences=True).text()]
    assert "".join(texts) == "One [1]. Two. Three [1]"


@on_every_loop
async def test_passages_are_added_while_the_answer_streams() -> None:
    passages = Passages(1)
    stream = CitationStream(["Not yet [2], ", "but now ", "[2]."], passages)
    seen = []
    async for event in stream:
        seen.append(event)
        if "now" in visible([event]):
            stream.passages.add("Found on the way.")
    assert visible(seen) == "Not yet, but now [2]."
    assert passages.labels == (1, 2)


@on_every_loop
async def test_text_of_items_is_taken_by_the_callers_function() -> None:
    stream = CitationStream([(1, "a "), (2, "[1]")], 1, text=lambda item: item[1])
    assert "".join([text async for text in stream.text()]) == "a [1]"


@on_every_loop
async def test_bytes_that_end_inside_a_character_are_not_lost() -> None:
    stream = CitationStream([b"a [1", b"] \xe2\x82"], 1)
    text = "".join([text async for text in stream.text()])
    assert text.encode(errors="surrogateescape") == b"a [1] \xe2\x82"


@on_every_loop
async def test_loop_goes_on_though_the_source_never_awaits() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async def hog() -> AsyncIterator[str]:
        for number in range(2000):
            yield f"{number} "

    async with anyio.create_task_group() as group:
        group.start_soon(count)
        async for _ in CitationStream(hog(), 1):
            pass
        group.cancel_scope.cancel()
    assert turns >= 10


# Errors of the caller


@pytest.mark.parametrize("source", ["Sky [1].", b"Sky [1].", None, 7, {}])
def test_what_is_no_source_is_refused_at_once(source: object) -> None:
    with pytest.raises(SourceError, match=r"^expected an async or sync iterable of chunks, got "):
        CitationStream(source, 3)


def test_bad_passages_are_refused_at_once() -> None:
    with pytest.raises(PassageError):
        CitationStream([], -1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'styel'"):
        CitationStream([], 1, styel=None)


@on_every_loop
async def test_item_of_an_unknown_type_ends_the_answer_with_an_error() -> None:
    stream = CitationStream(["a", object()], 1)
    events: list[Event] = []
    with pytest.raises(SourceError, match=r"got object: say with text= where its text is$"):
        await read_on(stream, events)
    assert visible(events) == "a"
    assert stream.summary is events[-1]
    assert stream.summary.ended == "error"


# T01, T02, T03: early ends


@on_every_loop
async def test_t01_stream_that_never_started_closes_its_source() -> None:
    told = Told()
    source = Source(CHUNKS)
    async with CitationStream(source, 3, on_summary=told) as stream:
        pass
    assert (source.pulled, source.closings) == (0, 1)
    assert stream.summary == a_summary(
        cited=(),
        invalid=(),
        unused=(1, 2, 3),
        grounded=False,
        passages=(),
        kept=0,
        removed=0,
        ended="cancelled",
    )
    assert told.as_the_one(stream.summary)


@on_every_loop
async def test_t02_reader_who_leaves_stops_the_source() -> None:
    told = Told()
    source = Source([f"{number}," for number in range(100)])
    async with CitationStream(source, 3, on_summary=told) as events:
        for _ in range(3):
            await anext(events)
    assert (source.pulled, source.closings) == (3, 1)
    assert events.summary is not None
    assert events.summary.ended == "cancelled"
    assert told.as_the_one(events.summary)


@on_every_loop
async def test_t03_closed_stream_says_no_more() -> None:
    """What is held, and what came with the last event, stays unsaid; and no summary."""
    stream = CitationStream(["a [1] b [", "1]"], 1)
    assert await anext(stream) == Text("a ")
    await stream.aclose()
    assert [event async for event in stream] == []
    assert not await stream.batch()
    assert [text async for text in stream.text()] == []
    assert stream.summary is not None
    assert stream.summary.ended == "cancelled"
    await stream.aclose()


@on_every_loop
async def test_t03_closing_after_the_end_changes_nothing() -> None:
    told = Told()
    source = Source(CHUNKS)
    async with CitationStream(source, 3, on_summary=told) as events:
        async for _ in events:
            pass
    assert events.summary == a_summary()
    assert told.as_the_one(events.summary)
    assert source.closings == 1


@on_every_loop
async def test_reader_may_stop_at_the_summary() -> None:
    """By then the source is closed, the callback called, the record written."""
    told = Told()
    source = Source(CHUNKS)
    stream = CitationStream(source, 3, on_summary=told)
    async for event in stream:
        if isinstance(event, Summary):
            assert source.closings == 1
            assert told.as_the_one(event)
            break


@on_every_loop
async def test_last_text_does_not_wait_for_the_source_to_close() -> None:
    source = Source(["a ["])
    stream = CitationStream(source, 1)
    seen = [(visible([event]), source.closings) async for event in stream]
    assert [text for text, _ in seen] == ["a", " [", ""]
    assert [closings for _, closings in seen] == [0, 0, 1]


# T06, T09: cancellation passes through, closing reaches every layer


async def stuck_after(chunk: str, log: list[str]) -> AsyncIterator[str]:
    try:
        yield chunk
        await anyio.sleep_forever()
    finally:
        log.append("closed")


@on_every_loop
async def test_t06_cancellation_passes_through_and_closes_the_source() -> None:
    told = Told()
    log: list[str] = []
    seen: list[Event] = []
    stream = CitationStream(stuck_after("a [1", log), 1, on_summary=told.later)
    async with anyio.create_task_group() as group:
        group.start_soon(read_on, stream, seen)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert log == ["closed"]
    assert seen == [Text("a")]
    assert stream.summary is not None
    assert (stream.summary.ended, stream.summary.cited) == ("cancelled", ())
    assert told.as_the_one(stream.summary)


@on_every_loop
async def test_t06_cancelled_reader_closes_the_source_to_the_end() -> None:
    """Cancelled between two events, where no item is awaited."""
    told = Told()
    source = Source(CHUNKS)
    with anyio.CancelScope() as scope:
        async with CitationStream(source, 3, on_summary=told.later) as events:
            await anext(events)
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert source.closings == 1
    assert told.as_the_one(events.summary)


@pytest.mark.asyncio
async def test_t06_cancelled_task_ends_as_cancelled() -> None:
    log: list[str] = []
    stream = CitationStream(stuck_after("a", log), 1)
    task = asyncio.ensure_future(read_on(stream, []))
    await anyio.wait_all_tasks_blocked()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert log == ["closed"]
    assert stream.summary is not None
    assert stream.summary.ended == "cancelled"


@on_every_loop
async def test_t06_source_that_hangs_in_closing_delays_by_the_grace_at_most(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(closing, "CLOSE_GRACE", 0.2)

    class Hangs(Source):
        async def aclose(self) -> None:
            await super().aclose()
            await anyio.sleep_forever()

    told = Told()
    for cancelled in (False, True):
        start = anyio.current_time()
        with anyio.CancelScope() as scope:
            async with CitationStream(Hangs(CHUNKS), 3, on_summary=told) as events:
                await anext(events)
                if cancelled:
                    scope.cancel()
            await anyio.lowlevel.checkpoint()
        assert 0.2 <= anyio.current_time() - start < 3
        assert scope.cancelled_caught is cancelled
        assert told.summaries.pop() is events.summary
    assert caplog.messages == ["a source did not close within 0.2 seconds"] * 2


@on_every_loop
async def test_t06_callback_that_hangs_delays_by_the_grace_at_most(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(closing, "CLOSE_GRACE", 0.2)

    async def hang(summary: Summary) -> None:
        await anyio.sleep_forever()

    async with CitationStream(CHUNKS, 3, on_summary=hang):
        pass
    assert caplog.messages == ["on_summary failed"]


@on_every_loop
async def test_t09_closing_the_text_closes_the_source() -> None:
    source = Source(CHUNKS)
    async with CitationStream(source, 3).text() as texts:
        assert await anext(texts) == "The sky is"
    assert source.closings == 1
    assert [text async for text in texts] == []
    await texts.aclose()


@on_every_loop
async def test_t09_closing_reaches_a_sync_generator() -> None:
    """T08 and T09: it runs in a thread, and is closed in one."""
    log = []

    def generator() -> Iterator[str]:
        log.append(("runs", threading.current_thread() is threading.main_thread()))
        try:
            yield from CHUNKS
        finally:
            log.append(("closed", threading.current_thread() is threading.main_thread()))

    async with CitationStream(generator(), 3) as events:
        await anext(events)
    assert log == [("runs", False), ("closed", False)]


@on_every_loop
async def test_t08_sync_source_that_blocks_can_be_cancelled() -> None:
    go_on = threading.Event()
    closed = threading.Event()

    def generator() -> Iterator[str]:
        try:
            yield "a"
            go_on.wait(15)
            yield "b"
        finally:
            closed.set()

    seen: list[Event] = []
    async with anyio.create_task_group() as group:
        group.start_soon(read_on, CitationStream(generator(), 1), seen)
        while not seen:  # noqa: ASYNC110  # a plain list is what the reader fills
            await anyio.sleep(0.001)
        group.cancel_scope.cancel()
        go_on.set()
    assert seen == [Text("a")]
    assert closed.is_set()


# T07: the source's own scopes


@on_every_loop
async def test_t07_items_are_awaited_and_closed_in_the_task_that_iterates() -> None:
    source = Source(CHUNKS)
    async with CitationStream(source, 3) as events:
        async for _ in events:
            pass
    assert source.tasks == {anyio.get_current_task().id}


async def holding(log: list[str]) -> AsyncIterator[str]:
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep_forever)
        with anyio.fail_after(60), anyio.CancelScope():
            try:
                for chunk in CHUNKS:
                    await anyio.lowlevel.checkpoint()
                    yield chunk
            finally:
                log.append("closed")
        group.cancel_scope.cancel()


@pytest.mark.parametrize("most", [1, 3, 99])
@on_every_loop
async def test_t07_source_may_hold_scopes_across_its_yields(
    most: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Read to the end or left early: the reader's own scopes stay as they were."""
    caplog.set_level(logging.WARNING)
    log: list[str] = []
    with anyio.fail_after(60):
        async with CitationStream(holding(log), 3) as events:
            seen = 0
            async for _ in events:
                seen += 1
                if seen == most:
                    break
        assert log == ["closed"]
        await anyio.lowlevel.checkpoint()
    await anyio.lowlevel.checkpoint()
    assert caplog.messages == []


# T10: a source that raises


@on_every_loop
async def test_t10_source_that_raises_ends_the_answer_with_its_score(
    caplog: pytest.LogCaptureFixture,
) -> None:
    error = RuntimeError("the prompt was: swordfish")
    told = Told()
    source = Source(["The sky [1] is [", "blue [9] an", "d ["], error)
    stream = CitationStream(source, 3, on_summary=told)
    events: list[Event] = []
    with pytest.raises(RuntimeError) as caught:
        await read_on(stream, events)
    assert caught.value is error
    assert visible(events) == "The sky [1] is [blue and ["
    failure = stream.failure
    assert failure is not None
    assert failure == Failure(SOURCE_FAILED, failure.id)
    assert re.fullmatch("[0-9a-f]{12}", failure.id)
    assert events[-1] == a_summary(ended="error", reason=f"source failed ({failure.id})")
    assert told.as_the_one(stream.summary)
    assert source.closings == 1
    # The log has it all, under the same id.
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.getMessage() == f"source failed ({failure.id})"
    assert record.exc_info is not None
    assert record.exc_info[1] is error
    # It is raised once.
    assert [event async for event in stream] == []


@on_every_loop
async def test_t10_text_raises_too() -> None:
    texts = CitationStream(Source(["a ["], OSError("gone")), 1).text()
    assert [await anext(texts), await anext(texts)] == ["a", " ["]
    with pytest.raises(OSError, match="gone"):
        await anext(texts)
    with pytest.raises(StopAsyncIteration):
        await anext(texts)


@on_every_loop
async def test_t10_nothing_is_raised_at_a_reader_who_leaves() -> None:
    async with CitationStream(Source(["a"], OSError("gone")), 1) as events:
        async for event in events:
            if isinstance(event, Summary):
                break
    assert events.summary is not None
    assert events.summary.ended == "error"


@on_every_loop
async def test_function_of_the_callers_that_raises_ends_the_answer_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def show(citation: Citation) -> str:
        raise KeyError("template")

    stream = CitationStream(["a [1] b"], 1, show=show)
    with pytest.raises(KeyError):
        await read_on(stream, [])
    assert stream.summary is not None
    assert stream.summary.ended == "error"


@pytest.mark.parametrize("error", [StopAsyncIteration, StopIteration])
@on_every_loop
async def test_end_of_another_iteration_is_not_taken_for_the_end(error: type[Exception]) -> None:
    """A slip in the caller's function must not pass for a whole answer."""

    def text(item: str) -> str:
        raise error

    stream = CitationStream(["a"], 1, text=text)
    assert await anext(stream) is stream.summary
    assert stream.summary is not None
    assert stream.summary.ended == "error"
    with pytest.raises(RuntimeError, match=f"^a function of the caller raised {error.__name__}$"):
        await anext(stream)


# start()


@on_every_loop
async def test_start_pulls_one_item_and_keeps_what_comes_of_it() -> None:
    source = Source(CHUNKS)
    async with CitationStream(source, 3) as stream:
        await stream.start()
        assert (source.pulled, stream.failure, stream.summary) == (1, None, None)
        await stream.start()
        assert source.pulled == 1
        events = [await anext(stream), await anext(stream)]
        pulled = source.pulled
        assert pulled > 1
        await stream.start()
        assert source.pulled == pulled
        events += [event async for event in stream]
    assert joined(events) == joined(EVENTS)


@on_every_loop
async def test_start_does_not_wait_for_text() -> None:
    source = Source(["[1", "]"])
    async with CitationStream(source, 1) as stream:
        await stream.start()
        assert source.pulled == 1
        assert visible([event async for event in stream]) == "[1]"


@on_every_loop
async def test_start_tells_of_a_source_that_is_down() -> None:
    error = OSError("connection refused")
    stream = CitationStream(Source([], error), 1)
    await stream.start()
    assert stream.failure is not None
    events: list[Event] = []
    with pytest.raises(OSError, match="connection refused"):
        await read_on(stream, events)
    assert events == [stream.summary]


@on_every_loop
async def test_start_of_an_empty_source_is_its_end() -> None:
    stream = CitationStream([], 1)
    await stream.start()
    assert stream.failure is None
    assert [event async for event in stream] == [stream.summary]


# The callback and the log


@pytest.mark.parametrize("chunks", [[], CHUNKS])
@pytest.mark.parametrize("error", [None, OSError("gone")])
@pytest.mark.parametrize("most", [0, 1, 99])
@pytest.mark.parametrize("later", [False, True])
@on_every_loop
async def test_callback_and_record_come_exactly_once_however_it_ends(
    chunks: list[str],
    error: Exception | None,
    most: int,
    later: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    told = Told()
    source = Source(chunks, error)
    on_summary = told.later if later else told
    async with CitationStream(source, 3, on_summary=on_summary, surface="test") as events:
        with contextlib.suppress(OSError):
            for _ in range(most):
                await anext(events, None)
    assert told.as_the_one(events.summary)
    assert source.closings == 1
    records = [message for message in caplog.messages if message.startswith("answer ")]
    assert len(records) == 1
    assert events.summary is not None
    assert records[0].startswith(f"answer surface=test ended={events.summary.ended} ")
    assert "sky" not in caplog.text


@on_every_loop
async def test_source_is_closed_before_the_callback_is_told() -> None:
    source = Source(CHUNKS)
    closings: list[int] = []
    async with CitationStream(source, 3, on_summary=lambda _: closings.append(source.closings)):
        pass
    assert closings == [1]


@pytest.mark.asyncio
async def test_callback_is_told_though_closing_was_cut_off(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """By a task's second cancellation, which nothing holds up."""
    caplog.set_level(logging.INFO)

    class Hangs(Source):
        async def aclose(self) -> None:
            await super().aclose()
            await anyio.sleep_forever()

    told = Told()
    stream = CitationStream(Hangs(CHUNKS), 3, on_summary=told)
    task = asyncio.ensure_future(stream.aclose())
    await anyio.wait_all_tasks_blocked()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert told.as_the_one(stream.summary)
    assert len(caplog.messages) == 1


@on_every_loop
async def test_callback_that_raises_harms_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail(summary: Summary) -> None:
        raise KeyError("database")

    async def fail_later(summary: Summary) -> None:
        await anyio.lowlevel.checkpoint()
        raise KeyError("database")

    for callback in (fail, fail_later):
        caplog.clear()
        stream = CitationStream(CHUNKS, 3, on_summary=callback)
        assert joined([event async for event in stream]) == joined(EVENTS)
        assert caplog.messages == ["on_summary failed"]
        assert "KeyError: 'database'" in caplog.text


@on_every_loop
async def test_door_that_knows_why_it_was_cancelled_is_asked() -> None:
    stream = CitationStream(CHUNKS, 3)
    stream.why_cancelled = lambda: "client disconnected"
    await stream.aclose()
    assert stream.summary is not None
    assert stream.summary.reason == "client disconnected"


# Misuse


@on_every_loop
async def test_stream_that_another_task_closes_ends_for_its_reader() -> None:
    go_on = anyio.Event()

    async def waits() -> AsyncIterator[str]:
        yield "a"
        await go_on.wait()
        yield "b"

    seen: list[Event] = []
    stream = CitationStream(waits(), 1)
    async with anyio.create_task_group() as group:
        group.start_soon(read_on, stream, seen)
        await anyio.wait_all_tasks_blocked()
        await stream.aclose()
        go_on.set()
    assert seen == [Text("a")]
    assert stream.summary is not None
    assert stream.summary.ended == "cancelled"


def test_stream_that_is_never_closed_is_complained_of() -> None:
    stream = CitationStream(CHUNKS, 3)
    with pytest.warns(ResourceWarning, match="^a CitationStream was never closed: use"):
        del stream


@pytest.mark.asyncio
async def test_reader_that_is_thrown_away_awaits_nothing() -> None:
    """T03: a coroutine that is closed where it waits must not await again."""
    stream = CitationStream(stuck_after("a", []), 1)
    assert await anext(stream) == Text("a")
    reader = stream.__anext__()
    reader.send(None)
    reader.close()
    before = stream.summary
    assert before is None
    await stream.aclose()
    assert stream.summary is not None
    assert stream.summary.ended == "cancelled"


# The same for a sync loop


def test_filter_text_gives_the_text_and_then_the_summary() -> None:
    texts = filter_text(iter(CHUNKS), 3)
    assert texts.summary is None
    assert "".join(texts) == "The sky is blue [1], and the sea too."
    assert texts.summary == a_summary()


def test_filter_text_goes_with_the_source() -> None:
    pulled = []

    def generator() -> Iterator[str]:
        for chunk in CHUNKS:
            pulled.append(chunk)
            yield chunk

    texts = iter(filter_text(generator(), 3))
    assert next(texts) == "The sky is"
    assert pulled == CHUNKS[:1]


@pytest.mark.parametrize("chunks", ["Sky [1].", b"Sky", 7, as_chunks()])
def test_filter_text_refuses_what_is_no_source(chunks: Any) -> None:
    with pytest.raises(SourceError):
        filter_text(chunks, 3)
