"""The text in what a source gives: `str`, bytes, and the stream items of known SDKs.

It knows no citation and does not pull. Items are told apart by their shape, so
that no SDK is imported, and each rule takes the one place where the text stands
once: many SDKs send it again, as a snapshot or in a closing event.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeAlias

from citestream.exceptions import SourceError

__all__ = ["ItemReader", "TextOf"]

TextOf: TypeAlias = Callable[[Any], str | bytes | None]
"""The caller's own way to take the text out of an item."""

# Items with a `type`, by that type: the way to the text, which may be missing.
_TEXT_AT: dict[str, tuple[str, ...]] = {
    # OpenAI: chat through the streaming helper, Responses
    "content.delta": ("delta",),
    "response.output_text.delta": ("delta",),
    # Anthropic: thinking and tool input have no `text` in their delta
    "content_block_start": ("content_block", "text"),
    "content_block_delta": ("delta", "text"),
    # Cohere
    "content-delta": ("delta", "message", "content", "text"),
    # LangChain, and LangGraph around it
    "AIMessageChunk": ("content",),
    "Generation": ("text",),
    "ai": ("content",),
    "messages": ("data",),
    # AI SDK, AG-UI
    "text-delta": ("delta",),
    "TEXT_MESSAGE_CONTENT": ("delta",),
    "TEXT_MESSAGE_CHUNK": ("delta",),
}

# What the same SDKs send besides. One of these, or of the above, tells that the
# source is a known one: a type that is not listed is then one that came later,
# and holds nothing to read. Before that it is an SDK nobody knows.
_WITHOUT_TEXT = re.compile(
    r"""
      chunk | content\.done | keepalive | (refusal|logprobs|tool_calls|response)\..*    # OpenAI
    | message_(start|delta|stop) | content_block_stop | ping | error                    # Anthropic
    | text | thinking | signature | citation | input_json                     # and its helper's
    | message-(start|end) | content-(start|end) | citation-.* | tool-(plan|call)-.*     # Cohere
    | (human|system|tool|function|chat) | (Human|System|Tool|Function|Chat)Message(Chunk)?
    | updates | values | custom | debug | tasks | checkpoints                           # LangGraph
    | start(-step)? | finish(-step)? | text-(start|end) | (reasoning|tool|source|data)-.*  # AI SDK
    | file | message-metadata | abort
    | (RUN|STEP|TEXT_MESSAGE|TOOL_CALL|THINKING|REASONING|STATE|MESSAGES|ACTIVITY)_.*   # AG-UI
    | RAW | CUSTOM
    """,
    re.VERBOSE,
)

# After how many items that each hold all of the text before them this is taken
# for what the source does, and how many different characters that text has at
# least: "1", "10", "100" may well be three chunks of a number.
_CUMULATIVE_ITEMS = 3
_CUMULATIVE_CHARACTERS = 8

# LangGraph's event around a tuple around a message around a list is the deepest.
_MOST_NESTED = 4


