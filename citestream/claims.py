"""Compares a sentence with the passages it cites: numbers, dates, quotations and shared words.

It looks at the surface alone and does not know what a sentence means. It is weak,
and made for what it costs: no model, no network, the same verdict every time.

What a verdict says, and when it is wrong:

`"contradicted"`: the passages state something else where the sentence states this.
    One of three: the passage sentence that shares most words with it has another
    number, date or time of the same kind and none that the sentence gives; most words
    of a quotation stand in one passage sentence, but not as quoted; or a passage
    sentence has nearly the same words and one of the two is negated, or says the
    opposite (`allowed`, `forbidden`). It is wrong where the sentence
    draws a conclusion (`two rides cost 4 euros` from `a ride costs 2 euros`), speaks
    of another thing in the same words, or rounds.
`"supported"`: four fifths of its words stand in passage sentences near to it and more
    than half in one of them, with every number, date and quotation, and no negation
    more or less. It is wrong where
    the same words say something else: `the guest pays the host` from `the host pays
    the guest`, a condition or an exception left out, two facts joined that do not
    belong together.
`"unknown"`: anything else, and so nothing about the sentence. Expect it of every
    paraphrase, of questions, of passages without a text, of scripts written without
    spaces, and of most sentences that are not English: digits, quotations and words
    are compared in any language, but numbers in words, units, months, negation and
    the forms of a word are known in English alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from citestream.facts import Fact, quotations, read_facts, stem, tokens
from citestream.typography import fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from citestream.events import Sentence, Verdict
    from citestream.passages import Passage

__all__ = [
    "MOST_FACTS",
    "MOST_KNOWN",
    "MOST_READ",
    "MOST_SENTENCE",
    "Comparison",
    "compare",
    "overlap",
]

MOST_SENTENCE = 4096
"""Characters of a sentence that are read; the filter gives none that is longer."""

MOST_FACTS = 32
"""Numbers and dates of a sentence that are looked for; one with more is `"unknown"`."""

MOST_KNOWN = 1000
"""Numbers and dates of passages that are read, all together; a table has some hundred."""

MOST_READ = 20_000
"""Characters of passages that are read, all together, for one sentence.

Ten long passages. What was not read contradicts nothing.
"""

# A sentence of four words must find all, one of five may miss one. At three
# quarters, "permitted or prohibited" was supported by "prohibited".
_SUPPORTED = 0.8
# From here on a passage sentence speaks of the same thing.
_NEAR = 1 / 3
# From here on, in both directions, two sentences differ by a word at most.
_SAME = 0.8

# How many more words must stand beside another value, and which share of the
# sentence's words, before that value contradicts. "Cost" alone is shared by
# sentences about anything that has a price.
_CLEARLY = 2
_ALIKE = 1 / 2


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came out for a sentence, and why."""

    verdict: Verdict
    """`"supported"`, `"contradicted"` or `"unknown"`."""
    reason: str
    """What decided, in a few words; for a log, since it holds words of the sentence."""
    shared: float
    """The share of the sentence's words that stand in passage sentences near to it."""
    missing: tuple[str, ...]
    """Numbers, dates and quotations of the sentence that no passage has."""


async def overlap(sentence: Sentence, passages: Sequence[Passage]) -> Verdict:
    """Compare a sentence with the passages it cites; for `verify=`.

    Args:
        sentence: A sentence of the cleaned answer.
        passages: Those it cites.
    """
    texts = [f"{passage.title or ''}\n{passage.text}" for passage in passages if passage.text]
    return compare(sentence.content, texts, labels=[p.label for p in passages]).verdict


def compare(content: str, texts: Iterable[str], *, labels: Iterable[int | str] = ()) -> Comparison:
    """Compare a sentence with texts.

    Args:
        content: The sentence, with its markers.
        texts: What it should be supported by.
        labels: Labels that its markers may name, besides numbers.
    """
    prose = " ".join(_without_markers(content[:MOST_SENTENCE], labels).split())
    claim = _read(prose)
    # A full stop may stand behind the marker: "Is it free? [1]."
    if prose.rstrip(" .\"'”’»)*_").endswith(("?", "？", "؟")):
        return Comparison("unknown", "a question claims nothing", 0.0, ())
    known, whole = _read_all(texts)
    if not any(read.words or read.facts for read in known):
        return Comparison("unknown", "the passages have no text", 0.0, ())
    if not claim.words and not claim.facts:
        return Comparison("unknown", "no words to compare", 0.0, ())
    if len(claim.facts) > MOST_FACTS:
        return Comparison("unknown", "too many numbers to look for", 0.0, ())
    return _Compared(claim, known, quotations(prose)).comparison(whole=whole)


# Reading

