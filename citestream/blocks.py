"""What kind of line begins: containers, fences, headings, rules, as in CommonMark.

It reads one line at a time, whole or only its beginning; it does not know what
stands inside the line.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple

__all__ = ["Kind", "Line", "read_line"]

QUOTE = -1
"""A container that is a block quote; any other is the width of a list item's indentation."""

# Names that begin an HTML block of CommonMark's kinds 1 and 6.
_BLOCK_NAMES = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|"
    "dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|"
    "header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|"
    "param|pre|script|search|section|style|summary|table|tbody|td|textarea|tfoot|th|thead|title|"
    "tr|track|ul"
)
_BLANKS = re.compile(r"[ \t]*")
_QUOTE_MARK = re.compile(r" {0,3}>")
_ITEM = re.compile(r"(?:[-+*]|(\d{1,9})[.)])(?=[ \t]|\Z)")
_MAY_BE_ITEM = re.compile(r"(?:[-+*]|\d{1,9}[.)]?)\Z")
_RULE = re.compile(r"(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})\Z")
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*\Z")
_MAY_BE_RULE = re.compile(r"(?:\*[* \t]*|-[- \t]*|_[_ \t]*|=+[ \t]*)\Z")
_HEADING = re.compile(r"#{1,6}(?:[ \t]+|\Z)")
_MAY_BE_HEADING = re.compile(r"#{1,6}[ \t]*\Z")
_FENCE = re.compile(r"`{3,}|~{3,}")
_MAY_BE_FENCE = re.compile(r"(?:`+|~+)\Z")
_FENCE_END = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*\Z")
_MAY_BE_FENCE_END = re.compile(r" {0,3}(?:`*|~*)[ \t]*\Z")
_HTML = re.compile(
    rf"<(?:!--|\?|![A-Za-z]|!\[CDATA\[|/?(?:{_BLOCK_NAMES})(?:[ \t>]|/>|\Z))", re.IGNORECASE
)
_MAY_BE_HTML = re.compile(r"<(?:!-?|!\[C?D?A?T?A?|/?[A-Za-z0-9]{0,10}/?)\Z")


class Kind(Enum):
    """What a line is."""

    WAIT = auto()
    """It depends on text still to come."""
    BLANK = auto()
    RULE = auto()
    """A thematic break, or the underline of a heading: the line ends a paragraph and holds none."""
    FENCE = auto()
    """It opens fenced code."""
    MAY_BE_FENCE = auto()
    """It opens fenced code unless another backtick follows on the line."""
    FENCED = auto()
    """It is inside fenced code."""
    FENCE_END = auto()
    HEADING = auto()
    HTML = auto()
    """An HTML block may begin: in doubt."""
    PARAGRAPH = auto()
    """A paragraph begins."""
    CONTINUATION = auto()
    """The paragraph goes on."""


# Looking a member up on its class costs as much as a call in CPython 3.11.
_KIND_BLANK = Kind.BLANK
_KIND_CONTINUATION = Kind.CONTINUATION
_KIND_FENCE = Kind.FENCE
_KIND_FENCED = Kind.FENCED
_KIND_FENCE_END = Kind.FENCE_END
_KIND_HEADING = Kind.HEADING
_KIND_HTML = Kind.HTML
_KIND_MAY_BE_FENCE = Kind.MAY_BE_FENCE
_KIND_PARAGRAPH = Kind.PARAGRAPH
_KIND_RULE = Kind.RULE
_KIND_WAIT = Kind.WAIT


class Line(NamedTuple):
    """A line, as far as its beginning tells."""

    kind: Kind
    at: int = 0
    """Where its own text begins, behind containers, bullets, marks and indentation."""
    containers: tuple[int, ...] = ()
    """The containers it is in."""
    run: str = ""
    """The run of backticks or tildes that opens a fence."""


_WAIT = Line(_KIND_WAIT)


