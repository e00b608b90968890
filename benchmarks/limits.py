"""What the core costs: per chunk, at once, on hostile answers, in memory.

It knows no server. A cost per chunk is a ratio to the call of a method that
does nothing, one call a chunk, in the same run.
"""

from __future__ import annotations

import gc
import re
import time
import tracemalloc
from typing import TYPE_CHECKING, Any

from benchmarks.answers import (
    HOSTILE,
    PASSAGES,
    cited,
    dense,
    hostile,
    in_characters,
    in_fours,
    in_model_tokens,
    in_words,
    labelled,
    plain,
)
from benchmarks.measure import Row, alternate, at_least, at_most
from citestream import NO_ANSWER, CitationFilter, Passages, check_citations
from citestream.styles import FOOTNOTE, LABEL, NUMERIC, OPENAI

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["rows"]

# A long answer: what a filter does once, at its start and end, should not count.
LENGTH = 100_000

# Long enough that a doubling is not lost in what a filter does once, and every bound is
# passed; short enough that some of the rounds are not disturbed.
HOSTILE_LENGTH = 6_000

FILTERS = 1_000


class _Nothing:
    """What a chunk costs when nothing is done with it."""

    def feed(self, chunk: str) -> None:
        """Do nothing."""


def _feed_nothing(chunks: Sequence[str]) -> None:
    nothing = _Nothing()
    for chunk in chunks:
        nothing.feed(chunk)


def _feed_filter(chunks: Sequence[str], passages: Passages, **options: Any) -> None:
    filter_ = CitationFilter(passages, **options)
    for chunk in chunks:
        filter_.feed(chunk)
    filter_.finish()


def _per_chunk(chunks: Sequence[str]) -> float:
    passages = Passages(PASSAGES)
    nothing, filtered = alternate(
        [lambda: _feed_nothing(chunks), lambda: _feed_filter(chunks, passages)]
    )
    return filtered / nothing


def _chunk_rows() -> Iterator[Row]:
    text, marked, crowded = plain(LENGTH), cited(LENGTH), dense(LENGTH)
    every = "a marker every 75 characters"
    yield at_most("plain prose, a word a chunk", _per_chunk(in_words(text)), 13)
    yield at_most("plain prose, 4 characters a chunk", _per_chunk(in_fours(text)), 20)
    yield at_most(f"{every}, a word a chunk", _per_chunk(in_words(marked)), 18)
    yield at_most(f"{every}, 4 characters a chunk", _per_chunk(in_fours(marked)), 33)
    yield Row(f"{every}, as tokenizers cut", f"{_per_chunk(in_model_tokens(marked)):.3g}x")
    yield at_most("a marker every second word, a word a chunk", _per_chunk(in_words(crowded)), 75)


def _against_numbers(cut: Callable[[str], list[str]], answer: str, **options: Any) -> float:
    """Return what a chunk costs with some options, where cited prose costs 1 without."""
    style = options.get("style")
    passages = Passages(PASSAGES)
    others = passages
    if style is LABEL:
        others = Passages({f"doc-{number}": None for number in range(1, PASSAGES + 1)}, style=LABEL)
    elif style is not None:
        others = Passages(PASSAGES, style=style)
    chunks, other_chunks = cut(cited(LENGTH)), cut(answer)
    numbers, measured = alternate(
        [
            lambda: _feed_filter(chunks, passages),
            lambda: _feed_filter(other_chunks, others, **options),
        ]
    )
    return measured / len(other_chunks) / (numbers / len(chunks))


def _style_rows() -> Iterator[Row]:
    text = cited(LENGTH)
    several = (NUMERIC, FOOTNOTE, OPENAI)
    for how, cut in (("a word", in_words), ("4 characters", in_fours)):
        yield at_most(
            f"labels, against numbers, {how} a chunk",
            _against_numbers(cut, labelled(text), style=LABEL),
            1.5,
        )
        yield at_most(
            f"three styles at once, against one, {how} a chunk",
            _against_numbers(cut, text, style=several),
            1.5,
        )
        yield at_most(
            f"sentences, against none, {how} a chunk",
            _against_numbers(cut, text, sentences=True),
            1.6,
        )


