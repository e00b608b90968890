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

from citestream import NO_ANSWER, Passages, check_citations

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


def retrieve(question: str, k: int) -> list[Hit]:
    """Find the documents that share the most words with the question."""

    def words(text: str) -> set[str]:
        return set(re.findall(r"\w{3,}", text.lower()))

    shared = {hit: len(words(question) & words(f"{hit.title} {hit.text}")) for hit in DOCUMENTS}
    return sorted((hit for hit in shared if shared[hit]), key=lambda hit: -shared[hit])[:k]


async def generate(question: str, passages: Passages) -> str:
    """Ask the model; this one quotes the first source and then makes one up."""
    prompt = f"{passages.instructions()}\n\n{passages.prompt()}\n\n{question}"
    logger.debug("a prompt of %d characters", len(prompt))
    first = next(iter(passages)).shown.rstrip(".")
    return f"{first} [1]. Weekends do not count [7]."


@app.post("/ask")
async def ask(q: str) -> Answer:
    """Answer a question."""
    hits = retrieve(q, k=5)
    if not hits:
        # Nothing relevant: the model is not called, and nothing is paid for.
        return Answer(answer=NO_ANSWER, sources=[], grounded=False, dropped_citations=[])
    # The prompt and the check are made from the same passages.
    passages = Passages([hit._asdict() for hit in hits])
    checked = check_citations(await generate(q, passages), passages)
    if checked.invalid:
        app.state.dropped += len(checked.invalid)
        logger.warning("dropped citations %s, %d so far", checked.invalid, app.state.dropped)
    return Answer(
        answer=checked.answer,
        sources=[
            Source(n=n, title=hits[n - 1].title, url=hits[n - 1].url)
            for n in checked.cited
            if isinstance(n, int)
        ],
        grounded=checked.grounded,
        dropped_citations=[n for n in checked.invalid if isinstance(n, int)],
    )
