"""Closing is bounded, shielded, and safe for a source that holds a scope of its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio
import anyio.lowlevel
import pytest

from citestream import closing
from citestream.closing import close_in_time, in_time
from tests.loops import on_every_loop

# Shorter than the real one, so that a test can wait for it; far longer than
# anything that does not hang.
SHORT_GRACE = 0.3


@pytest.fixture
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "CLOSE_GRACE", SHORT_GRACE)


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "citestream"]


def test_grace_is_five_seconds() -> None:
    assert closing.CLOSE_GRACE == 5


@on_every_loop
async def test_result_comes_through() -> None:
    async def answer() -> int:
        await anyio.lowlevel.checkpoint()
        return 42

    assert await in_time(answer()) == 42


@on_every_loop
async def test_exception_comes_through() -> None:
    async def fail() -> None:
        await anyio.lowlevel.checkpoint()
        raise KeyError("lost")

    with pytest.raises(KeyError):
        await in_time(fail())


@on_every_loop
async def test_what_hangs_is_cancelled_after_the_grace(short_grace: None) -> None:
    log = []

    async def hang() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            log.append("unwound")

    start = anyio.current_time()
    with pytest.raises(TimeoutError):
        await in_time(hang())
    assert SHORT_GRACE <= anyio.current_time() - start < SHORT_GRACE + 2
    assert log == ["unwound"]
    await anyio.lowlevel.checkpoint()  # nothing is left that would cancel what comes next


@on_every_loop
async def test_what_hangs_again_while_it_is_cancelled_gets_no_second_grace(
    short_grace: None,
) -> None:
    async def hang() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            await anyio.sleep_forever()

    start = anyio.current_time()
    with pytest.raises(TimeoutError):
        await in_time(hang())
    assert anyio.current_time() - start < SHORT_GRACE + 2


@on_every_loop
async def test_what_hangs_is_cancelled_in_a_cancelled_task_too(short_grace: None) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        with pytest.raises(TimeoutError):
            await in_time(anyio.sleep_forever())
        await anyio.lowlevel.checkpoint()
    assert scope.cancelled_caught
    await anyio.lowlevel.checkpoint()


@on_every_loop
async def test_cancelled_task_still_closes_to_the_end() -> None:
    log = []

    async def close() -> None:
        for step in range(3):
            await anyio.sleep(0.001)
            log.append(step)

    with anyio.CancelScope() as scope:
        scope.cancel()
        await in_time(close())
        assert log == [0, 1, 2]
        await anyio.lowlevel.checkpoint()  # the cancellation was put off, not lost
    assert scope.cancelled_caught


@pytest.mark.asyncio
async def test_native_cancellation_reaches_what_is_closed() -> None:
    """A task of asyncio that is cancelled a second time means it."""
    log = []

    async def hang() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            log.append("unwound")

    task = asyncio.ensure_future(in_time(hang()))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert log == ["unwound"]


@on_every_loop
async def test_time_limits_of_what_is_closed_are_kept(short_grace: None) -> None:
    """An `aclose` that gives up on its peer by itself is not held up."""

    async def close() -> bool:
        with anyio.move_on_after(0.01) as scope:
            await anyio.sleep_forever()
        await anyio.sleep(0.001)
        return scope.cancelled_caught

    assert await in_time(close()) is True


@asynccontextmanager
async def scope() -> AsyncIterator[None]:
    with anyio.CancelScope():
        yield


@asynccontextmanager
async def time_limit() -> AsyncIterator[None]:
    with anyio.fail_after(60):
        yield


@asynccontextmanager
async def task_group() -> AsyncIterator[None]:
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep_forever)
        yield
        group.cancel_scope.cancel()


HOLDS = {"scope": scope, "time_limit": time_limit, "task_group": task_group}
Hold = Callable[[], AbstractAsyncContextManager[None]]


async def holding(hold: Hold, log: list[str]) -> AsyncGenerator[int]:
    async with hold():
        try:
            for number in range(5):
                await anyio.lowlevel.checkpoint()
                yield number
        finally:
            await anyio.sleep(0.001)
            log.append("closed")


@pytest.mark.parametrize("hold", HOLDS.values(), ids=HOLDS)
@on_every_loop
async def test_source_leaves_the_scope_it_holds(
    hold: Hold, caplog: pytest.LogCaptureFixture
) -> None:
    """T07: the caller's own scopes stay as they were, and nothing is complained of."""
    log: list[str] = []
    with anyio.fail_after(60):
        source = holding(hold, log)
        assert [await anext(source), await anext(source)] == [0, 1]
        await close_in_time(source.aclose, "a source")
        assert log == ["closed"]
        await anyio.lowlevel.checkpoint()
    await anyio.lowlevel.checkpoint()
    assert messages(caplog) == []


@pytest.mark.parametrize("hold", HOLDS.values(), ids=HOLDS)
@on_every_loop
async def test_source_that_holds_a_scope_is_closed_when_its_task_is_cancelled(hold: Hold) -> None:
    """Its own scope comes too late then, which anyio complains of on asyncio."""
    log: list[str] = []

    async def read() -> None:
        source = holding(hold, log)
        assert await anext(source) == 0
        try:
            await anyio.sleep_forever()
        finally:
            await close_in_time(source.aclose, "a source")

    with contextlib.suppress(ExceptionGroup):
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
    assert log == ["closed"]
    await anyio.lowlevel.checkpoint()


@on_every_loop
async def test_locks_can_be_taken_while_a_cancelled_task_closes() -> None:
    """They look whether the task is cancelled before they wait."""

    async def close() -> str:
        async with anyio.Lock(), anyio.CapacityLimiter(1):
            await anyio.lowlevel.checkpoint()
        return "closed"

    for cancelled in (False, True):
        with anyio.CancelScope() as scope:
            if cancelled:
                scope.cancel()
            assert await in_time(close()) == "closed"


async def fails() -> None:
    await anyio.lowlevel.checkpoint()
    raise OSError("the connection is gone")


async def fails_at_once_in_two_places() -> None:
    raise BaseExceptionGroup("both", [GeneratorExit(), OSError("the connection is gone")])


@pytest.mark.parametrize("close", [fails, fails_at_once_in_two_places])
@on_every_loop
async def test_failure_to_close_is_logged_and_not_raised(
    close: Callable[[], Awaitable[None]], caplog: pytest.LogCaptureFixture
) -> None:
    await close_in_time(close, "a source")
    assert messages(caplog) == ["a source did not close cleanly"]
    assert "the connection is gone" in caplog.text


@on_every_loop
async def test_hanging_close_is_logged(short_grace: None, caplog: pytest.LogCaptureFixture) -> None:
    await close_in_time(anyio.sleep_forever, "a source")
    assert messages(caplog) == [f"a source did not close within {SHORT_GRACE} seconds"]


@on_every_loop
async def test_interrupt_in_a_group_is_raised() -> None:
    async def close() -> None:
        raise BaseExceptionGroup("stop", [GeneratorExit(), KeyboardInterrupt()])

    with pytest.raises(BaseExceptionGroup) as caught:
        await close_in_time(close, "a source")
    assert caught.value.subgroup(KeyboardInterrupt) is not None
