"""Every other marker style: its table of cases, what it reads, and what is refused when built."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest

from citestream.passages import Passages
from citestream.styles import (
    FOOTNOTE,
    LABEL,
    OPENAI,
    MarkerStyle,
    prefixed,
)
from tests.cases import STYLES, Case
from tests.splits import SPLITS, Split, by_character, in_threes, in_two
from tests.surfaces import SURFACES, Surface, drive

ANGLE = MarkerStyle(open="<|", close="|>", label=r"file-[a-z0-9]+")

BY_NAME: dict[str, MarkerStyle] = {
    "s": prefixed("S"),
    "doc": prefixed("doc"),
    "footnote": FOOTNOTE,
    "openai": OPENAI,
    "label": LABEL,
    "angle": ANGLE,
}

# Between a removed marker and a kept one behind it the separator goes, as in
# `See [8], [9], and [1]`, which becomes `See [1]`; the table leaves it here.
BY_THE_RULE = {"C18": "See [§ 1983(b)]."}


def options_of(case: Case) -> dict[str, Any]:
    """Give the filter's options for a case, its style among them."""
    if case.style == "cite":
        prefix = "cite:" if "[cite:" in case.answer else "c:"
        style = prefixed(prefix, label=r"[\w.-]+")
    else:
        style = BY_NAME[case.style]
    return {**case.options, "style": style}


def passages_of(case: Case) -> Passages:
    return Passages(case.passages, style=options_of(case)["style"])


@pytest.mark.parametrize("case", STYLES, ids=str)
def test_answer_comes_out_right(case: Case) -> None:
    filtered = drive([case.answer], passages_of(case), options_of(case))
    assert (filtered.visible, filtered.summary.cited, filtered.summary.invalid) == (
        BY_THE_RULE.get(case.name, case.text),
        case.cited,
        case.invalid,
    )


@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
@pytest.mark.parametrize("surface", SURFACES.values(), ids=SURFACES)
@pytest.mark.parametrize("case", STYLES, ids=str)
def test_every_surface_and_cut_gives_the_same(case: Case, surface: Surface, split: Split) -> None:
    options = options_of(case)
    whole = drive([case.answer], passages_of(case), options)
    for chunks in split(case.answer):
        outcome = surface(chunks, passages_of(case), options)
        assert (outcome.visible, outcome.summary) == (whole.visible, whole.summary), chunks


@pytest.mark.parametrize("case", STYLES, ids=str)
def test_every_cut_gives_the_same_citations(case: Case) -> None:
    options = options_of(case)
    whole = drive([case.answer], passages_of(case), options)
    cuts = chain(
        [list(case.chunks)], by_character(case.answer), in_threes(case.answer), in_two(case.answer)
    )
    for chunks in cuts:
        assert drive(chunks, passages_of(case), options) == whole, chunks
