"""Label style: the passages' own labels, their shape, typography, hierarchy, near misses."""

from __future__ import annotations

from typing import Any

import pytest

from citestream import CitationFilter, Passages, check_citations
from citestream.events import Summary, Text
from citestream.filter import Checked, to_history
from citestream.labels import MOST_ASKED
from citestream.styles import LABEL, NUMERIC, MarkerStyle, prefixed
from citestream.tally import MOST_INVALID

STATUTE = {
    "Article 5(1)": "Prohibited: (a) one; (b) two; (c) three; (h) last. As in Article 99.",
    "Article 99(3)": "Fines.",
    "Article 60(1)": "Testing.",
    "Annex III, point 4": "4. Employment: (a) recruitment.",
    "Article 6": "High risk, point 2 applies; (3) a derogation.",
}
FILES = {
    "policy.pdf": "x",
    "pc-010": "y",
    "@lee20": "z",
    "A-0": "q",
    "B-0": "r",
    "It’s “new”": "s",
    "HR": "t",
}


def check(answer: str, passages: Any, **options: Any) -> Checked:
    return check_citations(answer, passages, style=LABEL, **options)


@pytest.mark.parametrize(
    ("answer", "shown", "cited", "invalid"),
    [
        ("[Article 6]", "[Article 6]", ["Article 6"], []),
        # Broader: it ends where a supplied label goes on with a subdivision.
        ("[Article 99]", "[Article 99]", ["Article 99(3)"], []),
        ("[Annex III]", "[Annex III]", ["Annex III, point 4"], []),
        ("[Article 60]", "[Article 60]", ["Article 60(1)"], []),
        # The prefix trap.
        ("[Article 600]", "", [], ["Article 600"]),
        ("[Article 9]", "", [], ["Article 9"]),
        # Narrower: the subdivision stands in the text.
        ("[Article 5(1)(a)]", "[Article 5(1)(a)]", ["Article 5(1)"], []),
        ("[Article 5(1)(z)]", "", [], ["Article 5(1)(z)"]),
        ("[Article 5(1)(a)(z)]", "", [], ["Article 5(1)(a)(z)"]),
        ("[Article 6(3)]", "[Article 6(3)]", ["Article 6"], []),
        ("[Article 6, point 2]", "[Article 6, point 2]", ["Article 6"], []),
        ("[Article 6, point 3]", "", [], ["Article 6, point 3"]),
        ("[Annex III, point 4(a)]", "[Annex III, point 4(a)]", ["Annex III, point 4"], []),
        ("[Annex III, point 5]", "", [], ["Annex III, point 5"]),
        ("[Article 5(1)(a)x]", "", [], ["Article 5(1)(a)x"]),
        ("[Article 5(1)()]", "", [], ["Article 5(1)()"]),
        # Ranges of points.
        ("[Article 5(1)(a) to (h)]", "[Article 5(1)(a) to (h)]", ["Article 5(1)"], []),
        ("[Article 5(1)(a)–(h)]", "[Article 5(1)(a)-(h)]", ["Article 5(1)"], []),
        ("[Article 5(1)(a) to (z)]", "", [], ["Article 5(1)(a) to (z)"]),
        ("[Article 5(1)(h) to (a)]", "", [], ["Article 5(1)(h) to (a)"]),
        ("[Article 5(1)(a) to]", "", [], ["Article 5(1)(a) to"]),
        ("[Article 5(1)(a), (b) and (c)]", "[Article 5(1)(a), (b) and (c)]", ["Article 5(1)"], []),
        # Several.
        (
            "[Article 5(1)(a), Article 99]",
            "[Article 5(1)(a), Article 99]",
            ["Article 5(1)", "Article 99(3)"],
            [],
        ),
        (
            "[Article 5(1); Annex III, point 4 and Article 6]",
            "[Article 5(1), Annex III, point 4, Article 6]",
            ["Article 5(1)", "Annex III, point 4", "Article 6"],
            [],
        ),
        (
            "[Article 5(1)(a) and Article 77]",
            "[Article 5(1)(a)]",
            ["Article 5(1)"],
            ["Article 77"],
        ),
        # Other brackets.
        ("[see the law]", "[see the law]", [], []),
        ("[Article about that]", "[Article about that]", [], []),
        ("[Article 6](https://evil.example)", "[Article 6]", ["Article 6"], []),
    ],
)
def test_hierarchical_labels(answer: str, shown: str, cited: list[str], invalid: list[str]) -> None:
    checked = check(answer, STATUTE, match="hierarchical")
    assert (checked.answer, checked.cited, checked.invalid) == (shown, cited, invalid)
    assert check(shown, STATUTE, match="hierarchical").answer == shown


