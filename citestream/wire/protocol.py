"""Our own protocol of server-sent events, read back and filtered.

It knows nothing of who sends it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from citestream.events import Ended, Event, Sentence, Summary, Text
from citestream.exceptions import UnfilterableResponseError
from citestream.gate import Gate
from citestream.protocol import (
    CITATION,
    CLAIM,
    DELTA,
    ERROR,
    RETRACT,
    SENTENCE,
    SUMMARY,
    WARNING,
    EventWriter,
    written,
)
from citestream.wire.answer import Answer, Filters, ProseAnswer
from citestream.wire.frames import SOURCE_FAILED, EventStream, Template, failed, read_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from citestream.filter import CitationFilter
    from citestream.wire.sse import SSEEvent

__all__ = ["OwnStream"]

# Events about a sentence that has come before, with its text once more.
_OF_SENTENCE = frozenset((SENTENCE, WARNING, CLAIM))


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
        self._writer = EventWriter()

    def fail(self, error_id: str) -> tuple[bytes, bool]:
        """Say that the body broke off: what was held, the error, and the summary last."""
        error = written(ERROR, {"reason": SOURCE_FAILED, "id": error_id}, self._writer.end)
        return self._rest("error", failed(error_id), error), True

    def _read(self, event: SSEEvent) -> bytes:
        data = event.data
        if data is None:
            return event.raw
        self._writer.end = event.line_end.decode()
        if event.event == SUMMARY:
            # It scored what came; ours scores what leaves.
            return self._end("complete", None)
        if event.event == ERROR:
            return self._end("error", SOURCE_FAILED, event.raw)
        if event.event == RETRACT:
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
        if of_sentence or event.event in (DELTA, CITATION):
            if not isinstance(text, str):
                raise _unknown()
            if of_sentence:
                visible = self._filtered_again(text)
                if visible == text:
                    return event.raw
                document.replace((field,), visible)
                return event.with_data(document.render())
            if event.event == DELTA and len(value) == 1 and event.only_data:
                self._remember(self._started()[1], event, document, (field,))
            raw = event.raw if event.event == DELTA else b""
            return self._frames(self._started()[0], text, raw)
        if text is not None:
            raise _unknown()
        return event.raw

    def _answered(self, _: Template, __: Answer, text: str, raw: bytes) -> bytes:
        assert self._filter is not None  # a template goes with its answer
        return self._frames(self._filter, text, raw)

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
        # The sentences are the sender's to report, and its own pass.
        write = self._writer.write
        return b"".join([write(event) for event in events if type(event) is not Sentence])

    def _started(self) -> tuple[CitationFilter | Gate, ProseAnswer]:
        if self._filter is None or self._answer is None:
            self._filter = self._new_filter()
            self._answer = ProseAnswer(self._filter)
        return self._filter, self._answer

    def _forget(self) -> None:
        self._filter = self._answer = None
        self._writer.forget()
        self._templates.clear()

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
        return held + error + self._writer.write(summary)

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
