"""Every other marker style: its table of cases, what it reads, and what is refused when built."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest

from citestream import CitationFilter, check_citations
from citestream.events import Label
from citestream.exceptions import StyleError
from citestream.passages import Passages
from citestream.styles import (
    CITATION,
    FOOTNOTE,
    LABEL,
    MOST_READINGS,
    NUMERIC,
    OPENAI,
    OPENAI_PRIVATE,
    RAGFLOW,
    RAGFLOW_OLD,
    WEB,
    MarkerStyle,
    prefixed,
)
from tests.cases import STYLES, Case
from tests.splits import SPLITS, Split, by_character, in_threes, in_two
from tests.surfaces import SURFACES, Surface, drive

ANGLE = MarkerStyle(open="<|", close="|>", label=r"file-[a-z0-9]+")

YEARS = NUMERIC.replace(prose_from=1000)

BY_NAME: dict[str, MarkerStyle] = {
    "s": prefixed("S"),
    "doc": prefixed("doc"),
    "footnote": FOOTNOTE,
    "openai": OPENAI,
    "label": LABEL,
    "angle": ANGLE,
}

# Between a removed marker and a kept one behind it the separator goes, as in
# `See [8], [9], and [1]`, which becomes `See [1]`; the table leaves it here.
BY_THE_RULE = {"C18": "See [§ 1983(b)]."}


def options_of(case: Case) -> dict[str, Any]:
    """Give the filter's options for a case, its style among them."""
    if case.style == "cite":
        prefix = "cite:" if "[cite:" in case.answer else "c:"
        style = prefixed(prefix, label=r"[\w.-]+")
    else:
        style = BY_NAME[case.style]
    return {**case.options, "style": style}


def passages_of(case: Case) -> Passages:
    return Passages(case.passages, style=options_of(case)["style"])


@pytest.mark.parametrize("case", STYLES, ids=str)
def test_answer_comes_out_right(case: Case) -> None:
    filtered = drive([case.answer], passages_of(case), options_of(case))
    assert (filtered.visible, filtered.summary.cited, filtered.summary.invalid) == (
        BY_THE_RULE.get(case.name, case.text),
        case.cited,
        case.invalid,
    )


@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
@pytest.mark.parametrize("surface", SURFACES.values(), ids=SURFACES)
@pytest.mark.parametrize("case", STYLES, ids=str)
def test_every_surface_and_cut_gives_the_same(case: Case, surface: Surface, split: Split) -> None:
    options = options_of(case)
    whole = drive([case.answer], passages_of(case), options)
    for chunks in split(case.answer):
        outcome = surface(chunks, passages_of(case), options)
        assert (outcome.visible, outcome.summary) == (whole.visible, whole.summary), chunks


@pytest.mark.parametrize("case", STYLES, ids=str)
def test_every_cut_gives_the_same_citations(case: Case) -> None:
    options = options_of(case)
    whole = drive([case.answer], passages_of(case), options)
    cuts = chain(
        [list(case.chunks)], by_character(case.answer), in_threes(case.answer), in_two(case.answer)
    )
    for chunks in cuts:
        assert drive(chunks, passages_of(case), options) == whole, chunks


