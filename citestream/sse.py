"""CitationResponse: the events of an answer as server-sent events, the summary last.

It does not know how citations are found, nor how an event is written.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from sse_starlette import EventSourceResponse
from sse_starlette.sse import SendTimeoutError

from citestream.events import Summary
from citestream.passages import Passage
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
from citestream.stream import CitationStream

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Self

    from starlette.background import BackgroundTask
    from starlette.types import Message, Receive, Scope, Send

    from citestream.events import Event
    from citestream.items import TextOf
    from citestream.stream import OnSummary

__all__ = [
    "CITATION",
    "CLAIM",
    "DELTA",
    "ERROR",
    "RETRACT",
    "SEND_TIMEOUT",
    "SENTENCE",
    "SUMMARY",
    "WARNING",
    "CitationResponse",
]

# Longer than a phone is away between two cells, far shorter than a model is
# held for a reader who does not read.
SEND_TIMEOUT = 30.0
"""How many seconds a reader may take to accept an event."""

_DISCONNECTED = "client disconnected"
_SHUTDOWN = "server shutdown"
_TOO_SLOW = "client too slow"

# How often in the time limit a look is taken at whether a send goes on: the
# limit is exceeded by this part of it at most.
_LOOKS = 4

# What belongs to the stream and not to a refusal in its place.
_STREAM_HEADERS = {b"cache-control", b"connection", b"content-type", b"x-accel-buffering"}


class CitationResponse(EventSourceResponse):
    """Send an answer as server-sent events, one for each event and the summary last.

    A response is good for one request. Its source is closed by the time the
    call returns, whoever ended it and whether or not it was started.

    When the server shuts down, the answer ends with a summary that says
    `"ended": "cancelled"`, after the grace period if there is one.

    Args:
        source: What the answer comes from, as for `CitationStream`; or a stream, such as
            `citestream.respond.respond` returns, which has its own passages and options.
        passages: What was in the prompt, as for `CitationFilter`.
        expose: What a client sees of a cited passage besides `label`, `id`, `title` and
            `url`: any of `text`, `place`, `version`, `score`, `metadata`.
        first_item: Whether the response waits for the first item, so that a source that
            is down gives status 502 and `{"reason", "id"}`, not a 200 that breaks off.
        text: Takes the text out of an item, for sources of another kind.
        on_summary: Called with the summary, sync or async, exactly once.
        status_code: The status of the stream.
        headers: Further headers; they also replace `cache-control`.
        background: Runs when the source is closed.
        ping: Seconds between comments that keep the connection open, also while text is
            held or the model is silent; 15 without it, and none at 0.
        send_timeout: Seconds a reader may take to accept an event; `None` for ever.
        shutdown_grace_period: Seconds an answer may go on when the server shuts down.
        options: What else `CitationStream` takes: `policy`, `retry`, `verify`, and all that
            `CitationFilter` does.

    Raises:
        SourceError: `source` is not an iterable of chunks.
        PassageError: The passages cannot be used, or `expose` names something else.
        ValueError: `send_timeout` is not above 0, or a stream came with options.
    """

    def __init__(
        self,
        source: Any,
        passages: Any = None,
        *,
        expose: Collection[str] = (),
        first_item: bool = False,
        text: TextOf | None = None,
        on_summary: OnSummary | None = None,
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
        background: BackgroundTask | None = None,
        ping: float | None = None,
        send_timeout: float | None = SEND_TIMEOUT,
        shutdown_grace_period: float = 0,
        **options: Any,
    ) -> None:
        if send_timeout is not None and send_timeout <= 0:
            raise ValueError(f"expected a send_timeout above 0 or None, got {send_timeout!r}")
        Passage(1).payload(expose)  # raises now, and not at the first citation
        if isinstance(source, CitationStream):
            if passages is not None or text is not None or on_summary is not None or options:
                raise ValueError(
                    "expected a stream alone, got options of one beside it: give them to the stream"
                )
            source.surface = "sse"
            self.stream = source
        else:
            self.stream = CitationStream(
                source, passages, text=text, on_summary=on_summary, surface="sse", **options
            )
        """The answer; its `passages` can be added to, and its `summary` read afterwards."""
        self.stream.why_cancelled = self._why_cancelled
        self._first_item = first_item
        self._too_slow = False
        self._disconnected = False
        self._shutdown = anyio.Event()
        super().__init__(
            _Frames(self.stream, expose),
            status_code=status_code,
            headers={"cache-control": "no-cache, no-transform", **(headers or {})},
            background=background,
            ping=ping,
            # One line ending for our events and for the pings between them.
            sep="\n",
            send_timeout=send_timeout,
            client_close_handler_callable=self._note_disconnect,
            shutdown_event=self._shutdown,
            shutdown_grace_period=shutdown_grace_period,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer; see `EventSourceResponse`."""
        # HEAD is answered without a body, and so without a look at the source.
        first_item = self._first_item and scope.get("method") != "HEAD"
        delivery = _Delivery(send, self.stream, first_item=first_item)
        if self.send_timeout is not None:
            self.data_sender_callable = partial(self._watch, delivery, self.send_timeout)
        background, self.background = self.background, None
        try:
            await super().__call__(scope, receive, delivery.send)
            # Here the response was left as it is. A reader who is still there
            # is told; one who left is not, and nothing is sent on the way out
            # of a cancellation.
            if self._shutdown.is_set() and not self._disconnected:
                with anyio.move_on_after(self.send_timeout):
                    await delivery.say_goodbye()
        finally:
            await self.stream.aclose()
        if background is not None:
            await background()

    async def _watch(self, delivery: _Delivery, seconds: float) -> None:
        """Raise when the same message has been waiting for as long."""
        while True:
            message = delivery.last
            for _ in range(_LOOKS):
                await anyio.sleep(seconds / _LOOKS)
                if not delivery.waiting or delivery.last is not message:
                    break
            else:
                self._too_slow = True
                raise SendTimeoutError(f"a client accepted nothing for {seconds} seconds")

    async def _send_with_timeout(self, send: Send, message: Message) -> None:
        # In place of a cancel scope and a timer for every event, which cost more
        # than all that is done here for one. `_watch` keeps the time; should the
        # base class call this by another name one day, both do.
        await send(message)

    async def _note_disconnect(self, _: Message) -> None:
        self._disconnected = True

    def _why_cancelled(self) -> str | None:
        if self._disconnected:
            return _DISCONNECTED
        if self._too_slow:
            return _TOO_SLOW
        return _SHUTDOWN if self._shutdown.is_set() else None