def test_ends_of_a_range_and_names_behind_a_comma_stand_in_the_text() -> None:
    passages = {
        "Article 6": "High risk, point 2 applies; (3) a derogation.",
        "Article 7": "(1) first (2) second (3) third",
    }
    for answer, invalid in {
        "See [Article 7(1) to (3)].": [],
        "See [Article 7(3) to (1)].": ["Article 7(3) to (1)"],
        "See [Article 6, point 2 to (3)].": [],
        "See [Article 6, point 3 to (3)].": ["Article 6, point 3 to (3)"],
        "See [Article 6, Art].": ["Article 6, Art"],
    }.items():
        checked = check(answer, passages, match="hierarchical")
        assert (checked.answer, checked.invalid) == ("See." if invalid else answer, invalid)


def test_label_that_begins_with_a_subdivision_is_narrower_than_none() -> None:
    passages = {"(a)": "x", "HR": "(a)"}
    checked = check("See [(a)], [HR(a)] and [(a)(b)].", passages, match="hierarchical")
    assert checked.answer == "See [(a)], [HR(a)]."
    assert (checked.cited, checked.invalid) == (["(a)", "HR"], ["(a)(b)"])


def test_label_that_is_broader_than_another_is_looked_up_each_time() -> None:
    passages = Passages({"Article 5": "x", "Article 5(1)": "y", "HR": "z"}, style=LABEL)
    citations = CitationFilter(passages, style=LABEL, match="hierarchical")
    for chunk in ("See [Article 5] ", "and [HR] ", "and [HR] and", " [Article 5]."):
        citations.feed(chunk)
    passages.add("w", label="Article 5(2)")
    citations.feed(" Or [Article 5].")
    summary = citations.finish()[-1]
    assert isinstance(summary, Summary)
    assert summary.cited == ("Article 5", "Article 5(1)", "HR", "Article 5(2)")


def test_broader_label_names_every_passage_that_matches_in_passage_order() -> None:
    passages = {"Article 5(2)": "b", "Article 5(1)": "a", "Article 50": "c", "Article 5": "d"}
    checked = check("[Article 5].", passages, match="hierarchical")
    assert checked.cited == ["Article 5(2)", "Article 5(1)", "Article 5"]
    assert checked.unused == ["Article 50"]
    assert checked.answer == "[Article 5]."


def test_exact_matching_knows_no_hierarchy() -> None:
    checked = check("[Article 99] [Article 5(1)(a)] [Article 6].", STATUTE)
    assert (checked.cited, checked.invalid) == (
        ["Article 6"],
        ["Article 99", "Article 5(1)(a)"],
    )
    assert checked.answer == "[Article 6]."


def test_subdivision_is_looked_for_in_every_passage_of_a_label() -> None:
    passages = Passages({"Article 5": ["(a) one", "(b) two"]}, style=LABEL)
    checked = check("[Article 5(b)] [Article 5(c)]", passages, match="hierarchical")
    assert (checked.cited, checked.invalid) == (["Article 5"], ["Article 5(c)"])


@pytest.mark.parametrize(
    ("answer", "shown", "cited", "invalid"),
    [
        ("[policy.pdf]", "[policy.pdf]", ["policy.pdf"], []),
        ("[invented.pdf]", "", [], ["invented.pdf"]),
        ("[policy.pdf, invented.pdf]", "[policy.pdf]", ["policy.pdf"], ["invented.pdf"]),
        ("[policy.pdf, p. 3]", "", [], ["policy.pdf, p. 3"]),
        ("[notes.txt]", "[notes.txt]", [], []),
        # Typography never decides identity; letters and digits always do.
        ("[pc‑010]", "[pc-010]", ["pc-010"], []),
        ("[pc-011]", "", [], ["pc-011"]),
        ("[PC-010]", "", [], ["PC-010"]),
        ("【pc-010】", "[pc-010]", ["pc-010"], []),
        ("[p\u200bc-010]", "[pc-010]", ["pc-010"], []),
        ("[ｐｃ－０１０]", "[pc-010]", ["pc-010"], []),
        ('[It\'s "new"]', "[It’s “new”]", ["It’s “new”"], []),
        ("[[HR]]", "[HR]", ["HR"], []),
        ("[A-0, B-0]", "[A-0, B-0]", ["A-0", "B-0"], []),
        ("[A-0; A-7 & B-0]", "[A-0, B-0]", ["A-0", "B-0"], ["A-7"]),
        ("[@smith19]", "", [], ["@smith19"]),
        ("[HR&A-0]", "[HR, A-0]", ["HR", "A-0"], []),
        ("[HR  , A-0 ]", "[HR, A-0]", ["HR", "A-0"], []),
        ("[It’s  “new”]", "[It’s “new”]", ["It’s “new”"], []),
        ("[@lee20; @smith19]", "[@lee20]", ["@lee20"], ["@smith19"]),
        # Prose.
        ("[hr]", "[hr]", [], []),
        ("[sic] [6c] [Okafor et al., 2019] [ ] [x]", None, [], []),
        ("`[policy.pdf]`", "`[policy.pdf]`", [], []),
    ],
)
def test_exact_labels(answer: str, shown: str | None, cited: list[str], invalid: list[str]) -> None:
    checked = check(answer, FILES)
    assert (checked.answer, checked.cited, checked.invalid) == (
        answer if shown is None else shown,
        cited,
        invalid,
    )


