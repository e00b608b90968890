from __future__ import annotations

import pytest

from tests.wire.bodies import cuts, filtered

ANSWER = "Größe: 5 €, 日本語 😀 [1], a [9]. Done [2"


def test_b01_a_character_cut_anywhere_is_whole_and_the_marker_is_found() -> None:
    for pieces in cuts(ANSWER.encode()):
        result = filtered(pieces, "text/plain")
        assert result.body.decode() == "Größe: 5 €, 日本語 😀 [1], a. Done"
        (summary,) = result.summaries
        assert (summary.cited, summary.invalid, summary.removed) == ((1,), (9,), 2)


@pytest.mark.parametrize(
    "broken",
    [b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\xaf", b"\x00"],
)
def test_b01_what_is_no_utf_8_passes_unchanged(broken: bytes) -> None:
    for pieces in cuts(b"a " + broken + b" b [1] [9]. " + broken):
        result = filtered(pieces, "text/plain")
        assert result.body == b"a " + broken + b" b [1]. " + broken


def test_text_leaves_as_soon_as_it_is_certain() -> None:
    from citestream.filter import CitationFilter
    from citestream.wire.answer import ProseAnswer
    from citestream.wire.text import TextBody

    body = TextBody(ProseAnswer(CitationFilter(1)))
    fed = [body.feed(piece) for piece in (b"See", b" [", b"1", b"]", b" caf\xc3", b"\xa9")]
    assert [*fed, body.finish()] == [b"See", b"", b"", b" [1]", b" caf", "é".encode(), b""]


def test_markdown_is_text_too() -> None:
    assert filtered(b"**a** [9].", "text/markdown").body == b"**a**."
