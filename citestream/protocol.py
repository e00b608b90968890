"""Our own protocol of server-sent events: what its events are called, and their bytes.

It does not know who sends them, nor how an answer is filtered. Every event is one ASCII
JSON object in one `data:` line, behind a name from this file, so that nothing the model
writes can pose as an event, an id or a field.
"""

from __future__ import annotations

import json
from json.encoder import encode_basestring_ascii as _quoted
from typing import TYPE_CHECKING, Any

from citestream.events import Caution, Citation, Claim, Retract, Sentence, Text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from citestream.events import Event, Label
    from citestream.passages import Passage

__all__ = [
    "CITATION",
    "CLAIM",
    "DELTA",
    "ERROR",
    "RETRACT",
    "SENTENCE",
    "SUMMARY",
    "WARNING",
    "EventWriter",
    "written",
]

DELTA = "delta"
"""Text: `{"text"}`."""
CITATION = "citation"
"""A marker after checking: `{"text", "cited", "invalid", "passages"}`."""
SENTENCE = "sentence"
"""A sentence that has ended, if asked for: `{"content", "cited", "covered"}`."""
WARNING = "warning"
"""A check failed and the text is shown all the same: `{"reason", "content"}`."""
CLAIM = "claim"
"""What a judge said of a sentence: `{"content", "verdict"}`."""
RETRACT = "retract"
"""All text so far is void: `{"reason", "attempt"}`; offsets and passages begin anew."""
ERROR = "error"
"""The source failed: `{"reason", "id"}`; the summary follows."""
SUMMARY = "summary"
"""The score, last: `Summary.to_dict()`."""

_json = json.JSONEncoder(separators=(",", ":")).encode


class EventWriter:
    """Writes the events of one answer, each passage with its first citation.

    Args:
        expose: What a client sees of a passage, as `Passage.payload` takes it.
        end: The line end.
    """

    __slots__ = ("_expose", "_introduced", "end")

    end: str
    """The line end."""

    def __init__(self, expose: Collection[str] = (), end: str = "\n") -> None:
        self.end = end
        self._expose = expose
        # Passages that a client has had; whoever makes the events keeps them alive.
        self._introduced: set[int] = set()

    def forget(self) -> None:
        """Introduce every passage again: what has been sent is void."""
        self._introduced.clear()

    def write(self, event: Event) -> bytes:
        """Return an event as a whole server-sent event."""
        # What most answers are made of is written without the JSON encoder, which
        # takes longer to get going than to write it.
        end = self.end
        if isinstance(event, Text):
            return f'event: delta{end}data: {{"text":{_quoted(event.text)}}}{end}{end}'.encode(
                "ascii"
            )
        if isinstance(event, Citation):
            return (
                f'event: citation{end}data: {{"text":{_quoted(event.text)},'
                f'"cited":{_labels(event.cited)},"invalid":{_labels(event.invalid)},'
                f'"passages":{self._payloads(event.passages)}}}{end}{end}'
            ).encode("ascii")
        if isinstance(event, Sentence):
            data = {"content": event.content, "cited": event.cited, "covered": event.covered}
            return written(SENTENCE, data, end)
        if isinstance(event, Caution):
            return written(WARNING, {"reason": event.reason, "content": event.content}, end)
        if isinstance(event, Claim):
            return written(CLAIM, {"content": event.content, "verdict": event.verdict}, end)
        if isinstance(event, Retract):
            self.forget()
            return written(RETRACT, {"reason": event.reason, "attempt": event.attempt}, end)
        return written(SUMMARY, event.to_dict(), end)

    def _payloads(self, passages: Collection[Passage]) -> str:
        new: list[Passage] = []
        for passage in passages:
            if id(passage) not in self._introduced:
                self._introduced.add(id(passage))
                new.append(passage)
        return _json([passage.payload(self._expose) for passage in new]) if new else "[]"


def written(name: str, data: Mapping[str, Any], end: str = "\n") -> bytes:
    """Write an event of the protocol."""
    return f"event: {name}{end}data: {_json(data)}{end}{end}".encode("ascii")


def _labels(labels: Collection[Label]) -> str:
    values = [_quoted(label) if isinstance(label, str) else str(label) for label in labels]
    return f"[{','.join(values)}]"
