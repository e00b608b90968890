"""What an answer must satisfy to be shown, and what happens when it does not: as data.

It judges no answer and knows no stream.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from citestream.events import Check
from citestream.exceptions import PolicyError
from citestream.passages import NO_ANSWER

if TYPE_CHECKING:
    from typing import Self

__all__ = ["CHECKS", "Action", "AnswerPolicy", "Emit"]

Action: TypeAlias = Literal["omit", "warn", "retry", "refuse"]
"""What becomes of what failed: the sentence is left out, it is shown with a
warning, the model is asked once more, the fixed refusal takes its place."""

Emit: TypeAlias = Literal["token", "sentence", "answer"]
"""What is shown at once: each chunk, each sentence that has passed, or the whole answer."""

CHECKS: tuple[Check, ...] = get_args(Check)
"""The checks in the order in which they are made; the first that fails gives the reason."""

# Before the model is called there is no answer to leave out or to ask for again.
_OF_PASSAGES = frozenset(("no_passages", "below_floor"))
# Only what one sentence failed can be left out with it.
_OF_SENTENCES = frozenset(("invented_citation", "uncited_sentence", "too_long", "unsupported"))

_LIMITS = {
    "below_floor": "floor",
    "uncited_share": "max_uncited_share",
    "too_long": "max_sentences",
}

_SHOWN_WHEN = {
    "token": "text is shown at once",
    "sentence": "a sentence is shown once it has passed",
    "answer": "nothing is shown before the whole answer has passed",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AnswerPolicy:
    """What is checked of an answer, in a fixed order, and what each failure does.

    A check without an action is not made. The decision falls at the first
    sentence that fails, and the first check that it fails gives the reason;
    what is only known of a whole answer is judged with its last sentence.
    A check that says `"warn"` lets the text pass on to the checks after it.

    `str()` lists the checks. None of them knows whether a sentence is true.

    Raises:
        PolicyError: Two settings contradict each other. The message says which.
    """

    emit: Emit = "token"
    """What is shown at once. With `"token"` a failure can only be warned of or
    taken back, `"sentence"` can also leave a sentence out, and with `"answer"`
    nothing that was shown is ever taken back."""
    no_passages: Action | None = None
    """There was nothing in the prompt. Known before the model is called."""
    below_floor: Action | None = None
    """No passage scored `floor` or more. Known before the model is called."""
    model_refused: Action | None = None
    """The answer holds the model's exact refusal sentence."""
    invented_citation: Action | None = None
    """A marker names a label that has no passage; the marker itself is never shown."""
    no_citation: Action | None = None
    """The whole answer cites no passage."""
    uncited_sentence: Action | None = None
    """A sentence cites no passage."""
    uncited_share: Action | None = None
    """More than `max_uncited_share` of the sentences cite no passage."""
    too_long: Action | None = None
    """There are more than `max_sentences`; `"omit"` leaves out those beyond."""
    unsupported: Action | None = None
    """A judge says that the passages contradict the sentence that cites them. A judge that
    does not know, fails or is too slow contradicts nothing."""
    floor: float | None = None
    """The lowest score that the best passage may have. It is a score of your
    retrieval, so it has to be measured: see `citestream floor`. Passages without
    any score are below every floor."""
    max_uncited_share: float | None = None
    """From 0, where one uncited sentence is too many, to below 1."""
    max_sentences: int | None = None
    """How many sentences an answer may have."""
    fallback: Action | None = None
    """What stands for `"retry"` in the second attempt, which is the last;
    `"refuse"` unless said otherwise."""
    refusal: str = NO_ANSWER
    """The fixed text that is shown in place of a refused answer, whatever the reason."""

    @classmethod
    def strict(cls, **changes: Any) -> Self:
        """Return the policy of an answer that is whole and cited throughout, or refused.

        Every sentence carries a citation and nothing is invented; whatever
        fails, the reader gets the same fixed text and no passages.

        Args:
            **changes: Fields to set otherwise, such as `floor=0.18` or `max_sentences=4`.
        """
        return cls(
            **{
                "emit": "answer",
                "no_passages": "refuse",
                "model_refused": "refuse",
                "invented_citation": "refuse",
                "no_citation": "refuse",
                "uncited_sentence": "refuse",
                **changes,
            }
        )

    def __post_init__(self) -> None:
        """Refuse what cannot work, and take a limit without an action as a reason to refuse."""
        if self.emit not in get_args(Emit):
            raise PolicyError(f'expected emit="token", "sentence" or "answer", got {self.emit!r}')
        refusal: object = self.refusal
        if not isinstance(refusal, str) or not refusal.strip():
            raise PolicyError(f"expected refusal to be a sentence to show, got {self.refusal!r}")
        self._check_limits()
        for check in CHECKS:
            action = self.action(check)
            if action is not None:
                self._check_action(check, action)
        self._check_fallback()

    def action(self, check: Check) -> Action | None:
        """Return what a failure of this check does; `None` where it is not made."""
        action: Action | None = getattr(self, check)
        return action

    @property
    def checks(self) -> tuple[tuple[Check, Action], ...]:
        """The checks that are made, in their order, with what a failure of each does."""
        made = [(check, self.action(check)) for check in CHECKS]
        return tuple((check, action) for check, action in made if action is not None)

    @property
    def retries(self) -> bool:
        """Whether a failure may ask the model once more."""
        return any(action == "retry" for _, action in self.checks)

    @property
    def retracts(self) -> bool:
        """Whether text that was shown may be taken back."""
        return self.emit != "answer" and any(
            action in ("retry", "refuse")
            for check, action in self.checks
            if check not in _OF_PASSAGES
        )

    @property
    def omits(self) -> bool:
        """Whether a sentence may be left out, in the first attempt or in the second."""
        actions = [action for _, action in self.checks]
        return "omit" in actions or ("retry" in actions and self.fallback == "omit")

    def after_retry(self) -> Self:
        """Return the policy of the second attempt: its fallback in place of every retry."""
        fallback = self.fallback or "refuse"
        retried = [check for check, action in self.checks if action == "retry"]
        changes: dict[str, Any] = {"fallback": None, **dict.fromkeys(retried, fallback)}
        return replace(self, **changes)

    def __repr__(self) -> str:
        """Return the call that makes it, without what is as it would be anyway."""
        set_ = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if field.name == "emit" or getattr(self, field.name) != field.default
        ]
        return f"AnswerPolicy({', '.join(set_)})"

    def __str__(self) -> str:
        """Return a line for each check that is made, in their order."""
        lines = [f"emit {self.emit}: {_SHOWN_WHEN[self.emit]}"]
        for number, (check, action) in enumerate(self.checks, 1):
            limit = _LIMITS.get(check)
            note = "" if limit is None else f" ({limit}={getattr(self, limit)})"
            then = f", then {self.fallback or 'refuse'}" if action == "retry" else ""
            lines.append(f"{number}. {check}{note}: {action}{then}")
        if len(lines) == 1:
            lines.append("nothing is checked")
        lines.append(f"the refusal: {self.refusal}")
        return "\n".join(lines)

    # What cannot work

    def _check_limits(self) -> None:
        for check, name in _LIMITS.items():
            limit = getattr(self, name)
            if limit is None:
                if getattr(self, check) is not None:
                    raise PolicyError(f"expected {name}= beside {check}=, got none: set the limit")
                continue
            if not _is_limit(name, limit):
                raise PolicyError(f"expected {name} to be {_KINDS[name]}, got {limit!r}")
            if getattr(self, check) is None:
                object.__setattr__(self, check, "refuse")  # the class is frozen

    def _check_action(self, check: str, action: object) -> None:
        if action not in get_args(Action):
            raise PolicyError(
                f'expected {check}="omit", "warn", "retry", "refuse" or None, got {action!r}'
            )
        if check in _OF_PASSAGES and action in ("omit", "retry"):
            raise PolicyError(
                f'expected {check}="refuse" or "warn", got {action!r}: '
                "it is known before there is an answer"
            )
        if action == "omit":
            self._check_omit(check)

    def _check_omit(self, check: str) -> None:
        if check not in _OF_SENTENCES:
            raise PolicyError(
                f'expected {check}="warn", "retry" or "refuse", got "omit": '
                "only a sentence can be left out, and here it is the answer that fails"
            )
        if self.emit == "token":
            raise PolicyError(
                f'expected {check}="warn", "retry" or "refuse" with emit="token", got "omit": '
                'text that was shown cannot be left out, so use emit="sentence" or "answer"'
            )

    def _check_fallback(self) -> None:
        if self.fallback is None:
            return
        if self.fallback not in ("omit", "warn", "refuse"):
            raise PolicyError(
                f'expected fallback="omit", "warn" or "refuse", got {self.fallback!r}: '
                "there is one retry and no more"
            )
        retried = [check for check, action in self.checks if action == "retry"]
        if not retried:
            raise PolicyError('expected a check with "retry" beside fallback=, got none')
        if self.fallback == "omit":
            for check in retried:
                self._check_omit(check)


_KINDS = {
    "floor": "a finite number",
    "max_uncited_share": "a number from 0 to below 1",
    "max_sentences": "a whole number from 1",
}


def _is_limit(name: str, limit: object) -> bool:
    if isinstance(limit, bool) or not isinstance(limit, int | float):
        return False
    if name == "max_sentences":
        return isinstance(limit, int) and limit >= 1
    if name == "max_uncited_share":
        return 0 <= limit < 1
    return math.isfinite(limit)
