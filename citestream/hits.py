"""What is made of the caller's hits: plain values, each checked for what its field may hold.

It makes no passage and writes no prompt, and which marker names a label is not known here.

A field given by hand is the programmer's: its check raises. One read from a hit, which may
be hostile or broken, is left out and logged instead: one hit must not fail a request.
"""

from __future__ import annotations

import copy
import logging
import math
import operator
import re
from collections.abc import Mapping, Sequence
from datetime import date, time
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit
from uuid import UUID

from citestream.exceptions import PassageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "CHECKS",
    "check_label",
    "fields_of",
    "items_by_label",
    "own_label",
    "plain",
    "seen",
]

# Nine digits, as the numbered styles read: `int()` of a longer run costs more
# than linear time, and of five thousand digits it raises.
MOST_NUMBER = 999_999_999
# A prompt of a million tokens has no room for passages of ten tokens each.
MOST_PASSAGES = 100_000
# What RFC 9110, section 4.1, recommends that all senders and recipients support.
MOST_URL = 8_000
# Deeper metadata is not sent: encoders of JSON recurse.
MOST_NESTED = 32
# A JSON number beyond a double is an error or infinity to most readers.
MOST_BITS = 1_023
# What an error or a log line repeats of a value it did not make.
MOST_SEEN = 80

_Check: TypeAlias = "Callable[[str, Any], Any]"

_log = logging.getLogger("citestream")

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


def items_by_label(source: object) -> Mapping[int | str, Sequence[object]]:
    """Return what a source gives for each label, unconverted."""
    count = _whole_number(source)
    if count is not None:
        if not 0 <= count <= MOST_PASSAGES:
            raise PassageError(
                f"expected 0 to {MOST_PASSAGES} passages, got {seen(count)}: "
                "give the number of passages in the prompt"
            )
        return dict.fromkeys(range(1, count + 1), ())
    found: dict[int | str, list[object]] = {}
    if isinstance(source, Mapping):
        for key, value in source.items():
            label = check_label(key)
            # Not every tuple: a named one is a document of its own.
            several = isinstance(value, list) or type(value) is tuple
            if several and not value:
                raise PassageError(
                    f"expected a passage under label {seen(label)}, got an empty list: "
                    "use None for a passage whose text is elsewhere"
                )
            found[label] = [*value] if several else [] if value is None else [value]
    elif isinstance(source, Sequence) and not isinstance(
        source, str | bytes | bytearray | memoryview
    ):
        labels = [own_label(item) for item in source]
        if None in labels and set(labels) != {None}:
            raise PassageError(
                "expected a label on every passage of the sequence or on none, "
                f"got number {labels.index(None) + 1} without: label them all"
            )
        for number, (item, own) in enumerate(zip(source, labels, strict=True), 1):
            found.setdefault(number if own is None else check_label(own), []).append(item)
    else:
        raise PassageError(
            "expected passages as a number, a sequence or a mapping of labels, "
            f"got {seen(source)}: make a list of it"
        )
    return found


def own_label(item: object) -> int | str | None:
    """Return the label that an item brings along, if any."""
    label = _value(item, "label")
    return label if isinstance(label, str) else _whole_number(label)


def fields_of(item: object, label: int | str) -> dict[str, Any]:
    """Return the checked fields of a document-like object, `None` for those that fail."""
    if not any(_has(item, name) for name in _TELLING) and not hasattr(item, "get_content"):
        raise PassageError(
            f"expected a str, a dict, a Passage or a document with a text for passage "
            f"{seen(label)}, got {seen(item)}: give the texts, or the number of passages alone"
        )
    # LlamaIndex puts the document into a node, and the score beside it.
    node = _value(item, "node")
    found = (value for _, value in _values((item, node), _NAMES["metadata"]))
    metadata = next((value for value in found if isinstance(value, Mapping)), None)
    places = tuple(place for place in (item, node, metadata) if place is not None)

    def checked(name: str, check: _Check, key: str, value: Any) -> Any:
        try:
            return None if value is None else check(key, value)
        except PassageError as error:
            _log.warning("passage %s: its %s is left out: %s", seen(label), name, error)
            return None

    def first(name: str, check: _Check, *more: tuple[str, Any]) -> Any:
        return checked(name, check, *next(chain(_values(places, _NAMES[name]), more), (name, None)))

    sources = [v for _, v in _values(places, ("source", "file_path")) if isinstance(v, str)]
    files = [("title", _file_name(value)) for value in sources if not _WEB.match(value)]
    links = [("url", value) for value in sources if _WEB.match(value)]
    return {
        "text": _text_of((item, node), metadata, label),
        "id": first("id", _name),
        "title": first("title", _name, *files),
        "url": first("url", _url, *links),
        "place": first("place", _place),
        "version": first("version", _name),
        "score": first("score", _score),
        "metadata": checked("metadata", _metadata, "metadata", metadata),
    }


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
                    f"expected str as the {name} of passage {seen(label)}, got {seen(value)}: "
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
    written = plain(value)
    if isinstance(written, bool) or not isinstance(written, str | int | float):
        raise PassageError(f"expected str as its {key}, got {seen(value)}: convert it")
    return str(written)


