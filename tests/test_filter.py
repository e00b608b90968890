"""The filter's options, one by one, and how it is used and misused."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from citestream import (
    NO_ANSWER,
    CitationFilter,
    Passage,
    Passages,
    check_citations,
    filter_text,
    strip_invalid,
)
from citestream.events import Citation, Event, Summary, Text
from citestream.exceptions import (
    CitestreamError,
    FinishedError,
    PassageError,
    SourceError,
    StyleError,
)
from citestream.filter import to_history
from citestream.styles import LABEL, NUMERIC, prefixed
from citestream.tally import MOST_INVALID
from tests.splits import SPLITS
from tests.surfaces import drive_both


def events_of(chunks: list[str], passages: Any = 3, **options: Any) -> list[Event]:
    filter_ = CitationFilter(passages, **options)
    events: list[Event] = []
    for chunk in chunks:
        events += filter_.feed(chunk)
    return [*events, *filter_.finish()]


def joined(events: list[Event]) -> list[Event]:
    """Join neighbouring texts: where one ends is the cut's affair."""
    together: list[Event] = []
    for event in events:
        if isinstance(event, Text) and together and isinstance(together[-1], Text):
            together[-1] = Text(together[-1].text + event.text)
        else:
            together.append(event)
    return together


def visible(answer: str, passages: Any = 3, **options: Any) -> str:
    """Filter an answer in every cut there is, and give the text that all agree on."""
    texts = {
        "".join(text for text in filter_text(chunks, passages, **options))
        for split in SPLITS.values()
        for chunks in split(answer)
    }
    assert len(texts) == 1, texts
    return texts.pop()


def summary_of(answer: str, passages: Any = 3, **options: Any) -> Summary:
    """Filter an answer in every cut there is, and give the summary that all agree on."""
    summaries = []
    for split in SPLITS.values():
        for chunks in split(answer):
            summary = events_of(chunks, passages, **options)[-1]
            assert isinstance(summary, Summary)
            summaries.append(summary)
    assert all(summary == summaries[0] for summary in summaries)
    return summaries[0]


# What comes out


def test_events_say_what_happened_and_the_summary_is_last() -> None:
    one = Passage(1)
    two = Passage(2)
    assert joined(events_of(["Refunds take 5 days [", "2, 7][9]. See [1", "]"], 2)) == [
        Text("Refunds take 5 days "),
        Citation("[2]", (2,), (7,), "[2, 7]", (two,), 20, 23),
        Citation("", (), (9,), "[9]", (), 23, 23),
        Text(". See "),
        Citation("[1]", (1,), (), "[1]", (one,), 29, 32),
        Summary(
            cited=(2, 1),
            invalid=(7, 9),
            unused=(),
            grounded=True,
            refused_by=None,
            passages=(two, one),
            kept=2,
            removed=1,
            truncated=False,
            sentences=None,
            uncited=None,
            ended="complete",
            reason=None,
        ),
    ]


def test_the_raw_form_is_what_the_model_wrote() -> None:
    citations = [
        event
        for event in events_of(["A [[1,9]] b [Source 2: x] c 【9】 d."])
        if isinstance(event, Citation)
    ]
    assert [(citation.text, citation.raw) for citation in citations] == [
        ("[1]", "[[1,9]]"),
        ("[2]", "[Source 2: x]"),
        ("", "【9】"),
    ]


def test_text_that_needs_no_look_comes_out_as_it_came_in() -> None:
    filter_ = CitationFilter(3)
    assert filter_.feed("Rent") == [Text("Rent")]
    assert filter_.feed("") == []
    assert filter_.feed("\n") == [Text("\n")]
    assert filter_.feed("rose [imp") == [Text("rose [imp")]


