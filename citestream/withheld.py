"""Text of an answer that nobody has seen yet: kept, then shown or left out, sentence by sentence.

It does not know why a sentence is left out.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from citestream.events import Citation, Text

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MOST_REMOVED", "Withheld"]

MOST_REMOVED = 100
"""Removed markers in one place that are told of one by one; the summary counts them all."""

# What belongs to the sentence behind it: the white space before it, and at the
# start of a line the marks of a list or a quotation.
_LEAD = re.compile(
    r"(?:\A|(?<=[\r\n]))[^\S\r\n]*(?:(?:[>*+-]|[0-9]{1,9}[.)])[^\S\r\n]*)*\Z|[^\S\r\n]+\Z"
)
_BLANK_LINES = re.compile(r"\A(?:[^\S\r\n]*[\r\n])+")
_BLANKS = re.compile(r"\A[^\S\r\n]+")
_LINE_BREAK = re.compile(r"[\r\n]")


class Withheld:
    """The events that wait, by their place in the cleaned answer.

    Places are given as the filter counts them. What comes out is counted
    anew, so that it fits what the reader has seen.

    With a sentence that is left out goes the white space before it, or,
    where the next one goes on in the same line, the white space behind it.
    """

    __slots__ = ("_at", "_at_top", "_end", "_events", "_owed", "_removed", "_shown")

    def __init__(self) -> None:
        self._events: deque[Text | Citation] = deque()
        self._at = 0  # where the first of them begins
        self._end = 0  # where the last of them ends
        self._shown = 0  # how much has come out
        self._removed = 0  # removed markers in the place of the last event
        self._at_top = False  # has anything been left out before any of it?
        # The lead of a sentence that was left out: the next one may need it.
        self._owed: str | None = None

    def __len__(self) -> int:
        return self._end - self._at

    @property
    def shown(self) -> int:
        """How many characters have come out."""
        return self._shown

    def add(self, event: Text | Citation) -> None:
        """Keep the next event."""
        size = len(event.text)
        if size or (isinstance(event, Citation) and event.cited):
            self._removed = 0
        else:
            self._removed += 1
            if self._removed > MOST_REMOVED:
                return
        self._events.append(event)
        self._end += size

    def flow(self, end: int) -> list[Text | Citation]:
        """Let out what stands before `end` and belongs to no sentence, nor leads to one."""
        if end <= self._at:
            return []
        events = self._separated(self._taken(end))
        lead = self._without_lead(events)
        if self._owed is not None:
            self._owed = lead
        elif lead:
            self._events.appendleft(Text(lead))
            self._at -= len(lead)
        return self._out(events)

    def show(self, start: int, end: int) -> list[Text | Citation]:
        """Let out the sentence that stands there, and what is before it."""
        before = self._separated(self._taken(start))
        self._owed = None
        return self._out([*before, *self._taken(end, marks=True)])

    def omit(self, start: int, end: int) -> list[Text | Citation]:
        """Leave the sentence that stands there out, and let out what is before it."""
        before = self._separated(self._taken(start))
        self._owed = self._without_lead(before)
        self._taken(end, marks=True)
        out = self._out(before)
        self._at_top |= not self._shown
        return out

    def rest(self) -> list[Text | Citation]:
        """Let out all that is left, at the end."""
        events = self._separated(self._taken(self._end, marks=True))
        if self._owed:
            # Nothing follows that would need it.
            events = events[1:]
        self._owed = None
        return self._out(events)

    def clear(self) -> None:
        """Forget all that waits."""
        self._events.clear()
        self._at = self._end
        self._owed = None

    def _taken(self, end: int, *, marks: bool = False) -> list[Text | Citation]:
        """Take the events before `end`; with `marks` also those without text that stand there."""
        events = self._events
        taken: list[Text | Citation] = []
        while events:
            event = events[0]
            size = len(event.text)
            if self._at + size > end:
                if self._at < end and isinstance(event, Text):
                    cut = end - self._at
                    taken.append(Text(event.text[:cut]))
                    events[0] = Text(event.text[cut:])
                    self._at = end
                break
            if self._at == end and not marks:
                break
            self._at += size
            taken.append(events.popleft())
        return taken

    def _separated(self, events: list[Text | Citation]) -> list[Text | Citation]:
        """Put what is owed in the place of what follows a sentence that was left out."""
        owed = self._owed
        if owed is None:
            return events
        text = "".join([event.text for event in events if isinstance(event, Text)])
        if _LINE_BREAK.search(text) is None and not text.strip():
            # The next sentence is in the same line, and takes the place.
            kept: list[Text | Citation] = [e for e in events if isinstance(e, Citation)]
            return [Text(owed), *kept] if owed else kept
        self._owed = None
        # The rest of the line goes too: behind a closing fence it would open the code again.
        return _without_blanks(events)

    def _without_lead(self, events: list[Text | Citation]) -> str:
        """Take the lead of the next sentence off the end of the events and return it."""
        text = ""
        while events and isinstance(events[-1], Text):
            text = events.pop().text + text
        found = _LEAD.search(text)
        at = len(text) if found is None else found.start()
        # The line breaks before it go with it.
        at = len(text[:at].rstrip())
        if at:
            events.append(Text(text[:at]))
        return text[at:]

    def _out(self, events: Iterable[Text | Citation]) -> list[Text | Citation]:
        """Join the texts, and count the places anew."""
        out: list[Text | Citation] = []
        text = ""
        for event in events:
            if isinstance(event, Text):
                text += event.text
                continue
            self._put(text, out)
            text = ""
            start = self._shown
            self._shown += len(event.text)
            moved = event.start != start
            out.append(replace(event, start=start, end=self._shown) if moved else event)
        self._put(text, out)
        return out

    def _put(self, text: str, out: list[Text | Citation]) -> None:
        if self._at_top and not self._shown:
            # Nothing stands above it any more.
            text = _BLANK_LINES.sub("", text)
        if text:
            self._shown += len(text)
            out.append(Text(text))


def _without_blanks(events: list[Text | Citation]) -> list[Text | Citation]:
    """Return the events without the blanks that they begin with."""
    rest = list(events)
    while rest and isinstance(rest[0], Text):
        text = _BLANKS.sub("", rest[0].text)
        if text:
            rest[0] = Text(text)
            break
        del rest[0]
    return rest
