"""The short way through an answer: plain text, and markers as nearly all of them come.

While nothing is undecided, text is only searched, never walked; whatever needs
a second look is left to the long way, and the two cannot disagree since what
is left is gone over from where it began.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from citestream.events import Citation, Text
from citestream.mending import separator
from citestream.visible import Behind, Visible

if TYPE_CHECKING:
    from citestream.canonical import Quick
    from citestream.dialect import Dialect
    from citestream.tally import Tally

__all__ = ["MAY_LEAD", "ShortWay"]

MAY_LEAD = " (*_!"
"""What a chunk may end in that might go with a marker in the next one."""

# What a separator of a run begins with behind its space, and a destination.
_MAY_SEPARATE = " ,;&ao("

# Characters of a chunk that is matched as a whole; a longer one is searched.
_MOST_QUICK = 32

# Looking a member up on its class costs as much as a call in CPython 3.11.
_BEHIND_TEXT = Behind.TEXT


class ShortWay:
    """Filters while nothing is undecided but what the few characters that wait will be."""

    __slots__ = (
        "_common",
        "_events",
        "_idle",
        "_main",
        "_opener",
        "_other_opener",
        "_quick",
        "_resting",
        "_spread",
        "_tally",
        "_to_label",
        "_visible",
        "_waiting",
    )

    def __init__(self, tally: Tally, style: Dialect, visible: Visible, *, plain: bool) -> None:
        self._tally = tally
        self._visible = visible
        # What comes out of the chunk that is being fed.
        self._events: list[Text | Citation]
        # Whether nothing is undecided, and the text that waits all the same.
        self._resting = True
        self._waiting = ""
        # Whether text without brackets can go out as it is.
        self._idle = True
        self._main = style.open[0]
        self._other_opener = style.other_opener
        # Whether ASCII text without the main opener may have another one in
        # it; no text is without "".
        self._spread = style.spread
        self._opener = "" if self._spread else self._main
        self._common = style.common if plain else None
        self._quick = style.quick if plain else None
        self._to_label = style.to_label

    def _take_quick(self, quick: Quick, chunk: str) -> list[Text | Citation] | None:
        """Filter a small chunk in which a common marker begins, goes on or ends.

        Returns:
            What comes out, or `None` when this is not the way.
        """
        visible = self._visible
        if len(chunk) > _MOST_QUICK:
            return None
        if visible.behind is not _BEHIND_TEXT:
            return None if self._waiting else self._take_after_marker(chunk)
        text = self._waiting + chunk
        if self._spread and self._main not in text and self._other_opener.search(text) is None:
            if chunk[-1] in MAY_LEAD:
                return None
            self._waiting = ""
            visible.note(text)
            return [Text(text)]
        match = quick.fullmatch(text)
        if match is None:
            return None
        if visible.loose:
            visible.settle()
        if not visible.regions.clear:
            return None
        before, space, number, closed, after = match.groups()
        if not closed:
            self._idle = False
            if not before:
                self._waiting = text
                return []
            self._waiting = text[len(before) :]
            visible.loose.append(before)
            return [Text(before)]
        label = self._to_label(number)
        passages = self._tally.keep(label)
        if passages is None:
            return None
        self._waiting = ""
        before += space
        start = visible.offset + len(before)
        end = match.end(4)
        raw = text[len(before) : end]
        citation = Citation(raw, (label,), (), raw, passages, start, start + len(raw))
        visible.note_cited(text[:end])
        events: list[Text | Citation] = [Text(before), citation] if before else [citation]
        if after:
            visible.behind = _BEHIND_TEXT
            visible.loose.append(after)
            self._idle = True
            events.append(Text(after))
        else:
            self._idle = False
        return events

    def _take_after_marker(self, chunk: str) -> list[Text | Citation] | None:
        """Filter a small chunk of plain text right behind a kept marker, as `_take_quick` does."""
        first = chunk[1] if chunk[0] == " " and len(chunk) > 1 else chunk[0]
        if (
            first in _MAY_SEPARATE
            or chunk[-1] in MAY_LEAD
            or self._main in chunk
            or self._spread
            or not chunk.isascii()
        ):
            return None
        self._visible.behind = _BEHIND_TEXT
        self._visible.loose.append(chunk)
        self._idle = True
        return [Text(chunk)]

    def _rest(self, text: str) -> str:
        """Filter text while nothing is undecided, as long as only common markers come.

        Returns:
            What is left of the text: to be held, or to be gone over when the
            filter no longer rests.
        """
        visible = self._visible
        if self._main in text:
            text = self._rest_on_markers(text)
            if self._main in text:
                return text
        if not text:
            return ""
        if visible.behind is not _BEHIND_TEXT:
            first = text[0]
            if first == "(":
                self._resting = False
                return text
            if first in " ,;&" and separator(text, 0, len(text))[1]:
                return text
        if (self._spread or not text.isascii()) and self._other_opener.search(text):
            self._resting = False
            return text
        left = ""
        if text[-1] in MAY_LEAD:
            if text[-1] != " " or text[-2:-1] in MAY_LEAD or not visible.goes_on(text):
                self._resting = False
                return text
            text, left = text[:-1], " "
        visible.behind = _BEHIND_TEXT
        visible.note(text)
        self._events.append(Text(text))
        return left

    def _rest_on_markers(self, text: str) -> str:
        """Filter text with brackets, as far as they are markers of the common form.

        Returns:
            What is left. If there is a bracket in it, that is a common marker
            that has only begun, or else the filter no longer rests.
        """
        visible = self._visible
        common = self._common
        end = visible.prose_until(text) if common is not None else 0
        if not end or common is None:
            self._resting = False
            return text
        if self._spread or not text.isascii():
            wide = self._other_opener.search(text, 0, end)
            end = wide.start() if wide else end
        opener = self._main
        events = self._events
        keep = self._tally.keep
        offset = visible.offset
        behind_marker = visible.behind is not _BEHIND_TEXT
        pos = 0
        while True:
            start = text.find(opener, pos, end)
            if start < 0:
                self._resting = end == len(text)
                break
            if start > pos and (text[start - 1] == "!" or (behind_marker and text[pos] == "(")):
                self._resting = False
                break
            match = common.match(text, start)
            if match is None:
                self._resting = False
                break
            number, closed = match.groups()
            if not closed:
                # It has only begun. What may go with it waits as well.
                if start > pos and text[start - 1] == " ":
                    start -= 1
                if start > pos:
                    if behind_marker or text[start - 1] in MAY_LEAD:
                        self._resting = False
                    else:
                        if pos:
                            visible.note_cited(text[:pos])
                        before = text[pos:start]
                        visible.behind = _BEHIND_TEXT
                        visible.note(before)
                        events.append(Text(before))
                        return text[start:]
                break
            label = self._to_label(number)
            passages = keep(label)
            if passages is None:
                self._resting = False
                break
            if start > pos:
                events.append(Text(text[pos:start]))
            pos = match.end()
            raw = text[start:pos]
            events.append(Citation(raw, (label,), (), raw, passages, offset + start, offset + pos))
            behind_marker = True
        if pos:
            visible.note_cited(text[:pos])
            return text[pos:]
        return text
