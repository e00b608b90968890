"""The refusal is found in pieces of any size, however it is set."""

from __future__ import annotations

import pytest

from citestream.passages import NO_ANSWER
from citestream.refusal import RefusalFinder, fold
from tests.splits import SPLITS


def found(refusal: str, text: str) -> bool:
    """Search a text in every cut there is; give what all say."""
    outcomes = set()
    for split in SPLITS.values():
        for chunks in split(text):
            finder = RefusalFinder(refusal)
            for chunk in chunks:
                finder.feed(chunk)
            outcomes.add((finder.found, finder.found))
    assert len(outcomes) == 1, text
    return outcomes.pop()[0]


@pytest.mark.parametrize("refusal", [NO_ANSWER, "I don't know.", "Nothing is said about it."])
def test_refusal_is_found_wherever_it_stands(refusal: str) -> None:
    for text, expected in {
        refusal: True,
        f"Well. {refusal} So": True,
        refusal.upper(): True,
        refusal.replace("'", "\u2019").replace(" ", "\u00a0\n"): True,
        refusal.replace("'", "`"): True,
        refusal[:-1]: False,
        f"{refusal[:9]}, {refusal[9:]}": False,
        f"{'x' * 300} {refusal} {'x' * 300}": True,
        f"{refusal[:4]}[1]{refusal[4:]}": True,
        "": False,
    }.items():
        assert found(refusal, text) is expected, text


def test_what_was_found_stays_found() -> None:
    finder = RefusalFinder("No way.")
    finder.feed("No way." + "x" * 300)
    finder.feed("x" * 1000)
    assert finder.found


def test_folding_leaves_what_counts() -> None:
    assert fold("It\u2019s \u201cＮＯ\u201d\u2014[12] Way") == 'it\'s"no"-way'
    assert fold("a `b`") == "a'b'"
