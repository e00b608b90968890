"""Passage and Passages: what each label names, and the prompt that shows it to the model.

How a marker is found in an answer is not known here: a style is handed in,
and all it is asked is which labels it can write, and how.
"""

from __future__ import annotations

import re
from collections.abc import Mapping  # noqa: TC003 - others' tools read the types of `Passage`
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from citestream.disarming import disarmed, disarmer, one_line
from citestream.exceptions import PassageError
from citestream.hits import CHECKS, check_label, fields_of, items_by_label, own_label, plain, seen

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

__all__ = ["NO_ANSWER", "LabelStyle", "Passage", "Passages", "Styles"]

NO_ANSWER = "I don't know based on the provided documents."
"""The sentence a model is told to refuse with, and that the filter looks for."""

_DIGITS = re.compile(r"[0-9]{1,9}")  # as many as a label can have


class LabelStyle(Protocol):
    """What a passage list asks of a marker style."""

    @property
    def numeric(self) -> bool:
        """Whether labels are numbers."""

    def can_write(self, label: int | str, /) -> bool:
        """Return whether a marker of this style can name `label`."""

    def write(self, labels: tuple[int | str, ...], /) -> str:
        """Return the marker that names `labels`."""


Styles: TypeAlias = LabelStyle | tuple[LabelStyle, ...]
"""A style, or several that are active at once: the first that can write a label does."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A labelled text that was in the prompt, and where it is from.

    Raises:
        PassageError: A field cannot be used. The message names it.
    """

    label: int | str
    """What a marker names it by: a number, or its own label in label styles."""
    text: str | None = field(default=None, repr=False)
    """The source's text, exactly as given; `None` when it is not known here."""
    id: str | None = None
    """What the caller's store calls it."""
    title: str | None = None
    """A name for people. Hostile input: a page puts it into a text node, never into HTML."""
    url: str | None = None
    """Where a reader finds it: http or https, with a host and no user name."""
    place: str | None = None
    """Where in its document it stands: a page, a section."""
    version: str | None = None
    """Which version of the document it is from."""
    score: float | None = None
    """How well it matched, as retrieval had it; never infinite, never NaN."""
    metadata: Mapping[str, Any] | None = field(default=None, repr=False, hash=False)
    """What else came with it: a deep copy, to be read only."""

    def __post_init__(self) -> None:
        """Check every field, and keep what no later edit of the source can change."""
        keep = object.__setattr__  # the class is frozen
        keep(self, "label", check_label(self.label))
        for name, check in CHECKS.items():
            value = getattr(self, name)
            if value is not None:
                keep(self, name, check(name, value))

    @property
    def shown(self) -> str:
        """What the prompt holds: the text, with nothing in it that reads as a marker.

        A pair of square brackets (ASCII, full-width or lenticular) on one line, at most
        256 characters apart and with a digit between them, becomes a pair of
        parentheses: `[7]`, `[1, 2]`, `[Source 3]`, `[S1]` and `[^1]` among them, but
        `[0.5 m]` and `a[0]` as well. A model copies what it reads, and a text could
        otherwise pose as another passage. A lone surrogate, which no client can
        encode, becomes U+FFFD.
        """
        return disarmed(self.text or "")

    def payload(self, expose: Collection[str] = ()) -> dict[str, Any]:
        """Return the passage as the JSON object that a client gets.

        Args:
            expose: A field, or several, to add to `label`, `id`, `title` and `url`: any of `text`,
                `place`, `version`, `score`, `metadata`. Of metadata, dates and UUIDs
                are written as text, and what JSON cannot hold becomes `None`.

        Raises:
            PassageError: `expose` names something else.
        """
        payload = {"label": self.label, "id": self.id, "title": self.title, "url": self.url}
        for name in (expose,) if isinstance(expose, str) else expose:
            if name not in _EXPOSABLE:
                raise PassageError(
                    f"expected fields to expose among {', '.join(_EXPOSABLE)}, got {seen(name)}: "
                    "name only those"
                )
            value = getattr(self, name)
            payload[name] = plain(value) if name == "metadata" else value
        return payload


_EXPOSABLE = ("text", "place", "version", "score", "metadata")


