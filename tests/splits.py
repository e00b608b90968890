"""Ways to cut an answer into chunks; it knows nothing of what an answer holds."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import TypeAlias

__all__ = ["SPLITS", "Split", "at_random", "by_character", "in_threes", "in_two", "whole"]

Split: TypeAlias = Callable[[str], Iterator[list[str]]]
"""Gives one or more ways to cut the same answer."""

# A cut is decided by a seed and the answer alone, so that a failure comes again.
SEEDS = (1, 2, 3)


def whole(answer: str) -> Iterator[list[str]]:
    yield [answer]


def by_character(answer: str) -> Iterator[list[str]]:
    yield list(answer)


def in_threes(answer: str) -> Iterator[list[str]]:
    yield [answer[at : at + 3] for at in range(0, len(answer), 3)]


def in_two(answer: str) -> Iterator[list[str]]:
    """Cut the answer at every place, the two ends among them: chunks may be empty."""
    for at in range(len(answer) + 1):
        yield [answer[:at], answer[at:]]


def at_random(answer: str) -> Iterator[list[str]]:
    """Cut the answer at seeded places, in pieces of up to a dozen characters, some empty."""
    for seed in SEEDS:
        yield random_cut(answer, random.Random(f"{seed} {answer!r}"))


def random_cut(answer: str, dice: random.Random) -> list[str]:
    """Cut the answer in pieces whose lengths the dice give."""
    longest = dice.choice((2, 5, 12))
    chunks = []
    at = 0
    while at < len(answer):
        size = dice.randint(0, longest)
        chunks.append(answer[at : at + size])
        at += size
    return chunks


SPLITS: dict[str, Split] = {
    "whole": whole,
    "by_character": by_character,
    "in_threes": in_threes,
    "in_two": in_two,
    "at_random": at_random,
}
