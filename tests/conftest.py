"""Loads both loops' backends before the first test.

pytest rewrites anyio's modules as it imports them, and CPython 3.11 can fail at
that ("AST constructor recursion depth mismatch") in the depth of a running loop.
"""

from __future__ import annotations

import anyio
import pytest


async def _nothing() -> None:
    pass


for _backend in ("asyncio", "trio"):
    anyio.run(_nothing, backend=_backend)

# What the bench has found and nobody has mended yet. Each is a fault, not an exception.
OPEN = {
    "test_long_hostile_answers_keep_the_promises[1]": "an image mark before a removed run stays",
    "test_long_hostile_answers_keep_the_promises[6]": "an image mark before a marker too long",
    "test_the_visible_text_of_a_case_is_right_by_the_judge_too[drift-range-of-a-hundred]": (
        "a range written out is longer than what is held, so a second pass spills it"
    ),
    "test_nothing_is_held_that_no_continuation_changes[fences]": (
        "a space is held behind backticks that begin a line and may yet open a fence"
    ),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Expect the open faults to fail."""
    for item in items:
        reason = OPEN.get(item.name)
        if item.name.startswith("test_nothing_of_a_"):
            reason = "some cases hold a character that comes out whatever follows"
        elif item.name.startswith(("test_work_is_linear", "test_finish_does_not_grow")):
            reason = "growth was not yet measured on a machine that does nothing else"
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=False))
