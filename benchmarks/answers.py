"""Answers to measure with, and ways to cut them; it knows no filter.

They are random and seeded: the same on every machine.
"""

from __future__ import annotations

import random
import re

__all__ = [
    "HOSTILE",
    "PASSAGES",
    "cited",
    "dense",
    "hostile",
    "in_characters",
    "in_fours",
    "in_model_tokens",
    "in_words",
    "labelled",
    "plain",
]

PASSAGES = 5
"""How many passages the answers are checked against."""

_WORDS = """
    the of a to in is that it was for on are with as at be this from have or by one had not but
    what all were when we there can an your which their said if do will each about how up out them
    then she many some so these would other into has more her two like him see time could no make
    than first been its who now people my made over did down only way find use may water long
    little very after words called just where most know bicycle station ticket minutes cancel
    refund monthly service weekday returned reported electric battery insurance
""".split()

_MARKER = re.compile(r"\[[^\]]*\]")
_WORD = re.compile(r"\s*\S+")
_MODEL_TOKEN = re.compile(r"\s?\w+|\s?[^\w\s]|\s+")


def _words(random_: random.Random) -> str:
    return random_.choice(_WORDS)


def _marker(random_: random.Random) -> str:
    """Write a marker: most name one passage, some two, one in ten names none."""
    label = random_.randint(1, PASSAGES)
    roll = random_.random()
    if roll < 0.1:
        return f"[{PASSAGES + label}]"
    if roll < 0.25:
        return f"[{label}, {random_.randint(1, PASSAGES)}]"
    return f"[{label}]"


def plain(length: int) -> str:
    """Write prose without a bracket, in sentences of about twelve words."""
    random_ = random.Random(1)
    parts: list[str] = []
    size = 0
    while size < length:
        sentence = " ".join(_words(random_) for _ in range(random_.randint(8, 16))) + ". "
        parts.append(sentence.capitalize())
        size += len(sentence)
    return "".join(parts)[:length]


def cited(length: int) -> str:
    """Write prose with a marker at the end of every sentence of 70 to 80 characters."""
    random_ = random.Random(2)
    parts: list[str] = []
    size = 0
    while size < length:
        goal = random_.randint(66, 76)
        sentence = _words(random_)
        while len(sentence) < goal:
            sentence += " " + _words(random_)
        sentence = f"{sentence.capitalize()} {_marker(random_)}. "
        parts.append(sentence)
        size += len(sentence)
    return "".join(parts)[:length]


def dense(length: int) -> str:
    """Write prose with a marker after every second word."""
    random_ = random.Random(3)
    parts: list[str] = []
    size = 0
    while size < length:
        part = f"{_words(random_)} {_words(random_)} {_marker(random_)} "
        parts.append(part)
        size += len(part)
    return "".join(parts)[:length]


def labelled(answer: str) -> str:
    """Write labels such as `doc-1` in place of the numbers in an answer's markers."""
    return _MARKER.sub(lambda marker: re.sub(r"\d+", r"doc-\g<0>", marker[0]), answer)


def in_words(answer: str) -> list[str]:
    """Cut at blanks, each word with the blank before it: `"fee"`, `" [1]."`."""
    return _WORD.findall(answer)


def in_model_tokens(answer: str) -> list[str]:
    """Cut as tokenizers do, punctuation apart: `" fee"`, `" ["`, `"1"`, `"]"`, `"."`."""
    return _MODEL_TOKEN.findall(answer)


def in_fours(answer: str) -> list[str]:
    """Cut into pieces of four characters; in prose, a fifth of them ends in a blank."""
    return [answer[start : start + 4] for start in range(0, len(answer), 4)]


def in_characters(answer: str) -> list[str]:
    """Cut into single characters."""
    return list(answer)


# Each repeats to the length asked for. What they try: openers that never
# close, lists without end, near misses, floods of removals, words that open a
# marker with a remark, regions that may or may not close, blanks, what hides
# inside a marker, and a run whose separators wait for what follows.
HOSTILE = {
    "[": "[",
    "[1": "[1",
    "[1, ": "[1, ",
    "1, after one [": "1, ",
    "[1][9]": "[1][9]",
    "[9]": "[9]",
    "[9[7]]": "[9[7]]",
    "[[[[9]]]]": "[[[[9]]]]",
    "[Source 1: x": "[Source 1: x",
    "[1](": "[1](",
    "[9], ": "[9], ",
    "`": "`",
    "` ``": "` ``",
    "$x": "$x",
    r"\(": r"\(",
    "```": "\n```",
    "https://": "https://a[9]",
    "blank": " ",
    "line break": "\n",
    "**[9]": "**[9]",
    "([9]": "([9]",
    "zero-width": "[\u200b1\u200b",
    "[1]: ": "\n[1]: ",
    "[6] to [200000]": "",
}


def hostile(name: str, length: int) -> str:
    """Write the hostile answer of that name, of that length."""
    if name == "[6] to [200000]":
        return " ".join(f"[{number}]" for number in range(6, 6 + length // 6))[:length]
    if name == "1, after one [":
        return ("[" + "1, " * (length // 3 + 1))[:length]
    piece = HOSTILE[name]
    return (piece * (length // len(piece) + 1))[:length]