# A line that goes on in a small letter was only wrapped.
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|[\r\n]+(?=[^a-zß-ÿ\r\n]|$)")
_BRACKET = re.compile(r"\[[^\[\]\n]{1,256}\]|【[^【】\n]{1,256}】")
_HIDDEN = re.compile(
    r"##\d{1,9}\$\$|\ue200[^\ue200\ue201\n]{1,256}\ue201"
    r"|https?://\S+|<sup>[^<\n]{1,256}</sup>|<[^<>\n]{1,256}>"
)
# A label with a number, and nothing that a number counts: `1`, `S1`, `kb-7`, `1-3`.
_NUMBERED = re.compile(r"[^\W\d]*[\^@#:]?[^\W\d]*[-_:.]?\d[\w.:()–-]*")
_CONTRACTED = re.compile(r"'(?:s|re|ll|ve|d|m)$")
_SEPARATORS = re.compile(r"[\s,;，；、&]+|\band\b|\bor\b")

# They say little about what a sentence is about.
_STOP_WORDS = frozenset(
    "a about above after again all also although am an and any are as at be because been before "
    "being below between both but by can cannot could did do does doing down during each either "
    "every few for from further had has have having he her here hers him his how however i if in "
    "into is it its itself just may me might more most must my neither never no nobody none nor "
    "not nothing of off on once only or other our out over own per same shall she should since so "
    "some such than that the their them then there these they this those through to too under "
    "until up us very was we were what when where whether which while who whom whose why will "
    "with within without would yes you your yours".split()
)
_NEGATIONS = frozenset("cannot neither never no nobody none nor not nothing without".split())
# Beside these a negation may say the same: "no more than", "only if", "unless".
_BOUNDING = frozenset(
    "except least less maximum minimum more most only otherwise than unless until up".split()
)
_OPPOSITES = tuple(
    (frozenset(map(stem, left.split())), frozenset(map(stem, right.split())))
    for left, right in (
        ("allowed permitted lawful legal", "forbidden prohibited banned unlawful illegal"),
        ("required mandatory obligatory", "optional voluntary"),
        ("open", "closed"),
        ("included", "excluded"),
        ("increase rise", "decrease fall"),
        ("minimum", "maximum"),
        ("before", "after"),
        ("above", "below"),
        ("least", "most"),
        ("more", "less fewer"),
        ("first", "last"),
        ("accepted", "refused rejected"),
        ("valid", "invalid"),
    )
)
_POLAR = frozenset().union(*(left | right for left, right in _OPPOSITES))


class _Read(NamedTuple):
    """A sentence, read."""

    words: frozenset[str]
    """The stems of its words, but for those that say little."""
    facts: tuple[Fact, ...]
    negated: bool
    bounded: bool
    polar: frozenset[str]
    """Stems of words that have an opposite."""
    text: str


def _read(text: str) -> _Read:
    facts, others = read_facts(text, tokens(text))
    plain = [
        _CONTRACTED.sub("", token.text.replace("’", "'"))
        for token in others
        if token.kind != "sign"
    ]
    stems = frozenset(map(stem, plain))
    words = {stem(word) for word in plain if word not in _STOP_WORDS}
    return _Read(
        words=frozenset(part for word in words for part in _parts(word)),
        facts=tuple(facts),
        negated=any(word in _NEGATIONS or word.endswith("n't") for word in plain),
        bounded=any(word in _BOUNDING for word in plain)
        or any(fact.low != fact.high for fact in facts),
        polar=stems & _POLAR,
        text=text,
    )


def _parts(word: str) -> Iterable[str]:
    """Give a word, or each character of one in a script without spaces."""
    if word.endswith("n't"):
        return ()
    return word if word[0] >= "⺀" else (word,)


def _read_all(texts: Iterable[str]) -> tuple[list[_Read], bool]:
    """Return the sentences of some texts, and whether all of the texts was read."""
    left = MOST_READ
    facts = 0
    known: list[_Read] = []
    for text in texts:
        # Half a number at the cut would be another number.
        read = text if len(text) <= left else text[:left].rpartition(" ")[0]
        for part in _SENTENCE_END.split(read):
            for at in range(0, len(part), MOST_SENTENCE):
                known.append(_read(part[at : at + MOST_SENTENCE]))
                facts += len(known[-1].facts)
                if facts > MOST_KNOWN:
                    return known, False
        left -= len(text)
        if left < 0:
            return known, False
    return known, True


def _without_markers(content: str, labels: Iterable[int | str]) -> str:
    """Return a sentence without its markers, tags and addresses.

    A bracket is a marker when it has only what may be labels: pieces without a
    space, or words of the labels. Any other is prose that must be compared.
    """
    vocabulary = {token.text for label in labels for token in tokens(str(label))}

    def judged(match: re.Match[str]) -> str:
        inside = match[0][1:-1].partition("†")[0]
        pieces = _SEPARATORS.split(inside)
        plain = all(_NUMBERED.fullmatch(piece) for piece in pieces if piece)
        named = all(
            token.text in vocabulary or (token.kind == "word" and len(token.text) == 1)
            for token in tokens(inside)
            if token.kind != "number" and token.text not in "-–"
        )
        return " " if plain or named else match[0]

    return _HIDDEN.sub(" ", _BRACKET.sub(judged, content))


# Comparing


