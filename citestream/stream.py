"""CitationStream: drives a filter from a source, and owns that source.

It knows neither what a marker looks like nor who reads the events.
"""

from __future__ import annotations

import inspect
import logging
import secrets
import time
import warnings
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio.lowlevel

from citestream.attempts import Attempts
from citestream.closing import close_in_time, in_time
from citestream.events import Citation, Summary, Text
from citestream.exceptions import PolicyError
from citestream.filter import CitationFilter
from citestream.items import ItemReader, TextOf
from citestream.judge import VERIFY_AT_ONCE, VERIFY_SECONDS, Judge
from citestream.policy import AnswerPolicy
from citestream.record import log_answer
from citestream.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence
    from types import TracebackType
    from typing import Self

    from citestream.attempts import Retry
    from citestream.events import Ended, Event
    from citestream.gate import Gate
    from citestream.judge import Verify
    from citestream.passages import Passages

__all__ = ["SOURCE_FAILED", "CitationStream", "Failure", "OnSummary", "VisibleText"]

SOURCE_FAILED = "source failed"
"""The reason that a reader is given when a source raises, whatever it raised."""

OnSummary: TypeAlias = Callable[[Summary], Any]
"""Called with the summary, sync or async, exactly once for every stream."""

# A source that never awaits would keep the event loop to itself: no other
# request, no ping, no disconnect. Letting the loop run costs 10 microseconds,
# so every 128 items it is a tenth of a microsecond each, and 128 items take a
# millisecond or so with a server behind them, less than anybody waits for.
_ITEMS_PER_TURN = 128

_log = logging.getLogger("citestream")


@dataclass(frozen=True, slots=True)
class Failure:
    """That a source raised, as far as a reader may know."""

    reason: str
    """A fixed sentence, never the text of the exception."""
    id: str
    """Finds the exception in the log."""


