"""The attempts at one answer: a gate for each, and the judge beside them.

It pulls and closes no source.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from citestream.closing import close_in_time
from citestream.exceptions import PolicyError
from citestream.gate import Gate

if TYPE_CHECKING:
    from citestream.events import Event
    from citestream.judge import Judge
    from citestream.policy import AnswerPolicy

__all__ = ["Attempts", "Retry"]

Retry: TypeAlias = Callable[[str], Any]
"""Called with what was wrong, as an instruction for the model; gives the next source.
Sync or async."""


class Attempts:
    """The gate of each attempt at an answer, and its judge."""

    def __init__(
        self,
        passages: Any,
        policy: AnswerPolicy,
        retry: Retry | None,
        judge: Judge | None,
        options: dict[str, Any],
    ) -> None:
        self.policy = policy
        self._retry = retry
        self._judge = judge
        self._options = options
        self.gate = Gate(passages, policy, judged=judge is not None, **options)
        if policy.retries and retry is None:
            raise PolicyError(
                'expected retry= beside a policy with "retry", got none: '
                "give what asks the model once more, or choose another action"
            )

    @property
    def judging(self) -> bool:
        """Whether a sentence still has no verdict, though its answer has not failed."""
        return self.gate.decision is None and self.gate.waiting

    def feed(self, chunk: str) -> list[Event]:
        """Return what may be shown after the next chunk and the verdicts that came."""
        gate = self.gate
        if self._judge is None:
            return gate.feed(chunk)
        self._hear(self._judge)
        events = gate.feed(chunk)
        self._ask(self._judge)
        return events

    async def end(self, *, wait: bool) -> list[Event]:
        """Return what may be shown of a whole answer now, or after the next verdict."""
        gate = self.gate
        gate.end()
        events: list[Event] = []
        if self._judge is not None:
            self._ask(self._judge)
            events = gate.take()
            while wait and not events and self.judging:
                await self._judge.news()
                self._hear(self._judge)
                events = gate.take()
            if self.judging:
                return events
        gate.conclude()
        return [*events, *gate.take()]

    async def retry(self) -> Any:
        """Return the source of the next attempt; `None` when there is to be none."""
        decision = self.gate.decision
        assert decision is not None
        if decision.action == "refuse" or self._retry is None:
            return None
        before = self.gate.cost("retried", decision.reason)
        try:
            source = self._retry(decision.correction)
            if inspect.isawaitable(source):
                source = await source
        except StopAsyncIteration as error:
            # Raised as it is, it would pass for the end of the source.
            raise RuntimeError("retry raised StopAsyncIteration") from error
        if self._judge is not None:
            self._judge = self._judge.again()
        self.policy = self.policy.after_retry()
        self.gate = Gate(
            self.gate.passages,
            self.policy,
            before=before,
            judged=self._judge is not None,
            **self._options,
        )
        return source

    async def stop_judge(self) -> None:
        """Ask the judge no more, and wait a bounded time until it has stopped."""
        if self._judge is not None:
            await close_in_time(self._judge.aclose, "a judge")

    def _hear(self, judge: Judge) -> None:
        for number, verdict in judge.heard():
            self.gate.hear(number, verdict)

    def _ask(self, judge: Judge) -> None:
        judge.ask(self.gate.asks)
        self.gate.asks.clear()
