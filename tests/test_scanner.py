"""Which bracket of several is a marker: opened in each other, in a run, in a URL, too long."""

from __future__ import annotations

import pytest

from citestream import CitationFilter
from citestream.scanner import MOST_NESTED
from citestream.styles import NUMERIC, RAGFLOW_OLD
from tests.surfaces import drive_both

# What the reader gets of each answer; 1 to 3 have a passage, 8 and 9 have none.
ANSWERS: dict[str, dict[str, str]] = {
    "a bracket that is none lets another one begin inside": {
        "[1†[1] b": "[1†[1] b",
        "\\[[1†[1] b": "\\[[1†[1] b",
        "`[Source 1: [1] b": "`[Source 1: [1] b",
        "`[Source 1: [1] b`": "`[Source 1: [1] b`",
        "［[1]": "［[1]",
        "`[[1] b": "`[[1] b",
        "`[[1]] b": "`[1] b",
        "[1, [2]]": "[1, [2]]",
        "[1, [9]]": "[1,]",
    },
    "what is around a removed one is read on as if it had not been there": {
        "[1 and [9]2]": "[1, 2]",
        "［[9]1］": "[1]",
        "［[9][8]1］": "[1]",
        "[![8]x]": "[!x]",
        "[(![8])x]": "[(!)x]",
        "[9[8]": "",
        "[[9]": "[",
    },
    "a reversed range is prose, and so is all that begins with one": {
        "[3-1] [1]": "[3-1] [1]",
        "[3-1, x": "[3-1, x",
        "[3-1, [9]]": "[3-1,]",
        "[1, 3–1]": "[1, 3–1]",
        "[1–3]": "[1, 2, 3]",
    },
    "a marker in brackets of its own goes on with a run": {
        "See [9], [[8]] [1]": "See [1]",
        "See [9][[8]][1]": "See [1]",
        "See [9]［[8]": "See［",
        "See [9], [Source 1: [8]] c": "See [1] c",
    },
    "one that stands in another bracket does not": {
        "[9], [a [8]] c": ", [a] c",
        "[9] [8 [1]] c": "[8 [1]] c",
        "[9] [Source 1: [2]] c": "[Source 1: [2]] c",
        "[9][:[9": "[:",
        "[9], [3-1] b": ", [3-1] b",
        "[9][【1": "[",
    },
    "a bracket that holds a kept marker is set apart from the next": {
        "[see [1]][2]": "[see [1]] [2]",
        "[see [1]][9][2]": "[see [1]] [2]",
        "[[1-3]3][1,9]": "[[1, 2, 3]3] [1]",
        "[see [1]](u)": "[see [1]] (u)",
    },
    "a bracket in a URL belongs to it where it goes on": {
        "http://u/[[2]=a [1]": "http://u/[[2]=a [1]",
        "[Source 1: http://u?a[9]=b": "[Source 1: http://u?a[9]=b",
        "http://u/[9]": "http://u/",
        "http://u/[9 ]=a": "http://u/=a",
        # Behind a marker that is kept it would be set apart, which ends the URL.
        "http://u/[2][9]=x": "http://u/[2]=x",
    },
}


@pytest.mark.parametrize("rule", ANSWERS)
def test_marker_is_told_from_the_brackets_around_it(rule: str) -> None:
    answers = ANSWERS[rule]
    assert {answer: drive_both(answer).visible for answer in answers} == answers


def test_what_cannot_become_a_marker_is_not_held() -> None:
    for answer, held in {
        "a [3-1": " [3-1",
        "a [3-1,": "",
        "a [3-1 x": "",
        "a [1, 3-1,": "",
        "a [1, 3-10,": " [1, 3-10,",
    }.items():
        filter_ = CitationFilter(3)
        for char in answer:
            filter_.feed(char)
        assert filter_.held.endswith(held) if held else filter_.held == "", answer


def test_brackets_nest_so_deep_and_no_deeper() -> None:
    within = "[1" * (MOST_NESTED - 1) + "[9]"
    assert drive_both(within).visible == ""
    # The one that would close a marker is dropped.
    beyond = "[1" * MOST_NESTED + "[9]"
    assert drive_both(beyond).visible == beyond[:-1]


def test_nothing_behind_the_limit_belongs_to_a_marker() -> None:
    style = NUMERIC.replace(most_held=16)
    for answer, shown in {
        "[1, 2, 3, 1, 2] b": "[1, 2, 3, 1, 2] b",
        "[1, 2, 3, 1, 2](u) b": "[1, 2, 3, 1, 2] b",
        "[9, 9, 9, 9, 9](u) b": "(u) b",
        "[[1, 2, 3, 1, 2]](u) b": "[[1, 2, 3, 1, 2]] (u) b",
        "[1, 2, 3, 1, 2, 3] b": "[1, 2, 3, 1, 2, 3 b",
    }.items():
        assert drive_both(answer, style=style).visible == shown


def test_marker_may_begin_inside_what_is_none_of_another_style() -> None:
    style = (NUMERIC, RAGFLOW_OLD)
    for answer, shown in {
        "[1##0$$": "[1##0$$",
        "[1##9$$ b": "[1 b",
        "[1#[9]": "[1#",
        "###0$$": "###0$$",
        "###9$$": "#",
    }.items():
        assert drive_both(answer, {0: "a", 1: "b"}, style=style).visible == shown, answer
