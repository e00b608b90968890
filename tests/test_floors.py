"""What floors cost, on counted examples and beside every floor there is."""

from __future__ import annotations

import math
import random

import pytest

from citestream.floors import Floor, Floors, Scored, measure_floors


def scored(inside: list[float], outside: list[float]) -> list[Scored]:
    return [Scored(s, True) for s in inside] + [Scored(s, False) for s in outside]


def test_margin_and_floor_of_questions_that_can_be_parted() -> None:
    questions = scored([0.41, 0.190, 0.35], [0.02, 0.177])
    assert measure_floors(questions) == Floors(
        in_scope=3,
        off_topic=2,
        lowest=Scored(0.190, True),
        highest=Scored(0.177, False),
        candidates=(Floor(0.18, 0, 0),),
        suggested=Floor(0.18, 0, 0),
    )
    assert measure_floors(questions).margin == 0.013


def test_floors_of_questions_that_overlap() -> None:
    floors = measure_floors(scored([0.3, 0.5, 0.7, 0.9], [0.1, 0.4, 0.6]))
    assert floors.margin == -0.3
    assert floors.candidates == (Floor(0.2, 0, 2), Floor(0.5, 1, 1), Floor(0.65, 2, 0))
    assert floors.suggested == Floor(0.2, 0, 2)


def test_no_floor_is_suggested_where_it_stops_nothing() -> None:
    floors = measure_floors(scored([0.1, 0.2], [0.3, 0.1]))
    assert floors.suggested is None
    assert floors.candidates == (Floor(0.1, 0, 2), Floor(0.2, 1, 1), Floor(0.31, 2, 0))


def test_question_at_the_floor_passes() -> None:
    floors = measure_floors(scored([0.5], [0.4]), also=[0.4, 0.5, 0.51])
    assert floors.candidates == (
        Floor(0.4, 0, 1),
        Floor(0.5, 0, 0),
        Floor(0.51, 1, 0),
    )


def test_floor_is_the_shortest_number_between_two_scores() -> None:
    expected = {
        (0.177, 0.190): 0.18,
        (0.5, 0.6): 0.6,
        (0.1234, 0.1236): 0.1235,
        (-1.5, -0.5): -1.0,
        (0.0, 1e-9): 5e-10,
        (100.0, 300.0): 200.0,
        # Nothing lies between these two.
        (0.1, math.nextafter(0.1, 1)): math.nextafter(0.1, 1),
    }
    found = {}
    for off, on in expected:
        suggested = measure_floors(scored([on], [off])).suggested
        assert suggested is not None
        found[off, on] = suggested.floor
    assert found == expected


def test_candidates_are_the_floors_that_no_other_beats() -> None:
    dice = random.Random(5)
    for _ in range(200):
        inside = [dice.randrange(12) / 10 for _ in range(dice.randrange(1, 8))]
        outside = [dice.randrange(12) / 10 - 0.3 for _ in range(dice.randrange(1, 8))]
        costs = {
            (sum(s < floor for s in inside), sum(s >= floor for s in outside))
            for floor in [s + d for s in [*inside, *outside] for d in (-1e-9, 0, 1e-9)]
        }
        best = {
            cost
            for cost in costs
            if not any(other[0] <= cost[0] and other[1] <= cost[1] for other in costs - {cost})
        }
        candidates = measure_floors(scored(inside, outside)).candidates
        assert {(floor.refused, floor.let_through) for floor in candidates} == best
        for floor in candidates:
            assert sum(s < floor.floor for s in inside) == floor.refused
            assert sum(s >= floor.floor for s in outside) == floor.let_through


def test_both_kinds_of_questions_are_needed() -> None:
    for inside, outside, got in (
        ([0.5], [], "1 and 0"),
        ([], [0.5, 0.6], "0 and 2"),
        ([], [], "0 and 0"),
    ):
        with pytest.raises(ValueError) as caught:
            measure_floors(scored(inside, outside))
        assert str(caught.value) == (
            f"expected at least one in-scope and one off-topic question, got {got}: "
            "a floor lies between the two"
        )
