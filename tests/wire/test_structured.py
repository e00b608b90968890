from __future__ import annotations

import itertools
import json
import random

import pytest

from citestream.filter import CitationFilter
from citestream.wire.structured import MOST_DEPTH, JsonAnswer


def run(pieces: list[str]) -> tuple[str, JsonAnswer]:
    answer = JsonAnswer(
        CitationFilter([{"text": "a", "url": "https://docs.example/1"}, {"text": "b"}, "c"])
    )
    return "".join([answer.feed(piece) for piece in pieces]) + answer.finish(), answer


def in_all_cuts(text: str) -> str:
    """Run a document in every cut, and return what it became in each."""
    whole, answer = run([text])
    for pieces in ([*text], *([text[:at], text[at:]] for at in range(1, len(text)))):
        visible, cut = run(pieces)
        assert visible == whole
        assert cut.summary == answer.summary
        assert cut.noted == answer.noted
    return whole


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '{"sources": [9, 1], "answer": "Five days [1] or so [9]."}',
            '{"sources": [9, 1], "answer": "Five days [1] or so."}',
        ),
        ('["a [9].", ["[1]"], [[9]]]', '["a.", ["[1]"], [[9]]]'),
        ('"just a string [9]"', '"just a string"'),
        ("[9]", "[9]"),
        ('{"[9]": 1, "k[9]": "[9]"}', '{"[9]": 1, "k[9]": ""}'),
        # Its own spelling of characters stays.
        (
            r'{"a": "caf\u00e9 é \/ / \" \\ \ud83d\ude00 😀 \n x [9]\t."}',
            r'{"a": "caf\u00e9 é \/ / \" \\ \ud83d\ude00 😀 \n x\t."}',
        ),
        (r'{"a": "x \u005b9\u005d [\u0031] \ud83d x"}', r'{"a": "x [1] \ud83d x"}'),
        # A marker never spans two strings.
        ('{"a": "[", "b": "9]"}', '{"a": "[", "b": "9]"}'),
        ('{"a": "x [1", "b": "]"}', '{"a": "x", "b": "]"}'),
        # A canonical form comes out of drift.
        ('{"a": "x [1,2 ] y"}', '{"a": "x [1, 2] y"}'),
        # The end may cut anything.
        ('{"a": "x [1', '{"a": "x'),
        ('{"a": "x \\u00', '{"a": "x \\u00'),
        ('{"a": "x \\ud83d', '{"a": "x \\ud83d'),
        ('{"a": [1, {"b"', '{"a": [1, {"b"'),
        (
            ' {"a" :\n null , "b": -1.5e+7,"c":true}\r\n',
            ' {"a" :\n null , "b": -1.5e+7,"c":true}\r\n',
        ),
    ],
)
def test_only_string_values_are_prose(text: str, expected: str) -> None:
    assert in_all_cuts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The fee is two euros [9].", "The fee is two euros."),
        ('Here it is: {"a": [9]}', 'Here it is: {"a":}'),
        ('{"a": 1} and more [9].', '{"a": 1} and more.'),
        ('{"a": [1] oops [9]}', '{"a": [1] oops}'),
        ('{"a" 1, "b": "[9]"}', '{"a" 1, "b": ""}'),
        ('{a: "[9]."}', '{a: "."}'),
        ("[1, 2]] [9]", "[1, 2]]"),
        ("{]", "{]"),
        ("[}", "[}"),
    ],
)
def test_what_is_no_json_is_prose_from_there_on(text: str, expected: str) -> None:
    assert in_all_cuts(text) == expected


def test_what_is_nested_too_deep_is_checked_as_prose() -> None:
    visible, _ = run(["[" * MOST_DEPTH + '"[9]"'])
    assert visible == "[" * MOST_DEPTH + '""'
    visible, answer = run(["[" * (MOST_DEPTH + 1) + "x [9]."])
    assert answer.summary is not None
    assert answer.summary.invalid == (9,)


def test_places_of_citations_are_places_in_the_document() -> None:
    text = '{"é": "\\u00e9 [1].", "b": ["[2] [1]"]}'
    visible, answer = run([text])
    assert visible == text
    assert [visible[start:end] for start, end, _ in answer.noted] == ["[1]", "[1]"]
    _, answer = run(["Prose [1]", " and [1]"])
    assert [(start, end) for start, end, _ in answer.noted] == [(6, 9), (14, 17)]


def test_every_short_document_stays_a_document() -> None:
    # Whatever JSON reads, it reads the same after filtering where no marker is in it.
    for length in range(6):
        for letters in itertools.product('{}[]",:1a\\', repeat=length):
            text = "".join(letters)
            try:
                value = json.loads(text)
            except ValueError:
                continue
            visible, _ = run([text])
            assert json.loads(visible) == value or "[1" in text


def test_random_documents_come_out_as_they_were() -> None:
    rng = random.Random(3)
    for _ in range(500):
        strings = ["".join(rng.choices('a é"\\/\n😀.', k=rng.randrange(8))) for _ in range(4)]
        value = {"k": strings, "n": [1, [2, {"x": None}]], strings[0]: strings[1:]}
        text = json.dumps(value, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 1]))
        at = sorted(rng.randrange(len(text) + 1) for _ in range(3))
        visible, _ = run([text[i:j] for i, j in zip([0, *at], [*at, len(text)], strict=True)])
        assert visible == text
