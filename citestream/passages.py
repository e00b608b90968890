"""Passage and Passages: what each label names, and the prompt that shows it to the model.

How a marker is found in an answer is not known here: a style is handed in,
and all it is asked is which labels it can write, and how.

Whatever retrieval found may be hostile, and it may be broken. So there are
two ways in. A `Passage` made by hand is the programmer's: what is wrong with
it raises. One converted from a hit keeps its place in the prompt: a bad URL or
score is left out and logged, since one hostile hit must not fail a request.
"""

from __future__ import annotations

import copy
import logging
import math
import operator
import re
import unicodedata
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, time
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

from citestream.exceptions import PassageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

__all__ = ["NO_ANSWER", "LabelStyle", "Passage", "Passages", "Styles"]

NO_ANSWER = "I don't know based on the provided documents."
"""The sentence a model is told to refuse with, and that the filter looks for."""

# Nine digits, as the numbered styles read: `int()` of a longer run costs more
# than linear time, and of five thousand digits it raises.
MOST_NUMBER = 999_999_999
# A prompt of a million tokens has no room for passages of ten tokens each.
MOST_PASSAGES = 100_000
# What RFC 9110, section 4.1, recommends that all senders and recipients support.
MOST_URL = 8_000
# As much as a style holds by default: nothing longer is read as a marker.
MOST_MARKER = 256
# Deeper metadata is not sent: encoders of JSON recurse.
MOST_NESTED = 32
# A JSON number beyond a double is an error or infinity to most readers.
MOST_BITS = 1_023
# What an error or a log line repeats of a value it did not make.
MOST_SEEN = 80

_log = logging.getLogger("citestream")


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
        keep(self, "label", _label(self.label))
        if self.text is not None:
            keep(self, "text", _text("text", self.text))
        for name in ("id", "title", "place", "version"):
            value = getattr(self, name)
            if value is not None:
                keep(self, name, _text(name, value))
        if self.url is not None:
            keep(self, "url", _url(self.url))
        if self.score is not None:
            keep(self, "score", _score(self.score))
        if self.metadata is not None:
            keep(self, "metadata", _metadata(self.metadata))

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
        return _disarmed(_SURROGATE.sub("\ufffd", self.text or ""), _BRACKETS, _has_digit, "()")

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
                    f"expected fields to expose among {', '.join(_EXPOSABLE)}, got {_seen(name)}: "
                    "name only those"
                )
            value = getattr(self, name)
            payload[name] = _plain(value) if name == "metadata" else value
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
            they are all numbers or all `str`, and the filter checks them by its own.

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
            self.by_label = _by_label(source)
            self.style = None
        if style is not None:
            self.check_style(style)
            self.style = style
        elif self.style is None and len({type(label) for label in self.by_label}) > 1:
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
            label = _own_label(passage)
        fitted = self._fitted(_label(self._next_number() if label is None else label))
        converted = _passage(passage, fitted)
        self.by_label[fitted] = (*self.get(fitted), converted)
        return fitted

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
        fitted: dict[int | str, tuple[Passage, ...]] = {}
        for label, found in self.by_label.items():
            fit, _ = _fit(label, styles)
            if fit in fitted:
                raise PassageError(
                    f"expected labels that differ, got {_seen(label)} for {_seen(fit)} again: "
                    "put passages that share a label into one list"
                )
            fitted[fit] = tuple(_passage(passage, fit) for passage in found)
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
        disarm = _disarmer(written)
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
        numbered = any(style.numeric for style in styles) or not styles
        if not numbers and (self.by_label or not numbered):
            raise PassageError(
                "expected a label, got none: these passages are not numbered, so name each one"
            )
        return max(numbers, default=0) + 1

    def _fitted(self, label: int | str) -> int | str:
        if self.style is not None:
            return _fit(label, _styles(self.style))[0]
        if any(type(label) is not type(other) for other in self.by_label):
            raise PassageError(
                f"expected a label of the same kind as the others, got {_seen(label)}: "
                "number all passages or none"
            )
        return label

    def _written(self, style: Styles | None) -> dict[int | str, str]:
        styles = _styles(self.style if style is None else style)
        return {label: _marker(label, styles) for label in self.by_label}


# Labels and the styles that write them.

