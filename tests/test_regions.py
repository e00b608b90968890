"""What is not prose: where code, maths, URLs and escapes begin and end, in any cut."""

from __future__ import annotations

import pytest

from citestream import CitationFilter
from citestream.regions import MOST_OPEN, MOST_UNDECIDED
from tests.surfaces import drive_both

# What the reader gets of each answer; 1 to 3 have a passage, 9 has none.
ANSWERS: dict[str, dict[str, str]] = {
    "a line of backticks that another one follows is no fence": {
        "```[9]`": "``` `",
        "```py [9]\nx [9]\n```\n[1]": "```py [9]\nx [9]\n```\n[1]",
        "a [9]\n```py [9]\nx": "a\n```py [9]\nx",
        # It closes what is open, and what is behind it is prose.
        "a ```\n``` [9] ` b": "a ```\n``` ` b",
        "a ``` [9]\n``` [9] ` b": "a ``` [9]\n``` ` b",
        "a ```\n``` $x[9]$ ` b": "a ```\n``` $x[9]$ ` b",
        # Or else it opens code itself, behind what was open before.
        "a `` b\n``` [9] ` b `` [9]": "a `` b\n``` [9] ` b ``",
        "a ` b\n``` [9] ` b [9]": "a ` b\n``` [9] ` b",
        "a ` ``` b\n``` [9] ` b [9]": "a ` ``` b\n``` [9] ` b",
        # As a fence it ends the paragraph and all that was open in it.
        "a ``` [9]\n```x [9]\n```\n[9]": "a ```\n```x [9]\n```\n",
    },
    "a new container ends a paragraph, whatever its backticks are": {
        "`a\n[9]\n> ``` `": "`a\n\n> ``` `",
        ">a\n>`[9]`\n> `[9]\n>[9]` [9]": ">a\n>`[9]`\n> `[9]\n>[9]`",
        "> a\n``` x ` b\n> [9]": "> a\n``` x ` b\n> ",
        "- a\n  ```\n  [9]\n\nb [9]": "- a\n  ```\n  [9]\n\nb",
    },
    "a run of backticks closes code only in its own length": {
        "`` a ` [9] `` [9]": "`` a ` [9] ``",
        "a ` b `` [9] `` c": "a ` b `` [9] `` c",
        "a ` b `` [9] c": "a ` b `` c",
    },
    "a backslash takes one backtick of a run that opens": {
        "\\`[9]` [9]": "\\` `",
        "\\``[9]` [9]": "\\``[9]`",
        "`a\\`[9]": "`a\\`",
    },
    "a backslash escapes what follows": {
        "\\* a [9].": "\\* a.",
        "\\[9\\] [9]": "\\[9\\]",
        "a\\\n[9] b": "a\\\nb",
        "a\\\r\n[9] b": "a\\\r\nb",
        "a\\": "a\\",
    },
    "maths ends with as many dollars as it began with": {
        "$$ [9] $$ [9]": "$$ [9] $$",
        "$$ a $ [9] $$": "$$ a $ [9] $$",
        "$x[9]$ [9]": "$x[9]$",
        "it costs $5 [9] and $6": "it costs $5 and $6",
        "$x [9] $ [9]": "$x $",
        "\\( [9] \\) [9]": "\\( [9] \\)",
    },
    "a URL goes on over balanced parentheses and what is no delimiter": {
        "(http://u/a_(b)[9]=c) [9].": "(http://u/a_(b)[9]=c).",
        "http://u/]x[9]=1 b [9].": "http://u/]x[9]=1 b.",
        "[http://u/]x[9]=1 b [9].": "[http://u/]x[9]=1 b.",
        "See http://u/$x?ids[9]=4 and [9].": "See http://u/$x?ids[9]=4 and.",
        "$x http://u[9]$ and [9].": "$x http://u[9]$ and.",
        "http://u\n[9]=1": "http://u\n=1",
        "a:b://[9]": "a:b://",
        "://x[9]=1": "://x=1",
    },
    "a bracket that closes nothing is text": {
        "`a` ] b [9]": "`a` ] b",
        "a ] b [1] (c": "a ] b [1] (c",
    },
    "a carriage return alone ends a line": {
        "a\r[9] b\r\n[9] c": "a\rb\r\nc",
        "```\r[9]\r```\r[9] a": "```\r[9]\r```\ra",
        "```x\r\n[9]\r\n```\r\n[9] a": "```x\r\n[9]\r\n```\r\na",
        "~~~\r[9]": "~~~\r[9]",
        "```[9]\r": "```[9]\r",
        "```[1]\r```~": "```[1]\r```~",
        "`[9]\r`[9]\r": "`[9]\r`\r",
        "\r[1]: ~[1]:": "\r[1] : ~[1]:",
        "`a\r\r[9]`": "`a\r\r`",
        "---\r[9] a": "---\ra",
    },
    "in doubt the rest of the paragraph is prose": {
        "`x\n[9]: y`": "`x\n: y`",
        "`x\n[a]: [9] y`\n\n`[9]`": "`x\n[a]: y`\n\n`[9]`",
        "<div>\n`[9]`\n\n`[9]`": "<div>\n` `\n\n`[9]`",
        "<divan>`[9]`": "<divan>`[9]`",
    },
}


@pytest.mark.parametrize("rule", ANSWERS)
def test_what_is_not_prose_is_left_alone(rule: str) -> None:
    answers = ANSWERS[rule]
    assert {answer: drive_both(answer).visible for answer in answers} == answers


def test_what_is_undecided_for_too_long_is_prose() -> None:
    most = MOST_UNDECIDED + 1
    for long in ("```" + "x" * most, "`" * most, "$" * most, "a " + "`" * most):
        assert drive_both(f"{long} [9].").visible == f"{long}."
    assert drive_both("```[9]" + "x" * most).visible == "```" + "x" * most
    # What comes just before that is not.
    code = f"`[9]{'x' * (MOST_UNDECIDED - 10)}`"
    assert drive_both(code).visible == code


def test_text_behind_the_backticks_of_a_line_is_held_within_the_bound() -> None:
    filter_ = CitationFilter(3)
    longest = 0
    for char in "```[9]" + "x" * 2000:
        filter_.feed(char)
        longest = max(longest, len(filter_.held))
    assert MOST_UNDECIDED - 10 <= longest <= MOST_UNDECIDED
    assert filter_.held == ""


def test_too_many_openers_are_in_doubt() -> None:
    kinds = ["`" * length for length in range(1, MOST_OPEN + 2)]
    # The first one that finds its like makes code of all between.
    answer = f"a {' '.join(kinds[:-1])} [9] `"
    assert drive_both(answer).visible == answer
    answer = f"a {' '.join(kinds)} [9] `"
    assert drive_both(answer).visible == answer.replace(" [9]", "")


def test_refusal_is_found_outside_code_alone() -> None:
    for answer, refused in {
        "a ```\n``` No way. ` b": True,
        "a ```\n``` No ` way.": False,
        "``` No way. ` b": True,
        "```No way.": False,
        "```No way.\n": False,
        "a `No way.`": False,
        "a ` No way.": True,
        "~~~\rNo way.\r~~~": False,
        "~~~\rNo\r~~~\rNo way.": True,
        "# No\rway.": True,
        "a $No$ way.": False,
        "a $x$ No way.": True,
    }.items():
        summary = drive_both(answer, refusal="No way.").summary
        assert (summary.refused_by == "model") is refused, answer
