"""The recorded answers of a real server, read for tests; it knows no format.

`tests/recorded/record.py` says how they were made. `CHATS` are the plain chat
streams, the fixtures of the main job; `named("responses-")` gives those of
another kind.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["CHATS", "RECORDINGS", "Recording", "named"]

FOLDER = Path(__file__).parent / "recorded"


@dataclass(frozen=True)
class Recording:
    """One answer of the server."""

    name: str
    path: str
    """The endpoint that was asked."""
    request: dict[str, Any]
    """The body of the request."""
    status: int
    content_type: str
    passages: int
    """How many passages the prompt held; they are numbered from 1."""
    texts: dict[str, str]
    """What the model wrote, for each choice or block."""
    body: bytes = field(repr=False)
    """The body of the response, as it came off the wire."""

    @property
    def text(self) -> str:
        """What the model wrote, where there is one text."""
        (text,) = self.texts.values()
        return text

    def __str__(self) -> str:
        return self.name


def _read() -> Iterator[Recording]:
    for path in sorted(FOLDER.glob("*.json")):
        about = json.loads(path.read_text(encoding="utf-8"))
        del about["server"]
        (body,) = (
            path.with_suffix(end) for end in (".sse", ".body") if path.with_suffix(end).exists()
        )
        yield Recording(path.stem, body=body.read_bytes(), **about)


RECORDINGS = list(_read())


def named(prefix: str) -> list[Recording]:
    """Return the recordings whose name begins so."""
    return [recording for recording in RECORDINGS if recording.name.startswith(prefix)]


CHATS = named("chat-q")