# What a developer would write in ten lines: the marker with the blank before
# it, so that a removed one leaves none behind, and the refusal.
_MARKER = re.compile(r" ?\[(\d+(?:, ?\d+)*)\]")


def _regex_pass(answer: str, passages: int) -> tuple[str, list[int], list[int], bool]:
    """Check an answer with one expression: no code, no drift, no streaming."""
    valid: dict[int, None] = {}
    invalid: dict[int, None] = {}

    def checked(match: re.Match[str]) -> str:
        kept = []
        for digits in match[1].split(","):
            number = int(digits)
            if 1 <= number <= passages:
                kept.append(number)
                valid[number] = None
            else:
                invalid[number] = None
        if not kept:
            return ""
        blank = " " if match[0].startswith(" ") else ""
        return f"{blank}[{', '.join(map(str, kept))}]"

    cleaned = _MARKER.sub(checked, answer)
    refused = NO_ANSWER.casefold() in answer.casefold()
    return cleaned, list(valid), list(invalid), bool(valid) and not refused


def _one_shot(answer: str) -> float:
    """Return how fast the check is, where the plain expression is 1."""
    passages = Passages(PASSAGES)
    expression, checked = alternate(
        [lambda: _regex_pass(answer, PASSAGES), lambda: check_citations(answer, passages)]
    )
    return expression / checked


def _one_shot_rows() -> Iterator[Row]:
    # A long answer of a chat, rather than the longest there is.
    length = 10_000
    yield at_least("one-shot, against a regex pass: cited text", _one_shot(cited(length)), 0.65)
    yield at_least("one-shot, against a regex pass: plain text", _one_shot(plain(length)), 0.9)


def _growth(name: str, cut: Callable[[str], list[str]]) -> float:
    """Return what doubling a hostile answer costs; 2 is linear."""
    passages = Passages(PASSAGES)
    once, twice = (cut(hostile(name, length)) for length in (HOSTILE_LENGTH, 2 * HOSTILE_LENGTH))
    short, long = alternate(
        [lambda: _feed_filter(once, passages), lambda: _feed_filter(twice, passages)], rounds=12
    )
    return long / short


def _slowest_chunk(name: str, cut: Callable[[str], list[str]]) -> float:
    """Return the milliseconds of the slowest call, `finish` among them.

    Each call counts with the quickest of its rounds: a pause of the machine
    hits one call of one round, a slow chunk is slow in all.
    """
    chunks = cut(hostile(name, HOSTILE_LENGTH))
    best = [float("inf")] * (len(chunks) + 1)
    passages = Passages(PASSAGES)
    for _ in range(3):
        filter_ = CitationFilter(passages)
        before = time.process_time()
        for number, chunk in enumerate(chunks):
            filter_.feed(chunk)
            now = time.process_time()
            best[number] = min(best[number], now - before)
            before = now
        filter_.finish()
        best[-1] = min(best[-1], time.process_time() - before)
    return max(best) * 1000


def _hostile_rows() -> Iterator[Row]:
    cuts = {"1 character": in_characters, "4 characters": in_fours}
    tried = [(name, how, cut) for name in HOSTILE for how, cut in cuts.items()]
    growth, worst, how = max((_growth(name, cut), name, how) for name, how, cut in tried)
    slowest, slow, slow_how = max(
        (_slowest_chunk(name, cut), name, how) for name, how, cut in tried
    )
    yield at_most(
        f"doubling {len(HOSTILE)} hostile answers, the worst (`{worst}`, {how} a chunk)",
        growth,
        2.3,
    )
    yield at_most(f"their slowest chunk (`{slow}`, {slow_how} a chunk)", slowest, 0.5, unit=" ms")


def _memory() -> float:
    """Return the bytes of a filter in the middle of an answer, half a marker held."""
    passages = Passages(PASSAGES)
    chunks = [*in_fours(cited(1_000)), " [1"]
    filters = []
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(FILTERS):
            filter_ = CitationFilter(passages)
            for chunk in chunks:
                filter_.feed(chunk)
            filters.append(filter_)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return (after - before) / len(filters)


def rows() -> Iterator[Row]:
    """Measure the core."""
    yield from _chunk_rows()
    yield from _style_rows()
    yield from _one_shot_rows()
    yield from _hostile_rows()
    yield at_most("memory of an open filter", _memory(), 1024, unit=" B")
