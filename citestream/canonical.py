"""The form in which nearly all markers come, found by patterns, and the calm prose around it.

It does not know what a marker says, nor which labels have a passage.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["Common", "common_brackets"]


# A word or two, and a marker that was held.
_MOST_QUICK = 64

# Characters that may go with a marker before it, at most: " , and ".
_MOST_WITH = 8


class Common:
    """Finds markers of the common form, and prose that needs no second look.

    Args:
        openers: The characters that a marker can begin with.
        opener: The one that nearly all begin with.
        most_held: Characters held back, at most, while a marker might be forming.
        marker: The pattern of the common form, or of its beginning where the
            text ends; its group is what closes it. `None` when there is no such form.
    """

    __slots__ = (
        "begins",
        "behind",
        "longest",
        "marker",
        "most_quick",
        "opener",
        "other_opener",
        "spread",
        "stop",
    )

    def __init__(self, openers: str, opener: str, most_held: int, marker: str | None) -> None:
        self.opener = opener
        """What nearly all markers begin with."""
        others = openers.replace(opener, "")
        self.other_opener = re.compile(f"[{re.escape(others)}]" if others else "(?!)")
        """Finds the other characters that a marker can begin with."""
        self.spread = any(map(str.isascii, others))
        """Whether there are ASCII characters among those."""
        self.stop = "" if self.spread else opener
        """ASCII text without this has no opener in it; no text is without `""`."""
        self.most_quick = min(_MOST_QUICK, most_held)
        """Characters that are matched as a whole; a longer text is searched."""
        self.longest = most_held - _MOST_WITH
        """Characters of a marker that may wait with what goes with it."""
        calm = re.escape(openers) + r"\n\r`$\\:"
        end = rf"[^{calm} (*_!]"
        first = rf"[^{calm} ,;&(]"
        no_word = r"(?!(?:an?|and|or?)?\Z|(?:and|or) )"
        begins = rf"(?:{first}| {no_word}{first})"
        behind = rf"((?:{begins}(?:[^{calm}]*{end})?(?<![ (*_!]))?)( ?)"
        self.begins = re.compile(begins)
        """How text begins behind a marker that it does not go with, whatever comes then."""
        self.behind = re.compile(behind)
        """All of such text, as far as it is calm, and a space that may go with what follows."""
        self.marker = None if marker is None else re.compile(marker)
        """Finds that form."""


_BRACKET = r"\[[^\[\]\n\r`$\\]*(?:(\])|\Z)"


@lru_cache(maxsize=32)  # a process uses one or two combinations
def common_brackets(openers: str, opener: str, most_held: int) -> Common:
    """Return what finds any brackets: of styles that cannot tell their markers by a pattern."""
    return Common(openers, opener, most_held, _BRACKET if opener == "[" else None)