def test_the_style_of_the_prompt_is_that_of_the_check() -> None:
    passages = Passages(2, style=prefixed("S"))
    checked = check_citations("Rent rose [S1] and [S7], not [1].", passages)
    assert (checked.answer, checked.cited, checked.invalid) == (
        "Rent rose [S1], not [1].",
        [1],
        [7],
    )
    assert check_citations("Rent rose [S1].", passages, style=NUMERIC).answer == "Rent rose [S1]."
    assert to_history("Rent rose [S1], not [1].", passages) == "Rent rose, not [1]."


def test_what_is_held_can_be_seen() -> None:
    filter_ = CitationFilter(3)
    assert filter_.held == ""
    filter_.feed("Rent rose [1")
    assert filter_.held in {" [1", "[1"}
    filter_.feed("/3")
    assert filter_.held == ""
    held = []
    for chunk in (" rose", " [9]", " ", "x"):
        filter_.feed(chunk)
        held.append(filter_.held)
    assert held == ["", " [9]", "  ", ""]


def test_a_summary_goes_out_as_json() -> None:
    passages = Passages([Passage(1, "Text.", id="a", title="T", url="https://e.example/x")])
    summary = summary_of("A [1]. B [9].", passages)
    assert summary.to_dict() == {
        "cited": [1],
        "invalid": [9],
        "unused": [],
        "grounded": True,
        "refused_by": None,
        "passages": [{"label": 1, "id": "a", "title": "T", "url": "https://e.example/x"}],
        "kept": 1,
        "removed": 1,
        "truncated": False,
        "sentences": None,
        "uncited": None,
        "ended": "complete",
        "reason": None,
        "prior": [],
        "near": [],
        "repaired": [],
        "cited_in": [],
        "warnings": [],
        "omitted": 0,
        "attempts": [],
        "claims": [],
    }


def test_two_passages_may_share_a_label() -> None:
    passages = Passages({1: ["First half.", "Second half."], 2: "Another."})
    summary = summary_of("A [1].", passages)
    assert summary.cited == (1,)
    assert summary.unused == (2,)
    assert [passage.text for passage in summary.passages] == ["First half.", "Second half."]


# How an answer may end


def test_an_end_by_error_releases_what_is_held() -> None:
    filter_ = CitationFilter(3)
    filter_.feed("A [1]. Rent [")
    *events, summary = filter_.finish(ended="error", reason="source failed")
    assert "".join(event.text for event in events if not isinstance(event, Summary)) == " ["
    assert isinstance(summary, Summary)
    assert (summary.ended, summary.reason, summary.cited) == ("error", "source failed", (1,))


def test_discarding_drops_what_is_held() -> None:
    filter_ = CitationFilter(3)
    filter_.feed("A [1]. Rent [")
    summary = filter_.discard()
    assert (summary.ended, summary.reason, summary.cited) == ("cancelled", None, (1,))
    assert filter_.held == ""
    with pytest.raises(FinishedError):
        filter_.feed("x")


def test_discarding_says_why() -> None:
    summary = CitationFilter(3).discard(ended="error", reason="gone")
    assert (summary.ended, summary.reason) == ("error", "gone")


# invalid= and replacement=


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "A. B [1]."),
        ({"invalid": "drop"}, "A. B [1]."),
        ({"invalid": "keep"}, "A [9]. B [1, 8]."),
        ({"invalid": "flag", "replacement": "(no source)"}, "A (no source). B [1](no source)."),
    ],
)
def test_invalid_labels_are_treated_as_asked(options: dict[str, Any], text: str) -> None:
    if options.get("invalid") == "flag":
        # What a mixed marker shows besides its valid labels is the filter's choice.
        assert visible("A [9].", **options) == "A (no source)."
    else:
        assert visible("A [9]. B [1, 8].", **options) == text
    summary = summary_of("A [9]. B [1, 8].", **options)
    assert (summary.cited, summary.invalid) == ((1,), (9, 8))


def test_what_cannot_be_written_back_is_kept_as_it_is() -> None:
    strict = NUMERIC.replace(strict=True)
    answer = "A [9999999999] [1,9] 【9】."
    assert visible(answer, invalid="keep") == "A [9999999999] [1, 9] [9]."
    assert visible(answer, invalid="keep", style=strict) == answer


