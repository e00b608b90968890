"""What opens and closes a marker: what it may be, and what stands for it.

It does not know what stands between.
"""

from __future__ import annotations

from citestream.exceptions import StyleError
from citestream.typography import BREAKS, PAIRS

__all__ = ["REGIONS", "check_frame", "frames"]

REGIONS = "`$\\"
"""What opens code, maths or an escape: a marker that holds it would hide what follows."""
# What goes with a removed marker, or begins a quote, a list or a fence, opens none.
_LEADS = "(*_!>~=+-"
# What stands between labels cannot be what ends their marker.
_BETWEEN = ",;&-:"


def frames(opening: str, closing: str) -> dict[str, str]:
    """Return what opens and closes a marker, in all the forms that it may take.

    Square brackets, full-width and lenticular ones stand for each other.
    """
    if PAIRS.get(opening[0]) == closing:
        return {opener + opening[1:]: closer for opener, closer in PAIRS.items()}
    return {opening: closing}


def check_frame(opening: str, closing: str, prefix: str) -> None:
    """Check that a marker can be told from the text around it.

    Raises:
        StyleError: It cannot. The message gives the reason.
    """
    for name, value in (("open", opening), ("close", closing), ("prefix", prefix)):
        if not isinstance(value, str):
            raise StyleError(f"expected {name} to be a str, got {type(value).__name__}")
        if len(value) > 64:
            raise StyleError(f"expected {name} of at most 64 characters, got {len(value)}")
        if any(char in BREAKS for char in value):
            raise StyleError(f"expected {name} on one line, got {value!r}")
    if not opening or not closing:
        raise StyleError(
            f"expected something that opens a marker and something that closes it, got {opening!r} "
            f"and {closing!r}: nothing would tell a marker from the text around it"
        )
    first = opening[0]
    if first.isalnum() or first.isspace() or first in REGIONS + _LEADS:
        raise StyleError(
            f"expected open to begin with a bracket or a sign of its own, got {opening!r}: "
            "it would be taken for a word, code, the mark of a line or what goes with a marker"
        )
    if any(char.isalnum() or char.isspace() or char in "`\\" + _BETWEEN for char in closing):
        raise StyleError(
            f"expected close to be made of brackets or signs, got {closing!r}: "
            "it would be taken for a part of the labels"
        )
    inner = set(opening[1:] + prefix) & {*REGIONS, *PAIRS, *PAIRS.values()}
    if prefix and (inner or first in prefix or closing[0] in prefix):
        raise StyleError(
            f"expected a prefix without brackets, backticks, dollars, backslashes and what opens "
            f"or closes the marker, got {prefix!r}: it would hide where a marker is"
        )
    if set(opening[1:]) & set(REGIONS):
        raise StyleError(
            f"expected open without backticks, dollars and backslashes, got {opening!r}"
        )
