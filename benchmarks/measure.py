"""How a benchmark measures and what a row of the table is; it knows no filter.

Times of two machines, or of one machine on two days, do not compare. So every
figure is a ratio: both sides run in turn, round after round, and the quickest
round of each counts, since whatever disturbs a round only makes it slower.
Time is the processor's, since a long round is interrupted more often than a
short one when the machine has something else to do.
"""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Row", "alternate", "at_least", "at_most"]

ROUNDS = 15

# Seconds after which a measurement makes do with the rounds it has, if three.
PATIENCE = 4


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    what: str
    """What was measured, and against what."""
    measured: str
    """The figure, with its unit or `x`."""
    bar: str = ""
    """What it should be, where there is a bar."""
    kept: bool | None = None
    """Whether it is; `None` where there is no bar."""


def at_most(what: str, measured: float, bar: float, unit: str = "x") -> Row:
    """Return the row of a figure that should not be larger than its bar."""
    return Row(what, f"{measured:,.3g}{unit}", f"≤ {bar:g}{unit}", measured <= bar)


def at_least(what: str, measured: float, bar: float, unit: str = "x") -> Row:
    """Return the row of a figure that should not be smaller than its bar."""
    return Row(what, f"{measured:,.3g}{unit}", f"≥ {bar:g}{unit}", measured >= bar)


def alternate(runs: Sequence[Callable[[], object]], rounds: int = ROUNDS) -> list[float]:
    """Run each in turn, round after round, and return the quickest time of each in seconds."""
    best = [float("inf")] * len(runs)
    began = time.perf_counter()
    gc.collect()
    gc.disable()
    try:
        for done in range(rounds):
            if done >= 3 and time.perf_counter() - began > PATIENCE:
                break
            for number, run in enumerate(runs):
                start = time.process_time()
                run()
                best[number] = min(best[number], time.process_time() - start)
    finally:
        gc.enable()
    return best
