"""Every case of the tables, through every surface and every cut, as whole values."""

from __future__ import annotations

from itertools import chain

import pytest

from tests.cases import BRACKETS, EXTRA, NUMERIC, Case
from tests.splits import SPLITS
from tests.surfaces import SURFACES, drive

CASES = [*NUMERIC, *BRACKETS, *EXTRA]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_answer_comes_out_right(case: Case) -> None:
    """The whole answer gives what the table says."""
    filtered = drive([case.answer], case.passages, case.options)
    summary = filtered.summary
    # Where the table is silent, what came out stands in, so that one comparison says it all.
    assert {
        "text": filtered.visible,
        "cited": summary.cited,
        "invalid": summary.invalid,
        "kept": summary.kept,
        "removed": summary.removed,
        "truncated": summary.truncated,
    } == {
        "text": filtered.visible if case.text is None else case.text,
        "cited": summary.cited if case.cited is None else case.cited,
        "invalid": summary.invalid if case.invalid is None else case.invalid,
        "kept": summary.kept if case.kept is None else case.kept,
        "removed": summary.removed if case.removed is None else case.removed,
        "truncated": summary.truncated if case.truncated is None else case.truncated,
    }


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_cut_gives_the_same_citations(case: Case) -> None:
    whole = drive([case.answer], case.passages, case.options)
    splits = (split(case.answer) for split in SPLITS.values())
    for chunks in chain([list(case.chunks)], *splits):
        assert drive(chunks, case.passages, case.options) == whole, chunks


# Cuts of one answer that each surface is driven over. The filter takes all of
# them above; the others only hand its events on.
CUTS_MOST = 40


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_surface_gives_the_same(case: Case) -> None:
    whole = drive([case.answer], case.passages, case.options)
    for split in SPLITS.values():
        cuts = list(split(case.answer))
        for chunks in cuts[:: 1 + len(cuts) // CUTS_MOST]:
            for name, surface in SURFACES.items():
                outcome = surface(chunks, case.passages, case.options)
                assert (outcome.visible, outcome.summary) == (
                    whole.visible,
                    whole.summary,
                ), (name, chunks)
