"""The small closed language that markers are described in, and the automaton derived from it.

One expression gives the whole marker, the marker cut anywhere and the place
where another one opens inside it; it does not know what a citation is.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, assert_never

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = [
    "DEAD",
    "Alt",
    "Automaton",
    "Chars",
    "Expression",
    "Joined",
    "Literal",
    "Machine",
    "Repeat",
    "Seq",
    "State",
    "follow",
    "optional",
]

MOST_TRANSITIONS = 8192
"""Transitions an automaton remembers before it forgets them all and starts again.

A style and ordinary text need a few hundred; hostile text can ask for one per
character of Unicode and state.
"""


@dataclass(frozen=True, slots=True)
class Literal:
    """Exactly these characters."""

    text: str
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a class, written as the inside of a regular expression's brackets."""

    inside: str


@dataclass(frozen=True, slots=True)
class Seq:
    """One part after the other."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Alt:
    """One of several."""

    options: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """The same again, at least `least` and at most `most` times (`None`: no limit)."""

    part: Expression
    least: int = 0
    most: int | None = None


Expression: TypeAlias = Literal | Chars | Seq | Alt | Repeat
"""What a text may look like."""


def optional(part: Expression) -> Repeat:
    """Return an expression for `part` or nothing."""
    return Repeat(part, 0, 1)


class State(dict[str, "State"]):
    """How far a text has come in an expression: what each next character leads to.

    A transition is worked out when it is first taken, so that following a text
    is one look-up per character.
    """

    __slots__ = ("machine", "places", "whole")

    def __init__(self, machine: Machine, places: Hashable, whole: bool) -> None:
        super().__init__()
        self.machine = machine
        """What made it."""
        self.places = places
        """What the machine knows it by."""
        self.whole = whole
        """Whether the text up to here is all of what the expression describes."""

    def __missing__(self, char: str) -> State:
        state = self.machine.step(self.places, char)
        self[char] = state
        return state


class Machine(ABC):
    """Makes states when they are first reached, and remembers them.

    Their transitions are forgotten when there are too many: neither a pattern
    nor a text makes it grow without bound.
    """

    start: State
    """The state before the first character."""

    def __init__(self) -> None:
        self._states: dict[Hashable, State] = {}
        self._transitions = 0

    def step(self, places: Hashable, char: str) -> State:
        """Return the state that `char` leads to from the one known by `places`."""
        self._transitions += 1
        if self._transitions > MOST_TRANSITIONS:
            self._transitions = 1
            for state in self._states.values():
                state.clear()
            self._states = {self.start.places: self.start}
        return self._state(self._advance(places, char))

    def _state(self, places: Hashable | None) -> State:
        if places is None:
            return DEAD
        state = self._states.get(places)
        if state is None:
            state = self._states[places] = State(self, places, self.is_whole(places))
        return state

    @abstractmethod
    def _advance(self, places: Hashable, char: str) -> Hashable | None:
        """Return what the state after `char` is known by; `None` when it is dead."""

    @abstractmethod
    def is_whole(self, places: Hashable) -> bool:
        """Return whether the text that led to `places` is all of what is followed."""


class Automaton(Machine):
    """Follows an expression character by character.

    Args:
        expression: What to follow.
        without: Characters that no class of the expression stands for,
            whatever it names.
    """

    def __init__(self, expression: Expression, without: str = "") -> None:
        super().__init__()
        # A state is a set of places. From a place, the characters of one class
        # lead to other places; `_end` is the place behind the last character.
        self._classes: list[re.Pattern[str]] = []
        self._next: list[frozenset[int]] = []
        self._without = f"(?![{re.escape(without)}])" if without else ""
        first, empty, last = self._build(expression)
        self._end = self._place("(?!)")
        for place in last:
            self._next[place] |= {self._end}
        self.empty = empty
        """Whether the expression describes the empty text."""
        self.start = self._state(first | {self._end} if empty else first)

    def may_hold(self, text: str) -> bool:
        """Return whether a text that the expression describes may have `text` in it."""
        places = set(range(len(self._classes)))
        for char in text:
            here = [place for place in places if self._classes[place].fullmatch(char)]
            if not here:
                return False
            places = {after for place in here for after in self._next[place]}
        return True

    def _advance(self, places: Hashable, char: str) -> Hashable | None:
        assert isinstance(places, frozenset)  # it made them
        reached = [self._next[p] for p in places if self._classes[p].fullmatch(char)]
        return frozenset().union(*reached) or None

    def is_whole(self, places: Hashable) -> bool:
        """Return whether the end of the expression is among the places."""
        assert isinstance(places, frozenset)
        return self._end in places

    def _place(self, pattern: str) -> int:
        self._classes.append(re.compile(pattern))
        self._next.append(frozenset())
        return len(self._classes) - 1

    def _build(self, expression: Expression) -> tuple[frozenset[int], bool, frozenset[int]]:
        """Return the first places, whether there may be none, and the last places."""
        match expression:
            case Literal(text, ignore_case):
                return self._chain([self._one(_literal(c, ignore_case)) for c in text])
            case Chars(inside):
                return self._one(f"{self._without}[{inside}]")
            case Alt(options):
                built = [self._build(option) for option in options]
                return (
                    frozenset().union(*(first for first, _, _ in built)),
                    any(empty for _, empty, _ in built),
                    frozenset().union(*(last for _, _, last in built)),
                )
            case Seq(parts):
                return self._chain([self._build(part) for part in parts])
            case Repeat(part, least, None):
                first, empty, last = self._build(part)
                for place in last:
                    self._next[place] |= first
                before = [self._build(part) for _ in range(least - 1)]
                return self._chain([*before, (first, empty or least == 0, last)])
            case Repeat(part, least, most):
                copies = [self._build(part) for _ in range(most or 0)]
                return self._chain(
                    [
                        (first, empty or count >= least, last)
                        for count, (first, empty, last) in enumerate(copies)
                    ]
                )
        assert_never(expression)

    def _one(self, pattern: str) -> tuple[frozenset[int], bool, frozenset[int]]:
        only = frozenset({self._place(pattern)})
        return only, False, only

    def _chain(
        self, built: list[tuple[frozenset[int], bool, frozenset[int]]]
    ) -> tuple[frozenset[int], bool, frozenset[int]]:
        first: frozenset[int] = frozenset()
        empty = True
        last: frozenset[int] = frozenset()
        for then_first, then_empty, then_last in built:
            for place in last:
                self._next[place] |= then_first
            first = first | then_first if empty else first
            last = last | then_last if then_empty else then_last
            empty = empty and then_empty
        return first, empty, last


def _literal(char: str, ignore_case: bool) -> str:
    if ignore_case and char.lower() != char.upper():
        return f"[{re.escape(char.lower())}{re.escape(char.upper())}]"
    return re.escape(char)


class Joined(Machine):
    """Follows several machines at once."""

    def __init__(self, machines: tuple[Machine, ...]) -> None:
        super().__init__()
        self._machines = machines
        self.start = self._state(tuple(machine.start.places for machine in machines))

    def _advance(self, places: Hashable, char: str) -> Hashable | None:
        assert isinstance(places, tuple)
        after = tuple(
            None if place is None else machine.step(place, char).places
            for machine, place in zip(self._machines, places, strict=True)
        )
        return None if all(place is None for place in after) else after

    def is_whole(self, places: Hashable) -> bool:
        """Return whether one of the machines has it whole."""
        assert isinstance(places, tuple)
        return any(
            place is not None and machine.is_whole(place)
            for machine, place in zip(self._machines, places, strict=True)
        )


def follow(state: State, text: str) -> State:
    """Return the state that `text` leads to."""
    for char in text:
        state = state[char]
    return state


class _Dead(State):
    """The state from which nothing can be reached any more."""

    __slots__ = ()

    def __init__(self) -> None:
        dict.__init__(self)
        self.places = None
        self.whole = False

    def __missing__(self, char: str) -> State:
        return self


DEAD: State = _Dead()
"""What a text that cannot be what the expression describes leads to."""
