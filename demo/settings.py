"""What a request may ask of the demo: read from JSON, checked, and refused with a reason.

It knows no HTTP and asks no model. A request names a model and never an
address: where an endpoint is, only the command line says, for a server that
fetches what a browser tells it to can be turned against its own network.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from citestream.styles import LABEL, NUMERIC, MarkerStyle, prefixed
from demo.model import MOST_PASSAGES, Manner
from demo.policies import POLICIES, policy_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from citestream.policy import AnswerPolicy
    from demo.corpus import Corpus
    from demo.model import Model

__all__ = [
    "CLAIMS",
    "MOST_CHARACTERS",
    "MOST_TEXT",
    "STYLES",
    "Asked",
    "Edited",
    "RequestError",
    "Searched",
    "Settings",
]

MOST_CHARACTERS = 500
"""Characters of a question, which is a sentence or two."""

MOST_TEXT = 2000
"""Characters of an edited passage; the longest document has a third of it."""

# Chunks a second. A word each millisecond is as fast as anybody can tell.
_FASTEST = 1000

# A chunk of this length is a whole answer.
_LARGEST = 10_000

STYLES: Mapping[str, MarkerStyle] = {
    "numeric": NUMERIC,
    "prefix": prefixed("S"),
    "label": LABEL,
}
"""What markers look like: `[1]`, `[S1]`, `[Article 4]`."""

CLAIMS = ("off", "compare")
"""Whether the sentences are compared with what they cite."""

_SEARCHED = ("question", "ranker", "most", "style", "model")
_ASKED = (*_SEARCHED, "passages", "scenario", "pace", "chunk", "emit", "failure", "claims")


class RequestError(ValueError):
    """Raised when a request asks for what there is not."""


@dataclass(frozen=True, slots=True)
class Edited:
    """A passage as the reader sends it back."""

    id: str
    text: str | None
    """What the reader made of its text; `None` when nothing."""


@dataclass(frozen=True, slots=True)
class Searched:
    """A question, and how to look for it."""

    question: str
    ranker: str
    most: int
    style: str
    model: Model


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and how to answer it."""

    search: Searched
    passages: list[Edited] | None
    """The passages to answer from, in order; `None` for those that are found."""
    manner: Manner
    policy: AnswerPolicy | None
    """What the answer must satisfy; `None` only reports."""
    claims: bool
    """Whether its sentences are compared with what they cite."""


class Settings:
    """Reads requests for a corpus and some models."""

    def __init__(self, corpus: Corpus, models: Mapping[str, Model]) -> None:
        self._corpus = corpus
        self._models = models

    def searched(self, body: Any) -> Searched:
        """Read a request for passages.

        Raises:
            RequestError: It asks for what there is not.
        """
        return self._searched(_object(body, _SEARCHED))

    def asked(self, body: Any) -> Asked:
        """Read a request for an answer.

        Raises:
            RequestError: It asks for what there is not.
        """
        fields = _object(body, _ASKED)
        search = self._searched(fields)
        scenario = fields.get("scenario")
        if scenario is not None:
            scenario = _choice(fields, "scenario", search.model.scenarios)
        emit = _choice(fields, "emit", POLICIES)
        failure = _choice(fields, "failure", POLICIES[emit])
        claims = _choice(fields, "claims", CLAIMS) == "compare"
        pace = None if fields.get("pace") is None else _number(fields, "pace", 0, _FASTEST)
        return Asked(
            search,
            self._passages(fields["passages"], search.model) if "passages" in fields else None,
            Manner(
                scenario,
                None if pace is None else 1 / pace if pace else 0,
                _number(fields, "chunk", 0, _LARGEST, 0),
            ),
            policy_of(emit, failure, claims=claims),
            claims,
        )

    def _searched(self, fields: dict[str, Any]) -> Searched:
        question = fields.get("question")
        if not isinstance(question, str) or not question.strip():
            raise RequestError("expected a question")
        if len(question) > MOST_CHARACTERS:
            raise RequestError(
                f"expected a question of at most {MOST_CHARACTERS} characters, got {len(question)}"
            )
        model = self._models[_choice(fields, "model", self._models)]
        style = _choice(fields, "style", STYLES)
        if model.numbers_only and style != "numeric":
            raise RequestError(f"expected the style numeric, which is all that {model.name} writes")
        most = _number(fields, "most", 1, MOST_PASSAGES, 4)
        return Searched(
            question,
            _choice(fields, "ranker", self._corpus.rankers),
            min(most, model.most_passages),
            style,
            model,
        )

    def _passages(self, rows: Any, model: Model) -> list[Edited]:
        most = model.most_passages
        if not isinstance(rows, list) or len(rows) > most:
            raise RequestError(f"expected a list of at most {most} passages")
        passages = [self._edited(row) for row in rows]
        if len({passage.id for passage in passages}) < len(passages):
            raise RequestError("expected each passage once")
        return passages

    def _edited(self, row: Any) -> Edited:
        fields = _object(row, ("id", "text"))
        id_, text = fields.get("id"), fields.get("text")
        if not isinstance(id_, str) or id_ not in self._corpus.by_id:
            raise RequestError(f"expected the id of a document, got {id_!r:.40}")
        if text is not None and (not isinstance(text, str) or not text.strip()):
            raise RequestError("expected the text of a passage")
        if text is not None and len(text) > MOST_TEXT:
            raise RequestError(
                f"expected a passage of at most {MOST_TEXT} characters, got {len(text)}"
            )
        return Edited(id_, text)


def _object(value: Any, keys: Collection[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RequestError("expected a JSON object")
    if unknown := sorted(value.keys() - set(keys)):
        raise RequestError(f"expected no key besides {', '.join(keys)}, got {unknown[0]!r:.40}")
    return value


def _choice(fields: dict[str, Any], name: str, choices: Collection[str]) -> str:
    """Return what was chosen, or the first choice when nothing was."""
    known = list(choices)
    value = fields.get(name)
    if value is None and known:
        return known[0]
    if not isinstance(value, str) or value not in known:
        listed = ", ".join(known) or "none"
        raise RequestError(f"expected for {name} one of: {listed}; got {value!r:.40}")
    return value


def _number(
    fields: dict[str, Any], name: str, least: int, most: int, default: int | None = None
) -> int:
    value = fields.get(name, default)
    # A bool is an int to Python, and not to whoever wrote the JSON.
    if type(value) is not int or not least <= value <= most:
        raise RequestError(
            f"expected for {name} a number from {least} to {most}, got {value!r:.40}"
        )
    return value
