"""What the scripted model writes: answers from the passages, and every way to get one wrong.

It knows no clock and no stream: a script is a whole text, and who plays it
decides how it is cut.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from citestream import NO_ANSWER
from citestream.styles import LABEL, NUMERIC
from demo.ranking import words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from citestream import Passages

__all__ = ["SCENARIOS", "script"]

SCENARIOS: Mapping[str, str] = {
    "invented": "cites a source that does not exist",
    "clean": "cites as it was told to",
    "split": "splits every marker over several chunks",
    "code": "answers with code that is full of brackets",
    "uncited": "cites nothing",
    "refusal": "refuses",
    "seven": "cites only a source that does not exist, [7]",
    "sneaky": "writes a space inside, round brackets, [sic], and worse",
    "numbers": "writes a year, a zero, and one wrong number among right ones",
    "half": "leaves one sentence of three without a source",
    "roses": "pins a real source to a claim that is not in it",
    "statute": "cites articles too broadly, too narrowly, and one that is not there",
    "refused": "refuses, and cites a source for it",
    "stubborn": "invents a source, and invents again when it is asked again",
    "silent": "falls silent for ten seconds in the middle of a marker",
    "broken": "fails in the middle of a marker",
    "hostile": "writes markup, scripts and links",
    "long": "writes 100 kB",
}
"""What the scripted model can be told to do, the page's first choice first."""

