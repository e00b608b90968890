"""One way to pull and to close any source: an async iterable, or a sync one in a thread.

It does not know what the items are.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

import anyio
import anyio.to_thread

from citestream.exceptions import SourceError

__all__ = ["Source", "open_source"]


class Source(Protocol):
    """What an answer comes from."""

    @property
    def pull(self) -> Callable[[], Awaitable[Any]]:
        """What gives the next item; it raises `StopAsyncIteration` after the last."""

    async def aclose(self) -> None:
        """Close it, whether or not it was started."""


def open_source(source: object) -> Source:
    """Return a way to pull and close `source`; nothing of it runs yet.

    Raises:
        SourceError: It is no iterable of chunks. The message says what to give instead.
    """
    if isinstance(source, str | bytes | bytearray | memoryview):
        raise _refused(source, "an answer that is already whole goes to check_citations()")
    if inspect.isawaitable(source):
        raise _refused(source, "await it first")
    # A pydantic model iterates over its fields, which are no chunks.
    whole = hasattr(source, "model_dump") and not hasattr(source, "__next__")
    if isinstance(source, Mapping) or (whole and not hasattr(source, "__anext__")):
        raise _refused(source, "a model's stream is asked for with stream=True")
    if isinstance(source, AsyncIterable):
        return _AsyncSource(source)
    if isinstance(source, list | tuple):
        return _ListSource(source)
    if isinstance(source, Iterable):
        return _ThreadSource(source)
    if hasattr(source, "__aenter__") or hasattr(source, "__enter__"):
        raise _refused(source, "enter it with `async with` or `with` first")
    if callable(source):
        raise _refused(source, "call it first")
    raise _refused(source, "give what the model's client streams")


def _refused(source: object, instead: str) -> SourceError:
    return SourceError(
        f"expected an async or sync iterable of chunks, got {type(source).__qualname__}: {instead}"
    )


class _AsyncSource:
    """An async iterable, pulled in the task that asks."""

    __slots__ = ("_items", "_source", "pull")

    def __init__(self, source: AsyncIterable[Any]) -> None:
        self._source = source
        try:
            self._items = aiter(source)
        except TypeError as error:
            raise _refused(source, "its __aiter__ gives no async iterator") from error
        # The source's own method: no layer lies between.
        self.pull: Callable[[], Awaitable[Any]] = self._items.__anext__

    async def aclose(self) -> None:
        # Closing the iterator does not close the stream it was made from.
        try:
            await self._close(self._items)
        finally:
            if self._source is not self._items:
                await self._close(self._source)

    @staticmethod
    async def _close(owned: object) -> None:
        close = getattr(owned, "aclose", None) or getattr(owned, "close", None)
        if close is not None:
            closing = close()
            if inspect.isawaitable(closing):
                await closing


class _ListSource:
    """Items that are all there: nothing blocks, so no thread is needed."""

    __slots__ = ("_items",)

    def __init__(self, source: list[Any] | tuple[Any, ...]) -> None:
        self._items = iter(source)

    async def pull(self) -> Any:
        try:
            return next(self._items)
        except StopIteration:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        self._items = iter(())


_END = object()


class _ThreadSource:
    """A sync iterable, pulled item by item in worker threads.

    A task that waits for an item can be cancelled at once. The thread cannot:
    it goes on until the item is there, and whoever closes waits for it.
    """

    __slots__ = ("_closed", "_items", "_lock", "_source")

    def __init__(self, source: Iterable[Any]) -> None:
        self._source = source
        self._items: Iterator[Any] | None = None
        self._closed = False
        # Two threads in one generator raise "generator already executing".
        self._lock = threading.Lock()

    async def pull(self) -> Any:
        item = await anyio.to_thread.run_sync(self._next, abandon_on_cancel=True)
        if item is _END:
            raise StopAsyncIteration
        return item

    async def aclose(self) -> None:
        try:
            # With a limiter of its own: the forty threads that all share may be
            # the very ones that wait for items.
            await anyio.to_thread.run_sync(
                self._close, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1)
            )
        except BaseException:
            # Out of time, perhaps before the thread began. The source is closed
            # all the same, as soon as the item that a thread waits for is there.
            threading.Thread(target=self._close, daemon=True).start()
            raise

    def _next(self) -> Any:
        with self._lock:
            if self._closed:
                return _END
            if self._items is None:
                # Here, since it may well be what sends the request.
                self._items = iter(self._source)
            return next(self._items, _END)

    def _close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                _close(self._items)
            finally:
                if self._source is not self._items:
                    _close(self._source)


def _close(owned: object) -> None:
    close = getattr(owned, "close", None)
    if close is not None:
        close()
