"""The judge is judged: it passes what the tables call right and catches faults planted by hand."""

from __future__ import annotations

import pytest

from tests.cases import EXTRA, NUMERIC, Case
from tests.oracle import changed_otherwise, invented_in, links_on_markers

# The judge knows the default options alone.
RIGHT = [case for case in [*NUMERIC, *EXTRA] if case.text is not None and not case.options]


@pytest.mark.parametrize("case", RIGHT, ids=str)
def test_what_is_right_passes(case: Case) -> None:
    assert case.text is not None
    supplied = [label for label in case.passages if isinstance(label, int)]
    assert invented_in(case.text, supplied) == []
    assert links_on_markers(case.text) == []
    assert changed_otherwise(case.answer, case.text, supplied) is None


@pytest.mark.parametrize(
    "visible",
    [
        "A [9] b",
        "A [1, 9] b",
        "A [0] b",
        "A 【9】 b",
        "A ［９］ b",
        "A [٩] b",
        "A [09] b",
        "A [2-4] b",
        "A [9\u200b] b",
        "A [\u202e9] b",
        "A [9†source] b",
        "A [Source 9] b",
        "A [REFS. 9] b",
        "A [Source 9: handbook.txt, chunk 3] b",
        "A [" + "9" * 5000 + "] b",
        "A [[9]] b",
        "`a` [9] b",
        "`a [9]\n\nb` c",
        "```\nx\n```\n[9] b",
        "> ```\n> x\n\n[9] b",
        "```\nx\n``` y\nz\n```\n[9]",
        "$5 [9] or $10",
        "https://e.example/a[9]. b",
        "https://e.example/a[9 ]=b",
    ],
)
def test_an_invented_marker_is_seen(visible: str) -> None:
    assert len(invented_in(visible, [1, 2, 3])) == 1


@pytest.mark.parametrize(
    "visible",
    [
        "A [1] b [2, 3]",
        "A [3-1] b",
        "A [1/9] b [6c] [9.9]",
        "A `[9]` b",
        "A ``a`[9]`` b",
        "```\n[9]\n```",
        "~~~\n[9]",
        "- ```\n  [9]\n  ```",
        "\\( [9] \\) $x[9]$ $$ [9] $$",
        "\\[9\\]",
        "https://e.example/a[9]=b",
        "[\n9]",
    ],
)
def test_what_is_no_invented_marker_is_not_seen(visible: str) -> None:
    assert invented_in(visible, [1, 2, 3]) == []


@pytest.mark.parametrize(
    "visible",
    [
        "A [1](https://evil.example) b",
        "A ![1](https://evil.example) b",
        "A [1].\n\n[1]: https://evil.example\n",
        "> [1]: https://evil.example\n\nA [1].",
        "A [see [1]](https://evil.example) b",
        "A [1][a] b\n\n[a]: https://evil.example\n",
        "A [[1]](https://evil.example) b",
    ],
)
def test_a_link_on_a_marker_is_seen(visible: str) -> None:
    assert links_on_markers(visible)


@pytest.mark.parametrize(
    ("answer", "visible"),
    [
        ("A b", "A  b"),
        ("A  b", "A b"),
        ("A b", "A"),
        ("A b", "B a"),
        ("A [1] b", "A b"),
        ("A [1] b", "A [1b"),
        ("A [9] b", "A [9 b"),
        ("A [9] b", "A 9 b"),
        ("A [9] b", "Ab"),
        ("A [9]\nb", "A b"),
        ("A\t[9] b", "A b"),
        ("A [9], b", "A b"),
        ("A, [9] b", "A b"),
        ("A ! [9].", "A!."),
        ("A [9].", "A"),
        ("A. B [9]", "A B"),
        ("A (see [9]) b", "A b"),
        ('A "[9]" b', "A b"),
        ("A [1, 9] b", "A [1, 2] b"),
        ("A [1, 9] b", "A [9] b"),
        ("A [2, 1] b", "A [1, 2] b"),
        ("A [1](see x) b", "A [1] b"),
        ("A [a](https://x.example) b", "A [a] b"),
        ("A [1] (https://x.example) b", "A [1] b"),
        ("A [6c] b", "A b"),
        ("A [3-1] b", "A b"),
        ("- [9]\n- b", "-\n- b"),
        ("| [9] | b |", "| b |"),
        ("A [[1]] b [", "A [1] b"),
        ("A [1[1] b", "A [1] b"),
        ("A [9] b [imp", "A b"),
    ],
)
def test_a_change_that_is_not_allowed_is_seen(answer: str, visible: str) -> None:
    assert changed_otherwise(answer, visible, [1, 2, 3]) is not None