def read_line(
    line: str,
    containers: tuple[int, ...],
    *,
    fence: str,
    paragraph: bool,
    complete: bool,
    may_wait: bool,
) -> Line:
    """Find out what kind of line this is.

    Args:
        line: The line without what ends it, or its beginning.
        containers: Those open on the line before.
        fence: The run that opened the fenced code the line before was in.
        paragraph: Whether a paragraph is open.
        complete: Whether `line` is all of the line.
        may_wait: Whether to answer WAIT when more of the line could tell.
    """
    at, matched = _continued(line, containers, complete)
    if at < 0:
        if may_wait:
            return _WAIT
        at = ~at
    whole = matched == len(containers)
    if fence and whole:
        rest = line[at:]
        if may_wait and _MAY_BE_FENCE_END.match(rest):
            return _WAIT
        match = _FENCE_END.match(rest) if complete else None
        if match and match[1].startswith(fence):
            return Line(_KIND_FENCE_END, len(line), containers)
        return Line(_KIND_FENCED, at, containers)
    if fence:
        paragraph = False
    old = containers
    containers = containers[:matched]
    begun = False
    while True:
        match = _BLANKS.match(line, at)
        assert match is not None  # the pattern matches the empty string
        indent = _width(match[0])
        body = line[match.end() :]
        if not body:
            if may_wait:
                return _WAIT
            if complete:
                return Line(_KIND_BLANK, len(line), containers)
            break
        if indent >= 4:
            break
        if body[0] == ">":
            if may_wait and len(body) == 1:
                return _WAIT
            at = match.end() + (2 if body[1:2] in {" ", "\t"} else 1)
            containers = (*containers, QUOTE)
            begun = True
            continue
        if may_wait and (_MAY_BE_RULE.match(body) or _MAY_BE_ITEM.match(body)):
            return _WAIT
        goes_on = paragraph and whole and not begun
        if complete and (_RULE.match(body) or (goes_on and _UNDERLINE.match(body))):
            return Line(_KIND_RULE, len(line), containers)
        item = _ITEM.match(body)
        if item is None:
            break
        after = body[item.end() :]
        blanks = len(after) - len(after.lstrip(" \t"))
        empty = not after.strip()
        if empty and may_wait:
            return _WAIT
        if goes_on and (empty or item[1] not in {None, "1"}):
            # Such an item does not interrupt a paragraph.
            break
        if empty or _width(after[:blanks]) > 4:
            blanks = min(blanks, 1)
        containers = (*containers, indent + item.end() + max(1, _width(after[:blanks])))
        at = match.end() + item.end() + blanks
        begun = True
    start = match.end()
    if indent < 4 and body:
        if may_wait and _MAY_BE_FENCE.match(body):
            return _WAIT
        opening = _FENCE.match(body)
        if opening:
            rest = body[opening.end() :]
            if opening[0][0] == "~" or (complete and "`" not in rest):
                return Line(_KIND_FENCE, start + opening.end(), containers, opening[0])
            if "`" not in rest:
                return Line(_KIND_MAY_BE_FENCE, start + opening.end(), containers, opening[0])
        if may_wait and _MAY_BE_HEADING.match(body):
            return _WAIT
        heading = _HEADING.match(body)
        if heading:
            return Line(_KIND_HEADING, start + heading.end(), containers)
        if may_wait and _MAY_BE_HTML.match(body):
            return _WAIT
        if _HTML.match(body):
            return Line(_KIND_HTML, start, containers)
    if paragraph and not begun:
        # Without new containers a paragraph goes on, even outside its own.
        return Line(_KIND_CONTINUATION, start, old)
    return Line(_KIND_PARAGRAPH, start, containers)


def _continued(line: str, containers: tuple[int, ...], complete: bool) -> tuple[int, int]:
    """Return where the containers that go on end, and how many they are.

    The complement of the place is returned when more of the line could tell.
    """
    at = 0
    for count, container in enumerate(containers):
        match = _BLANKS.match(line, at)
        assert match is not None  # the pattern matches the empty string
        blank = match.end() == len(line)
        if container == QUOTE:
            mark = _QUOTE_MARK.match(line, at)
            if mark is None:
                return (at if complete or not blank else ~at), count
            at = mark.end()
            if at == len(line) and not complete:
                return ~at, count + 1
            if line[at : at + 1] in {" ", "\t"}:
                at += 1
        elif blank:
            if not complete and _width(match[0]) < container:
                return ~at, count
            at = min(at + container, len(line)) if not complete else at
        elif _width(match[0]) < container:
            return at, count
        else:
            at += _columns(line, at, container)
    return at, len(containers)


def _width(blanks: str) -> int:
    return len(blanks.expandtabs(4)) if "\t" in blanks else len(blanks)


def _columns(line: str, at: int, width: int) -> int:
    """Return how many characters of indentation make up `width` columns."""
    seen = 0
    count = 0
    while seen < width:
        seen += 4 - seen % 4 if line[at + count] == "\t" else 1
        count += 1
    return count
