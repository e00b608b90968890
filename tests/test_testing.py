"""The tools for users' tests do what they say, and find what they should."""

import asyncio
import contextlib

import pytest
import trio

from citestream import NO_ANSWER, CitationStream, check_citations, filter_text
from citestream.testing import (
    FakeModel,
    ModelFailedError,
    assert_nothing_invented,
    cuts,
    invented,
)


def read(model: FakeModel) -> tuple[str, CitationStream]:
    async def main() -> tuple[str, CitationStream]:
        stream = CitationStream(model, passages=2, sentences=True)
        text = "".join([piece async for piece in stream.text()])
        return text, stream

    return asyncio.run(main())


def test_invented_label_is_removed_and_reported() -> None:
    text, stream = read(FakeModel.invented_label())
    assert text == "Refunds take five days. Rides end at a station [1]."
    assert stream.summary is not None
    assert stream.summary.invalid == (99,)


def test_split_marker_arrives_whole() -> None:
    model = FakeModel.split_marker()
    text, _ = read(model)
    assert text == model.answer == "Refunds take five days [1]."
    assert (model.pulled, model.closed) == (5, 1)


def test_refusal_is_recognised() -> None:
    text, stream = read(FakeModel.refusal())
    assert text == NO_ANSWER
    assert stream.summary is not None
    assert stream.summary.refused_by == "model"


def test_uncited_sentence_is_named() -> None:
    _, stream = read(FakeModel.uncited_sentence())
    assert stream.summary is not None
    assert stream.summary.uncited == ("Everybody knows that.",)


def test_model_fails_inside_a_marker() -> None:
    model = FakeModel.error_after(3)
    with pytest.raises(ModelFailedError, match="after 3 chunks"):
        read(model)
    assert (model.pulled, model.closed) == (3, 1)


def test_model_that_stalls_can_be_left_on_asyncio() -> None:
    async def main() -> FakeModel:
        model = FakeModel.stall_after(2)
        stream = CitationStream(model, passages=1)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                async for _ in stream:
                    pass
        await stream.aclose()
        return model

    model = asyncio.run(main())
    assert (model.pulled, model.closed) == (2, 1)


def test_model_that_stalls_can_be_left_on_trio() -> None:
    async def main() -> FakeModel:
        model = FakeModel.stall_after(2)
        stream = CitationStream(model, passages=1)
        with trio.move_on_after(0.05):
            async for _ in stream:
                pass
        await stream.aclose()
        return model

    model = trio.run(main)
    assert (model.pulled, model.closed) == (2, 1)


def test_closed_model_writes_no_more() -> None:
    async def main() -> list[str]:
        model = FakeModel("a", "b")
        await model.aclose()
        return [chunk async for chunk in model]

    assert asyncio.run(main()) == []


def test_cuts_lose_nothing() -> None:
    answer = "See [1] and [12]."
    ways = list(cuts(answer))
    assert {"".join(chunks) for chunks in ways} == {answer}
    assert [answer] in ways
    assert list(answer) in ways
    assert [answer[:5], answer[5:]] in ways
    assert ways == list(cuts(answer))
    assert ways != list(cuts(answer, seed=1))


@pytest.mark.parametrize(
    ("visible", "found"),
    [
        ("See [1] and [2].", []),
        ("See [7].", [7]),
        ("See [1, 7] and 【8】.", [7, 8]),
        ("`x[7]` and\n```\ny[8]\n```\n[2]", []),
        ("```\ny[8]", []),
        ("[12345678901]", [123456789]),
        ("[sic] [a] (7)", []),
    ],
)
def test_invented_numbers_are_found_outside_code(visible: str, found: list[int]) -> None:
    assert invented(visible, {1, 2}) == found


ANSWER = "Refunds [1, 9] take `x[7]` days [[7]]. See [8](https://evil.example) or [2]."


def test_assertion_holds_for_the_filter() -> None:
    assert_nothing_invented(ANSWER, {1, 2}, lambda chunks: "".join(filter_text(chunks, 2)))


def test_assertion_notices_what_leaks() -> None:
    with pytest.raises(AssertionError, match="expected no invented label, got"):
        assert_nothing_invented(ANSWER, {1, 2}, "".join)


def test_assertion_notices_a_check_per_chunk() -> None:
    def per_chunk(chunks: list[str]) -> str:
        return "".join(check_citations(chunk, 2).answer for chunk in chunks)

    with pytest.raises(AssertionError, match=r"for every cut, got|no invented label"):
        assert_nothing_invented(ANSWER, {1, 2}, per_chunk)