@pytest.mark.parametrize(
    ("answer", "shown", "cited", "invalid"),
    [
        ("[12] [13] [1a]", "[12] [1a]", ["12"], ["13"]),
        ("[13, 12]", "[12]", ["12"], ["13"]),
        ("[13 ]", "", [], ["13"]),
        ("[13&12]", "[12]", ["12"], ["13"]),
        ("[HR & 12]", "[HR, 12]", ["HR", "12"], []),
    ],
)
def test_labels_of_digits_have_that_shape(
    answer: str, shown: str, cited: list[str], invalid: list[str]
) -> None:
    checked = check(answer, {"12": "x", "HR": "y"})
    assert (checked.answer, checked.cited, checked.invalid) == (shown, cited, invalid)


def test_longest_supplied_label_is_meant() -> None:
    passages = {"A 1": "x", "A 1, B 2": "y", "B 2": "z"}
    assert check("[A 1, B 2]", passages).cited == ["A 1, B 2"]
    checked = check("[A 1; B 2]", passages)
    # With a comma it would name the other one.
    assert (checked.cited, checked.answer) == (["A 1", "B 2"], "[A 1; B 2]")


def test_label_may_be_added_while_the_answer_streams() -> None:
    passages = Passages({"doc-1": "a"}, style=LABEL)
    filter_ = CitationFilter(passages, style=LABEL)
    assert filter_.feed("[new thing] ")[0] == Text("[new thing]")
    passages.add("b", label="new thing")
    filter_.feed("[new thing].")
    assert filter_.finish()[-1].cited == ("new thing",)  # type: ignore[union-attr]


def test_label_may_be_added_between_markers_of_several_styles() -> None:
    style = (LABEL, MarkerStyle(open="<|", close="|>", label="file-[a-z]+"))
    passages = Passages({"doc-1": "a", "file-a": "b"}, style=style)
    citations = CitationFilter(passages, style=style)
    events = citations.feed("A [doc-1] <|file-a|> [new thing] b.")
    passages.add("c", label="new thing")
    events += citations.feed(" C [new thing] <|file-b|> <|file-a|>.")
    summary = citations.finish()[-1]
    assert "".join(event.text for event in events) == (
        "A [doc-1] <|file-a|> [new thing] b. C [new thing] <|file-a|>."
    )
    assert isinstance(summary, Summary)
    assert (summary.cited, summary.invalid) == (("doc-1", "file-a", "new thing"), ("file-b",))


def test_bracket_that_cannot_become_a_label_is_not_held() -> None:
    filter_ = CitationFilter(Passages(STATUTE, style=LABEL), style=LABEL)
    for char in "As [Art":
        filter_.feed(char)
    assert filter_.held == " [Art"
    assert filter_.feed("s") == [Text(" [Arts")]


# Several styles, earlier turns.


def test_several_styles_at_once() -> None:
    passages = Passages({1: "a", "doc-1": "b"}, style=(NUMERIC, prefixed("S"), LABEL))
    style = (NUMERIC, prefixed("S"), LABEL)
    checked = check_citations("A [1] [S1] [doc-1] [2] [S2] [doc-2].", passages, style=style)
    assert checked.answer == "A [1] [S1] [doc-1]."
    assert (checked.cited, checked.invalid) == ([1, "doc-1"], [2, "doc-2"])


def test_passages_of_earlier_turns_are_valid_and_told_apart() -> None:
    checked = check_citations("A [1] [2] [3].", {1: "a"}, prior={2: "b", 4: "d"})
    assert checked.answer == "A [1] [2]."
    assert (checked.cited, checked.invalid, checked.unused) == ([1, 2], [3], [])
    assert checked.summary.prior == (2,)
    assert [passage.text for passage in checked.summary.passages] == ["a", "b"]


def test_passage_of_this_turn_comes_before_one_of_an_earlier_turn() -> None:
    checked = check_citations("A [1].", {1: "new"}, prior={1: "old"})
    assert [passage.text for passage in checked.summary.passages] == ["new"]
    assert checked.summary.prior == ()


# Near misses.


