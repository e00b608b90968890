"""An independent judge of what came out of an answer; it shares no code with the package.

It reads the answer and the visible text, never the events, with means of its
own: short regular expressions for markers, a CommonMark parser for code and
links. Where `semantics` leaves a choice it lets every choice pass, so that what
it reports is wrong beyond doubt.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache

from markdown_it import MarkdownIt

__all__ = ["changed_otherwise", "invented_in", "links_on_markers"]

# Zero-width and direction characters: they do not hide a marker.
HIDDEN = "\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
PAIRS = {"[": "]", "【": "】", "［": "］"}
OPENERS = "".join(PAIRS)
CLOSERS = "".join(PAIRS.values())

_AND = r" +and +|, *and +"
_ITEM = r"\d+(?:[-–‑]\d+)?"
_REST = rf"[^{re.escape(OPENERS + CLOSERS)}\n]*"
_WORDS = r"(?:sources?|docs?|documents?|refs?|references?|passages?|citations?)(?:[.:] *| +)"
# What may stand between the brackets, hidden characters taken out.
CONTENT = re.compile(
    rf" *(?P<word>{_WORDS})?"
    rf"(?P<labels>{_ITEM}(?: *(?:{_AND}|[,;，、&]) *{_ITEM})*)"
    rf" *(?:†{_REST}|(?P<tail>:{_REST}))?",
    re.IGNORECASE,
)
_NUMBER = re.compile(_ITEM)

# A longer number is no passage's: the reader of the text bounds them the same way.
DIGITS_MOST = 9
RANGE_MOST = 100


@dataclass(frozen=True)
class Reading:
    """What a bracket's content says when it is a marker."""

    kept: tuple[int, ...]
    """The supplied labels, in the order written."""
    invented: bool
    """Whether it names anything that was not supplied."""


def read_content(content: str, supplied: Collection[int]) -> Reading | None:
    """Read what stands between two brackets, or `None` where it is prose or in doubt."""
    bare = re.sub(f"[{HIDDEN}]", "", content)
    match = CONTENT.fullmatch(bare)
    if match is None or (match["tail"] and not match["word"]):
        return None
    kept: list[int] = []
    invented = False
    for item in _NUMBER.findall(match["labels"]):
        first, _, last = item.replace("–", "-").replace("‑", "-").partition("-")
        last = last or first
        if max(len(first.lstrip("0")), len(last.lstrip("0"))) > DIGITS_MOST:
            if first != last and len(first.lstrip("0")) >= len(last.lstrip("0")):
                return None
            # Too long a number, or too long a range.
            invented = True
            continue
        low, high = int(first), int(last)
        if low > high:
            return None
        if high - low + 1 > RANGE_MOST:
            invented = True
            continue
        for label in range(low, high + 1):
            if label in supplied:
                kept.append(label)
            else:
                invented = True
    return Reading(tuple(kept), invented)


# ---------------------------------------------------------------------------
# No invented marker is visible


def invented_in(visible: str, supplied: Collection[int]) -> list[str]:
    """Give the invented markers that a reader sees outside what is not prose."""
    found = []
    for start, end in _innermost_brackets(visible):
        reading = read_content(visible[start + 1 : end - 1], supplied)
        if reading is not None and reading.invented and not _may_be_no_prose(visible, start, end):
            found.append(visible[start:end])
    return found


def _innermost_brackets(text: str) -> Iterator[tuple[int, int]]:
    for opener, closer in PAIRS.items():
        pattern = rf"{re.escape(opener)}[^{re.escape(OPENERS + CLOSERS)}\n\r]*{re.escape(closer)}"
        for match in re.finditer(pattern, text):
            yield match.span()


def _may_be_no_prose(text: str, start: int, end: int) -> bool:
    before, after = text[:start], text[end:]
    return (
        before.endswith("\\")
        or _in_url(before, text[start:end], after)
        or _in_maths(before, after)
        or (("`" in before or "~~~" in before) and _in_code(text, start, end))
    )


def _in_url(before: str, bracket: str, after: str) -> bool:
    run = re.split(r"\s", before)[-1]
    if not re.search(r"://|www\.|mailto:", run):
        return False
    if re.search(r"\s", bracket):
        return False
    return bool(after) and (after[0].isalnum() or after[0] in "/=&%#+~@?-")


