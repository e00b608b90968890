"""What comes out of a filter or a gate: text, citations, what was judged, a summary.

These are plain values; nothing here knows how they are found.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Attempt",
    "Caution",
    "Check",
    "Citation",
    "Claim",
    "Ended",
    "Event",
    "Label",
    "Outcome",
    "RefusedBy",
    "Retract",
    "Sentence",
    "Summary",
    "Text",
    "Verdict",
    "WhyRetracted",
]

Label: TypeAlias = int | str
"""What a marker names: an `int` in numbered styles, a `str` in label styles."""

Ended: TypeAlias = Literal["complete", "error", "cancelled"]
"""How a stream ended."""

RefusedBy: TypeAlias = Literal["model", "policy"]
"""Who refused to answer."""

Check: TypeAlias = Literal[
    "no_passages",
    "below_floor",
    "model_refused",
    "invented_citation",
    "no_citation",
    "uncited_sentence",
    "uncited_share",
    "too_long",
    "unsupported",
]
"""What an answer can fail under a policy, in the order in which it is judged."""

Verdict: TypeAlias = Literal["supported", "contradicted", "unknown"]
"""What a judge says of a sentence and the passages that it cites."""

WhyRetracted: TypeAlias = Literal["retry", "refusal"]
"""What comes after text that was taken back. Which check failed is for the log alone."""

Outcome: TypeAlias = Literal["shown", "retried", "refused", "error", "cancelled"]
"""What became of an attempt to answer."""


# Events are made once per chunk. A frozen dataclass costs twice a plain
# slotted one, so they are frozen by agreement and not by force.


@dataclass(slots=True)
class Text:
    """A piece of the cleaned answer."""

    text: str
    """The characters, never empty."""


@dataclass(slots=True)
class Citation:
    """A marker after checking."""

    text: str
    """What the reader sees in its place: `"[1]"`, or `""` when it was removed."""
    cited: tuple[Label, ...]
    """Labels that have a passage, in the order written; the original ones even when renumbered."""
    invalid: tuple[Label, ...]
    """Labels that have none. Those too long to convert are not listed."""
    raw: str
    """The marker as the model wrote it, with the brackets around it that went too."""
    passages: tuple[Any, ...]
    """The `Passage` objects that `cited` names, in the same order."""
    start: int
    """Where `text` starts in the cleaned answer, in code points."""
    end: int
    """Where it ends."""


@dataclass(slots=True)
class Sentence:
    """A sentence of the cleaned answer that has ended.

    Covered says that it carries a valid citation: that the passage was in the
    prompt. It does not say that the passage supports the sentence.
    """

    content: str
    """The sentence as the reader sees it, without a list item's bullet and outer white space."""
    cited: tuple[Label, ...]
    """Labels cited in it that have a passage, in the order written, without repeats."""
    covered: bool
    """Whether it carries at least one valid citation."""
    start: int
    """Where it starts in the cleaned answer, in code points."""
    end: int
    """Where it ends."""

    @property
    def text(self) -> str:
        """What it adds to the visible answer: nothing, for its text has come before."""
        return ""


@dataclass(slots=True)
class Retract:
    """That all text so far is void: what comes next begins at offset 0, with new citations."""

    reason: WhyRetracted
    """What comes next: `"retry"`, another attempt, or `"refusal"`, the fixed text."""
    attempt: int
    """Which attempt is void, from one."""

    @property
    def text(self) -> str:
        """What it adds to the visible answer: nothing."""
        return ""


@dataclass(slots=True)
class Caution:
    """That a check failed and the text is shown all the same, as the policy says."""

    reason: Check
    """Which check failed."""
    content: str
    """The sentence that failed it; `""` where it was the whole answer."""

    @property
    def text(self) -> str:
        """What it adds to the visible answer: nothing."""
        return ""


@dataclass(slots=True)
class Claim:
    """What a judge said of a sentence and the passages that it cites."""

    content: str
    """The sentence."""
    verdict: Verdict
    """`"unknown"` also where the judge failed, or took too long."""

    @property
    def text(self) -> str:
        """What it adds to the visible answer: nothing."""
        return ""


@dataclass(slots=True)
class Attempt:
    """What one attempt to answer under a policy cost, and why it ended."""

    characters: int
    """How much the model wrote of it until it was decided."""
    seconds: float = field(compare=False)
    """How long it took until it was decided."""
    outcome: Outcome
    """What became of it."""
    reason: Check | None
    """The check that ended it; no client is told."""


