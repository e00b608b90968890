"""Every label of the by-law, cited in each of the ways that models cite, through a stream."""

import asyncio
import json
from pathlib import Path

import pytest

from citestream import CitationStream, Summary
from citestream.styles import LABEL
from citestream.testing import FakeModel

DOCUMENTS = json.loads((Path(__file__).parents[1] / "demo" / "corpus.json").read_text("utf-8"))
STATUTE = {d["place"]: d["text"] for d in DOCUMENTS if d["id"].startswith("bylaw")}


def stream(sentence: str, match: str) -> tuple[str, Summary]:
    async def main() -> tuple[str, Summary]:
        model = FakeModel(*sentence)
        answer = CitationStream(model, STATUTE, style=LABEL, match=match)
        text = "".join([piece async for piece in answer.text()])
        assert answer.summary is not None
        return text, answer.summary

    return asyncio.run(main())


def test_statute_has_the_labels_this_file_is_about() -> None:
    assert list(STATUTE) == [
        *("Article 4", "Article 5(1)", "Article 5(2)"),
        *("Article 6(1)", "Article 6(3)", "Article 11", "Article 60(1)"),
    ]


@pytest.mark.parametrize("match", ["exact", "hierarchical"])
@pytest.mark.parametrize("label", STATUTE)
def test_label_is_cited_exactly(label: str, match: str) -> None:
    text, summary = stream(f"It is so [{label}].", match)
    assert text == f"It is so [{label}]."
    assert (summary.cited, summary.invalid) == ((label,), ())


@pytest.mark.parametrize(
    ("match", "written", "cited", "invalid"),
    [
        # More broadly.
        ("hierarchical", "Article 6", ("Article 6(1)", "Article 6(3)"), ()),
        ("exact", "Article 6", (), ("Article 6",)),
        # More narrowly: only what the passage's own text holds.
        ("hierarchical", "Article 6(3)(a)", ("Article 6(3)",), ()),
        ("hierarchical", "Article 6(3)(b)", ("Article 6(3)",), ()),
        ("hierarchical", "Article 6(3)(c)", (), ("Article 6(3)(c)",)),
        ("hierarchical", "Article 6(1)(a)", (), ("Article 6(1)(a)",)),
        ("hierarchical", "Article 4(a)", (), ("Article 4(a)",)),
        ("exact", "Article 6(3)(a)", (), ("Article 6(3)(a)",)),
        ("hierarchical", "Article 5", ("Article 5(1)", "Article 5(2)"), ()),
        ("hierarchical", "Article 60", ("Article 60(1)",), ()),
        # Wrongly: a neighbour, a prefix, a longer number, another law.
        ("hierarchical", "Article 7", (), ("Article 7",)),
        ("hierarchical", "Article 6(2)", (), ("Article 6(2)",)),
        ("hierarchical", "Article 1", (), ("Article 1",)),
        ("hierarchical", "Article 40", (), ("Article 40",)),
        ("hierarchical", "Article 600(1)", (), ("Article 600(1)",)),
        ("hierarchical", "Article 111", (), ("Article 111",)),
        ("exact", "Article 99", (), ("Article 99",)),
    ],
)
def test_label_is_judged_as_it_is_written(
    match: str, written: str, cited: tuple[str, ...], invalid: tuple[str, ...]
) -> None:
    text, summary = stream(f"It is so [{written}].", match)
    assert text == (f"It is so [{written}]." if cited else "It is so.")
    assert (summary.cited, summary.invalid) == (cited, invalid)


def test_several_labels_share_a_bracket() -> None:
    text, summary = stream("So [Article 4, Article 99, Article 11]. And [the annex].", "exact")
    assert text == "So [Article 4, Article 11]. And [the annex]."
    assert summary.cited == ("Article 4", "Article 11")
    assert summary.invalid == ("Article 99",)
