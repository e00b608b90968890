"""What writers and models vary without meaning anything by it: blanks, dashes, quotes, width.

It says which characters stand for which; it does not know what a marker is.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = [
    "BLANK",
    "BREAKS",
    "COMMA",
    "DASH",
    "INVISIBLE",
    "OPENS_REGION",
    "PAIRS",
    "fold",
    "fold_char",
    "strip_invisible",
]

# The inside of a regular expression's brackets, each.

INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff"
)
"""Characters that take no room and so must not hide a marker: soft hyphen, zero-width
spaces and joiners, direction marks, variation selectors."""
BLANK = " \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
"""White space within a line."""
DASH = "\\-\u2010-\u2015\u2212\ufe58\ufe63\uff0d"
"""Hyphens, dashes and the minus sign."""
COMMA = ",;\uff0c\u3001\uff1b"
"""What stands between the members of a list."""
BREAKS = "\n\r\u000b\u000c\u0085\u2028\u2029"
"""What ends a line: a marker never spans one."""
OPENS_REGION = "`$\\\\"
"""What opens code, maths or an escape, where a bracket is no marker."""

PAIRS = {"[": "]", "\u3010": "\u3011", "\uff3b": "\uff3d"}
"""Brackets that stand for each other around a label."""

_QUOTES = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4\u02b9\u02bc", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u02ba", '"'),
}
_invisible = re.compile(f"[{INVISIBLE}]")
_blank = re.compile(f"[{BLANK}]")
_dash = re.compile(f"[{DASH}]")
_runs = re.compile(" {2,}")
_several_invisible = re.compile(f"[{INVISIBLE}]+")


def strip_invisible(text: str) -> str:
    """Return `text` without the characters that take no room."""
    return _several_invisible.sub("", text)


@lru_cache(maxsize=4096)  # more than one answer's alphabet; all of Unicode does not stay
def fold_char(char: str) -> str:
    """Return what a character stands for: none, one or several plain ones.

    Typography goes; letters and digits stay what they are, but for the width
    of their form and for how an accent is put together.
    """
    if _invisible.match(char):
        return ""
    if _blank.match(char):
        return " "
    if _dash.match(char):
        return "-"
    if char in _QUOTES:
        return _QUOTES[char]
    if unicodedata.decomposition(char).startswith(("<wide>", "<narrow>")):
        char = unicodedata.normalize("NFKC", char)
    return unicodedata.normalize("NFD", char)


def fold(text: str) -> str:
    """Return `text` in plain typography, blanks single and none at its ends.

    Two labels are the same if and only if they fold to the same.
    """
    return _runs.sub(" ", "".join(map(fold_char, text))).strip(" ")
