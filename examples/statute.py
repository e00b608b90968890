"""A statute assistant: four sentences or fewer, each with its provision, or a refusal.

    pip install 'citestream[cli]'
    python -m examples.statute 'Which practices are banned outright?'
    python -m examples.statute --scores | citestream floor -

    pip install uvicorn
    uvicorn examples.statute:app
    curl -N '127.0.0.1:8000/ask?q=Which+practices+are+banned+outright'

The retriever and the model are stand-ins, so that it runs as it is: replace
`retrieve` and `generate`. Why an answer was refused, and its draft, are in the log
alone (`citestream` and `citestream.draft`). It does not know whether a provision
says what the sentence says that cites it.
"""

from __future__ import annotations

import asyncio
import csv
import json
import math
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.routing import Route

from citestream.claims import overlap
from citestream.policy import AnswerPolicy
from citestream.respond import AnswerStream, Prompt, respond
from citestream.sse import CitationResponse
from citestream.styles import LABEL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from citestream.respond import Generate

__all__ = [
    "FLOOR",
    "POLICY",
    "QUESTIONS",
    "STATUTE",
    "answer",
    "app",
    "generate",
    "main",
    "retrieve",
    "scores",
]

HERE = Path(__file__).parent

STATUTE: list[dict[str, Any]] = json.loads((HERE / "statute.json").read_text("utf-8"))
"""The by-law, cut at its own articles and paragraphs, so that a label names one text."""

QUESTIONS = [*csv.DictReader((HERE / "statute_questions.csv").read_text("utf-8").splitlines())]
"""Questions that the by-law answers, and others, to measure the floor with."""

FLOOR = 0.2
"""Below this best score the model is not asked.

Measured on the questions, as the third line above does it: it refuses none that
the by-law answers. Measure again after any change of the retriever or of the by-law.
"""

POLICY = AnswerPolicy.strict(
    floor=FLOOR,
    max_sentences=4,
    unsupported="refuse",
    refusal="The by-law does not answer this question.",
)
"""Every sentence has its provision, nothing is invented, and no number is another than the
provision's; else the reader gets the refusal. Prose about something else passes."""

MOST_FOUND = 5


# The retriever: words in common, rare ones first.

_STOP_WORDS = frozenset(
    "a an and are as at be by do does for from have how i if in is it may not of on or that the "
    "this to what when which who with".split()
)


def _words(text: str) -> set[str]:
    found = set(re.findall(r"[a-z]{2,}", text.lower())) - _STOP_WORDS
    # Six letters do for a stem: "inspects" and "inspection" share them.
    return {word[:6].rstrip("sd") for word in found}


_WORDS = [_words(f"{provision['title']} {provision['text']}") for provision in STATUTE]
_COMMON = Counter(word for words in _WORDS for word in words)


def _weight(words: set[str]) -> float:
    return sum(math.log(1 + (len(STATUTE) + 1) / (_COMMON[word] + 0.5)) for word in words)


def retrieve(question: str) -> list[dict[str, Any]]:
    """Find the provisions for a question, the best first, each with its score from 0 to 1."""
    asked = _words(question)
    whole = _weight(asked)
    found = [
        {**provision, "score": _weight(asked & words) / whole}
        for provision, words in zip(STATUTE, _WORDS, strict=True)
        if asked & words
    ]
    return sorted(found, key=lambda provision: -provision["score"])[:MOST_FOUND]


# The model: quotes what it was given.


async def generate(prompt: Prompt) -> AsyncIterator[str]:
    """Ask the model; this one quotes the sentence of its prompt that is closest to the question."""
    asked = _words(prompt.question)
    quotes = [
        (len(_words(sentence) & asked), sentence, label)
        for label, text in re.findall(r"(?m)^\[(.+)\] .+\n(.+)$", str(prompt))
        for sentence in re.split(r"(?<=\.) ", text)
    ]
    _, sentence, label = max(quotes, key=lambda quote: quote[0])
    for piece in re.findall(r"\S+\s*", _quoted(sentence, label)):
        yield piece


def _quoted(sentence: str, label: str) -> str:
    """Return a sentence with its label; a list of points with one behind each point."""
    head, *points = re.split(r"\((\w)\) ", sentence.rstrip("."))
    if not head.endswith(": "):
        return f"{sentence.rstrip('.')} [{label}]."
    cited = [
        f"{text.rstrip('; ')} [{label}({point})]"
        for point, text in zip(points[::2], points[1::2], strict=True)
    ]
    return f"{head}{', '.join(cited)}."


# The assistant.


def answer(question: str, model: Generate = generate) -> AnswerStream:
    """Answer a question from the by-law, or refuse.

    A broader label is accepted, and a narrower one if its point stands in the
    text: `Article 5(1)(h)` from `Article 5(1)`, and never `Article 5(1)(z)`.
    """
    return respond(
        question, retrieve, model, POLICY, verify=overlap, style=LABEL, match="hierarchical"
    )


async def ask(request: Request) -> CitationResponse:
    """Stream the answer to a question, as server-sent events."""
    return CitationResponse(answer(request.query_params["q"]))


app = Starlette(routes=[Route("/ask", ask)])
"""The application."""


def scores() -> str:
    """Return the questions with the best score of each, as `citestream floor` takes them."""
    lines = ["question,in_scope,score"]
    for row in QUESTIONS:
        best = max((found["score"] for found in retrieve(row["question"])), default=0.0)
        lines.append(f'"{row["question"]}",{row["in_scope"]},{best:.3f}')
    return "\n".join(lines)


async def main(question: str) -> None:
    """Print the answer to a question and the provisions that it cites."""
    async with answer(question) as stream:
        print("".join([text async for text in stream.text()]))
    if stream.summary is not None:
        for passage in stream.summary.passages:
            print(f"\n{passage.label}, {passage.title}\n{passage.text}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--scores"]:
        print(scores())
    else:
        asyncio.run(main(" ".join(sys.argv[1:])))