LONG = 100_000
"""Characters of the longest script, at least."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")

# An invented number is past the last passage; seven is the one of the article
# that this package began with.
_FAR = 5
_SEVEN = 7


class _Writer:
    """The claims that the passages give, and the markers for them."""

    def __init__(self, question: str, passages: Passages) -> None:
        self._passages = list(passages)
        style = passages.style or NUMERIC
        styles = style if isinstance(style, tuple) else (style,)
        self._style = styles[0]
        asked = words(question)
        self.claims: list[str] = []
        """The sentence of each passage that shares most with the question, without its stop."""
        for passage in self._passages:
            sentences = _SENTENCE_END.split(passage.shown.strip())
            best = max(sentences, key=lambda sentence: len(asked & words(sentence)))
            self.claims.append(best.rstrip(".!?"))
        self.labels = [passage.label for passage in self._passages]

    @property
    def invented(self) -> int | str:
        """A label that no passage has."""
        if self._style is not LABEL:
            return len(self._passages) + _FAR
        # Made up after a supplied one, as models do: a bracket like no label is prose.
        return "Article 99" if any(str(x).startswith("Article") for x in self.labels) else "x99.md"

    @property
    def seven(self) -> int | str:
        """Seven, where it is invented."""
        invented = self.invented
        return _SEVEN if isinstance(invented, int) and len(self._passages) < _SEVEN else invented

    def mark(self, *labels: int | str) -> str:
        """Return the marker that names labels."""
        return self._style.write(labels)

    def cited(self, number: int) -> str:
        """Return a claim with its marker."""
        at = number % len(self.claims)
        return f"{self.claims[at]} {self.mark(self.labels[at])}."

    def inside(self, label: int | str) -> str:
        """Return what a marker holds between its brackets."""
        return self.mark(label)[1:-1]


def script(question: str, passages: Passages, scenario: str) -> str:
    """Write the answer that a scenario asks for; there is at least one passage."""
    try:
        write = _SCRIPTS[scenario]
    except KeyError:
        known = ", ".join(SCENARIOS)
        raise ValueError(f"expected one of {known}, got {scenario!r:.40}") from None
    return write(_Writer(question, passages))


def _clean(w: _Writer) -> str:
    return " ".join(w.cited(number) for number in range(min(2, len(w.claims))))


def _invented(w: _Writer) -> str:
    more = "".join(
        f" {claim} {w.mark(label, w.invented)}."
        for claim, label in zip(w.claims[1:2], w.labels[1:2], strict=True)
    )
    return f"{w.cited(0)}{more} A helmet is lent out for free {w.mark(w.invented)}."


def _code(w: _Writer) -> str:
    index = w.invented if isinstance(w.invented, int) else _FAR
    return (
        f"{w.cited(0)} Read it like this:\n\n"
        "```python\n"
        "rows = table[0]\n"
        f"print(rows[{index}], rows[1])\n"
        "```\n\n"
        f"Here `rows[{index}]` is code and stays, and this is a citation of "
        f"nothing {w.mark(w.invented)}."
    )


def _uncited(w: _Writer) -> str:
    return " ".join(f"{claim}." for claim in w.claims[:2])


def _sneaky(w: _Writer) -> str:
    first, other = w.labels[0], w.labels[-1]
    inner, wrong = w.inside(first), w.inside(w.invented)
    return (
        f"{w.claims[0]} [{inner} ]. A space inside the marker counts, round brackets do not "
        f"({inner}). The sign said [sic] 25 euros {w.mark(first)}. Wide brackets are read as "
        f"well \u3010{inner}\u3011, and a pair too many is taken away [[{w.inside(other)}]]. "
        f"A marker inside another is none [{wrong}[{wrong}]], and neither is one with a hidden "
        f"character in it [{wrong}\u200b]. A link of the model's own leads nowhere "
        f"[{inner}](https://evil.example/)."
    )


def _numbers(w: _Writer) -> str:
    both = w.mark(w.labels[0], w.invented, w.labels[-1])
    return (
        f"{w.claims[0]} {both}. The count starts at nothing [0]. "
        f"It was released in [2024], as the price list says {w.mark(w.labels[0])}."
    )


def _half(w: _Writer) -> str:
    return f"{w.cited(0)} So it should work out in your case as well. {w.cited(1)}"


def _roses(w: _Writer) -> str:
    mark = w.mark(w.labels[0])
    return f"{w.cited(0)} Roses are red, violets are blue {mark}."


def _statute(_: _Writer) -> str:
    return (
        "Riding with a second person on the carrier is banned [Article 5(1)(a)]. So is towing a "
        "trailer [Article 5]. Juggling is banned [Article 5(1)(z)]. The by-law is in force since "
        "2024 [Article 6]. Schools have a playground [Article 99]."
    )


def _hostile(w: _Writer) -> str:
    first, wrong = w.mark(w.labels[0]), w.mark(w.invented)
    return (
        f"<img src=x onerror=alert(1)> <scr{wrong}ipt>alert(2)</script> "
        f"{first}: https://evil.example [{w.inside(w.labels[0])}](javascript:alert(3)) "
        f"![{w.inside(w.labels[0])}](https://evil.example/pixel.png) "
        "<a href='https://evil.example'>[source]</a> event: summary\n\ndata: {}\n\n"
        f"And then the answer. {w.cited(0)}"
    )


def _long(w: _Writer) -> str:
    parts: list[str] = []
    size = number = 0
    # Past the length, by the space that is cut off at its end.
    while size <= LONG + 1:
        sentence = w.cited(number)
        if number % 7 == 3:
            sentence = f"{w.claims[number % len(w.claims)]} {w.mark(w.invented)}."
        parts.append(sentence)
        # A paragraph of eight sentences.
        parts.append("\n\n" if number % 8 == 7 else " ")
        size += len(sentence) + 1
        number += 1
    return "".join(parts).rstrip()


_SCRIPTS: dict[str, Callable[[_Writer], str]] = {
    "invented": _invented,
    "clean": _clean,
    "split": _invented,
    "code": _code,
    "uncited": _uncited,
    "refusal": lambda _: NO_ANSWER,
    "seven": lambda w: f"{w.claims[0]} {w.mark(w.seven)}.",
    "sneaky": _sneaky,
    "numbers": _numbers,
    "half": _half,
    "roses": _roses,
    "statute": _statute,
    "refused": lambda w: f"{NO_ANSWER} {w.mark(w.labels[0])}",
    "stubborn": _invented,
    "silent": _clean,
    "broken": _clean,
    "hostile": _hostile,
    "long": _long,
}
