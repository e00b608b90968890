"""Our own protocol of server-sent events, read back and filtered.

It knows nothing of who sends it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from citestream.events import Caution, Citation, Ended, Event, Retract, Summary, Text
from citestream.exceptions import UnfilterableResponseError
from citestream.gate import Gate
from citestream.wire.answer import Answer, Filters, ProseAnswer
from citestream.wire.frames import SOURCE_FAILED, EventStream, Template, failed, read_document
from citestream.wire.splice import literal
from citestream.wire.sse import SSEEvent, frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from citestream.filter import CitationFilter

__all__ = ["OwnStream"]

# Events about a sentence that has come before, with its text once more.
_OF_SENTENCE = frozenset(("sentence", "warning", "claim"))


class OwnStream(EventStream):
    """A stream that speaks our own protocol, sent on as a filtered one.

    A stream that was filtered before comes out the same, since filtering
    twice changes nothing: its citations are read as text and found again.
    """

    def __init__(self, new_filter: Filters) -> None:
        super().__init__(lambda: ProseAnswer(new_filter()))
        self._new_filter = new_filter
        self._filter: CitationFilter | Gate | None = None
        self._answer: ProseAnswer | None = None
        self._described: set[Any] = set()
        self._line_end = b"\n"

    def fail(self, error_id: str) -> tuple[bytes, bool]:
        """Say that the body broke off: what was held, the error, and the summary last."""
        error = self._frame("error", {"reason": SOURCE_FAILED, "id": error_id})
        return self._rest("error", failed(error_id), error), True

    def _read(self, event: SSEEvent) -> bytes:
        data = event.data
        if data is None:
            return event.raw
        self._line_end = event.line_end
        if event.event == "summary":
            # It scored what came; ours scores what leaves.
            return self._end("complete", None)
        if event.event == "error":
            return self._end("error", SOURCE_FAILED, event.raw)
        if event.event == "retract":
            # All text so far is void, its score and its payloads with it.
            self._forget()
            return event.raw
        of_sentence = event.event in _OF_SENTENCE
        if of_sentence and self._gated():
            # The sentence may not have left, and may never leave.
            return b""
        document = read_document(data)
        value = document.value
        field = "content" if of_sentence else "text"
        text = value.get(field) if isinstance(value, dict) else None
        if of_sentence or event.event in ("delta", "citation"):
            if not isinstance(text, str):
                raise _unknown()
            if of_sentence:
                visible = self._filtered_again(text)
                if visible == text:
                    return event.raw
                document.replace((field,), visible)
                return event.with_data(document.render())
            if event.event == "delta" and len(value) == 1 and event.only_data:
                self._remember(self._started()[1], event, document, (field,))
            raw = event.raw if event.event == "delta" else b""
            return self._frames(self._started()[0], text, raw)
        if text is not None:
            raise _unknown()
        return event.raw

    def _answered(self, _: Template, __: Answer, text: str, raw: bytes) -> bytes:
        return self._frames(self._started()[0], text, raw)

    def _gated(self) -> bool:
        return isinstance(self._started()[0], Gate)

    def _frames(self, citations: CitationFilter | Gate, text: str, raw: bytes) -> bytes:
        """Filter a piece of text; `raw` is the frame it came in, if it may leave in it."""
        events: Sequence[Event] = citations.feed(text)
        if len(events) == 1 and raw:
            event = events[0]
            if type(event) is Text and event.text == text:
                return raw
        return self._written(events) if text else raw

    def _written(self, events: Iterable[Event]) -> bytes:
        pieces: list[bytes] = []
        for event in events:
            if isinstance(event, Text):
                data = '{"text":' + literal(event.text) + "}"
                pieces.append(frame(data, "delta", self._line_end))
            elif isinstance(event, Citation):
                new = [passage for passage in event.passages if passage not in self._described]
                self._described.update(new)
                payload: dict[str, Any] = {
                    "text": event.text,
                    "cited": event.cited,
                    "invalid": event.invalid,
                    "passages": [passage.payload() for passage in new],
                }
                pieces.append(self._frame("citation", payload))
            elif isinstance(event, Caution):
                payload = {"reason": event.reason, "content": event.content}
                pieces.append(self._frame("warning", payload))
            elif isinstance(event, Retract):
                payload = {"reason": event.reason, "attempt": event.attempt}
                pieces.append(self._frame("retract", payload))
        return b"".join(pieces)

    def _started(self) -> tuple[CitationFilter | Gate, ProseAnswer]:
        if self._filter is None or self._answer is None:
            self._filter = self._new_filter()
            self._answer = ProseAnswer(self._filter)
        return self._filter, self._answer

    def _forget(self) -> None:
        self._filter = self._answer = None
        self._described.clear()
        self._templates.clear()

    def _frame(self, name: str, value: Any) -> bytes:
        return frame(literal(value), name, self._line_end)

    def _end(self, ended: Ended, reason: str | None, error: bytes = b"") -> bytes:
        if self._filter is None and self._ended:
            return error
        citations, answer = self._started()
        *events, summary = citations.finish(ended, reason)
        assert isinstance(summary, Summary)
        answer.summary = summary
        held = self._written(events)
        self._close(answer)
        self._forget()
        return held + error + self._frame("summary", summary.to_dict())

    def _open(self) -> list[Answer]:
        if self._filter is None and self._ended:
            return []
        answer = self._started()[1]
        self._forget()
        return [answer]


def _unknown() -> UnfilterableResponseError:
    return UnfilterableResponseError(
        "expected events of the citestream protocol, got text in an event it does not have: "
        "name the format with format="
    )