@pytest.mark.parametrize(
    ("style", "answer", "shown", "cited", "invalid"),
    [
        (prefixed("S"), "[s1, S2-S3; 9]", "[S1, S2, S3]", (1, 2, 3), (9,)),
        (prefixed("S"), "[S 1] [S01] 【S2】 ［Ｓ1］", "[S1] [S1] [S2] ［Ｓ1］", (1, 2), ()),
        (prefixed("S"), "[S\u200b1] [S9: handbook.txt] [S1\u2020L5]", "[S1] [S1]", (1,), (9,)),
        (prefixed("S"), "[1] [S] [Sx] [S3-S1] [[S1]]", "[1] [S] [Sx] [S3-S1] [S1]", (1,), ()),
        (prefixed("S", ignore_case=False), "[s1] [S1]", "[s1] [S1]", (1,), ()),
        (prefixed("v2-"), "[v2-1, v2-3]", "[v2-1, v2-3]", (1, 3), ()),
        (FOOTNOTE, "[^1] [^1, ^9] [^x]", "[^1] [^1] [^x]", (1,), (9,)),
        (RAGFLOW, "[ID:0] [id: 1] [ID:9]", "[ID:0] [ID:1]", (0, 1), (9,)),
        (RAGFLOW_OLD, "a ##0$$ ##9$$ ###1$$.", "a ##0$$ ###1$$.", (0, 1), (9,)),
        (WEB, "[web:1] [web:9]", "[web:1]", (1,), (9,)),
        (CITATION, "[citation:1][citation:9]", "[citation:1]", (1,), (9,)),
        (OPENAI, "【4:0†a file.pdf】【7:2】 [4:0]", "【4:0†source】 [4:0]", ("4:0",), ("7:2",)),
        (OPENAI, "【4:0†source】, 【7:2†source】.", "【4:0†source】.", ("4:0",), ("7:2",)),
        (OPENAI, "【7:2†source】(see)", "(see)", (), ("7:2",)),
        (OPENAI, "【9999999999:0†source】, 【4:0†source】", "【4:0†source】", ("4:0",), ()),
        (NUMERIC, "【1†L5, 2†L6】 [1†, 9†]", "[1, 2] [1]", (1, 2), (9,)),
        (NUMERIC, "[1†a, 9999999999†b]", "[1]", (1,), ()),
        (YEARS, "[2020, 2021] [1, 2020]", "[2020, 2021] [1]", (1,), (2020,)),
        (
            OPENAI_PRIVATE,
            "\ue200filecite\ue202turn0file0\ue202L8-L13\ue201 \ue200cite\ue202turn9file9\ue201",
            "\ue200cite\ue202turn0file0\ue201",
            ("turn0file0",),
            ("turn9file9",),
        ),
        (ANGLE, "<|file-a, file-z|>", "<|file-a|>", ("file-a",), ("file-z",)),
        (ANGLE, "<|file-<|file-z|>a|>", "<|file-a|>", ("file-a",), ("file-z",)),
        (
            prefixed("cite:", label=r"[\w.-]+"),
            "[Cite: kb‑7, z and cite:kb-7]",
            "[cite:kb-7, cite:kb-7]",
            ("kb-7",),
            ("z",),
        ),
    ],
)
def test_spellings_of_a_style(
    style: MarkerStyle,
    answer: str,
    shown: str,
    cited: tuple[Label, ...],
    invalid: tuple[Label, ...],
) -> None:
    labels = ["4:0", "turn0file0", "file-a", "kb-7"]
    supplied: dict[Label, str] = {label: "x" for label in labels if style.can_write(label)}
    passages = dict.fromkeys(range(4), "x") if style.numeric else supplied
    filtered = drive([answer], Passages(passages, style=style), {"style": style})
    assert (filtered.visible, filtered.summary.cited, filtered.summary.invalid) == (
        shown,
        cited,
        invalid,
    )


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"prose_from": 0}, "expected prose_from of 1 or more, got 0"),
        ({"open": ""}, "nothing would tell a marker from the text"),
        ({"close": ""}, "nothing would tell a marker from the text"),
        ({"open": "x"}, "expected open to begin with a bracket or a sign"),
        ({"open": "("}, "expected open to begin with a bracket or a sign"),
        ({"open": "a" * 65}, "at most 64 characters"),
        ({"open": 7}, "expected open to be a str"),
        ({"open": "<\n"}, "on one line"),
        ({"open": "<$"}, "without backticks"),
        ({"close": "x"}, "expected close to be made of brackets or signs"),
        ({"prefix": "a]"}, "without brackets"),
        ({"label": r"(\w+ ?)*"}, "a repeat without bound holds another one"),
        ({"label": r"(a+)+"}, "a repeat without bound holds another one"),
        ({"label": r"(\w+\s?)*"}, "a marker never spans lines"),
        ({"label": "a*"}, "matches at least one character"),
        ({"label": ""}, "matches at least one character"),
        ({"label": "(a|)"}, "matches at least one character"),
        ({"label": ".+"}, "name the characters"),
        ({"label": r"[^x]+"}, "cannot hold ']'"),
        ({"label": "a\\["}, "without '['"),
        ({"label": "a{200}b{200}"}, "whose shortest has 402"),
        ({"label": "(a{200}){200}"}, "more than 2048"),
        ({"label": "a{300}"}, "a count is at most 256"),
        ({"label": "a{0}"}, "a count of nothing"),
        ({"label": "a{3,2}"}, "a count of nothing"),
        ({"label": "a{x}"}, "a brace opens no count"),
        ({"label": "a**"}, "a repeat of a repeat"),
        ({"label": "*a"}, "nothing before it to repeat"),
        ({"label": "(a"}, "a group does not end"),
        ({"label": "a)"}, "no opening one"),
        ({"label": "(?=a)"}, "only (?: is allowed"),
        ({"label": "(" * 20 + "a" + ")" * 20}, "more than 16 deep"),
        ({"label": "[a"}, "a class does not end"),
        ({"label": "[b-a]"}, "is empty"),
        ({"label": r"[\d-x]"}, "from one character to another"),
        ({"label": r"[\D]"}, "not allowed in a class"),
        ({"label": "^a"}, "matched whole"),
        ({"label": r"\ba"}, "matched whole"),
        ({"label": r"\1"}, "only \\d, \\w"),
        ({"label": "a\\"}, "a backslash stands at the end"),
        ({"label": "`a"}, "opens code, maths or an escape"),
        ({"label": "a\nb"}, "a marker never spans lines"),
        ({"label": "a" * 3000}, "longer than 2048"),
        ({"label": 7}, "expected a label pattern as str"),
    ],
)
def test_style_that_cannot_be_held_is_refused_with_the_reason(
    fields: dict[str, Any], reason: str
) -> None:
    with pytest.raises(StyleError) as caught:
        MarkerStyle(**fields)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "label"),
    [
        (r"file-[a-z0-9]+", "file-a1"),
        (r"(?:kb|doc)-\d{2,3}", "kb-123"),
        (r"[^\]\[ ]+", "é:1"),
        (r"\d{4}(?:-\d{2}){0,2}", "2024-01"),
        (r"[\w.-]+", "a_b.c-d"),
        (r"a\|b", "a|b"),
        (r"x{2,}", "xxx"),
        (r"[a\-z]+", "a-z"),
    ],
)
def test_pattern_names_labels(pattern: str, label: str) -> None:
    style = MarkerStyle(open="[", close="]", label=pattern)
    assert style.can_write(label)
    assert check_citations(f"A [{label}].", {label: "x"}, style=style).cited == [label]


