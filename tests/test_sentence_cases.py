"""Sentences end where the table says, whatever the cut, and whatever the model writes."""

import itertools
import random

import pytest

from citestream import CitationFilter, Summary
from citestream.events import Event, Sentence
from citestream.filter import PassageSource
from citestream.sentences import MOST_SENTENCE, Abbreviations, Sentences
from citestream.styles import LABEL, NUMERIC, MarkerStyle
from tests.cases import SENTENCES, SentenceCase
from tests.splits import SPLITS, Split


def sentences_of(
    chunks: list[str], passages: PassageSource, style: MarkerStyle = NUMERIC
) -> tuple[list[tuple[str, bool]], Summary]:
    citations = CitationFilter(passages, style=style, sentences=True)
    events: list[Event] = []
    for chunk in chunks:
        events += citations.feed(chunk)
    events += citations.finish()
    summary = events.pop()
    assert isinstance(summary, Summary)
    visible = "".join(event.text for event in events if not isinstance(event, Summary))
    found = [event for event in events if isinstance(event, Sentence)]
    for sentence in found:
        # The offsets are those of the cleaned answer; a bullet or a soft break is left out.
        assert visible[sentence.start : sentence.end].split() == sentence.content.split()
    return [(sentence.content, sentence.covered) for sentence in found], summary


@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
@pytest.mark.parametrize("case", SENTENCES, ids=str)
def test_uncited_sentences_are_those_of_the_table(case: SentenceCase, split: Split) -> None:
    style = LABEL if any(isinstance(label, str) for label in case.passages) else NUMERIC
    for chunks in split(case.answer):
        _, summary = sentences_of(chunks, case.passages, style)
        assert summary.uncited == case.uncited


ANSWERS = {
    "It is free [1]. Is it? Yes! Well … Then": [
        "It is free [1].",
        "Is it?",
        "Yes!",
        "Well …",
        "Then",
    ],
    'He said "no." She left.': ['He said "no."', "She left."],
    "It costs 3.50 euros. See Fig. 3 and e.g. this.": [
        "It costs 3.50 euros.",
        "See Fig. 3 and e.g. this.",
    ],
    "J. Smith wrote it. He did.": ["J. Smith wrote it.", "He did."],
    "是的。很好！真的吗？对": ["是的。", "很好！", "真的吗？", "对"],
    "One line\nof one sentence. Two.": ["One line\nof one sentence.", "Two."],
    "First paragraph\n\nSecond": ["First paragraph", "Second"],
    "# Heading\n\nText.\n": ["Text."],
    "List:\n\n- one\n- two [1]\n\nEnd.": ["one", "two [1]", "End."],
    "1. first. more\n2. second": ["first.", "more", "second"],
    "| A | B |\n|---|---|\n| x. | y |\n| z | w |\n": ["| x. | y |", "| z | w |"],
    "Run:\n\n```py\nx. y. z.\n```\n\nDone.": ["Done."],
    "Run `make. all` first. Done.": ["Run `make. all` first.", "Done."],
    "An `open code. Then. [9] more": ["An `open code.", "Then.", "more"],
    "Kept [1]. [1] Then.": ["Kept [1]. [1]", "Then."],
    "> quoted. text\n\nout": ["quoted.", "text", "out"],
    "Title\n=====\n\nText": ["Text"],
    "---\n\nText": ["Text"],
    "Wait... what? (Yes.) No.": ["Wait...", "what?", "(Yes.)", "No."],
    "- [ ] task. done\n- [x] other": None,
    "A <b>tag.</b> B.": None,
    "...": None,
    "[1]": None,
    "": None,
}


@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
@pytest.mark.parametrize("answer", ANSWERS)
def test_sentences_of_prose_and_markdown(answer: str, split: Split) -> None:
    expected = ANSWERS[answer]
    whole, summary = sentences_of([answer], 1)
    if expected is not None:
        assert [content for content, _ in whole] == expected
    assert summary.sentences == len(whole)
    for chunks in split(answer):
        assert sentences_of(chunks, 1) == (whole, summary), chunks


@pytest.mark.parametrize(
    "alphabet",
    ["a. \n[1]", "a.\n- #`", "A|-\n. ", "a.`\n ", "。a ！[1]", "a.\n> 1", "e.g. F", "a:\n~."],
    ids=repr,
)
def test_cut_of_a_short_answer_does_not_matter(alphabet: str) -> None:
    pieces = [p for p in ("[1]",) if p in alphabet] + [c for c in alphabet if c not in "[1]"]
    dice = random.Random(alphabet)
    answers = ["".join(parts) for parts in itertools.product(pieces, repeat=4)]
    answers += ["".join(dice.choices(pieces, k=dice.randint(5, 24))) for _ in range(400)]
    for answer in answers:
        assert sentences_of(list(answer), 1) == sentences_of([answer], 1), answer


def test_sentence_that_never_ends_is_cut() -> None:
    long = "word " * (MOST_SENTENCE // 2)
    found, summary = sentences_of([long], 1)
    assert "".join(content for content, _ in found).replace(" ", "") == long.replace(" ", "")
    assert max(len(content) for content, _ in found) <= MOST_SENTENCE
    assert sentences_of([long[at : at + 7] for at in range(0, len(long), 7)], 1) == (found, summary)


def test_many_stops_and_many_uncited_sentences_stay_bounded() -> None:
    _, summary = sentences_of(["No. " * 5000], 1)
    assert summary.sentences == 5000
    assert summary.uncited is not None
    assert len(summary.uncited) == 100
    assert summary.truncated
    _, summary = sentences_of(["Yes [1]. " * 5000], 1)
    assert [len(numbers) for _, numbers in summary.cited_in] == [100]


def test_abbreviations_are_words_with_a_stop() -> None:
    with pytest.raises(ValueError, match="expected each abbreviation to be one word"):
        Abbreviations(["Fig"])
    assert list(Abbreviations(["Nr. #", "bzw."])) == ["Nr. #", "bzw."]


def test_sentences_can_be_followed_alone() -> None:
    follower = Sentences()
    assert follower.feed([]) == []
    assert follower.finish() == []


def test_cut_of_a_sentence_that_is_too_long_does_not_matter() -> None:
    dice = random.Random(4096)
    pieces = ["7 7,", ".", " ", "**", ")", "a", " [1]", "[9]", "`", "x`", "!", " \n", "- ", "e.g."]
    for beginning in ("word ", "x.y", "`c` ", "[1] "):
        for _ in range(40):
            size = MOST_SENTENCE + dice.randint(-14, 6)
            long = (beginning * size)[:size] + "".join(dice.choice(pieces) for _ in range(14))
            at = size - 30
            by_character = [long[:at], *long[at:]]
            assert sentences_of(by_character, 1) == sentences_of([long], 1), long[at:]
