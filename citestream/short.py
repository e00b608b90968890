"""The short way through an answer: plain text, and markers as nearly all of them come.

While nothing is undecided, text is only searched, never walked; whatever needs
a second look is left to the long way, and the two cannot disagree since what
is left is gone over from where it began.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from citestream.events import Citation, Text
from citestream.mending import needs_space, separator
from citestream.visible import Behind, Visible

if TYPE_CHECKING:
    from citestream.dialect import Dialect
    from citestream.tally import Tally
    from citestream.writing import Writer

__all__ = ["MAY_LEAD", "ShortWay"]

MAY_LEAD = " (*_!"
"""What a chunk may end in that might go with a marker in the next one."""

# Characters that are matched as a whole; a longer text is searched.
_MOST_QUICK = 64

# Looking a member up on its class costs as much as a call in CPython 3.11.
_BEHIND_MARKER = Behind.MARKER
_BEHIND_TEXT = Behind.TEXT


class ShortWay(ABC):
    """Filters while nothing is undecided but what the few characters that wait will be."""

    __slots__ = (
        "_common",
        "_dropped",
        "_dropped_at",
        "_events",
        "_loose",
        "_marker",
        "_resting",
        "_stop",
        "_style",
        "_tally",
        "_visible",
        "_waiting",
        "_writer",
    )

    def __init__(self, tally: Tally, style: Dialect, writer: Writer, visible: Visible) -> None:
        self._tally = tally
        self._style = style
        self._writer = writer
        self._visible = visible
        self._loose = visible.loose
        # What comes out of the chunk that is being fed.
        self._events: list[Text | Citation]
        # Whether nothing is undecided, and the text that waits all the same.
        self._resting = True
        self._waiting = ""
        # The whole marker in it that will not be shown, and where it stands, while
        # it is not known what goes with it.
        self._dropped: Citation | None = None
        self._dropped_at = 0
        self._common = common = style.common
        # Finds markers that there is a short way past.
        self._marker = common.marker if writer.plain else None
        # ASCII text without this can go out as it is; no text is without "".
        self._stop = common.stop

    @abstractmethod
    def _feed(self, chunk: str) -> list[Text | Citation]:
        """Filter the next chunk in whatever way it needs."""

    # A small chunk

    def _take_small(self, text: str) -> list[Text | Citation] | None:
        """Filter a small chunk of calm prose with one common marker or none, while at rest.

        Args:
            text: The chunk, behind what waits.

        Returns:
            What comes out, or `None` when this is not the way.
        """
        common = self._common
        if len(text) > common.most_quick:
            return None
        visible = self._visible
        if self._dropped is not None or visible.behind is not _BEHIND_TEXT:
            return self._take_behind(text)
        start = text.find(common.opener)
        if start < 0:
            return self._take_plain(text)
        marker = self._marker
        if marker is None:
            return None
        stop = text.find("]", start) + 1
        blank = ""
        if stop:
            raw = text[start:stop]
            after = text[stop:]
            if after and after != ".":
                match = common.behind.fullmatch(after)
                if match is None:
                    return None
                after, blank = match.groups()
        else:
            raw = text[start:]
            after = ""
            if not (marker.fullmatch(raw) and self._style.has_begun(raw)):
                return None
        before = ""
        # A space before the marker may go with it.
        cut = start
        if start:
            if text[start - 1] == " ":
                cut -= 1
            elif text[start - 1] in MAY_LEAD:
                return None
            if cut:
                before = text[:cut]
                if (common.spread or not before.isascii()) and common.other_opener.search(before):
                    return None
                self._loose.append(before)
        self._stop = ""
        if not visible.settle():
            return self._look_again(before, text[cut:])
        if not stop:
            self._waiting = text[cut:]
            return [Text(before)] if before else []
        reading = self._style.read_common(raw)
        citation = reading and self._tally.cite(raw, reading, self._writer.drops)
        if citation is None:
            return self._look_again(before, text[cut:])
        if not citation.text:
            self._waiting = text[cut:stop]
            self._dropped = citation
            self._dropped_at = start - cut
            events = self._close_hole(after, blank)
            return [Text(before), *events] if before else events
        citation.start = offset = visible.gone + start - cut
        citation.end = offset = offset + len(citation.text)
        visible.cite_calm(offset)
        self._waiting = blank
        if not after:
            return [Text(text[:start]), citation] if start else [citation]
        visible.behind = _BEHIND_TEXT
        self._loose.append(after)
        if not blank:
            self._stop = common.stop
        if start:
            return [Text(text[:start]), citation, Text(after)]
        return [citation, Text(after)]

    def _look_again(self, shown: str, waiting: str) -> list[Text | Citation]:
        """Leave what waits to the long way, when some text before it was shown."""
        self._waiting = waiting
        events = self._feed("")
        return [Text(shown), *events] if shown else events

    def _take_plain(self, text: str) -> list[Text | Citation] | None:
        """Filter a small chunk without the usual opener, behind text that was shown."""
        common = self._common
        if (common.spread or not text.isascii()) and common.other_opener.search(text):
            return None
        left = ""
        if text[-1] in MAY_LEAD:
            if text[-1] != " " or text[-2:-1] in MAY_LEAD or not self._visible.goes_on(text):
                return None
            text, left = text[:-1], " "
        self._waiting = left
        self._stop = "" if left else common.stop
        self._visible.note(text)
        return [Text(text)]

    def _take_behind(self, text: str) -> list[Text | Citation] | None:
        """Filter a small chunk of calm prose right behind a marker, kept or dropped."""
        dropped = self._dropped
        end = self._dropped_at + len(dropped.raw) if dropped is not None else 0
        match = self._common.behind.fullmatch(text, end)
        if match is None:
            return None
        after, blank = match.groups()
        if dropped is not None:
            self._waiting = text[:end]
            return self._close_hole(after, blank)
        self._waiting = blank
        if not after:
            return []
        self._stop = "" if blank else self._common.stop
        self._visible.behind = _BEHIND_TEXT
        self._loose.append(after)
        return [Text(after)]

    def _close_hole(self, after: str, blank: str) -> list[Text | Citation]:
        """Go on behind a dropped marker, or leave it to the long way."""
        dropped = self._dropped
        assert dropped is not None  # the caller has looked
        visible = self._visible
        if not (after or blank):
            return []
        last = visible.last
        unsure = False
        if visible.behind is _BEHIND_TEXT:
            if not after and self._dropped_at:
                # With a space on both sides it is not known which of them goes.
                self._waiting += blank
                return []
            unsure = not after or (not self._dropped_at and last in MAY_LEAD)
        if unsure or (after and _meet(last, after[0])):
            self._waiting += after + blank
            return self._feed("")
        dropped.start = dropped.end = visible.offset
        self._dropped = None
        self._waiting = blank
        if not after:
            return [dropped]
        self._stop = "" if blank else self._common.stop
        visible.behind = _BEHIND_TEXT
        self._loose.append(after)
        return [dropped, Text(after)]

    # Any text

    def _rest(self, text: str) -> str:
        """Filter text while nothing is undecided, as long as only common markers come.

        Returns:
            What is left of the text: to be held, or to be gone over when the
            filter no longer rests.
        """
        if self._dropped is not None:
            self._resting = False
            return text
        visible = self._visible
        common = self._common
        if common.opener in text:
            text = self._rest_on_markers(text)
            if common.opener in text:
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
        if (common.spread or not text.isascii()) and common.other_opener.search(text):
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
            that has only begun, or was dropped, or else the filter no longer rests.
        """
        visible = self._visible
        marker = self._marker
        if not visible.settle():
            text = self._rest_on_line(text)
        end = 0 if marker is None else visible.prose_until(text)
        if marker is None or not end:
            self._resting = False
            return text
        common = self._common
        if common.spread or not text.isascii():
            wide = common.other_opener.search(text, 0, end)
            end = wide.start() if wide else end
        opener = common.opener
        longest = common.longest
        read = self._style.read_common
        cite = self._tally.cite
        drops = self._writer.drops
        events = self._events
        first = len(events)
        prose: list[str] = []
        # The text is gone over to `pos`, and the cleaned answer is so long.
        pos = 0
        offset = visible.gone
        behind = visible.behind
        last = visible.last
        while True:
            start = text.find(opener, pos, end)
            if start < 0:
                self._resting = end == len(text)
                break
            self._resting = False
            if start > pos and (
                text[start - 1] == "!" or (behind is not _BEHIND_TEXT and text[pos] == "(")
            ):
                break
            stop = text.find("]", start, end) + 1 or len(text)
            if stop - start > longest:
                break
            raw = text[start:stop]
            citation = None
            if raw[-1] == "]":
                reading = read(raw)
                citation = reading and cite(raw, reading, drops)
                if citation is None:
                    break
            elif not (marker.fullmatch(raw) and self._style.has_begun(raw)):
                break
            if citation is not None and citation.text:
                if start > pos:
                    before = text[pos:start]
                    events.append(Text(before))
                    prose.append(before)
                    offset += start - pos
                events.append(citation)
                citation.start = offset
                citation.end = offset = offset + len(citation.text)
                pos = stop
                behind = _BEHIND_MARKER
                last = "]"
                continue
            cut, closes = self._goes_with(text, pos, start, stop, end, behind, last)
            if closes is False:
                self._dropped = citation
                self._dropped_at = start - pos
                break
            if cut > pos:
                before = text[pos:cut]
                events.append(Text(before))
                prose.append(before)
                offset += cut - pos
                pos = cut
                behind = _BEHIND_TEXT
                last = before[-1]
            if closes is None:
                self._dropped = citation
                self._dropped_at = start - pos
                self._resting = True
                break
            assert citation is not None  # one that has only begun waits
            events.append(citation)
            citation.start = citation.end = offset
            pos = stop
        if visible.parts and (pos or self._resting):
            following = events[first : first + 1]
            if following and following[0].__class__ is Text:
                events[first] = Text(visible.parts + following[0].text)
            else:
                events.insert(first, Text(visible.parts))
            visible.parts = ""
        if pos:
            visible.behind = behind
            visible.pass_calm("".join(prose), last, offset)
            return text[pos:]
        return text

    def _rest_on_line(self, text: str) -> str:
        """Show the text before the first bracket, if it may take the line to where prose is.

        Returns:
            What is left.
        """
        common = self._common
        cut = text.find(common.opener) - 1
        if cut < 1 or text[cut] != " " or text[cut - 1] in MAY_LEAD:
            return text
        before = text[:cut]
        if self._visible.behind is not _BEHIND_TEXT or (
            (common.spread or not before.isascii()) and common.other_opener.search(before)
        ):
            return text
        self._visible.show(before)
        return text[cut:]

    def _goes_with(
        self, text: str, pos: int, start: int, stop: int, end: int, behind: Behind, last: str
    ) -> tuple[int, bool | None]:
        """Find out what goes with a marker, if it goes.

        Args:
            text: Text that is calm up to `end`, and gone over up to `pos`.
            pos: What was shown ends there, in `last`.
            start: Where the marker begins.
            stop: Where it ends, or the text while it has only begun.
            end: Up to here a look ahead is of use.
            behind: What was shown last.
            last: Its last character.

        Returns:
            Where the text before it ends that stays in any case, and whether
            all behind it stays; `None` when that depends on what follows the text.
        """
        if behind is not _BEHIND_TEXT and (
            start == pos or text[pos:start] == " " or separator(text, pos, start)[0] == start
        ):
            return pos, text[stop] not in "(]" if stop < len(text) else None
        cut = start - 1 if start > pos and text[start - 1] == " " else start
        before = text[cut - 1] if cut > pos else last
        if cut == start and before in MAY_LEAD:
            return cut, False
        if stop == len(text):
            return cut, None
        calm = self._common.begins.match(text, stop, end) is not None
        return cut, calm and not _meet(before, text[stop])


def _meet(before: str, after: str) -> bool:
    """Return whether two characters that meet across a hole change."""
    return before == after == "." or needs_space(before, after)
