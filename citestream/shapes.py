"""Markers of label style: what they may look like, given the labels that were supplied.

A bracket is one when its content is a supplied label, several of them, or has
the shape of one; whether a label has a passage is not decided here.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from citestream.grammar import Machine
from citestream.labels import begins_one, written_form
from citestream.typography import BREAKS, PAIRS, fold, fold_char

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from citestream.labels import Names

__all__ = ["LabelForm", "LabelMachine", "Shapes", "label_machine", "split"]

_LIST = ",;\u3001&"
_BRACKETS = frozenset("".join(f"{opener}{closer}" for opener, closer in PAIRS.items()))
_NEVER = _BRACKETS | frozenset(f"{BREAKS}`$\\")

# A leading word goes up to a blank, a digit or what joins the parts of a label.
_word = re.compile(r"[^\W\d_]+|[^\w\s]+(?:[^\W\d_]+)?")
_symbols = re.compile(r"[^\w\s]+")
_extension = re.compile(r"[^.](\.(?=[a-z0-9]*[a-z])[a-z0-9]{1,8})$", re.IGNORECASE)
_separator = re.compile(rf" ?[{_LIST}] ?(?:and )?| and ", re.IGNORECASE)


class _Place(NamedTuple):
    """How far a marker has come in one way of reading it."""

    closer: str
    kind: str
    """What is being read: an item's `begin`, a `label`, a `lead`, the `rest` behind one, and
    so on."""
    data: str = ""


class Shapes:
    """What the supplied labels have in common with those that were made up after them."""

    def __init__(self, labels: Iterable[str]) -> None:
        leads: set[str] = set()
        symbols: set[str] = set()
        self.extensions: set[str] = set()
        """How names of files end, with the full stop."""
        self.blanks = False
        """Whether names of files have blanks in them."""
        self.digits = False
        """Whether labels are made of digits alone."""
        for label in labels:
            lead = _word.match(label)
            if lead:
                leads.add(lead[0].casefold())
            symbol = _symbols.match(label)
            if symbol:
                symbols.add(symbol[0])
            if label.isdecimal():
                self.digits = True
            extension = _extension.search(label)
            if extension:
                self.extensions.add(extension[1].casefold())
                self.blanks = self.blanks or " " in label
        self.leads = frozenset(leads | symbols)
        """The leading words and symbols."""
        self.begins = frozenset(lead[:count] for lead in self.leads for count in range(len(lead)))
        """What is the beginning of one."""
        self.longest = max(map(len, self.extensions), default=0)

    def leads_at(self, text: str, at: int) -> bool:
        """Return whether a leading word or symbol stands at a place of a folded text."""
        for end in range(at + 1, len(text)):
            word = text[at:end].casefold()
            if word in self.leads and _parts_from(word, text[end]):
                return True
            if word not in self.begins and word not in self.leads:
                return False
        return False

    def ends_as_file(self, text: str) -> bool:
        """Return whether a text ends as the supplied names of files do."""
        return any(map(text.casefold().endswith, self.extensions))


def _parts_from(lead: str, char: str) -> bool:
    """Return whether a character behind a leading word begins something else."""
    if not lead[-1].isalpha():
        return True
    return not (char.isalpha() or unicodedata.combining(char))


class LabelMachine(Machine):
    """Follows a marker whose content is made of supplied labels, or has their shape.

    The labels are looked up as they are met: however many there are, only
    what a text comes across costs anything.
    """

    def __init__(
        self, ordered: tuple[str, ...], broader: frozenset[str], openers: str, *, hierarchical: bool
    ) -> None:
        super().__init__()
        self._ordered = ordered
        self._hierarchical = hierarchical
        self.shapes = Shapes(ordered)
        """What the supplied labels have in common."""
        self._never = _NEVER | frozenset(openers)
        self._complete = frozenset(ordered) | broader
        self.start = self._state(frozenset({_Place("", "open")}))

    def is_whole(self, places: Hashable) -> bool:
        """Return whether one way of reading it ends here."""
        assert isinstance(places, frozenset)  # it made them
        return any(place.kind == "closed" for place in places)

    def _advance(self, places: Hashable, char: str) -> Hashable | None:
        assert isinstance(places, frozenset)
        after: set[_Place] = set()
        plain = fold_char(char)
        for place in places:
            if place.kind == "open":
                if char in PAIRS:
                    after.add(_Place(PAIRS[char], "begin"))
            elif char == place.closer:
                if self._may_close(place):
                    after.add(_Place(char, "closed"))
            elif place.kind != "closed" and char not in self._not_in(place.kind):
                here = {place}
                for part in plain:
                    here = {then for now in here for then in self._on(now, part)}
                after |= here
        return frozenset(after) or None

    def _not_in(self, kind: str) -> frozenset[str]:
        # A supplied label may hold what opens markers of another style.
        return _NEVER if kind == "label" else self._never

    def _may_close(self, place: _Place) -> bool:
        match place.kind:
            case "label":
                return place.data.rstrip(" ") in self._complete
            case "name":
                return place.data.rstrip(" ").endswith(tuple(self.shapes.extensions))
            case kind:
                return kind in ("behind", "numbered", "part", "digits")

    def _on(self, place: _Place, char: str) -> set[_Place]:
        """Return where a plain character leads to."""
        closer, kind, data = place
        match kind:
            case "begin":
                return self._begin(place, char)
            case "label":
                return self._in_label(place, char)
            case "lead":
                return self._in_lead(place, char)
            case "rest":
                return {_Place(closer, "numbered") if char.isdigit() else place}
            case "numbered" | "part":
                return {place}
            case "name":
                return self._in_name(place, char)
            case "digits":
                if char.isdecimal():
                    return {place}
                return self._behind(closer, char)
            case "behind":
                return self._behind(closer, char)
        assert kind == "and"  # there are no others
        word = data + char.lower()
        if word == "and ":
            return {_Place(closer, "begin")}
        return {_Place(closer, "and", word)} if "and ".startswith(word) else set()

    def _begin(self, place: _Place, char: str) -> set[_Place]:
        if char == " ":
            return {place}
        after = self._in_label(_Place(place.closer, "label"), char)
        after |= self._in_lead(_Place(place.closer, "lead"), char)
        if self.shapes.extensions:
            after |= self._in_name(_Place(place.closer, "name"), char)
        if self.shapes.digits and char.isdecimal():
            after.add(_Place(place.closer, "digits"))
        if place.data == "," and char in "aA":
            after.add(_Place(place.closer, "and", "a"))
        return after

    def _in_label(self, place: _Place, char: str) -> set[_Place]:
        closer, _, data = place
        if char == " " and data.endswith(" "):
            return {place}
        after: set[_Place] = set()
        if begins_one(self._ordered, data + char):
            after.add(_Place(closer, "label", data + char))
        if data.rstrip(" ") in self._complete:
            if char == " ":
                after.add(_Place(closer, "behind"))
            else:
                after |= self._behind(closer, char)
        return after

    def _in_lead(self, place: _Place, char: str) -> set[_Place]:
        closer, _, data = place
        after: set[_Place] = set()
        word = data + char.casefold()
        if word in self.shapes.leads or word in self.shapes.begins:
            after.add(_Place(closer, "lead", word))
        if data in self.shapes.leads and _parts_from(data, char):
            after.add(_Place(closer, "numbered" if char.isdigit() else "rest"))
        return after

    def _in_name(self, place: _Place, char: str) -> set[_Place]:
        closer, _, data = place
        after: set[_Place] = set()
        if char not in _LIST and (char != " " or self.shapes.blanks):
            # One character more than the ending, since a name is more than that.
            tail = (data + char.casefold())[-self.shapes.longest - 1 :]
            after.add(_Place(closer, "name", tail))
        if data and self._may_close(place):
            after |= self._behind(closer, char)
        return after

    def _behind(self, closer: str, char: str) -> set[_Place]:
        """Return where a character behind a whole label leads to."""
        if char == " ":
            return {_Place(closer, "behind")}
        if char == "&":
            return {_Place(closer, "begin")}
        after: set[_Place] = set()
        if char in _LIST:
            after.add(_Place(closer, "begin", ","))
        if char in "aA":
            after.add(_Place(closer, "and", "a"))
        if self._hierarchical and char in "(,":
            after.add(_Place(closer, "part"))
        return after


@lru_cache(maxsize=8)  # a process has a few sets of labels that do not change
def label_machine(
    ordered: tuple[str, ...], broader: frozenset[str], openers: str, *, hierarchical: bool
) -> LabelMachine:
    """Return what follows the markers of some labels; what one answer made of it serves all.

    Args:
        ordered: What the labels fold to, in the order of characters.
        broader: What is broader than one of them.
        openers: The characters that a marker of any active style can begin with.
        hierarchical: Whether a broader or narrower label is one as well.
    """
    return LabelMachine(ordered, broader, openers, hierarchical=hierarchical)


class LabelForm:
    """How the passages' own labels stand in a marker."""

    numeric = False
    """Whether labels are numbers."""

    def __init__(self, most_held: int) -> None:
        self._most_held = most_held

    def write(self, labels: tuple[int | str, ...]) -> str:
        """Return the canonical form of a marker that names `labels`."""
        return f"[{', '.join(map(str, labels))}]"

    def can_write(self, label: int | str) -> bool:
        """Return whether a marker can name `label`."""
        return (
            isinstance(label, str)
            and not _NEVER & set(label)
            and len(label) + 2 <= self._most_held
            and fold(label) != ""
        )

    def has_label(self, raw: str) -> bool:
        """Return whether a marker that the end cut has at least one character of a label."""
        return fold(raw[1:]) != ""


