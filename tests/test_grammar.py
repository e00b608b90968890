"""Expressions are followed character by character, and what is remembered is bounded."""

from __future__ import annotations

from citestream.grammar import (
    DEAD,
    MOST_TRANSITIONS,
    Alt,
    Automaton,
    Chars,
    Literal,
    Repeat,
    Seq,
    follow,
    optional,
)


def test_text_is_whole_dead_or_on_its_way() -> None:
    number = Repeat(Chars("0-9"), 1, 3)
    word = Alt((Literal("no", ignore_case=True), Repeat(Literal("x"), 2)))
    start = Automaton(Seq((Literal("["), optional(word), number, Literal("]")))).start
    for text, whole in {"[1]": True, "[NO123]": True, "[xxx1]": True, "[no": False}.items():
        assert follow(start, text).whole is whole
        assert follow(start, text) is not DEAD
    for text in ("1", "[1234", "[x1", "[1]]", "[n1"):
        assert follow(start, text) is DEAD
    assert DEAD["a"] is DEAD


def test_what_a_class_never_stands_for_ends_the_text() -> None:
    start = Automaton(Repeat(Chars("a-z")), without="q").start
    assert start.whole
    assert follow(start, "abc").whole
    assert follow(start, "aq") is DEAD


def test_transitions_are_forgotten_when_there_are_too_many() -> None:
    automaton = Automaton(Seq((Literal("["), Repeat(Chars("^]")), Literal("]"))))
    state = automaton.start["["]
    seen = {id(automaton.start): automaton.start, id(state): state}
    for code in range(0x4E00, 0x4E00 + 2 * MOST_TRANSITIONS):
        state = state[chr(code)]
        seen[id(state)] = state
    assert sum(map(len, seen.values())) <= MOST_TRANSITIONS
    assert state["]"].whole
