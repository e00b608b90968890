"""What the body of a request says about its answer: the passages, and whether it is to be JSON.

It does not know how the request arrived.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from citestream.exceptions import PassageError
from citestream.wire.splice import Document

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SOURCE_PATTERNS", "BodyPassages", "PromptPassages", "asks_for_json"]

# How prompts number their sources: the number, then the text up to the next.
SOURCE_PATTERNS: dict[str, re.Pattern[str]] = {
    "brackets": re.compile(r"^[ \t]*\[([0-9]{1,5})\][ \t]*:?[ \t]*", re.MULTILINE),
    "source": re.compile(r"^[ \t]*Source[ \t]+([0-9]{1,5})[ \t]*:[ \t]*", re.MULTILINE),
    "document": re.compile(r"^[ \t]*Document[ \t]+\[?([0-9]{1,5})\]?[ \t]*:?[ \t]*", re.MULTILINE),
    "dot": re.compile(r"^[ \t]*([0-9]{1,5})\.[ \t]+", re.MULTILINE),
}
"""The patterns by name: `[1] text`, `Source 1: text`, `Document 1: text`, `1. text`."""


def asks_for_json(body: bytes) -> bool:
    """Whether a request asks for an answer that is a JSON document."""
    if b"json" not in body:
        return False
    value = _read(body)
    if not isinstance(value, dict):
        return False
    wanted = value.get("response_format")
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    # Servers of open models have names of their own for a schema.
    return kind in ("json_object", "json_schema") or any(
        value.get(name) for name in ("json_schema", "guided_json", "structured_outputs")
    )


@dataclass(frozen=True, slots=True)
class BodyPassages:
    """Passages that the client sends along, in a field of its JSON body.

    The field is taken out before anything else sees the body.
    """

    field: str = "passages"
    """The name of the field."""

    def take(self, body: bytes) -> tuple[bytes, Any]:
        """Return the body without the field, the rest byte for byte, and what the field held.

        The second is `None` when the field is not there or the body is no
        JSON object.
        """
        try:
            document = Document(body.decode("utf-8"))
        except (ValueError, RecursionError):
            return body, None
        value = document.value
        if not isinstance(value, dict) or self.field not in value:
            return body, None
        document.remove((self.field,))
        return document.render().encode(), value[self.field]


@dataclass(frozen=True, slots=True)
class PromptPassages:
    """Passages that are numbered in the prompt of the request itself.

    Whoever writes the prompt says what counts as a source.
    """

    pattern: str = "brackets"
    """How they are numbered: a name of `SOURCE_PATTERNS`."""

    def __post_init__(self) -> None:
        """Refuse a name that is none."""
        if self.pattern not in SOURCE_PATTERNS:
            names = ", ".join(sorted(SOURCE_PATTERNS))
            raise PassageError(f"expected a pattern among {names}, got {self.pattern!r}")

    def find(self, body: bytes) -> list[str] | None:
        """Return the texts of sources 1, 2, 3 and so on.

        The last text of the prompt that has a source 1 counts: earlier turns
        may show the sources of earlier answers. `None` when none has one.
        """
        found: list[str] | None = None
        for text in _prompt_texts(_read(body)):
            found = _sources(text, SOURCE_PATTERNS[self.pattern]) or found
        return found


def _sources(text: str, pattern: re.Pattern[str]) -> list[str]:
    starts: list[re.Match[str]] = []
    for match in pattern.finditer(text):
        number = int(match[1])
        if number == 1:
            starts = [match]
        elif number == len(starts) + 1:
            starts.append(match)
    if not starts:
        return []
    ends = [match.start() for match in starts[1:]] + [len(text)]
    return [text[m.end() : end].strip() for m, end in zip(starts, ends, strict=True)]


def _prompt_texts(value: Any) -> Iterator[str]:
    """Yield the texts of a prompt in order: messages, their text parts, or a bare prompt."""
    if not isinstance(value, dict):
        return
    for name in ("system", "prompt"):
        if isinstance(value.get(name), str):
            yield value[name]
    messages = value.get("messages")
    for message in messages if isinstance(messages, list) else []:
        if not isinstance(message, dict) or message.get("role") == "assistant":
            continue
        content = message.get("content")
        for part in content if isinstance(content, list) else [content]:
            text = part.get("text") if isinstance(part, dict) else part
            if isinstance(text, str):
                yield text


def _read(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
