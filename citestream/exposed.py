"""Finds what would read as an invented marker once something around it is left out.

Code and maths protect what is inside them, and their ends may stand in a sentence
that is left out. It knows no policy, and nothing of what is left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from citestream.events import Citation
from citestream.filter import CitationFilter
from citestream.styles import NUMERIC

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from citestream.events import Sentence
    from citestream.passages import Passages

__all__ = ["Exposure"]

# Only with one of these can there be a marker: most sentences have none.
_ODD = re.compile(r"[^\w\s.,;:!?'\"()-]")
# What begins or ends code or maths, or a block of HTML, in which there is neither.
_DELIMITERS = re.compile(r"[`$\\<~]")
# Both ends of it: left out as a whole, it leaves what is around it as it was.
_WHOLE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|\$[^$]*\$", re.DOTALL)
_OPTIONS = ("style", "match", "prior")


class Exposure:
    """Judges the sentences of one answer from which some are left out."""

    __slots__ = ("_filtered", "_options", "_torn")

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = {name: options[name] for name in _OPTIONS if name in options}
        # Whether the end of something may have been left out.
        self._torn = False
        self._filtered = False

    def omit(self, content: str) -> None:
        """Take note of a sentence that is left out."""
        self._torn = self._torn or _DELIMITERS.search(_WHOLE.sub(" ", content)) is not None
        self._filtered = True

    def exposes(self, sentence: Sentence, marks: Iterable[Citation], passages: Passages) -> bool:
        """Return whether a sentence would show an invented marker.

        Args:
            sentence: The sentence.
            marks: Its citations, which are shown as they are.
            passages: What was in the prompt.
        """
        text = sentence.content
        for mark in marks:
            start, end = mark.start - sentence.start, mark.end - sentence.start
            if 0 <= start < end:
                text = text[:start] + " " * (end - start) + text[end:]
        if _ODD.search(text) is None:
            return False
        # Behind a sentence that is left out it may begin a block of HTML.
        self._torn = self._torn or (self._filtered and text.startswith("<"))
        if self._torn:
            text = _DELIMITERS.sub(" ", text)
        probe = CitationFilter(passages, refusal=None, **{"style": NUMERIC, **self._options})
        events = [*probe.feed(text), *probe.finish()]
        return any(isinstance(event, Citation) for event in events)
