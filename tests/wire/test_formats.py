from __future__ import annotations

from typing import Any

import pytest

from citestream.exceptions import UnfilterableResponseError
from citestream.filter import CitationFilter
from citestream.wire.formats import FORMATS, Format, Formats
from citestream.wire.frames import Wire
from tests.wire.bodies import PASSAGES, chat_chunk, cuts, done, events, filtered, sse


def opened(media_type: str = "text/event-stream", format_: Format = "auto") -> Wire:
    return Formats(format_, "text").open(media_type, "prose", lambda: CitationFilter(PASSAGES))


BODIES: dict[str, bytes] = {
    "bare": b"data: a [9\n\ndata: ]b\n\n",
    "number": b"data: 5\n\ndata: [9\n\ndata: ]b\n\n",
    "string": sse("a [9", "]b"),
    "object": sse({"text": "a [9"}, {"text": "]b"}),
    "own": b'event: delta\ndata: {"text":"a [9]"}\n\n',
    "chat": sse(chat_chunk("a [9"), chat_chunk("]b"), chat_chunk(None, "stop")) + done(),
    "completion": sse({"choices": [{"text": "a [9"}]}, {"choices": [{"text": "]b"}]}),
    "native": sse({"content": "a [9", "stop": False}, {"content": "]b", "stop": True}),
}


@pytest.mark.parametrize("name", BODIES)
def test_the_first_event_with_data_says_what_a_stream_is(name: str) -> None:
    body = b"\xef\xbb\xbf: hi\n\n" + BODIES[name]
    expected = filtered(body)
    assert expected.summaries[0].invalid == (9,)
    assert b"[9" not in expected.body.replace(b'"invalid":[9]', b"")
    for pieces in cuts(body):
        assert filtered(pieces) == expected


@pytest.mark.parametrize("name", BODIES)
def test_a_first_event_without_a_blank_line_says_it_too(name: str) -> None:
    body = BODIES[name].split(b"\n\n")[0].replace(b"[9", b"[9]").replace(b"[9]]", b"[9]")
    result = filtered(body)
    assert [summary.ended for summary in result.summaries] == ["complete"]
    assert all(fields.keys() <= {"data", "event"} for fields in events(result.body))


@pytest.mark.parametrize(
    "value", [{}, {"type": "start"}, {"text": 1}, [], {"message": {"content": "[9]"}}]
)
def test_a_stream_of_unknown_shape_is_refused_at_its_first_event(value: Any) -> None:
    wire = opened()
    assert wire.feed(b": hi\n\n") == b": hi\n\n"
    with pytest.raises(UnfilterableResponseError) as caught:
        wire.feed(sse(value))
    assert str(caught.value) == (
        "expected text, a JSON string, an object whose 'text' is text, or a chat completion, "
        "got another shape: name the field with text_field=, the format with format=, "
        "or attach no passages to this response"
    )


@pytest.mark.parametrize("body", [b"{", b"", b"[1]", b"{}", b'{"text": 1}', b"\xff", b"[" * 9999])
def test_a_whole_body_of_unknown_shape_is_refused(body: bytes) -> None:
    with pytest.raises(UnfilterableResponseError):
        filtered(body, "application/json")


@pytest.mark.parametrize(
    "media_type", ["", "text/html", "application/octet-stream", "application/x-ndjson", "image/png"]
)
@pytest.mark.parametrize("format_", FORMATS)
def test_a_content_type_nobody_reads_is_refused(media_type: str, format_: Format) -> None:
    with pytest.raises(UnfilterableResponseError) as caught:
        opened(media_type, format_)
    assert str(caught.value) == (
        f"expected text/plain, text/event-stream or application/json for the format {format_!r}, "
        f"got content type {media_type!r}: attach passages only where the response is an answer"
    )


@pytest.mark.parametrize("format_", ["json", "citestream", "openai-chat"])
def test_bare_text_is_refused_where_another_format_is_expected(format_: Format) -> None:
    with pytest.raises(UnfilterableResponseError):
        opened("text/plain", format_)


