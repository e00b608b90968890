"""What formats in server-sent events share: the loop over events, frames that differ in text alone.

It does not know any format; each one says what an event means.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Protocol

from citestream.exceptions import UnfilterableResponseError
from citestream.short import MAY_LEAD
from citestream.wire.splice import Document, Path, literal
from citestream.wire.sse import SSEEvent, SSEReader, encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from citestream.events import Ended, Summary
    from citestream.wire.answer import Answer

__all__ = [
    "SOURCE_FAILED",
    "EventStream",
    "Template",
    "Wire",
    "failed",
    "is_done",
    "read_document",
]

SOURCE_FAILED = "source failed"
"""The reason that a reader is given when a body breaks off, whatever broke it."""


# Formats interleave as many frames as they have choices; past this the
# frames are parsed one by one, which is slower and nothing else.
MOST_TEMPLATES = 8

# A template costs a walk over its frame, so a stream whose frames never repeat
# stops trying.
MOST_MISSES = 16

# Pieces of text that have left and that the filter has yet to be told of. It is
# told at once when anything but another such piece comes.
MOST_PASSED = 32

# What a filter that is `passing` lets pass, as far as JSON spells it as it is.
_PASSING = re.compile(rb"[ !#-Z\]-~]+(?<![%b])" % re.escape(MAY_LEAD.encode()))

_LF, _CR, _QUOTE, _BACKSLASH = b'\n\r"\\'
_LINE_END = re.compile(rb"\r\n|\r|\n")
_STRING_INSIDE = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*')


class Wire(Protocol):
    """One response body in one format: bytes in, bytes out."""

    def feed(self, body: bytes) -> bytes:
        """Give the next bytes of the body and return what may leave now."""
        ...

    def finish(self) -> bytes:
        """Say that the body is complete and return its rest."""
        ...

    def fail(self, error_id: str) -> tuple[bytes, bool]:
        """Say that the body broke off.

        Returns:
            What was held, then one error in the format's own dialect and its
            terminal frame; and whether that ends the body. It does not in a
            format that has no place for an error: there the connection has to
            be seen to break off.
        """
        ...

    def discard(self, ended: Ended = "cancelled", reason: str | None = None) -> None:
        """Drop what is held: nobody reads it."""
        ...

    @property
    def summaries(self) -> list[Summary]:
        """The scores of the answers that have ended, in the order of their end."""
        ...


class Template:
    """The bytes around the text in a frame that a stream repeats.

    Most frames of a stream are the same but for their text. Such a frame is
    read by comparing its two ends, and written by putting them around other
    text, so nothing is parsed and nothing else can change.
    """

    __slots__ = ("_around", "_bare", "_quoted", "padding", "prefix", "suffix")

    prefix: bytes
    """What stands before the text."""
    suffix: bytes
    """What stands behind it, and behind the padding if there is some."""
    padding: bytes
    """What stands between the text and random padding; empty where there is none."""

    def __init__(
        self, prefix: bytes, suffix: bytes, *, quoted: bool, padding: bytes = b"", bare: bytes = b""
    ) -> None:
        self.prefix = prefix
        self.suffix = suffix
        self.padding = padding
        self._around = len(prefix) + len(suffix)
        self._quoted = quoted
        # What follows the text in a frame without padding.
        self._bare = bare or suffix

    @classmethod
    def of(
        cls,
        event: SSEEvent,
        document: Document | None = None,
        path: Path = (),
        padding: Path | None = None,
    ) -> Template | None:
        """Make the template of an event whose text is its data or one string in it.

        Args:
            event: The event.
            document: Its data, where that is JSON.
            path: Where the text is in it.
            padding: Where a member is whose random text is different in every
                frame. It goes when the text changes, since its length would
                tell how long the text was.

        Returns:
            `None` when the event has another shape than one data line with
            a space after its colon.
        """
        span = event.data_span()
        raw = event.raw
        if span is None or raw != event.terminated() or raw[span[0] - 1 : span[0]] != b" ":
            return None
        start, end = span
        if document is None:
            return cls(raw[:start], raw[end:], quoted=False)
        text, after = document.text, raw[end:]
        first, last = document.span(path)
        prefix = raw[:start] + encoded(text[: first + 1])
        if padding is None:
            return cls(prefix, encoded(text[last - 1 :]) + after, quoted=True)
        pad_first, pad_last = document.span(padding)
        if pad_first < last:
            return None
        document.remove(padding)
        bare = document.render()[last - 1 :]
        return cls(
            prefix,
            encoded(text[pad_last - 1 :]) + after,
            quoted=True,
            padding=encoded(text[last - 1 : pad_first + 1]),
            bare=encoded(bare) + after,
        )

    def text(self, raw: bytes) -> str | None:
        """Return the text of a frame of this shape, `None` for any other."""
        # Two ends are cut off in less time than they are compared.
        inside = raw.removeprefix(self.prefix).removesuffix(self.suffix)
        if len(inside) + self._around != len(raw):
            return None
        if self.padding:
            inside, padding, rest = inside.partition(self.padding)
            if not padding or not rest.isalnum():
                # No padding at all is a frame of another shape.
                return None
        return self.read(inside)

    def read(self, inside: bytes) -> str | None:
        """Return the text that stands between the ends, `None` if it is of another shape."""
        # Bytes are looked for as numbers, which takes a tenth of the time that
        # `b"\n" in inside` takes.
        if _LF in inside or _CR in inside:
            return None
        try:
            if not self._quoted or not (_BACKSLASH in inside or _QUOTE in inside):
                return inside.decode()
            if _STRING_INSIDE.fullmatch(inside) is None:
                return None
            return str(json.loads(b'"%b"' % inside))
        except ValueError:
            return None

    def frame(self, text: str) -> bytes:
        """Return the frame with other text, and without padding."""
        if self._quoted:
            return self.prefix + literal(text)[1:-1].encode() + self._bare
        # A line break becomes a second data line, with the line end used here.
        name = self.prefix[self.prefix.rfind(b"\n") + 1 :]
        end = _LINE_END.match(self.suffix)
        lines = _LINE_END.split(encoded(text))
        return self.prefix + ((end[0] if end else b"") + name).join(lines) + self.suffix


class EventStream(ABC):
    """A stream of events in some format, which a subclass knows.

    A subclass reads one event at a time with `_read`, and says with `_end`
    what is still owed when no more comes.
    """

    def __init__(self, new_answer: Callable[[], Answer]) -> None:
        self._new_answer = new_answer
        self._reader = SSEReader()
        self._held = self._reader.held
        self._templates: list[tuple[Template, Answer]] = []
        self._misses = 0
        self._ended: list[Summary] = []
        # The text of frames that have left as they came, still to be fed.
        self._passed: list[bytes] = []
        self._prefix = self._suffix = self._padding = b""
        self._keep_watch()

    @property
    def summaries(self) -> list[Summary]:
        """The scores of the answers that have ended, in the order of their end."""
        return self._ended

    def feed(self, body: bytes) -> bytes:
        """Give the next bytes of the body and return what may leave now."""
        # Nearly every message of a server is one frame like the last, with text
        # that the filter lets pass. It leaves at the cost of looking at it.
        rest = body.removeprefix(self._prefix)
        inside = rest.removesuffix(self._suffix)
        if rest in (body, inside):
            return self._look_into(body)
        if self._padding:
            inside, _, rest = inside.partition(self._padding)
            if not rest.isalnum():
                return self._look_into(body)
        # The first question answers nine in ten, in a third of the time.
        if inside.lstrip(b" ").isalnum() or _PASSING.fullmatch(inside):
            passed = self._passed
            passed.append(inside)
            if len(passed) >= MOST_PASSED:
                self._feed_passed()
            return body
        return self._look_into(body, inside)

    def go_on(self, reader: SSEReader, events: Iterable[SSEEvent]) -> bytes:
        """Take over from whoever has read the stream so far, and what they left."""
        self._reader = reader
        self._held = reader.held
        return b"".join([self._event(event) for event in events])

    def _look_into(self, body: bytes, inside: bytes | None = None) -> bytes:
        """Read a body that does not simply pass.

        Args:
            body: The body.
            inside: Its text, if it is a frame of the kind that may pass.
        """
        self._keep_watch()
        frame = None
        if inside is not None:
            template, answer = self._templates[0]
            text = template.read(inside)
            if text is not None:
                frame = self._answered(template, answer, text, body)
        elif not self._held:
            frame = self._repeated(body)
        if frame is None:
            frame = b"".join([self._event(event) for event in self._reader.feed(body)])
        if len(self._templates) == 1 and not self._held:
            # One kind of frame: the next ones may pass if its answer wants no say.
            template, answer = self._templates[0]
            if answer.passing:
                self._prefix = template.prefix
                self._suffix = template.suffix
                self._padding = template.padding
        return frame

    def _keep_watch(self) -> None:
        """Let no frame pass unread from here on."""
        if self._passed:
            self._feed_passed()
        self._prefix = b""

    def _feed_passed(self) -> None:
        """Tell the answer what has left, which is what it would have given out."""
        _, answer = self._templates[0]
        answer.feed(b"".join(self._passed).decode())
        self._passed.clear()

    def finish(self) -> bytes:
        """Say that the body is complete and return its rest."""
        return self._rest("complete", None)

    def discard(self, ended: Ended = "cancelled", reason: str | None = None) -> None:
        """Drop what is held: nobody reads it."""
        self._keep_watch()
        for answer in self._open():
            answer.discard(ended, reason)
            self._close(answer)

    def _rest(self, ended: Ended, reason: str | None, error: bytes = b"") -> bytes:
        self._keep_watch()
        for event in self._reader.finish():
            # The stream ended inside an event: what is added comes after it.
            written = self._event(event)
            owed = self._end(ended, reason, error)
            return (event.terminated() if owed and written == event.raw else written) + owed
        return self._end(ended, reason, error)

    def _event(self, event: SSEEvent) -> bytes:
        frame = self._repeated(event.raw)
        return self._read(event) if frame is None else frame

    def _repeated(self, raw: bytes) -> bytes | None:
        for template, answer in self._templates:
            text = template.text(raw)
            if text is not None:
                self._misses = 0
                return self._answered(template, answer, text, raw)
        return None

    def _answered(self, template: Template, answer: Answer, text: str, raw: bytes) -> bytes:
        """Filter the text of a frame that has a template."""
        visible = answer.feed(text)
        if visible == text:
            return raw
        answer.changed = True
        # A frame with a template carries text and nothing else, so one with
        # nothing to show need not be sent.
        return template.frame(visible) if visible else b""

    def _remember(
        self,
        answer: Answer,
        event: SSEEvent,
        document: Document | None = None,
        path: Path = (),
        padding: Path | None = None,
    ) -> None:
        """Read later frames of this shape by comparison; see `Template.of`.

        The caller vouches that the frame carries nothing but text.
        """
        self._misses += 1
        # Not at the first frame, which somebody is waiting for.
        if self._misses == 1 or self._misses > MOST_MISSES:
            return
        template = Template.of(event, document, path, padding)
        if template is not None:
            # One for each answer: where something in the frames changes now
            # and then, such as a time in seconds, the last one is the right one.
            others = [pair for pair in self._templates if pair[1] is not answer]
            self._templates = [(template, answer), *others][:MOST_TEMPLATES]

    def _filtered_again(self, text: str) -> str:
        """Filter text that repeats what has left already, and so counts nowhere."""
        answer = self._new_answer()
        return answer.feed(text) + answer.finish()

    def _close(self, answer: Answer) -> None:
        """Keep the score of an answer that has ended."""
        self._templates = [pair for pair in self._templates if pair[1] is not answer]
        if answer.summary is not None:
            self._ended.append(answer.summary)

    @abstractmethod
    def fail(self, error_id: str) -> tuple[bytes, bool]:
        """Say that the body broke off; see `Wire`."""

    @abstractmethod
    def _read(self, event: SSEEvent) -> bytes:
        """Return what takes the place of an event."""

    @abstractmethod
    def _end(self, ended: Ended, reason: str | None, error: bytes = b"") -> bytes:
        """End the answers that are open.

        Args:
            ended: How the stream ended.
            reason: Why, when there is more to say.
            error: What goes between the text that was held and the terminal frame.

        Returns:
            What the client is still owed.
        """

    @abstractmethod
    def _open(self) -> list[Answer]:
        """Return the answers that have not ended; at least one if none ever did."""


def failed(error_id: str) -> str:
    """Return the reason for the summary: what a reader is told, and what finds it in the log."""
    return f"{SOURCE_FAILED} ({error_id})"


def is_done(data: str) -> bool:
    """Whether the data is the end mark that many streams close with."""
    return data.strip() == "[DONE]"


def read_document(data: str) -> Document:
    """Read the JSON of an event.

    Raises:
        UnfilterableResponseError: It is not JSON.
    """
    try:
        return Document(data)
    except (ValueError, RecursionError):
        raise UnfilterableResponseError(
            "expected JSON in every event, got something else: name the format with format="
        ) from None
