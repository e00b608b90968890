"""The tables of answers and what is right for each; it knows no way of running them.

A row of `data/*.jsonl` says what the model wrote and what the reader must get.
`extra.jsonl` adds, to each row, the words of the rule that decides it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from citestream.events import Label

__all__ = [
    "BRACKETS",
    "EXTRA",
    "NUMERIC",
    "SENTENCES",
    "STYLES",
    "Case",
    "SentenceCase",
]

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Case:
    """An answer, the passages it was written from, and what must come out."""

    name: str
    chunks: tuple[str, ...]
    passages: dict[Label, str]
    """Label -> text, as the filter takes them."""
    text: str | None
    """The right visible text; `None` where the table does not give it."""
    cited: tuple[Label, ...] | None
    """The right labels in order of first use; `None` where the table does not give them."""
    invalid: tuple[Label, ...] | None
    kept: int | None = None
    removed: int | None = None
    truncated: bool | None = None
    style: str = "numeric"
    options: dict[str, Any] = field(default_factory=dict)
    rule: str = ""

    @property
    def answer(self) -> str:
        """What the model wrote, whole."""
        return "".join(self.chunks)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class SentenceCase:
    """An answer and the sentences of it that carry no valid citation."""

    name: str
    answer: str
    passages: dict[Label, str]
    uncited: tuple[str, ...]
    style: str = "numeric"

    def __str__(self) -> str:
        return self.name


def _rows(name: str) -> list[dict[str, Any]]:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line]


# In these styles a marker names a number; in the others a passage's own label.
NUMBERED = frozenset({"numeric", "s", "doc", "footnote"})


def _labels(values: list[Any] | None, style: str) -> tuple[Label, ...] | None:
    if values is None:
        return None
    return tuple(int(value) if style in NUMBERED else str(value) for value in values)


def _passages(values: list[Any], style: str, texts: dict[str, str]) -> dict[Label, str]:
    labels = _labels(values, style) or ()
    return {label: texts.get(str(label), f"Text of {label}.") for label in labels}


def _case(row: dict[str, Any]) -> Case:
    style = row.get("style", "numeric")
    texts = row.get("texts", {})
    options = dict(row.get("options", {}))
    if "show" in row:
        options["show"] = row["show"]
    if texts:
        options["match"] = "hierarchical"
    supplied = row["labels"] if "labels" in row else row["passages"]
    if isinstance(supplied, int):
        supplied = list(range(1, supplied + 1))
    return Case(
        name=row["id"],
        chunks=tuple(row["chunks"]),
        passages=_passages(supplied, style, texts),
        text=row.get("text"),
        cited=_labels(row.get("cited"), style),
        invalid=_labels(row.get("invalid"), style),
        kept=row.get("kept"),
        removed=row.get("removed"),
        truncated=row.get("truncated"),
        style=style,
        options=options,
        rule=row.get("rule", ""),
    )


def _sentence_case(row: dict[str, Any]) -> SentenceCase:
    style = row["style"]
    return SentenceCase(
        name=row["id"],
        answer=row["text"],
        passages=_passages(row["passages"], style, {}),
        uncited=tuple(row["uncited"]),
        style=style,
    )


NUMERIC = [_case(row) for row in _rows("numeric.jsonl")]
BRACKETS = [_case(row) for row in _rows("brackets.jsonl")]
EXTRA = [_case(row) for row in _rows("extra.jsonl")]
STYLES = [_case(row) for row in _rows("styles.jsonl")]
SENTENCES = [_sentence_case(row) for row in _rows("sentences.jsonl")]