def _place(key: str, value: Any) -> str:
    written = _name(key, value)
    return f"page {written}" if key.startswith("page") else written


def _file_name(path: str) -> str:
    """Return the last part of a path: the rest says where a server keeps its files."""
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1] or path


# What a field may hold.

# Brackets would end the marker or open another, and a marker never spans lines.
_UNWRITABLE = re.compile("[\\[\\]［］【】\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def check_label(label: Any) -> int | str:
    """Return a label as a plain `int` or `str`, or raise when no marker can hold it."""
    number = _whole_number(label)
    if number is not None:
        if 0 <= number <= MOST_NUMBER:
            return number
        raise PassageError(
            f"expected a label from 0 to {MOST_NUMBER}, got {seen(number)}: "
            "number the passages from 1"
        )
    if not isinstance(label, str):
        raise PassageError(
            f"expected an int or a str as a label, got {seen(label)}: "
            "use the passage's number or its name"
        )
    name = str.__str__(label)
    # Letters and digits tell labels apart: without any, it names nothing.
    if not any(map(str.isalnum, name)) or name != name.strip() or _UNWRITABLE.search(name):
        raise PassageError(
            f"expected a label on one line with a letter or a digit in it, got {seen(name)}: "
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


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise PassageError(f"expected str as its {name}, got {seen(value)}: convert it")
    return str.__str__(value)  # of a subclass, its characters alone


# Browsers strip spaces and controls, read a backslash as a slash, and quotes and angle
# brackets end an attribute in a page written without care.
_NOT_IN_URLS = re.compile(r"""[ "<>\\`]""")
# A name in any script, or what `urlsplit` accepted as an IPv6 address.
_HOST = re.compile(r"[0-9A-Za-z._\-\u0080-\U0010ffff]+|[0-9A-Fa-f:.]+")


def _url(name: str, value: Any) -> str:
    url = _text(name, value)
    if not _is_web_address(url):
        raise PassageError(
            f"expected an http or https URL with a host, without a user name and of at most "
            f"{MOST_URL} characters, got {seen(url)}: write it out in full, and spaces, quotes "
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


def _score(name: str, score: Any) -> float:
    try:
        number = math.nan if isinstance(score, str | bytes | bool) else float(score)
    except Exception:  # whatever a foreign number's own conversion raises
        number = math.nan
    if not math.isfinite(number):
        raise PassageError(
            f"expected a finite number as its {name}, got {seen(score)}: use None for none"
        )
    return number


def _metadata(name: str, metadata: Any) -> dict[str, Any]:
    if not isinstance(metadata, Mapping):
        raise PassageError(
            f"expected a mapping as its {name}, got {seen(metadata)}: make a dict of it"
        )
    try:
        return copy.deepcopy(dict(metadata))
    except Exception as error:  # whatever a value's own copying raises, RecursionError as well
        raise PassageError(
            f"expected {name} that can be copied, got {type(error).__name__}: "
            "leave out what belongs to the running process"
        ) from error


CHECKS: dict[str, _Check] = {
    **dict.fromkeys(("text", "id", "title", "place", "version"), _text),
    "url": _url,
    "score": _score,
    "metadata": _metadata,
}
"""What each field but the label is checked by: it gives the value to keep, or raises."""


def plain(value: Any, around: tuple[int, ...] = ()) -> Any:
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
        return {key: plain(item, around) for key, item in value.items() if isinstance(key, str)}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, around) for item in value]
    return None


def seen(value: object) -> str:
    """Return a value for an error or a log line: escaped, short, and only if it is plain."""
    if isinstance(value, str):
        return repr(value[:MOST_SEEN]) + "..." * (len(value) > MOST_SEEN)
    if value is None or isinstance(value, float | bool):
        return repr(value)
    if isinstance(value, int) and value.bit_length() <= MOST_BITS:
        return repr(int(value))
    return f"a value of type {type(value).__name__}"
