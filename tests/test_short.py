"""The short way past markers gives what the long way gives, chunk for chunk."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from citestream import CitationFilter, Passages
from citestream.events import Citation, Text
from citestream.styles import FOOTNOTE, LABEL, MOST_READINGS, NUMERIC, MarkerStyle, prefixed
from tests.splits import random_cut
from tests.surfaces import drive

# Chunks as models send them, and what the reader gets; 1 to 3 have a passage, 9 has none.
CHUNKS: list[tuple[tuple[str, ...], str]] = [
    (("See", " [1]", " and", " [9]", " here", "."), "See [1] here."),
    (("See [1]", "[9]", " ", "here"), "See [1] here"),
    (("See [1]", "[9] ", "here"), "See [1] here"),
    (("See [1]", "[9]", " here"), "See [1] here"),
    (("See [9]", " ", "here"), "See here"),
    (("See [9] ", "here"), "See here"),
    (("See", " [9]", ".", " So"), "See. So"),
    (("See", ".", "[9]", ".", " So"), "See. So"),
    (("a", "[9]", "b"), "a b"),
    (("See", " [1", "]", " so"), "See [1] so"),
    (("See", " [9", "]", ",", " so"), "See, so"),
    (("See [1]", ", ", "[9]", " so"), "See [1] so"),
    (("See [1]", ", an", "d so"), "See [1], and so"),
    (("See (", "[9]", ") so"), "See so"),
    (("See **", "[1]", "** so"), "See **[1]** so"),
    (("See [1, ", "9] so"), "See [1] so"),
    (("See [1]", "(u)", " so"), "See [1] so"),
    (("See [1]", " (u", ") so"), "See [1] (u) so"),
    (("See [1]\n", "[9] so"), "See [1]\nso"),
    (("See [1] ", "【9】", " so"), "See [1] so"),
    (("See [9]", "", " so"), "See so"),
    (("See [9]",), "See"),
    (
        ("See [1] [2]", " [9] [3] so [", "1] and [x] so [9] so"),
        "See [1] [2] [3] so [1] and [x] so so",
    ),
]


@pytest.mark.parametrize(("chunks", "shown"), CHUNKS)
def test_chunks_give_what_the_long_way_gives(chunks: tuple[str, ...], shown: str) -> None:
    filtered = drive(chunks, 3)
    assert filtered.visible == shown
    # `verbatim` knows no short way.
    assert drive(chunks, 3, {"show": "verbatim"}) == filtered
    assert drive(list("".join(chunks)), 3) == filtered


# Answers made up of these are filtered both ways.
PIECES = (
    *("Rent rose", "fell.", "the", "of", "and", "or", "an", "order", "a", "x", "(", "*", "!", ":"),
    *("[1]", "[2]", "[9]", "[1, 2]", "[1, 9]", "[9, 8]", "[1][9]", "[9][1]", "[1], [9]", "[01]"),
    *(
        "[1] and [9]",
        "[9] or [8]",
        "([9])",
        "[9](u)",
        "[sic]",
        "[1",
        "[1,",
        "é",
        "【9】",
        "`",
        "\n",
    ),
)
BETWEEN = (" ", " ", " ", " ", "", ". ", ".", ", ", "  ", "; ")


def written_so(citation: Citation) -> str:
    """Show a citation as it would be anyway; a function is only asked on the long way."""
    return citation.text


def answers(before: str, seed: int, count: int) -> Iterator[tuple[str, list[str]]]:
    """Give answers, and each cut in some way; `before` stands before their labels."""
    dice = random.Random(seed)
    for _ in range(count):
        pieces = dice.choices(PIECES, k=dice.randint(1, 20))
        answer = dice.choice(("", "Start ")) + "".join(
            piece + dice.choice(BETWEEN) for piece in pieces
        )
        answer = answer.replace("[", f"[{before}").replace(", ", f", {before}")
        yield answer, dice.choice((random_cut(answer, dice), list(answer), [answer]))


def faults(style: MarkerStyle, passages: Any, before: str, seed: int) -> list[str]:
    found = []
    for answer, chunks in answers(before, seed, 150):
        supplied = Passages(passages, style=style)
        short = drive(chunks, supplied, {"style": style})
        long = drive([answer], supplied, {"style": style, "show": written_so})
        if short != long:
            found.append(f"{chunks}: {short} is not {long}")
    return found


def test_both_ways_agree_on_numbers() -> None:
    assert faults(NUMERIC, 3, "", 1) == []


def test_both_ways_agree_on_numbers_behind_a_prefix() -> None:
    assert faults(prefixed("S"), 3, "S", 2) == []


def test_both_ways_agree_on_labels() -> None:
    labels: dict[str, None] = {"Act 1": None, "Act 2": None, "Act 3": None}
    assert faults(LABEL, labels, "Act ", 3) == []


def test_removed_marker_waits_for_what_follows_it() -> None:
    filter_ = CitationFilter(3)
    shown = [filter_.feed(chunk) for chunk in ("Rent rose", " [9]", " again", " [9]")]
    assert filter_.held == " [9]"
    assert shown == [
        [Text("Rent rose")],
        [],
        [Citation("", (), (9,), "[9]", (), 9, 9), Text(" again")],
        [],
    ]
    shown.append(filter_.feed(" "))
    assert filter_.held == "  "
    (removed, rest) = filter_.feed("and so")
    assert removed == Citation("", (), (9,), "[9]", (), 15, 15)
    assert rest == Text(" and so")


def test_passage_that_is_added_behind_a_whole_marker_comes_too_late() -> None:
    passages = Passages(1)
    filter_ = CitationFilter(passages)
    filter_.feed("Rent rose")
    filter_.feed(" [2]")
    passages.add("Rent rose.")
    assert filter_.feed(".") == [Citation("", (), (2,), "[2]", (), 9, 9), Text(".")]
    assert filter_.feed(" So [2].")[1] == Citation("[2]", (2,), (), "[2]", passages.get(2), 14, 17)


def test_more_markers_than_are_remembered_are_read_all_the_same() -> None:
    numbers = range(1, MOST_READINGS + 100)
    answer = "Rent" + "".join(f" [{number}] rose" for number in numbers) + "."
    assert drive([answer], len(numbers)).summary.cited == tuple(numbers)
    several = {"style": (NUMERIC, FOOTNOTE)}
    assert drive([answer], Passages(len(numbers), style=NUMERIC), several).summary.cited == (
        tuple(numbers)
    )


def test_text_before_the_first_marker_is_one_event() -> None:
    filter_ = CitationFilter(1)
    assert [event.text for event in filter_.feed("So it is [1], or so.")] == [
        "So it is ",
        "[1]",
        ", or so.",
    ]
