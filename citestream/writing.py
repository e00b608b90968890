"""How a checked marker is written back: the caller's options, as one object.

It knows nothing of where the marker stood.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

from citestream.events import Citation

if TYPE_CHECKING:
    from citestream.events import Label
    from citestream.styles import Reading
    from citestream.tally import Tally

__all__ = ["Invalid", "Show", "Writer"]

Invalid: TypeAlias = Literal["drop", "flag", "keep"] | Callable[[int | str], str]
"""What becomes of labels that have no passage."""

Show: TypeAlias = Literal["verbatim", "none"] | Callable[[Citation], str] | None
"""What becomes of labels that have one."""


class Writer:
    """Writes markers as the caller asked."""

    __slots__ = ("_invalid", "_renumber", "_replacement", "_show", "drops", "plain")

    def __init__(self, invalid: Invalid, replacement: str, show: Show, renumber: bool) -> None:
        """Check the options.

        Raises:
            ValueError: An option that is none of those allowed.
        """
        if not callable(invalid) and invalid not in ("drop", "flag", "keep"):
            raise ValueError(
                f'expected invalid="drop", "flag", "keep" or a function of a label, got {invalid!r}'
            )
        if show is not None and not callable(show) and show not in ("verbatim", "none"):
            raise ValueError(
                f'expected show=None, "verbatim", "none" or a function of a Citation, got {show!r}'
            )
        if not isinstance(replacement, str):
            raise ValueError(  # noqa: TRY004 - options fail alike
                f"expected replacement to be a str, got {type(replacement).__name__}"
            )
        if replacement and invalid != "flag":
            raise ValueError(
                f'expected invalid="flag" with replacement={replacement!r}, got {invalid!r}: '
                "only a flagged marker is replaced"
            )
        self._invalid = invalid
        self._replacement = replacement
        self._show = show
        self._renumber = renumber
        self.plain = show is None and not renumber
        """Whether a marker whose labels are all valid is written in its canonical form."""
        self.drops = self.plain and invalid == "drop"
        """Whether the other labels are left out as well."""

    def write(
        self,
        reading: Reading,
        cited: tuple[Label, ...],
        invalid: tuple[Label, ...],
        raw: str,
        tally: Tally,
    ) -> str:
        """Return what the reader sees in place of a marker; `""` removes it."""
        if self._show == "none":
            return ""
        numbers = tuple(map(tally.number, cited)) if self._renumber else _valid(reading, cited)
        if not invalid and not reading.unlisted:
            as_written = self._show == "verbatim" and not reading.repaired
            text = raw if as_written else reading.style.write(numbers)
            return self._shown(text, cited, raw, tally)
        if self._invalid == "keep":
            if reading.unlisted or reading.drifted:
                return raw
            return reading.style.write(reading.labels)
        text = self._shown(reading.style.write(numbers), cited, raw, tally) if cited else ""
        if self._invalid == "flag":
            return text + self._replacement
        if callable(self._invalid):
            return text + "".join([_string(self._invalid(label), "invalid") for label in invalid])
        return text

    def _shown(self, text: str, cited: tuple[Label, ...], raw: str, tally: Tally) -> str:
        if not callable(self._show):
            return text
        passages = tally.passages_of(cited)
        citation = Citation(text, cited, (), raw, passages, 0, len(text))
        return _string(self._show(citation), "show")


def _valid(reading: Reading, cited: tuple[Label, ...]) -> tuple[Label, ...]:
    """Return the labels to write: a broader or narrower one stays as the model wrote it."""
    if reading.found is None:
        return cited
    pairs = zip(reading.labels, reading.found, strict=True)
    return tuple(label for label, found in pairs if found)


def _string(text: object, option: str) -> str:
    if not isinstance(text, str):
        raise TypeError(
            f"expected the {option} function to return a str, got {type(text).__name__}"
        )
    return text
