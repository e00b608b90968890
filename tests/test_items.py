"""The text of every known SDK's items, each taken once.

The items are look-alikes: objects and dicts with the fields that the SDKs'
own have in openai 3.57, anthropic 2.14, langchain-core 1.8, langgraph's two
forms, llama-index-core 0.14, pydantic-ai 2.68, haystack-ai 3.4, ollama 0.6,
google-genai 3.6, cohere 7.3, mistralai 3.7 and ag-ui-protocol 1.0. What each
SDK sends besides its text is there too, above all what repeats it.
"""

from __future__ import annotations

from enum import Enum
from types import SimpleNamespace as Item
from typing import Any

import pytest

from citestream.exceptions import SourceError
from citestream.items import ItemReader


class Kind(str, Enum):  # noqa: UP042  # theirs is made like this
    """AG-UI's types are members of such a class."""

    START = "RUN_STARTED"
    TEXT = "TEXT_MESSAGE_CONTENT"
    ALL = "MESSAGES_SNAPSHOT"


def choices(*contents: Any) -> Item:
    return Item(
        choices=[Item(index=i, delta=Item(content=text)) for i, text in enumerate(contents)]
    )


def ai(content: Any) -> Item:
    return Item(type="AIMessageChunk", content=content, text="not this one")


def said(**delta: Any) -> Item:
    return Item(type="content_block_delta", index=0, delta=Item(**delta))