# Brackets would end the marker or open another, and a marker never spans lines.
_UNWRITABLE = re.compile("[\\[\\]［］【】\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_DIGITS = re.compile(r"[0-9]{1,9}")


def _label(label: Any) -> int | str:
    number = _whole_number(label)
    if number is not None:
        if 0 <= number <= MOST_NUMBER:
            return number
        raise PassageError(
            f"expected a label from 0 to {MOST_NUMBER}, got {_seen(number)}: "
            "number the passages from 1"
        )
    if not isinstance(label, str):
        raise PassageError(
            f"expected an int or a str as a label, got {_seen(label)}: "
            "use the passage's number or its name"
        )
    name = str.__str__(label)
    # Letters and digits tell labels apart: without any, it names nothing.
    if not any(map(str.isalnum, name)) or name != name.strip() or _UNWRITABLE.search(name):
        raise PassageError(
            f"expected a label on one line with a letter or a digit in it, got {_seen(name)}: "
            "leave out brackets, controls and the space around it"
        )
    return name


def _whole_number(value: Any) -> int | None:
    """Return an `int`, or what stands for one in an array, as an `int`; `None` for all else."""
    if isinstance(value, bool):
        return None
    try:
        return int(operator.index(value))
    except TypeError:
        return None


def _styles(style: Styles | None) -> tuple[LabelStyle, ...]:
    if style is None:
        return ()
    return style if isinstance(style, tuple) else (style,)


def _fit(label: int | str, styles: tuple[LabelStyle, ...]) -> tuple[int | str, LabelStyle]:
    """Return the first style that can write the label, and the label as that style takes it."""
    for style in styles:
        fit = _number(label) if style.numeric else label
        if isinstance(fit, int) is style.numeric and style.can_write(fit):
            return fit, style
    raise PassageError(
        f"expected a label that the style can write, got {_seen(label)}: "
        "numbered styles write numbers and the others str, so change the label or the style"
    )


def _number(label: int | str) -> int | str:
    """Return a label of digits as the number they write, any other as it is."""
    return int(label) if isinstance(label, str) and _DIGITS.fullmatch(label) else label


def _marker(label: int | str, styles: tuple[LabelStyle, ...]) -> str:
    if not styles:
        return f"[{label}]"
    fit, style = _fit(label, styles)
    return style.write((fit,))


# What is in the prompt.

_BRACKETS = re.compile(r"(?P<open>[\[［【])|(?P<close>[\]］】])|[\r\n]")
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"\w+")
_SURROGATE = re.compile("[\ud800-\udfff]")


def _has_digit(content: str) -> bool:
    return _DIGIT.search(content) is not None


def _disarmed(
    text: str, tokens: re.Pattern[str], is_marker: Callable[[str], bool], pair: str
) -> str:
    """Return `text` with `pair` in place of the brackets around what reads as a marker.

    Brackets are paired as they nest, so that one pair's parentheses are never the inside
    of a marker which the pair around it makes: that pair holds the same digit, and goes too.
    """
    # An opener with as many others behind it is too far away for any closer.
    opened: deque[re.Match[str]] = deque(maxlen=MOST_MARKER)
    changes: list[tuple[int, int, str]] = []
    last = -1
    for token in tokens.finditer(text):
        if token.lastgroup == "open":
            opened.append(token)
        elif token.lastgroup is None:
            opened.clear()  # a marker never spans lines
        elif opened:
            opener = opened.pop()
            start, end = opener.end(), token.start()
            # What holds such a pair is one itself: asking again at each depth takes long.
            if end - start <= MOST_MARKER and (last >= start or is_marker(text[start:end])):
                last = opener.start()
                changes.append((*opener.span(), pair[0]))
                changes.append((*token.span(), pair[1]))
    pieces: list[str] = []
    done = 0
    for start, end, bracket in sorted(changes):
        pieces += text[done:start], bracket
        done = end
    return "".join((*pieces, text[done:]))


def _words(text: str) -> str:
    """Return the words of a label alone, since typography never tells two labels apart."""
    folded = unicodedata.normalize("NFKC", _visible(text)).casefold()
    return f" {' '.join(_WORD.findall(folded))} "


def _visible(text: str) -> str:
    """Return `text` without the characters that take no room, such as a zero-width space."""
    return "".join(char for char in text if unicodedata.category(char) != "Cf")


