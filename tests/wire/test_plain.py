from __future__ import annotations

import json
from typing import Any

import pytest

from citestream.exceptions import UnfilterableResponseError
from citestream.filter import CitationFilter
from citestream.wire.formats import Formats
from tests.wire.bodies import PASSAGES, cuts, done, events, filtered, sse

CHUNKS = ["Five", " days", " [", "1", "]", " so", " [9", "].", " Ask ["]
VISIBLE = "Five days [1] so. Ask ["


def bare(*chunks: str, end: str = "\n") -> bytes:
    return "".join([f"data: {chunk}{end}{end}" for chunk in chunks]).encode()


def texts(body: bytes) -> list[str]:
    """Return the data of every event before the summary."""
    found = []
    for fields in events(body):
        if fields.get("event") == ["summary"]:
            break
        found.append("\n".join(fields.get("data", [])))
    return found


def summary_of(body: bytes) -> Any:
    (fields,) = [fields for fields in events(body) if fields.get("event") == ["summary"]]
    return json.loads("\n".join(fields["data"]))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_bare_text_is_filtered_and_the_summary_is_the_last_event(end: str) -> None:
    body = bare(*CHUNKS, end=end)
    expected = filtered(body)
    assert texts(expected.body) == ["Five", " days", " [1]", " so", ".", " Ask", " ["]
    assert summary_of(expected.body) == expected.summaries[0].to_dict()
    assert expected.summaries[0].invalid == (9,)
    for pieces in cuts(body):
        assert filtered(pieces) == expected


def test_bare_text_keeps_its_line_breaks_in_data_lines() -> None:
    body = b"data: a\ndata: [9] b\ndata:\n\n" + bare("c [1]")
    assert texts(filtered(body).body) == ["a\nb\n", "c [1]"]


def test_text_that_the_caller_writes_cannot_forge_an_event() -> None:
    forged = "\n\nevent: summary\ndata: {}\r\rdata: x"
    for body in (bare("a", "b [9]", "."), sse("a", "b [9]", "."), sse({"text": "a [9]"})):
        result = filtered(body, invalid=lambda _: forged)
        names = [fields.get("event") for fields in events(result.body)]
        assert names == [None] * (len(names) - 1) + [["summary"]]
        assert b"\nid:" not in result.body


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_json_strings_are_filtered(end: str) -> None:
    expected = filtered(sse(*CHUNKS, end=end))
    strings = [json.loads(text) for text in texts(expected.body)]
    assert strings == ["Five", " days", " [1]", " so", ".", " Ask", " ["]
    for pieces in cuts(sse(*CHUNKS, end=end)):
        assert filtered(pieces) == expected


def test_objects_with_a_text_field_keep_what_else_they_hold() -> None:
    frames = [{"type": "token", "answer": chunk} for chunk in CHUNKS]
    start, end = {"answer": None, "id": 1.50}, {"type": "done", "usage": {"n": 1.0}}
    result = filtered(sse(start, *frames, end), field="answer", format_="json")
    found = [json.loads(text) for text in texts(result.body)]
    assert found == [
        start,
        *[
            {"type": "token", "answer": text}
            for text in ["Five", " days", " [1]", " so", ".", " Ask", " ["]
        ],
    ]
    # What was held and the summary come before the event that ends the answer.
    assert result.body.endswith(sse(end))
    assert summary_of(result.body)["invalid"] == [9]


def test_an_object_with_more_than_text_is_sent_even_if_its_text_is_held() -> None:
    frames = [{"text": chunk, "n": at} for at, chunk in enumerate(["a", " [9", "]."])]
    found = [json.loads(text) for text in texts(filtered(sse(*frames)).body)]
    assert found == [{"text": "a", "n": 0}, {"text": "", "n": 1}, {"text": ".", "n": 2}]


@pytest.mark.parametrize(
    "last",
    [
        b"event: done\ndata: {}\n\n",
        b"event: end\ndata: [1]\n\n",
        sse({"done": True}),
        sse({"text": "", "done": True}),
        sse({"type": "finish"}),
        sse({"finish_reason": "stop"}),
        done(),
        b"data:[DONE]\n\n",
    ],
)
def test_b06_held_text_and_the_summary_come_before_the_event_that_ends_the_answer(
    last: bytes,
) -> None:
    if b"[1]" in last:
        last = last.replace(b"[1]", b"1")
    result = filtered(sse({"text": "a"}, {"text": " ["}) + last + last)
    assert result.body.endswith(last + last)
    assert [json.loads(text) for text in texts(result.body)] == [{"text": "a"}, {"text": " ["}]
    assert len(result.summaries) == 1


def test_text_in_the_frame_that_ends_the_answer_is_part_of_it() -> None:
    result = filtered(sse({"text": "a ["}, {"text": "9]. b [", "done": True}))
    assert [json.loads(text) for text in texts(result.body)] == [
        {"text": "a"},
        {"text": ". b [", "done": True},
    ]
    assert summary_of(result.body)["invalid"] == [9]


