"""The models that answer the demo's questions; they know nothing of filters.

A model gives an answer as an async generator of chunks, and stops asking
its server for more when the generator is closed.
"""

from __future__ import annotations

import json
import re
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

import anyio
import httpx2

from demo.prompts import few_shot
from demo.scripts import SCENARIOS, script

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping

    from citestream import Passages

__all__ = [
    "AS_IT_IS",
    "LocalModel",
    "Manner",
    "Model",
    "ModelError",
    "RemoteModel",
    "ScriptedModel",
]


class ModelError(Exception):
    """Raised when a model's server cannot be reached, or answers what is no answer."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How an answer is to be given, as far as a model can be told."""

    scenario: str | None = None
    """What a scripted model does."""
    pause: float | None = None
    """Seconds before each chunk of a scripted model."""
    chunk: int = 0
    """Characters in a chunk of a scripted model; 0 cuts at words."""
    stricter: str | None = None
    """What was wrong with the answer before, and must not come again."""


AS_IT_IS = Manner()
"""As the model likes it."""


class Model(Protocol):
    """Anything that answers a question from passages."""

    @property
    def name(self) -> str:
        """What the page calls it."""

    @property
    def scenarios(self) -> Mapping[str, str]:
        """What it can be told to do, in words; empty for a model that follows no script."""

    @property
    def most_passages(self) -> int:
        """How many passages its prompt may hold."""

    @property
    def numbers_only(self) -> bool:
        """Whether it cites by bare numbers whatever it is told."""

    def answer(
        self, question: str, passages: Passages, manner: Manner = AS_IT_IS
    ) -> AsyncGenerator[str, None]:
        """Give the answer chunk by chunk."""


MOST_PASSAGES = 8
"""How many passages fit beside an answer on a page."""

_CHUNK = re.compile(r"\s*\S+|\s+")
_BRACKET = re.compile(r"(\[[^\]]*\])")

# Long enough to see what is held, and to stop.
_SILENCE = 10


class ScriptedModel:
    """A model that misbehaves on cue, and otherwise says what the passages say."""

    name = "scripted"
    scenarios = SCENARIOS
    most_passages = MOST_PASSAGES
    numbers_only = False

    def __init__(self, pause: float = 0.03) -> None:
        # About thirty words a second: fast for a reader, slow enough to watch.
        self._pause = pause

    async def answer(
        self, question: str, passages: Passages, manner: Manner = AS_IT_IS
    ) -> AsyncGenerator[str, None]:
        """Give the scripted answer word by word, or cut worse where the script says so."""
        scenario = manner.scenario or next(iter(SCENARIOS))
        if manner.stricter is not None and scenario != "stubborn":
            scenario = "clean"
        pause = self._pause if manner.pause is None else manner.pause
        text = script(question, passages, scenario)
        for piece in _pieces(text, scenario, manner.chunk):
            await anyio.sleep(pause)
            yield piece
        if scenario == "broken":
            raise ModelError("the script ends here")
        if scenario == "silent":
            # The pieces ended inside the last marker.
            await anyio.sleep(_SILENCE)
            yield text[text.rindex("[") + 2 :]


def _pieces(text: str, scenario: str, chunk: int) -> Iterator[str]:
    """Cut a script as it is to arrive."""
    if scenario in {"broken", "silent"}:
        text = text[: text.rindex("[") + 2]
    if scenario == "split":
        for piece in _BRACKET.split(text):
            yield from piece if piece.startswith("[") else _CHUNK.findall(piece)
    elif chunk:
        yield from (text[at : at + chunk] for at in range(0, len(text), chunk))
    else:
        yield from _CHUNK.findall(text)


# A local server loads its model at the first question; after that a chunk a
# second is slow already.
_TIMEOUT = httpx2.Timeout(60, connect=5)


