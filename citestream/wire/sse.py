"""Server-sent events as bytes: read one by one, written back with only their data replaced.

It does not know what an event's data means.
"""

from __future__ import annotations

import re

from citestream.exceptions import UnfilterableResponseError

__all__ = ["MOST_EVENT", "SSEEvent", "SSEReader", "encoded", "frame"]

# The longest event that is read whole before it leaves. The largest seen in
# the formats that stream text are images in base64, two to four megabytes.
MOST_EVENT = 8 * 1024 * 1024
"""How many bytes an event may have before it is refused."""

_BOM = b"\xef\xbb\xbf"

# Two line ends in a row. A CR is a whole line end where no LF follows. Where
# the bytes stop at a CR, one that ends a line of CRLF waits for its LF, since
# it is on its way; any other is complete, and waiting for the byte after it
# would hold an event back until the next one comes.
_EVENT_END = re.compile(
    rb"\r\n(?:\r\n|\n|\r(?!\Z))|\r(?!\n)(?:\r\n?|\n)|(?<!\r)\n(?:\r\n?|\n)|\n(?:\n|\r\n|\r(?!\Z))"
)
_LINE = re.compile(rb"([^\r\n]*)(\r\n|\r|\n|\Z)")
_LINE_END = re.compile(r"\r\n|\r|\n")


class SSEEvent:
    """One block of the stream, up to and with the blank line that ends it.

    Fields are parsed when they are asked for: most events are forwarded
    without anybody looking inside.
    """

    __slots__ = ("_fields", "_skip", "raw")

    raw: bytes
    """The bytes as they came, with the line ends and blank lines around them."""

    def __init__(self, raw: bytes, skip: int = 0) -> None:
        self.raw = raw
        self._skip = skip
        self._fields: list[tuple[bytes, bytes, bytes]] | None = None

    def __repr__(self) -> str:
        return f"SSEEvent({self.raw!r})"

    @property
    def fields(self) -> list[tuple[bytes, bytes, bytes]]:
        """Every line as name, value and the line itself with its end.

        The name of a comment is empty, as is that of a blank line, whose
        value is empty too.
        """
        if self._fields is None:
            self._fields = [
                (*_field(match[1]), match[0])
                for match in _LINE.finditer(self.raw, self._skip)
                if match[0]
            ]
        return self._fields

    @property
    def data(self) -> str | None:
        """The data lines, joined by line breaks; `None` when there is none."""
        values = [value for name, value, _ in self.fields if name == b"data"]
        return _text(b"\n".join(values)) if values else None

    @property
    def event(self) -> str:
        """The name of the event, `""` when it has none."""
        return self._last(b"event") or ""

    @property
    def id(self) -> str | None:
        """The id it sets; one with a NUL sets none."""
        value = self._last(b"id")
        return None if value is None or "\0" in value else value

    @property
    def retry(self) -> int | None:
        """The reconnection time it sets; anything but a few ASCII digits sets none."""
        value = self._last(b"retry")
        if value is None or not value.isascii() or not value.isdigit() or len(value) > 9:
            return None
        return int(value)

    @property
    def only_data(self) -> bool:
        """Whether it holds nothing but its data and its name."""
        return all(name in (b"data", b"event") for name, _, line in self.fields if line.strip())

    @property
    def comments(self) -> list[str]:
        """The comment lines, without their colon."""
        return [_text(line.rstrip(b"\r\n")[1:]) for _, _, line in self.fields if line[:1] == b":"]

    def with_data(self, data: str | None) -> bytes:
        """Return the event with other data, every other line as it came.

        Args:
            data: What takes the place of the data lines, at the first of
                them. `None` leaves them out; an event that held nothing but
                data and its name then disappears.
        """
        if data is None and self.only_data:
            return b""
        lines = [self.raw[: self._skip]]
        written = data is None
        for name, _, line in self.fields:
            if name != b"data":
                lines.append(line)
            elif not written and data is not None:
                lines.append(_data_lines(data, _end_of(line)))
                written = True
        return _terminated(b"".join(lines), self.line_end)

    def terminated(self) -> bytes:
        """Return the bytes of the event, with the blank line that a cut stream left out."""
        return _terminated(self.raw, self.line_end)

    def data_span(self) -> tuple[int, int] | None:
        """Return where in `raw` the data is; `None` unless it is one line."""
        found: tuple[int, int] | None = None
        at = self._skip
        for name, value, line in self.fields:
            if name == b"data":
                if found is not None:
                    return None
                end = at + len(line.rstrip(b"\r\n"))
                found = end - len(value), end
            at += len(line)
        return found

    def _last(self, wanted: bytes) -> str | None:
        value = next((value for name, value, _ in reversed(self.fields) if name == wanted), None)
        return None if value is None else _text(value)

    @property
    def line_end(self) -> bytes:
        """The line end it uses."""
        return next((_end_of(line) for _, _, line in self.fields if line.strip()), b"\n")