class Passages:
    """The passages of one request by label, and the prompt that shows them.

    A numbered passage without text (`Passages(5)`) is made when it is asked
    for, so that a request pays for five labels and not for five objects.

    Args:
        source: A number n, for passages 1 to n whose texts are elsewhere; a sequence of
            `str`, dicts, `Passage` or document-like objects, numbered from 1 unless each
            has a `label` of its own; a mapping of labels to one of these, to a list of
            them or to `None`; or other `Passages`, which are then shared: what is added
            to either is in both.
        style: The marker style, or a tuple of them, that writes the labels. Without it
            they are all numbers or all `str`, and the filter checks them by its own;
            beside a number, a label made of digits is a number too.

    Raises:
        PassageError: The source cannot be read, or the style cannot write a label.
    """

    __slots__ = ("by_label", "style")

    by_label: dict[int | str, tuple[Passage, ...]]
    """The labels, in order. Read only, and for `label in by_label`: the passages come
    from `get`, since until then those of a number without text are `()` here."""
    style: Styles | None
    """What writes the labels, once known."""

    def __init__(
        self,
        source: int | Sequence[Any] | Mapping[Any, Any] | Passages,
        *,
        style: Styles | None = None,
    ) -> None:
        if isinstance(source, Passages):
            self.by_label = source.by_label
            self.style = source.style
        else:
            self.by_label = {
                label: tuple(_passage(item, label) for item in found)
                for label, found in items_by_label(source).items()
            }
            self.style = None
            if style is None and _is_mixed(self.by_label):
                self.by_label = _relabelled(self.by_label, _as_number)
        if style is not None:
            self.check_style(style)
            self.style = style
        elif self.style is None and _is_mixed(self.by_label):
            raise PassageError(
                "expected labels that are all numbers or all str, got both: "
                "number the passages, or give the style that writes the labels"
            )

    @classmethod
    def of(cls, source: int | Sequence[Any] | Mapping[Any, Any] | Passages) -> Passages:
        """Return `source` itself when it is a passage list, or one made from it."""
        return source if isinstance(source, Passages) else cls(source)

    def __len__(self) -> int:
        return sum(len(found) or 1 for found in self.by_label.values())

    def __iter__(self) -> Iterator[Passage]:
        for label in self.labels:
            yield from self.get(label)

    def __contains__(self, label: object) -> bool:
        return label in self.by_label

    def __repr__(self) -> str:
        return f"<Passages: {len(self)} under {len(self.by_label)} labels>"

    @property
    def labels(self) -> tuple[int | str, ...]:
        """The labels in passage order, each once."""
        return tuple(self.by_label)

    def get(self, label: int | str) -> tuple[Passage, ...]:
        """Return the passages that `label` names; none when nobody supplied it."""
        found = self.by_label.get(label)
        if found:
            return found
        if found is None:
            return ()
        made = self.by_label[label] = (Passage(label),)
        return made

    def add(self, passage: Any, label: int | str | None = None) -> int | str:
        """Add a passage, also while an answer streams: labels are judged as markers complete.

        Args:
            passage: A `str`, a dict, a `Passage` or a document-like object.
            label: What names it; one that is taken gets a further passage. Without it,
                the passage's own label or the next free number.

        Returns:
            The label it got, for the prompt or the tool result that shows it.

        Raises:
            PassageError: The passage cannot be read, or the label cannot be used.
        """
        if label is None:
            label = own_label(passage)
        label = check_label(self._next_number() if label is None else label)
        if self.style is not None:
            label, _ = _fit(label, _styles(self.style))
        elif _is_mixed((label, *self.by_label)):
            raise PassageError(
                f"expected a label of the same kind as the others, got {seen(label)}: "
                "number all passages or none"
            )
        converted = _passage(passage, label)
        self.by_label[label] = (*self.get(label), converted)
        return label

    def check_style(self, style: Styles) -> None:
        """Check that `style` can write every label; the filter calls it.

        The first style a list meets settles it: labels made of digits become numbers
        when that style is numbered, and its style writes the prompt from then on.

        Raises:
            PassageError: It cannot write a label, or would turn labels into numbers that
                another style already writes as text.
        """
        if style is self.style:
            return  # what is added later is checked as it comes
        styles = _styles(style)
        fitted = _relabelled(self.by_label, lambda label: _fit(label, styles)[0])
        if list(fitted) != list(self.by_label):
            if self.style is not None:
                raise PassageError(
                    "expected the kind of label that the first style settled, got a style that "
                    "turns them into numbers: make a passage list for each style"
                )
            # In place: another list may share them.
            self.by_label.clear()
            self.by_label.update(fitted)
        if self.style is None:
            self.style = style

    def prompt(self, *, style: Styles | None = None) -> str:
        """Return the passages as the model reads them, each behind its marker.

        No title and no text can pose as another passage: besides what `Passage.shown`
        takes out, brackets around a supplied label lose their brackets here, in the
        brackets of the style as well.

        Args:
            style: What writes the markers, if not the list's own style.
        """
        written = self._written(style)
        disarm = disarmer(written)
        return "\n\n".join(
            _block(marker, self.get(label), disarm) for label, marker in written.items()
        )

    def instructions(self, refusal: str | None = NO_ANSWER, style: Styles | None = None) -> str:
        """Return the citing rule for the model, written from the same labels as the prompt.

        Args:
            refusal: The exact sentence to refuse with, the one that the filter is given;
                `None` to ask for none.
            style: What writes the markers, if not the list's own style.
        """
        markers = list(self._written(style).values())
        refuse = f"reply with exactly this sentence and nothing else: {refusal}"
        if not markers:
            return f"There are no passages: {refuse if refusal else 'put no marker anywhere.'}"
        rules = (
            "Answer only from the passages you are given.\n"
            "End every sentence with the marker of the passage that supports it, as this one "
            f"does {markers[0]}.\n"
            f"Use only these markers, exactly as they stand here: {' '.join(markers)}"
        )
        return f"{rules}\nIf the passages do not hold the answer, {refuse}" if refusal else rules

    def _next_number(self) -> int:
        numbers = [label for label in self.by_label if isinstance(label, int)]
        styles = _styles(self.style)
        numbered = not styles or any(style.numeric for style in styles)
        if not numbers and (self.by_label or not numbered):
            raise PassageError(
                "expected a label, got none: these passages are not numbered, so name each one"
            )
        return max(numbers, default=0) + 1

    def _written(self, style: Styles | None) -> dict[int | str, str]:
        styles = _styles(self.style if style is None else style)
        if not styles:
            return {label: f"[{label}]" for label in self.by_label}
        fits = {label: _fit(label, styles) for label in self.by_label}
        return {label: writer.write((fit,)) for label, (fit, writer) in fits.items()}


