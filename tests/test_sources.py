"""Sources of every kind are pulled one item at a time and closed once, to the last layer."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from typing import Any, Self

import anyio
import anyio.to_thread
import pytest

from citestream import closing
from citestream.closing import close_in_time
from citestream.exceptions import SourceError
from citestream.sources import Source, open_source
from tests.loops import on_every_loop


async def pulled(source: Source, most: int = 99) -> list[Any]:
    items: list[Any] = []
    while len(items) < most:
        try:
            items.append(await source.pull())
        except StopAsyncIteration:
            break
    return items


class Logged:
    """A source that notes what is done to it."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def note(self, what: str) -> None:
        self.log.append(what)


class AsyncGenerated(Logged):
    """An SDK's stream: it makes a generator when it is iterated, and is closed itself."""

    async def __aiter__(self) -> AsyncIterator[str]:
        try:
            yield "a"
            yield "b"
        finally:
            self.note("generator closed")


class WithAclose(AsyncGenerated):
    async def aclose(self) -> None:
        self.note("aclose")


class WithAsyncClose(AsyncGenerated):
    async def close(self) -> None:
        self.note("close")


class WithSyncClose(AsyncGenerated):
    def close(self) -> None:
        self.note("sync close")


class OwnIterator(Logged):
    def __aiter__(self) -> OwnIterator:
        return self

    async def __anext__(self) -> str:
        return "a"

    async def aclose(self) -> None:
        self.note("aclose")


class WithBoth(OwnIterator):
    """`aclose` is what an async source is closed by."""

    def close(self) -> None:
        self.note("never")


CLOSED_BY: list[tuple[Callable[[], Logged], list[str]]] = [
    (AsyncGenerated, ["generator closed"]),
    (WithAclose, ["generator closed", "aclose"]),
    (WithAsyncClose, ["generator closed", "close"]),
    (WithSyncClose, ["generator closed", "sync close"]),
    (OwnIterator, ["aclose"]),
    (WithBoth, ["aclose"]),
]


@pytest.mark.parametrize(("made", "log"), CLOSED_BY)
@on_every_loop
async def test_async_source_is_closed_through_every_layer(
    made: Callable[[], Logged], log: list[str]
) -> None:
    thing = made()
    source = open_source(thing)
    assert await pulled(source, 1) == ["a"]
    await source.aclose()
    assert thing.log == log


@on_every_loop
async def test_source_is_closed_when_closing_its_iterator_fails() -> None:
    class Fails(Logged):
        async def __aiter__(self) -> AsyncIterator[str]:
            try:
                yield "a"
            finally:
                raise OSError("gone")

        async def aclose(self) -> None:
            self.note("aclose")

    thing = Fails()
    source = open_source(thing)
    await pulled(source, 1)
    with pytest.raises(OSError, match="gone"):
        await source.aclose()
    assert thing.log == ["aclose"]


@on_every_loop
async def test_async_source_is_closed_though_it_never_started() -> None:
    thing = WithAclose()
    await open_source(thing).aclose()
    assert thing.log == ["aclose"]


@on_every_loop
async def test_items_of_a_list_need_no_thread() -> None:
    source = open_source(["a", "b"])
    threads = threading.active_count()
    assert await pulled(source) == ["a", "b"]
    assert threading.active_count() == threads
    source = open_source(("a", "b"))
    await source.aclose()
    assert await pulled(source) == []


# Sync sources


class SyncGenerated(Logged):
    def __iter__(self) -> Iterator[str]:
        self.note("started")
        try:
            for item in "ab":
                self.note(f"{item} in the loop's thread: {threading.get_ident() == self.loop}")
                yield item
        finally:
            self.note("generator closed")

    def close(self) -> None:
        self.note(f"close in the loop's thread: {threading.get_ident() == self.loop}")

    loop = threading.get_ident()


@on_every_loop
async def test_sync_source_runs_item_by_item_in_a_thread() -> None:
    thing = SyncGenerated()
    source = open_source(thing)
    assert thing.log == []
    assert await pulled(source, 1) == ["a"]
    assert thing.log == ["started", "a in the loop's thread: False"]
    assert await pulled(source) == ["b"]
    assert thing.log[2:] == ["b in the loop's thread: False", "generator closed"]
    await source.aclose()
    assert thing.log[4:] == ["close in the loop's thread: False"]


@on_every_loop
async def test_sync_source_is_closed_through_every_layer() -> None:
    """T09, for sync generators."""
    thing = SyncGenerated()
    source = open_source(thing)
    await pulled(source, 1)
    await source.aclose()
    assert thing.log[2:] == ["generator closed", "close in the loop's thread: False"]
    assert await pulled(source) == []


@on_every_loop
async def test_sync_generator_is_closed_though_it_never_started() -> None:
    def generator() -> Generator[str]:
        yield "a"

    items = generator()
    await open_source(items).aclose()
    assert list(items) == []


