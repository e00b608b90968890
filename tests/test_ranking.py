"""The demo's two ways to search: what is found, in which order, and what a query cannot do."""

from __future__ import annotations

import gc
import sqlite3

import pytest

from demo import ranking
from demo.corpus import load
from demo.ranking import Bm25, Overlap, Ranker, rankers, words

TEXTS = [
    ("Prices", "A ride costs 2 euros."),
    ("Stations", "A station has docks. A ride ends at a station."),
    ("Owls", "An owl rides nothing, and cancelled its pass."),
]

BOTH = pytest.mark.parametrize("make", [Bm25, Overlap])


def numbers(ranker: Ranker, question: str, most: int = 9) -> list[int]:
    return [number for number, _ in ranker.search(question, most)]


@BOTH
def test_best_text_comes_first_and_higher_is_better(make: type[Bm25 | Overlap]) -> None:
    found = make(TEXTS).search("Where are the stations with docks, and what is an owl?", 9)
    scores = [score for _, score in found]
    assert found[0][0] == 1
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] > 0


@BOTH
def test_words_are_found_in_other_forms(make: type[Bm25 | Overlap]) -> None:
    assert numbers(make(TEXTS), "May owls cancel?") == [2]


@BOTH
def test_nothing_is_found_without_a_word_of_its_own(make: type[Bm25 | Overlap]) -> None:
    ranker = make(TEXTS)
    assert [numbers(ranker, question) for question in ("", "?!", "what is the", "zxcvb")] == [
        [],
        [],
        [],
        [],
    ]


@BOTH
def test_no_more_is_given_than_was_asked_for(make: type[Bm25 | Overlap]) -> None:
    assert len(numbers(make(TEXTS), "ride station owl euros", 2)) == 2


@BOTH
def test_query_language_of_the_index_is_out_of_reach(make: type[Bm25 | Overlap]) -> None:
    ranker = make(TEXTS)
    for question in ('owl" OR "ride', "NEAR(owl ride)", "title : owl", "owl*", "-owl", "^owl", "'"):
        assert set(numbers(ranker, question)) <= {0, 1, 2}
    # An operator is a word like any other.
    assert numbers(ranker, "owl NOT owl") == [2]


def test_title_weighs_more_than_the_text() -> None:
    texts = [("Fares", "A word on owls."), ("Owls", "A word on fares.")]
    assert numbers(Bm25(texts), "owls") == [1, 0]


def test_sqlite_without_full_text_search_leaves_the_other_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: object) -> Ranker:
        raise sqlite3.OperationalError("no such module: fts5")

    assert list(rankers(TEXTS)) == ["bm25", "words"]
    monkeypatch.setattr(ranking, "RANKERS", {"bm25": fail, "words": Overlap})
    assert list(rankers(TEXTS)) == ["words"]


def test_words_are_cut_to_how_they_begin() -> None:
    assert words("Can the STATIONS be cancelled?") == {"stati", "cance"}


def test_both_ways_find_the_document_that_holds_the_answer() -> None:
    asked = {
        "How much does a single ride cost?": "prices",
        "Can I cancel a ride 30 minutes before it starts?": "booking",
        "Which practices are banned outright?": "bylaw-5-1",
        "How is the first station of the list read?": "interface",
        "What is the fine for riding on a pavement?": "bylaw-11",
    }
    for ranker in load().rankers:
        found = {question: load().search(question, 1, ranker)[0][0].id for question in asked}
        assert found == asked, ranker


def test_corpus_has_documents_of_every_kind() -> None:
    documents = load().documents
    assert len({document.id for document in documents}) == len(documents) >= 12
    assert len({document.label for document in documents}) == len(documents)
    assert sum(document.label.startswith("Article ") for document in documents) >= 6
    assert any("(a)" in document.text for document in documents)
    assert any("```" in document.text for document in documents)


def test_index_is_closed_with_its_corpus() -> None:
    ranker = Bm25([("Prices", "A ride costs 2 euros.")])
    index = ranker._index
    assert [at for at, _ in ranker.search("ride", 1)] == [0]
    del ranker
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        index.execute("SELECT 1")
