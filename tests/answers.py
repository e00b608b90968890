"""Answers made up for the promises: every short one over an alphabet, long hostile ones.

It knows what a marker and its surroundings look like, and nothing of what is
right for them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import product

__all__ = ["ALPHABETS", "every_answer", "hostile_answer", "woven_answer"]

# Small alphabets, each around one part of the grammar, so that every string
# over one is short enough to go through them all. The passages are 1 to 3:
# 1 has a passage and 9 has none.
ALPHABETS: dict[str, tuple[str, ...]] = {
    "lists": ("[", "]", "1", "9", ",", " "),
    "links": ("[", "]", "9", "(", ")", "."),
    "wrappers": ("[", "]", "1", "9", "*", "_"),
    "runs": ("[1]", "[9]", " ", ",", "and", ".", "a"),
    "runs of words": ("[1]", "[9]", " and ", " or ", ", ", "; ", " "),
    "forming": ("[", "]", "9", "1", "*[9]*", "([8])", " "),
    "forming in lists": ("[9", "[1", "]", ", ", "[8]", "**[8]**", "2"),
    "forming by links": ("[", "]", "9", "1", "[8](u)", "![8]()", "(u)"),
    "forming in words": ("[", "]", "Source ", "9", "_[8]_", " [8]", "[8],"),
    "bold": ("[9]", "[1]", "*", "**", "(", ")", " "),
    "starts": ("[9]", "[1]", "\n", " ", "-", "#", "a"),
    "code": ("`", "[9]", "[1]", "\n", " ", "a"),
    "fences": ("```", "~~~", "[9]", "\n", "> ", "- ", "  "),
    "fence lengths": ("`", "``", "[9]", "\n", "a"),
    "maths": ("$", "[9]", "a", " ", "5", "\n"),
    "escapes": ("\\", "[", "]", "9", "(", ")"),
    "display": ("\\[", "\\]", "[9]", "$$", "\n", " "),
    "destinations": ("[1]", "[9]", "[", "](", "(", ")", "u", " "),
    "definitions": ("[1]", "[9]", ":", " ", "\n", "a", "]"),
    "references": ("[1]", "[9]", "[", "]", "a", "!"),
    "urls": ("http://u", "[9]", "[1]", "=", ".", " ", ")"),
    "ranges": ("[", "]", "1", "3", "-", ",", " "),
    "words": ("[", "]", "Source", "9", " ", ":", "s"),
    "daggers": ("【", "】", "[", "]", "9", "†", "a"),
    "hidden": ("[", "]", "9", "\u200b", " ", "\u202e"),
    "widths": ("[", "］", "【", "】", "［", "]", "9"),
    "meeting": ("[9]", "a", "1", "*", "~", "`", "é"),
    "stops": ("[9]", "[1]", ".", " ", "a", ")"),
    "pipes": ("[9]", "|", " ", "\n", "[1]"),
}


def every_answer(tokens: Sequence[str], most: int) -> Iterator[str]:
    """Give every answer of up to `most` tokens, the short ones first and none twice."""
    seen = set()
    for length in range(1, most + 1):
        for choice in product(tokens, repeat=length):
            answer = "".join(choice)
            if answer not in seen:
                seen.add(answer)
                yield answer


# What a hostile answer is built of: markers good and bad in every spelling,
# half ones, near misses, wrappers, separators, and all that may make a region.
TOKENS = (
    *("[1]", "[2]", "[9]", "[0]", "[1, 2]", "[1, 9]", "[9, 8]", "[1-3]", "[2-9]", "[3-1]"),
    *(
        "[Source 1]",
        "[Source 9: a.txt, b 3]",
        "[refs. 1, 9]",
        "【1】",
        "【9】",
        "［９］",
        "[٩]",
        "[٢]",
    ),
    *("[9\u200b]", "[\u202e9]", "[1†source]", "【9†L5-L9】", "[01]", "[1234567890]", "[1 and 9]"),
    *(
        "[",
        "]",
        "[[",
        "]]",
        "[1",
        "[9",
        "9]",
        "1]",
        "[1,",
        ", 9]",
        "[Source ",
        "【",
        "】",
        "［",
        "］",
    ),
    *("[sic]", "[6c]", "[1/3]", "[1.5]", "[2024-01-01]", "[x]", "[ ]", "[a", "[[Page]]", "[0, 1)"),
    *("[9[7]]", "[[9]1]", "[1[9]]", "[[1][9]]", "[[[2]]]", "[1[1[1[1[9]", "[" * 6),
    *("(", ")", "](", "](u)", "(https://u.example/x)", "(see x)", "(<u v>)", '(u "t")', "![", "!"),
    *("[1](u)", "[9](u)", "[[1]](u)", "![9](u)", "[see [1]](u)", "[a](u)", "[1][a]", "[a][1]"),
    *(": ", ":", "[a]: ", "\n[1]: u\n", "\n[a]: u\n"),
    *(
        "`",
        "``",
        "```",
        "\n```\n",
        "\n```py\n",
        "~~~",
        "\n~~~\n",
        "`a[9]`",
        "``a`[9]``",
        "\n\n```\n",
    ),
    *("$", "$$", "\\(", "\\)", "\\[", "\\]", "\\", "$x[9]$", "\\[9\\]", "$5"),
    *("https://u.example/a", "http://[2001:db8::7]/x", "?x[9]=4", "/", "=", "www.u.example"),
    *(" ", "  ", "\t", "\n", "\n\n", "\r\n", "\r", "\u00a0", "\u3000"),
    *(", ", ",", "; ", " and ", " or ", " & ", ", and ", ".", ". ", "...", "? ", "!", "…"),
    *("*", "**", "_", "__", "~", "~~", "#", "\n# ", "\n- ", "\n* ", "\n> ", "\n1. ", "|", "\n| "),
    *("([9])", "**[9]**", "*[9]*", "_[9]_", "([1], [9])", "(", ")", '"', "(see [9])"),
    *("a", "b", "1", "9", "word ", "Rent rose", "价格", "é", "<scr", "ipt>", "<b>", "</b>", "<!--"),
    *("\u200b", "\u200f", "\ufeff", "\ud83d", "\x00", "\u2028", "\u0301", "🎉"),
    *("9" * 12, "[" + "7" * 30 + "]", "    ", "\n    ", "\n  ", "\n\t"),
)
# So long that nothing can hold them: rare, or every answer would be about them alone.
LONG_TOKENS = (
    "[" + "9" * 300 + "]",
    "[1, " + "9, " * 100 + "9]",
    " " * 300,
    "word " * 130,
    "[1" * 90,
)


def hostile_answer(dice: random.Random, pieces: int) -> str:
    """Build an answer of tokens: a few favourites of this answer, and now and then any other."""
    favourites = dice.choices(TOKENS, k=dice.randint(4, 16))
    if not dice.randrange(12):
        favourites.append(dice.choice(LONG_TOKENS))
    return "".join(
        dice.choice(favourites) if dice.random() < 0.75 else dice.choice(TOKENS)
        for _ in range(dice.randint(1, pieces))
    )


PROSE = (
    "Rent rose [1]. ",
    "Wages fell [9] again. ",
    "Both [1, 9], they say. ",
    "See [8], [9], and [2].\n",
    "It costs little ([9]). ",
    "A word, [sic], stays. ",
)
# Each holds its own `%d`, so that it can be found again in the visible text.
UNTOUCHED = (
    "\n\n```py\nx%d[9] = y[1]\n\n[8] z\n```\n\n",
    "\n\n~~~\nx%d [9]\n```\n~~~\n\n",
    "\n\n- ```\n  x%d[9]\n  ```\n\n",
    "\n\n> ~~~\n> x%d [9], [8]\n> ~~~\n\n",
    "`x%d[9] [1]`",
    "``x%d`[9]``",
    "\\(x_{%d} [9]\\)",
    "\\[ x_{%d} = a[9] \\]",
    "$$ x_{%d}[9] $$",
    "$x_{%d}[9]$",
    "https://u.example/x%d?ids[9]=4",
    "\\[%d\\]",
)


def woven_answer(dice: random.Random) -> tuple[str, list[str]]:
    """Weave prose and what is not prose; give the answer, and what must come out as it is."""
    answer = ""
    untouched = []
    for number in range(dice.randint(1, 8)):
        answer += "".join(dice.choices(PROSE, k=dice.randint(0, 3)))
        # A word before it and one after: no marker is next to it.
        piece = dice.choice(UNTOUCHED) % number
        answer += f"word {piece} word "
        untouched.append(piece.strip("\n"))
    return answer, untouched
