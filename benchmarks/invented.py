"""What a real model invents, and what of it reaches a client; it does not know what passes.

    python -m benchmarks.invented           the hundred questions of the demo
    python -m benchmarks.invented 10        every tenth of them

The whole chain is real: the local model behind its HTTP server, a
`CitationResponse` in an application on loopback, a client that reads events.
Markers are counted twice, in what the model wrote and in what the client
shows, with a pattern of this file: the package does not check itself.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route

from citestream import NO_ANSWER, Passages
from citestream.sse import CitationResponse
from demo.local import local_model
from demo.model import LocalModel

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator

    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["Answer", "Questions", "ask", "invented", "labels", "questions", "report"]

# Numbers alone or behind a word for "source", in the brackets that models use.
# "[130 pounds]" and "[2024/1]" are prose to a reader, and so they are here.
_MARKER = re.compile(
    r"[\[【［]\s*(?:(?:source|doc|document|ref|reference|passage|citation)s?[.:]?\s*)?"
    r"(\d+(?:(?:[\s,;，、&–‑-]|and|or)+\d+)*)\s*(?:[†:][^\[\]【】［］\n]*)?[\]】］]",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+")


def labels(text: str) -> list[int]:
    """Return the numbers in all brackets that look like a marker, in the order of the text."""
    return [int(n) for inside in _MARKER.findall(text) for n in _NUMBER.findall(inside)]


def invented(text: str, passages: int) -> list[int]:
    """Return those that no passage has."""
    return [label for label in labels(text) if not 1 <= label <= passages]


@dataclass
class Answer:
    """A question, and what became of its answer on the way."""

    question: str
    answerable: bool
    passages: int
    written: str
    """What the model wrote."""
    shown: str
    """What the client shows."""
    summary: dict[str, Any]


Questions = list[dict[str, Any]]
"""Rows of the demo's `questions.json`."""


def questions() -> Questions:
    """Read the hundred questions, each with one or two passages."""
    text = resources.files("demo").joinpath("questions.json").read_text(encoding="utf-8")
    rows: Questions = json.loads(text)
    return rows


@dataclass
class _Server:
    """The application under test: a retriever that knows its answers, a model, the response."""

    model: LocalModel
    rows: dict[str, dict[str, Any]]
    written: dict[str, str] = field(default_factory=dict)

    async def ask(self, request: Request) -> Response:
        row = self.rows[(await request.json())["id"]]
        passages = Passages(row["passages"])
        return CitationResponse(self._answer(row, passages), passages)

    async def _answer(self, row: dict[str, Any], passages: Passages) -> AsyncGenerator[str, None]:
        """Keep what the model wrote, for the count that the client cannot make."""
        chunks = self.model.answer(row["question"], passages)
        self.written[row["id"]] = ""
        try:
            async for chunk in chunks:
                self.written[row["id"]] += chunk
                yield chunk
        finally:
            await chunks.aclose()


@contextmanager
def _served(app: Starlette) -> Iterator[str]:
    """Serve on a free port of loopback, from a thread of its own."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


async def _read(client: httpx2.AsyncClient, id_: str) -> tuple[str, dict[str, Any]]:
    """Return what a reader sees, and the summary."""
    shown = ""
    summary: dict[str, Any] = {}
    async with client.sse("/ask", method="POST", json={"id": id_}) as events:
        events.response.raise_for_status()
        async for event in events:
            data = json.loads(event.data)
            if event.event == "summary":
                summary = data
            else:
                # An `error` event has no text, and then this fails, as it should.
                shown += data["text"]
    return shown, summary


async def ask(rows: Questions, tell: Callable[[Answer], object]) -> None:
    """Ask the local model through the whole chain, one question after the other."""
    async with local_model() as url:
        server = _Server(LocalModel(url), {row["id"]: row for row in rows})
        app = Starlette(routes=[Route("/ask", server.ask, methods=["POST"])])
        with _served(app) as base:
            async with httpx2.AsyncClient(base_url=base, trust_env=False, timeout=120) as client:
                for row in rows:
                    shown, summary = await _read(client, row["id"])
                    tell(
                        Answer(
                            row["question"],
                            row["answerable"],
                            len(row["passages"]),
                            server.written[row["id"]],
                            shown,
                            summary,
                        )
                    )


def report(answers: list[Answer]) -> dict[str, int]:
    """Count what was written, what was invented and what arrived."""
    return {
        "answers": len(answers),
        "answers with a marker": sum(bool(labels(a.written)) for a in answers),
        "labels written": sum(len(labels(a.written)) for a in answers),
        "labels invented": sum(len(invented(a.written, a.passages)) for a in answers),
        "answers with an invented label": sum(
            bool(invented(a.written, a.passages)) for a in answers
        ),
        "labels that reached the client": sum(len(labels(a.shown)) for a in answers),
        "invented labels that reached the client": sum(
            len(invented(a.shown, a.passages)) for a in answers
        ),
        "refusals": sum(NO_ANSWER in a.written for a in answers),
        "questions without an answer in their passages": sum(not a.answerable for a in answers),
        "refusals among these": sum(NO_ANSWER in a.written for a in answers if not a.answerable),
        "summaries that name an invented label": sum(bool(a.summary["invalid"]) for a in answers),
        "summaries that name a refusal": sum(a.summary["refused_by"] == "model" for a in answers),
    }


def _show(answer: Answer) -> None:
    count = len(invented(answer.written, answer.passages))
    print(f"{count or '-'}  {answer.question}\n     {answer.written!r}", flush=True)


async def _main(every: int) -> int:
    answers: list[Answer] = []

    def tell(answer: Answer) -> None:
        answers.append(answer)
        _show(answer)

    start = time.monotonic()
    await ask(questions()[::every], tell)
    print(f"\n{time.monotonic() - start:.0f} s on one thread\n")
    counts = report(answers)
    for what, count in counts.items():
        print(f"{count:5}  {what}")
    return int(counts["invented labels that reached the client"] > 0)


if __name__ == "__main__":
    sys.exit(anyio.run(_main, int(sys.argv[1]) if len(sys.argv) > 1 else 1))
