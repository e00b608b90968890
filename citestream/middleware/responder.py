"""One response on its way: judged when it starts, filtered piece by piece, ended and scored.

It does not know the formats of bodies, only who reads which.
"""

from __future__ import annotations

import inspect
import logging
import secrets
from typing import TYPE_CHECKING

import anyio

from citestream.closing import in_time
from citestream.exceptions import PassageError, UnfilterableResponseError
from citestream.middleware.settings import HOLDER, Holder, Settings, filters, make_passages
from citestream.record import log_answer
from citestream.wire.headers import header, headers_of_filtered, is_json, media_type
from citestream.wire.request import BodyPassages, PromptPassages, asks_for_json
from citestream.wire.splice import literal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from citestream.passages import Passages
    from citestream.wire.formats import TextKind
    from citestream.wire.frames import Wire

__all__ = ["Responder"]

_log = logging.getLogger("citestream")

# A request longer than this is not read for what it says about its answer.
# Prompts with images in base64 stay below.
MOST_REQUEST = 32 * 1024 * 1024

# What a server would do with a file by itself, past any middleware.
_FILE_EXTENSIONS = ("http.response.pathsend", "http.response.zerocopysend")

_DISCONNECTED = "client disconnected"


class Responder:
    """One request and its response."""

    __slots__ = (
        "_disconnected",
        "_feed",
        "_finished",
        "_holder",
        "_json_request",
        "_judging",
        "_keeps_request",
        "_problem",
        "_receive",
        "_refusal",
        "_reported",
        "_request",
        "_request_size",
        "_scope",
        "_send",
        "_settings",
        "_start",
        "_untouched",
        "_wire",
    )

    def __init__(self, settings: Settings, scope: Scope, receive: Receive, send: Send) -> None:
        self._settings = settings
        self._scope = scope
        self._receive = receive
        self._send = send
        self._holder = Holder(settings)
        self._untouched = False
        # The start message, until it is known that the response can be filtered.
        self._start: Message | None = None
        self._problem: UnfilterableResponseError | None = None
        self._wire: Wire | None = None
        # What the next piece of the body is given to, once it has begun to leave.
        self._feed: Callable[[bytes], bytes] | None = None
        self._finished = False
        self._reported = False
        self._refusal: UnfilterableResponseError | None = None
        self._disconnected = False
        # Only set while passages are awaited: a ping may come in between.
        self._judging: anyio.Event | None = None
        # The request as the application reads it: it says what kind of text is wanted.
        self._json_request = is_json(header(scope["headers"], b"content-type"))
        self._keeps_request = self._json_request and settings.text is None
        self._request: list[bytes] = []
        self._request_size = 0

    async def run(self, app: ASGIApp) -> None:
        """Call the application and see its response to the end, whatever that is."""
        scope = {**self._scope, HOLDER: self._holder}
        if scope.get("extensions"):
            kept = {k: v for k, v in scope["extensions"].items() if k not in _FILE_EXTENSIONS}
            scope["extensions"] = kept
        receive: Receive = self.receive
        if (
            isinstance(self._settings.passages, BodyPassages | PromptPassages)
            and self._json_request
        ):
            body = await self._read_request(scope)
            if body is None:
                return
            receive = self._again(body)
        try:
            await app(scope, receive, self.send)
        except Exception as error:
            # A refusal has been answered and logged, so nothing is left to say.
            if error is not self._refusal:
                await self._break(error)
                raise
        finally:
            # The application is done without an end of the body: nobody reads
            # on, or the server cancelled. Held text has nowhere to go.
            self._drop()
            await self._report()

    async def receive(self) -> Message:
        """Hand a message of the request on."""
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._disconnected = True
        elif self._keeps_request:
            body = message.get("body", b"")
            self._request_size += len(body)
            if self._request_size <= MOST_REQUEST:
                self._request.append(body)
            else:
                self._keeps_request = False
                self._request.clear()
        return message

    async def _read_request(self, scope: Scope) -> bytes | None:
        """Read the request ahead of the application and find its passages.

        Returns:
            The body that the application is to see; `None` when the request
            has been answered, or its client is gone.
        """
        pieces: list[bytes] = []
        size = 0
        more = True
        while more:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                return None
            pieces.append(message.get("body", b""))
            more = message.get("more_body", False)
            size += len(pieces[-1])
            if size > MOST_REQUEST:
                sentence = f"expected a request of at most {MOST_REQUEST} bytes, got a longer one"
                await self._answer(413, sentence, "request_too_long")
                return None
        body = b"".join(pieces)
        wanted = self._settings.passages
        if isinstance(wanted, BodyPassages):
            body, found = wanted.take(body)
            headers = [(n, v) for n, v in scope["headers"] if n.lower() != b"content-length"]
            scope["headers"] = [*headers, (b"content-length", b"%d" % len(body))]
        else:
            found = wanted.find(body)
        if found is not None:
            try:
                self._holder.passages = make_passages(found, self._holder.options)
            except PassageError as error:
                await self._answer(400, str(error), "bad_passages")
                return None
        return body

    def _again(self, body: bytes) -> Receive:
        """Return what hands out a request that was read, and then what follows it."""
        first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Message:
            return first.pop() if first else await self.receive()

        return receive

    def send(self, message: Message) -> Awaitable[None]:
        """Take a message of the response.

        It gives what the server gives where it can, and is no coroutine of its
        own: one more of them for every message costs more than the filter.
        """
        feed = self._feed
        if feed is not None:
            # The next piece of a body that has begun to leave: nearly every message is one.
            try:
                more, body = message["more_body"], message["body"]
            except KeyError:
                more, body = False, None
            if more and type(body) is bytes:
                try:
                    out = feed(body)
                except Exception as error:
                    return self._break_and_raise(error)
                if out is body:
                    return self._send(message)
                return self._send({**message, "body": out}) if out else _nothing()
        return self._send(message) if self._untouched else self._take(message)

    async def _take(self, message: Message) -> None:
        """Take a message that is not just the next piece of a body."""
        if self._judging is not None:
            await self._judging.wait()
        kind = message["type"]
        if kind == "http.response.start":
            await self._begin(message)
        elif kind == "http.response.body" and not self._untouched:
            if not self._finished:
                await self._filter(message)
        elif kind in _FILE_EXTENSIONS and not self._untouched:
            raise await self._refuse(
                UnfilterableResponseError(
                    "expected the bytes of a body, got a file for the server to send: "
                    "let the application ask for the extension in its scope"
                )
            )
        else:
            await self._send(message)

    async def _begin(self, message: Message) -> None:
        self._holder.started = True
        self._start = message
        status = message["status"]
        passages = None
        if self._scope["method"] != "HEAD" and status < 400 and status not in (204, 206, 304):
            self._judging = anyio.Event()
            try:
                passages = await self._find_passages()
            finally:
                self._judging.set()
                self._judging = None
        if passages is None:
            self._untouched = True
            self._start = None
            await self._send(message)
            return
        options = self._holder.options
        kind = self._kind()
        try:
            if kind == "json" and self._settings.policy is not None:
                raise UnfilterableResponseError(  # noqa: TRY301 - handled like the others
                    "expected prose under a policy, got a request for structured output: "
                    "a refusal is a sentence, and no JSON document of that schema"
                )
            self._wire = self._settings.formats.open(
                media_type(message.get("headers", ())),
                kind,
                filters(passages, options, self._settings.policy),
            )
        except UnfilterableResponseError as error:
            # An empty body needs no filter, so the first piece of it decides.
            self._problem = error
        self._request.clear()

    async def _filter(self, message: Message) -> None:
        body = bytes(message.get("body", b""))
        more = message.get("more_body", False)
        wire = self._wire
        if wire is None:
            await self._unread(message, empty=not body, more=more)
            return
        try:
            out = wire.feed(body) if body else b""
            if not more:
                if self._disconnected:
                    self._drop()
                else:
                    out += wire.finish()
        except Exception as error:
            if self._start is not None and isinstance(error, UnfilterableResponseError):
                raise await self._refuse(error) from None
            await self._break(error)
            raise
        if self._start is not None:
            if more and not out:
                # Nothing leaves yet, so a refusal may still be a proper one.
                return
            await self._open(None if more else len(out))
        if more:
            self._feed = wire.feed
        else:
            self._feed = None
            self._finished = True
        if out or not more:
            await self._send({**message, "body": out})
        if not more:
            await self._report()

    async def _unread(self, message: Message, *, empty: bool, more: bool) -> None:
        """Refuse a body that nobody can read, unless there is none."""
        if not empty:
            assert self._problem is not None
            raise await self._refuse(self._problem)
        if not more:
            assert self._start is not None
            self._untouched = True
            await self._send(self._start)
            await self._send(message)

    async def _open(self, length: int | None) -> None:
        """Send the start message, its headers fit for a body that may have changed."""
        assert self._start is not None
        start, self._start = self._start, None
        headers = headers_of_filtered(start.get("headers", ()), length)
        await self._send({**start, "headers": headers})

    async def _refuse(self, error: UnfilterableResponseError) -> UnfilterableResponseError:
        """Answer with an error in place of a response that cannot be checked, and return it."""
        _log.error("response refused: %s", error)
        self._refusal = error
        self._finished = True
        self._start = None
        if self._wire is not None:
            self._wire.discard("error", "unfilterable response")
        await self._answer(502, str(error), "unfilterable_response")
        return error

    async def _answer(self, status: int, sentence: str, code: str) -> None:
        error = {"message": sentence, "type": "server_error", "param": None, "code": code}
        body = literal({"error": error}).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"cache-control", b"no-store"),
        ]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def _break(self, error: Exception) -> None:
        """End a response that broke off, in its own dialect."""
        wire = self._wire
        if wire is None or self._finished:
            return
        if self._disconnected or isinstance(error, OSError):
            self._disconnected = True
            self._drop()
            return
        self._finished = True
        self._feed = None
        error_id = secrets.token_hex(6)
        # The server logs the exception when it is raised; this is how to find it.
        _log.error("source failed (%s): %s", error_id, type(error).__name__)
        try:
            rest, ended = wire.fail(error_id)
        except Exception:
            _log.exception("what was held is dropped (%s)", error_id)
            wire.discard("error", f"source failed ({error_id})")
            rest, ended = b"", False
        if self._start is not None:
            if not ended:
                # Nothing has left, so the server can answer with an error.
                return
            await self._open(None)
        if rest or ended:
            await self._send({"type": "http.response.body", "body": rest, "more_body": not ended})

    async def _break_and_raise(self, error: Exception) -> None:
        await self._break(error)
        raise error

    def _drop(self) -> None:
        if self._wire is not None and not self._finished:
            self._finished = True
            self._feed = None
            self._wire.discard("cancelled", _DISCONNECTED if self._disconnected else None)

    async def _report(self) -> None:
        """Log and hand out the scores, once."""
        if self._reported or self._wire is None:
            return
        self._reported = True
        settings = self._settings
        for summary in self._wire.summaries:
            log_answer(summary, settings.surface)
            if settings.on_summary is not None:
                try:
                    told = settings.on_summary(summary, self._scope)
                    if inspect.isawaitable(told):
                        await in_time(told)
                except Exception:
                    _log.exception("on_summary failed")

    async def _find_passages(self) -> Passages | None:
        if self._holder.passages is not None:
            return self._holder.passages
        passages = self._settings.passages
        if callable(passages):
            passages = passages(self._scope)
            if inspect.isawaitable(passages):
                passages = await passages
        if passages is None or isinstance(passages, BodyPassages | PromptPassages):
            return None
        if passages is self._settings.passages:
            constant: Passages = passages  # made with the same options
            return constant
        return make_passages(passages, self._holder.options)

    def _kind(self) -> TextKind:
        if self._holder.text is not None:
            return self._holder.text
        return "json" if asks_for_json(b"".join(self._request)) else "prose"


async def _nothing() -> None:
    """Send nothing: all of the message is held."""
