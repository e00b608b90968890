"""The filter follows the sentences of an answer when it is asked to."""

from collections.abc import Sequence

import pytest

from citestream import CitationFilter, Summary, check_citations, filter_text
from citestream.events import Event, Sentence
from citestream.sentences import Abbreviations


def finish(citations: CitationFilter, *chunks: str) -> tuple[list[Sentence], Summary]:
    events: list[Event] = []
    for chunk in chunks:
        events += citations.feed(chunk)
    events += citations.finish()
    summary = events.pop()
    assert isinstance(summary, Summary)
    return sentences_of(events), summary


def sentences_of(events: Sequence[Event]) -> list[Sentence]:
    return [event for event in events if isinstance(event, Sentence)]


def test_sentence_comes_as_soon_as_it_has_ended() -> None:
    citations = CitationFilter(2, sentences=True)
    assert sentences_of(citations.feed("It is free [1].")) == []
    (sentence,) = sentences_of(citations.feed(" It"))
    assert sentence.text == ""
    assert sentence == Sentence("It is free [1].", (1,), covered=True, start=0, end=15)


@pytest.mark.parametrize("by", [1, 3, 100])
def test_summary_counts_the_sentences(by: int) -> None:
    answer = "It is free [1]. It is red [9]. See [2] and [1]."
    chunks = [answer[at : at + by] for at in range(0, len(answer), by)]
    sentences, summary = finish(CitationFilter(2, sentences=True), *chunks)
    assert [s.content for s in sentences] == ["It is free [1].", "It is red.", "See [2] and [1]."]
    assert (summary.sentences, summary.uncited) == (3, ("It is red.",))
    assert summary.cited_in == ((1, (1, 3)), (2, (3,)))
    assert summary.to_dict()["cited_in"] == [
        {"label": 1, "sentences": [1, 3]},
        {"label": 2, "sentences": [3]},
    ]


def test_blocks_share_the_count() -> None:
    citations = CitationFilter(1, sentences=True)
    block = citations.block()
    assert [type(e).__name__ for e in [*block.feed("One [1]. Tw"), *block.finish()]] == [
        "Text",
        "Citation",
        "Text",
        "Sentence",
        "Sentence",
    ]
    _, summary = finish(citations, "Three.")
    assert (summary.sentences, summary.uncited) == (3, ("Tw", "Three."))


def test_discarded_answer_counts_what_was_shown() -> None:
    citations = CitationFilter(1, sentences=True)
    citations.feed("One [1]. Two [")
    summary = citations.discard()
    assert (summary.sentences, summary.uncited, summary.ended) == (2, ("Two",), "cancelled")


def test_sentences_are_no_text() -> None:
    answer = "One [1]. Two [9]."
    assert check_citations(answer, 1, sentences=True).answer == "One [1]. Two."
    assert "".join(filter_text([answer], 1, sentences=True)) == "One [1]. Two."


def test_abbreviations_can_be_replaced() -> None:
    answer = "Siehe bzw. Text [1]. Ende."
    german = Abbreviations(["bzw."])
    assert check_citations(answer, 1, sentences=True).summary.sentences == 3
    assert check_citations(answer, 1, sentences=german).summary.sentences == 2


def test_sentences_off_costs_nothing_and_says_nothing() -> None:
    assert type(CitationFilter(1)) is CitationFilter
    summary = check_citations("One.", 1).summary
    assert (summary.sentences, summary.uncited, summary.cited_in) == (None, None, ())


def test_bad_value_is_refused() -> None:
    with pytest.raises(ValueError, match="expected sentences to be True, False or Abbreviations"):
        CitationFilter(1, sentences="yes")  # type: ignore[arg-type]
