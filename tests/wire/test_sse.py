from __future__ import annotations

import itertools

import pytest

from citestream.exceptions import UnfilterableResponseError
from citestream.wire.sse import SSEEvent, SSEReader, frame
from tests.wire.bodies import cuts, events

STREAM = (
    b"\xef\xbb\xbf: hello\r\n\r\n"
    b"event: a\r\ndata: one\r\ndata:two\r\nid: 7\r\n\r\n"
    b"data:  two spaces\n: inside\nunknown: x\nretry: 10\n\n"
    b"\n\n"
    b"data\rdata:\r\r"
    b"id: nul\x00\ndata: caf\xc3\xa9\xff\n\n"
    b"data: no blank line at the end\n"
)


def read(pieces: list[bytes]) -> list[SSEEvent]:
    reader = SSEReader()
    found = [event for piece in pieces for event in reader.feed(piece)]
    return found + reader.finish()


def fields_of(event: SSEEvent) -> dict[str, list[str]]:
    """Say what the event holds in the words of the other reader."""
    found: dict[str, list[str]] = {}
    for name, value, line in event.fields:
        if line.strip(b"\r\n"):
            text = value.decode("utf-8", "surrogateescape")
            found.setdefault(name.decode(), []).append(text)
    return found


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_b02_a_stream_cut_anywhere_gives_the_same_events_and_the_same_bytes(end: str) -> None:
    body = STREAM.replace(b"\r\n", b"\n").replace(b"\n", end.encode())
    expected = events(body)
    for pieces in cuts(body):
        found = read(pieces)
        assert b"".join(event.raw for event in found) == body
        assert [fields for event in found if (fields := fields_of(event))] == expected


def test_b02_every_short_stream_is_cut_into_events_as_the_standard_says() -> None:
    for length in range(7):
        for letters in itertools.product(b"a\r\n", repeat=length):
            body = bytes(letters)
            for pieces in cuts(body):
                found = read(pieces)
                assert b"".join(event.raw for event in found) == body
                assert [f for event in found if (f := fields_of(event))] == events(body), pieces


def test_b02_the_fields_of_an_event_are_parsed() -> None:
    parsed = [
        (event.event, event.data, event.id, event.retry, event.comments) for event in read([STREAM])
    ]
    assert parsed == [
        ("", None, None, None, [" hello"]),
        ("a", "one\ntwo", "7", None, []),
        ("", " two spaces", None, 10, [" inside"]),
        ("", None, None, None, []),
        ("", "\n", None, None, []),
        ("", "café\udcff", None, None, []),
        ("", "no blank line at the end", None, None, []),
    ]


@pytest.mark.parametrize(
    "line", ["retry: -1", "retry: ١", "retry: 1e3", "retry:", "retry: 9999999999"]
)
def test_a_retry_that_is_no_small_number_sets_none(line: str) -> None:
    assert read([f"{line}\n\n".encode()])[0].retry is None


def test_b02_an_event_of_carriage_returns_is_not_held_for_a_byte_that_may_never_come() -> None:
    reader = SSEReader()
    assert [event.data for event in reader.feed(b"data: x\r\r")] == ["x"]


def test_b02_several_events_in_one_message_come_out_one_by_one() -> None:
    assert [event.raw for event in SSEReader().feed(b"data: a\n\ndata: b\n\n:c\n\n")] == [
        b"data: a\n\n",
        b"data: b\n\n",
        b":c\n\n",
    ]


@pytest.mark.parametrize(
    ("line", "data"), [("data:x", "x"), ("data: x", "x"), ("data:  x ", " x "), ("data", "")]
)
def test_b04_one_optional_space_after_the_colon_is_no_data(line: str, data: str) -> None:
    assert read([f"{line}\n\n".encode()])[0].data == data


def test_b05_replacing_the_data_leaves_every_other_line_as_it_was() -> None:
    (event,) = read([b": one\r\nevent:a\r\ndata: x\r\nodd\r\ndata: y\r\nid:  7\r\n: two\r\n\r\n"])
    assert event.with_data("z") == (
        b": one\r\nevent:a\r\ndata: z\r\nodd\r\nid:  7\r\n: two\r\n\r\n"
    )
    assert event.with_data(None) == b": one\r\nevent:a\r\nodd\r\nid:  7\r\n: two\r\n\r\n"


def test_an_event_of_data_and_a_name_disappears_with_its_data() -> None:
    assert read([b"event: a\ndata: x\n\n"])[0].with_data(None) == b""


def test_b02_an_event_without_a_blank_line_gets_one_when_it_is_written_anew() -> None:
    for cut in (b"data: x", b"data: x\n"):
        (event,) = read([cut])
        assert event.raw == cut
        assert event.with_data("y") == b"data: y\n\n"
        assert event.terminated() == b"data: x\n\n"


def test_b02_the_byte_order_mark_stays_in_front() -> None:
    (event,) = read([b"\xef\xbb\xbfdata: x\n\n"])
    assert event.data == "x"
    assert event.with_data("y") == b"\xef\xbb\xbfdata: y\n\n"


@pytest.mark.parametrize("breaks", ["\n", "\r", "\r\n", "\n\n"])
def test_b03_data_cannot_end_its_event_or_start_a_field(breaks: str) -> None:
    forged = f"x{breaks}event: summary{breaks}data: {{}}"
    (only,) = events(frame(forged, "delta"))
    assert only["event"] == ["delta"]
    assert set(only) == {"event", "data"}
    (event,) = read([b"data: x\n\n"])
    assert [set(fields) for fields in events(event.with_data(forged))] == [{"data"}]


def test_an_event_longer_than_the_bound_is_refused() -> None:
    reader = SSEReader(most=100)
    assert reader.feed(b"data: " + b"x" * 94) == []
    with pytest.raises(UnfilterableResponseError) as caught:
        reader.feed(b"x")
    assert str(caught.value) == (
        "expected server-sent events of at most 100 bytes, got a longer one: "
        "send the text in smaller events"
    )


def test_bytes_of_a_long_event_are_not_searched_again() -> None:
    reader = SSEReader()
    searched = 0
    for _ in range(1000):
        reader.feed(b"data: " + b"x" * 94)
        # Where the next search starts, against all that is there.
        searched += len(reader.held) - max(0, reader._searched - 3)
    assert searched == 3 * 1000
