"""Two ways to find texts by the words of a question: BM25, and the words they share.

It knows no documents but their titles and texts. Nothing is learned, and in
both ways a higher score is a better one.
"""

from __future__ import annotations

import re
import sqlite3
import weakref
from collections import Counter
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["RANKERS", "Bm25", "Overlap", "Ranker", "rankers", "words"]

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

# A title says in three words what the text says in thirty.
_TITLE_WEIGHT = 2.0

# Two hits are told apart by less than a thousandth only in a corpus of another size.
_DIGITS = 3

Texts = list[tuple[str, str]]
"""Titles and texts, named by their place in the list."""


class Ranker(Protocol):
    """A way to search."""

    def search(self, question: str, most: int) -> list[tuple[int, float]]:
        """Return the best texts and their scores, the best first; none when nothing is found."""


def words(text: str) -> set[str]:
    """Return the words of a text that say what it is about, cut to how they begin."""
    return {word[:_STEM] for word in _asked(text)}


def _asked(question: str) -> list[str]:
    found = _WORD.findall(question.lower())
    return [word for word in dict.fromkeys(found) if word not in _COMMON]


class Overlap:
    """Counts the words shared with the question, the more the fewer texts have them."""

    def __init__(self, texts: Texts) -> None:
        self._words = [words(f"{title} {text}") for title, text in texts]
        self._spread = Counter(word for found in self._words for word in found)

    def search(self, question: str, most: int) -> list[tuple[int, float]]:
        """Return the best texts and their scores, the best first; none when nothing is found."""
        asked = words(question)
        scored = [
            # In an order of its own: a sum of the same numbers is then the same sum.
            (number, sum(1 / self._spread[word] for word in sorted(asked & found)))
            for number, found in enumerate(self._words)
        ]
        return _best(scored, most)


class Bm25:
    """Asks SQLite's full-text index, whose scores are turned so that higher is better.

    Raises:
        sqlite3.OperationalError: This SQLite was built without FTS5.
    """

    def __init__(self, texts: Texts) -> None:
        # Servers run in threads of their own; one question at a time is enough here.
        self._index = sqlite3.connect(":memory:", check_same_thread=False)
        # It is there for as long as the corpus, which nobody closes.
        weakref.finalize(self, self._index.close)
        self._lock = Lock()
        self._index.execute(
            "CREATE VIRTUAL TABLE texts USING fts5(title, text, tokenize = 'porter unicode61')"
        )
        self._index.executemany("INSERT INTO texts (title, text) VALUES (?, ?)", texts)

    def search(self, question: str, most: int) -> list[tuple[int, float]]:
        """Return the best texts and their scores, the best first; none when nothing is found."""
        # Each word in quotes: none of them is an operator of the index's own language.
        query = " OR ".join(f'"{word}"' for word in _asked(question))
        if not query:
            return []
        with self._lock:
            rows = self._index.execute(
                "SELECT rowid - 1, -bm25(texts, ?, 1.0) FROM texts WHERE texts MATCH ?",
                (_TITLE_WEIGHT, query),
            ).fetchall()
        return _best(sorted(rows), most)


def _best(scored: Sequence[tuple[int, float]], most: int) -> list[tuple[int, float]]:
    # The sort is stable: of two equals, the first of the corpus is first.
    ranked = sorted(scored, key=lambda pair: pair[1], reverse=True)
    return [(number, round(score, _DIGITS)) for number, score in ranked[:most] if score > 0]


RANKERS: Mapping[str, Callable[[Texts], Ranker]] = {"bm25": Bm25, "words": Overlap}
"""What makes a ranker of texts, by its name, the best first."""


def rankers(texts: Texts) -> dict[str, Ranker]:
    """Return the rankers of some texts by their names: BM25 only where SQLite has it."""
    made: dict[str, Ranker] = {}
    for name, make in RANKERS.items():
        with suppress(sqlite3.OperationalError):
            made[name] = make(texts)
    return made