def test_marker_is_judged_while_code_may_be_open() -> None:
    strict = NUMERIC.replace(strict=True)
    assert visible("`a 【1】 [1] b", style=strict) == "`a [1] b"
    passages = {"Article 9(3)": "x"}
    options: dict[str, Any] = {"style": LABEL, "match": "hierarchical"}
    assert visible("`a [Article 9] b", passages, **options) == "`a [Article 9] b"
    assert visible("`a [Article 8] b", passages, **options) == "`a b"


def test_invalid_labels_that_are_listed_are_bounded() -> None:
    answer = " ".join(f"[{number}]" for number in range(100, 300))
    summary = check_citations(answer, 3).summary
    assert summary.invalid == tuple(range(100, 100 + MOST_INVALID))
    assert (summary.removed, summary.truncated) == (200, True)


def test_a_function_says_what_stands_for_an_invalid_label() -> None:
    assert visible("A [9]. B [1].", invalid=lambda label: f"(no {label})") == "A (no 9). B [1]."


def test_a_function_may_remove_an_invalid_label_itself() -> None:
    assert visible("A [9]. B [1].", invalid=lambda label: "") in {"A. B [1].", "A . B [1]."}


# show=


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("A [1,2].", "A [1,2]."),
        ("A [Source 1].", "A [Source 1]."),
        ("A 【1†L5】.", "A 【1†L5】."),
        ("A [1,9].", "A [1]."),
        ("A [1](https://evil.example).", "A [1]."),
        ("A [9].", "A."),
    ],
)
def test_verbatim_shows_the_models_own_brackets(answer: str, text: str) -> None:
    assert visible(answer, show="verbatim") == text


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("A [1].", "A."),
        ("A [1] [2].", "A."),
        ("[1] A", "A"),
        ("A **[1]** b", "A b"),
        ("A [1], [2] and [9] b.", "A b."),
        ("A. [1]. B", "A. B"),
        ("a[1]b", "a b"),
    ],
)
def test_none_hides_all_markers_with_their_surroundings(answer: str, text: str) -> None:
    assert visible(answer, show="none") == text


def test_none_keeps_the_score() -> None:
    summary = summary_of("A [1] [9].", show="none")
    assert (summary.cited, summary.invalid, summary.kept, summary.removed) == ((1,), (9,), 1, 1)
    assert summary.grounded


def test_a_function_writes_the_marker() -> None:
    def write(citation: Citation) -> str:
        return f"<sup>{','.join(str(label) for label in citation.cited)}</sup>"

    assert visible("A [1, 9, 2]. B [9].", show=write) == "A <sup>1,2</sup>. B."


def test_what_the_callers_function_writes_goes_out_as_it_is() -> None:
    assert visible("A [1] b.", show=lambda citation: "[9](https://own.example)") == (
        "A [9](https://own.example) b."
    )


def test_a_function_sees_the_passages() -> None:
    passages = Passages([Passage(1, "T.", url="https://e.example/x")])
    link = visible("A [1].", passages, show=lambda citation: f"<{citation.passages[0].url}>")
    assert link == "A <https://e.example/x>."


# renumber=


def test_renumbering_counts_by_first_use_and_keeps_the_score() -> None:
    events = events_of(["B [3]. A [1, 3]. C [9]. D [2]."], renumber=True)
    citations = [event for event in events if isinstance(event, Citation)]
    assert [(citation.text, citation.cited) for citation in citations] == [
        ("[1]", (3,)),
        ("[2, 1]", (1, 3)),
        ("", ()),
        ("[3]", (2,)),
    ]
    summary = events[-1]
    assert isinstance(summary, Summary)
    assert (summary.cited, summary.invalid) == ((3, 1, 2), (9,))


# The refusal