@pytest.mark.parametrize("name", ["done", "complete"])
def test_w05_text_that_repeats_the_answer_at_the_end_is_filtered_and_not_counted(name: str) -> None:
    full = b'event: %b\ndata: {"text": "a [9]. [1]"}\n\n' % name.encode()
    result = filtered(sse({"text": "a [9"}, {"text": "]. [1]"}) + full)
    assert result.body.endswith(full.replace(b"a [9]", b"a"))
    assert [(summary.kept, summary.removed) for summary in result.summaries] == [(1, 1)]
    bare_full = b"event: done\ndata: a [9].\n\n"
    assert filtered(bare("a [9].") + bare_full).body.endswith(b"event: done\ndata: a.\n\n")


def test_b05_comments_ids_and_unknown_fields_stay_where_they_are() -> None:
    body = (
        b": hi\n\nid: 1\ndata: a [9\n\n"
        b"id: 2\nodd: x\ndata: ]\n: c\n\nid: 3\n\n: ping\n\ndata: .\n\n"
    )
    assert filtered(body).body.startswith(
        b": hi\n\nid: 1\ndata: a\n\nid: 2\nodd: x\n: c\n\nid: 3\n\n: ping\n\ndata: .\n\n"
    )


def test_t12_comments_pass_while_text_is_held() -> None:
    wire = Formats("auto", "text").open(
        "text/event-stream", "prose", lambda: CitationFilter(PASSAGES)
    )
    assert wire.feed(b": ping\n\n") == b": ping\n\n"
    assert wire.feed(bare("a", " [1")) == bare("a")
    assert wire.feed(b": ping\n\n") == b": ping\n\n"
    assert wire.feed(bare("]", "x")) == bare(" [1]", "x")


def test_an_error_of_the_stream_is_scored_as_one() -> None:
    for error in (sse({"error": "down"}), b"event: error\ndata: {}\n\n", sse({"type": "error"})):
        result = filtered(sse({"text": "a ["}) + error)
        assert result.body.endswith(error)
        assert (result.summaries[0].ended, result.summaries[0].reason) == ("error", "source failed")


def test_text_after_the_end_is_another_answer() -> None:
    result = filtered(sse("a [9]") + done() + sse("b [1]") + done())
    assert [(summary.cited, summary.invalid) for summary in result.summaries] == [
        ((), (9,)),
        ((1,), ()),
    ]


@pytest.mark.parametrize("value", [{"text": ["[9]"]}, {"text": {"a": 1}}, ["[9]"]])
def test_a_frame_of_another_shape_is_refused(value: Any) -> None:
    with pytest.raises(UnfilterableResponseError, match="whose 'text' is text"):
        filtered(sse({"text": "a"}, value))


@pytest.mark.parametrize("value", [1, None, True, {"sources": ["x"]}])
def test_a_json_frame_without_text_passes(value: Any) -> None:
    body = sse("a", value)
    assert filtered(body).body.startswith(body)


def test_a_stream_that_never_says_anything_has_a_summary() -> None:
    for body in (b"", b": ping\n\n", b"id: 7\n\n"):
        result = filtered(body)
        assert result.body.startswith(body)
        assert summary_of(result.body)["ended"] == "complete"


def test_structured_output_as_bare_text_stays_the_same_document() -> None:
    answer = '{"a": "x [9] y [1]", "n": [9]}'
    for body in (bare(*answer), bare(answer), sse(*answer), sse({"text": answer})):
        joined = "".join(
            text if body.startswith(b'data: {"a') or len(text) == 1 else _text_of(text)
            for text in texts(filtered(body, text="json", format_=_format_of(body)).body)
        )
        assert joined == '{"a": "x y [1]", "n": [9]}'


def _format_of(body: bytes) -> Any:
    return "json" if body.startswith((b'data: "{"', b'data: {"text"')) else "text"


def _text_of(data: str) -> str:
    try:
        value = json.loads(data)
    except ValueError:
        return data
    return (
        value["text"] if isinstance(value, dict) else str(value) if isinstance(value, str) else data
    )


def test_whole_bodies_hold_the_summary_beside_the_text() -> None:
    result = filtered(
        b'{ "answer" : "a [9] [1]." , "n" : 1.50 }', "application/json", field="answer"
    )
    value = json.loads(result.body)
    assert value == {"answer": "a [1].", "n": 1.5, "citestream": result.summaries[0].to_dict()}
    assert b'{ "answer" : "a [1]." , "n" : 1.50 ,"citestream":' in result.body
    assert filtered(b' "a [9]." \n', "application/json").body == b' "a." \n'
    assert filtered(b' "a [1]." \n', "application/json").body == b' "a [1]." \n'
    bom = b"\xef\xbb\xbf"
    assert filtered(bom + b'"a [9]"', "application/json").body == bom + b'"a"'
    assert filtered(b'"a [9] \xff"', "application/problem+json").body == b'"a \\udcff"'
