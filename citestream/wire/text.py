"""A body that is nothing but text: UTF-8 in, UTF-8 out, however it was cut.

It knows no frames, so it has no place for a summary or an error.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from citestream.wire.frames import failed
from citestream.wire.sse import encoded

if TYPE_CHECKING:
    from citestream.events import Ended, Summary
    from citestream.wire.answer import Answer

__all__ = ["TextBody"]


class TextBody:
    """The text of one answer, as bytes."""

    __slots__ = ("_answer", "_decoder")

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        # Bytes that are no UTF-8 come out as they went in.
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    @property
    def summaries(self) -> list[Summary]:
        """The score, once the body has ended."""
        return [] if self._answer.summary is None else [self._answer.summary]

    def feed(self, body: bytes) -> bytes:
        """Give the next bytes and return what may leave now."""
        text = self._decoder.decode(body)
        return encoded(self._answer.feed(text)) if text else b""

    def finish(self) -> bytes:
        """Say that the body is complete and return its rest."""
        return self._rest("complete", None)

    def fail(self, error_id: str) -> tuple[bytes, bool]:
        """Say that the body broke off; plain text can only be seen to break off."""
        return self._rest("error", failed(error_id)), False

    def discard(self, ended: Ended = "cancelled", reason: str | None = None) -> None:
        """Drop what is held: nobody reads it."""
        self._answer.discard(ended, reason)

    def _rest(self, ended: Ended, reason: str | None) -> bytes:
        # A character that the end cut is given on as the bytes that came.
        last = self._decoder.decode(b"", final=True)
        return encoded(self._answer.feed(last) + self._answer.finish(ended, reason))
