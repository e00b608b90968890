"""Documents and marker styles as a caller's program has them, and what a list complains of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from citestream.exceptions import PassageError


@dataclass(frozen=True)
class Written:
    """A style that only writes: all that a passage list asks of one."""

    open: str = "["
    close: str = "]"
    numeric: bool = False
    cannot: tuple[int | str, ...] = ()

    def can_write(self, label: int | str) -> bool:
        return label not in self.cannot

    def write(self, labels: tuple[int | str, ...]) -> str:
        return self.open + ", ".join(map(str, labels)) + self.close


LABELS = Written()
PREFIXED = Written(open="[S", numeric=True)
ANGLES = Written(open="<|", close="|>")


@dataclass
class Row:
    """A document as a program of its own would have it."""

    text: Any = "words"
    id: Any = None
    title: Any = None
    url: Any = None
    place: Any = None
    version: Any = None
    score: Any = None
    metadata: Any = None


def complaint(call: Callable[[], object]) -> str:
    with pytest.raises(PassageError) as caught:
        call()
    return str(caught.value)
