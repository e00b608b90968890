"""The demo's documents, and which of them a question finds.

It knows no model and no server; words are compared, nothing is learned.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

__all__ = ["Corpus", "Document", "load", "words"]

_WORD = re.compile(r"\w+")

# Two words are taken for one when they begin alike: "cancel" finds
# "cancelled". Five letters keep "station" from "state" and cost no dictionary.
_STEM = 5

# Words of every question and of every document say nothing of either.
_COMMON = frozenset(
    """
    a about an and any are at be by can cannot do does for from have how i if in is it many may
    me much must my need of on one or should that the their there they this to up was what when
    where which who why will with you your
    """.split()
)


def words(text: str) -> set[str]:
    """Return the words of a text that say what it is about, cut to how they begin."""
    return {word[:_STEM] for word in _WORD.findall(text.lower()) if word not in _COMMON}


@dataclass(frozen=True, slots=True)
class Document:
    """A document of the corpus."""

    id: str
    title: str
    url: str
    place: str
    version: str
    text: str

    def as_passage(self, score: float) -> dict[str, Any]:
        """Return what a prompt is made from, with how well the question found it."""
        return {
            "id": self.id,
            "title": self.title,
            "url": self.url,
            "place": self.place,
            "version": self.version,
            "text": self.text,
            "score": score,
        }


class Corpus:
    """A few documents, searched by the words they share with a question."""

    def __init__(self, documents: list[Document]) -> None:
        self.documents = documents
        self._words = [words(f"{document.title} {document.text}") for document in documents]
        self._spread = Counter(word for found in self._words for word in found)

    def search(self, question: str, most: int) -> list[dict[str, Any]]:
        """Return the best documents as passages, the best first; none when no word is shared.

        A shared word counts the more, the fewer documents have it.
        """
        asked = words(question)
        scored = [
            (sum(1 / self._spread[word] for word in asked & found), document)
            for document, found in zip(self.documents, self._words, strict=True)
        ]
        # The sort is stable: of two equals, the first of the corpus is first.
        scored.sort(key=lambda pair: pair[0], reverse=True)
        return [document.as_passage(round(score, 3)) for score, document in scored[:most] if score]


@cache
def load() -> Corpus:
    """Read the corpus that comes with the demo."""
    text = resources.files("demo").joinpath("corpus.json").read_text(encoding="utf-8")
    return Corpus([Document(**row) for row in json.loads(text)])
