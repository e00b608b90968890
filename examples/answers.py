"""Seven answers to one prompt, checked without a model: which may be shown, and what else is done.

    pip install citestream
    python -m examples.answers

It needs no key and no network, and does not know whether a source supports a
sentence: the last lines show a free check of that, and how far it goes.
"""

from __future__ import annotations

import asyncio

from citestream import CitationStream, Passages, Summary, check_citations
from citestream.claims import compare
from citestream.policy import AnswerPolicy
from citestream.styles import NUMERIC, MarkerStyle

__all__ = ["ANSWERS", "PASSAGES", "RULES", "line", "main", "shown"]

PASSAGES = Passages(
    [
        {"title": "Prices", "text": "A day ticket costs 9 euros. A single ride costs 2 euros."},
        {
            "title": "Booking",
            "text": "A booked ride can be cancelled in the app up to one hour before it starts. "
            "No ride takes longer than 45 minutes.",
        },
        {"title": "Returning", "text": "A ride ends at any station of the city."},
    ]
)
"""What the prompt held, numbered 1 to 3."""

ANSWERS = {
    "A": "A day ticket costs 9 euros [1].",
    "B": "Cancel in the app [2]. The fee is refunded [4].",
    "C": "Refunds usually take a few days.",
    "D": "Rides end at a station [3], within 45 minutes [2].",
    # The sneaky ones: a blank inside, round brackets, a bracket that is no citation.
    "E": "A day ticket costs 9 euros [1 ].",
    "F": "A day ticket costs 9 euros (1).",
    "G": "The sign said [sic] 9 dollars [1].",
}
"""What the model might have written."""

# Step one: the rule that decides. An answer is ok when nothing in it is invented
# and it cites a source.
OK = AnswerPolicy(emit="answer", invented_citation="refuse", no_citation="refuse")

# Step two: what a failure does. Any of these will do, if it is always the same one.
RULES = {
    "fall back to the refusal": OK,
    "drop the bad marker and flag": AnswerPolicy(invented_citation="warn", no_citation="warn"),
    "retry once, then refuse": AnswerPolicy(
        emit="answer", invented_citation="retry", no_citation="retry"
    ),
}
"""What can be done with an answer that fails, as policies."""

# What the model writes when it is told what was wrong.
SECOND = "Cancel in the app, up to one hour before the start [2]."


async def shown(answer: str, policy: AnswerPolicy) -> tuple[str, Summary]:
    """Return what a reader sees of an answer under a policy, and the summary."""

    def retry(correction: str) -> list[str]:
        print(f"    the model is told: {correction}")
        return [SECOND]

    stream = CitationStream([answer], PASSAGES, policy=policy, retry=retry)
    text = "".join([piece async for piece in stream.text()])
    assert stream.summary is not None  # the stream has ended
    return text, stream.summary


async def line(name: str, answer: str, style: MarkerStyle = NUMERIC) -> str:
    """Return the line that says what an answer cites, and whether it may be shown."""
    checked = check_citations(answer, PASSAGES, style=style)
    stream = CitationStream([answer], PASSAGES, policy=OK, style=style)
    _ = [event async for event in stream]
    assert stream.summary is not None  # the stream has ended
    verdict = "FAIL" if stream.summary.refused_by == "policy" else "ok"

    def listed(labels: list[int | str]) -> str:
        return ",".join(map(str, sorted(set(labels), key=int))) or "none"

    return (
        f"{name}: cited {listed([*checked.cited, *checked.invalid])}"
        f" | invalid {listed(checked.invalid)}"
        f" | unused {listed(checked.unused)}"
        f" | {verdict}"
    )


async def main() -> None:
    """Print the verdicts, then what each rule makes of a failure, then what is not caught."""
    for name, answer in ANSWERS.items():
        print(await line(name, answer))
    print()

    print("E again, where the canonical spelling alone is accepted:")
    print(await line("E", ANSWERS["E"], NUMERIC.replace(strict=True)))
    print()

    print(f"B: {ANSWERS['B']}")
    for rule, policy in RULES.items():
        print(f"  {rule}")
        text, summary = await shown(ANSWERS["B"], policy)
        print(f"    the reader gets:   {text}")
        if summary.warnings:
            print(f"    with a warning:    {summary.warnings[0].reason}")
    print()

    print("Valid, and is it so?")
    for sentence, label in (
        (ANSWERS["A"], 1),
        ("You can cancel a booked ride thirty minutes before it starts [2].", 2),
        ("Roses are red [2].", 2),
    ):
        texts = [passage.text or "" for passage in PASSAGES.get(label)]
        print(f"  {compare(sentence, texts).verdict}: {sentence}")


if __name__ == "__main__":
    asyncio.run(main())