def split(content: str, names: Names, shapes: Shapes) -> list[str]:
    """Return the labels in a marker: the longest supplied one first, then what has its shape.

    Each is a supplied label, or what was written, folded.
    """
    text = fold(content)
    gaps = [(match.start(), match.end()) for match in _separator.finditer(text)]
    ends = [start for start, _ in gaps] + [len(text)]
    nexts = dict([*gaps, (len(text), len(text))])
    longest = max(map(len, names.ordered), default=0)

    def supplied(at: int) -> list[int]:
        return [
            end
            for end in reversed(ends)
            if at < end <= at + longest and text[at:end] in names.folded
        ]

    def begins_at(at: int) -> bool:
        if at == len(text) or shapes.leads_at(text, at) or supplied(at):
            return True
        end = next(end for end in ends if end >= at)
        return shapes.ends_as_file(text[at:end])

    found: list[str] = []
    at = 0
    while at < len(text):
        # What follows a supplied label begins another one, or they are one.
        end = next((end for end in supplied(at) if begins_at(nexts[end])), 0)
        if end:
            found.append(str(names.folded[text[at:end]]))
        else:
            gap = (
                start
                for start, after in gaps
                if start > at and after < len(text) and begins_at(after)
            )
            end = next(gap, len(text))
            found.append(written_form(text[at:end]))
        at = nexts[end]
    return found