class RemoteModel:
    """A model behind an OpenAI-compatible endpoint."""

    scenarios: Mapping[str, str] = {}
    most_passages = MOST_PASSAGES
    numbers_only = False

    options: Mapping[str, Any] = {"max_tokens": 512}
    """What every request says besides the prompt; four cited sentences fit in half of it."""

    def __init__(self, url: str, model_name: str | None = None, key: str | None = None) -> None:
        parsed = httpx2.URL(url)
        if parsed.scheme not in {"http", "https"} or not parsed.host:
            raise ValueError(f"expected scripted, local or a URL with http(s), got {url!r:.80}")
        self.name = model_name or parsed.host
        self._url = url.rstrip("/")
        self._model_name = model_name
        self._headers = {"authorization": f"Bearer {key}"} if key else {}

    def messages(
        self, question: str, passages: Passages, stricter: str | None = None
    ) -> list[dict[str, str]]:
        """Return the prompt, from the same passages that the answer is checked against."""
        rules = passages.instructions()
        return [
            {"role": "system", "content": f"{rules}\n{stricter}" if stricter else rules},
            {"role": "user", "content": f"{passages.prompt()}\n\nQuestion: {question}"},
        ]

    async def answer(
        self, question: str, passages: Passages, manner: Manner = AS_IT_IS
    ) -> AsyncGenerator[str, None]:
        """Ask the endpoint, and give its answer as it arrives."""
        try:
            async with httpx2.AsyncClient(headers=self._headers, timeout=_TIMEOUT) as client:
                request = {
                    "model": self._model_name or await self._first_listed(client),
                    "messages": self.messages(question, passages, manner.stricter),
                    "stream": True,
                    **self.options,
                }
                url = f"{self._url}/chat/completions"
                async with client.sse(url, method="POST", json=request) as events:
                    events.response.raise_for_status()
                    # Closing this generator closes none inside it by itself.
                    generator = cast("AsyncGenerator[httpx2.ServerSentEvent, None]", aiter(events))
                    async with aclosing(generator) as frames:
                        async for frame in frames:
                            if frame.data.strip() == "[DONE]":
                                return
                            if chunk := _content(frame.data):
                                yield chunk
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ModelError(f"{self._url}: {type(error).__name__}: {error}") from error

    async def _first_listed(self, client: httpx2.AsyncClient) -> str:
        response = await client.get(f"{self._url}/models")
        response.raise_for_status()
        try:
            return str(response.json()["data"][0]["id"])
        except (ValueError, LookupError, TypeError) as error:
            raise ModelError(f"{self._url}/models lists no model") from error


class LocalModel(RemoteModel):
    """The small model on this machine, asked in the one way it understands."""

    # A longer prompt keeps a reader waiting, on one thread.
    most_passages = 2

    # It continues its examples, and these are numbered.
    numbers_only = True

    options: Mapping[str, Any] = {
        # Past three sentences it only repeats itself.
        "max_tokens": 80,
        # The same question gets the same answer, and the most likely one is bad enough.
        "temperature": 0,
    }

    def __init__(self, url: str) -> None:
        super().__init__(url, "SmolLM2-135M-Instruct")

    def messages(
        self, question: str, passages: Passages, stricter: str | None = None
    ) -> list[dict[str, str]]:
        """Return the prompt that shows by example what is wanted."""
        *examples, last = few_shot(question, passages)
        if stricter:
            last = {**last, "content": f"{last['content']} {stricter}"}
        return [*examples, last]


def _content(data: str) -> str | None:
    """Return the text of one frame, if it has any: the last frames carry none."""
    try:
        frame = json.loads(data)
        if "error" in frame:
            raise ModelError(f"the endpoint ended with an error: {frame['error']!r:.200}")
        choices = frame["choices"]
        content = choices[0]["delta"].get("content") if choices else None
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ModelError(f"expected a chat completion frame, got {data!r:.80}") from error
    if not isinstance(content, str | None):
        raise ModelError(f"expected text, got {content!r:.80}")
    return content