@pytest.mark.parametrize("style", [(), (1,), 7, "numeric", [OPENAI]])
def test_what_is_no_style_is_refused(style: Any) -> None:
    with pytest.raises(StyleError, match="expected a MarkerStyle or a tuple of them"):
        CitationFilter({}, style=style)


def test_field_that_no_style_has_is_named() -> None:
    with pytest.raises(StyleError) as caught:
        NUMERIC.replace(colour="red", close="]")
    assert str(caught.value) == (
        "expected fields among close, digits_most, ignore_case, label, most_held, open, prefix, "
        "prose_from, strict, got 'colour'"
    )


def test_style_says_which_labels_it_can_write() -> None:
    known: dict[MarkerStyle, dict[Label, bool]] = {
        NUMERIC: {0: True, 999_999_999: True, 10**9: False, -1: False, "1": False},
        YEARS: {999: True, 1000: False},
        OPENAI: {"4:0": True, "4": True, "04:0": False, "4:": False, 4: False},
        OPENAI_PRIVATE: {"turn0file1": True, "turn0": False, 0: False},
        LABEL: {"a b": True, "a]": False, " ": False, "x" * 300: False, 1: False},
    }
    for style, labels in known.items():
        assert {label: style.can_write(label) for label in labels} == labels


def test_readings_that_are_kept_are_bounded() -> None:
    several = (NUMERIC, prefixed("S"))
    for style in (NUMERIC, several):
        answer = " ".join(f"See [{number}]." for number in range(1, MOST_READINGS + 100))
        checked = check_citations(answer, MOST_READINGS + 100, style=style)
        assert checked.answer == answer
        assert checked.cited == list(range(1, MOST_READINGS + 100))
    assert len(NUMERIC.read_common.__self__) < MOST_READINGS  # type: ignore[attr-defined]


