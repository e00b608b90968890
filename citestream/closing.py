"""Closes what a door owns: out of reach of a cancellation, and for a bounded time.

It does not know what it closes: a model's stream, a file, a generator.
"""

from __future__ import annotations

import contextlib
import logging
import math
import types
from typing import TYPE_CHECKING, Any

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

__all__ = ["CLOSE_GRACE", "close_in_time", "in_time"]

# Long enough to hand a connection back or to end a request politely; short
# enough that a server with a grace period of ten seconds still stops in time.
CLOSE_GRACE = 5.0
"""How many seconds whatever is closed may take."""

_log = logging.getLogger("citestream")


async def close_in_time(close: Callable[[], Awaitable[Any]], what: str) -> None:
    """Close something within `CLOSE_GRACE`; what goes wrong is logged, not raised.

    Args:
        close: Starts the closing, as `aclose` does.
        what: Names it in the log.
    """
    try:
        await in_time(close())
    except TimeoutError:
        _log.warning("%s did not close within %s seconds", what, CLOSE_GRACE)
    except Exception:
        _log.warning("%s did not close cleanly", what, exc_info=True)
    except BaseExceptionGroup as group:
        # A generator that is closed while it holds a task group answers with
        # its own GeneratorExit in a group. That is how it says goodbye.
        _, rest = group.split(GeneratorExit)
        if rest is None:
            return
        if not isinstance(rest, Exception):
            raise
        _log.warning("%s did not close cleanly", what, exc_info=rest)


async def in_time(awaitable: Awaitable[Any]) -> Any:
    """Await something for `CLOSE_GRACE` seconds at most, also in a task that is being cancelled.

    Raises:
        TimeoutError: It took longer, and was cancelled.
    """
    if anyio.current_effective_deadline() == -math.inf:
        with anyio.fail_after(CLOSE_GRACE, shield=True):
            return await awaitable
    return await _step_by_step(awaitable)


@types.coroutine
def _step_by_step(awaitable: Awaitable[Any]) -> Generator[Any, Any, Any]:
    """Await something under a time limit that is no cancel scope to the awaited code.

    A source may hold a cancel scope or a task group across its yields, and
    leaves it while it is closed. A scope around the closing would then lie
    inside the source's own: both would be left in the wrong order, and with
    them the caller's. So the scope here is entered when the awaited code is
    suspended, and left before it goes on.

    A shield cannot be had like this: code that looks whether it is cancelled
    before it waits, as locks do, would find that it is. So in a cancelled task
    `in_time` uses a plain scope. A source that holds one of its own and is not
    waited for at that moment is then closed with an error, which on asyncio
    comes up once more at the end of the task.
    """
    steps = awaitable.__await__()
    deadline = anyio.current_time() + CLOSE_GRACE
    value: Any = None
    error: BaseException | None = None
    expired = False
    while True:
        try:
            waiting_for = steps.send(value) if error is None else steps.throw(error)
        except StopIteration as end:
            return end.value
        except anyio.get_cancelled_exc_class():
            if expired:
                raise TimeoutError from None
            raise
        value = error = None
        # An exception goes through the scope, which has to see its own
        # cancellation, and then to the awaited code, whatever it is.
        with (
            contextlib.suppress(BaseException),
            anyio.CancelScope(deadline=deadline) as scope,
        ):
            try:
                value = yield waiting_for
            except BaseException as caught:
                error = caught
                raise
        # Not `cancelled_caught`: trio hands its cancellation in as a value, which
        # only the awaited code unwraps.
        expired = scope.cancel_called
