"""What each label names and what the model is shown."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError
from typing import Any, get_type_hints

import pytest

from citestream.filter import CitationFilter
from citestream.passages import NO_ANSWER, Passage, Passages
from citestream.styles import NUMERIC
from tests.documents import ANGLES, LABELS, PREFIXED, Row, Written, complaint

# A passage made by hand


def test_passage_keeps_every_field_as_given() -> None:
    passage = Passage(
        "Article 6(3)", " a [7]\r\n", "x-1", "T", "https://e.org/a?b=1#c", "p. 3", "v2", 1, {"a": 1}
    )
    assert passage.label == "Article 6(3)"
    assert passage.text == " a [7]\r\n"
    assert passage.payload(("text", "place", "version", "score", "metadata")) == {
        "label": "Article 6(3)",
        "id": "x-1",
        "title": "T",
        "url": "https://e.org/a?b=1#c",
        "text": " a [7]\r\n",
        "place": "p. 3",
        "version": "v2",
        "score": 1.0,
        "metadata": {"a": 1},
    }


def test_payload_has_four_keys_and_none_for_what_is_absent() -> None:
    assert Passage(1).payload() == {"label": 1, "id": None, "title": None, "url": None}
    assert Passage(1).payload(["score"]) == {
        "label": 1,
        "id": None,
        "title": None,
        "url": None,
        "score": None,
    }


@pytest.mark.parametrize("expose", [("embedding",), "text", ("label",), ("shown",), (5,)])
def test_payload_refuses_to_expose_what_is_not_a_field(expose: Any) -> None:
    passage = Passage(1, "words")
    if expose == "text":  # one name is as good as a list of one
        assert passage.payload(expose)["text"] == "words"
    else:
        assert complaint(lambda: passage.payload(expose)) == (
            "expected fields to expose among text, place, version, score, metadata, "
            f"got {expose[0]!r}: name only those"
        )


def test_passage_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Passage(1, "words").text = "others"  # type: ignore[misc]
    assert not hasattr(Passage(1), "__dict__")


def test_passages_are_equal_by_value_hashable_and_can_be_copied() -> None:
    passage = Passage(1, "words", metadata={"a": [1]})
    again = Passage(1, "words", metadata={"a": [1]})
    assert passage == again
    assert hash(passage) == hash(again)
    assert passage != Passage(1, "words", metadata={"a": [2]})
    assert copy.deepcopy(passage) == passage
    assert pickle.loads(pickle.dumps(passage)) == passage


def test_repr_leaves_out_what_may_be_long_or_secret() -> None:
    assert repr(Passage(1, "x" * 1000, metadata={"key": "secret"})) == (
        "Passage(label=1, id=None, title=None, url=None, place=None, version=None, score=None)"
    )


def test_later_edit_of_the_source_changes_nothing() -> None:
    metadata: dict[str, Any] = {"tags": ["a"], "deep": {"b": [1]}}
    row = Row("words", metadata=metadata)
    rows = [row]
    by_hand = Passage(1, "words", metadata=metadata)
    passages = Passages(rows)
    metadata["tags"].append("b")
    metadata["deep"]["b"].append(2)
    row.text = "other words"
    rows.append(row)
    expected = Passage(1, "words", metadata={"tags": ["a"], "deep": {"b": [1]}})
    assert by_hand == expected
    assert list(passages) == [expected]


def test_types_of_a_passage_can_be_read_by_other_tools() -> None:
    hints = get_type_hints(Passage)
    assert hints["label"] == int | str
    assert hints["metadata"] == Mapping[str, Any] | None


def test_edit_of_a_payload_changes_nothing() -> None:
    passage = Passage(1, metadata={"tags": ["a"]})
    passage.payload(("metadata",))["metadata"]["tags"].append("b")
    assert passage.metadata == {"tags": ["a"]}


# Labels and their passages


def test_zero_is_a_label_only_when_given() -> None:
    assert Passages({0: "words"}).labels == (0,)
    assert 0 not in Passages(3)


def test_numbers_and_names_do_not_mix_without_a_style() -> None:
    expected = (
        "expected labels that are all numbers or all str, got both: "
        "number the passages, or give the style that writes the labels"
    )
    assert complaint(lambda: Passages({1: "words", "a": "words"})) == expected
    assert complaint(lambda: Passages({1: "words", "2": "words", "a": "words"})) == expected
    # What is shared is refused as it is: nobody's labels change behind another's back.
    shared = Passages({1: "words"})
    Passages(shared, style=(ANGLES, PREFIXED)).add("words", "2")
    assert complaint(lambda: Passages(shared)) == expected
    assert shared.labels == (1, "2")


def test_number_makes_that_many_labels_without_text() -> None:
    passages = Passages(3)
    assert passages.labels == (1, 2, 3)
    assert list(passages) == [Passage(1), Passage(2), Passage(3)]
    assert (len(passages), 3 in passages, 4 in passages, "3" in passages) == (3, True, False, False)
    assert passages.get(2) == (Passage(2),)
    assert passages.get(4) == ()
    assert passages.get("2") == ()
    assert repr(passages) == "<Passages: 3 under 3 labels>"


def test_no_passages_are_passages() -> None:
    sources: list[Any] = [0, [], (), {}]
    for source in sources:
        passages = Passages(source)
        assert (len(passages), passages.labels, list(passages), passages.prompt()) == (
            0,
            (),
            [],
            "",
        )


def test_key_of_a_mapping_comes_before_the_label_inside() -> None:
    assert list(Passages({4: {"label": 0, "text": "a"}})) == [Passage(4, "a")]
    assert list(Passages({"4": Passage(4, "a")})) == [Passage("4", "a")]
    assert complaint(lambda: Passages({4: Passage(5, "a")})) == (
        "expected a passage labelled 4, got one labelled 5: give it under its own label"
    )
    assert complaint(lambda: Passages({4: Passage("a", "a")})) == (
        "expected a passage labelled 4, got one labelled 'a': give it under its own label"
    )


# Reading and adding


def test_label_is_one_look_up_and_objects_are_made_when_asked_for() -> None:
    passages = Passages(100_000)
    assert type(passages.by_label) is dict
    assert set(passages.by_label.values()) == {()}
    first = passages.get(70_000)
    assert first == (Passage(70_000),)
    assert passages.get(70_000) is first
    assert sum(map(len, passages.by_label.values())) == 1
    assert len(passages) == 100_000


def test_iterating_makes_the_passages_that_were_not_asked_for() -> None:
    passages = Passages(3)
    second = passages.get(2)
    assert list(passages) == [Passage(1), Passage(2), Passage(3)]
    assert list(passages)[1] is second[0]


def test_added_passages_take_the_next_free_number() -> None:
    passages = Passages(2)
    assert passages.add("a") == 3
    assert passages.add({"text": "b", "title": "T"}) == 4
    assert passages.add(Passage(9, "c")) == 9
    assert passages.add("d") == 10
    assert passages.labels == (1, 2, 3, 4, 9, 10)
    assert passages.get(4) == (Passage(4, "b", title="T"),)
    assert Passages([]).add("a") == 1
    assert Passages({0: "a"}).add("b") == 1
    assert Passages([], style=PREFIXED).add("a") == 1


def test_added_passage_may_share_a_label() -> None:
    passages = Passages({"a": "one"})
    assert passages.add("two", "a") == "a"
    assert passages.get("a") == (Passage("a", "one"), Passage("a", "two"))
    numbered = Passages(1)
    assert numbered.add("text of the first", 1) == 1
    assert numbered.get(1) == (Passage(1), Passage(1, "text of the first"))


def test_no_number_is_left_after_the_last() -> None:
    passages = Passages({999_999_999: "a"})
    assert "got 1000000000" in complaint(lambda: passages.add("b"))
    assert passages.labels == (999_999_999,)


@pytest.mark.parametrize(
    "passages",
    [Passages({"a": "one"}), Passages({"1": "one"}), Passages([], style=LABELS)],
    ids=repr,
)
def test_passage_added_among_names_needs_one(passages: Passages) -> None:
    expected = "expected a label, got none: these passages are not numbered, so name each one"
    labels = passages.labels
    assert complaint(lambda: passages.add("two")) == expected
    assert complaint(lambda: passages.add(None)) == expected
    assert passages.labels == labels
    assert passages.add({"label": "b", "text": "two"}) == "b"
    assert passages.get("b") == (Passage("b", "two"),)


def test_added_label_is_of_the_same_kind() -> None:
    cases: list[tuple[Any, int | str]] = [(2, "a"), (2, "3"), ({"a": None}, 3)]
    for source, label in cases:
        passages = Passages(source)
        assert complaint(lambda: passages.add("x", label)) == (  # noqa: B023 - called at once
            f"expected a label of the same kind as the others, got {label!r}: "
            "number all passages or none"
        )


def test_passage_is_added_under_its_own_label_only() -> None:
    passages = Passages(2)
    assert complaint(lambda: passages.add(Passage(5, "x"), 6)) == (
        "expected a passage labelled 6, got one labelled 5: give it under its own label"
    )
    assert passages.labels == (1, 2)
    assert passages.add(Passage(5, "x"), 5) == 5


def test_lists_made_of_a_list_share_it() -> None:
    passages = Passages(["a"])
    assert Passages.of(passages) is passages
    assert Passages.of(["a"]).labels == (1,)
    other = Passages(passages)
    assert other is not passages
    assert other.add("b") == 2
    assert passages.add("c") == 3
    assert passages.labels == other.labels == (1, 2, 3)
    assert list(passages) == list(other)


# Styles


def test_digits_become_numbers_in_a_numbered_style() -> None:
    passages = Passages({"1": "a", 2: ["b", Passage("2", "c")], "03": None}, style=PREFIXED)
    assert passages.labels == (1, 2, 3)
    assert list(passages) == [
        Passage(1, "a"),
        Passage(2, "b"),
        Passage(2, "c"),
        Passage(3),
    ]
    assert passages.add("d", "7") == 7
    assert passages.add(Passage("8", "e")) == 8
    assert passages.get(8) == (Passage(8, "e"),)


def test_digits_beside_numbers_become_numbers_before_a_style_is_known() -> None:
    passages = Passages({1: "a", "2": ["b", Passage("2", "c")], "03": None})
    assert passages.style is None
    assert list(passages) == [Passage(1, "a"), Passage(2, "b"), Passage(2, "c"), Passage(3)]
    assert Passages([Passage("7", "a"), {"label": 3, "text": "b"}]).labels == (7, 3)
    assert CitationFilter({1: "a", "2": "b"}).passages.labels == (1, 2)
    # A style that is given decides for itself.
    assert Passages({1: "a", "2": "b"}, style=(ANGLES, PREFIXED)).labels == (1, "2")


def test_digits_beside_the_same_number_are_refused() -> None:
    assert complaint(lambda: Passages({1: "a", "1": "b"})) == (
        "expected labels that differ, got '1' for 1 again: "
        "put passages that share a label into one list"
    )


def test_digits_stay_text_elsewhere() -> None:
    assert Passages({"1": "a"}).labels == ("1",)
    assert Passages({"1": "a", "٣": "b"}, style=LABELS).labels == ("1", "٣")


@pytest.mark.parametrize("label", ["a", "٣", "３", "1.5", "-1", "1234567890", "1 2"])
def test_what_is_no_number_is_refused_by_a_numbered_style(label: str) -> None:
    expected = (
        f"expected a label that the style can write, got {label!r}: numbered styles write numbers "
        "and the others str, so change the label or the style"
    )
    assert complaint(lambda: Passages({label: "a"}, style=PREFIXED)) == expected
    assert complaint(lambda: Passages({label: "a"}).check_style(PREFIXED)) == expected
    assert complaint(lambda: Passages(2, style=PREFIXED).add("a", label)) == expected


def test_label_that_the_style_cannot_write_is_named() -> None:
    picky = Written(cannot=("b",))
    message = "expected a label that the style can write, got 'b': "
    assert complaint(lambda: Passages({"a": None, "b": None}, style=picky)).startswith(message)
    passages = Passages({"a": None}, style=picky)
    assert complaint(lambda: passages.add("x", "b")).startswith(message)
    assert passages.labels == ("a",)
    assert "got 1: " in complaint(lambda: Passages(2, style=LABELS))


def test_check_that_fails_changes_nothing() -> None:
    passages = Passages({"1": "a", "b": "c"})
    complaint(lambda: passages.check_style(PREFIXED))
    assert (passages.labels, passages.style) == (("1", "b"), None)
    passages.check_style(LABELS)
    assert (passages.labels, passages.style) == (("1", "b"), LABELS)


def test_labels_that_become_one_are_refused() -> None:
    assert complaint(lambda: Passages({"1": "a", "01": "b"}, style=PREFIXED)) == (
        "expected labels that differ, got '01' for 1 again: "
        "put passages that share a label into one list"
    )


def test_first_style_settles_the_labels_of_all_who_share_them() -> None:
    passages = Passages({"1": "a"})
    shared = Passages(passages)
    passages.check_style(PREFIXED)
    assert passages.style is PREFIXED
    assert passages.labels == shared.labels == (1,)
    passages.check_style(NUMERIC)  # another numbered style changes nothing
    assert passages.style is PREFIXED

    named = Passages({"1": "a"}, style=LABELS)
    assert complaint(lambda: named.check_style(NUMERIC)) == (
        "expected the kind of label that the first style settled, got a style that turns them "
        "into numbers: make a passage list for each style"
    )
    assert complaint(lambda: Passages(named, style=NUMERIC)).startswith("expected the kind of")
    assert named.labels == ("1",)


def test_list_made_of_a_list_has_its_style_unless_it_gets_one() -> None:
    passages = Passages(["a"], style=PREFIXED)
    assert Passages(passages).prompt() == "[S1] a"
    assert Passages(passages, style=NUMERIC).prompt() == "[1] a"
    assert passages.prompt() == "[S1] a"


def test_style_is_asked_about_each_label_once() -> None:
    asked: list[int | str] = []

    class Counting(Written):
        def can_write(self, label: int | str) -> bool:
            asked.append(label)
            return True

    style = Counting(numeric=True)
    passages = Passages(3, style=style)
    passages.check_style(style)
    assert asked == [1, 2, 3]
    passages.add("x")
    passages.check_style(style)
    assert asked == [1, 2, 3, 4]


def test_several_styles_share_the_labels_out() -> None:
    styles = (PREFIXED, ANGLES)
    passages = Passages({1: "a", "2": "b", "file-x": "c"}, style=styles)
    assert passages.labels == (1, 2, "file-x")
    assert passages.prompt() == "[S1] a\n\n[S2] b\n\n<|file-x|> c"
    assert passages.add("d") == 3
    assert passages.add("e", "file-y") == "file-y"
    assert Passages({"2": "b"}, style=(ANGLES, PREFIXED)).labels == ("2",)


def test_built_in_style_is_one() -> None:
    passages = Passages(["a", "b"], style=NUMERIC)
    assert passages.prompt() == "[1] a\n\n[2] b"
    assert Passages({"1": "a"}, style=NUMERIC).labels == (1,)
    assert "got 'a'" in complaint(lambda: Passages({"a": None}, style=NUMERIC))


# What the model is shown


def test_prompt_puts_each_passage_behind_its_marker() -> None:
    passages = Passages(
        [
            {"text": "Refunds take five days.", "title": "Refunds"},
            "Bikes are free for\nthirty minutes.",
            {"title": "Nothing more", "text": ""},
            {"url": "https://e.org"},
        ]
    )
    assert passages.prompt() == (
        "[1] Refunds\nRefunds take five days.\n\n"
        "[2] Bikes are free for\nthirty minutes.\n\n"
        "[3] Nothing more\n\n"
        "[4]"
    )
    assert passages.prompt(style=PREFIXED).startswith("[S1] Refunds\n")


def test_passages_that_share_a_label_stand_under_it_in_turn() -> None:
    passages = Passages(
        [
            Passage("a", "one", title="T"),
            Passage("b", "two"),
            Passage("a", "three", title="T"),
            Passage("a", "four", title="U"),
            Passage("a", "five"),
        ]
    )
    assert passages.prompt() == "[a] T\none\nthree\nU\nfour\nfive\n\n[b] two"


def test_instructions_name_the_markers_and_the_exact_refusal() -> None:
    passages = Passages(["a", "b", "c"])
    assert passages.instructions() == (
        "Answer only from the passages you are given.\n"
        "End every sentence with the marker of the passage that supports it, as this one does "
        "[1].\n"
        "Use only these markers, exactly as they stand here: [1] [2] [3]\n"
        "If the passages do not hold the answer, reply with exactly this sentence and nothing "
        "else: I don't know based on the provided documents."
    )
    assert NO_ANSWER == "I don't know based on the provided documents."
    assert passages.instructions("Pas de réponse.").endswith("nothing else: Pas de réponse.")
    assert passages.instructions(None).endswith(": [1] [2] [3]")
    assert passages.instructions(style=PREFIXED).count("[S1]") == 2
    named = Passages({"Article 6(3)": "a", "policy.pdf": "b"}, style=LABELS).instructions()
    assert "stand here: [Article 6(3)] [policy.pdf]\n" in named


def test_instructions_without_passages_ask_for_the_refusal() -> None:
    assert Passages(0).instructions() == (
        "There are no passages: reply with exactly this sentence and nothing else: "
        "I don't know based on the provided documents."
    )
    assert Passages(0).instructions(None) == "There are no passages: put no marker anywhere."


def test_prompt_and_instructions_follow_what_was_added() -> None:
    passages = Passages(["a"])
    passages.add("b")
    assert passages.prompt() == "[1] a\n\n[2] b"
    assert "here: [1] [2]\n" in passages.instructions()


def test_prompt_refuses_a_style_that_cannot_write_the_labels() -> None:
    passages = Passages({"a": "words"})
    assert "got 'a'" in complaint(lambda: passages.prompt(style=PREFIXED))
    assert "got 'a'" in complaint(lambda: passages.instructions(style=PREFIXED))
