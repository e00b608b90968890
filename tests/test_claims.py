"""Sentences beside what they cite, and which verdict each gets."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from citestream import CitationFilter, Passages
from citestream.claims import MOST_FACTS, MOST_READ, MOST_SENTENCE, Comparison, compare, overlap
from citestream.events import Sentence
from citestream.styles import LABEL, OPENAI, MarkerStyle, prefixed
from tests.recordings import RECORDINGS

PRICES = (
    "A single ride costs 2 euros and lasts up to 30 minutes. The day ticket costs 9 euros and "
    "covers any number of rides of up to 60 minutes within 24 hours. No ride costs more than "
    "25 euros in one day."
)
CANCELLING = (
    "A ride can be cancelled up to one hour before it starts. A ride that is cancelled later is "
    "charged in full."
)
HELMETS = "Helmets are recommended for all riders and required for riders under 16."
LAW = "This Regulation shall apply from 2 August 2026. Riding on a pavement is prohibited."


def verdicts(text: str, *sentences: str) -> dict[str, str]:
    return {sentence: compare(sentence, [text]).verdict for sentence in sentences}


def all_are(verdict: str, text: str, *sentences: str) -> None:
    assert verdicts(text, *sentences) == dict.fromkeys(sentences, verdict)


def test_cancelling_half_an_hour_before_is_contradicted() -> None:
    # The passages half answer the question, and the answer takes its number from it.
    sentence = "You can cancel a ride thirty minutes before it starts [1]."
    assert compare(sentence, [CANCELLING]) == Comparison(
        verdict="contradicted",
        reason="thirty minutes: the passages have one hour",
        shared=1.0,
        missing=("thirty minutes",),
    )
    all_are("supported", CANCELLING, "You can cancel a ride sixty minutes before it starts [1].")


def test_real_label_on_prose_about_something_else_is_unknown() -> None:
    sentence = "Roses are red [Article 5(1)]."
    assert compare(sentence, [LAW], labels=["Article 5(1)"]) == Comparison(
        verdict="unknown", reason="0% of the words are in the passages", shared=0.0, missing=()
    )


def test_number_is_supported_in_every_format() -> None:
    all_are(
        "supported",
        "The yearly pass costs 1,200 euros. It applies from 2 August 2026 at 18:00.",
        "The yearly pass costs €1200 [1].",
        "The yearly pass costs 1 200 EUR [1].",
        "The yearly pass costs one thousand two hundred euros.",
        "It applies from August 2, 2026.",
        "It applies from 2026-08-02 at 6 pm.",
        "It applies in 2026.",
    )


def test_other_number_of_the_same_kind_is_contradicted() -> None:
    all_are(
        "contradicted",
        PRICES,
        "A single ride costs 3 euros [1].",
        "A single ride costs three euros [1].",
        "The day ticket costs 12 euros [1].",
        "The day ticket covers rides within 48 hours.",
    )
    all_are("contradicted", LAW, "This Regulation applies from 2 August 2025 and riding is fine.")
    all_are("contradicted", "The desk opens at 8:00.", "The desk opens at 9:00 [1].")
    all_are("contradicted", "There are 84 stations.", "There are 48 stations [1].")


def test_number_that_stands_beside_other_words_supports_nothing() -> None:
    sentence = "A single ride costs 9 euros [1]."
    assert compare(sentence, [PRICES]) == Comparison(
        verdict="unknown",
        reason="9 euros: other words stand beside it in the passages",
        shared=1.0,
        missing=(),
    )
    all_are(
        "contradicted",
        "A single ride with an electric bicycle costs 4 euros. A helmet costs 9 euros.",
        "A single ride with an electric bicycle costs 9 euros.",
    )


def test_number_that_may_follow_from_the_passage_is_unknown() -> None:
    all_are(
        "unknown",
        PRICES,
        # Within the passage's own bound.
        "A ride of 20 minutes costs 2 euros.",
        # Beside the passage's own value.
        "A single ride costs 2 euros, and three of them cost 6 euros.",
    )
    # A number of no kind contradicts nothing.
    all_are("unknown", HELMETS, "Helmets are required for riders under 18.")
    # The passage speaks of too little of what the sentence speaks of.
    all_are(
        "unknown",
        "The ferry over the wide river costs 5 euros.",
        "Crossing a wide river by ferry takes long, and its old guard costs 9 euros.",
    )
    all_are("unknown", "A fine costs 40 euros.", "The monthly pass costs 19 euros.")


def test_conclusion_is_contradicted_and_that_is_wrong() -> None:
    all_are("contradicted", "A ride costs 2 euros.", "Two rides cost 4 euros.")


def test_negation_of_the_same_words_is_contradicted() -> None:
    second = "A second person is not allowed on any bicycle."
    all_are("contradicted", second, "A second person is allowed on any bicycle [1].")
    all_are("supported", second, "A second person isn't allowed on a bicycle [1].")
    all_are(
        "contradicted",
        "A deposit is returned.",
        "A deposit is never returned.",
        "A deposit isn’t returned.",
    )


def test_negation_beside_a_bound_or_other_words_is_unknown() -> None:
    all_are(
        "unknown",
        PRICES,
        "A ride costs more than 25 euros in one day.",
        # Right, and not understood.
        "A ride costs at most 25 euros in one day.",
    )
    all_are("supported", PRICES, "A ride never costs more than 25 euros in one day.")
    all_are("unknown", HELMETS, "Helmets are not required for riders under 16.")


def test_opposite_of_the_same_words_is_contradicted() -> None:
    all_are("contradicted", LAW, "Riding on a pavement is permitted.")
    all_are(
        "contradicted",
        "The desk is open on Saturdays. The minimum age is 14 years.",
        "The desk is closed on Saturdays.",
        "The maximum age is 14 years.",
    )
    all_are("supported", LAW, "Riding on a pavement is prohibited.")
    # Who says both says neither.
    all_are("unknown", LAW, "Riding on a pavement is permitted or prohibited.")


def test_altered_quotation_is_contradicted_and_an_invented_one_unknown() -> None:
    all_are("supported", PRICES, 'A ride "costs 2 euros and lasts" a while, up to 30 minutes.')
    all_are("contradicted", PRICES, 'It says that "no single ride costs more than 2 euros".')
    all_are("unknown", PRICES, 'It says that "the horses sleep at noon", and a ride costs 2 euros.')


def test_same_words_in_another_order_are_supported_and_that_is_wrong() -> None:
    all_are("supported", "The host pays the guest.", "The guest pays the host.")


def test_wrapped_line_is_read_on_and_another_line_is_another_sentence() -> None:
    all_are("supported", "The day ticket costs\nonly 9 euros.", "The day ticket costs 9 euros.")
    all_are("contradicted", "The day\r\nticket\ncosts 9 euros.", "The day ticket costs 8 euros.")
    all_are("unknown", "- A cat\n- A dog costs 9 euros", "A cat costs 9 euros.")


def test_what_cannot_be_compared_is_unknown() -> None:
    reasons = {
        "Does a single ride cost 3 euros [1]?": "a question claims nothing",
        "Does a single ride cost 3 euros? [1].": "a question claims nothing",
        "It is so [1].": "no words to compare",
        "They're so, and we'll be too [1].": "no words to compare",
        "[1]": "no words to compare",
        "Lots of " + "1 euro and " * (MOST_FACTS + 1) + "more": "too many numbers to look for",
    }
    assert {s: compare(s, [PRICES]).reason for s in reasons} == reasons
    assert set(verdicts(PRICES, *reasons).values()) == {"unknown"}
    for texts in ([], [""], [" \n "], ["the of and"]):
        assert compare("A ride costs 2 euros.", texts).reason == "the passages have no text"


def test_markers_are_no_part_of_the_claim() -> None:
    markers = (
        *("[1]", "[1, 12]", "[1 and 2]", "[1-3]", "[S1]", "[^1]", "[cite:kb-7]", "[@lee20]"),
        *("【4:0†source】", "##3$$", "\ue200cite\ue202turn0file0\ue201", "<sup>7</sup>"),
        *("[7](https://a.example/7)", "<b>[1]</b>"),
    )
    sentences = [f"The day ticket costs 9 euros {marker}." for marker in markers]
    all_are("supported", PRICES, *sentences)
    labels = ["Annex III, point 4", "terms and fees.pdf"]
    for label in [*labels, "Annex III", "Annex III, point 4(a)"]:
        sentence = f"The day ticket costs 9 euros [{label}]."
        assert compare(sentence, [PRICES], labels=labels).verdict == "supported", label


def test_claim_does_not_hide_in_brackets() -> None:
    expected = {
        "A single ride [costs 3 euros] [1].": "contradicted",
        "A single ride costs [€3] [1].": "contradicted",
        "A single ride costs [3 euros] [1].": "contradicted",
    }
    assert verdicts(PRICES, *expected) == expected


def test_passages_that_are_not_read_whole_contradict_nothing() -> None:
    long = f"{PRICES} {'All is well. ' * (MOST_READ // 13)}"
    sentence = "A single ride costs 3 euros."
    assert compare(sentence, [long]) == Comparison(
        verdict="unknown",
        reason="3 euros: the passages have 2 euros, as far as the passages were read",
        shared=1.0,
        missing=("3 euros",),
    )
    # Half a number is not read: 2500 is not 25.
    ending = " A single ride costs 2500 euros."
    cut = "x" * (MOST_READ - ending.index("00")) + ending
    assert cut[:MOST_READ].endswith("25")
    assert compare("A single ride costs 25 euros.", [cut]).missing == ("25 euros",)
    table = PRICES + " 1 x" * 2000
    assert compare(sentence, [table]).verdict == "unknown"


def test_scripts_without_spaces_and_other_languages_are_compared_as_far_as_it_goes() -> None:
    all_are("supported", "取消需要30分钟。", "取消需要30分钟[1]。")
    all_are("supported", "Eine Fahrt kostet 2 Euro.", "Eine Fahrt kostet 2 Euro [1].")
    all_are("contradicted", "Eine Fahrt kostet 2 Euro.", "Eine Fahrt kostet 3 Euro [1].")


# The demo's corpus: what was measured on it is what the documentation says.

DOCUMENTS = json.loads((Path(__file__).parents[1] / "demo" / "corpus.json").read_text("utf-8"))
TEXTS = [re.sub(r"```.*?```", "", d["text"], flags=re.DOTALL) for d in DOCUMENTS]
SENTENCES = [
    (sentence, text)
    for text in TEXTS
    for sentence in re.split(r"(?<=\.)\s+", text)
    if len(sentence) > 20
]


def test_every_sentence_of_the_corpus_is_supported_by_its_own_passage() -> None:
    wrong = [s for s, text in SENTENCES if compare(f"{s[:-1]} [1].", [text]).verdict != "supported"]
    assert len(SENTENCES) > 60
    assert wrong == []


def test_changed_number_is_never_supported_and_mostly_contradicted() -> None:
    changed = [
        (re.sub(r"\d+", lambda match: str(int(match[0]) * 3 + 1), sentence, count=1), text)
        for sentence, text in SENTENCES
        if re.search(r"\d", sentence)
    ]
    found = Counter(compare(sentence, [text]).verdict for sentence, text in changed)
    assert found["supported"] == 0
    assert found["contradicted"] > 2 * found["unknown"], found


def test_sentence_is_supported_by_no_other_passage_and_seldom_contradicted() -> None:
    found = Counter(
        compare(sentence, [other]).verdict
        for sentence, text in SENTENCES[::3]
        for other in TEXTS
        if other != text
    )
    assert found["supported"] == 0
    assert found["contradicted"] < found.total() / 100, found


def test_sentences_of_a_real_model_are_mostly_supported_or_unknown() -> None:
    # What the recorded model wrote about the same corpus, right and wrong.
    found: dict[str, set[str]] = {"supported": set(), "contradicted": set(), "unknown": set()}
    for recording in RECORDINGS:
        *_, prompt = (m["content"] for m in recording.request.get("messages", [{"content": ""}]))
        sources = dict(re.findall(r"^\[(\d)\] (.*)$", str(prompt), re.MULTILINE))
        for text in recording.texts.values():
            for sentence in sentences_of(text, {int(n): source for n, source in sources.items()}):
                if sentence.covered:
                    texts = [sources[str(label)] for label in sentence.cited]
                    found[compare(sentence.content, texts).verdict].add(sentence.content)
    assert found["contradicted"] == {"The first 45 minutes of every ride cost 1 euro [1]."}
    assert len(found["supported"]) > len(found["unknown"]) > 20


# Bounds


def test_hostile_text_takes_bounded_work() -> None:
    hostile = (
        "[ \" 1 1,| 1-| < a' one | one hundred and | 12 | “ | 5 to | half an | not | € | a1 | "
        "https:// | up to 5 before | . | ##1$$ | \ue200 | 5 working working | 12 May 2024 | 1:00 "
    ).split("|")
    # Milliseconds each; one that is not bounded would take minutes.
    found = {
        piece: compare(("x " + piece * 4096)[:10_000], [(piece * 20_000)[:100_000]] * 20).verdict
        for piece in hostile
    }
    assert found == dict.fromkeys(hostile, "unknown")


def test_longest_sentence_of_distinct_numbers_is_bounded() -> None:
    claim = " ".join(str(number) for number in range(MOST_SENTENCE))
    text = " ".join(str(number) for number in range(9000, 9000 + MOST_READ))
    assert compare(claim, [text] * 50) == Comparison(
        verdict="unknown", reason="too many numbers to look for", shared=0.0, missing=()
    )


# The callable for `verify=`


def sentences_of(answer: str, passages: Any, **options: Any) -> list[Sentence]:
    citations = CitationFilter(passages, sentences=True, **options)
    events = [*citations.feed(answer), *citations.finish()]
    return [event for event in events if isinstance(event, Sentence)]


def sentence_of(answer: str, passages: Any, **options: Any) -> Sentence:
    (sentence,) = sentences_of(answer, passages, **options)
    return sentence


def test_overlap_takes_a_sentence_and_the_passages_it_cites() -> None:
    styles: list[tuple[object, str, MarkerStyle]] = [
        ({1: PRICES}, "[1]", prefixed("S").replace(prefix="")),
        ({1: PRICES}, "[S1]", prefixed("S")),
        ({"Article 6(3)": PRICES}, "[Article 6(3)]", LABEL),
        ({"4:0": PRICES}, "【4:0†source】", OPENAI),
    ]
    for source, marker, style in styles:
        passages = Passages(source, style=style)  # type: ignore[arg-type]
        for number, expected in (("9", "supported"), ("8", "contradicted")):
            answer = f"The day ticket costs {number} euros {marker}."
            sentence = sentence_of(answer, passages, style=style)
            assert sentence.covered, marker
            assert asyncio.run(overlap(sentence, list(passages))) == expected, answer


def test_overlap_reads_the_title_as_well_and_needs_a_text() -> None:
    sentence = sentence_of("The day ticket costs 9 euros [1].", 1)
    titled = Passages([{"title": "Day ticket", "text": "It costs 9 euros."}])
    assert asyncio.run(overlap(sentence, list(titled))) == "supported"
    assert asyncio.run(overlap(sentence, list(Passages(1)))) == "unknown"
    assert asyncio.run(overlap(sentence, [])) == "unknown"
