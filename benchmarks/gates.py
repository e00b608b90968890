"""What a policy costs: nothing when there is none, work per chunk, and how long text waits.

How long text waits is counted in words that the model writes meanwhile: the
rest is the model's speed. It measures neither a server nor a judge.
"""

from __future__ import annotations

import statistics
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import anyio

from benchmarks.answers import PASSAGES, cited, in_words
from benchmarks.measure import Row, alternate, at_most
from citestream import CitationFilter, CitationStream, Passages
from citestream.events import Citation, Text
from citestream.gate import Gate
from citestream.policy import AnswerPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from citestream.policy import Emit

__all__ = ["rows"]

LENGTH = 100_000

# An answer as a reader gets it: some twenty sentences.
READ = 1_500

EMITS: tuple[Emit, ...] = ("token", "sentence", "answer")

_CHECKS: dict[str, Any] = {
    "invented_citation": "warn",
    "no_citation": "warn",
    "uncited_sentence": "warn",
}


class _Words:
    """A source that never waits."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = iter(words)

    def __aiter__(self) -> _Words:
        return self

    async def __anext__(self) -> str:
        for word in self._words:
            return word
        raise StopAsyncIteration


async def _by_hand(words: Sequence[str], passages: Passages) -> None:
    """Do what a stream that knows of no policy must do at the least."""
    source, filter_ = _Words(words), CitationFilter(passages)
    pull, feed = source.__anext__, filter_.feed
    while True:
        try:
            item = await pull()
        except StopAsyncIteration:
            break
        if type(item) is not str:
            raise TypeError
        feed(item)
    filter_.finish()


async def _through_stream(words: Sequence[str], passages: Passages, **options: Any) -> None:
    async with CitationStream(_Words(words), passages, **options) as stream:
        while await stream.batch():
            pass


def _stream_rows(words: Sequence[str]) -> Iterator[Row]:
    passages = Passages(PASSAGES)
    hand, off, *on = alternate(
        [
            lambda: anyio.run(_by_hand, words, passages),
            lambda: anyio.run(lambda: _through_stream(words, passages)),
            *[
                lambda emit=emit: anyio.run(
                    lambda: _through_stream(
                        words, passages, policy=AnswerPolicy(emit=emit, **_CHECKS)
                    )
                )
                for emit in EMITS
            ],
        ]
    )
    what = "a word a chunk through CitationStream without a policy, against pulling and feeding"
    yield Row(what, f"{off / hand:.3g}x")
    for emit, seconds in zip(EMITS, on, strict=True):
        yield Row(
            f'with a policy, emit="{emit}", against the same without', f"{seconds / off:.3g}x"
        )


def _feed(feeder: CitationFilter | Gate, words: Sequence[str]) -> None:
    for word in words:
        feeder.feed(word)
    feeder.finish()


def _gate_rows(words: Sequence[str]) -> Iterator[Row]:
    passages = Passages(PASSAGES)
    plain, *gated = alternate(
        [
            lambda: _feed(CitationFilter(passages, sentences=True), words),
            *[
                lambda emit=emit: _feed(Gate(passages, AnswerPolicy(emit=emit, **_CHECKS)), words)
                for emit in EMITS
            ],
        ]
    )
    for emit, seconds in zip(EMITS, gated, strict=True):
        what = f'a word through the gate, emit="{emit}", against the filter with sentences'
        yield at_most(what, seconds / plain, 4)


def _waits(emit: Emit, words: Sequence[str]) -> tuple[list[int], int]:
    """Return for each visible character how many words come before it is shown, and for the first.

    A character belongs to the word with which the filter alone lets it out.
    """
    out: list[list[int]] = []
    for feeder in (CitationFilter(PASSAGES), Gate(PASSAGES, AnswerPolicy(emit=emit, **_CHECKS))):
        shown: list[int] = []
        for number, word in enumerate([*words, None]):
            events = feeder.finish() if word is None else feeder.feed(word)
            text = "".join([e.text for e in events if isinstance(e, Text | Citation)])
            shown += [number] * len(text)
        out.append(shown)
    first, then = out
    return [b - a for a, b in zip(first, then, strict=True)], then[0]


def _wait_rows() -> Iterator[Row]:
    words = in_words(cited(READ))
    stops = [n for n, word in enumerate(words) if word.rstrip().endswith(".")]
    longest = max(b - a for a, b in pairwise([-1, *stops]))
    yield Row("the answer below, in words and in its longest sentence", f"{len(words)}, {longest}")
    for emit in EMITS:
        waits, first = _waits(emit, words)
        yield Row(
            f'text waits for the gate, emit="{emit}", in words: median, worst, before the first',
            f"{statistics.median(waits):.0f}, {max(waits)}, {first}",
        )


def _decision_rows() -> Iterator[Row]:
    """How much of an answer is read until it is refused, where its n-th sentence fails."""
    good = "The station lends a bicycle to whoever asks for it [1]. "
    answer = good * 2 + "Everybody knows that. " + good * 17
    for emit in EMITS:
        gate = Gate(PASSAGES, AnswerPolicy(emit=emit, uncited_sentence="refuse"))
        read = 0
        for word in in_words(answer):
            gate.feed(word)
            read += len(word)
            if gate.decision is not None:
                break
        what = f'read until the third sentence of twenty is refused, emit="{emit}"'
        yield Row(what, f"{read / len(answer):.1%} of the answer")


def rows() -> Iterator[Row]:
    """Measure gates with checks that only warn, so that all of the answer is read."""
    words = in_words(cited(LENGTH))
    yield from _stream_rows(words)
    yield from _gate_rows(words)
    yield from _wait_rows()
    yield from _decision_rows()
