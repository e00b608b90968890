"""Runs an async test on every event loop the package supports; it knows no test."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

import pytest
import trio

__all__ = ["on_every_loop"]

LOOPS: dict[str, Callable[[Callable[[], Any]], None]] = {
    "asyncio": lambda start: asyncio.run(start()),
    "trio": trio.run,
}


def on_every_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Make a plain test of an async one, run once on asyncio and once on trio."""

    @wraps(test)
    def run(loop: str, **fixtures: Any) -> None:
        LOOPS[loop](lambda: test(**fixtures))

    signature = inspect.signature(test)
    loop = inspect.Parameter("loop", inspect.Parameter.KEYWORD_ONLY)
    parameters = [*signature.parameters.values(), loop]
    # pytest asks for the fixtures that the signature names.
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    marked: Callable[..., None] = pytest.mark.parametrize("loop", LOOPS)(run)
    return marked
