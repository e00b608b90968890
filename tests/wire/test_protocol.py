from __future__ import annotations

import json
from typing import Any

import pytest

from citestream.exceptions import UnfilterableResponseError
from tests.wire.bodies import cuts, events, filtered


def own(*named: tuple[str, Any]) -> bytes:
    return "".join(
        [
            f"event: {name}\ndata: {json.dumps(value, separators=(',', ':'))}\n\n"
            for name, value in named
        ]
    ).encode()


def deltas(*texts: str) -> list[tuple[str, Any]]:
    return [("delta", {"text": text}) for text in texts]


def read(body: bytes) -> list[tuple[str, Any]]:
    return [(fields["event"][0], json.loads(fields["data"][0])) for fields in events(body)]


def joined(body: bytes) -> list[tuple[str, Any]]:
    """Return the events of a stream, neighbouring deltas as one."""
    found: list[tuple[str, Any]] = []
    for name, value in read(body):
        if found and name == "delta" == found[-1][0]:
            found[-1] = (name, {"text": found[-1][1]["text"] + value["text"]})
        else:
            found.append((name, value))
    return found


PASSAGE = {"label": 1, "id": None, "title": "Refunds", "url": "https://docs.example/1"}


def test_deltas_become_deltas_citations_and_a_summary() -> None:
    body = own(*deltas("Five", " days [", "1, 9", "] so", " [9].", " See [1]", " ["))
    result = filtered(body)
    *found, last = read(result.body)
    assert found == [
        ("delta", {"text": "Five"}),
        ("delta", {"text": " days"}),
        ("delta", {"text": " "}),
        ("citation", {"text": "[1]", "cited": [1], "invalid": [9], "passages": [PASSAGE]}),
        ("delta", {"text": " so"}),
        ("citation", {"text": "", "cited": [], "invalid": [9], "passages": []}),
        ("delta", {"text": "."}),
        ("delta", {"text": " See "}),
        ("citation", {"text": "[1]", "cited": [1], "invalid": [], "passages": []}),
        ("delta", {"text": " ["}),
    ]
    assert last == ("summary", result.summaries[0].to_dict())
    for pieces in cuts(body):
        assert filtered(pieces) == result


def test_a_stream_that_was_filtered_before_comes_out_the_same() -> None:
    once = filtered(own(*deltas("Five [1", "] days [2].", " And [1]", " [1, 2]")))
    again = filtered(once.body)
    assert joined(again.body) == joined(once.body)
    assert again.summaries == once.summaries


def test_b07_deltas_nobody_had_to_change_leave_byte_for_byte() -> None:
    body = b'event: delta\r\ndata: { "text" : "a\\u0062\\/" }\r\n\r\n' + own(*deltas("b", "c"))
    assert filtered(body).body.startswith(body)


def test_a_retraction_voids_the_text_and_its_score() -> None:
    body = own(
        *deltas("Five [1] [9] ["),
        ("retract", {"reason": "invented_citation", "attempt": 2}),
        *deltas("Six [1] [2]"),
    )
    result = filtered(body)
    found = read(result.body)
    at = found.index(("retract", {"reason": "invented_citation", "attempt": 2}))
    citations = [data for name, data in found[at:] if name == "citation"]
    assert citations[0]["passages"] == [PASSAGE]
    assert [(s.cited, s.invalid) for s in result.summaries] == [((1, 2), ())]


def test_an_error_comes_before_the_summary_and_after_what_was_held() -> None:
    error = ("error", {"reason": "source failed", "id": "a1"})
    result = filtered(own(*deltas("Five", " ["), error, ("summary", {"cited": [9]})))
    assert [name for name, _ in read(result.body)] == ["delta", "delta", "error", "summary"]
    assert result.summaries[0].ended == "error"


def test_sentences_repeat_the_text_and_are_filtered_too() -> None:
    sentence = {"content": "Five [9] days [1].", "cited": [1], "covered": True}
    result = filtered(
        own(
            *deltas("Five [9] days [1]."),
            ("sentence", sentence),
            ("sentence", {**sentence, "content": "ok"}),
        )
    )
    sentences = [data for name, data in read(result.body) if name == "sentence"]
    assert sentences == [{**sentence, "content": "Five days [1]."}, {**sentence, "content": "ok"}]
    assert (result.summaries[0].kept, result.summaries[0].removed) == (1, 1)


def test_other_events_and_comments_pass() -> None:
    others = b": ping\n\n" + own(("sources", {"n": 1.0}))
    body = own(*deltas("a")) + others
    assert filtered(body).body.startswith(body)


@pytest.mark.parametrize(
    "named", [("delta", {"text": 1}), ("delta", {}), ("note", {"text": "[9]"})]
)
def test_text_where_the_protocol_has_none_is_refused(named: tuple[str, Any]) -> None:
    with pytest.raises(UnfilterableResponseError, match="the citestream protocol"):
        filtered(own(*deltas("a"), named))


def test_an_empty_stream_has_a_summary() -> None:
    result = filtered(b"", format_="citestream")
    assert read(result.body) == [("summary", result.summaries[0].to_dict())]