def _disarmer(written: Mapping[int | str, str]) -> Callable[[str], str]:
    """Return what takes out of a text whatever reads as one of these markers."""
    names = {
        _words(name)
        for label, marker in written.items()
        if isinstance(label, str) and not _has_digit(label)
        for name in (label, marker)
    }
    # The brackets that no text loses in `Passage.shown`: those of the user's own styles.
    parts = (marker.partition(str(label)) for label, marker in written.items())
    own = {(before, after) for before, _, after in parts if not _BRACKETS.match(before)}
    own = {(before, after) for before, after in own if before and after}
    used = {char for brackets in own for char in "".join(brackets)}
    pair = next((pair for pair in ("()", "{}") if not used & set(pair)), "‹›")
    patterns = [_BRACKETS] if names else []
    patterns += [
        re.compile(
            rf"(?P<open>{re.escape(before)})|(?P<close>{re.escape(after)})|[\r\n]", re.IGNORECASE
        )
        for before, after in sorted(own)
    ]

    def is_marker(content: str) -> bool:
        if _has_digit(content):
            return True
        words = _words(content)
        return any(name in words for name in names)

    def disarm(text: str) -> str:
        for tokens in patterns:
            text = _disarmed(text, tokens, is_marker, pair)
        return text

    return disarm


def _block(marker: str, passages: tuple[Passage, ...], disarm: Callable[[str], str]) -> str:
    lines: list[str] = []
    last_title = ""
    for passage in passages:
        title = _one_line(passage.title or "")
        # Chunks of one document repeat its title.
        if title and title != last_title:
            lines.append(disarm(_disarmed(title, _BRACKETS, _has_digit, "()")))
        last_title = title
        lines.append(disarm(passage.shown))
    body = "\n".join(filter(None, lines))
    return f"{marker} {body}" if body else marker


def _one_line(title: str) -> str:
    """Return a title without line breaks, controls, surrogates and what shows nothing."""
    shown = "".join(char if char.isprintable() else " " for char in _visible(title))
    return " ".join(shown.split())


# What is made of the caller's hits.

# Where each kind of document keeps each field, the most telling name first: plain
# dicts, LangChain, LlamaIndex, Haystack, OpenAI's file search, Anthropic's search
# results, the AI SDK's sources, Qdrant's points. Metadata is looked through by the same names.
_NAMES = {
    "text": ("text", "content", "page_content", "passage", "body"),
    "id": ("id", "doc_id", "chunk_id", "node_id", "id_", "file_id", "sourceId", "source"),
    "title": ("title", "name", "filename", "file_name"),
    "url": ("url", "link", "href"),
    "place": ("place", "section", "page_label", "page"),
    "version": ("version", "revision"),
    "score": ("score", "relevance_score"),
    "metadata": ("metadata", "meta", "attributes", "payload"),
}
# Any of these tells a document from another object: a `name` alone is a file or a thread.
_TELLING = (*_NAMES["text"], *_NAMES["id"], *_NAMES["url"], "title", "node")
_WEB = re.compile(r"https?://", re.IGNORECASE)

_Kept = TypeVar("_Kept")


def _by_label(source: object) -> dict[int | str, tuple[Passage, ...]]:
    count = _whole_number(source)
    if count is not None:
        if not 0 <= count <= MOST_PASSAGES:
            raise PassageError(
                f"expected 0 to {MOST_PASSAGES} passages, got {_seen(count)}: "
                "give the number of passages in the prompt"
            )
        return dict.fromkeys(range(1, count + 1), ())
    found: dict[int | str, list[Passage]] = {}
    if isinstance(source, Mapping):
        for key, value in source.items():
            label = _label(key)
            # Not every tuple: a named one is a document of its own.
            several = isinstance(value, list) or type(value) is tuple
            if several and not value:
                raise PassageError(
                    f"expected a passage under label {_seen(label)}, got an empty list: "
                    "use None for a passage whose text is elsewhere"
                )
            items = value if several else () if value is None else (value,)
            found[label] = [_passage(item, label) for item in items]
    elif isinstance(source, Sequence) and not isinstance(
        source, str | bytes | bytearray | memoryview
    ):
        labels = [_own_label(item) for item in source]
        if None in labels and set(labels) != {None}:
            raise PassageError(
                "expected a label on every passage of the sequence or on none, "
                f"got number {labels.index(None) + 1} without: label them all"
            )
        for number, (item, own) in enumerate(zip(source, labels, strict=True), 1):
            label = number if own is None else _label(own)
            found.setdefault(label, []).append(_passage(item, label))
    else:
        raise PassageError(
            "expected passages as a number, a sequence or a mapping of labels, "
            f"got {_seen(source)}: make a list of it"
        )
    return {label: tuple(passages) for label, passages in found.items()}


