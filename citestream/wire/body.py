"""Whole JSON bodies: kept until they are complete, then rewritten in one piece.

It does not know the shapes of the formats, only which module reads which.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from citestream.events import Ended, Summary
from citestream.exceptions import UnfilterableResponseError
from citestream.wire.frames import failed
from citestream.wire.splice import Document

if TYPE_CHECKING:
    from citestream.wire.answer import Answer

__all__ = ["MOST_BODY", "JsonBody", "Rewrite"]

# An answer of a million tokens with its log-probabilities is of this size.
MOST_BODY = 64 * 1024 * 1024
"""How many bytes a whole body may have; a longer one is no answer."""

_BOM = b"\xef\xbb\xbf"

Rewrite: TypeAlias = Callable[[Document], list[Summary]]
"""Edits a document in place and returns the summaries of its answers."""


class JsonBody:
    """A body that leaves only when it is complete."""

    __slots__ = ("_new_answer", "_pieces", "_rewrite", "_size", "summaries")

    def __init__(self, rewrite: Callable[[Any], Rewrite], new_answer: Callable[[], Answer]) -> None:
        self._rewrite = rewrite
        self._new_answer = new_answer
        self._pieces: list[bytes] = []
        self._size = 0
        self.summaries: list[Summary] = []

    def feed(self, body: bytes) -> bytes:
        """Keep the next bytes.

        Raises:
            UnfilterableResponseError: The body is longer than allowed.
        """
        self._pieces.append(body)
        self._size += len(body)
        if self._size > MOST_BODY:
            raise UnfilterableResponseError(
                f"expected a JSON body of at most {MOST_BODY} bytes, got a longer one: stream it"
            )
        return b""

    def finish(self) -> bytes:
        """Return the rewritten body.

        Raises:
            UnfilterableResponseError: It is not JSON, or of no known shape.
        """
        body = b"".join(self._pieces)
        start = len(_BOM) if body.startswith(_BOM) else 0
        try:
            document = Document(body[start:].decode("utf-8", "surrogateescape"))
        except (ValueError, RecursionError):
            raise UnfilterableResponseError(
                "expected a JSON body, got something else under a JSON content type: "
                "mend the content type, or attach no passages to this response"
            ) from None
        self.summaries = self._rewrite(document.value)(document)
        if not document.edited:
            return body
        return body[:start] + document.render().encode("utf-8", "surrogateescape")

    def fail(self, error_id: str) -> tuple[bytes, bool]:
        """Say that the body broke off: nothing of it has left, and nothing does."""
        self.discard("error", failed(error_id))
        return b"", False

    def discard(self, ended: Ended = "cancelled", reason: str | None = None) -> None:
        """Drop the body: nobody reads it."""
        answer = self._new_answer()
        answer.discard(ended, reason)
        assert answer.summary is not None
        self.summaries = [answer.summary]
