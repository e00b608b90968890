"""What OpenAI Chat Completions look like: the choices of a frame or body, and where their text is.

It knows the two older shapes of the same endpoint as well. It changes nothing and
knows no filter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from citestream.exceptions import UnfilterableResponseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from citestream.wire.splice import Document, Path

__all__ = [
    "IDENTITY",
    "Choice",
    "at_path",
    "choices_of",
    "is_chat",
    "is_only_text",
    "texts_of",
    "unknown_shape",
]

IDENTITY = ("id", "object", "created", "model", "system_fingerprint", "service_tier")
"""What tells a client which stream a frame belongs to.

A frame that is made anew repeats these and nothing else of the frame it was made from.
"""

# What a frame may hold beside text and still carry nothing but text.
_PLAIN_FRAME = frozenset((*IDENTITY, "choices", "obfuscation", "provider"))
_PLAIN_CHOICE = frozenset(("index", "delta", "text", "logprobs", "finish_reason"))


class Choice(NamedTuple):
    """Where one choice of a frame or body keeps its text."""

    number: int
    """Its index among the choices."""
    path: Path
    """Where the choice is."""
    texts: list[Path]
    """Where its text is: one place, or one for each text part."""
    message: Path | None
    """Where text and annotations are told apart; `None` in the older shapes."""
    reason: str | None
    """Its finish reason."""


def is_chat(value: Any) -> bool:
    """Whether a JSON value is a frame or body of this format."""
    return isinstance(value, dict) and (isinstance(value.get("choices"), list) or _is_native(value))


def texts_of(document: Document, choice: Choice) -> Iterator[tuple[Path, str, bool]]:
    """Yield each text of a choice that is not empty, and whether it is the last one."""
    texts: list[tuple[Path, str]] = [(path, at_path(document.value, path)) for path in choice.texts]
    texts = [(path, text) for path, text in texts if text]
    for path, text in texts:
        yield path, text, path == texts[-1][0]


def at_path(value: Any, path: Path) -> Any:
    """Return what a path leads to."""
    for step in path:
        value = value[step]
    return value


def _is_native(value: dict[str, Any]) -> bool:
    # `/completion` of llama.cpp says in every frame whether it is the last.
    return isinstance(value.get("content"), str) and isinstance(value.get("stop"), bool)


def choices_of(value: dict[str, Any], message: str) -> list[Choice]:
    """Find the text of every choice.

    Args:
        value: A frame or a body.
        message: What holds the text: `delta` in frames, `message` in bodies.
    """
    if _is_native(value):
        return [
            Choice(_index(value, 0), (), [("content",)], None, "stop" if value["stop"] else None)
        ]
    choices = value.get("choices")
    if choices is None:
        return []
    if not isinstance(choices, list):
        raise unknown_shape("`choices` to be a list")
    return [_one_choice(choice, at, message) for at, choice in enumerate(choices)]


def _one_choice(choice: Any, at: int, message: str) -> Choice:
    if not isinstance(choice, dict):
        raise unknown_shape("every choice to be an object")
    path: Path = ("choices", at)
    texts: list[Path] = []
    holder = choice.get(message)
    if isinstance(holder, dict):
        texts += _content_paths(holder.get("content"), (*path, message, "content"))
    elif holder is not None:
        raise unknown_shape(f"`{message}` to be an object")
    if isinstance(choice.get("text"), str):
        texts.append((*path, "text"))
    elif choice.get("text") is not None:
        raise unknown_shape("`text` to be a string")
    other = choice.get("message" if message == "delta" else "delta")
    if isinstance(other, dict) and other.get("content"):
        # Text in a place that no client of this format reads from cannot be
        # told from text that repeats what was streamed.
        raise unknown_shape(f"the text of a choice in `{message}`")
    reason = choice.get("finish_reason")
    return Choice(
        _index(choice, at),
        path,
        texts,
        (*path, message) if isinstance(holder, dict) else None,
        reason if isinstance(reason, str) and reason else None,
    )


def _index(choice: dict[str, Any], at: int) -> int:
    index = choice.get("index")
    if index is None:
        return at
    if type(index) is not int:
        raise unknown_shape("the index of a choice to be a number")
    return index


def _content_paths(content: Any, path: Path) -> Iterable[Path]:
    if content is None:
        return []
    if isinstance(content, str):
        return [path]
    if not isinstance(content, list):
        raise unknown_shape("`content` to be text")
    paths: list[Path] = []
    for at, part in enumerate(content):
        if not isinstance(part, dict):
            raise unknown_shape("every part of `content` to be an object")
        if isinstance(part.get("text"), str) and part.get("type") in ("text", "output_text"):
            paths.append((*path, at, "text"))
    return paths


def is_only_text(value: dict[str, Any], choices: list[Choice]) -> bool:
    """Whether a frame has one text and nothing else for anybody."""
    if len(choices) != 1 or len(choices[0].texts) != 1 or choices[0].reason is not None:
        return False
    choice = at_path(value, choices[0].path)
    delta = choice.get("delta") or {}
    return (
        isinstance(at_path(value, choices[0].texts[0][:-1]), dict)
        and _nothing_but(value, _PLAIN_FRAME)
        and _nothing_but(choice, _PLAIN_CHOICE)
        and _nothing_but(delta, frozenset(("content",)))
        and not ("text" in choice and delta)
    )


def _nothing_but(value: dict[str, Any], keys: frozenset[str]) -> bool:
    return all(key in keys or member is None for key, member in value.items())


def unknown_shape(expected: str) -> UnfilterableResponseError:
    """Make the error of a frame or body that this format does not have."""
    return UnfilterableResponseError(
        f"expected {expected} in the OpenAI chat format, got another shape: "
        "name the format with format=, or attach no passages to this response"
    )
