"""The short way past markers gives what the long way gives, chunk for chunk."""

from __future__ import annotations

import pytest

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
