from __future__ import annotations

import json
import random
from typing import Any

import pytest

from citestream.wire.splice import Document, Path, literal

TEXT = ' { "a" : [ 1.00 , {"b":"x\\u00e9\\/"} , null ] ,\n "n":1e400, "a2" : "" , "empty": { } } '


def test_b07_what_is_not_edited_keeps_its_bytes() -> None:
    assert not Document(TEXT).edited
    assert Document(TEXT).render() == TEXT
    document = Document(TEXT)
    document.replace(("a", 1, "b"), 'é"\n')
    document.replace(("a", 2), {"c": [1]})
    document.set(("empty", "d"), True)
    document.set(("a", 1, "e"), 2)
    assert document.edited
    assert document.render() == (
        ' { "a" : [ 1.00 , {"b":"\\u00e9\\"\\n","e":2} , {"c":[1]} ] ,\n'
        ' "n":1e400, "a2" : "" , "empty": { "d":true} } '
    )


def test_a_member_that_is_there_is_replaced_by_set() -> None:
    document = Document('{"a": 1, "b": 2}')
    document.set(("a",), "x")
    assert document.render() == '{"a": "x", "b": 2}'


@pytest.mark.parametrize(
    ("text", "key", "rest"),
    [
        ('{"a": 1, "b": 2, "c": 3}', "a", '{"b": 2, "c": 3}'),
        ('{"a": 1, "b": 2, "c": 3}', "b", '{"a": 1, "c": 3}'),
        ('{"a": 1, "b": 2, "c": 3}', "c", '{"a": 1, "b": 2}'),
        ('{ "a" : 1 }', "a", "{  }"),
    ],
)
def test_a_member_goes_with_its_comma(text: str, key: str, rest: str) -> None:
    document = Document(text)
    document.remove((key,))
    document.remove((key,))
    assert document.render() == rest


@pytest.mark.parametrize("key", ["a", "b"])
def test_a_member_can_be_added_where_another_goes(key: str) -> None:
    document = Document('{"a": 1, "b": 2}')
    document.remove((key,))
    document.set(("c",), 3)
    document.set(("d",), 4)
    rest = {"a": 1, "b": 2}
    del rest[key]
    assert json.loads(document.render()) == {**rest, "c": 3, "d": 4}


def test_members_can_be_added_where_the_only_one_goes() -> None:
    document = Document('{"a": 1}')
    document.remove(("a",))
    document.set(("c",), 3)
    document.set(("d",), 4)
    assert document.render() == '{"c":3,"d":4}'


def test_the_last_of_equal_keys_is_the_one_that_counts() -> None:
    document = Document('{"a": "x", "a": "y"}')
    assert document.value == {"a": "y"}
    document.replace(("a",), "z")
    assert document.render() == '{"a": "x", "a": "z"}'


@pytest.mark.parametrize("text", ["", "{", "[1,]", "x", "\ufeff{}", "[" * 100_000])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        Document(text)


def test_b03_any_text_survives_as_one_line_of_ascii() -> None:
    text = "\n\r\n\r \x00\u2028\ud83d x \udc00é😀"
    written = literal(text)
    assert written.isascii()
    assert not set("\n\r") & set(written)
    assert json.loads(written) == text


def make(rng: random.Random, depth: int) -> Any:
    kind = rng.randrange(7 if depth else 5)
    if kind == 5:
        return [make(rng, depth - 1) for _ in range(rng.randrange(4))]
    if kind == 6:
        return {rng.choice('ab"\\é]'): make(rng, depth - 1) for _ in range(rng.randrange(4))}
    return [None, True, -1.5e-7, rng.randrange(999), rng.choice(['"', "\\", "[9]", "é\n", "}"])][
        kind
    ]


def paths(value: Any, path: Path = ()) -> list[Path]:
    found = [path]
    members = value.items() if isinstance(value, dict) else ()
    for key, member in enumerate(value) if isinstance(value, list) else members:
        found += paths(member, (*path, key))
    return found


def test_a_value_is_found_in_any_document() -> None:
    rng = random.Random(7)
    for _ in range(2000):
        value = make(rng, 4)
        text = json.dumps(value, indent=rng.choice([None, 2]), ensure_ascii=rng.random() < 0.5)
        document = Document(text)
        for path in paths(value):
            start, end = document.span(path)
            expected = value
            for step in path:
                expected = expected[step]
            assert json.loads(text[start:end]) == expected
