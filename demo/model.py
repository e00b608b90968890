"""The models that answer the demo's questions; they know nothing of filters.

A model gives an answer as an async generator of chunks, and stops asking
its server for more when the generator is closed.
"""

from __future__ import annotations

import json
import re
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Protocol, cast

import anyio
import httpx2

from citestream import NO_ANSWER
from demo.corpus import words
from demo.prompts import few_shot

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence

    from citestream import Passage, Passages

__all__ = ["SCENARIOS", "LocalModel", "Model", "ModelError", "RemoteModel", "ScriptedModel"]


class ModelError(Exception):
    """Raised when a model's server cannot be reached, or answers what is no answer."""


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

    def answer(
        self, question: str, passages: Passages, scenario: str | None
    ) -> AsyncGenerator[str, None]:
        """Give the answer chunk by chunk."""


SCENARIOS: Mapping[str, str] = {
    "invented": "cites a source that does not exist",
    "clean": "cites as it was told to",
    "split": "splits every marker over several chunks",
    "code": "answers with code that is full of brackets",
    "uncited": "cites nothing",
    "refusal": "refuses",
}
"""What the scripted model can be told to do, the page's first choice first."""

_CHUNK = re.compile(r"\s*\S+|\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")

# An invented number is past the last passage; a year is one that models like.
_FAR = 5


class ScriptedModel:
    """A model that misbehaves on cue, and otherwise says what the passages say."""

    name = "scripted"
    scenarios = SCENARIOS
    most_passages = 4

    def __init__(self, pause: float = 0.03) -> None:
        # About thirty words a second: fast for a reader, slow enough to watch.
        self._pause = pause

    async def answer(
        self, question: str, passages: Passages, scenario: str | None
    ) -> AsyncGenerator[str, None]:
        """Give the scripted answer word by word, or cut worse where the script says so."""
        text = script(question, list(passages), scenario or next(iter(SCENARIOS)))
        pieces = list(_split(text)) if scenario == "split" else _CHUNK.findall(text)
        for piece in pieces:
            await anyio.sleep(self._pause)
            yield piece


def script(question: str, passages: Sequence[Passage], scenario: str) -> str:
    """Write the answer that a scenario asks for."""
    claims = _claims(question, passages)
    invented = len(passages) + _FAR
    match scenario:
        case "clean":
            return " ".join(f"{claim} [{label}]." for claim, label in claims)
        case "invented" | "split":
            (claim, label), *rest = claims
            more = "".join(f" {other} [{number}, {invented}]." for other, number in rest)
            return f"{claim} [{label}].{more} A helmet is lent out for free [{invented}]."
        case "code":
            claim, label = claims[0]
            return (
                f"{claim} [{label}]. Read it like this:\n\n"
                "```python\n"
                "rows = table[0]\n"
                f"print(rows[{invented}], rows[1])\n"
                "```\n\n"
                f"Here `rows[{invented}]` is code and stays, and this is a citation of "
                f"nothing [{invented}]."
            )
        case "uncited":
            return " ".join(f"{claim}." for claim, _ in claims)
        case "refusal":
            return NO_ANSWER
        case _:
            raise ValueError(f"expected one of {', '.join(SCENARIOS)}, got {scenario!r:.40}")


def _claims(question: str, passages: Sequence[Passage]) -> list[tuple[str, Any]]:
    """Return the sentence of each of the two best passages that shares most with the question."""
    asked = words(question)
    claims = []
    for passage in passages[:2]:
        sentences = _SENTENCE_END.split(passage.shown.strip())
        best = max(sentences, key=lambda sentence: len(asked & words(sentence)))
        claims.append((best.rstrip(".!?"), passage.label))
    return claims


def _split(text: str) -> Iterator[str]:
    """Cut a text into words, and its markers into single characters."""
    for piece in re.split(r"(\[[^\]]*\])", text):
        yield from piece if piece.startswith("[") else _CHUNK.findall(piece)


# A local server loads its model at the first question; after that a chunk a
# second is slow already.
_TIMEOUT = httpx2.Timeout(60, connect=5)


class RemoteModel:
    """A model behind an OpenAI-compatible endpoint."""

    scenarios: Mapping[str, str] = {}
    most_passages = 4

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

    def messages(self, question: str, passages: Passages) -> list[dict[str, str]]:
        """Return the prompt, from the same passages that the answer is checked against."""
        return [
            {"role": "system", "content": passages.instructions()},
            {"role": "user", "content": f"{passages.prompt()}\n\nQuestion: {question}"},
        ]

    async def answer(
        self, question: str, passages: Passages, scenario: str | None
    ) -> AsyncGenerator[str, None]:
        """Ask the endpoint, and give its answer as it arrives."""
        del scenario  # It follows no script.
        try:
            async with httpx2.AsyncClient(headers=self._headers, timeout=_TIMEOUT) as client:
                request = {
                    "model": self._model_name or await self._first_listed(client),
                    "messages": self.messages(question, passages),
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

    options: Mapping[str, Any] = {
        # Past three sentences it only repeats itself.
        "max_tokens": 80,
        # The same question gets the same answer, and the most likely one is bad enough.
        "temperature": 0,
    }

    def __init__(self, url: str) -> None:
        super().__init__(url, "SmolLM2-135M-Instruct")

    def messages(self, question: str, passages: Passages) -> list[dict[str, str]]:
        """Return the prompt that shows by example what is wanted."""
        return few_shot(question, passages)


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
