"""OpenAI Chat Completions, streamed and whole, with the two older shapes of the same endpoint.

The older ones are legacy completions, whose choices hold `text`, and
llama.cpp's own `/completion`, which has no choices at all. It knows nothing
of the request that was answered.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from citestream.wire.frames import SOURCE_FAILED, EventStream, failed, is_done, read_document
from citestream.wire.openai_choices import (
    IDENTITY,
    Choice,
    at_path,
    choices_of,
    is_only_text,
    texts_of,
    unknown_shape,
)
from citestream.wire.splice import Document, Path, literal
from citestream.wire.sse import SSEEvent, frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from citestream.events import Ended, Summary
    from citestream.wire.answer import Answer

__all__ = ["ChatStream", "rewrite_chat"]

logger = logging.getLogger("citestream")

# `n` in the provider's published limits.
MOST_CHOICES = 128

# A turn that ends like this, and says nothing, asks for something: it is no answer.
_CALLS = frozenset(("tool_calls", "function_call"))

# llama.cpp's names for what betrays a removed marker beside the text.
_NATIVE_TRACES = ("tokens", "completion_probabilities", "probs")


class _Writing:
    """One choice of a stream while it is being written."""

    __slots__ = ("answer", "chat", "native", "notes", "spoken")

    def __init__(self, answer: Answer, native: bool) -> None:
        self.answer = answer
        self.native = native
        self.chat = False
        self.spoken = False
        self.notes: list[Any] = []

    @property
    def legacy(self) -> bool:
        """Whether its log-probabilities point into the whole text by offset."""
        return not (self.native or self.chat)


class ChatStream(EventStream):
    """A stream of completion chunks: one answer for each choice index.

    What a client appends to a choice's content is one text for that client,
    even where a tool call came in between, so it is one text here as well.
    """

    def __init__(self, new_answer: Callable[[], Answer]) -> None:
        super().__init__(new_answer)
        self._writing: dict[int, _Writing] = {}
        self._seen: set[int] = set()
        self._identity: dict[str, Any] = {}
        self._line_end = b"\n"
        self._over = False

    def fail(self, error_id: str) -> tuple[bytes, bool]:
        """Say that the body broke off: what was held, the error, and the end mark."""
        error = {
            "message": "The answer was interrupted.",
            "type": "server_error",
            "param": None,
            "code": "source_failed",
            "id": error_id,
        }
        last = self._frame({"error": error}) + frame("[DONE]", end=self._line_end)
        return self._rest("error", failed(error_id), b"" if self._over else last), True

    def _read(self, event: SSEEvent) -> bytes:
        data = event.data
        if data is None:
            return event.raw
        self._line_end = event.line_end
        if is_done(data):
            owed = self._end("complete", None)
            self._over = True
            return owed + event.raw
        document = read_document(data)
        value = document.value
        if not isinstance(value, dict):
            raise unknown_shape("a JSON object in every event")
        self._identity = {key: value[key] for key in IDENTITY if key in value}
        choices = choices_of(value, "delta")
        if not choices:
            if value.get("error"):
                # The server's own error ends the stream for every client.
                self._over = True
                return self._end("error", SOURCE_FAILED) + event.raw
            # Usage without choices is the last that a stream has to say.
            return (self._end("complete", None) if value.get("usage") else b"") + event.raw
        return self._rewrite(event, document, choices)

    def _rewrite(self, event: SSEEvent, document: Document, choices: list[Choice]) -> bytes:
        before: list[bytes] = []
        edited = False
        shown = ""
        for choice in choices:
            writing = self._choice(choice)
            if writing is None:
                continue
            self._take_annotations(document, choice, writing)
            changed = False
            for path, text, last in texts_of(document, choice):
                writing.spoken = True
                visible = writing.answer.feed(text)
                if last and choice.reason is not None:
                    visible += writing.answer.finish("complete", _reason(choice))
                if visible != text:
                    document.replace(path, visible)
                    writing.answer.changed = changed = True
                shown += visible
            if choice.reason is not None:
                # A finish frame without text of its own stays without: what
                # was held leaves in a frame before it.
                if writing.answer.summary is None:
                    held = _finish(writing.answer, choice, spoken=writing.spoken)
                    if held:
                        before.append(self._frame(self._chunk(choice.number, writing, held)))
                self._sign(document, choice, writing, alone=len(choices) == 1)
            if changed or (writing.answer.changed and writing.legacy):
                _drop_traces(document, choice)
            edited |= changed
        if edited and not shown and is_only_text(document.value, choices):
            return b""
        if document.edited:
            return b"".join(before) + event.with_data(document.render())
        self._learn(event, document, choices)
        return event.raw

    def _choice(self, choice: Choice) -> _Writing | None:
        writing = self._writing.get(choice.number)
        if writing is None:
            if choice.number in self._seen and not choice.texts:
                return None
            self._seen.add(choice.number)
            if len(self._seen) > MOST_CHOICES:
                raise unknown_shape(f"at most {MOST_CHOICES} choices")
            writing = _Writing(self._new_answer(), native=choice.path == ())
            self._writing[choice.number] = writing
        writing.chat |= choice.message is not None
        return writing

    def _sign(self, document: Document, choice: Choice, writing: _Writing, alone: bool) -> None:
        """Put the summary and the annotations into the finish frame."""
        _sign(document, choice, writing.answer, writing.notes, alone)
        self._close(writing.answer)
        del self._writing[choice.number]

    def _take_annotations(self, document: Document, choice: Choice, writing: _Writing) -> None:
        # A second list of annotations makes the official Python client fail,
        # so the server's own wait for ours.
        if choice.message is not None:
            notes = at_path(document.value, choice.message).get("annotations")
            if isinstance(notes, list):
                writing.notes += notes
                if choice.reason is None:
                    document.remove((*choice.message, "annotations"))

    def _learn(self, event: SSEEvent, document: Document, choices: list[Choice]) -> None:
        choice = choices[0]
        writing = self._writing.get(choice.number)
        if (
            writing is not None
            and is_only_text(document.value, choices)
            and not at_path(document.value, choice.path).get("logprobs")
        ):
            padding: Path | None = ("obfuscation",) if "obfuscation" in document.value else None
            self._remember(writing.answer, event, document, choice.texts[0], padding)

    def _chunk(self, index: int, writing: _Writing, text: str) -> dict[str, Any]:
        if writing.native:
            return {"index": index, "content": text, "stop": False}
        if writing.chat:
            choice = {"index": index, "delta": {"content": text}, "finish_reason": None}
        else:
            choice = {"index": index, "text": text, "logprobs": None, "finish_reason": None}
        return {**self._identity, "choices": [choice]}

    def _frame(self, value: Any) -> bytes:
        return frame(literal(value), end=self._line_end)

    def _end(self, ended: Ended, reason: str | None, error: bytes = b"") -> bytes:
        owed: list[bytes] = []
        for index, writing in list(self._writing.items()):
            held = writing.answer.finish(ended, reason)
            chunk = self._chunk(index, writing, held)
            path: Path = () if writing.native else ("choices", 0)
            message = (*path, "delta") if writing.chat else None
            document = Document(literal(chunk))
            choice = Choice(index, path, [], message, None)
            self._sign(document, choice, writing, alone=True)
            owed.append(frame(document.render(), end=self._line_end))
        if not self._ended:
            answer = self._new_answer()
            answer.finish(ended, reason)
            self._close(answer)
        return b"".join(owed) + error

    def _open(self) -> list[Answer]:
        answers = [writing.answer for writing in self._writing.values()]
        self._writing.clear()
        return answers or ([] if self._ended else [self._new_answer()])


def rewrite_chat(document: Document, new_answer: Callable[[], Answer]) -> list[Summary]:
    """Filter a whole body: every choice an answer of its own.

    Returns:
        The summaries, in the order of the choices.
    """
    summaries: list[Summary] = []
    choices = choices_of(document.value, "message")
    for choice in choices:
        answer = new_answer()
        for path, text, last in texts_of(document, choice):
            visible = answer.feed(text)
            if last:
                visible += answer.finish("complete", _reason(choice))
            if visible != text:
                document.replace(path, visible)
                answer.changed = True
        if answer.summary is None:
            # There was no text, and a policy may put some there.
            shown = _finish(answer, choice, spoken=False)
            path = (
                choice.texts[-1] if choice.texts else (*(choice.message or choice.path), "content")
            )
            if shown:
                document.set(path, shown)
        notes: list[Any] = []
        if choice.message is not None:
            notes = at_path(document.value, choice.message).get("annotations") or []
        if answer.changed:
            _drop_traces(document, choice)
        _sign(document, choice, answer, notes, alone=len(choices) == 1)
        assert answer.summary is not None
        summaries.append(answer.summary)
    return summaries


def _finish(answer: Answer, choice: Choice, *, spoken: bool) -> str:
    """End an answer and return what was held; of a turn that only calls there is none."""
    if spoken or choice.reason not in _CALLS:
        return answer.finish("complete", _reason(choice))
    answer.discard("complete", _reason(choice))
    return ""


def _reason(choice: Choice) -> str | None:
    return None if choice.reason == "stop" else choice.reason


def _drop_traces(document: Document, choice: Choice) -> None:
    """Take out what still shows the text as the model wrote it."""
    if "obfuscation" in document.value:
        # Its length makes up for the length of the text.
        document.remove(("obfuscation",))
    value = at_path(document.value, choice.path)
    chances = value.get("logprobs")
    if isinstance(chances, dict):
        kept = "content" in chances or "refusal" in chances
        if not kept:
            document.replace((*choice.path, "logprobs"), None)
        elif chances.get("content"):
            document.replace((*choice.path, "logprobs", "content"), None)
    if choice.path == ():
        for name in _NATIVE_TRACES:
            if value.get(name):
                document.replace((name,), [])


def _sign(
    document: Document, choice: Choice, answer: Answer, notes: list[Any], alone: bool
) -> None:
    """Write the summary, and beside the text one list of annotations."""
    assert answer.summary is not None
    summary = answer.summary.to_dict()
    document.set(("citestream",) if alone else (*choice.path, "citestream"), summary)
    if choice.message is None:
        return
    kept = [note for note in notes if not (answer.changed and _has_offsets(note))]
    if answer.summary.refused_by == "policy":
        # A refusal above a list of sources reads like a cited answer.
        kept = []
    if len(kept) < len(notes):
        logger.info("dropped %d annotations that point into changed text", len(notes) - len(kept))
    kept += [_url_citation(*noted) for noted in answer.noted]
    if kept or notes:
        document.set((*choice.message, "annotations"), kept)


def _url_citation(start: int, end: int, passage: Any) -> dict[str, Any]:
    return {
        "type": "url_citation",
        "url_citation": {
            "url": passage.url,
            "title": passage.title or passage.url,
            "start_index": start,
            "end_index": end,
        },
    }


def _has_offsets(note: Any) -> bool:
    places = [note, note.get("url_citation")] if isinstance(note, dict) else []
    return any(isinstance(place, dict) and "start_index" in place for place in places)