@dataclass(slots=True)
class Summary:
    """The last event of every answer: the score, and how the stream ended.

    A valid citation says that the passage was in the prompt. It does not say
    that the passage supports the sentence.
    """

    cited: tuple[Label, ...]
    """Labels that have a passage, in the order of first use."""
    invalid: tuple[Label, ...]
    """Labels that have none, in the order of first use, without repeats."""
    unused: tuple[Label, ...]
    """Labels of passages never cited, in passage order."""
    grounded: bool
    """At least one valid citation and no refusal; nothing more."""
    refused_by: RefusedBy | None
    """`"model"` when the answer holds the refusal sentence, `"policy"` when a gate refused."""
    passages: tuple[Any, ...]
    """The `Passage` objects cited, in the order of first use; none after a refusal."""
    kept: int
    """How many markers had at least one valid label."""
    removed: int
    """How many markers had none, those that the end cut among them."""
    truncated: bool
    """Whether `invalid` leaves labels out: too many of them, or too long to convert."""
    sentences: int | None
    """How many sentences the answer has; `None` while sentences are off."""
    uncited: tuple[str, ...] | None
    """The sentences that carry no valid citation; `None` while sentences are off."""
    ended: Ended
    """`"complete"`, `"error"` or `"cancelled"`."""
    reason: str | None
    """Why it ended so, when there is more to say; never the text of an exception."""
    prior: tuple[Label, ...] = ()
    """Those of `cited` whose passage is from an earlier turn, not from this prompt."""
    near: tuple[tuple[str, tuple[Label, ...]], ...] = ()
    """What the model wrote that is no label but nearly one, and the labels it may have meant."""
    repaired: tuple[tuple[str, Label], ...] = ()
    """What the model wrote, and the label it was read as; none unless repair is on."""
    cited_in: tuple[tuple[Label, tuple[int, ...]], ...] = ()
    """Each label cited, and the numbers of the sentences that cite it, from one.

    Empty while sentences are off. A pile of markers at the end shows as the
    same last number everywhere.
    """
    warnings: tuple[Caution, ...] = ()
    """What the policy let pass with a warning, in the order of the answer."""
    omitted: int = 0
    """How many sentences the policy left out."""
    attempts: tuple[Attempt, ...] = ()
    """What each attempt to answer cost; empty without a policy."""
    claims: tuple[Claim, ...] = ()
    """What the judge said, in the order of its answers; empty without one."""

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as the JSON object that every surface sends.

        Passages appear as `label`, `id`, `title` and `url`; their text,
        score and metadata stay on the server. So does the reason of a
        refusal by policy: whoever tries to get past the checks would
        learn from it.
        """
        return {
            "cited": list(self.cited),
            "invalid": list(self.invalid),
            "unused": list(self.unused),
            "grounded": self.grounded,
            "refused_by": self.refused_by,
            "passages": [dict(_payload(passage)) for passage in self.passages],
            "kept": self.kept,
            "removed": self.removed,
            "truncated": self.truncated,
            "sentences": self.sentences,
            "uncited": None if self.uncited is None else list(self.uncited),
            "ended": self.ended,
            "reason": None if self.refused_by == "policy" else self.reason,
            "prior": list(self.prior),
            "near": [{"written": written, "labels": list(labels)} for written, labels in self.near],
            "repaired": [{"written": written, "label": label} for written, label in self.repaired],
            "cited_in": [
                {"label": label, "sentences": list(numbers)} for label, numbers in self.cited_in
            ],
            "warnings": [
                {"reason": caution.reason, "content": caution.content} for caution in self.warnings
            ],
            "omitted": self.omitted,
            "attempts": [
                {
                    "characters": attempt.characters,
                    "seconds": round(attempt.seconds, 3),
                    "outcome": attempt.outcome,
                }
                for attempt in self.attempts
            ],
            "claims": [
                {"content": claim.content, "verdict": claim.verdict} for claim in self.claims
            ],
        }


def _payload(passage: Any) -> Mapping[str, Any]:
    payload: Mapping[str, Any] = passage.payload()
    return payload


Event: TypeAlias = Text | Citation | Sentence | Retract | Caution | Claim | Summary
"""Anything that comes out. Sentences only when they are asked for, and
`Retract`, `Caution` and `Claim` only under a policy or with a judge."""
