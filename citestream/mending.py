"""What goes with a removed marker, and what keeps its neighbours apart.

It looks at the characters on both sides of the hole and says what to do; it
holds no text and does not know which markers are valid.
"""

from __future__ import annotations

from citestream.grammar import (
    DEAD,
    Alt,
    Automaton,
    Chars,
    Expression,
    Literal,
    Repeat,
    Seq,
    State,
    optional,
)

__all__ = ["CLOSERS", "destination", "lead", "leads", "needs_space", "separator", "wrapper"]

CLOSERS = {"(": ")", "*": "*", "**": "**", "_": "_", "__": "__"}
"""Wrappers that go with a removed marker when they hold nothing else, and what closes them."""

# Two of the same that meet could turn into other Markdown: a fence, a rule,
# emphasis, a heading, a link, a table cell, an escape, maths.
_MARKDOWN = frozenset("`~*_#[](){}<>|!$\\=-+:&")


def _separator() -> Expression:
    """Return what may stand between two markers of a run, and goes with the second one."""
    blank = Literal(" ")
    word = Seq((Alt((Literal("and"), Literal("or"))), blank))
    ampersand = Seq((Literal("&"), optional(blank)))
    return Alt(
        (
            Seq((optional(blank), Chars(",;"), optional(blank), optional(Alt((word, ampersand))))),
            Seq((blank, word)),
            Seq((optional(blank), ampersand)),
        )
    )


def _destination() -> Expression:
    """Return a Markdown link destination in its parentheses, with or without a title.

    As in CommonMark, but on one line and with parentheses three deep; what
    begins with a bracket is none.
    """
    blanks = Repeat(Chars(" \\t"))
    escape = Seq((Literal("\\"), Chars(r"^\s")))
    plain = r"^\s\x00-\x1f\x7f()\\"
    inner: Expression = Repeat(Alt((Chars(plain), escape)))
    for _ in range(3):
        nested = Seq((Literal("("), inner, Literal(")")))
        inner = Repeat(Alt((Chars(plain), escape, nested)))
    begin = Alt((Chars(plain + r"<\[\]\u3010\u3011\uff3b\uff3d"), escape, nested))
    angle = Seq(
        (
            Literal("<"),
            Repeat(Alt((Chars(r"^<>\\\n\r"), Seq((Literal("\\"), Chars(r"^\n\r")))))),
            Literal(">"),
        )
    )
    titles = [
        Seq(
            (
                Literal(a),
                Repeat(Alt((Chars(rf"^\\\n\r{out}"), Seq((Literal("\\"), Chars(r"^\n\r")))))),
                Literal(b),
            )
        )
        for a, b, out in (('"', '"', '"'), ("'", "'", "'"), ("(", ")", "()"))
    ]
    title = Seq((Chars(" \\t"), blanks, Alt(tuple(titles))))
    target = Alt((angle, Seq((begin, inner))))
    return Seq(
        (
            Literal("("),
            blanks,
            optional(Seq((target, optional(title)))),
            blanks,
            Literal(")"),
        )
    )


_SEPARATOR = Automaton(_separator()).start
_DESTINATION = Automaton(_destination()).start


def separator(text: str, start: int, end: int) -> tuple[int, bool]:
    """Find a separator that begins at `start`.

    Returns:
        Where the longest one ends (`start` when there is none), and whether
        all of the text up to `end` may still become one.
    """
    return _follow(_SEPARATOR, text, start, end)


def destination(text: str, start: int, end: int) -> tuple[int, bool]:
    """Find a link destination in parentheses that begins at `start`.

    Returns:
        Where it ends (`start` when there is none), and whether all of the
        text up to `end` may still become one.
    """
    state = _DESTINATION
    for index in range(start, end):
        state = state[text[index]]
        if state is DEAD:
            return start, False
        if state.whole:
            return index + 1, False
    return start, True


def _follow(state: State, text: str, start: int, end: int) -> tuple[int, bool]:
    found = start
    for index in range(start, end):
        state = state[text[index]]
        if state is DEAD:
            return found, False
        if state.whole:
            found = index + 1
    return found, True


def lead(text: str, end: int, base: int, last: str) -> int:
    """Return where that begins which may go with a marker at `end`.

    One plain space, an opening wrapper, an exclamation mark.

    Args:
        text: The text that holds the place.
        end: Where the marker stands, or might.
        base: Nothing before this belongs to it.
        last: The character before `text`.
    """

    def before(index: int) -> str:
        return text[index - 1] if index > base else "" if base else last

    start = end
    if start > base and text[start - 1] == "!" and before(start - 1) != "\\":
        start -= 1
    opener = wrapper(text, start, base, last)
    start -= len(opener)
    if start > base and text[start - 1] == " ":
        start -= 1
    return start


def leads(text: str, start: int, end: int) -> int | None:
    """Find what goes with a removed marker, from `start` to where the marker would open.

    Returns:
        Where it ends; `start` when there is none; `None` when all of the text
        up to `end` may be the beginning of it.
    """
    at = start
    if at < end and text[at] == " ":
        at += 1
    if at < end and text[at] in "(*_":
        opener = text[at]
        at += 1
        if opener != "(" and at < end and text[at] == opener:
            at += 1
    if at < end and text[at] == "!":
        at += 1
    return at if at < end else None


def wrapper(text: str, end: int, base: int, last: str) -> str:
    """Return the opening wrapper that ends at `end`, or nothing."""
    if end <= base:
        return ""
    char = text[end - 1]
    if char not in "(*_":
        return ""
    start = end - 1
    if char != "(":
        while start > base and text[start - 1] == char:
            start -= 1
    before = text[start - 1] if start > base else "" if base else last
    opener = text[start:end]
    if opener not in CLOSERS or before == "\\" or (char != "(" and before == char):
        return ""
    return opener


def needs_space(before: str, after: str) -> bool:
    """Return whether two characters that meet across a hole must be kept apart.

    Two ASCII letters or digits would make a new word, two equal Markdown
    characters new Markdown.
    """
    if before.isascii() and after.isascii() and before.isalnum() and after.isalnum():
        return True
    return before == after and before in _MARKDOWN
