"""What kind of line begins is said as soon as it is certain, as in CommonMark."""

from __future__ import annotations

import pytest

from citestream.blocks import QUOTE, Kind, read_line

# Of a paragraph's next line, in each of these containers.
LINES: dict[tuple[int, ...], dict[str, Kind]] = {
    (): {
        "": Kind.BLANK,
        "a": Kind.CONTINUATION,
        "    ---": Kind.CONTINUATION,
        "---": Kind.RULE,
        "===": Kind.RULE,
        "***": Kind.RULE,
        "# a": Kind.HEADING,
        "#a": Kind.CONTINUATION,
        "####### a": Kind.CONTINUATION,
        "```a": Kind.FENCE,
        "~~~ `": Kind.FENCE,
        "```a`": Kind.CONTINUATION,
        "<div>": Kind.HTML,
        "<divan>": Kind.CONTINUATION,
        "> a": Kind.PARAGRAPH,
        "- a": Kind.PARAGRAPH,
        "-": Kind.RULE,
        "*": Kind.CONTINUATION,
        "1. a": Kind.PARAGRAPH,
        # Neither interrupts a paragraph.
        "2. a": Kind.CONTINUATION,
        "+": Kind.CONTINUATION,
    },
    (QUOTE,): {
        "> a": Kind.CONTINUATION,
        ">a": Kind.CONTINUATION,
        ">\ta": Kind.CONTINUATION,
        "a": Kind.CONTINUATION,
        ">": Kind.BLANK,
        "": Kind.BLANK,
        ">> a": Kind.PARAGRAPH,
        "```": Kind.FENCE,
    },
    (2,): {
        "  a": Kind.CONTINUATION,
        "a": Kind.CONTINUATION,
        "\t# a": Kind.HEADING,
        "- a": Kind.PARAGRAPH,
        "": Kind.BLANK,
        " ---": Kind.RULE,
    },
}


@pytest.mark.parametrize("containers", LINES)
def test_whole_line_is_what_commonmark_says(containers: tuple[int, ...]) -> None:
    kinds = {
        line: read_line(
            line, containers, fence="", paragraph=True, complete=True, may_wait=False
        ).kind
        for line in LINES[containers]
    }
    assert kinds == LINES[containers]


def test_beginning_waits_only_for_what_could_tell() -> None:
    for line, waits in {
        "": True,
        "-": True,
        "--": True,
        "1": True,
        "12.": True,
        "#": True,
        "`": True,
        "``": True,
        "<di": True,
        "> ": True,
        ">": True,
        "a": False,
        "#a": False,
        "-a": False,
        "1a": False,
        "`a": False,
        "<di ": False,
        "<divisors": True,
        "<divisorsandmore": False,
    }.items():
        read = read_line(line, (), fence="", paragraph=True, complete=False, may_wait=True)
        assert (read.kind is Kind.WAIT) is waits, line


def test_fence_ends_with_its_own_run_or_its_container() -> None:
    for line, containers, kind in [
        ("```", (), Kind.FENCE_END),
        ("  `````  ", (), Kind.FENCE_END),
        ("``", (), Kind.FENCED),
        ("~~~", (), Kind.FENCED),
        ("``` a", (), Kind.FENCED),
        ("    ```", (), Kind.FENCED),
        ("> ```", (QUOTE,), Kind.FENCE_END),
        ("```", (QUOTE,), Kind.FENCE),
        ("a", (QUOTE,), Kind.PARAGRAPH),
        ("  a", (2,), Kind.FENCED),
        ("a", (2,), Kind.PARAGRAPH),
        ("", (2,), Kind.FENCED),
    ]:
        read = read_line(
            line, containers, fence="```", paragraph=False, complete=True, may_wait=False
        )
        assert read.kind is kind, line