def test_a_format_that_is_named_is_not_guessed() -> None:
    assert filtered(sse("a [9]."), format_="text").body.startswith(b'data: "a."\n\n')
    with pytest.raises(UnfilterableResponseError):
        filtered(b'{"text": "a"}', "application/json", "openai-chat")
    with pytest.raises(UnfilterableResponseError):
        filtered(b'{"choices": []}', "application/json", "json")


def test_a_json_body_as_text_is_a_document_that_streams() -> None:
    wire = Formats("text", "text").open(
        "application/json", "json", lambda: CitationFilter(PASSAGES)
    )
    assert wire.feed(b'{"steps": ["a') == b'{"steps": ["a'
    assert wire.feed(b' [9]."], "n": [9]}') == b'."], "n": [9]}'
    assert wire.finish() == b""


def test_a_stream_named_by_its_error_keeps_its_dialect() -> None:
    body = b'data: {"error": {"message": "down"}}\n\n'
    result = filtered(body)
    assert result.body == body
    assert result.summaries[0].ended == "error"


ENDINGS: dict[str, tuple[bytes, list[str]]] = {
    "bare": (b"data: a [\n\n", ["a", " [", "error", "summary"]),
    "string": (sse("a ["), ['"a"', '" ["', "error", "summary"]),
    "own": (b'event: delta\ndata: {"text":"a ["}\n\n', ["delta", "delta", "error", "summary"]),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_t10_a_body_that_breaks_off_ends_with_the_held_text_one_error_and_the_summary(
    name: str,
) -> None:
    body, expected = ENDINGS[name]
    wire = opened()
    rest, ended = b"", False
    out = wire.feed(body)
    rest, ended = wire.fail("e7")
    found = events(out + rest)
    assert ended
    assert [fields.get("event", fields["data"])[0] for fields in found] == expected
    assert found[-2]["data"] == ['{"reason":"source failed","id":"e7"}']
    (summary,) = wire.summaries
    assert (summary.ended, summary.reason) == ("error", "source failed (e7)")


def test_t10_a_chat_stream_that_breaks_off_says_so_as_the_provider_does() -> None:
    wire = opened()
    out = wire.feed(sse(chat_chunk("a [1]"), chat_chunk(" [")))
    rest, ended = wire.fail("e7")
    assert ended
    assert (out + rest).endswith(
        sse(
            {
                "error": {
                    "message": "The answer was interrupted.",
                    "type": "server_error",
                    "param": None,
                    "code": "source_failed",
                    "id": "e7",
                }
            }
        )
        .replace(b", ", b",")
        .replace(b'": ', b'":')
        .replace(b"data:{", b"data: {")
        + done()
    )
    assert b'"content":" ["' in rest
    assert wire.summaries[0].cited == (1,)
    assert wire.summaries[0].ended == "error"
    # It ended by itself, then the server failed: nothing is said twice.
    wire = opened()
    wire.feed(sse(chat_chunk("a", "stop")) + done())
    assert wire.fail("e7") == (b"", True)


def test_t10_bare_text_and_whole_bodies_have_no_place_for_an_error() -> None:
    wire = opened("text/plain")
    assert wire.feed(b"a [") == b"a"
    assert wire.fail("e7") == (b" [", False)
    assert wire.summaries[0].ended == "error"
    wire = opened("application/json")
    assert wire.feed(b'{"text": "a') == b""
    assert wire.fail("e7") == (b"", False)
    assert wire.summaries[0].reason == "source failed (e7)"


@pytest.mark.parametrize("media_type", ["text/event-stream", "text/plain", "application/json"])
@pytest.mark.parametrize("format_", ["auto", "text"])
@pytest.mark.parametrize("body", [b"", b"data: a [\n\n", sse(chat_chunk("a [")), b"data: {"])
def test_a_body_nobody_reads_is_scored_as_cancelled(
    media_type: str, format_: Format, body: bytes
) -> None:
    wire = opened(media_type, format_)
    wire.feed(body)
    wire.discard("cancelled", "client disconnected")
    assert [(summary.ended, summary.reason) for summary in wire.summaries] == [
        ("cancelled", "client disconnected")
    ]