@pytest.mark.parametrize(
    "answer",
    [
        NO_ANSWER,
        NO_ANSWER + " [1]",
        "Well [1]. " + NO_ANSWER,
        "**" + NO_ANSWER + "**",
        NO_ANSWER.upper() + " [1]",
        "I don’t know based on the provided documents. [1]",
        "I don't  know\nbased on\tthe provided\u00a0documents. [1]",
        "[1] x " + NO_ANSWER + " x",
    ],
)
def test_a_refusal_is_found_however_it_is_set(answer: str) -> None:
    summary = summary_of(answer)
    assert (summary.grounded, summary.refused_by, summary.passages) == (False, "model", ())
    assert summary.cited == ((1,) if "[1]" in answer else ())


@pytest.mark.parametrize(
    "answer",
    [
        "`" + NO_ANSWER + "` [1]",
        "```\n" + NO_ANSWER + "\n```\n[1]",
        NO_ANSWER.replace("provided", "given") + " [1]",
        NO_ANSWER.replace("know", "knew") + " [1]",
        NO_ANSWER[:-10] + " [1]",
    ],
)
def test_what_is_no_refusal_is_not_taken_for_one(answer: str) -> None:
    summary = summary_of(answer)
    assert (summary.grounded, summary.refused_by, summary.cited) == (True, None, (1,))


def test_the_refusal_is_the_callers_sentence() -> None:
    refusal = "Das steht nicht in den Unterlagen – leider."
    refused = summary_of("das steht nicht in den unterlagen - leider. [1]", refusal=refusal)
    assert (refused.grounded, refused.refused_by) == (False, "model")
    other = summary_of(NO_ANSWER + " [1]", refusal=refusal)
    assert (other.grounded, other.refused_by) == (True, None)


# Passages that come while the answer streams


def test_a_label_is_judged_when_its_marker_completes() -> None:
    passages = Passages(["First."])
    filter_ = CitationFilter(passages)
    events: list[Event] = [*filter_.feed("A [2]. B [2")]
    assert passages.add("Second.") == 2
    events += filter_.feed("]. C [2].")
    *rest, summary = [*events, *filter_.finish()]
    assert "".join(event.text for event in rest if not isinstance(event, Summary)) == (
        "A. B [2]. C [2]."
    )
    assert isinstance(summary, Summary)
    assert (summary.cited, summary.invalid, summary.unused) == ((2,), (2,), (1,))
    assert [passage.text for passage in summary.passages] == ["Second."]


def test_the_filters_own_passages_can_be_added_to() -> None:
    filter_ = CitationFilter(["First."])
    filter_.passages.add("Second.")
    events = [*filter_.feed("A [2]."), *filter_.finish()]
    assert [event for event in events if isinstance(event, Citation)] == [
        Citation("[2]", (2,), (), "[2]", (filter_.passages.get(2)), 2, 5)
    ]


# Several blocks of one answer


def test_blocks_have_their_own_text_and_share_the_score() -> None:
    filter_ = CitationFilter(3)
    first, second = filter_.block(), filter_.block()
    out_first = [*first.feed("A `a [1")]
    out_second = [*second.feed("B [2], [9]")]
    out_first += [*first.feed("]. C"), *first.finish()]
    out_second += [*second.feed(" and [3]."), *second.finish()]
    assert "".join(event.text for event in out_first) == "A `a [1]. C"
    assert "".join(event.text for event in out_second) == "B [2] and [3]."
    # Offsets are each block's own.
    citation = next(event for event in out_second if isinstance(event, Citation))
    assert (citation.start, citation.end) == (2, 5)
    (summary,) = filter_.finish()
    assert isinstance(summary, Summary)
    assert sorted(map(str, summary.cited)) == ["1", "2", "3"]
    assert (summary.invalid, summary.unused) == ((9,), ())
    assert (summary.kept, summary.removed) == (3, 1)


def test_a_marker_does_not_span_blocks() -> None:
    filter_ = CitationFilter(3)
    first, second = filter_.block(), filter_.block()
    assert "".join(e.text for e in [*first.feed("A [1"), *first.finish()]) == "A"
    assert "".join(e.text for e in [*second.feed("] b"), *second.finish()]) == "] b"
    (summary,) = filter_.finish()
    assert isinstance(summary, Summary)
    assert (summary.cited, summary.removed) == ((), 1)