def _passage(item: object, label: int | str) -> Passage:
    """Return what was given for `label` as a passage of that label."""
    if isinstance(item, str):
        return Passage(label, item)
    if not isinstance(item, Passage):
        fields = fields_of(item, label)
        metadata = fields.pop("metadata")
        passage = Passage(label, **fields)
        # Past the check, which makes a deep copy: this is one.
        object.__setattr__(passage, "metadata", metadata)
        return passage
    if item.label == label:
        return item
    if _as_number(item.label) == _as_number(label):
        return replace(item, label=label)
    raise PassageError(
        f"expected a passage labelled {seen(label)}, got one labelled {seen(item.label)}: "
        "give it under its own label"
    )


def _is_mixed(labels: Collection[int | str]) -> bool:
    return len({type(label) for label in labels}) > 1


def _relabelled(
    by_label: Mapping[int | str, tuple[Passage, ...]], fit: Callable[[int | str], int | str]
) -> dict[int | str, tuple[Passage, ...]]:
    """Return the passages under what `fit` makes of each label."""
    fitted: dict[int | str, tuple[Passage, ...]] = {}
    for label, found in by_label.items():
        new = fit(label)
        if new in fitted:
            raise PassageError(
                f"expected labels that differ, got {seen(label)} for {seen(new)} again: "
                "put passages that share a label into one list"
            )
        fitted[new] = tuple(_passage(passage, new) for passage in found)
    return fitted


def _as_number(label: int | str) -> int | str:
    """Return a label of digits as the number they write, any other as it is."""
    return int(label) if isinstance(label, str) and _DIGITS.fullmatch(label) else label


def _styles(style: Styles | None) -> tuple[LabelStyle, ...]:
    if style is None:
        return ()
    return style if isinstance(style, tuple) else (style,)


def _fit(label: int | str, styles: tuple[LabelStyle, ...]) -> tuple[int | str, LabelStyle]:
    """Return the first style that can write the label, and the label as that style takes it."""
    for style in styles:
        fit = _as_number(label) if style.numeric else label
        if isinstance(fit, int) is style.numeric and style.can_write(fit):
            return fit, style
    raise PassageError(
        f"expected a label that the style can write, got {seen(label)}: "
        "numbered styles write numbers and the others str, so change the label or the style"
    )


def _block(marker: str, passages: tuple[Passage, ...], disarm: Callable[[str], str]) -> str:
    lines: list[str] = []
    last_title = ""
    for passage in passages:
        title = one_line(passage.title or "")
        # Chunks of one document repeat its title.
        if title and title != last_title:
            lines.append(disarm(disarmed(title)))
        last_title = title
        lines.append(disarm(passage.shown))
    body = "\n".join(filter(None, lines))
    return f"{marker} {body}" if body else marker
