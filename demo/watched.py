"""What the model wrote, beside what the reader gets: events that this demo alone has.

It knows no page and no model. The library's own events pass through untouched;
between them go `raw` events, which no other server should ever send:

    raw {"text", "held", "left", "markers", "attempt"}

`text` is what the model wrote, as it came, and is sent before anything is made
of it. `held` is how many characters at the end of all that was written are held
back by the filter from now on, and `left` is the cleaned text that left it now: a
policy may keep that for longer. `markers` are those that were decided now, as
`{"start", "end", "kept"}` in what was written. Places and lengths count UTF-16
units, as a browser does. `attempt` counts from 1, and with each the rest begins
anew.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio

from citestream import Citation, CitationFilter, Text
from citestream.sse import SEND_TIMEOUT, CitationResponse

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from typing import Self

    from starlette.types import Message, Receive, Scope, Send

    from citestream.events import Event

__all__ = ["RAW", "Watch", "WatchedResponse", "WatchedSource"]

RAW = "raw"
"""The name of the event."""

# What a removed marker takes along, and what a kept one is set apart with, are
# a few characters; an empty wrapper is six.
_MENDED = 16


class Watch:
    """Tells the reader of one response what the model writes.

    Args:
        passages: What the answer is checked against.
        options: All that the answer's own filter was given.
    """

    def __init__(self, passages: Any, **options: Any) -> None:
        self._passages = passages
        self._options = options
        self._attempt = 0
        self._send: Send | None = None
        # Frames from before the response began.
        self._early: list[bytes] = []

    def source(self, chunks: AsyncGenerator[str, None]) -> WatchedSource:
        """Return the source of the next attempt, which is told of as it is read."""
        self._attempt += 1
        shadow = _Shadow(CitationFilter(self._passages, **self._options))
        return WatchedSource(chunks, self, shadow, self._attempt)

    def through(self, send: Send) -> Send:
        """Return a `send` for the response, which opens the way for the frames here."""

        async def sending(message: Message) -> None:
            await send(message)
            # A refusal has a body of its own.
            if message["type"] == "http.response.start" and message["status"] == 200:
                self._send = send
                early, self._early = self._early, []
                for frame in early:
                    await self._write(frame)

        return sending

    async def tell(self, data: dict[str, Any]) -> None:
        """Send a `raw` event."""
        frame = f"event: {RAW}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n"
        await self._write(frame.encode("ascii"))

    async def _write(self, frame: bytes) -> None:
        if self._send is None:
            self._early.append(frame)
            return
        # The response keeps the time of its own messages only.
        with anyio.fail_after(SEND_TIMEOUT):
            await self._send({"type": "http.response.body", "body": frame, "more_body": True})


class WatchedSource:
    """A source that says what it gives. Closing it closes what is inside."""

    def __init__(
        self, chunks: AsyncGenerator[str, None], watch: Watch, shadow: _Shadow, attempt: int
    ) -> None:
        self._chunks = chunks
        self._watch = watch
        self._shadow = shadow
        self._attempt = attempt

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        try:
            chunk = await anext(self._chunks)
        except Exception:
            # The end, or a failure: either way, nothing is held any longer.
            await self._tell("", self._shadow.finish())
            raise
        # From the task that iterates, and so before what the filter makes of it.
        await self._tell(chunk, self._shadow.feed(chunk))
        return chunk

    async def aclose(self) -> None:
        """Stop the model."""
        await self._chunks.aclose()

    async def _tell(self, chunk: str, decided: dict[str, Any]) -> None:
        await self._watch.tell({"text": chunk, **decided, "attempt": self._attempt})


class _Shadow:
    """The same filter once more, to say where in the model's text things stand."""

    def __init__(self, filter_: CitationFilter) -> None:
        self._filter = filter_
        # What was written and not yet found again among the filter's events,
        # and how many units were written before it.
        self._rest = ""
        self._before = 0

    def feed(self, chunk: str) -> dict[str, Any]:
        self._rest += chunk
        return self._decide(self._filter.feed(chunk))

    def finish(self) -> dict[str, Any]:
        decided = self._decide(self._filter.finish())
        if self._rest.strip():
            # A marker that the end cut.
            self._removed(decided["markers"], self._before, self._before + _units(self._rest))
        return {**decided, "held": 0}

    def _decide(self, events: Sequence[Event]) -> dict[str, Any]:
        markers: list[dict[str, Any]] = []
        left = ""
        for event in events:
            if isinstance(event, Text | Citation):
                left += event.text
                before, text = self._before, self._rest
                is_marker = isinstance(event, Citation)
                start = self._pass(event.raw if isinstance(event, Citation) else event.text)
                if text[: start - before].strip():
                    # The model's own link, a wrapper, a separator of what is gone.
                    self._removed(markers, before, start)
                if is_marker and event.text:
                    markers.append({"start": start, "end": self._before, "kept": True})
                elif is_marker:
                    self._removed(markers, start, self._before)
        return {
            "held": _units(self._rest) if self._filter.held else 0,
            "left": left,
            "markers": markers,
        }

    @staticmethod
    def _removed(markers: list[dict[str, Any]], start: int, end: int) -> None:
        last = markers[-1] if markers else None
        if last is not None and not last["kept"] and last["end"] == start:
            last["end"] = end
        else:
            markers.append({"start": start, "end": end, "kept": False})

    def _pass(self, text: str) -> int:
        """Go past a piece in what was written, and return where it starts."""
        # A link's destination may hold anything, what comes after it among that.
        is_link = self._rest.startswith("(") and not text.startswith("(")
        at = self._rest.find(text, self._rest.find(")") + 1 if is_link else 0)
        if at >= 0:
            end = at + len(text)
        elif text.endswith(("]", "\u3011", "\uff3d")):
            # A marker that formed across another one: its end alone is new.
            end = self._rest.find(text[-1], 0, _MENDED) + 1
            at = max(end - 1, 0)
        else:
            # A space that the filter put in is nowhere: go by single characters.
            at = end = 0
            for char in text:
                next_at = self._rest.find(char, end, end + (1 if char == " " else _MENDED))
                end = end if next_at < 0 else next_at + 1
        start = self._before + _units(self._rest[:at])
        self._before += _units(self._rest[:end])
        self._rest = self._rest[end:]
        return start


def _units(text: str) -> int:
    return len(text) + sum(char > "\uffff" for char in text)


class WatchedResponse(CitationResponse):
    """An answer with `raw` events between its own."""

    def __init__(self, watch: Watch, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.watch = watch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer; see `CitationResponse`."""
        await super().__call__(scope, receive, self.watch.through(send))
