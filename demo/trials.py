"""The page's ready-made trials: what the articles this package answers to ask a reader to try.

It knows names of scenarios and styles, and does not know what comes of them.
"""

from __future__ import annotations

from typing import Any

__all__ = ["TRIALS"]

_PRICE = "How much does a single ride cost?"

TRIALS: list[dict[str, Any]] = [
    {
        "name": "The ride cancelled thirty minutes before",
        "what": "The passages only half answer this. What does it cite?",
        "setting": {"question": "Can I cancel a ride 30 minutes before it starts?"},
    },
    {
        "name": "The invented [7]",
        "what": "The only marker names a source that nobody supplied: not grounded.",
        "setting": {"question": "How long do refunds take?", "scenario": "seven"},
    },
    {
        "name": "The sneaky forms: [1 ], (1), [sic]",
        "what": "A space inside is read as a marker; round brackets and [sic] are prose.",
        "setting": {"question": _PRICE, "scenario": "sneaky", "most": 3},
    },
    {
        "name": "A zero, a year, one wrong number of three",
        "what": "[1, 9, 4] keeps what is right; [0] and [2024] go.",
        "setting": {"question": _PRICE, "scenario": "numbers"},
    },
    {
        "name": "Markers split over chunks",
        "what": "Half a marker is held back, and never on the reader's side.",
        "setting": {"question": _PRICE, "scenario": "split", "pace": 8},
    },
    {
        "name": "Code full of brackets",
        "what": "rows[9] is code and stays; the citation of nothing goes.",
        "setting": {"question": "How is the first station of the list read?", "scenario": "code"},
    },
    {
        "name": "A refusal with a marker",
        "what": "The exact refusal counts, whatever is cited with it.",
        "setting": {"question": "Who is the mayor of the city?", "scenario": "refused"},
    },
    {
        "name": "A statute: [Article 5(1)(a)], [Article 5(1)(z)], [Article 6]",
        "what": "Narrower and broader labels are matched; (z) is in no text, and 6 is not 60.",
        "setting": {
            "question": "Which practices are banned outright, and when is the by-law in force?",
            "scenario": "statute",
            "style": "label",
            "most": 3,
        },
    },
    {
        "name": "Roses are red [1]",
        "what": "What no check of markers catches: a real source for an invented claim.",
        "setting": {"question": _PRICE, "scenario": "roses"},
    },
]
"""Each a name, what there is to see, and a part of the page's setting."""
