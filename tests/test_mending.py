"""What goes with a removed marker, and what keeps its neighbours apart, in any cut."""

from __future__ import annotations

import pytest

from citestream.mending import destination, leads, needs_space, separator, wrapper
from tests.surfaces import drive_both

ANSWERS: dict[str, dict[str, str]] = {
    "its space goes, and its empty wrapper": {
        "a [9] b": "a b",
        "a ([9]) b": "a b",
        "a **[9]** b": "a b",
        "a __[9]__ b": "a b",
        "a *[9]** b": "a* b",
        "a ***[9]*** b": "a *** *** b",
        "a ([9] b": "a ( b",
        "a \\*[9]* b": "a \\* * b",
    },
    "the run's separators go": {
        "a [9], [8], and [1]": "a [1]",
        "a [1], [9].": "a [1].",
        "a [2] & [9].": "a [2].",
        "a [2] or [9]": "a [2]",
        "a [9] and b": "a and b",
    },
    "a full stop goes that would follow one": {
        "Rose. [9].": "Rose.",
        "Rose [9].": "Rose.",
        "Rose.[9] b": "Rose. b",
    },
    "what would make something new is kept apart": {
        "<scr[9]ipt>": "<scr ipt>",
        "1[9]2": "1 2",
        "`[9]`` a": "` `` a",
        "是[9]的": "是的",
    },
    "the model's own link goes": {
        "[9](https://e.example) b": "b",
        "[9]([8]) b": "b",
        "![9](u 'title') b": "b",
        "a [1](u) b": "a [1] b",
        "a [1](u": "a [1] (u",
        "a [9](u": "a(u",
    },
}


@pytest.mark.parametrize("rule", ANSWERS)
def test_only_its_own_surroundings_are_mended(rule: str) -> None:
    answers = ANSWERS[rule]
    assert {answer: drive_both(answer).visible for answer in answers} == answers


def test_separator_is_found_and_what_may_become_one() -> None:
    for text, found in {
        ", and [": (6, False),
        ", an": (2, True),
        " or": (0, True),
        " & b": (3, False),
        "; ": (2, True),
        "x": (0, False),
        "": (0, True),
    }.items():
        assert separator(text, 0, len(text)) == found, text


def test_destination_is_found_and_what_may_become_one() -> None:
    for text, found in {
        "(u)x": (3, False),
        '(u "t")': (7, False),
        "(<a b>)": (7, False),
        "(a(b)c)": (7, False),
        "()": (2, False),
        "(u": (0, True),
        "(u v)": (0, False),
        "([9])": (0, False),
        "(\n": (0, False),
    }.items():
        assert destination(text, 0, len(text)) == found, text


def test_what_may_go_with_a_marker_leads_to_it() -> None:
    for text, found in {
        " **![": 4,
        "*[": 1,
        "**[": 2,
        "__[": 2,
        "(([": 1,
        "*": None,
        "![": 1,
        " ": None,
        "x": 0,
    }.items():
        assert leads(text, 0, len(text)) == found, text


def test_wrapper_is_one_level_and_none_that_is_escaped() -> None:
    for text, opener in {"a(": "(", "**": "**", "***": "", "\\*": "", "a": "", "": ""}.items():
        assert wrapper(text, len(text), 0, " ") == opener, text
    assert wrapper("*", 1, 0, "*") == ""
    assert wrapper("*", 1, 0, "\\") == ""


def test_equal_markdown_and_two_words_need_a_space() -> None:
    for pair, needed in {"ab": True, "1a": True, "**": True, "*_": False, "éa": False}.items():
        assert needs_space(*pair) is needed, pair
