"""Words whose full stop ends no sentence, by language.

It does not know where a sentence ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["ABBREVIATIONS", "ENGLISH", "Abbreviations"]

# Each of these is a place where uncited text can hide: whatever follows one
# belongs to its sentence. So the lists are short, words that often end a
# sentence ("etc.", "Inc.") are not in them, and "No." needs its number.
ABBREVIATIONS = {
    "en": tuple(
        "al., approx., Art., Arts., cf., Cf., Ch., Dr., e.g., E.g., Eq., Eqs., Fig., Figs., i.e., "
        "I.e., Mr., Mrs., Ms., No. #, Nos. #, p. #, para. #, paras. #, pp. #, Prof., Sec., Secs., "
        "St., Vol. #, vs.".split(", ")
    ),
    # "am 3. Mai" is everyday German, an answer that ends in "25." is not.
    "de": tuple(
        "#., Abb., Abs., al., Art., bspw., bzw., ca., d., d.h., Dr., evtl., Fr., ggf., h., Hr., "
        "inkl., Kap., Mio., Mrd., Nr. #, Nrn. #, Prof., Rn. #, s., sog., St., Tab., u., u.a., v., "
        "vgl., Vgl., z., z.B.".split(", ")
    ),
    "fr": tuple(
        "al., art., Art., av., cf., Cf., chap., Dr., env., ex., fig., Fig., No. #, p., pp. #, "
        "Prof., vol. #".split(", ")
    ),
    "es": tuple(
        "al., aprox., art., Art., arts., cap., cf., Cf., Dr., Dra., EE., ej., fig., Fig., núm. #, "
        "p., pág. #, págs. #, párr., pp. #, Sr., Sra., Ud., Uds., UU., vol. #".split(", ")
    ),
}
"""Words whose full stop ends no sentence, by language, in the form that `Abbreviations` takes."""


class Abbreviations:
    """Words whose full stop ends no sentence."""

    __slots__ = ("_words", "before_number", "longest", "others")

    def __init__(self, words: Iterable[str] = ABBREVIATIONS["en"]) -> None:
        """Take the words, case and all.

        Args:
            words: `"Fig."` ends no sentence. `"No. #"` ends none where a
                digit follows. `"#."` stands for a number of one or two digits.

        Raises:
            ValueError: A word is none of these.
        """
        self._words = tuple(words)
        before_number: set[str] = set()
        others: set[str] = set()
        for word in self._words:
            bare = word.removesuffix(" #")
            if len(bare) < 2 or bare[-1] != "." or len(bare.split()) > 1:
                raise ValueError(
                    "expected each abbreviation to be one word that ends in a full stop, "
                    f'such as "Fig." or "No. #", got {word!r}'
                )
            (others if bare == word else before_number).add(bare[:-1])
        self.before_number = frozenset(before_number)
        """Those that end no sentence where a digit follows, without the full stop."""
        self.others = frozenset(others)
        """Those that never end one, without the full stop."""
        self.longest = max(map(len, before_number | others), default=1)
        """How long the longest of them is."""

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)


ENGLISH = Abbreviations()
"""What is used when nothing else is asked for."""
