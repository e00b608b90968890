"""What keeps a passage's text and title from posing as another passage's marker.

It knows no passage and no style: it gets texts, and the markers that the prompt holds.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["disarmed", "disarmer", "one_line"]

# As much as a style holds by default: nothing longer is read as a marker.
MOST_MARKER = 256

# The line break between brackets is a token too: a marker never spans lines.
_BRACKETS = re.compile(r"(?P<open>[\[［【])|(?P<close>[\]］】])|[\r\n]")
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"\w+")
_SURROGATE = re.compile("[\ud800-\udfff]")


def disarmed(text: str) -> str:
    """Return `text` with parentheses for the brackets around any digit, and no lone surrogate."""
    return _disarmed(_SURROGATE.sub("\ufffd", text), _BRACKETS, _has_digit, "()")


def disarmer(written: Mapping[int | str, str]) -> Callable[[str], str]:
    """Return what takes out of a disarmed text whatever else reads as one of these markers.

    Args:
        written: The marker of each label, as the prompt holds it.
    """
    # A digit alone tells a marker. Without one, it must spell a label.
    names = {
        _words(name)
        for label, marker in written.items()
        if isinstance(label, str) and not _has_digit(label)
        for name in (label, marker)
    }
    # The brackets that `disarmed` does not know: those of the user's own styles.
    own = {
        (before, after)
        for label, marker in written.items()
        for before, _, after in [marker.partition(str(label))]
        if before and after and not _BRACKETS.match(before)
    }
    patterns = [_BRACKETS] if names else []
    patterns += [
        re.compile(
            rf"(?P<open>{re.escape(before)})|(?P<close>{re.escape(after)})|[\r\n]", re.IGNORECASE
        )
        for before, after in sorted(own)
    ]
    used = set("".join(chain.from_iterable(own)))
    pair = next((pair for pair in ("()", "{}") if used.isdisjoint(pair)), "‹›")

    def is_marker(content: str) -> bool:
        if _has_digit(content):
            return True
        words = _words(content)
        return any(name in words for name in names)

    def disarm(text: str) -> str:
        for tokens in patterns:
            text = _disarmed(text, tokens, is_marker, pair)
        return text

    return disarm


def one_line(title: str) -> str:
    """Return a title without line breaks, controls, surrogates and what shows nothing."""
    shown = "".join(char if char.isprintable() else " " for char in _visible(title))
    return " ".join(shown.split())


def _disarmed(
    text: str, tokens: re.Pattern[str], is_marker: Callable[[str], bool], pair: str
) -> str:
    """Return `text` with `pair` in place of the brackets around what reads as a marker.

    Brackets are paired as they nest, so that one pair's parentheses are never the inside
    of a marker which the pair around it makes: that pair holds the same digit, and goes too.
    """
    # An opener with as many others behind it is too far away for any closer.
    opened: deque[re.Match[str]] = deque(maxlen=MOST_MARKER)
    changes: list[tuple[int, int, str]] = []
    last = -1
    for token in tokens.finditer(text):
        if token.lastgroup == "open":
            opened.append(token)
        elif token.lastgroup is None:
            opened.clear()  # a marker never spans lines
        elif opened:
            opener = opened.pop()
            start, end = opener.end(), token.start()
            # What holds such a pair is one itself: asking again at each depth takes long.
            if end - start <= MOST_MARKER and (last >= start or is_marker(text[start:end])):
                last = opener.start()
                changes.append((*opener.span(), pair[0]))
                changes.append((*token.span(), pair[1]))
    pieces: list[str] = []
    done = 0
    for start, end, bracket in sorted(changes):
        pieces += text[done:start], bracket
        done = end
    return "".join((*pieces, text[done:]))


def _has_digit(content: str) -> bool:
    return _DIGIT.search(content) is not None


def _words(text: str) -> str:
    """Return the words of a label alone, since typography never tells two labels apart."""
    folded = unicodedata.normalize("NFKC", _visible(text)).casefold()
    return f" {' '.join(_WORD.findall(folded))} "


def _visible(text: str) -> str:
    """Return `text` without the characters that take no room, such as a zero-width space."""
    return "".join(char for char in text if unicodedata.category(char) != "Cf")