@on_every_loop
async def test_exception_of_a_sync_source_comes_through() -> None:
    def generator() -> Iterator[str]:
        yield "a"
        raise OSError("gone")

    source = open_source(generator())
    with pytest.raises(OSError, match="gone"):
        await pulled(source)
    await source.aclose()


class Blocking:
    """A sync source that blocks for as long as the test likes."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.blocked = threading.Event()
        self.closed = threading.Event()
        self.closings = 0
        self.items = self.generate()

    def __iter__(self) -> Iterator[str]:
        return self.items

    def generate(self) -> Iterator[str]:
        try:
            self.blocked.set()
            assert self.go_on.wait(15)
            yield "a"
        finally:
            self.closed.set()

    def close(self) -> None:
        self.closings += 1


async def happened(event: threading.Event) -> None:
    limiter = anyio.CapacityLimiter(1)
    assert await anyio.to_thread.run_sync(event.wait, 15, limiter=limiter)


async def cancelled_while_it_blocks(source: Source, thing: Blocking) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(pulled, source, 1)
        # The loop is free: it would not come here otherwise.
        await happened(thing.blocked)
        group.cancel_scope.cancel()


@on_every_loop
async def test_task_that_waits_for_a_sync_source_can_be_cancelled() -> None:
    """T08; the source is closed as soon as its thread comes back."""
    thing = Blocking()
    source = open_source(thing)
    await cancelled_while_it_blocks(source, thing)
    assert not thing.closed.is_set()
    async with anyio.create_task_group() as group:
        group.start_soon(source.aclose)
        await anyio.sleep(0.01)
        assert not thing.closed.is_set()
        thing.go_on.set()
    assert thing.closed.is_set()
    assert thing.closings == 1


@on_every_loop
async def test_sync_source_is_closed_in_the_end_when_nobody_waits_for_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(closing, "CLOSE_GRACE", 0.05)
    thing = Blocking()
    source = open_source(thing)
    await cancelled_while_it_blocks(source, thing)
    await close_in_time(source.aclose, "a source")
    assert [record.getMessage() for record in caplog.records] == [
        "a source did not close within 0.05 seconds"
    ]
    thing.go_on.set()
    await happened(thing.closed)
    await anyio.sleep(0.05)  # for the second thread that closes, which has nothing to do
    assert thing.closings == 1


@on_every_loop
async def test_sync_source_is_closed_when_the_thread_had_not_begun() -> None:
    thing = Blocking()
    source = open_source(thing)
    thing.go_on.set()
    assert await pulled(source, 1) == ["a"]
    with anyio.CancelScope() as scope:
        scope.cancel()
        await source.aclose()
    await happened(thing.closed)


@on_every_loop
async def test_closing_does_not_wait_for_threads_that_others_hold() -> None:
    """Forty models that block must not keep one of them from being closed."""
    limiter = anyio.to_thread.current_default_thread_limiter()
    tokens, limiter.total_tokens = limiter.total_tokens, 1
    holder = Blocking()
    try:
        async with anyio.create_task_group() as group:
            holding = open_source(holder)
            group.start_soon(pulled, holding, 1)
            await happened(holder.blocked)
            thing = SyncGenerated()
            with anyio.fail_after(10):
                await open_source(thing).aclose()
            assert thing.log == ["close in the loop's thread: False"]
            holder.go_on.set()
        await holding.aclose()
    finally:
        limiter.total_tokens = tokens


# What is no source


def chunks() -> Iterator[str]:
    yield "a"


class Model:
    """A whole response: pydantic's models iterate over their fields."""

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return iter([("id", "x")])

    def model_dump(self) -> dict[str, Any]:
        return {"id": "x"}


class Manager:
    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


class BadIterator:
    def __aiter__(self) -> int:
        return 1


def awaitable() -> Awaitable[str]:
    class Later:
        def __await__(self) -> Generator[None, None, str]:
            yield
            return "a"

    return Later()


WHOLE = "an answer that is already whole goes to check_citations()"
NO_SOURCES = {
    "str": ("Sky [1].", "str", WHOLE),
    "bytes": (b"Sky [1].", "bytes", WHOLE),
    "dict": ({"choices": []}, "dict", "a model's stream is asked for with stream=True"),
    "response": (Model(), "Model", "a model's stream is asked for with stream=True"),
    "awaitable": (awaitable(), "awaitable.<locals>.Later", "await it first"),
    "manager": (Manager(), "Manager", "enter it with `async with` or `with` first"),
    "function": (chunks, "function", "call it first"),
    "nothing": (None, "NoneType", "give what the model's client streams"),
    "number": (7, "int", "give what the model's client streams"),
    "bad-iterator": (BadIterator(), "BadIterator", "its __aiter__ gives no async iterator"),
}


@pytest.mark.parametrize(("source", "kind", "instead"), NO_SOURCES.values(), ids=NO_SOURCES)
def test_what_is_no_source_is_an_error_that_says_what_to_give(
    source: object, kind: str, instead: str
) -> None:
    with pytest.raises(SourceError) as caught:
        open_source(source)
    assert str(caught.value) == (
        f"expected an async or sync iterable of chunks, got {kind}: {instead}"
    )
