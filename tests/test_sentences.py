"""Where sentences end, turn by turn: stops, markers behind them, lines, code, what is too long."""

from __future__ import annotations

from typing import Any

import pytest

from citestream import CitationFilter, Summary
from citestream.coverage import MOST_PLACES, MOST_UNCITED
from citestream.events import Event, Sentence
from citestream.sentences import MOST_BEGINNING, MOST_SENTENCE
from tests.splits import by_character, in_threes, whole


def sentences_of(answer: str, **options: Any) -> list[tuple[str, tuple[Any, ...]]]:
    """Follow an answer whole, in threes and by character; give what all say of it."""
    outcomes = []
    for split in (whole, in_threes, by_character):
        for chunks in split(answer):
            citations = CitationFilter(3, sentences=True, **options)
            events: list[Event] = []
            for chunk in chunks:
                events += citations.feed(chunk)
            events += citations.finish()
            summary = events.pop()
            assert isinstance(summary, Summary)
            visible = "".join(e.text for e in events if not isinstance(e, Summary))
            found = [event for event in events if isinstance(event, Sentence)]
            for sentence in found:
                between = visible[sentence.start : sentence.end]
                assert between.split() == sentence.content.split(), answer
                assert sentence.covered == (sentence.cited != ())
            outcomes.append((found, summary))
    assert all(outcome == outcomes[0] for outcome in outcomes), answer
    return [(sentence.content, sentence.cited) for sentence in outcomes[0][0]]