def test_a_block_can_be_dropped() -> None:
    filter_ = CitationFilter(3)
    block = filter_.block()
    block.feed("A [1] [2")
    block.discard()
    (summary,) = filter_.finish()
    assert isinstance(summary, Summary)
    assert summary.cited == (1,)
    with pytest.raises(FinishedError):
        block.feed("x")


def test_a_finished_block_takes_no_more() -> None:
    block = CitationFilter(3).block()
    block.finish()
    with pytest.raises(FinishedError):
        block.feed("x")
    with pytest.raises(FinishedError):
        block.finish()


def test_renumbering_is_shared_by_blocks() -> None:
    filter_ = CitationFilter(3, renumber=True)
    first, second = filter_.block(), filter_.block()
    assert "".join(e.text for e in [*first.feed("A [3]."), *first.finish()]) == "A [1]."
    assert "".join(e.text for e in [*second.feed("B [2][3]."), *second.finish()]) == "B [2][1]."


# Variants of the style


@pytest.mark.parametrize(
    ("answer", "text", "cited"),
    [
        ("A [1] b [1, 2].", "A [1] b [1, 2].", (1, 2)),
        ("A [9] b.", "A b.", ()),
        ("A [1,2] b.", "A b.", ()),
        ("A [1 ] b.", "A b.", ()),
        ("A 【1】 b.", "A b.", ()),
        ("A ［1］ b.", "A b.", ()),
        ("A [١] b.", "A b.", ()),
        ("A [01] b.", "A b.", ()),
        ("A [1-2] b.", "A b.", ()),
        ("A [1; 2] b.", "A b.", ()),
        ("A [1 and 2] b.", "A b.", ()),
        ("A [Source 1] b.", "A b.", ()),
        ("A [1†source] b.", "A b.", ()),
        ("A [1\u200b] b.", "A b.", ()),
        ("A [sic] (1) [1.5] b.", "A [sic] (1) [1.5] b.", ()),
        ("A [3-1] b.", "A [3-1] b.", ()),
    ],
)
def test_strict_accepts_the_canonical_form_alone(
    answer: str, text: str, cited: tuple[int, ...]
) -> None:
    strict = NUMERIC.replace(strict=True)
    assert visible(answer, style=strict) == text
    summary = summary_of(answer, style=strict)
    assert summary.cited == cited
    assert summary.kept == answer.count("[1]") + answer.count("[1, 2]")
    assert summary.removed == (0 if answer == text else 1)


def test_years_are_prose_from_a_number_on() -> None:
    style = NUMERIC.replace(prose_from=1000)
    answer = "Released in [2024] and [1999] per [1], not [999]."
    assert visible(answer, style=style) == "Released in [2024] and [1999] per [1], not."
    assert summary_of(answer, style=style).invalid == (999,)
    assert summary_of(answer).invalid == (2024, 1999, 999)


