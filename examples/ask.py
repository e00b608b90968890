"""A question endpoint: it answers from passages, and returns only the sources that were cited.

    pip install citestream fastapi uvicorn
    uvicorn examples.ask:app
    curl -X POST '127.0.0.1:8000/ask?q=How+long+does+a+refund+take'

The retriever and the model are stand-ins, so that it runs as it is: replace
`retrieve` and `generate`. It does not know whether a source supports a sentence.
"""

from __future__ import annotations

import logging
import re
from typing import NamedTuple

from fastapi import FastAPI
from pydantic import BaseModel

from citestream.policy import AnswerPolicy
from citestream.respond import Prompt, respond

__all__ = ["app"]

logger = logging.getLogger(__name__)

app = FastAPI()
"""The application."""
# How many citations were dropped so far. A rising rate is an early sign that a
# change of prompt or model made things worse: give it to your metrics.
app.state.dropped = 0


class Hit(NamedTuple):
    """What the retriever found."""

    title: str
    url: str
    text: str


# With nothing found the model is not called, and nothing is paid for. An answer
# that cites nothing is asked for once more; then it is shown, and is not grounded.
POLICY = AnswerPolicy(emit="answer", no_passages="refuse", no_citation="retry", fallback="warn")

DOCUMENTS = [
    Hit("Refunds", "https://docs.example/refunds", "A refund takes five days."),
    Hit("Late fees", "https://docs.example/fees", "A late return costs two euros a day."),
    Hit("Helmets", "https://docs.example/helmets", "A helmet is free with every ride."),
]


class Source(BaseModel):
    """A passage that the answer cites."""

    n: int
    title: str
    url: str


class Answer(BaseModel):
    """What a reader gets."""

    answer: str
    sources: list[Source]
    grounded: bool
    dropped_citations: list[int]


def retrieve(question: str) -> list[dict[str, str]]:
    """Find the five documents that share the most words with the question."""

    def words(text: str) -> set[str]:
        return set(re.findall(r"\w{3,}", text.lower()))

    shared = {hit: len(words(question) & words(f"{hit.title} {hit.text}")) for hit in DOCUMENTS}
    found = sorted((hit for hit in shared if shared[hit]), key=lambda hit: -shared[hit])
    return [hit._asdict() for hit in found[:5]]


async def generate(prompt: Prompt) -> list[str]:
    """Ask the model; this one quotes the first source and then makes one up."""
    logger.debug("a prompt of %d characters", len(str(prompt)))
    first = next(iter(prompt.passages)).shown.rstrip(".")
    return [f"{first} [1].", " Weekends do not count [7]."]


@app.post("/ask")
async def ask(q: str) -> Answer:
    """Answer a question."""
    async with respond(q, retrieve, generate, POLICY) as stream:
        answer = "".join([text async for text in stream.text()])
    summary = stream.summary
    assert summary is not None  # the answer has ended
    dropped = [n for n in summary.invalid if isinstance(n, int)]
    if dropped:
        app.state.dropped += len(dropped)
        logger.warning("dropped citations %s, %d so far", dropped, app.state.dropped)
    return Answer(
        answer=answer,
        sources=[
            Source(n=passage.label, title=passage.title, url=passage.url)
            for passage in summary.passages
        ],
        grounded=summary.grounded,
        dropped_citations=dropped,
    )