# The sentences of each answer, and what they cite; 1 to 3 have a passage, 9 has none.
ANSWERS: dict[str, dict[str, list[tuple[str, tuple[int, ...]]]]] = {
    "a stop ends a sentence before white space": {
        "One. Two": [("One.", ()), ("Two", ())],
        "Version 3.5 is out. It is.": [("Version 3.5 is out.", ()), ("It is.", ())],
        "Free.Then": [("Free.Then", ())],
        "...One. ": [("...One.", ())],
        "是的。很好！": [("是的。", ()), ("很好！", ())],
        "「是的。」很好": [("「是的。」", ()), ("很好", ())],
    },
    "markers behind the stop belong to the sentence before": {
        "Free. [1] Then.": [("Free. [1]", (1,)), ("Then.", ())],
        "Free. [1], [2] Then.": [("Free. [1], [2]", (1, 2)), ("Then.", ())],
        "Free. [1] and [2] Then.": [("Free. [1] and [2]", (1, 2)), ("Then.", ())],
        "Free. [1] andante.": [("Free. [1]", (1,)), ("andante.", ())],
        "Free. [1], Then.": [("Free. [1]", (1,)), (", Then.", ())],
        "Free. [1]&[2]": [("Free. [1]&[2]", (1, 2))],
        "Free. [9] Then.": [("Free.", ()), ("Then.", ())],
        "Free.[1]Then.": [("Free.[1]", (1,)), ("Then.", ())],
        "Free.\n[1] Then.": [("Free.\n[1]", (1,)), ("Then.", ())],
        "Free.\n[9] Then.": [("Free.", ()), ("Then.", ())],
        "Free.\n\n[1] Then.": [("Free.", ()), ("[1] Then.", (1,))],
    },
    "an abbreviation, an initial and a bullet end none": {
        "See Fig. 3 here. Go.": [("See Fig. 3 here.", ()), ("Go.", ())],
        "See No. 3 here. No. Go.": [("See No. 3 here.", ()), ("No.", ()), ("Go.", ())],
        "See No. [1] here.": [("See No. [1]", (1,)), ("here.", ())],
        "J. K. Smith. He did.": [("J. K. Smith.", ()), ("He did.", ())],
        "1. first. more": [("first.", ()), ("more", ())],
        "See [1]. Go.": [("See [1].", (1,)), ("Go.", ())],
        "Plan A [1]. Go.": [("Plan A [1].", (1,)), ("Go.", ())],
        "A . b": [("A .", ()), ("b", ())],
    },
    "code holds no stops, unless it never closes": {
        "Run `a. b` now. Go.": [("Run `a. b` now.", ()), ("Go.", ())],
        "Run ``a. ` b`` now. Go.": [("Run ``a. ` b`` now.", ()), ("Go.", ())],
        "Run `a. b now. Go.": [("Run `a.", ()), ("b now.", ()), ("Go.", ())],
        "Run `a. b [1]. Go.": [("Run `a.", ()), ("b [1].", (1,)), ("Go.", ())],
        "Run `a.\nb` now. Go.": [("Run `a.\nb` now.", ()), ("Go.", ())],
        "Run `a.\nb.\nc` now.": [("Run `a.\nb.\nc` now.", ())],
        "So `` a ` b.\nc ` d. Go.": [("So `` a ` b.\nc ` d.", ()), ("Go.", ())],
        "`a.\n[9]": [("`a.", ())],
        "Run `a.\n\nb` now.": [("Run `a.", ()), ("b` now.", ())],
        "Run `a.\n- b` now.": [("Run `a.", ()), ("b` now.", ())],
        "Run \\`a. b` now.": [("Run \\`a.", ()), ("b` now.", ())],
        "`\n[1] a. b": [("`\n[1] a.", (1,)), ("b", ())],
        "`\n\n[1] a. b": [("[1] a.", (1,)), ("b", ())],
        "A\n```x [1]` b. c": [("A\n```x [1]` b.", (1,)), ("c", ())],
        "<div> `a. b` c": [("<div> `a.", ()), ("b` c", ())],
        "<div> ``": [("<div> ``", ())],
    },
    "a fence, a heading and what leads on are no sentences": {
        "So. \n```py\nx. y\n```\nDone.": [("So.", ()), ("Done.", ())],
        "```x ` y. z": [("```x ` y.", ()), ("z", ())],
        "```x": [],
        "# A. b\nText.": [("Text.", ())],
        "# A. b\r\nText.\r\nMore.": [("Text.", ()), ("More.", ())],
        "# A. b\rText.": [("Text.", ())],
        "Head\n===\nText.": [("Text.", ())],
        # A sentence of it that has ended is out.
        "Head. b\n===\nText.": [("Head.", ()), ("Text.", ())],
        "As follows:\n- one.\n- two": [("one.", ()), ("two", ())],
        "As follows [1]:\n- one.": [("one.", ())],
        "Note **this:**\n\nText.": [("Text.", ())],
        ":\n\nText.": [("Text.", ())],
        "Run `b:\n\nText.": [("Text.", ())],
        "As follows:": [],
        "So [1]:\nmore": [("more", ())],
    },
    "a line ends a sentence where its block ends, or it is broken hard": {
        "One\ntwo. Three": [("One\ntwo.", ()), ("Three", ())],
        "One  \ntwo": [("One", ()), ("two", ())],
        "One\\\ntwo": [("One\\", ()), ("two", ())],
        "One.  \ntwo": [("One.", ()), ("two", ())],
        "One\r\ntwo\r\n\r\nthree\rfour": [("One\r\ntwo", ()), ("three\rfour", ())],
        "> One\n> two\n\nthree": [("One\n> two", ()), ("three", ())],
        "> One.\n> [1] two": [("One.\n> [1]", (1,)), ("two", ())],
        "- One\n- two [2]\n  more": [("One", ()), ("two [2]\n  more", (2,))],
        "\r": [],
    },
    "a table's row is a sentence, its header is none": {
        "| A. b | B |\n|---|---|\n| x. | y [1] |\n| z |\n\nEnd.": [
            ("| x. | y [1] |", (1,)),
            ("| z |", ()),
            ("End.", ()),
        ],
        "| A. b | B |\n|---|\nmore.": [("| A. b | B |", ()), ("more.", ())],
        "| A. b": [("| A. b", ())],
        "Intro\n`x | b\n--|--\nx | y": [("Intro", ()), ("x | y", ())],
        "A | B\n--|--\n`x. | y\nz` |": [("`x. | y", ()), ("z` |", ())],
        # Too early to know: so the rest of the header is one as well.
        "Intro. Name | B\n--|--\nx | y": [("Intro.", ()), ("Name | B", ()), ("x | y", ())],
    },
}