@pytest.mark.parametrize("most_held", [128, 512, 1024])
def test_the_limit_is_the_styles(most_held: int) -> None:
    style = NUMERIC.replace(most_held=most_held)
    filter_ = CitationFilter(3, style=style)
    longest = 0
    for char in "A [" + "1, " * most_held:
        filter_.feed(char)
        longest = max(longest, len(filter_.held))
    # A marker of nearly the limit's length is held whole, and never more.
    assert most_held * 3 // 4 <= longest <= most_held
    fits = "[" + "9, " * (most_held // 4) + "9]"
    assert drive_both(f"A {fits} b", style=style).visible == "A b"
    beyond = "[" + "9, " * most_held + "9]"
    assert drive_both(f"A {beyond} b", style=style).visible == f"A {beyond[:-1]} b"


# One call


def test_check_citations_gives_lists() -> None:
    checked = check_citations("See the docs [1, 9, 2].", 3)
    assert (checked.answer, checked.cited, checked.invalid, checked.unused, checked.grounded) == (
        "See the docs [1, 2].",
        [1, 2],
        [9],
        [3],
        True,
    )
    assert checked.summary == summary_of("See the docs [1, 9, 2].")


def test_strip_invalid_gives_the_text_alone() -> None:
    assert strip_invalid("Pass costs 25 [1] and rides last 45 [5].", 2) == (
        "Pass costs 25 [1] and rides last 45."
    )


def test_filter_text_gives_text_as_it_is_certain() -> None:
    texts = filter_text(iter(["Rent ", "rose [", "1", "] and [", "9]."]), 3)
    pieces = iter(texts)
    assert next(pieces) == "Rent"
    assert next(pieces) == " rose"
    assert "".join(pieces) == " [1]."
    assert texts.summary is not None
    assert texts.summary.cited == (1,)


def test_filter_text_gives_the_rest_at_the_end() -> None:
    texts = filter_text(["Rose [1"], 3)
    assert list(texts) == ["Rose"]
    texts = filter_text(["Rose ", "["], 3)
    assert list(texts) == ["Rose", " ["]


def test_filter_text_says_how_the_loop_ended() -> None:
    def failing() -> Iterator[str]:
        yield "Rent rose [1"
        raise OSError("gone")

    texts = filter_text(failing(), 3)
    with pytest.raises(OSError, match="gone"):
        list(texts)
    assert texts.summary is not None
    assert (texts.summary.ended, texts.summary.cited) == ("error", ())
    texts = filter_text(["Rent [1]", " rose"], 3)
    for _ in texts:
        break
    gc.collect()
    assert texts.summary is not None
    assert (texts.summary.ended, texts.summary.cited) == ("cancelled", (1,))


def test_a_filter_says_when_plain_text_passes() -> None:
    filter_ = CitationFilter(3)
    passing = []
    for chunk in ("Rent rose.", " So [1", "]", " it", " did "):
        filter_.feed(chunk)
        passing.append(filter_.passing)
    assert passing == [True, False, False, True, False]
    finished = [filter_.finished]
    filter_.finish()
    assert [*finished, filter_.finished, filter_.passing] == [False, True, False]


# The first article: its eight tests, as behaviour


@pytest.mark.parametrize(
    ("answer", "passages", "text", "cited", "invalid", "grounded"),
    [
        (
            "Codes need exact words [1]. Mix both rankings [2].",
            3,
            "Codes need exact words [1]. Mix both rankings [2].",
            [1, 2],
            [],
            True,
        ),
        ("Money is back in a week [7].", 5, "Money is back in a week.", [], [7], False),
        ("Read on [1, 9, 2].", 3, "Read on [1, 2].", [1, 2], [9], True),
        ("It is so [0].", 3, "It is so.", [], [0], False),
        ("Perhaps.", 3, "Perhaps.", [], [], False),
        (NO_ANSWER + " [1]", 3, NO_ANSWER + " [1]", [1], [], False),
        ("X [2]. Y [1]. Z [2].", 2, "X [2]. Y [1]. Z [2].", [2, 1], [], True),
        ("Out in [2024] says [1].", 3, "Out in says [1].", [1], [2024], True),
    ],
)
def test_the_first_articles_answers(
    answer: str, passages: int, text: str, cited: list[int], invalid: list[int], grounded: bool
) -> None:
    checked = check_citations(answer, passages)
    assert (checked.answer, checked.cited, checked.invalid, checked.grounded) == (
        text,
        cited,
        invalid,
        grounded,
    )


# The second article: its four answers, its sneaky ones and its practice


@pytest.mark.parametrize(
    ("answer", "cited", "invalid", "unused"),
    [
        ("The pass costs 25 [1].", [1], [], [2, 3]),
        ("The fee is 5 [2], refunds take a week [4].", [2], [4], [1, 3]),
        ("The pass costs 25.", [], [], [1, 2, 3]),
        ("Rides end at ten [3]. The fee is 5 [2].", [3, 2], [], [1]),
        # A space inside is drift, and round brackets are prose.
        ("The pass costs 25 [1 ].", [1], [], [2, 3]),
        ("The pass costs 25 (1).", [], [], [1, 2, 3]),
        ("The sign said [sic] 25 euros [1].", [1], [], [2, 3]),
    ],
)
def test_the_second_articles_answers(
    answer: str, cited: list[int], invalid: list[int], unused: list[int]
) -> None:
    checked = check_citations(answer, 3)
    assert (checked.cited, checked.invalid, checked.unused) == (cited, invalid, unused)
    assert checked.grounded is bool(cited)


def test_the_second_articles_practice() -> None:
    checked = check_citations("Fare [1], fine [3], money back [3]", 2)
    assert (sorted(checked.cited), sorted(checked.invalid)) == ([1], [3])
    assert checked.answer == "Fare [1], fine, money back"


# Misuse


@pytest.mark.parametrize("chunk", [b"Rent", None, 7, ["Rent"], Text("Rent")])
def test_a_chunk_is_a_str(chunk: Any) -> None:
    filter_ = CitationFilter(3)
    with pytest.raises(SourceError) as caught:
        filter_.feed(chunk)
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, CitestreamError)
    assert type(chunk).__name__ in str(caught.value)
    # Nothing was taken of it, and the answer can go on.
    assert filter_.feed("Rent") == [Text("Rent")]