def _own_label(item: object) -> int | str | None:
    """Return the label that an item brings along, if any."""
    label = _value(item, "label")
    return label if isinstance(label, str) else _whole_number(label)


def _passage(item: object, label: int | str) -> Passage:
    """Return what was given for `label` as a passage of that label."""
    if isinstance(item, str):
        return Passage(label, item)
    if not isinstance(item, Passage):
        return _converted(item, label)
    if item.label == label:
        return item
    if _number(item.label) == _number(label):
        return replace(item, label=label)
    raise PassageError(
        f"expected a passage labelled {_seen(label)}, got one labelled {_seen(item.label)}: "
        "give it under its own label"
    )


def _converted(item: object, label: int | str) -> Passage:
    """Make a passage of a document-like object, without the fields that cannot be used."""
    if not any(_has(item, name) for name in _TELLING) and not hasattr(item, "get_content"):
        raise PassageError(
            f"expected a str, a dict, a Passage or a document with a text for passage "
            f"{_seen(label)}, got {_seen(item)}: give the texts, or the number of passages alone"
        )
    # LlamaIndex puts the document into a node, and the score beside it.
    node = _value(item, "node")
    found = (value for _, value in _values((item, node), _NAMES["metadata"]))
    metadata = next((value for value in found if isinstance(value, Mapping)), None)
    places = tuple(place for place in (item, node, metadata) if place is not None)

    def kept(name: str, check: Callable[[str, Any], _Kept], *more: tuple[str, Any]) -> _Kept | None:
        key, value = next(chain(_values(places, _NAMES[name]), more), (name, None))
        try:
            return None if value is None else check(key, value)
        except PassageError as error:
            _log.warning("passage %s: its %s is left out: %s", _seen(label), name, error)
            return None

    sources = [value for _, value in _values(places, ("source", "file_path"))]
    sources = [value for value in sources if isinstance(value, str)]
    files = [("title", _file_name(value)) for value in sources if not _WEB.match(value)]
    links = [("url", value) for value in sources if _WEB.match(value)]
    fields: dict[str, Any] = {
        "text": _text_of((item, node), metadata, label),
        "id": kept("id", _name),
        "title": kept("title", _name, *files),
        "url": kept("url", lambda _, value: _url(value), *links),
        "place": kept("place", _place),
        "version": kept("version", _name),
        "score": kept("score", lambda _, value: _score(value)),
    }
    try:
        return Passage(label, metadata=metadata, **fields)
    except PassageError as error:
        # Everything else was checked above, so it is the metadata that cannot be copied.
        passage = Passage(label, **fields)
        _log.warning("passage %s: its metadata is left out: %s", _seen(label), error)
        return passage


def _text_of(places: tuple[object, ...], metadata: object, label: int | str) -> str | None:
    """Return the text of a document, the first that stands under a name for texts."""
    for place in places:
        for name in _NAMES["text"]:
            value = _value(place, name)
            if isinstance(value, str):
                return value
            if isinstance(value, list | tuple):
                # Content blocks, of which only those of text are for reading.
                texts = (b if isinstance(b, str) else _value(b, "text") for b in value)
                return "\n".join(text for text in texts if isinstance(text, str))
            if value is not None:
                raise PassageError(
                    f"expected str as the {name} of passage {_seen(label)}, got {_seen(value)}: "
                    "decode or convert it first"
                )
        value = _called(place, "get_content")
        if isinstance(value, str):
            return value
    # Vector stores that hold no texts keep them here.
    kept = (_value(metadata, name) for name in _NAMES["text"])
    return next((value for value in kept if isinstance(value, str)), None)


