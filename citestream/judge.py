"""Asks a judge about sentences beside their stream: a few at a time, each for a bounded time.

It does not know what becomes of a verdict. A judge that is slow, fails or says
something else than one of the three words has said `"unknown"`.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
from collections import deque
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

import anyio

from citestream.events import Verdict

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from citestream.events import Sentence
    from citestream.gate import Ask
    from citestream.passages import Passage

__all__ = ["VERIFY_AT_ONCE", "VERIFY_SECONDS", "Judge", "Verify"]

Verify: TypeAlias = "Callable[[Sentence, Sequence[Passage]], Awaitable[Verdict]]"
"""Says whether passages support the sentence that cites them."""

# A judge model answers in a second or two, and four at a time keep up with a
# model that writes a sentence in half a second.
VERIFY_AT_ONCE = 4
"""How many sentences a judge has at a time."""

VERIFY_SECONDS = 10.0
"""How many seconds a judge has for a sentence, from when that has ended."""

# Beyond it a sentence is not asked about: more than any judge gets through in
# its time, where a hostile answer can hold any number of sentences.
MOST_WAITING = 256

_log = logging.getLogger("citestream")


class Judge:
    """The sentences of one answer that a judge is asked about."""

    def __init__(self, verify: Verify, at_once: int, seconds: float) -> None:
        if not callable(verify):
            raise TypeError(f"expected verify to be a callable, got {type(verify).__name__}")
        if at_once < 1:
            raise ValueError(f"expected verify_at_once to be 1 or more, got {at_once!r}")
        if seconds <= 0:
            raise ValueError(f"expected verify_seconds above 0, got {seconds!r}")
        self._verify = verify
        self._at_once = at_once
        self._seconds = seconds
        self._waiting: deque[tuple[Ask, float]] = deque()
        self._open: dict[int, float] = {}
        self._heard: list[tuple[int, Verdict]] = []
        self._workers: dict[object, anyio.CancelScope] = {}
        self._tasks: set[object] = set()
        self._news = anyio.Event()
        self._failed = False

    def again(self) -> Judge:
        """Return the same judge for another attempt."""
        return Judge(self._verify, self._at_once, self._seconds)

    def ask(self, asks: Iterable[Ask]) -> None:
        """Begin to ask about some sentences; it must be called where an event loop runs."""
        for ask in asks:
            if len(self._waiting) >= MOST_WAITING:
                self._heard.append((ask.number, "unknown"))
                continue
            deadline = anyio.current_time() + self._seconds
            self._open[ask.number] = deadline
            self._waiting.append((ask, deadline))
            if len(self._workers) < self._at_once:
                self._start()

    def heard(self) -> list[tuple[int, Verdict]]:
        """Return the verdicts that have come since, each with the number of its ask."""
        heard, self._heard = self._heard, []
        return heard

    async def news(self) -> None:
        """Wait until there is a verdict, or all time is over: then what is open is unknown."""
        if self._heard or not self._open:
            return
        with anyio.move_on_after(max(self._open.values()) - anyio.current_time()):
            while not self._heard:
                self._news = anyio.Event()
                await self._news.wait()
        if not self._heard:
            self._heard += [(number, "unknown") for number in self._open]
            self.drop()

    def drop(self) -> None:
        """Ask no more about anything."""
        self._waiting.clear()
        self._open.clear()
        for scope in self._workers.values():
            scope.cancel()

    async def aclose(self) -> None:
        """Stop asking, and wait until nothing is asked any more."""
        self.drop()
        while self._workers:
            self._news = anyio.Event()
            await self._news.wait()

    def _start(self) -> None:
        """Start a worker beside the task that reads the answer.

        No task group: that would have to stay open across the events of the
        stream, and belongs to whoever reads them.
        """
        key = object()
        self._workers[key] = scope = anyio.CancelScope()

        async def work() -> None:
            try:
                with scope:
                    while self._waiting:
                        await self._settle(*self._waiting.popleft())
            finally:
                del self._workers[key]
                self._news.set()

        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            import trio  # noqa: PLC0415 - only who runs on trio comes here

            trio.lowlevel.spawn_system_task(work, context=contextvars.copy_context())
            return
        task = loop.create_task(work())
        # The loop itself keeps no hold of a task.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _settle(self, ask: Ask, deadline: float) -> None:
        verdict: Verdict = "unknown"
        try:
            # Not asked at all when its time is over before its turn.
            if anyio.current_time() < deadline:
                with anyio.CancelScope(deadline=deadline):
                    verdict = await self._verdict(ask)
        finally:
            # Also where the judge was cancelled by somebody else.
            if self._open.pop(ask.number, None) is not None:
                self._heard.append((ask.number, verdict))
                self._news.set()

    async def _verdict(self, ask: Ask) -> Verdict:
        try:
            said: Any = self._verify(ask.sentence, ask.passages)
            if inspect.isawaitable(said):
                said = await said
        except Exception:
            self._note_failure("a judge failed", exc_info=True)
            return "unknown"
        if said in get_args(Verdict):
            verdict: Verdict = said
            return verdict
        self._note_failure("a judge said %s, which is no verdict", type(said).__name__)
        return "unknown"

    def _note_failure(self, message: str, *values: object, exc_info: bool = False) -> None:
        if not self._failed:
            # Once for an answer: it may have many sentences.
            self._failed = True
            _log.warning(message, *values, exc_info=exc_info)