def _in_maths(before: str, after: str) -> bool:
    if "\\(" in before and "\\)" in after:
        return True
    if "\\[" in before and "\\]" in after:
        return True
    opens = re.search(r"\$(?=[^\s\d]|$)", before)
    closes = re.search(r"(?<!\s)\$", "x" + after)
    return bool(opens and closes) or ("$$" in before and "$$" in after)


@cache
def _parsers() -> list[MarkdownIt]:
    # Whether HTML and indented code take part is left open: a marker is in
    # prose only when every reading says so.
    plain = MarkdownIt("commonmark")
    bare = MarkdownIt("commonmark", {"html": False}).disable(["html_block", "html_inline", "code"])
    return [plain, bare]


def _in_code(text: str, start: int, end: int) -> bool:
    # A word of private-use characters takes the marker's place; where the
    # parser puts it is where the marker is.
    sentinel = "\ue000\ue001"
    marked = text[:start] + sentinel + text[end:]
    for parser in _parsers():
        for token in parser.parse(marked):
            if token.type == "fence" and sentinel in token.content + token.info:
                return True
            if token.type == "html_block" and sentinel in token.content:
                return True
            for child in token.children or []:
                if child.type in {"code_inline", "html_inline"} and sentinel in child.content:
                    return True
    return False


def links_on_markers(visible: str) -> list[str]:
    """Give the links that a Markdown renderer would make of, or around, a kept marker."""
    if any(char in visible for char in "\\&$"):
        return []  # escapes and entities build brackets that are no markers, and maths is no prose
    found = []
    for token in _parsers()[0].parse(visible):
        depth = 0
        text = ""
        for child in token.children or []:
            if child.type == "link_open" and child.markup != "autolink":
                depth += 1
            elif child.type == "link_close" and child.markup != "autolink":
                depth -= 1
                if _holds_marker(text):
                    found.append(text)
                text = ""
            elif child.type == "image" and _holds_marker(child.content):
                found.append("!" + child.content)
            elif depth and child.type == "text":
                text += child.content
            elif depth:
                text += "\0"
    return found


def _holds_marker(text: str) -> bool:
    return bool(
        re.fullmatch(rf"[{HIDDEN}]*\d+(?:, \d+)*[{HIDDEN}]*", text)
        or re.search(r"\[\d+(?:, \d+)*\]", text)
    )


# ---------------------------------------------------------------------------
# Nothing else changes

_DESTINATION = re.compile(
    r"\(\s*(?:<[^<>\n]*>|(?![\[【［])(?:[^\s()\\]|\\.|\([^\s()]*(?:\([^\s()]*\)[^\s()]*)*\))*)"
    r"(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*\)"
)
_SEPARATOR = re.compile(r" ?(?:[,;] ?(?:(?:and|or)\b|&)?|\b(?:and|or)\b|&) ?")
_WRAPPERS = [("(", ")"), ("**", "**"), ("*", "*"), ("__", "__"), ("_", "_")]
_KEPT = re.compile(r"\[\d+(?:, \d+)*\]\Z")
_BLANKS = re.compile(r"[\t\u00a0\u2000-\u200a\u202f\u205f\u3000]")
# A cut marker is no longer than what may be held.
_CUT_MOST = 600
# The start of a line: surely, where a space before a marker stays, and perhaps,
# where one after it may go.
_LINE_START = re.compile(r" {0,3}(?:(?:[-*+]|#{1,6}) {1,3})?\Z")
_MAYBE_LINE_START = re.compile(r"[ \t>]*(?:(?:[-*+]|\d+[.)]|#{1,6})[ \t]+>*[ \t]*)*\Z")
# Below this, a marker can be held whole, and its closing bracket is never dropped alone.
_SURELY_HELD = 200
NESTED_MOST = 4


def changed_otherwise(answer: str, visible: str, supplied: Collection[int]) -> str | None:
    """Say how far the visible text can be had from the answer by allowed edits alone.

    Allowed are: a marker removed with its surroundings, a kept one rewritten
    without its link, one space to set it apart, the closing bracket of one
    too long to hold, and what the end cut.

    Returns:
        `None` when all of it can, otherwise the longest part that can.
    """
    return _Alignment(answer, visible, frozenset(supplied)).fault()


