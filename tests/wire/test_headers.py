from __future__ import annotations

import pytest

from citestream.exceptions import UnfilterableResponseError
from citestream.wire.headers import header, headers_of_filtered, is_json, media_type


def test_b08_what_described_the_body_goes_and_what_keeps_a_stream_flowing_is_set_once() -> None:
    headers = [
        (b"Content-Type", b"text/plain"),
        (b"CONTENT-LENGTH", b"9"),
        (b"ETag", b'"x"'),
        (b"Content-MD5", b"x"),
        (b"Digest", b"x"),
        (b"Content-Digest", b"x"),
        (b"Repr-Digest", b"x"),
        (b"Accept-Ranges", b"bytes"),
        (b"Cache-Control", b"max-age=60"),
        (b"cache-control", b"no-cache"),
        (b"X-Accel-Buffering", b"yes"),
        (b"Set-Cookie", b"a=1"),
        (b"set-cookie", b"b=2"),
    ]
    assert headers_of_filtered(headers, None) == [
        (b"Content-Type", b"text/plain"),
        (b"Set-Cookie", b"a=1"),
        (b"set-cookie", b"b=2"),
        (b"cache-control", b"no-cache, no-transform"),
        (b"x-accel-buffering", b"no"),
    ]


def test_a_body_that_is_known_whole_keeps_a_length() -> None:
    assert headers_of_filtered([(b"content-length", b"9")], 7)[0] == (b"content-length", b"7")
    assert header(headers_of_filtered([], 7), b"content-length") == b""


@pytest.mark.parametrize("directive", [b"no-store", b"private"])
def test_what_an_application_says_against_storing_stays(directive: bytes) -> None:
    headers = headers_of_filtered([(b"cache-control", directive + b", max-age=3")], None)
    assert header(headers, b"Cache-Control".lower()) == directive + b", no-cache, no-transform"


@pytest.mark.parametrize(
    "value", [b"application/json", b"Application/JSON; charset=utf-8", b"a/b+json"]
)
def test_json_is_known_by_its_content_type(value: bytes) -> None:
    assert is_json(value)


@pytest.mark.parametrize("value", [b"", b"text/json", b"application/jsonl"])
def test_what_is_no_json_is_known_too(value: bytes) -> None:
    assert not is_json(value)


@pytest.mark.parametrize(
    "value",
    [b"Text/Plain", b"text/plain; charset=UTF-8", b'text/plain;charset="utf-8"', b"text/plain;x"],
)
def test_a_content_type_in_utf_8_is_taken(value: bytes) -> None:
    assert (
        media_type([(b"Content-Type", value), (b"Content-Encoding", b"identity")]) == "text/plain"
    )


def test_b09_a_compressed_body_is_refused_with_the_order_of_the_middlewares() -> None:
    with pytest.raises(UnfilterableResponseError) as caught:
        media_type([(b"Content-Type", b"text/plain"), (b"Content-Encoding", b"GZip")])
    assert str(caught.value) == (
        "expected an unencoded body, got Content-Encoding 'gzip': "
        "add CitationMiddleware inside the compressing middleware"
    )


def test_another_encoding_of_characters_is_refused() -> None:
    with pytest.raises(UnfilterableResponseError) as caught:
        media_type([(b"Content-Type", b"text/plain; charset=latin-1")])
    assert str(caught.value) == (
        "expected text in UTF-8, got charset 'latin-1': encode the body as UTF-8"
    )