def _values(places: tuple[object, ...], names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Give each value that stands under one of `names` and is not blank, with its name."""
    for place in places:
        for name in names:
            value = _value(place, name)
            if value is not None and not (isinstance(value, str) and not value.strip()):
                yield name, value


def _has(place: Any, name: str) -> bool:
    try:
        if hasattr(place, "keys"):
            return name in place.keys()  # noqa: SIM118 - `in` a database row looks at its values
        return not _is_method(getattr(place, name))
    except AttributeError:
        return False
    except Exception:
        return True  # it is there, and cannot be read: `_value` says so


def _is_method(value: object) -> bool:
    # Some libraries' strings can be called, as the method that they once were.
    return callable(value) and not isinstance(value, str)


def _value(place: Any, name: str) -> Any:
    """Return what stands under `name` in a dict, a row or an object; `None` if nothing does."""
    try:
        if isinstance(place, Mapping):
            value = place.get(name)  # never `[...]`: it makes an entry in a `defaultdict`
        else:
            value = place[name] if hasattr(place, "keys") else getattr(place, name)
    except (AttributeError, LookupError):
        return None
    except Exception as error:
        _log.warning("a passage's %s cannot be read: %s", name, type(error).__name__)
        return None
    return None if _is_method(value) else value


def _called(place: object, name: str) -> Any:
    try:
        method = getattr(place, name, None)
        return method() if method is not None else None
    except Exception as error:
        _log.warning("a passage's %s() failed: %s", name, type(error).__name__)
        return None


def _name(key: str, value: Any) -> str:
    written = _plain(value)
    if isinstance(written, bool) or not isinstance(written, str | int | float):
        raise PassageError(f"expected str as its {key}, got {_seen(value)}: convert it")
    return str(written)


def _place(key: str, value: Any) -> str:
    written = _name(key, value)
    return f"page {written}" if key.startswith("page") else written


def _file_name(path: str) -> str:
    """Return the last part of a path: the rest says where a server keeps its files."""
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1] or path


# What a field may hold.


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise PassageError(f"expected str as its {name}, got {_seen(value)}: convert it")
    return str.__str__(value)  # of a subclass, its characters alone


# Browsers strip spaces and controls, read a backslash as a slash, and quotes and angle
# brackets end an attribute in a page written without care.
_NOT_IN_URLS = re.compile(r"""[ "<>\\`]""")
# A name in any script, or what `urlsplit` accepted as an IPv6 address.
_HOST = re.compile(r"[0-9A-Za-z._\-\u0080-\U0010ffff]+|[0-9A-Fa-f:.]+")


def _url(value: Any) -> str:
    url = _text("url", value)
    if not _is_web_address(url):
        raise PassageError(
            f"expected an http or https URL with a host, without a user name and of at most "
            f"{MOST_URL} characters, got {_seen(url)}: write it out in full, and spaces, quotes "
            "and the like percent-encoded"
        )
    return url


def _is_web_address(url: str) -> bool:
    """Return whether a URL needs no mending: a browser might mend it into another."""
    if len(url) > MOST_URL or not url.isprintable() or _NOT_IN_URLS.search(url):
        return False
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port  # raises when it is none
    except ValueError:
        return False
    return (
        parts.scheme in {"http", "https"}
        and "@" not in parts.netloc
        and _HOST.fullmatch(host) is not None
        and any(map(str.isalnum, host))
    )


def _score(score: Any) -> float:
    try:
        number = math.nan if isinstance(score, str | bytes | bool) else float(score)
    except Exception:  # whatever a foreign number's own conversion raises
        number = math.nan
    if not math.isfinite(number):
        raise PassageError(
            f"expected a finite number as its score, got {_seen(score)}: use None for none"
        )
    return number


def _metadata(metadata: Any) -> dict[str, Any]:
    if not isinstance(metadata, Mapping):
        raise PassageError(
            f"expected a mapping as its metadata, got {_seen(metadata)}: make a dict of it"
        )
    try:
        copied: dict[str, Any] = copy.deepcopy(dict(metadata))
    except Exception as error:  # whatever a value's own copying raises, RecursionError as well
        raise PassageError(
            f"expected metadata that can be copied, got {type(error).__name__}: "
            "leave out what belongs to the running process"
        ) from error
    return copied


def _plain(value: Any, around: tuple[int, ...] = ()) -> Any:
    """Return what JSON can hold of a value; `None` in place of what it cannot."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value) if value.bit_length() <= MOST_BITS else None
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if len(around) == MOST_NESTED or id(value) in around:
        return None
    around = (*around, id(value))
    if isinstance(value, Mapping):
        return {key: _plain(item, around) for key, item in value.items() if isinstance(key, str)}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item, around) for item in value]
    return None


def _seen(value: object) -> str:
    """Return a value for an error or a log line: escaped, short, and only if it is plain."""
    if isinstance(value, str):
        return repr(value[:MOST_SEEN]) + "..." * (len(value) > MOST_SEEN)
    if value is None or isinstance(value, float | bool):
        return repr(value)
    if isinstance(value, int) and value.bit_length() <= MOST_BITS:
        return repr(int(value))
    return f"a value of type {type(value).__name__}"
