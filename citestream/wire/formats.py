"""Which format a body is in: by its content type, by its first frame, or as the caller says.

It does not know how any format is read or written.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from citestream.exceptions import UnfilterableResponseError
from citestream.wire.answer import Answer, Filters, ProseAnswer
from citestream.wire.body import JsonBody, Rewrite
from citestream.wire.frames import EventStream, Wire, is_done
from citestream.wire.openai_chat import ChatStream, rewrite_chat
from citestream.wire.openai_choices import is_chat
from citestream.wire.plain import PlainStream, rewrite_plain
from citestream.wire.protocol import OwnStream
from citestream.wire.sse import SSEEvent, SSEReader
from citestream.wire.structured import JsonAnswer
from citestream.wire.text import TextBody

if TYPE_CHECKING:
    from collections.abc import Callable

    from citestream.events import Ended, Summary
    from citestream.filter import CitationFilter

__all__ = ["FORMATS", "Format", "Formats", "TextKind"]

Format: TypeAlias = Literal["auto", "text", "json", "citestream", "openai-chat"]
"""What a payload is: bare text, JSON with one text, our own events, chat completions."""

FORMATS: tuple[Format, ...] = get_args(Format)
"""The formats by name."""

TextKind: TypeAlias = Literal["prose", "json"]
"""What the text itself is: prose, or a JSON document whose strings are prose."""

_TEXT_TYPES = frozenset(("text/plain", "text/markdown"))


class Formats:
    """Opens the reader of a body; one object for all responses."""

    __slots__ = ("_field", "_format")

    def __init__(self, format: Format, field: str) -> None:  # noqa: A002 - the caller's own word
        self._format = format
        self._field = field

    def open(self, media_type: str, kind: TextKind, new_filter: Filters) -> Wire:
        """Return what reads a body of this content type.

        Args:
            media_type: The content type, in lower case and without parameters.
            kind: What the text is.
            new_filter: Makes the filter of each answer; no gate where the text is JSON.

        Raises:
            UnfilterableResponseError: Nothing here reads that content type.
        """
        new_answer = _answers(kind, new_filter)
        if media_type == "text/event-stream":
            if self._format == "auto":
                return _Undecided(self._field, kind, new_filter)
            return _stream(self._format, self._field, kind, new_filter)
        if media_type in _TEXT_TYPES and self._format in ("auto", "text"):
            return TextBody(new_answer())
        if media_type == "application/json" or media_type.endswith("+json"):
            if self._format == "text":
                return TextBody(new_answer())
            return JsonBody(lambda value: self._rewrite(value, new_answer), new_answer)
        raise UnfilterableResponseError(
            f"expected text/plain, text/event-stream or application/json for the format "
            f"{self._format!r}, got content type {media_type[:80]!r}: "
            "attach passages only where the response is an answer"
        )

    def _rewrite(self, value: Any, new_answer: Callable[[], Answer]) -> Rewrite:
        """Choose who rewrites a whole JSON body."""
        if self._format in ("auto", "openai-chat") and is_chat(value):
            return lambda document: rewrite_chat(document, new_answer)
        if self._format != "openai-chat" and _has_text(value, self._field):
            return lambda document: rewrite_plain(document, self._field, new_answer)
        raise _unknown(self._field)


class _Undecided:
    """A stream whose first event with data will say what it is."""

    def __init__(self, field: str, kind: TextKind, new_filter: Filters) -> None:
        self._field = field
        self._kind = kind
        self._new_filter = new_filter
        self._reader = SSEReader()
        self._stream: EventStream | None = None

    @property
    def summaries(self) -> list[Summary]:
        return self._decided("json").summaries

    def feed(self, body: bytes) -> bytes:
        if self._stream is not None:
            return self._stream.feed(body)
        events = self._reader.feed(body)
        for at, event in enumerate(events):
            if event.data is not None:
                stream = self._decided(self._detect(event))
                # Whoever asks from here on is spared a call for every event.
                self.feed = stream.feed  # type: ignore[method-assign]
                first = b"".join([event.raw for event in events[:at]])
                return first + stream.go_on(self._reader, events[at:])
        return b"".join([event.raw for event in events])

    def finish(self) -> bytes:
        stream, first = self._last()
        return first + stream.finish()

    def fail(self, error_id: str) -> tuple[bytes, bool]:
        stream, first = self._last()
        rest, ended = stream.fail(error_id)
        return first + rest, ended

    def discard(self, ended: Ended = "cancelled", reason: str | None = None) -> None:
        self._decided("json").discard(ended, reason)

    def _last(self) -> tuple[EventStream, bytes]:
        """Decide at the end, on an event that no blank line closed."""
        if self._stream is not None:
            return self._stream, b""
        rest = bytes(self._reader.held)
        for event in self._reader.finish():
            if event.data is not None:
                stream = self._decided(self._detect(event))
                return stream, stream.feed(rest)
        return self._decided("json"), rest

    def _decided(self, format: Format) -> EventStream:  # noqa: A002
        if self._stream is None:
            self._stream = _stream(format, self._field, self._kind, self._new_filter)
        return self._stream

    def _detect(self, event: SSEEvent) -> Format:
        data = event.data or ""
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            return "json" if is_done(data) else "text"
        if event.event in ("delta", "citation") and _has_text(value, "text"):
            return "citestream" if self._kind == "prose" else "json"
        if is_chat(value) or (isinstance(value, dict) and isinstance(value.get("error"), dict)):
            return "openai-chat"
        if _has_text(value, self._field):
            return "json"
        if isinstance(value, dict | list):
            raise _unknown(self._field)
        # A number, `true` or `null` is somebody's bare text.
        return "text"


def _stream(format: Format, field: str, kind: TextKind, new_filter: Filters) -> EventStream:  # noqa: A002
    if format == "openai-chat":
        return ChatStream(_answers(kind, new_filter))
    if format == "citestream":
        return OwnStream(new_filter)
    return PlainStream(_answers(kind, new_filter), "text" if format == "text" else "json", field)


def _answers(kind: TextKind, new_filter: Filters) -> Callable[[], Answer]:
    if kind == "json":
        # Under a policy there is only prose: its refusal is a sentence.
        return lambda: JsonAnswer(cast("CitationFilter", new_filter()))
    return lambda: ProseAnswer(new_filter())


def _has_text(value: Any, field: str) -> bool:
    return isinstance(value, str) or (isinstance(value, dict) and isinstance(value.get(field), str))


def _unknown(field: str) -> UnfilterableResponseError:
    return UnfilterableResponseError(
        f"expected text, a JSON string, an object whose {field!r} is text, or a chat completion, "
        "got another shape: name the field with text_field=, the format with format=, "
        "or attach no passages to this response"
    )