STREAMS: dict[str, list[Any]] = {
    "str": ["Sky [", "1]."],
    "bytes": [b"Sky [", bytearray(b"1"), memoryview(b"].")],
    "str-and-bytes": ["Sky", b" [", "1", b"]."],
    "openai-chat": [
        choices(None),
        choices("Sky ["),
        choices("1]."),
        Item(choices=[Item(index=0, delta=None)]),
        Item(choices=[], usage=Item(total_tokens=9)),
        Item(choices=None),
    ],
    "openai-chat-dicts": [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]},
        {"choices": [{"delta": {"content": "Sky ["}}]},
        {"choices": [{"index": 0, "delta": {"content": "1]."}, "finish_reason": "stop"}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0}]}}]},
    ],
    "openai-chat-helper": [
        Item(type="chunk", chunk=choices("Sky [")),
        Item(type="content.delta", delta="Sky [", snapshot="Sky ["),
        Item(type="chunk", chunk=choices("1].")),
        Item(type="content.delta", delta="1].", snapshot="Sky [1]."),
        Item(type="refusal.delta", delta="No."),
        Item(type="content.done", content="Sky [1]."),
    ],
    "openai-responses": [
        Item(type="response.created"),
        Item(type="response.reasoning_text.delta", delta="Hm."),
        Item(type="response.output_text.delta", delta="Sky ["),
        Item(type="response.output_text.delta", delta="1]."),
        Item(type="response.refusal.delta", delta="No."),
        Item(type="response.function_call_arguments.delta", delta="{"),
        Item(type="response.output_text.done", text="Sky [1]."),
        Item(type="response.completed"),
    ],
    "openai-completions": [
        Item(choices=[Item(index=0, text="Sky [")]),
        Item(choices=[Item(index=0, text="1].")]),
    ],
    "anthropic-raw": [
        Item(type="message_start", message=Item(content=[])),
        Item(type="content_block_start", content_block=Item(type="thinking", thinking="")),
        said(type="thinking_delta", thinking="Hm."),
        said(type="signature_delta", signature="x"),
        Item(type="content_block_stop"),
        Item(type="content_block_start", content_block=Item(type="text", text="")),
        said(type="text_delta", text="Sky ["),
        Item(type="ping"),
        said(type="text_delta", text="1]."),
        said(type="citations_delta", citation=Item(cited_text="Sky")),
        said(type="input_json_delta", partial_json="{"),
        Item(type="message_delta", delta=Item(stop_reason="end_turn")),
        Item(type="message_stop"),
    ],
    "anthropic-helper": [
        said(type="text_delta", text="Sky ["),
        Item(type="text", text="Sky [", snapshot="Sky ["),
        said(type="text_delta", text="1]."),
        Item(type="text", text="1].", snapshot="Sky [1]."),
        Item(type="content_block_stop", content_block=Item(type="text", text="Sky [1].")),
    ],
    "anthropic-text-in-the-start": [
        Item(type="content_block_start", content_block=Item(type="text", text="Sky [")),
        said(type="text_delta", text="1]."),
    ],
    "langchain-str": [ai("Sky ["), ai("1]."), ai("")],
    "langchain-blocks": [
        ai([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Sky ["}]),
        ai(["1", Item(type="output_text", text="]."), {"type": "text"}]),
    ],
    "langchain-events": [
        {"event": "on_chain_start", "data": {"input": "Sky?"}},
        {"event": "on_chat_model_stream", "data": {"chunk": ai("Sky [")}},
        {"event": "on_chain_stream", "data": {"chunk": ai("Sky [")}},
        {"event": "on_llm_stream", "data": {"chunk": Item(type="Generation", text="1].")}},
        {"event": "on_chat_model_end", "data": {"output": ai("Sky [1].")}},
    ],
    "langgraph-messages": [
        (Item(type="human", content="Sky?"), {}),
        (ai("Sky ["), {"langgraph_node": "model"}),
        (Item(type="tool", content="a result"), {}),
        (ai("1]."), {}),
    ],
    "langgraph-modes": [
        ("updates", {"model": {}}),
        ("messages", (ai("Sky ["), {})),
        ("messages", (ai("1]."), {})),
        ("values", {"messages": [ai("Sky [1].")]}),
    ],
    "langgraph-v2": [
        {"type": "messages", "ns": (), "data": (ai("Sky ["), {})},
        {"type": "updates", "ns": (), "data": {"model": {}}},
        {"type": "messages", "ns": (), "data": (ai("1]."), {})},
    ],
    "llama-index": [
        Item(delta="Sky [", text="Sky ["),
        Item(delta="1].", text="Sky [1]."),
        Item(delta=None, text="Sky [1].", message=Item(content="Sky [1].")),
    ],
    "pydantic-ai": [
        Item(event_kind="part_start", part=Item(part_kind="thinking", content="Hm.")),
        Item(event_kind="part_start", part=Item(part_kind="text", content="Sky [")),
        Item(event_kind="final_result"),
        Item(event_kind="part_delta", delta=Item(part_delta_kind="thinking", content_delta="x")),
        Item(event_kind="part_delta", delta=Item(part_delta_kind="text", content_delta="1].")),
        Item(event_kind="part_end", part=Item(part_kind="text", content="Sky [1].")),
    ],
    "haystack": [
        Item(content="Sky [", reasoning=None),
        Item(content="", reasoning=Item(text="Hm.")),
        Item(content="1].", finish_reason="stop"),
    ],
    "ollama-chat": [
        Item(message=Item(content="Sky [", thinking=None), done=False),
        Item(message=Item(content="1]."), done=False),
        Item(message=Item(content=""), done=True),
    ],
    "ollama-generate": [{"response": "Sky [", "done": False}, {"response": "1].", "done": True}],
    "google": [
        Item(candidates=[Item(content=Item(parts=[Item(text="Hm.", thought=True)]))]),
        Item(candidates=[Item(index=0, content=Item(parts=[Item(text="Sky ["), Item(text=None)]))]),
        Item(candidates=[Item(content=Item(parts=[Item(text="1].")]))]),
        Item(candidates=[Item(content=None, finish_reason="STOP")]),
        Item(candidates=None),
    ],
    "cohere": [
        Item(type="message-start", delta=Item(message=Item(content=[]))),
        Item(type="content-delta", delta=Item(message=Item(content=Item(text="Sky [")))),
        Item(type="citation-start", delta=Item(message=Item(citations=Item(text="Sky")))),
        Item(type="content-delta", delta=Item(message=Item(content=Item(text="1].")))),
        Item(type="content-delta", delta=Item(message=None)),
    ],
    "mistral": [
        Item(data=choices("Sky [")),
        Item(data=choices([Item(type="thinking", thinking=[]), Item(type="text", text="1].")])),
    ],
    "ai-sdk": [
        {"type": "start"},
        {"type": "text-start", "id": "1"},
        {"type": "text-delta", "id": "1", "delta": "Sky ["},
        {"type": "reasoning-delta", "id": "2", "delta": "Hm."},
        {"type": "text-delta", "id": "1", "delta": "1]."},
        {"type": "data-weather", "data": {}},
        {"type": "finish"},
    ],
    "ag-ui": [
        Item(type=Kind.START),
        Item(type=Kind.TEXT, delta="Sky ["),
        {"type": "TEXT_MESSAGE_CHUNK", "delta": "1]."},
        Item(type=Kind.ALL, messages=[Item(content="Sky [1].")]),
    ],
    "text-blocks": [{"type": "text", "text": "Sky ["}, {"type": "text", "text": "1]."}],
    "a-later-version": [
        Item(type="message_start"),
        Item(type="content_block_preview", text="not this one"),
        said(type="text_delta", text="Sky [1]."),
    ],
}


def read(items: list[Any], **options: Any) -> str:
    reader = ItemReader(**options)
    return "".join([*map(reader.read, items), reader.finish()])


@pytest.mark.parametrize("items", STREAMS.values(), ids=STREAMS)
def test_text_of_every_known_stream_is_taken_once(items: list[Any]) -> None:
    assert read(items) == "Sky [1]."


class Nobodys:
    """An SDK that is not known."""


UNKNOWN = {
    "object": (Nobodys(), "tests.test_items.Nobodys"),
    "number": (7, "int"),
    "nothing": (None, "NoneType"),
    "list": (["Sky"], "list"),
    "type": ({"type": "brand_new", "words": "Sky"}, "dict with the type 'brand_new'"),
    "tuple": ((1, 2, 3), "int"),
    "empty-tuple": ((), "tuple"),
    "field-and-value": (("id", "chatcmpl-1"), "tuple"),
    "too-deep": ((((((ai("Sky"), 0), 0), 0), 0), 0), "tuple"),
    "dict": ({"words": "Sky"}, "dict"),
}


@pytest.mark.parametrize(("item", "name"), UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_item_is_an_error_that_names_its_type(item: Any, name: str) -> None:
    with pytest.raises(SourceError) as caught:
        read([item])
    assert str(caught.value) == (
        f"expected str, bytes or an item of a known SDK's stream, got {name}: "
        "say with text= where its text is"
    )


@pytest.mark.parametrize("items", [[choices("Sky", "Blue")], [choices(None, "Blue")]])
def test_several_choices_are_an_error(items: list[Any]) -> None:
    """One text made of two answers is no answer."""
    with pytest.raises(SourceError) as caught:
        read(items)
    assert str(caught.value) == (
        "expected a source with one answer, got several choices: "
        "ask for one (n=1), or pick one with text="
    )


def test_further_choices_without_text_are_nothing() -> None:
    assert read([choices("Sky", None)]) == "Sky"


def test_text_is_taken_by_the_callers_function() -> None:
    items = [{"words": "Sky ["}, {"words": None}, {"words": b"1\xc3"}, {"words": b"\xa9]"}]
    assert read(items, text=lambda item: item["words"]) == "Sky [1é]"


def test_callers_function_sees_every_item() -> None:
    assert read(["a", "b"], text=str.upper) == "AB"


def test_callers_function_has_to_return_text() -> None:
    with pytest.raises(SourceError) as caught:
        read(["Sky"], text=len)
    assert str(caught.value) == (
        "expected text= to return str, bytes or None, got int: return the text of the one item"
    )


# B01


@pytest.mark.parametrize(
    "answer",
    ["é€😀 [1].", "plain", "\ufeffwith a mark", "日本[1]。"],
)
def test_characters_cut_between_bytes_are_put_together(answer: str) -> None:
    whole = answer.encode()
    for at in range(len(whole) + 1):
        assert read([whole[:at], whole[at:]]) == answer
    assert read([whole[at : at + 1] for at in range(len(whole))]) == answer


@pytest.mark.parametrize(
    "broken", [b"\xff[1]", b"caf\xe9", b"\xe2\x82", b"\xf0\x9f\x98", b"a\xc3b"]
)
def test_bytes_that_are_no_utf8_come_out_as_they_were(broken: bytes) -> None:
    for at in range(len(broken) + 1):
        text = read([broken[:at], broken[at:]])
        assert text.encode(errors="surrogateescape") == broken


def test_half_a_character_stays_before_the_str_that_follows() -> None:
    assert read([b"\xe2\x82", "x", b"y"]) == "\udce2\udc82xy"


# Cumulative sources


SO_FAR = ["The sky", "The sky is", "The sky is", "The sky is blue [1].", "The sky is blue [1]. It"]


@pytest.mark.parametrize("wrap", [str, lambda text: Item(text=text), str.encode])
def test_source_that_repeats_its_text_is_an_error(wrap: Any) -> None:
    """pydantic-ai's `stream_text()` does, unless it is asked for deltas."""
    with pytest.raises(SourceError) as caught:
        read([wrap(text) for text in SO_FAR])
    assert str(caught.value) == (
        "expected each item to be the next piece of the answer, got items that each repeat all "
        "of it so far: ask the source for deltas (pydantic-ai: delta=True), or cut them with text="
    )


@pytest.mark.parametrize(
    "chunks",
    [
        ["1", "10", "100", "1000"],
        ["", " ", "  ", "   ", "    x"],
        ["[1", "[1[1", "[1[1[1", "[1[1[1[9"],
        ["ha", "haha", "hahaha"],
        ["The sky", "The sky is", " blue", " blue and", " blue and grey"],
        ["The sky is blue.\n"] * 5,
        SO_FAR[:2],
    ],
)
def test_answer_that_repeats_itself_a_little_is_no_error(chunks: list[str]) -> None:
    assert read(chunks) == "".join(chunks)


def test_plain_text_is_noticed_once_it_is_sure() -> None:
    """From then on a driver need not ask for the text of a `str`."""
    reader = ItemReader()
    assert [(reader.read(chunk), reader.plain) for chunk in ("a", "b", "c")] == [
        ("a", False),
        ("b", True),
        ("c", True),
    ]
    assert (reader.read(b"\xc3"), reader.plain) == ("", False)
    assert reader.read("d") == "\udcc3d"