@pytest.mark.parametrize("rule", ANSWERS)
def test_sentences_end_where_the_rules_say(rule: str) -> None:
    answers = ANSWERS[rule]
    assert {answer: sentences_of(answer) for answer in answers} == answers


def test_marker_that_is_not_shown_counts_where_it_stood() -> None:
    for answer, sentences in {
        "One[1][2]. Two": [("One.", (1, 2)), ("Two", ())],
        "One[1, 9][2][1]. Two": [("One.", (1, 2)), ("Two", ())],
        "One [1] two [2]. Three": [("One two.", (1, 2)), ("Three", ())],
        "One\n[1]  two": [("One\n two", (1,))],
        "One. [1] Two": [("One.", (1,)), ("Two", ())],
        "One. [1][2] Two": [("One.", (1, 2)), ("Two", ())],
        "One.[1]Two": [("One.", (1,)), ("Two", ())],
        "One\n[1][2] two. Three": [("One\ntwo.", (1, 2)), ("Three", ())],
        "One.\n[1] Two": [("One.", (1,)), ("Two", ())],
        "One [9][1]. Two": [("One.", (1,)), ("Two", ())],
        "`a[1]. b": [("`a.", (1,)), ("b", ())],
    }.items():
        assert sentences_of(answer, show="none") == sentences, answer


def test_what_is_too_long_is_cut_at_the_limit() -> None:
    word = "x" * (MOST_SENTENCE - 3)
    for answer, lengths in {
        # Prose, and a marker that passes the limit.
        "x" * (2 * MOST_SENTENCE): [MOST_SENTENCE, MOST_SENTENCE],
        f"{word}[1] More": [MOST_SENTENCE, 4],
        f"{word[:-1]}[1] More": [MOST_SENTENCE - 1, 4],
        # Behind a stop nothing but blanks.
        f"{word[:10]}.{' ' * MOST_SENTENCE}More": [11, 4],
        f"{word}. More": [MOST_SENTENCE - 2, 4],
        # A line of which it is not known what it is.
        f"One\n{'>' * MOST_SENTENCE} two": [3, MOST_SENTENCE - MOST_BEGINNING + 4],
        f"One\n{' ' * MOST_SENTENCE}two": [3, 3],
        f"One\n```{'x' * MOST_SENTENCE} y` z": [3, MOST_SENTENCE, 8],
        f"One\n```{'x' * (2 * MOST_SENTENCE)}\ny. z": [3, MOST_SENTENCE, MOST_SENTENCE],
        # What may be a table's header, and code that does not close.
        f"| {'x' * MOST_SENTENCE}\n|---|\n| y": [MOST_SENTENCE, 2, 3],
        f"{word[:-100]} `a. {word[:200]}": [MOST_SENTENCE - 99, 200],
        f"`{'x' * 2 * MOST_SENTENCE}": [MOST_SENTENCE, MOST_SENTENCE, 1],
    }.items():
        found = [len(content) for content, _ in sentences_of(answer)]
        assert found == lengths, answer[:20]


def test_settled_text_belongs_to_sentences_that_have_ended() -> None:
    citations = CitationFilter(3, sentences=True)
    settled = []
    for chunk in ("One", " [1].", " Two", ". ", "Three"):
        citations.feed(chunk)
        settled.append(citations.settled)
    assert settled == [0, 0, 9, 9, 14]
    assert CitationFilter(3).settled == 0


def test_what_is_counted_is_bounded() -> None:
    citations = CitationFilter(3, sentences=True)
    citations.feed("No way. " * (MOST_UNCITED + 1))
    citations.feed("Yes [1]. " * (MOST_PLACES + 1))
    summary = citations.finish()[-1]
    assert isinstance(summary, Summary)
    assert summary.sentences == MOST_UNCITED + MOST_PLACES + 2
    assert summary.uncited == ("No way.",) * MOST_UNCITED
    first = MOST_UNCITED + 2
    assert summary.cited_in == ((1, tuple(range(first, first + MOST_PLACES))),)
    assert summary.truncated