class CitationStream:
    """The events of one answer, as an async iterator that owns its source.

    Every item is awaited in the task that iterates, and the source is closed
    in that task too, once, however the answer ends: within `CLOSE_GRACE`
    seconds and out of reach of a cancellation. Leave it with `async with` or
    `aclose()` if you may stop early.

    A source that raises ends the answer: what was held comes out, then the
    summary with `ended="error"`, and then the exception itself is raised. An
    answer that is closed or cancelled drops what was held; its summary is in
    `summary`.

    Args:
        source: An async or sync iterable of `str`, of UTF-8 bytes, or of the items of
            a known SDK's stream. A sync one runs in a worker thread, item by item.
        passages: What was in the prompt, as for `CitationFilter`.
        policy: What the answer must satisfy to be shown; `None` shows what the filter lets
            through, at no cost. A refused answer is over at once, and its source closed.
        retry: Called with what was wrong, as an instruction for the model, when the policy
            asks for a second attempt; gives its source.
        verify: Judges the sentences that cite something, beside the stream: called with
            the `Sentence` and its passages, it says `"supported"`, `"contradicted"` or
            `"unknown"`. The verdicts come out as `Claim`.
        verify_at_once: How many sentences it is asked about at a time.
        verify_seconds: How many seconds it has for each; then nothing is known.
        text: Takes the text out of an item, for sources of any other kind.
        on_summary: Called with the summary, sync or async, exactly once, before the
            summary comes out. What it raises is logged.
        surface: What the log calls this door.
        options: All that `CitationFilter` takes.

    Raises:
        SourceError: `source` is not an iterable of chunks.
        PassageError: The passages cannot be used.
        PolicyError: The policy asks for what cannot be done here.
    """

    # The log and the callback have had the summary, and the source is closed.
    _settled = True

    def __init__(
        self,
        source: Any,
        passages: Any,
        *,
        policy: AnswerPolicy | None = None,
        retry: Retry | None = None,
        verify: Verify | None = None,
        verify_at_once: int = VERIFY_AT_ONCE,
        verify_seconds: float = VERIFY_SECONDS,
        text: TextOf | None = None,
        on_summary: OnSummary | None = None,
        surface: str = "stream",
        **options: Any,
    ) -> None:
        judge = None if verify is None else Judge(verify, verify_at_once, verify_seconds)
        self._policy = AnswerPolicy() if policy is None and verify is not None else policy
        self._retry = retry
        self._options = options
        self._set_filter(passages, judge)
        self._source = open_source(source)
        # Bound once: it is called for every item.
        self._pull: Callable[[], Awaitable[Any]] = self._source.pull
        if self._attempts is not None:
            self._pull = self._begin
        self._text = text
        self._items = ItemReader(text)
        self._on_summary = on_summary
        self.surface = surface
        """What the log calls the door that the answer leaves by."""
        self.summary: Summary | None = None
        """The score; `None` before the end."""
        self.failure: Failure | None = None
        """That the source raised; `None` if it did not."""
        self.why_cancelled: Callable[[], str | None] | None = None
        """Asked for the summary's reason when the stream is cancelled: a door may know."""
        self._error: Exception | None = None
        self._ready: deque[Event] = deque()
        self._pulled = 0
        self._delivered = False
        self._settled = False

    @property
    def passages(self) -> Passages:
        """The passages; add to them while the answer streams."""
        return self._filter.passages

    def text(self) -> VisibleText:
        """Return the visible answer alone, as an async iterator of `str`.

        Raises:
            PolicyError: The policy may take text back, and text alone cannot say so.
        """
        policy = self._policy
        if policy is not None and policy.retracts:
            raise PolicyError(
                f'expected a policy that takes nothing back, got emit="{policy.emit}" '
                'with "refuse" or "retry": use emit="answer", or read the events'
            )
        return VisibleText(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        ready = self._ready
        if not ready:
            events = await self.batch()
            if len(events) == 1:
                return events[0]
            ready.extend(events)
            if not ready:
                raise StopAsyncIteration
        return ready.popleft()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __del__(self) -> None:
        if not self._settled:
            warnings.warn(
                "a CitationStream was never closed: use `async with`, or aclose()",
                ResourceWarning,
                source=self,
                stacklevel=2,
            )

    async def start(self) -> None:
        """Pull the first item, so that `failure` tells of a source that is down.

        What comes of it is kept for whoever iterates. Once an item has been
        pulled there is nothing to do.
        """
        if not self._pulled:
            self._ready.extend(await self.batch(most=1))

    async def batch(self, most: int | None = None) -> Sequence[Event]:
        """Return the events of the next chunk that gives any; none after the end.

        Args:
            most: How many items of the whole source to pull at most; then there
                may be no events though it goes on.

        Raises:
            Exception: What the source raised, once, after the summary.
        """
        if self._ready:
            return self._take_ready()
        if self.summary is not None:
            return await self._last()
        try:
            while self._pulled != most:
                self._pulled += 1
                if not self._pulled % _ITEMS_PER_TURN:
                    await anyio.lowlevel.checkpoint()
                try:
                    item = await self._pull()
                except StopAsyncIteration:
                    if await self._complete():
                        break
                    continue
                if type(item) is not str or not self._items.plain:
                    item = self._items.read(item)
                if events := self._feed(item):
                    return events
        except Exception as error:
            self._fail(error)
        except GeneratorExit:
            # Nobody awaits any more, so nothing can be awaited here.
            raise
        except BaseException:
            await self.aclose()
            raise
        return self._take_ready() if self._ready else await self._last()

    async def aclose(self) -> None:
        """Close the source and drop what is held; the summary is in `summary`."""
        self._delivered = True
        self._error = None
        self._ready.clear()
        if self.summary is None:
            why = None if self.why_cancelled is None else self.why_cancelled()
            self.summary = self._filter.discard("cancelled", why)
        await self._settle(self.summary)

    def _set_filter(self, passages: Any, judge: Judge | None) -> None:
        """Choose what the answer is fed to, once, so that no chunk has to ask."""
        self._attempts: Attempts | None = None
        self._filter: CitationFilter | Gate
        self._feed: Callable[[str], Sequence[Event]]
        if self._policy is None:
            self._filter = CitationFilter(passages, **self._options)
            self._feed = self._filter.feed
        else:
            self._attempts = Attempts(passages, self._policy, self._retry, judge, self._options)
            self._filter = self._attempts.gate
            self._feed = self._judge

    async def _complete(self) -> bool:
        """Take the end of the source; return whether there is anything to give out."""
        if rest := self._items.finish():
            self._ready.extend(self._feed(rest))
        if self._attempts is not None and not await self._end(self._attempts):
            return bool(self._ready)
        self._finish("complete")
        return True

    # Under a policy. Nothing of this is on the way of a stream without one: what
    # is called for every item is chosen once.

    async def _begin(self) -> Any:
        """Pull the first item of an attempt, if there is to be one."""
        attempts = self._attempts
        assert attempts is not None
        attempts.gate.began = time.monotonic()
        if attempts.gate.decision is not None:
            return await self._after_decision()
        self._pull = self._source.pull
        return await self._pull()

    def _judge(self, item: str) -> Sequence[Event]:
        """Feed the gate, and turn away from the source when it has decided."""
        attempts = self._attempts
        assert attempts is not None
        events = attempts.feed(item)
        if attempts.gate.decision is not None:
            self._pull = self._after_decision
        return events

    async def _after_decision(self) -> Any:
        """Close the source of a failed attempt, and pull the next one's first item, if any."""
        attempts = self._attempts
        assert attempts is not None
        self._pull = _exhausted
        source, self._source = self._source, open_source(())
        self._items = ItemReader(self._text)
        await close_in_time(source.aclose, "a source")
        await attempts.stop_judge()
        again = await attempts.retry()
        if again is None:
            raise StopAsyncIteration
        self._filter = attempts.gate
        self._source = open_source(again)
        return await self._begin()

    async def _end(self, attempts: Attempts) -> bool:
        """Judge an answer that is whole; return whether it is over.

        What has passed comes out while a judge is still at work.
        """
        if self._pull != self._after_decision:
            self._pull = _exhausted
            self._ready.extend(await attempts.end(wait=not self._ready))
            if attempts.judging:
                return False
        if attempts.gate.decision is None or attempts.gate.decision.action == "refuse":
            return True
        self._pull = self._after_decision
        return False

    def _fail(self, error: Exception) -> None:
        if self.summary is not None:
            return  # another task closed the stream while the item was on its way
        if isinstance(error, StopIteration | StopAsyncIteration):
            # Raised as it is, it would pass for the end of a whole answer.
            stopped = RuntimeError(f"a function of the caller raised {type(error).__name__}")
            stopped.__cause__ = error
            error = stopped
        self._error = error
        self.failure = Failure(SOURCE_FAILED, secrets.token_hex(6))
        reason = f"{self.failure.reason} ({self.failure.id})"
        _log.error("%s", reason, exc_info=error)
        try:
            self._finish("error", reason)
        except Exception:
            # Then it was the filter that raised: a function the caller gave it.
            _log.exception("what was held is dropped")
            self.summary = self._filter.discard("error", reason)

    def _finish(self, ended: Ended, reason: str | None = None) -> None:
        *events, summary = self._filter.finish(ended, reason)
        assert isinstance(summary, Summary)
        self._ready.extend(events)
        self.summary = summary

    def _take_ready(self) -> list[Event]:
        events = list(self._ready)
        self._ready.clear()
        return events

    async def _last(self) -> Sequence[Event]:
        """Return what comes after the last text: the summary, and then nothing."""
        # Without a summary the answer goes on: `start` wanted its first item alone.
        if self.summary is not None and not self._delivered:
            self._delivered = True
            # Before the summary and not after: many readers stop at it.
            await self._settle(self.summary)
            return (self.summary,)
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        return ()

    async def _settle(self, summary: Summary) -> None:
        if self._settled:
            return
        self._settled = True
        try:
            await close_in_time(self._source.aclose, "a source")
            if self._attempts is not None:
                await self._attempts.stop_judge()
        finally:
            log_answer(summary, self.surface)
            await self._tell(summary)

    async def _tell(self, summary: Summary) -> None:
        if self._on_summary is None:
            return
        try:
            told = self._on_summary(summary)
            if inspect.isawaitable(told):
                await in_time(told)
        except Exception:
            _log.exception("on_summary failed")


async def _exhausted() -> Any:
    raise StopAsyncIteration


class VisibleText:
    """The visible answer of a stream, as an async iterator of `str` that is never empty."""

    __slots__ = ("_stream",)

    def __init__(self, stream: CitationStream) -> None:
        self._stream = stream

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        async for event in self._stream:
            if isinstance(event, Text | Citation) and event.text:
                return event.text
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the stream, and with it its source."""
        await self._stream.aclose()
