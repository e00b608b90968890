"""What a floor under the best score of a question would cost: who is refused, who is let through.

It is given scores, higher being better, and does not know what gave them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Floor", "Floors", "Scored", "measure_floors"]


@dataclass(frozen=True, slots=True)
class Scored:
    """A question, and how well the best passage matched it."""

    score: float
    """The best passage's score, finite; higher is better."""
    in_scope: bool
    """Whether the passages hold the answer."""
    question: str = ""
    """The question, to be named in a report."""


@dataclass(frozen=True, slots=True)
class Floor:
    """A floor, and what it would cost: a question whose best score is lower is refused."""

    floor: float
    """The shortest number that divides the questions so."""
    refused: int
    """How many in-scope questions it refuses."""
    let_through: int
    """How many off-topic questions it lets through."""


@dataclass(frozen=True, slots=True)
class Floors:
    """What was measured on some questions."""

    in_scope: int
    """How many questions are in scope."""
    off_topic: int
    """How many are not."""
    lowest: Scored
    """The in-scope question with the lowest score."""
    highest: Scored
    """The off-topic question with the highest one."""
    candidates: tuple[Floor, ...]
    """The floors worth a thought, and those that were asked for, from low to high.

    Worth a thought: no other refuses as few in-scope questions and lets as few
    off-topic ones through.
    """
    suggested: Floor | None
    """The one that refuses no in-scope question; `None` when it stops nothing either."""

    @property
    def margin(self) -> float:
        """The lowest in-scope score less the highest off-topic one; negative where they overlap."""
        return float(f"{self.lowest.score - self.highest.score:.12g}")

    def to_dict(self) -> dict[str, Any]:
        """Return what was measured as a JSON object."""

        def written(floor: Floor) -> dict[str, Any]:
            return {
                "floor": floor.floor,
                "in_scope_refused": floor.refused,
                "off_topic_let_through": floor.let_through,
            }

        return {
            "in_scope": self.in_scope,
            "off_topic": self.off_topic,
            "lowest_in_scope": self.lowest.score,
            "highest_off_topic": self.highest.score,
            "margin": self.margin,
            "candidates": [written(floor) for floor in self.candidates],
            "suggested": None if self.suggested is None else written(self.suggested),
        }


def measure_floors(questions: Iterable[Scored], also: Iterable[float] = ()) -> Floors:
    """Measure what each floor would cost.

    Args:
        questions: What was asked, of both kinds.
        also: Floors to measure besides.

    Raises:
        ValueError: There is no in-scope question, or no off-topic one.
    """
    scored = sorted(questions, key=lambda question: question.score)
    inside = [question for question in scored if question.in_scope]
    outside = [question for question in scored if not question.in_scope]
    if not inside or not outside:
        raise ValueError(
            "expected at least one in-scope and one off-topic question, got "
            f"{len(inside)} and {len(outside)}: a floor lies between the two"
        )
    useful = _useful(list(_floors(scored, len(outside))))
    first = useful[0]
    stops = first.refused == 0 and first.let_through < len(outside)
    asked = [
        Floor(
            floor,
            sum(question.score < floor for question in inside),
            sum(question.score >= floor for question in outside),
        )
        for floor in also
    ]
    return Floors(
        in_scope=len(inside),
        off_topic=len(outside),
        lowest=inside[0],
        highest=outside[-1],
        candidates=tuple(sorted({*useful, *asked}, key=lambda floor: floor.floor)),
        suggested=first if stops else None,
    )


def _useful(floors: list[Floor]) -> list[Floor]:
    """Return those that no other beats; one that beats a floor stands right beside it."""
    return [
        floor
        for at, floor in enumerate(floors)
        if at + 1 == len(floors) or floors[at + 1].refused > floor.refused
        if at == 0 or floors[at - 1].let_through > floor.let_through
    ]


def _floors(scored: list[Scored], off_topic: int) -> Iterator[Floor]:
    """Give a floor below all scores, between each two, and above all; what it costs with it."""
    refused, let_through = 0, off_topic
    yield Floor(scored[0].score, refused, let_through)
    for at, question in enumerate(scored):
        refused += question.in_scope
        let_through -= not question.in_scope
        following = scored[at + 1].score if at + 1 < len(scored) else None
        if following != question.score:
            yield Floor(_between(question.score, following), refused, let_through)


def _between(low: float, high: float | None) -> float:
    """Return the shortest decimal above `low` and not above `high`, near the middle."""
    middle = (low + high) / 2 if high is not None else low + max(abs(low), 1.0) / 100
    for digits in range(17):
        number = float(f"{middle:.{digits}e}")
        if low < number and (high is None or number <= high):
            return number
    return middle if high is None else high
