"""Loads both loops' backends before the first test.

pytest rewrites anyio's modules as it imports them, and CPython 3.11 can fail at
that ("AST constructor recursion depth mismatch") in the depth of a running loop.
"""

from __future__ import annotations

import anyio


async def _nothing() -> None:
    pass


for _backend in ("asyncio", "trio"):
    anyio.run(_nothing, backend=_backend)
