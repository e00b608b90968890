"""JSON documents edited in place: whatever nobody edits keeps its bytes.

It does not know what a document means, only where its values are written.
"""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]
from json.encoder import encode_basestring_ascii
from typing import Any, NamedTuple, TypeAlias

__all__ = ["Document", "Path", "literal"]

Path: TypeAlias = tuple[str | int, ...]
"""The keys and positions that lead to a value."""

_encode = json.JSONEncoder(separators=(",", ":")).encode
_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"[^\s,\]}]+")


class _Member(NamedTuple):
    key: str | int
    start: int
    """Where the member starts, its key included."""
    value: _Node


class _Node(NamedTuple):
    start: int
    end: int
    members: list[_Member]


class Document:
    """A JSON text, its value, and the edits to be made."""

    __slots__ = ("_edits", "_removed", "_root", "text", "value")

    text: str
    """The text as it came."""
    value: Any
    """What the text says."""

    def __init__(self, text: str) -> None:
        """Read a document.

        Raises:
            ValueError: It is not JSON.
        """
        self.text = text
        self.value = json.loads(text)
        self._root: _Node | None = None
        self._edits: list[tuple[int, int, str]] = []
        self._removed: set[Path] = set()

    @property
    def edited(self) -> bool:
        """Whether rendering would change anything."""
        return bool(self._edits)

    def span(self, path: Path) -> tuple[int, int]:
        """Return where the value is written, quotes included."""
        node = self._node(path)
        return node.start, node.end

    def replace(self, path: Path, value: Any) -> None:
        """Write another value in the place of one that is there."""
        self._edits.append((*self.span(path), literal(value)))

    def set(self, path: Path, value: Any) -> None:
        """Write a member of an object: in its place, or as the last one."""
        *parent, key = path
        node = self._node(tuple(parent))
        if any(member.key == key for member in node.members):
            self.replace(path, value)
            return
        left = [m for m in node.members if (*parent, m.key) not in self._removed]
        comma = "," if left or any(start == node.end - 1 for start, _, _ in self._edits) else ""
        self._edits.append((node.end - 1, node.end - 1, f"{comma}{literal(key)}:{literal(value)}"))

    def remove(self, path: Path) -> None:
        """Leave a member of an object out, with its comma."""
        if path in self._removed:
            return
        *parent, key = path
        members = self._node(tuple(parent)).members
        at = next(i for i, member in enumerate(members) if member.key == key)
        if at:
            span = members[at - 1].value.end, members[at].value.end
        elif len(members) > 1:
            span = members[0].start, members[1].start
        else:
            span = members[0].start, members[0].value.end
        self._removed.add(path)
        self._edits.append((*span, ""))

    def render(self) -> str:
        """Return the text with every edit made."""
        pieces: list[str] = []
        at = 0
        for start, end, text in sorted(self._edits, key=lambda edit: edit[:2]):
            pieces += self.text[at:start], text
            at = end
        pieces.append(self.text[at:])
        return "".join(pieces)

    def _node(self, path: Path) -> _Node:
        if self._root is None:
            self._root = _scan(self.text, _skip(self.text, 0))
        node = self._root
        for step in path:
            # The last of equal keys is the one that readers take.
            node = next(m.value for m in reversed(node.members) if m.key == step)
        return node


def literal(value: Any) -> str:
    """Write a value as ASCII JSON in one line."""
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    return _encode(value)


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


def _scan(text: str, at: int) -> _Node:
    # Only called on text that `json.loads` accepted, so nothing is checked
    # again and the depth is one that it could recurse into.
    opener = text[at]
    if opener == '"':
        return _Node(at, scanstring(text, at + 1)[1], [])
    if opener not in "{[":
        match = _SCALAR.match(text, at)
        return _Node(at, at if match is None else match.end(), [])
    members: list[_Member] = []
    start, at = at, _skip(text, at + 1)
    while text[at] not in "}]":
        begin = at
        key: str | int = len(members)
        if opener == "{":
            key, at = scanstring(text, at + 1)
            at = _skip(text, _skip(text, at) + 1)
        value = _scan(text, at)
        members.append(_Member(key, begin, value))
        at = _skip(text, value.end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return _Node(start, at + 1, members)
