"""For tests of your own endpoint: models that misbehave on cue, cuts, and what to assert.

It shares no code with the parser: what it reports was found another way.
"""

from __future__ import annotations

import asyncio
import random
import re
from typing import TYPE_CHECKING, Self

from citestream.passages import NO_ANSWER

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

__all__ = ["FakeModel", "ModelFailedError", "assert_nothing_invented", "cuts", "invented"]


class ModelFailedError(RuntimeError):
    """Raised by a fake model that was asked to fail."""


class FakeModel:
    """An async source of chunks that does exactly what it is told.

    It can be used once, as a model's stream. `pulled` and `closed` say
    afterwards how it was used.
    """

    def __init__(
        self, *chunks: str, error_after: int | None = None, stall_after: int | None = None
    ) -> None:
        """Make a model that gives `chunks`.

        Args:
            chunks: What it writes, piece by piece.
            error_after: After how many chunks it raises `ModelFailedError`.
            stall_after: After how many it says nothing more until it is closed.
        """
        self._chunks = chunks
        self._error_after = error_after
        self._stall_after = stall_after
        self.pulled = 0
        """How many chunks it gave."""
        self.closed = 0
        """How often it was closed."""

    @classmethod
    def invented_label(cls, marker: str = "[99]") -> Self:
        """Return a model that cites a source which nobody gave it."""
        return cls("Refunds take five days", " ", marker, ".", " Rides end at a station [1].")

    @classmethod
    def split_marker(cls, marker: str = "[1]") -> Self:
        """Return a model whose marker comes one character at a time."""
        return cls("Refunds take five days ", *marker, ".")

    @classmethod
    def refusal(cls, sentence: str = NO_ANSWER) -> Self:
        """Return a model that refuses with the exact sentence, word by word."""
        return cls(*re.findall(r"\S+\s*", sentence))

    @classmethod
    def uncited_sentence(cls, marker: str = "[1]") -> Self:
        """Return a model that leaves one of two sentences without a marker."""
        return cls("Refunds take ", "five days ", marker, ". ", "Everybody knows ", "that.")

    @classmethod
    def error_after(cls, count: int) -> Self:
        """Return a model that raises after `count` chunks, inside a marker if it gets there."""
        chunks = ("Refunds take ", "five days ", "[1", "]", ".")
        return cls(*chunks, error_after=count)

    @classmethod
    def stall_after(cls, count: int) -> Self:
        """Return a model that hangs after `count` chunks."""
        chunks = ("Refunds take ", "five days ", "[1", "]", ".")
        return cls(*chunks, stall_after=count)

    @property
    def answer(self) -> str:
        """All that it would write."""
        return "".join(self._chunks)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        if self.closed:
            raise StopAsyncIteration
        if self.pulled == self._error_after:
            raise ModelFailedError(
                f"the model failed after {self.pulled} chunks, as it was told to"
            )
        if self.pulled == self._stall_after:
            await _hang()
        if self.pulled == len(self._chunks):
            raise StopAsyncIteration
        self.pulled += 1
        return self._chunks[self.pulled - 1]

    async def aclose(self) -> None:
        """Stop writing."""
        self.closed += 1


async def _hang() -> None:
    # The loop that runs is asyncio's or trio's, and neither is a dependency here.
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        import trio  # noqa: PLC0415 - only a test on trio comes here

        await trio.sleep_forever()
    await asyncio.Event().wait()


def cuts(answer: str, *, seed: int = 0, rounds: int = 3) -> Iterator[list[str]]:
    """Yield ways to cut an answer into chunks.

    Whole, by character, in threes, at every single place, and `rounds` times
    at random places that `seed` decides.
    """
    yield [answer]
    yield list(answer)
    yield [answer[at : at + 3] for at in range(0, len(answer), 3)]
    for at in range(1, len(answer)):
        yield [answer[:at], answer[at:]]
    dice = random.Random(f"{seed} {answer!r}")  # noqa: S311 - so that a failure comes again
    for _ in range(rounds):
        places = sorted(dice.randrange(len(answer) + 1) for _ in range(len(answer) // 4 + 1))
        yield [answer[a:b] for a, b in zip([0, *places], [*places, len(answer)], strict=True)]


_CODE = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)|(`+)(?!`).+?(?<!`)\2(?!`)")
_MARKER = re.compile(r"[\[【［]\s*(\d[\d\s,;，、–-]*)[\]】］]")


def invented(visible: str, labels: Collection[int]) -> list[int]:
    """Return the numbers in bracketed markers of `visible`, outside code, that are no label.

    It reads plain forms alone, `[7]`, `[1, 7]` and their full-width kin: what
    it finds was surely shown to the reader.
    """
    contents = _MARKER.findall(_CODE.sub(" ", visible))
    written = [digits for content in contents for digits in re.findall(r"\d+", content)]
    # Longer ones are no label of anybody's, and `int()` need not see them whole.
    return [int(d[:9]) for d in written if len(d) > 9 or int(d) not in labels]


def assert_nothing_invented(
    answer: str, labels: Collection[int], show: Callable[[list[str]], str]
) -> None:
    """Assert that no invented label is visible, whatever the cut, and that the cut does not matter.

    Args:
        answer: What the model writes.
        labels: The numbers of the passages it was given.
        show: Sends chunks through what is under test, and returns all that a
            reader has seen.

    Raises:
        AssertionError: An invented label is visible, or two cuts differ. The
            message holds the chunks.
    """
    whole = show([answer])
    for chunks in cuts(answer):
        visible = show(chunks)
        found = invented(visible, labels)
        if found:
            raise AssertionError(f"expected no invented label, got {found} from {chunks!r}")
        if visible != whole:
            raise AssertionError(
                f"expected {whole!r} for every cut, got {visible!r} from {chunks!r}"
            )