def test_marker_of_one_style_may_be_prose_in_all() -> None:
    ends = MarkerStyle(open="[", close=">", label="[a-z]+")
    passages: dict[Label, str] = {1: "x", "a": "y"}
    for answer, shown in {
        "[3-1] [S3-S1] [1]": "[3-1] [S3-S1] [1]",
        "x [a>] y [b> z [1]": "x [a>] y z [1]",
        "x [a>]": "x [a>]",
    }.items():
        for chunks in (*by_character(answer), *in_threes(answer), *in_two(answer)):
            options = {"style": (NUMERIC, prefixed("S"), ends)}
            assert drive(chunks, passages, options).visible == shown


def test_prefix_may_not_be_empty() -> None:
    with pytest.raises(StyleError, match="expected a prefix"):
        prefixed("")


@pytest.mark.parametrize(
    ("style", "answer", "held"),
    [
        (prefixed("S"), "a [imp", ""),
        (prefixed("S"), "a [Sx", ""),
        (prefixed("S"), "a [S", " [S"),
        (FOOTNOTE, "h[^a", ""),
        (FOOTNOTE, "h[^", "[^"),
        (RAGFLOW, "[ID: x", ""),
        (RAGFLOW_OLD, "#x", ""),
        (RAGFLOW_OLD, "##0$", "##0$"),
        (OPENAI, "【4:0†source t", ""),
        (OPENAI, "【重", ""),
        (OPENAI, "【4:0†sour", "【4:0†sour"),
        (OPENAI_PRIVATE, "\ue200url", ""),
        (ANGLE, "a <b", ""),
        (ANGLE, "<|x", ""),
        (ANGLE, "<|file-a|", "<|file-a|"),
    ],
)
def test_what_cannot_become_a_marker_is_not_held(
    style: MarkerStyle, answer: str, held: str
) -> None:
    filter_ = CitationFilter(Passages({}, style=style), style=style)
    for char in answer:
        filter_.feed(char)
    assert filter_.held == held


@pytest.mark.parametrize(
    ("style", "answer", "shown"),
    [
        (prefixed("S"), "Rose [S1", "Rose"),
        (prefixed("S"), "Rose [S", "Rose [S"),
        (ANGLE, "Rose <|file-a", "Rose"),
        (ANGLE, "Rose <|", "Rose <|"),
        (OPENAI, "Rose【4:0†so", "Rose"),
        (OPENAI_PRIVATE, "Rose\ue200cite\ue202tu", "Rose"),
        (OPENAI_PRIVATE, "Rose\ue200ci", "Rose\ue200ci"),
        (LABEL, "Rose [file", "Rose"),
        (LABEL, "Rose [", "Rose ["),
    ],
)
def test_end_cuts_a_marker_that_has_a_label_begun(
    style: MarkerStyle, answer: str, shown: str
) -> None:
    labels: list[Label] = ["4:0", "turn0file0", "file-a"]
    supplied: dict[Label, str] = {label: "x" for label in labels if style.can_write(label)}
    filtered = drive([answer], Passages(supplied, style=style), {"style": style})
    assert (filtered.visible, filtered.summary.invalid) == (shown, ())
    assert filtered.summary.removed == (answer != shown)
