"""The page's few policies: one action for whatever fails, and when text is shown.

It knows no model and judges nothing; `AnswerPolicy` can say far more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from citestream.policy import AnswerPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from citestream.policy import Action, Emit

__all__ = ["NOTHING_FOUND", "POLICIES", "REPORT", "policy_of"]

REPORT = "report"
"""No policy: what fails is in the summary, and nothing is done about it."""

POLICIES: Mapping[str, tuple[str, ...]] = {
    "token": (REPORT, "warn", "retry", "refuse"),
    "sentence": ("warn", "omit", "retry", "refuse"),
    "answer": ("warn", "omit", "retry", "refuse"),
}
"""When text is shown, and what can be done then about what fails."""

NOTHING_FOUND = AnswerPolicy(no_passages="refuse")
"""Where there is nothing to answer from, no model is asked."""


def policy_of(emit: str, failure: str, *, claims: bool) -> AnswerPolicy | None:
    """Return the policy, or `None` where nothing is done about what fails.

    Args:
        emit: When text is shown.
        failure: What is done about an invented citation and a sentence without one.
        claims: Whether the same is done about a sentence that its passages contradict.
    """
    if failure == REPORT:
        return None
    action = cast("Action", failure)
    return AnswerPolicy(
        emit=cast("Emit", emit),
        invented_citation=action,
        # Without the sentences that cite nothing, nothing is left of such an answer.
        no_citation="refuse" if action == "omit" else action,
        uncited_sentence=action,
        unsupported=action if claims else None,
    )