class SSEReader:
    """Cuts a stream of bytes into events, however the bytes arrive."""

    __slots__ = ("_most", "_searched", "_started", "held")

    def __init__(self, most: int = MOST_EVENT) -> None:
        self.held = bytearray()
        """The bytes of the event that is not complete; the same object at all times."""
        self._searched = 0
        self._started = False
        self._most = most

    def feed(self, chunk: bytes) -> list[SSEEvent]:
        """Read the next bytes and return the events that are now complete.

        Raises:
            UnfilterableResponseError: An event is longer than allowed.
        """
        if not self.held and _is_one_event(chunk):
            return [self._event(chunk)]
        self.held += chunk
        events: list[SSEEvent] = []
        at = 0
        # A blank line is at most four bytes long; what was searched before
        # is not searched again.
        searched = max(0, self._searched - 3)
        while (match := _EVENT_END.search(self.held, max(at, searched))) is not None:
            events.append(self._event(bytes(self.held[at : match.end()])))
            at = match.end()
        del self.held[:at]
        self._searched = len(self.held)
        if self._searched > self._most:
            raise UnfilterableResponseError(
                f"expected server-sent events of at most {self._most} bytes, got a longer one: "
                "send the text in smaller events"
            )
        return events

    def finish(self) -> list[SSEEvent]:
        """Return what is left when the stream ends without a blank line."""
        rest = bytes(self.held)
        self.held.clear()
        self._searched = 0
        return [self._event(rest)] if rest else []

    def _event(self, raw: bytes) -> SSEEvent:
        if self._started:
            return SSEEvent(raw)
        self._started = True
        return SSEEvent(raw, len(_BOM) if raw.startswith(_BOM) else 0)


def frame(data: str, event: str | None = None, end: bytes = b"\n") -> bytes:
    """Write an event of its own.

    Args:
        data: What it carries. Line breaks make several data lines, so that
            no data can end the event or start a field.
        event: Its name, a constant of the caller's.
        end: The line end.
    """
    name = b"" if event is None else b"event: " + event.encode() + end
    return name + _data_lines(data, end) + end


def _is_one_event(chunk: bytes) -> bool:
    """Whether bytes are exactly one event, as nearly every message of a server is.

    It may say no of one that is; these searches cost a tenth of the pattern.
    """
    if chunk.endswith(b"\n\n"):
        return b"\r" not in chunk and chunk.find(b"\n\n") == len(chunk) - 2
    return (
        chunk.endswith(b"\r\n\r\n")
        and chunk.find(b"\r\n\r\n") == len(chunk) - 4
        and chunk.count(b"\r\n") == chunk.count(b"\n") == chunk.count(b"\r")
    )


def _field(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    # One space after the colon belongs to the framing; any other is data.
    return name, value[1:] if value[:1] == b" " else value


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def _data_lines(data: str, end: bytes) -> bytes:
    if "\n" not in data and "\r" not in data:
        return b"data: " + encoded(data) + end
    return b"".join(b"data: " + encoded(line) + end for line in _LINE_END.split(data))


def encoded(text: str) -> bytes:
    """Turn text into the bytes it came from, those that are no UTF-8 among them."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        # A surrogate that never was a byte: UTF-8 has no form for it, and
        # the generalised one is what lenient readers understand.
        return text.encode("utf-8", "surrogatepass")


def _end_of(line: bytes) -> bytes:
    return line[len(line.rstrip(b"\r\n")) :] or b"\n"


def _terminated(raw: bytes, end: bytes) -> bytes:
    if not raw.endswith((b"\n", b"\r")):
        return raw + end + end
    return raw if _EVENT_END.search(raw, max(0, len(raw) - 4)) else raw + end