def test_nothing_is_fed_after_the_end() -> None:
    filter_ = CitationFilter(3)
    filter_.finish()
    with pytest.raises(FinishedError) as caught:
        filter_.feed("x")
    assert isinstance(caught.value, RuntimeError)
    with pytest.raises(FinishedError):
        filter_.finish()


def test_a_replacement_is_for_flagged_markers() -> None:
    with pytest.raises(ValueError) as caught:
        CitationFilter(3, replacement="?")
    assert str(caught.value) == (
        "expected invalid=\"flag\" with replacement='?', got 'drop': "
        "only a flagged marker is replaced"
    )


@pytest.mark.parametrize("option", ["show", "invalid"])
def test_a_function_returns_what_is_shown(option: str) -> None:
    options: dict[str, Any] = {option: lambda shown: 7}
    with pytest.raises(TypeError) as caught:
        check_citations("A [1] [9].", 3, **options)
    assert str(caught.value) == f"expected the {option} function to return a str, got int"


@pytest.mark.parametrize(
    "options",
    [
        {"invalid": "remove"},
        {"invalid": 7},
        {"show": "all"},
        {"show": 7},
        {"match": "fuzzy"},
        {"replacement": 7},
        {"refusal": 7},
        {"style": "numeric"},
        {"style": ()},
    ],
)
def test_a_value_no_option_has_is_an_error_that_names_it(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises((ValueError, TypeError)) as caught:
        CitationFilter(3, **options)
    assert name in str(caught.value)
    value = options[name]
    assert repr(value) in str(caught.value) or type(value).__name__ in str(caught.value)


@pytest.mark.parametrize("passages", [-1, 1.5, "three", None, True, b"x", object()])
def test_what_is_no_passage_list_is_an_error(passages: Any) -> None:
    with pytest.raises(PassageError) as caught:
        CitationFilter(passages)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("changes", [{"most_held": 0}, {"most_held": -5}, {"digits_most": 0}])
def test_a_style_that_cannot_be_held_is_an_error(changes: dict[str, Any]) -> None:
    with pytest.raises(StyleError):
        NUMERIC.replace(**changes)


def test_a_str_is_no_source_of_chunks() -> None:
    with pytest.raises(SourceError):
        list(filter_text("Rent rose [9].", 3))


def test_what_is_not_iterable_is_no_source_of_chunks() -> None:
    source: Any = 7
    with pytest.raises(SourceError):
        list(filter_text(source, 3))
