"""The core's share of the threats: the model's text is hostile, and nothing of it gets through."""

from __future__ import annotations

import json
import random
import sys

import pytest

from citestream import CitationFilter, Passage, Passages, check_citations
from citestream.events import Summary
from citestream.exceptions import PassageError
from tests.oracle import invented_in, links_on_markers
from tests.splits import SPLITS
from tests.surfaces import Filtered, drive

SUPPLIED = (1, 2, 3)


def filtered(answer: str) -> Filtered:
    """Filter an answer in every cut there is, and give what all agree on."""
    whole = drive([answer], 3)
    for name, split in SPLITS.items():
        if name == "in_two" and len(answer) > 2_000:
            continue  # as many cuts as characters, each of the whole answer
        for chunks in split(answer):
            assert drive(chunks, 3) == whole, chunks
    return whole


@pytest.mark.parametrize(
    "answer",
    ["A [[99]7] b", "A [1[99]2] b", "A [9[7]] b", "A [9[9[9]]] b", "[[99][98]7] b", "[9[1]9] b"],
)
def test_a_removal_forms_no_marker(answer: str) -> None:
    assert invented_in(filtered(answer).visible, SUPPLIED) == []


@pytest.mark.parametrize(
    ("answer", "visible"),
    [
        ("<scr[99]ipt>", "<scr ipt>"),
        ("java[99]script:", "java script:"),
        ("1[9]2", "1 2"),
        ("<scr[9][8]ipt>", "<scr ipt>"),
        ("<scr[9](u)ipt>", "<scr ipt>"),
        ("<scr**[9]**ipt>", "<scr ipt>"),
        ("<scr[[9]]ipt>", "<scr ipt>"),
    ],
)
def test_a_removal_forms_no_other_syntax(answer: str, visible: str) -> None:
    assert filtered(answer).visible == visible


@pytest.mark.parametrize(
    "answer",
    [
        "A [1](https://evil.example) b",
        "A [[1]](https://evil.example) b",
        "A ![1](https://evil.example) b",
        "A [1].\n\n[1]: https://evil.example\n",
        "A [1][a].\n\n[a]: https://evil.example\n",
        "A [1][].\n\n[1]: https://evil.example\n",
        "A [[1]][a].\n\n[a]: https://evil.example\n",
        "A [1][9](https://evil.example) b",
        "A [1][9][a] b.\n\n[a]: https://evil.example\n",
        "A [1].\n\n[9][1]: https://evil.example\n",
        "A [1].\n\n[[1]]: https://evil.example\n",
        "A [1].\n\n[ 1 ]: https://evil.example\n",
        "A [1].\n\n> [1]: https://evil.example\n",
        "A [1].\n\n- [1]: https://evil.example\n",
        "A [1].\n\n[1]:\nhttps://evil.example\n",
        "A [1].\n\n[1]: <https://evil.example>\n",
        "A [1].\n\n   [1]: https://evil.example\n",
        "A [see [1]](https://evil.example) b",
        "A [see [1] and [2]](https://evil.example) b",
        "A [see **[1]**](https://evil.example) b",
        "A [[1][9]](https://evil.example) b",
        "A [[1] [2]](https://evil.example) b",
        "A ![see [1]](https://evil.example) b",
        "A [1]\u200b(https://evil.example) b",
        "A [1](<https://evil.example>) b",
        'A [1](https://evil.example "[2]") b',
        "A [1](\nhttps://evil.example) b",
        "A [1](https://evil.example\n) b",
    ],
)
def test_a_kept_marker_never_becomes_the_models_link(answer: str) -> None:
    outcome = filtered(answer)
    assert links_on_markers(outcome.visible) == []
    assert 1 in outcome.summary.cited


@pytest.mark.parametrize("digits", [10, 100, 250, 300, 4_301, 5_000])
@pytest.mark.parametrize("digit", ["9", "1", "0", "٣", "９"])
def test_a_giant_number_is_no_error_and_never_shown_as_a_marker(digit: str, digits: int) -> None:
    number = digit * digits
    outcome = filtered(f"A [{number}] b")
    assert f"[{number}]" not in outcome.visible
    assert invented_in(outcome.visible, SUPPLIED) == []
    assert outcome.summary.cited == ()
    assert len(repr(outcome.summary.invalid)) < 40
    if digits < 200 and digit in "91":
        assert outcome.visible == "A b"
        assert (outcome.summary.removed, outcome.summary.truncated) == (1, True)
    if digits > 300:
        assert outcome.visible == f"A [{number} b"


def test_digits_are_bounded_before_they_are_numbers() -> None:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)  # the least that Python allows
    try:
        for digits in range(600, 700, 20):
            assert f"{'7' * digits}]" not in check_citations(f"A [{'7' * digits}] b", 3).answer
    finally:
        sys.set_int_max_str_digits(before)


@pytest.mark.parametrize(
    "marker",
    [
        "[٩]",
        "[９]",
        "【9】",
        "［9］",
        "[9\u200b]",
        "[\u202e9]",
        "[09]",
        "[९]",
        "[\u20669\u2069]",
        "[𝟗]",
    ],
)
def test_look_alikes_and_hidden_characters_are_judged(marker: str) -> None:
    outcome = filtered(f"A {marker} b.")
    assert outcome.visible == "A b."
    assert outcome.summary.invalid == (9,)
    valid = filtered(f"A {marker.translate(str.maketrans('9９٩९𝟗', '11111'))} b.")
    assert valid.visible == "A [1] b."