class _Alignment:
    def __init__(self, answer: str, visible: str, supplied: frozenset[int]) -> None:
        self._answer = answer
        self._visible = visible
        self._supplied = supplied
        self._markers: dict[int, list[tuple[int, Reading]]] = {}
        self._gone: dict[tuple[int, int], set[int]] = {}
        self._inside: dict[int, set[int]] = {}

    def fault(self) -> str | None:
        answer, visible = self._answer, self._visible
        # From the end on, so that what is nested is known before what it is nested in.
        for at in reversed(range(len(answer))):
            self._markers_at(at)
        reached: list[set[int]] = [set() for _ in range(len(answer) + 1)]
        reached[0].add(0)
        furthest = (0, 0)
        for at in range(len(answer) + 1):
            seen = reached[at]
            waiting = list(seen)
            while waiting:
                shown = waiting.pop()
                furthest = max(furthest, (shown, at))
                for next_at, next_shown in self._edits(at, shown):
                    if next_at > at:
                        reached[next_at].add(next_shown)
                    elif next_shown not in seen:
                        seen.add(next_shown)
                        waiting.append(next_shown)
        if len(visible) in reached[len(answer)]:
            return None
        shown, at = furthest
        return f"{visible[:shown]!r} from {answer[:at]!r}"

    def _edits(self, at: int, shown: int) -> Iterator[tuple[int, int]]:
        answer, visible = self._answer, self._visible
        next_shown = visible[shown : shown + 1]
        char = answer[at : at + 1]
        if char and char == next_shown:
            yield at + 1, shown + 1
        # Set apart from what would make a link of a kept marker.
        if next_shown == " " and visible[:shown].endswith("]") and char and char in "([【［]:":
            yield at, shown + 1
        if not char:
            return
        # A link's destination that meets a kept marker once what stood between is gone.
        if char == "(" and _KEPT.search(visible[max(0, shown - 400) : shown]):
            destination = _DESTINATION.match(answer, at)
            if destination:
                yield destination.end(), shown
        for end, reading in self._markers_at(at):
            for labels in (reading.kept, tuple(dict.fromkeys(reading.kept))):
                written = f"[{', '.join(map(str, labels))}]"
                if labels and visible.startswith(written, shown):
                    yield end, shown + len(written)
        for end in self._removals_at(at, shown):
            yield end, shown
            if next_shown == " ":
                yield end, shown + 1
        if char in CLOSERS and self._closes_what_was_too_long(shown, char):
            yield at + 1, shown
        if char in " ,;&ao![【［" and self._is_cut(at):
            yield len(answer), shown

    def _is_cut(self, at: int) -> bool:
        """Whether a marker begins here, or after a separator, that the end cuts."""
        starts = {at, at + 1} if self._answer.startswith(" ", at) else {at}
        if separator := _SEPARATOR.match(self._answer, at):
            starts.add(separator.end())
        return any(self._is_open_to_the_end(start) for start in starts)

    def _is_open_to_the_end(self, at: int) -> bool:
        rest = self._answer[at:]
        opener = 1 if rest.startswith("!") else 0
        if rest[opener : opener + 1] not in PAIRS or len(rest) > _CUT_MOST:
            return False
        open_brackets = 0
        for char in rest[opener:]:
            open_brackets += (char in OPENERS) - (char in CLOSERS)
            if not open_brackets or char in "\r\n":
                return False
        return any(char.isdecimal() for char in rest)

    def _closes_what_was_too_long(self, shown: int, closer: str) -> bool:
        line = re.split(r"[\n\r]", self._visible[:shown])[-1]
        opener = next(opener for opener, other in PAIRS.items() if other == closer)
        opened = line.rfind(opener)
        content = _BLANKS.sub(" ", line[opened + 1 :])
        if opened < 0 or read_content(content, self._supplied) is None:
            return False
        nested = 0
        for char in line:
            nested = nested + 1 if char in OPENERS else max(0, nested - (char in CLOSERS))
        return len(line) - opened > _SURELY_HELD or nested > NESTED_MOST

    def _removals_at(self, at: int, shown: int) -> set[int]:
        """Give where a removal that begins here, surroundings included, may end."""
        answer, visible = self._answer, self._visible
        line = visible[:shown].rpartition("\n")[2]
        starts = {at}
        if answer[at] == " " and not _LINE_START.match(line + " "):
            starts.add(at + 1)
        if at and answer[at - 1] in CLOSERS + ")*_":
            separator = _SEPARATOR.match(answer, at)
            if separator:
                starts.add(separator.end())
        ends = set[int]()
        for start in starts:
            ends |= self._units_at(start, 1)
        for end in list(ends):
            after = answer[end : end + 1]
            if after == " " and _MAYBE_LINE_START.match(line.rpartition("\r")[2]):
                ends.add(end + 1)
            if after == "." and visible[:shown].endswith("."):
                ends.add(end + 1)
            separator = _SEPARATOR.match(answer, end)
            if separator and self._marker_follows(separator.end()):
                ends.add(separator.end())
        return ends

    def _marker_follows(self, at: int) -> bool:
        return any(
            self._answer.startswith(opening, at) and self._markers_at(at + len(opening))
            for opening in ("", *(opening for opening, _ in _WRAPPERS))
        ) or (at < len(self._answer) and self._is_cut(at))

    def _units_at(self, at: int, levels: int) -> set[int]:
        """Give the ends of what may vanish here: an invented marker, or a wrapper of them."""
        key = (at, levels)
        if key in self._gone:
            return self._gone[key]
        ends = {end for end, reading in self._markers_at(at) if not reading.kept}
        if levels:
            for opening, closing in _WRAPPERS:
                if self._answer.startswith(opening, at):
                    for end in self._chain(at + len(opening), 0):
                        if self._answer.startswith(closing, end):
                            ends.add(end + len(closing))
        self._gone[key] = ends
        return ends

    def _chain(self, at: int, levels: int) -> set[int]:
        """Give the ends of one or more invented markers in a row, separators between them."""
        ends = set[int]()
        starts = {at, at + 1} if self._answer.startswith(" ", at) else {at}
        waiting = [end for start in starts for end in self._units_at(start, levels)]
        while waiting:
            end = waiting.pop()
            if end in ends:
                continue
            ends.add(end)
            separator = _SEPARATOR.match(self._answer, end)
            nexts = {end, separator.end() if separator else end}
            if self._answer.startswith(" ", end):
                nexts.add(end + 1)
            for following in nexts:
                waiting += self._units_at(following, levels)
        return ends

    def _markers_at(self, at: int) -> list[tuple[int, Reading]]:
        """Read the markers that begin here: with pairs around them, an image's sign, a link."""
        known = self._markers.get(at)
        if known is not None:
            return known
        found: list[tuple[int, Reading]] = []
        self._markers[at] = found
        # An image's sign belongs to a marker only where a link follows it; it may
        # have come to stand before the marker when others went from between them.
        image = self._answer.startswith("!", at)
        brackets = {at + 1, *self._gone_inside(at + 1)} if image else {at}
        for bracket in brackets:
            if self._answer[bracket : bracket + 1] not in PAIRS:
                continue
            for end, readings in self._bracketed(bracket):
                destination = _DESTINATION.match(self._answer, end)
                for reading in readings:
                    if destination:
                        found.append((destination.end(), reading))
                    if not image:
                        found.append((end, reading))
        return found

    def _bracketed(self, at: int) -> list[tuple[int, list[Reading]]]:
        """Read the bracket that begins here, and what is nested in it, as a marker."""
        answer = self._answer
        closer = PAIRS[answer[at]]
        # Each way to read the content: the text so far, and the one marker that it is so far.
        ways: dict[int, set[tuple[str, Reading | None]]] = {at + 1: {("", None)}}
        found: dict[int, list[Reading]] = {}
        for here in range(at + 1, len(answer)):
            if here not in ways:
                continue
            char = answer[here]
            for content, inner in ways.pop(here):
                if char == closer:
                    # Whether other blanks than the space may stand in a marker is left open.
                    reading = inner or read_content(_BLANKS.sub(" ", content), self._supplied)
                    if reading is not None:
                        found.setdefault(here + 1, []).append(reading)
                    continue
                if char in "\r\n" or char in CLOSERS:
                    continue
                for end in self._gone_inside(here):
                    for text in {content, content + " ", content.removesuffix(" ")}:
                        ways.setdefault(end, set()).add((text, inner))
                if char in OPENERS + "!" and not content.strip() and inner is None:
                    for end, reading in self._markers_at(here):
                        ways.setdefault(end, set()).add((content, reading))
                if char not in OPENERS and (inner is None or char == " "):
                    ways.setdefault(here + 1, set()).add((content + char, inner))
        return list(found.items())

    def _gone_inside(self, at: int) -> set[int]:
        """Give the ends of what may vanish here inside a bracket, its last separator included."""
        known = self._inside.get(at)
        if known is not None:
            return known
        ends = self._inside[at] = self._chain(at, 1)
        for end in list(ends):
            separator = _SEPARATOR.match(self._answer, end)
            if separator and self._marker_follows(separator.end()):
                ends.add(separator.end())
        return ends