def near(answer: str, passages: Any, **options: Any) -> tuple[Any, ...]:
    return check_citations(answer, passages, **options).summary.near


def test_near_misses_are_reported_and_not_repaired() -> None:
    checked = check("[Policy.pdf] [pc010] [hr] [pc-01].", FILES)
    assert checked.answer == "[hr]."
    assert checked.summary.near == (
        ("Policy.pdf", ("policy.pdf",)),
        ("pc010", ("pc-010",)),
        ("pc-01", ("pc-010",)),
        ("hr", ("HR",)),
    )
    assert checked.summary.repaired == ()


def test_number_with_a_letter_is_near_the_number() -> None:
    answer = "See [6c], [9c] and [6c]."
    assert near(answer, 7) == (("6c", (6,)),)
    assert check_citations(answer, 7).answer == answer
    assert near("In code `[6c]`.", 7) == ()
    assert near("[doc-1]", 2, style=prefixed("doc")) == (("doc-1", (1,)),)


def test_near_misses_are_found_across_chunks() -> None:
    filter_ = CitationFilter(7)
    for char in "See [6c].":
        filter_.feed(char)
    assert filter_.finish()[-1].near == (("6c", (6,)),)  # type: ignore[union-attr]


def test_repair_reads_a_unique_near_miss_as_the_label_and_reports_it() -> None:
    checked = check("[Policy.pdf] [pc010].", FILES, repair=True)
    assert checked.answer == "[policy.pdf] [pc-010]."
    assert checked.cited == ["policy.pdf", "pc-010"]
    assert checked.summary.repaired == (("Policy.pdf", "policy.pdf"), ("pc010", "pc-010"))
    checked = check_citations("See [6c] [9c].", 7, repair=True)
    assert (checked.answer, checked.summary.repaired) == ("See [6] [9c].", (("6c", 6),))


def test_repaired_label_may_be_broader_or_narrower() -> None:
    passages = {"Article 7(1)": "x (a)", "Article 8": "y"}
    for answer, written, meant in [
        ("See [Article7(1)].", "Article7(1)", "Article 7(1)"),
        ("See [ARTICLE 8].", "ARTICLE 8", "Article 8"),
    ]:
        checked = check(answer, passages, match="hierarchical", repair=True)
        assert checked.answer == f"See [{meant}]."
        assert (checked.cited, checked.summary.repaired) == ([meant], ((written, meant),))


def test_what_is_compared_with_the_labels_is_bounded() -> None:
    passages = Passages({f"doc-{number}": "x" for number in range(200)}, style=LABEL)
    many = " ".join(f"[doc{number}]" for number in range(200))
    summary = check(many, passages, repair=True).summary
    assert len(summary.cited) == 200
    assert summary.repaired == tuple((f"doc{n}", f"doc-{n}") for n in range(MOST_INVALID))
    # Beyond the bound nothing is near any more.
    several = "".join(f"[x{number}]" for number in range(MOST_ASKED))
    assert near(f"[6c]{several}", 7) == (("6c", (6,)),)
    assert near(f"{several}[6c]", 7) == ()


def test_other_prefix_is_near_no_label() -> None:
    style = prefixed("cite:", label=r"[a-z]+")
    passages = {"rent": "x"}
    assert near("[cite:rant] [kite:rant]", passages, style=style) == (("rant", ("rent",)),)
    assert near("`[cite:rant]` [cite:rent]", passages, style=style) == ()


def test_near_miss_is_reported_once_for_all_blocks() -> None:
    citations = CitationFilter(7)
    for answer in ("See [6c].", "See [6c] and [5c]."):
        block = citations.block()
        block.feed(answer)
        block.finish()
    assert citations.discard().near == (("6c", (6,)), ("5c", (5,)))


def test_repair_never_changes_a_number_nor_chooses() -> None:
    checked = check("[pc-01] [pc-011].", FILES, repair=True)
    assert (checked.cited, checked.invalid) == ([], ["pc-01", "pc-011"])
    two = {"plan-a.pdf": "x", "plan-b.pdf": "y"}
    checked = check("[plan-c.pdf] [plan-B.pdf].", two, repair=True)
    assert (checked.cited, checked.invalid) == (["plan-b.pdf"], ["plan-c.pdf"])


# The next prompt.


def test_history_holds_no_markers() -> None:
    answer = "Rent rose [1]. It fell [2, 3](https://x.example), see **[4]**.\n\n`a[1]`"
    assert to_history(answer) == "Rent rose. It fell, see.\n\n`a[1]`"
    assert to_history("A [doc-1]. B [doc-9].", {"doc-1": ""}, style=LABEL) == "A. B."
    assert to_history("A [S1] [1].", style=(NUMERIC, prefixed("S"))) == "A."
