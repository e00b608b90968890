"""The short way through an answer: plain text, and markers as nearly all of them come.

While nothing is undecided, text is only searched, never walked; whatever needs
a second look is left to the long way, and the two cannot disagree since what
is left is gone over from where it began.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from citestream.events import Citation, Text
from citestream.mending import needs_space, separator
from citestream.visible import Behind, Visible

if TYPE_CHECKING:
    from citestream.dialect import Dialect
    from citestream.events import Label
    from citestream.styles import Reading
    from citestream.tally import Tally
    from citestream.writing import Writer

__all__ = ["MAY_LEAD", "Dropped", "ShortWay"]

MAY_LEAD = " (*_!"
"""What a chunk may end in that might go with a marker in the next one."""

# Characters that are matched as a whole; a longer text is searched.
_MOST_QUICK = 64

# Looking a member up on its class costs as much as a call in CPython 3.11.
_BEHIND_MARKER = Behind.MARKER
_BEHIND_TEXT = Behind.TEXT


class Dropped(NamedTuple):
    """A marker that was checked and will not be shown, while what goes with it is undecided."""

    at: int
    """Where it stands in the text that waits."""
    raw: str
    """The marker."""
    reading: Reading
    """What it says."""
    invalid: tuple[Label, ...]
    """Its labels, none of which has a passage."""


class ShortWay:
    """Filters while nothing is undecided but what the few characters that wait will be."""

    __slots__ = (
        "_common",
        "_dropped",
        "_events",
        "_loose",
        "_other_opener",
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
        # The whole marker in it, if there is one.
        self._dropped: Dropped | None = None
        self._common = common = style.common
        # Text without these can go out as it is, in small steps; no text is without "".
        self._stop = common.stop
        self._other_opener = common.other_opener

    def _feed(self, chunk: str) -> list[Text | Citation]:
        """Filter the next chunk in whatever way it needs."""
        raise NotImplementedError

    # A small chunk

    def _take_small(self, chunk: str) -> list[Text | Citation] | None:
        """Filter a small chunk of calm prose with one common marker or none, while at rest.

        Returns:
            What comes out, or `None` when this is not the way.
        """
        common = self._common
        text = self._waiting + chunk
        if not chunk or len(text) > _MOST_QUICK:
            return None
        visible = self._visible
        if self._dropped is not None or visible.behind is not _BEHIND_TEXT:
            return self._take_behind(text)
        if common.opener not in text:
            return self._take_plain(text)
        quick = common.quick
        if quick is None or not self._writer.plain or len(text) > common.most_held:
            return None
        match = quick.fullmatch(text)
        if match is None:
            return None
        before, space, begun, closed, after, blank = match.groups()
        if not closed and not self._style.has_begun(begun):
            return None
        if before:
            self._loose.append(before)
        self._stop = ""
        self._waiting = text[len(before) :]
        if not visible.settle():
            return self._look_again(before)
        if not closed:
            return [Text(before)] if before else []
        raw = begun + closed
        reading = self._style.read_common(raw)
        if reading is None:
            return self._look_again(before)
        shown = raw
        cited = reading.labels
        invalid: tuple[Label, ...] = ()
        passages = self._tally.keep(cited)
        if passages is None:
            if not self._writer.drops:
                return self._look_again(before)
            cited, invalid = self._tally.check(reading)
            if not cited:
                self._dropped = Dropped(len(space), raw, reading, invalid)
                self._waiting = space + raw
                events = self._close_hole(after, blank)
                return [Text(before), *events] if before else events
            passages = self._tally.passages_of(cited)
            shown = reading.style.write(cited)
        before += space
        start = visible.gone + len(space)
        end = start + len(shown)
        citation = Citation(shown, cited, invalid, raw, passages, start, end)
        visible.pass_calm("", shown[-1], end - visible.gone)
        self._waiting = blank
        if not after:
            visible.behind = _BEHIND_MARKER
            return [Text(before), citation] if before else [citation]
        self._loose.append(after)
        if not blank:
            self._stop = common.stop
        if before:
            return [Text(before), citation, Text(after)]
        return [citation, Text(after)]

    def _look_again(self, shown: str) -> list[Text | Citation]:
        """Leave what waits to the long way, when some text before it was shown."""
        events = self._feed("")
        return [Text(shown), *events] if shown else events

    def _take_plain(self, text: str) -> list[Text | Citation] | None:
        """Filter a small chunk without the usual opener, behind text that was shown."""
        if (self._common.spread or not text.isascii()) and self._other_opener.search(text):
            return None
        left = ""
        if text[-1] in MAY_LEAD:
            if text[-1] != " " or text[-2:-1] in MAY_LEAD or not self._visible.goes_on(text):
                return None
            text, left = text[:-1], " "
        self._waiting = left
        self._stop = "" if left else self._common.stop
        self._visible.note(text)
        return [Text(text)]

    def _take_behind(self, text: str) -> list[Text | Citation] | None:
        """Filter a small chunk of calm prose right behind a marker, kept or dropped."""
        dropped = self._dropped
        end = 0 if dropped is None else dropped.at + len(dropped.raw)
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
        """Show what stands behind a dropped marker at rest, or leave it to the long way."""
        dropped = self._dropped
        assert dropped is not None  # the caller has looked
        visible = self._visible
        if not (after or blank):
            return []
        last = visible.last
        if visible.behind is _BEHIND_TEXT:
            if not after and dropped.at:
                # With a space on both sides it is not known which of them goes.
                self._waiting += blank
                return []
            unsure = not after or (not dropped.at and last in MAY_LEAD)
        else:
            unsure = False
        if unsure or (after and _meet(last, after[0])):
            self._waiting += after + blank
            return self._feed("")
        offset = visible.offset
        citation = Citation("", (), dropped.invalid, dropped.raw, (), offset, offset)
        self._dropped = None
        self._waiting = blank
        if not after:
            return [citation]
        self._stop = "" if blank else self._common.stop
        visible.behind = _BEHIND_TEXT
        self._loose.append(after)
        return [citation, Text(after)]

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
        if (common.spread or not text.isascii()) and self._other_opener.search(text):
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
        common = self._common
        marker = common.marker
        end = visible.prose_until(text) if marker is not None and self._writer.plain else 0
        if not end or marker is None:
            self._resting = False
            return text
        if common.spread or not text.isascii():
            wide = self._other_opener.search(text, 0, end)
            end = wide.start() if wide else end
        opener = common.opener
        style = self._style
        tally = self._tally
        events = self._events
        prose: list[str] = []
        # The text is gone over to `pos`, and the cleaned answer is so long.
        pos = 0
        offset = visible.gone
        last = visible.last
        behind_marker = visible.behind is not _BEHIND_TEXT
        while True:
            start = text.find(opener, pos, end)
            if start < 0:
                self._resting = end == len(text)
                break
            self._resting = False
            if start > pos and (text[start - 1] == "!" or (behind_marker and text[pos] == "(")):
                break
            match = marker.match(text, start)
            if match is None:
                break
            stop = match.end()
            raw = text[start:stop]
            if stop - start >= common.most_held:
                break
            cut = start
            shown = ""
            passages: tuple[Any, ...] = ()
            waits = not match[1]
            if waits:
                # It has only begun, and a space before it waits as well.
                if start > pos and text[start - 1] == " ":
                    cut -= 1
                if not style.has_begun(raw) or (
                    cut > pos
                    and (
                        text[cut - 1] in MAY_LEAD
                        or (behind_marker and common.begins.match(text, pos, cut) is None)
                    )
                ):
                    break
            else:
                reading = style.read_common(raw)
                if reading is None:
                    break
                cited = reading.labels
                invalid: tuple[Label, ...] = ()
                found = tally.keep(cited)
                if found is not None:
                    passages = found
                    shown = raw
                elif not self._writer.drops:
                    break
                else:
                    cited, invalid = tally.check(reading)
                    passages = tally.passages_of(cited)
                    if cited:
                        shown = reading.style.write(cited)
                if not shown:
                    cut, closes = self._goes_with(text, pos, start, stop, end, last, behind_marker)
                    if closes is not True:
                        waits = closes is None
                        self._dropped = Dropped(
                            start - (cut if waits else pos), raw, reading, invalid
                        )
                        if not waits:
                            break
            if cut > pos:
                before = text[pos:cut]
                events.append(Text(before))
                prose.append(before)
                offset += cut - pos
                pos = cut
                last = before[-1]
                behind_marker = False
            if waits:
                self._resting = True
                break
            then = offset + len(shown)
            events.append(Citation(shown, cited, invalid, raw, passages, offset, then))
            offset = then
            pos = stop
            if shown:
                last = shown[-1]
                behind_marker = True
        if pos:
            visible.behind = _BEHIND_MARKER if behind_marker else _BEHIND_TEXT
            visible.pass_calm("".join(prose), last, offset - visible.gone)
            return text[pos:]
        return text

    def _goes_with(
        self, text: str, pos: int, start: int, stop: int, end: int, last: str, behind_marker: bool
    ) -> tuple[int, bool | None]:
        """Find out what goes with a dropped marker, from `start` to `stop`.

        Args:
            text: Calm prose up to `end`, gone over up to `pos`.
            last: The last character shown before that, and whether that is a
                kept marker's.

        Returns:
            Where the text before it ends that stays, and whether nothing
            behind it goes; `None` when that depends on text still to come.
        """
        if behind_marker and (
            start == pos or text[pos:start] == " " or separator(text, pos, start)[0] == start
        ):
            return pos, text[stop] not in "(]" if stop < len(text) else None
        cut = start - 1 if start > pos and text[start - 1] == " " else start
        before = text[cut - 1] if cut > pos else last
        if cut == start and before in MAY_LEAD:
            return cut, False
        if stop == len(text):
            return cut, None
        begins = self._common.begins.match(text, stop, end) is not None
        return cut, begins and not _meet(before, text[stop])


def _meet(before: str, after: str) -> bool:
    """Return whether two characters that meet across a hole change."""
    return before == after == "." or needs_space(before, after)