class ItemReader:
    """Reads the text of the items of one source, in order.

    Args:
        text: Takes the text out of an item, instead of the rules here.
    """

    __slots__ = ("_decoder", "_known", "_previous", "_repeats", "_text", "plain")

    def __init__(self, text: TextOf | None = None) -> None:
        self.plain = False
        """Whether an item that is a `str` is its own text, and nothing else is to be done."""
        self._text = text
        self._decoder: codecs.IncrementalDecoder | None = None
        self._known = False
        # The text of the last item, for as long as each holds the one before it.
        self._previous: str | None = ""
        self._repeats = 1

    def read(self, item: Any) -> str:
        """Return the text of the next item, or `""` when it has none.

        Raises:
            SourceError: Nobody knows where the item has its text, or the
                source repeats the whole answer in each.
        """
        found: Any = item
        if self._text is not None:
            found = self._text(item)
        elif not isinstance(item, str):
            found = self._text_in(item, 0)
        if not isinstance(found, str) or self._decoder is not None:
            found = self._decoded(found)
        if self._previous is not None and found:
            self._watch(found)
        chunk: str = found
        return chunk

    def finish(self) -> str:
        """Return what a source of bytes left unfinished: half a character at its end."""
        if self._decoder is None:
            return ""
        decoder, self._decoder = self._decoder, None
        return decoder.decode(b"", final=True)

    def _decoded(self, text: object) -> str:
        if isinstance(text, str):
            # Half a character before it stays half a character.
            return self.finish() + text
        if text is None:
            return ""
        if not isinstance(text, bytes | bytearray | memoryview):
            raise SourceError(
                f"expected text= to return str, bytes or None, got {_name_of(text)}: "
                "return the text of the one item"
            )
        if self._decoder is None:
            # Bytes that are not UTF-8 go through, and come out as they were.
            self.plain = False
            self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        return self._decoder.decode(bytes(text))

    def _watch(self, text: str) -> None:
        previous = self._previous or ""
        if not text.startswith(previous):
            self._previous = None
            self.plain = self._text is None and self._decoder is None
            return
        self._previous = text
        if previous and len(text) > len(previous):
            self._repeats += 1
            different = len(set(previous))
            if self._repeats >= _CUMULATIVE_ITEMS and different >= _CUMULATIVE_CHARACTERS:
                raise SourceError(
                    "expected each item to be the next piece of the answer, got items that each "
                    "repeat all of it so far: ask the source for deltas (pydantic-ai: delta=True), "
                    "or cut them with text="
                )

    def _text_in(self, item: Any, depth: int) -> Any:
        """Return the text of an item of a known shape: str or bytes, `None` if it has none."""
        if isinstance(item, str | bytes | bytearray | memoryview) or (item is None and depth):
            return item
        if depth > _MOST_NESTED:
            raise _unknown(item)
        if isinstance(item, list) and depth:
            return "".join(map(_text_of_block, item))
        if isinstance(item, tuple):
            return self._text_in(_told_from_mode(item), depth + 1)
        kind = _get(item, "type")
        if isinstance(kind, Enum):
            kind = kind.value
        if isinstance(kind, str):
            return self._text_in_typed(item, kind, depth)
        return self._text_in_untyped(item, depth)

    def _text_in_typed(self, item: Any, kind: str, depth: int) -> Any:
        way = _TEXT_AT.get(kind)
        if way is not None:
            self._known = True
            for name in way:
                item = _get(item, name)
            return self._text_in(item, depth + 1)
        # A content block; Anthropic's helper repeats the text of its raw events in one.
        if kind == "text" and not _has(item, "snapshot"):
            return self._text_in(_get(item, "text"), depth + 1)
        if _WITHOUT_TEXT.fullmatch(kind):
            self._known = True
        elif not self._known:
            raise _unknown(item, f" with the type {kind[:_MOST_SHOWN]!r}")
        return None

    def _text_in_untyped(self, item: Any, depth: int) -> Any:
        # pydantic-ai: a part starts with text; that it ends repeats all of it.
        if _has(item, "event_kind"):
            return _text_of_part(item)
        # LangChain's astream_events: chains repeat what their models said.
        if _has(item, "event") and _has(item, "data"):
            said = _get(item, "event") in {"on_chat_model_stream", "on_llm_stream"}
            return self._text_in(_get(_get(item, "data"), "chunk"), depth + 1) if said else None
        # Mistral puts the chunk of a chat into an event.
        if _has(_get(item, "data"), "choices"):
            item = _get(item, "data")
        # OpenAI's chat and completions, and the many that speak it.
        if _has(item, "choices"):
            return self._text_in(_only(_get(item, "choices"), _text_of_choice), depth + 1)
        # Google
        if _has(item, "candidates"):
            return _only(_get(item, "candidates"), _text_of_candidate)
        # LlamaIndex: `text` and `message` beside it are the whole answer so far.
        if _has(item, "delta"):
            return self._text_in(_get(item, "delta"), depth + 1)
        for name in ("text", "content"):
            if isinstance(_get(item, name), str | list):
                return self._text_in(_get(item, name), depth + 1)
        # Ollama
        if _has(item, "message"):
            return self._text_in(_get(_get(item, "message"), "content"), depth + 1)
        if _has(item, "response") and _has(item, "done"):
            return self._text_in(_get(item, "response"), depth + 1)
        raise _unknown(item)


# What an error repeats of a value it did not make.
_MOST_SHOWN = 40


def _unknown(item: object, more: str = "") -> SourceError:
    return SourceError(
        "expected str, bytes or an item of a known SDK's stream, "
        f"got {_name_of(item)}{more}: say with text= where its text is"
    )


def _name_of(item: object) -> str:
    kind = type(item)
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )


def _get(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def _has(item: Any, name: str) -> bool:
    return name in item if isinstance(item, Mapping) else hasattr(item, name)


def _told_from_mode(item: tuple[Any, ...]) -> Any:
    """Return what a LangGraph tuple is about: (message, metadata) or (mode, data)."""
    if len(item) == 2 and isinstance(item[0], str):
        mode, data = item
        if mode == "messages":
            return data
        if _WITHOUT_TEXT.fullmatch(mode):
            return None
    elif item and not isinstance(item[0], str | bytes | tuple):
        return item[0]
    raise _unknown(item)


def _only(several: Any, text_of: Callable[[Any], Any]) -> Any:
    """Return the text of the first choice: the reader sees one answer."""
    found = None
    for one in several or ():
        text = text_of(one)
        if not _get(one, "index"):
            found = text
        elif text:
            raise SourceError(
                "expected a source with one answer, got several choices: "
                "ask for one (n=1), or pick one with text="
            )
    return found


def _text_of_choice(choice: Any) -> Any:
    return _get(_get(choice, "delta"), "content") if _has(choice, "delta") else _get(choice, "text")


def _text_of_candidate(candidate: Any) -> str:
    parts = _get(_get(candidate, "content"), "parts") or ()
    return "".join(_get(part, "text") or "" for part in parts if not _get(part, "thought"))


def _text_of_part(event: Any) -> Any:
    kind = _get(event, "event_kind")
    if kind == "part_start" and _get(_get(event, "part"), "part_kind") == "text":
        return _get(_get(event, "part"), "content")
    if kind == "part_delta" and _get(_get(event, "delta"), "part_delta_kind") == "text":
        return _get(_get(event, "delta"), "content_delta")
    return None


def _text_of_block(block: Any) -> str:
    """Return the text of a content block; thinking, tools and images have none."""
    if isinstance(block, str):
        return block
    text = _get(block, "text") if _get(block, "type") in {"text", "output_text"} else None
    return text if isinstance(text, str) else ""