class _Frames:
    """The events of a stream as bytes, each a whole server-sent event."""

    __slots__ = ("_over", "_stream", "_write")

    def __init__(self, stream: CitationStream, expose: Collection[str]) -> None:
        self._stream = stream
        self._write = EventWriter(expose).write
        self._over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        # What the stream raises after its summary is in the log by now.
        events = () if self._over else await self._stream.batch()
        if not events:
            raise StopAsyncIteration
        if len(events) == 1:
            return self._frame(events[0])
        return b"".join(map(self._frame, events))

    async def aclose(self) -> None:
        await self._stream.aclose()

    def _frame(self, event: Event) -> bytes:
        if type(event) is not Summary:
            return self._write(event)
        self._over = True
        return _ending(self._stream, event)


class _Delivery:
    """What one response sends, and when."""

    __slots__ = ("_first_item", "_open", "_send", "_start", "_stream", "last", "waiting")

    def __init__(self, send: Send, stream: CitationStream, *, first_item: bool) -> None:
        self._send = send
        self._stream = stream
        self._first_item = first_item
        self._start: Message | None = None
        self._open = False
        self.last: Message | None = None
        """The message that was handed to the server last."""
        self.waiting = False
        """Whether the server has yet to take it."""

    async def send(self, message: Message) -> None:
        """Send a message of the response, unless it has been refused."""
        if self._open:
            self.last = message
            self.waiting = True
            await self._send(message)
            self.waiting = False
        elif "status" in message:
            # In the task that iterates, like every later item.
            self._start = message
            if self._first_item:
                await self._stream.start()
            failure = self._stream.failure
            if failure is None:
                self._open = True
                await self._send(message)
            else:
                await self._refuse(502, failure.reason, failure.id)
        # Else a ping before the start, or what follows a refusal.

    async def say_goodbye(self) -> None:
        """End the response that a shutdown cut off, as far as it was begun."""
        summary = self._stream.summary
        finished = self.last is not None and not self.last["more_body"]
        if finished or self._start is None or summary is None:
            return
        if self._open:
            # Any other summary was on its way by itself.
            ending = _ending(self._stream, summary) if summary.ended == "cancelled" else b""
            await self._send(self._body(ending))
        else:
            await self._refuse(503, _SHUTDOWN, None)

    async def _refuse(self, status: int, reason: str, id_: str | None) -> None:
        assert self._start is not None
        body = json.dumps({"reason": reason, "id": id_}).encode("ascii")
        headers = [
            *(pair for pair in self._start["headers"] if pair[0] not in _STREAM_HEADERS),
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode("ascii")),
            (b"cache-control", b"no-store"),
        ]
        await self._send({**self._start, "status": status, "headers": headers})
        self.last = self._body(body)
        await self._send(self.last)

    def _body(self, body: bytes) -> Message:
        assert self._start is not None
        # In the answer to a websocket's handshake the types have a prefix.
        kind = self._start["type"].removesuffix("start") + "body"
        return {"type": kind, "body": body, "more_body": False}


def _ending(stream: CitationStream, summary: Summary) -> bytes:
    frame = written(SUMMARY, summary.to_dict())
    if stream.failure is None:
        return frame
    return written(ERROR, {"reason": stream.failure.reason, "id": stream.failure.id}) + frame
