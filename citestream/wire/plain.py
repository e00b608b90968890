"""Server-sent events that carry text: bare, as a JSON string, or in one field of a JSON object.

It knows no product's protocol, only the names that streams commonly end with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from citestream.exceptions import UnfilterableResponseError
from citestream.wire.frames import SOURCE_FAILED, EventStream, failed, is_done, read_document
from citestream.wire.splice import Document, Path, literal
from citestream.wire.sse import SSEEvent, frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from citestream.events import Ended, Summary
    from citestream.wire.answer import Answer

__all__ = ["PlainStream", "rewrite_plain"]

# What streams call their last event, in its name or in its `type`.
_LAST = frozenset(("close", "complete", "done", "end", "error", "finish", "stop"))

# Members beside the text that say what kind of frame it is. A frame with
# these and nothing else has nothing to say when its text is held.
_KIND = ("type", "event", "role")


class PlainStream(EventStream):
    """A stream of text frames: one answer, and then a `summary` event.

    Text after the end is another answer, with a summary of its own.
    """

    def __init__(
        self, new_answer: Callable[[], Answer], payload: Literal["text", "json"], field: str
    ) -> None:
        super().__init__(new_answer)
        self._payload = payload
        self._field = field
        self._answer: Answer | None = None
        self._line_end = b"\n"
        # How the last text frame looked: frames made here look the same.
        self._name: str | None = None
        self._kind: dict[str, Any] = {}
        self._payload_is_object = False

    def fail(self, error_id: str) -> tuple[bytes, bool]:
        """Say that the body broke off: what was held, the error, and the summary last."""
        error = literal({"reason": SOURCE_FAILED, "id": error_id})
        return self._rest("error", failed(error_id), frame(error, "error", self._line_end)), True

    def _read(self, event: SSEEvent) -> bytes:
        data = event.data
        if data is None:
            return event.raw
        self._line_end = event.line_end
        if is_done(data):
            return self._end("complete", None) + event.raw
        named_last = event.event.lower() in _LAST
        if self._payload == "text":
            if named_last:
                return self._end(*_how(event.event)) + self._repeat(event, None, (), data)
            return self._rewrite(event, None, (), data)
        document = read_document(data)
        path, text = self._text(document)
        kind = document.value.get("type") if isinstance(document.value, dict) else None
        if named_last or (isinstance(kind, str) and kind.lower() in _LAST):
            # Text in an event with such a name repeats what was streamed.
            owed = self._end(*_how(kind if isinstance(kind, str) else event.event))
            return owed + self._repeat(event, document, path, text)
        if not _is_last(document.value):
            return event.raw if text is None else self._rewrite(event, document, path, text)
        how = _how("error" if document.value.get("error") else "")
        if not text:
            return self._end(*how) + event.raw
        return self._rewrite(event, document, path, text, how)

    def _text(self, document: Document) -> tuple[Path, str | None]:
        value = document.value
        if isinstance(value, str):
            return (), value
        if isinstance(value, dict):
            value = value.get(self._field)
            if isinstance(value, str):
                return (self._field,), value
            if value is None:
                return (), None
            raise _unknown(self._field)
        if isinstance(value, list):
            raise _unknown(self._field)
        return (), None

    def _rewrite(
        self,
        event: SSEEvent,
        document: Document | None,
        path: Path,
        text: str,
        how: tuple[Ended, str | None] | None = None,
    ) -> bytes:
        """Filter the text of a frame, which may be the last one."""
        answer = self._answer
        if answer is None:
            answer = self._answer = self._new_answer()
        self._name = event.event or None
        bare = event.only_data
        if path:
            assert document is not None
            self._kind = {key: document.value[key] for key in _KIND if key in document.value}
            bare = bare and len(document.value) == len(self._kind) + 1
        self._payload_is_object = bool(path)
        visible = answer.feed(text)
        after = b""
        if how is not None:
            visible += answer.finish(*how)
            after = self._summary()
        if visible == text:
            if bare and text:
                self._remember(answer, event, document, path)
            return event.raw + after
        answer.changed = True
        if bare and not visible:
            return after
        return _with_text(event, document, path, visible) + after

    def _repeat(
        self, event: SSEEvent, document: Document | None, path: Path, text: str | None
    ) -> bytes:
        """Write an event whose text repeats what has left already."""
        if not text:
            return event.raw
        visible = self._filtered_again(text)
        return event.raw if visible == text else _with_text(event, document, path, visible)

    def _tail(self, text: str) -> bytes:
        if self._payload == "text":
            data = text
        elif self._payload_is_object:
            data = literal({**self._kind, self._field: text})
        else:
            data = literal(text)
        return frame(data, self._name, self._line_end)

    def _summary(self) -> bytes:
        answer, self._answer = self._answer, None
        assert answer is not None
        assert answer.summary is not None
        self._close(answer)
        return frame(literal(answer.summary.to_dict()), "summary", self._line_end)

    def _end(self, ended: Ended, reason: str | None, error: bytes = b"") -> bytes:
        if self._answer is None:
            if self._ended:
                return error
            self._answer = self._new_answer()
        held = self._answer.finish(ended, reason)
        return (self._tail(held) if held else b"") + error + self._summary()

    def _open(self) -> list[Answer]:
        answer, self._answer = self._answer, None
        if answer is not None:
            return [answer]
        return [] if self._ended else [self._new_answer()]


def rewrite_plain(
    document: Document, field: str, new_answer: Callable[[], Answer]
) -> list[Summary]:
    """Filter a whole body that is a JSON string or an object with one text field."""
    path: Path = () if isinstance(document.value, str) else (field,)
    text: str = document.value if path == () else document.value[field]
    answer = new_answer()
    visible = answer.feed(text) + answer.finish()
    if visible != text:
        document.replace(path, visible)
    assert answer.summary is not None
    if path:
        document.set(("citestream",), answer.summary.to_dict())
    return [answer.summary]


def _is_last(value: Any) -> bool:
    return isinstance(value, dict) and (
        value.get("done") is True
        or bool(value.get("error"))
        or any(isinstance(value.get(key), str) for key in ("finish_reason", "finishReason"))
    )


def _how(name: str) -> tuple[Ended, str | None]:
    return ("error", SOURCE_FAILED) if name.lower() == "error" else ("complete", None)


def _with_text(event: SSEEvent, document: Document | None, path: Path, text: str) -> bytes:
    if document is None:
        return event.with_data(text or None)
    document.replace(path, text)
    return event.with_data(document.render())


def _unknown(field: str) -> UnfilterableResponseError:
    return UnfilterableResponseError(
        f"expected a JSON string or an object whose {field!r} is text, got another shape: "
        "name the field with text_field= or the format with format="
    )
