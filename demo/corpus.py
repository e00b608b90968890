"""The demo's documents; it knows no model and no server, and not how they are searched."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import TYPE_CHECKING, Any

from demo.ranking import rankers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from demo.ranking import Ranker

__all__ = ["Corpus", "Document", "load"]


@dataclass(frozen=True, slots=True)
class Document:
    """A document of the corpus."""

    id: str
    label: str
    """What a marker of label style names it by: an article, or its file."""
    title: str
    url: str
    place: str
    version: str
    text: str

    def as_passage(self, score: float | None, text: str | None = None) -> dict[str, Any]:
        """Return what a prompt is made from.

        Args:
            score: How well the question found it.
            text: What a reader made of its text.
        """
        return {
            "id": self.id,
            "title": self.title,
            "url": self.url,
            "place": self.place,
            "version": self.version,
            "text": self.text if text is None else text,
            "score": score,
        }


class Corpus:
    """A few documents, and the ways to search them."""

    def __init__(self, documents: list[Document]) -> None:
        self.documents = documents
        self.by_id = {document.id: document for document in documents}

    @cached_property
    def rankers(self) -> Mapping[str, Ranker]:
        """The ways to search that this Python has, the best first."""
        return rankers([(document.title, document.text) for document in self.documents])

    def search(
        self, question: str, most: int, ranker: str | None = None
    ) -> list[tuple[Document, float]]:
        """Return the best documents with their scores, the best first; none without a hit."""
        found = self.rankers[ranker or next(iter(self.rankers))].search(question, most)
        return [(self.documents[number], score) for number, score in found]


@cache
def load() -> Corpus:
    """Read the corpus that comes with the demo."""
    text = resources.files("demo").joinpath("corpus.json").read_text(encoding="utf-8")
    return Corpus([Document(**row) for row in json.loads(text)])