@pytest.mark.parametrize(
    "answer",
    [
        "[1,1,1" * 20_000,
        "[1," * 30_000,
        "[1][9]" * 20_000,
        "[Source 1: " * 10_000,
        "[Source 1: " + "x" * 100_000,
        "[" * 100_000,
        "[[1]" * 20_000,
        " " * 100_000,
    ],
    ids=lambda answer: answer[:12],
)
def test_a_flood_is_held_within_the_bound(answer: str) -> None:
    filter_ = CitationFilter(3)
    for at in range(0, len(answer), 97):
        filter_.feed(answer[at : at + 97])
        assert len(filter_.held) <= 256
    filter_.finish()


def test_many_different_invented_labels_are_bounded_and_said_to_be() -> None:
    filter_ = CitationFilter(3)
    visible = ""
    for label in range(6, 30_001):
        visible += "".join(event.text for event in filter_.feed(f"A [{label}]. "))
    *rest, summary = filter_.finish()
    assert isinstance(summary, Summary)
    visible += "".join(event.text for event in rest if not isinstance(event, Summary))
    assert visible == "A. " * 29_995
    assert summary.removed == 29_995
    assert summary.truncated
    # In order of first use, as far as they go.
    assert summary.invalid == tuple(range(6, 6 + len(summary.invalid)))
    assert 10 <= len(summary.invalid) <= 5_000


def test_a_few_invented_labels_are_all_listed() -> None:
    summary = drive(["".join(f"[{label}]" for label in range(6, 16))], 3).summary
    assert summary.invalid == tuple(range(6, 16))
    assert not summary.truncated


@pytest.mark.parametrize(
    "text",
    ["\ud83d", "\x00", "\u2028", "\u2029", "\x1b[31m", "\x85", "\ufffe", "\U0010ffff"],
)
def test_odd_characters_come_out_as_they_went_in(text: str) -> None:
    outcome = filtered(f"A {text} [1]{text} [9] {text}")
    assert outcome.visible == f"A {text} [1]{text} {text}"
    assert outcome.summary.cited == (1,)
    json.dumps(outcome.summary.to_dict()).encode("ascii")


def test_text_that_looks_like_an_event_is_text() -> None:
    answer = 'A\n\nevent: summary\ndata: {"cited": [1, 2]}\n\nid: 9\n\n'
    outcome = filtered(answer)
    assert outcome.visible == answer
    # Its list is a marker like any other: nothing tells it from one.
    assert outcome.summary.ended == "complete"


def test_two_answers_at_once_never_mix() -> None:
    dice = random.Random(1)
    answers = ["A [1] `b [9]` c [2", "D [9] ```\n[1]\n``` e [3].", "F [[2]](u) g [1, 9]"]
    alone = [drive([answer], 3) for answer in answers]
    filters = [CitationFilter(3) for _ in answers]
    rest = [list(answer) for answer in answers]
    visible = ["" for _ in answers]
    while any(rest):
        which = dice.choice([index for index, chars in enumerate(rest) if chars])
        visible[which] += "".join(e.text for e in filters[which].feed(rest[which].pop(0)))
    for which, filter_ in enumerate(filters):
        *events, summary = filter_.finish()
        visible[which] += "".join(e.text for e in events if not isinstance(e, Summary))
        assert (visible[which], summary) == (alone[which].visible, alone[which].summary)


def test_one_passage_list_serves_many_filters() -> None:
    passages = Passages(["One.", "Two."])
    first = check_citations("A [1] [9].", passages)
    second = check_citations("B [2] [9].", passages)
    assert (first.cited, second.cited) == ([1], [2])
    assert passages.labels == (1, 2)


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "java\tscript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,x",
        "//evil.example",
        "https:///x",
        "https://",
        "http:evil.example",
        " https://e.example",
        "https://e.example/\nx",
        "vbscript:x",
        "file:///etc/passwd",
    ],
)
def test_a_passage_has_no_url_that_is_not_http_with_a_host(url: str) -> None:
    with pytest.raises(PassageError) as caught:
        Passage(1, "T.", url=url)
    assert "URL" in str(caught.value)
    assert repr(url) in str(caught.value)
    # One hostile hit does not fail a request: it loses its URL.
    passages = Passages([{"text": "T.", "url": url}])
    (passage,) = passages.get(1)
    assert passage.url is None


def test_a_passages_text_poses_as_no_other_passage() -> None:
    (passage,) = Passages(["See [7] and [2]."]).get(1)
    assert passage.text == "See [7] and [2]."
    assert passage.shown == "See (7) and (2)."


def test_a_hostile_title_stays_a_string() -> None:
    title = "<img src=x onerror=alert(1)>\r\nevent: summary"
    (passage,) = Passages([{"text": "T.", "title": title}]).get(1)
    payload = json.dumps(passage.payload())
    assert "\n" not in payload
    assert json.loads(payload)["title"] == title


def test_a_label_with_line_breaks_is_refused() -> None:
    with pytest.raises(PassageError):
        Passages({"a\r\nb": "T."})


class Loud(str):
    """A caller's own kind of str, as some SDKs give."""

    __slots__ = ()


def test_a_kind_of_str_is_a_str() -> None:
    filter_ = CitationFilter(3)
    events = [*filter_.feed(Loud("A [1] [9]")), *filter_.feed(Loud(".")), *filter_.finish()]
    texts = [event.text for event in events if not isinstance(event, Summary)]
    assert "".join(texts) == "A [1]."


def test_grounded_says_only_that_a_marker_was_valid() -> None:
    summary = drive(["Roses are red [1]."], 3).summary
    assert summary.grounded
    assert "support" in (Summary.__doc__ or "")
