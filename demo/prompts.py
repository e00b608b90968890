"""The prompt for the local model; it knows nothing of who sends it.

A model this small does not follow rules, it continues what it has seen: the
prompt is a conversation in which three questions were answered with markers
and one was refused.
"""

from __future__ import annotations

from typing import TypeAlias

from citestream import NO_ANSWER, Passages

__all__ = ["Messages", "few_shot"]

Messages: TypeAlias = list[dict[str, str]]
"""The `messages` of a chat request."""

_RULE = (
    "Answer the question from the sources. "
    "After each sentence, write the number of its source in square brackets. "
    f"If the sources do not answer, write: {NO_ANSWER}"
)

# The refusal comes first: as the last example, the model repeats it to nineteen
# questions of twenty.
# Each question has four sources. Given one or two, this model goes on citing
# sources up to the fourth, and so it invents.
_EXAMPLES = [
    (
        "Who built the zoo?",
        [
            "The zoo has 40 animals.",
            "Entry costs 12 euros.",
            "The zoo is closed in January.",
            "The lions are fed at noon.",
        ],
        NO_ANSWER,
    ),
    (
        "What do a swim and the sauna cost?",
        [
            "The pool opens at 7:00.",
            "A swim costs 4 euros.",
            "The sauna costs 9 euros.",
            "Towels are rented at the entrance.",
        ],
        "A swim costs 4 euros [2]. The sauna costs 9 euros [3].",
    ),
    (
        "How long can I keep a book?",
        [
            "The library lends books for four weeks.",
            "The reading room seats 120 people.",
            "Children under 12 borrow for free.",
            "The library closes on public holidays.",
        ],
        "The library lends books for four weeks [1]. It closes on public holidays [4].",
    ),
    (
        "How do I get to the harbour?",
        [
            "Tram 6 runs to the harbour every 10 minutes.",
            "Tram 8 runs to the university.",
            "Dogs ride for free.",
            "Tickets are sold at the stop.",
        ],
        "Tram 6 runs to the harbour every 10 minutes [1]. Tickets are sold at the stop [4].",
    ),
]


def few_shot(question: str, passages: Passages) -> Messages:
    """Return the chat messages that ask the local model a question.

    Args:
        question: What the reader asks.
        passages: What the answer is checked against. Their titles are left
            out: with them, the model leaves more answers without a marker.
    """
    messages = [{"role": "system", "content": _RULE}]
    for asked, sources, answer in _EXAMPLES:
        messages += [
            {"role": "user", "content": _ask(asked, Passages(sources))},
            {"role": "assistant", "content": answer},
        ]
    messages.append({"role": "user", "content": _ask(question, passages)})
    return messages


def _ask(question: str, passages: Passages) -> str:
    sources = "\n".join(f"[{passage.label}] {passage.shown}" for passage in passages)
    return (
        f"{question}\n\nSources:\n{sources}\n\n"
        "Answer with the number of the source after each sentence."
    )
