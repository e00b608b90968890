"""Pieces of expressions that the markers of all styles share: frames, words, separators.

They allow for what writers vary; which labels a marker names is not known here.
"""

from __future__ import annotations

from citestream.frames import frames
from citestream.grammar import Alt, Chars, Expression, Literal, Repeat, Seq, optional
from citestream.typography import BLANK, BREAKS, COMMA, INVISIBLE, OPENS_REGION, PAIRS

__all__ = ["BLANKS", "NOT_REMARK", "SEPARATOR", "framed", "one_blank", "spelled"]

_ALL_BRACKETS = "".join(f"\\{opener}\\{closer}" for opener, closer in PAIRS.items())

NOT_REMARK = f"^{OPENS_REGION}{_ALL_BRACKETS}{BREAKS}"
"""What a remark in a marker is made of: it holds no brackets and spans no lines; nor
does it open a region, in which a bracket inside it would be code."""

BLANKS = Repeat(Chars(BLANK + INVISIBLE))
"""White space and what takes no room, as much as there is."""

_HIDDEN = Repeat(Chars(INVISIBLE))


def one_blank() -> Expression:
    """Return white space, and at least one character of it that takes room."""
    return Seq((_HIDDEN, Chars(BLANK), BLANKS))


def spelled(word: str, *, ignore_case: bool = True) -> Expression:
    """Return a word, with whatever takes no room between its letters."""
    letters = [Literal(char, ignore_case=ignore_case) for char in word]
    between: list[Expression] = []
    for letter in letters:
        between += [letter, _HIDDEN]
    return Seq(tuple(between[:-1]))


def _separator() -> Expression:
    conjunction = Seq((spelled("and"), one_blank()))
    return Alt(
        (
            Seq((Chars(COMMA), BLANKS, optional(conjunction))),
            Seq((Literal("&"), BLANKS)),
            conjunction,
        )
    )


SEPARATOR = _separator()
"""What stands between two labels in one marker."""


def framed(opening: str, closing: str, content: Expression) -> Expression:
    """Return a marker that holds `content`."""
    options: list[Expression] = []
    # Behind other signs a blank makes something else of them: `## 1` is a heading.
    blanks = BLANKS if opening[0] in PAIRS else Seq(())
    for opener, closer in frames(opening, closing).items():
        options.append(
            Seq(
                (
                    spelled(opener, ignore_case=False),
                    blanks,
                    content,
                    spelled(closer, ignore_case=False),
                )
            )
        )
    return Alt(tuple(options))
