"""The statute assistant: what it answers from, and every way in which it refuses."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

import examples.statute
from citestream import NO_ANSWER, Summary
from citestream.events import Check
from citestream.floors import Floor, Scored, measure_floors
from citestream.respond import Prompt
from citestream.testing import FakeModel
from examples.statute import FLOOR, POLICY, QUESTIONS, STATUTE, answer, retrieve
from tests.servers import Reply, serving

ROOT = Path(__file__).resolve().parent.parent
LABELS = [provision["label"] for provision in STATUTE]
BANNED = "Which practices are banned outright?"


class Asked:
    """A model that says one thing, and remembers what it was asked."""

    def __init__(self, *chunks: str) -> None:
        self.model = FakeModel(*chunks)
        self.prompts: list[Prompt] = []

    def __call__(self, prompt: Prompt) -> FakeModel:
        self.prompts.append(prompt)
        return self.model


def shown(question: str, model: object = examples.statute.generate) -> tuple[str, Summary]:
    async def main() -> tuple[str, Summary]:
        async with answer(question, model) as stream:  # type: ignore[arg-type]
            text = "".join([piece async for piece in stream.text()])
        assert stream.summary is not None
        return text, stream.summary

    return asyncio.run(main())


# What it answers


def test_first_question_is_answered_from_the_points_of_article_5() -> None:
    points = {
        "(a)": "riding on a pavement",
        "(b)": "carrying a second person on a scooter",
        "(c)": "leaving a vehicle in front of a fire exit",
        "(d)": "raising a price while a ride lasts",
        "(e)": "selling a rider's movements to third parties",
        "(f)": "letting a delivery robot cross a road on a red light",
        "(g)": "locking a vehicle to a tree",
        "(h)": "switching off the lights of a vehicle after dark",
    }
    cited = ", ".join(f"{text} [Article 5(1){point}]" for point, text in points.items())
    text, summary = shown(BANNED)
    assert text.strip() == f"The following practices are prohibited at all times: {cited}."
    assert (summary.cited, summary.sentences, summary.refused_by) == (("Article 5(1)",), 1, None)
    assert [passage.label for passage in summary.passages] == ["Article 5(1)"]
    assert [claim.verdict for claim in summary.claims] == ["supported"]


@pytest.mark.parametrize(
    "written",
    [
        *(f"Article 5(1)({point})" for point in "abcdefgh"),
        "Article 5(1)",
        "Article 5(1)(a) to (h)",
        "Article 5(1)(a), Article 5(1)(h)",
        # More broadly.
        "Article 5",
    ],
)
def test_provision_is_cited_as_narrowly_or_broadly_as_its_text_allows(written: str) -> None:
    text, summary = shown(BANNED, Asked("Eight practices ", "are banned ", f"[{written}]."))
    assert text == f"Eight practices are banned [{written}]."
    assert "Article 5(1)" in summary.cited
    assert (summary.refused_by, summary.invalid) == (None, ())


def test_four_sentences_are_shown_as_they_were_written() -> None:
    written = (
        "Riding on a pavement is prohibited [Article 5(1)(a)]. It is fined [Article 60(1)]. "
        "Lights stay on after dark. [Article 5(1)(h)] A vehicle is locked to no tree "
        "[Article 5(1)(g)]."
    )
    text, summary = shown(BANNED, Asked(*written))
    assert (text, summary.sentences) == (written, 4)
    assert summary.cited == ("Article 5(1)", "Article 60(1)")


def test_prompt_holds_the_provisions_the_rule_and_nothing_else() -> None:
    model = Asked("Eight [Article 5(1)].")
    shown(BANNED, model)
    (prompt,) = model.prompts
    assert prompt.question == BANNED
    assert [passage.label for passage in prompt.passages] == ["Article 5(1)", "Article 60(1)"]
    assert NO_ANSWER in prompt.instructions
    assert "Use at most 4 sentences." in prompt.instructions
    assert "[Article 5(1)]" in prompt.instructions


def test_every_question_of_the_by_law_is_answered_by_quoting_it() -> None:
    for row in QUESTIONS:
        if row["in_scope"] == "yes":
            text, summary = shown(row["question"])
            assert summary.grounded, row
            assert summary.cited[0] in LABELS, row
            assert "[" in text, row


# What it refuses

REFUSALS: list[tuple[Check, str, str, tuple[str, ...]]] = [
    ("model_refused", "the exact sentence", BANNED, (NO_ANSWER,)),
    ("model_refused", "with a citation", BANNED, (f"{NO_ANSWER} [Article 5(1)]",)),
    ("invented_citation", "no such article", BANNED, ("It is [Article 12].", " And on.")),
    ("invented_citation", "one not retrieved", BANNED, ("It is [Article 9(2)].",)),
    ("invented_citation", "no such point", BANNED, ("It is [Article 5(1)(z)].",)),
    ("invented_citation", "to no such point", BANNED, ("It is [Article 5(1)(a) to (z)].",)),
    # Article 60(1) was retrieved, and Article 6 is not its beginning.
    ("invented_citation", "a prefix", BANNED, ("It is fined [Article 6].",)),
    ("invented_citation", "beside a real one", BANNED, ("It is [Article 5(1), Article 12].",)),
    ("no_citation", "one sentence", BANNED, ("Everybody knows that.",)),
    ("no_citation", "nothing at all", BANNED, ()),
    (
        "uncited_sentence",
        "behind a cited one",
        BANNED,
        ("Riding there is banned [Article 5(1)(a)]. ", "Here is a poem about it. ", "Roses."),
    ),
    (
        "uncited_sentence",
        "a question",
        BANNED,
        ("Is it banned? ", "Yes, it is [Article 5(1)]. ", "It is fined [Article 60(1)]."),
    ),
    ("too_long", "five sentences", BANNED, tuple("It is so [Article 5(1)]. " for _ in range(5))),
    (
        "unsupported",
        "another number",
        "How fast may a scooter go?",
        ("A scooter may go as fast as 25 kilometres per hour [Article 7]. ",),
    ),
]


@pytest.mark.parametrize(
    ("check", "question", "chunks"),
    [(check, question, chunks) for check, _, question, chunks in REFUSALS],
    ids=[f"{check}: {what}" for check, what, _, _ in REFUSALS],
)
def test_answer_that_fails_a_check_is_refused(
    caplog: pytest.LogCaptureFixture, check: Check, question: str, chunks: tuple[str, ...]
) -> None:
    model = Asked(*chunks)
    with caplog.at_level(logging.INFO, "citestream"):
        text, summary = shown(question, model)
    assert text == POLICY.refusal
    assert (summary.refused_by, summary.grounded) == ("policy", False)
    assert (summary.passages, summary.cited, summary.uncited) == ((), (), ())
    assert [attempt.reason for attempt in summary.attempts] == [check]
    assert [attempt.outcome for attempt in summary.attempts] == ["refused"]
    # The reason and the draft are in the log, and nowhere else.
    logged = [record.getMessage() for record in caplog.records]
    assert any(f"reason={check} draft=" in line for line in logged)
    assert model.model.closed == 1


def test_decision_falls_at_the_sentence_that_fails() -> None:
    model = Asked("It is so [Article 12]. ", "And ", "so ", "on [Article 5(1)]. ")
    shown(BANNED, model)
    assert model.model.pulled == 2


@pytest.mark.parametrize(
    ("check", "question"),
    [
        ("no_passages", "What is the capital of Mongolia?"),
        ("no_passages", "The and of?"),
        ("below_floor", "Who won the football match last night?"),
    ],
)
def test_question_that_the_by_law_cannot_answer_costs_nothing(check: str, question: str) -> None:
    model = Asked("Ulaanbaatar [Article 5(1)].")
    text, summary = shown(question, model)
    assert text == POLICY.refusal
    assert [(a.reason, a.characters) for a in summary.attempts] == [(check, 0)]
    assert (summary.refused_by, summary.passages) == ("policy", ())
    assert (model.prompts, model.model.pulled) == ([], 0)


def test_prose_about_something_else_passes_under_a_real_label() -> None:
    # What no check here catches, as the example says.
    text, summary = shown(BANNED, Asked("Roses are red [Article 5(1)]."))
    assert text == "Roses are red [Article 5(1)]."
    assert [claim.verdict for claim in summary.claims] == ["unknown"]


# The floor, and the ways to run it


def test_floor_is_the_one_that_the_questions_suggest() -> None:
    scored = [
        Scored(
            max((found["score"] for found in retrieve(row["question"])), default=0.0),
            row["in_scope"] == "yes",
        )
        for row in QUESTIONS
    ]
    floors = measure_floors(scored)
    assert floors.suggested == Floor(FLOOR, refused=0, let_through=2)
    assert (floors.in_scope, floors.off_topic, floors.margin < 0) == (16, 9, True)


def test_command_of_the_first_lines_measures_the_floor_and_answers() -> None:
    def run(*arguments: str, given: str | None = None) -> str:
        result = subprocess.run(
            [sys.executable, "-W", "error", "-m", *arguments],
            cwd=ROOT,
            input=given,
            capture_output=True,
            text=True,
            check=True,
        )
        return result.stdout

    scores = run("examples.statute", "--scores")
    assert "suggested floor: 0.2\n" in run("citestream", "floor", "-", given=scores)
    assert run("examples.statute", "How fast may a scooter go?") == (
        "A scooter may go as fast as 20 kilometres per hour, a delivery robot as fast as 6 "
        "[Article 7].\n"
        "\n"
        "Article 7, Speed\n"
        "A scooter may go as fast as 20 kilometres per hour, a delivery robot as fast as 6.\n"
    )


def test_client_learns_of_a_refusal_and_of_no_reason() -> None:
    def ask(question: str) -> tuple[str, str]:
        with Reply(server.port, f"/ask?q={quote(question)}") as reply:
            assert reply.status == 200
            events = reply.rest()
        return "".join(e.json().get("text", "") for e in events), json.dumps(events)

    with serving(examples.statute.app) as server:
        text, body = ask("How fast may a scooter go?")
        assert text.startswith("A scooter may go as fast as 20 kilometres per hour")
        assert "Article 7" in body
        text, body = ask("Who won the football match last night?")
    assert text == POLICY.refusal
    assert "below_floor" not in body
    assert "Article" not in body
