"""What a model is told of an answer that failed, when it is asked once more.

It quotes nothing of the answer but labels, and those bounded: what is said here
goes into a prompt. It does not know who asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from citestream.events import Check, Label

__all__ = ["correction"]

# More say no more; a passage's own label is hardly longer.
_MOST_NAMED = 8
_MOST_LABEL = 40

_CITE = " End every sentence with the marker of the passage that supports it."

_SENTENCES: dict[Check, str] = {
    # Without passages nobody is asked again.
    "no_passages": "",
    "below_floor": "",
    "model_refused": "Your last answer said that there is no answer. "
    "Read the passages again and say what they hold on the question.",
    "invented_citation": "Your last answer named {labels}, which is none of the passages. "
    "Use only the markers that were given to you.",
    "no_citation": "Your last answer had no marker at all." + _CITE,
    "uncited_sentence": "Sentence {number} of your last answer had no marker." + _CITE,
    "uncited_share": "Too many sentences of your last answer had no marker." + _CITE,
    "too_long": "Your last answer was too long. {limit}",
    "unsupported": "Your last answer contradicted a passage that it cited. "
    "Say only what the passages say.",
}


def correction(
    check: Check, *, labels: Sequence[Label], number: int, max_sentences: int | None
) -> str:
    """Say what was wrong, as an instruction.

    Args:
        check: What failed.
        labels: Those that have no passage.
        number: Which sentence failed, from one.
        max_sentences: How many there may be, if that is bounded.
    """
    named = ", ".join([_named(label) for label in labels[-_MOST_NAMED:]]) or "a source"
    limit = "Be brief." if max_sentences is None else f"Use at most {max_sentences} sentences."
    return _SENTENCES[check].format(labels=named, number=number, limit=limit)


def _named(label: Label) -> str:
    # A model made it up, so it may hold anything; `repr` keeps it on its line.
    return f"[{label if isinstance(label, int) else repr(label[:_MOST_LABEL])[1:-1]}]"
