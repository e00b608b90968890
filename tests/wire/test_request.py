from __future__ import annotations

import json
from typing import Any

import pytest

from citestream.exceptions import PassageError
from citestream.wire.request import BodyPassages, PromptPassages, asks_for_json


@pytest.mark.parametrize(
    ("request_", "asked"),
    [
        ({"response_format": {"type": "json_object"}}, True),
        ({"response_format": {"type": "json_schema", "json_schema": {}}}, True),
        ({"json_schema": {"type": "object"}}, True),
        ({"guided_json": {"type": "object"}}, True),
        ({"response_format": {"type": "text"}, "x": "json"}, False),
        ({"response_format": "json"}, False),
        ({"messages": [{"content": "give me json"}]}, False),
        (["json"], False),
        ({}, False),
    ],
)
def test_a_request_says_whether_it_wants_json(request_: Any, asked: bool) -> None:
    assert asks_for_json(json.dumps(request_).encode()) is asked


@pytest.mark.parametrize("body", [b"", b"json", b"{json", b"\xffjson", b"[" * 9999 + b"json"])
def test_a_request_that_is_no_json_asks_for_nothing(body: bytes) -> None:
    assert asks_for_json(body) is False


def test_a_field_is_taken_out_of_the_body_and_the_rest_keeps_its_bytes() -> None:
    body = b'{ "model" : "m", "passages": ["a", {"text": "b"}], "n": 1.0 }'
    rest, found = BodyPassages().take(body)
    assert (rest, found) == (b'{ "model" : "m", "n": 1.0 }', ["a", {"text": "b"}])
    assert BodyPassages("other").take(body) == (body, None)


@pytest.mark.parametrize("body", [b"", b"x", b"[1]", b"\xff", b'"passages"', b"[" * 9999])
def test_a_body_without_the_field_is_left_alone(body: bytes) -> None:
    assert BodyPassages().take(body) == (body, None)


def prompt(*messages: tuple[str, Any]) -> bytes:
    return json.dumps({"messages": [{"role": r, "content": c} for r, c in messages]}).encode()


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("brackets", "Sources:\n[1] first\nline\n[2]: second [1]\n\n [3] third"),
        ("source", "Source 1: first\nline\n\nSource 2:\nsecond [1]\nSource 3 : third"),
        ("document", "Document [1] first\nline\nDocument 2: second [1]\nDocument 3\nthird"),
        ("dot", "Use these:\n1. first\nline\n2. second [1]\n3. third"),
    ],
)
def test_numbered_sources_of_a_prompt_are_found(pattern: str, text: str) -> None:
    found = PromptPassages(pattern).find(prompt(("system", text), ("user", "And now?")))
    assert found == ["first\nline", "second [1]", "third"]


def test_only_consecutive_numbers_count_and_the_last_prompt_does() -> None:
    body = prompt(
        ("system", "[1] old\n[2] older\n[3] oldest"),
        ("assistant", "[1] said\n[2] so"),
        ("user", [{"type": "text", "text": "[1] new\n[3] no source\n[2] newer\n[9] nor this"}]),
        ("user", None),
    )
    assert PromptPassages().find(body) == ["new\n[3] no source", "newer\n[9] nor this"]


def test_a_bare_prompt_is_read_as_well() -> None:
    assert PromptPassages().find(b'{"prompt": "[1] a\\n[2] b"}') == ["a", "b"]


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"messages": 1}', b'{"messages": [1]}', b'{"prompt": "[2] b"}']
)
def test_a_prompt_without_sources_has_none(body: bytes) -> None:
    assert PromptPassages().find(body) is None


def test_a_pattern_that_is_none_is_refused() -> None:
    with pytest.raises(PassageError) as caught:
        PromptPassages("braces")
    assert str(caught.value) == (
        "expected a pattern among brackets, document, dot, source, got 'braces'"
    )