class _Compared:
    """A sentence beside the sentences of the passages."""

    def __init__(self, claim: _Read, known: list[_Read], quoted: list[str]) -> None:
        self._claim = claim
        self._known = known
        self._quoted = quoted
        self._folded = fold("\n".join(read.text for read in known)).casefold() if quoted else ""
        least = max(1.0, len(claim.words) * _NEAR)
        self._near = [read for read in known if len(claim.words & read.words) >= least]
        found = frozenset[str]().union(*(read.words for read in self._near)) & claim.words
        self._shared = len(found) / len(claim.words) if claim.words else 1.0

    def comparison(self, *, whole: bool) -> Comparison:
        missing = [fact.written for fact in self._claim.facts if not self._has(fact)]
        missing += [phrase for phrase in self._quoted if phrase not in self._folded]
        reason = self._contradiction()
        verdict: Verdict
        if not reason:
            reason = self._doubt(missing)
            verdict = "unknown" if reason else "supported"
        elif whole:
            verdict = "contradicted"
        else:
            verdict, reason = "unknown", f"{reason}, as far as the passages were read"
        reason = reason or "its words and numbers are in the passages"
        return Comparison(verdict, reason, self._shared, tuple(missing))

    def _contradiction(self) -> str:
        """Return what the passages have instead; nothing when they do not contradict."""
        for fact in self._claim.facts:
            other = self._instead_of(fact)
            if other is not None:
                return f"{fact.written}: the passages have {other.written}"
        for phrase in self._quoted:
            if phrase not in self._folded and self._altered(phrase):
                return f"not as quoted: {phrase}"
        return next(filter(None, map(self._opposed, self._known)), "")

    def _doubt(self, missing: list[str]) -> str:
        """Return why the passages do not support the sentence, when they do not."""
        if missing:
            return f"not in the passages: {'; '.join(missing)}"
        if self._shared < _SUPPORTED:
            return f"{self._shared:.0%} of the words are in the passages"
        words = len(self._claim.words)
        if words and max(map(self._score, self._near)) <= words / 2:
            return "no passage sentence has more than half of the words"
        for fact in self._claim.facts:
            if self._lead(fact) > 0:
                return f"{fact.written}: other words stand beside it in the passages"
        alike = [self._score(read) + self._stated(read) for read in self._near]
        closest = [r for r, count in zip(self._near, alike, strict=True) if count == max(alike)]
        if closest and all(read.negated != self._claim.negated for read in closest):
            return "one is negated and the other is not"
        return ""

    def _score(self, read: _Read) -> int:
        return len(self._claim.words & read.words)

    def _stated(self, read: _Read) -> int:
        return sum(any(map(fact.matches, read.facts)) for fact in self._claim.facts)

    def _has(self, fact: Fact) -> bool:
        return any(fact.matches(other) for read in self._known for other in read.facts)

    def _lead(self, fact: Fact) -> int:
        """Return how many more words of the sentence stand beside another value of that kind."""
        scores = [0]
        matching = [0]
        for read in self._near:
            if any(map(fact.matches, read.facts)):
                matching.append(self._score(read))
            elif any(fact.kind == other.kind for other in read.facts):
                scores.append(self._score(read))
        return max(scores) - max(matching)

    def _instead_of(self, fact: Fact) -> Fact | None:
        """Return what the passages have in place of a fact, where they speak of the same thing."""
        enough = min(_CLEARLY, max(1, len(self._claim.words)))
        if not fact.kind or self._lead(fact) < enough:
            return None
        alike = [
            read for read in self._near if any(fact.kind == other.kind for other in read.facts)
        ]
        most = max(map(self._score, alike))
        if most < len(self._claim.words) * _ALIKE:
            return None
        same = [mine for mine in self._claim.facts if mine.kind == fact.kind]
        others = [
            other
            for read in alike
            if self._score(read) == most
            for other in read.facts
            if other.kind == fact.kind
        ]
        # Who gives the passage's own value may well give another beside it.
        stated = any(mine.matches(other) for mine in same for other in others)
        return others[0] if not stated and all(map(fact.differs, others)) else None

    def _altered(self, phrase: str) -> bool:
        """Return whether a passage sentence has most words of a quotation."""
        words = _read(phrase).words
        return len(words) > 1 and any(
            len(words & read.words) > len(words) / 2 for read in self._known
        )

    def _opposed(self, read: _Read) -> str:
        """Return in which words a passage sentence says the opposite, if it does."""
        claim = self._claim
        mine, theirs = claim.words - _POLAR, read.words - _POLAR
        both = len(mine & theirs)
        if not both or both < _SAME * max(len(mine), len(theirs)):
            return ""
        if claim.negated != read.negated:
            plain = not claim.bounded and not read.bounded and claim.polar == read.polar
            return "one is negated and the other is not" if plain else ""
        for left, right in _OPPOSITES:
            for first, second in ((left, right), (right, left)):
                said, found = claim.polar & first, read.polar & second
                if said and found and not claim.polar & second and not read.polar & first:
                    return f"{min(said)}: the passages have {min(found)}"
        return ""
