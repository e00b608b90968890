"""`CitationFilter`, the filter of an answer; the one-shot check is it, fed once.

It knows nothing of where the chunks come from or where the events go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from citestream.abbreviations import ENGLISH, Abbreviations
from citestream.block import BlockFilter
from citestream.coverage import Coverage
from citestream.dialect import bind, check_styles, prefixes
from citestream.events import Citation, Summary, Text
from citestream.exceptions import SourceError
from citestream.passages import NO_ANSWER, Passages
from citestream.sentences import Sentences
from citestream.styles import NUMERIC, MarkerStyle
from citestream.tally import Tally
from citestream.writing import Invalid, Show, Writer

if TYPE_CHECKING:
    from citestream.events import Ended, Event, Label

__all__ = [
    "NO_ANSWER",
    "BlockFilter",
    "Checked",
    "CitationFilter",
    "FilteredText",
    "check_citations",
    "filter_text",
    "strip_invalid",
    "to_history",
]

PassageSource: TypeAlias = int | Sequence[Any] | Mapping[Any, Any] | Passages
"""What passages can be made from."""


class CitationFilter(BlockFilter):
    """Filters an answer: checks its citations while it streams.

    Feed it the chunks as they come, then finish it. A filter is for one
    answer; one that holds several text blocks has a `block()` for each.
    """

    __slots__ = ()

    def __new__(  # noqa: PYI034 - one that follows sentences may come back
        cls, *_: Any, sentences: bool | Abbreviations = False, **__: Any
    ) -> CitationFilter:
        """Make a filter that follows the sentences, if they are asked for.

        Who does not ask pays nothing for the question, not even one look per chunk.
        """
        return super().__new__(_SentenceFilter if sentences and cls is CitationFilter else cls)

    def __init__(
        self,
        passages: PassageSource,
        *,
        style: MarkerStyle | tuple[MarkerStyle, ...] | None = None,
        match: Literal["exact", "hierarchical"] = "exact",
        invalid: Invalid = "drop",
        replacement: str = "",
        show: Show = None,
        renumber: bool = False,
        prior: PassageSource | None = None,
        repair: bool = False,
        sentences: bool | Abbreviations = False,
        refusal: str | None = NO_ANSWER,
    ) -> None:
        """Make a filter.

        Args:
            passages: What was in the prompt: how many, the texts, objects
                that hold one, a mapping label -> passage, or `Passages`.
            style: What a marker looks like; a tuple for several styles at once. Without
                it the style that `passages` is written in, so that prompt and check
                agree, and `NUMERIC` where that has none.
            match: How a label of label style finds its passage: `"exact"`, or
                `"hierarchical"`, where a broader label finds it as well, and a
                narrower one whose subdivision stands in the passage's text.
            invalid: What becomes of labels without a passage: `"drop"` removes
                them, `"flag"` shows `replacement`, `"keep"` only reports
                them; a function of the label returns what to show.
            replacement: What a flagged marker is replaced by.
            show: How valid markers are shown: `None` in the canonical form,
                `"verbatim"` as the model wrote them, `"none"` not at all; a
                function of the `Citation` returns what to show.
            renumber: Whether labels are shown as numbers in the order of
                first use. The events hold the original labels.
            prior: Passages of earlier turns: valid, told apart in the summary,
                never unused.
            repair: Whether a written label that is none, but is one edit, one case
                or one hyphen away from exactly one with the same numbers, is read
                as that. The summary says so.
            sentences: Whether a `Sentence` comes out as each one ends, and the
                summary counts them and names those without a citation;
                `Abbreviations` in place of the English ones say so as well.
            refusal: The exact sentence that says there is no answer; `None`
                looks for none.

        Raises:
            PassageError: The passages cannot be used.
            StyleError: The style is none.
            ValueError: An option is none of those allowed.
        """
        if match not in ("exact", "hierarchical"):
            raise ValueError(f'expected match="exact" or "hierarchical", got {match!r}')
        if not isinstance(sentences, bool | Abbreviations):
            raise ValueError(  # noqa: TRY004 - options fail alike
                f"expected sentences to be True, False or Abbreviations, got {sentences!r}"
            )
        if style is None:
            style = _style_of(passages)
        styles = check_styles(style)
        sentence: object = refusal
        if sentence is not None and not (isinstance(sentence, str) and sentence.strip()):
            raise ValueError(
                f"expected refusal to be a sentence, or None to look for none, got {refusal!r}"
            )
        writer = _writer(invalid, replacement, show, renumber)
        known = _passages(passages, style)
        earlier = None if prior is None else _passages(prior, style)
        lists = (known,) if earlier is None else (known, earlier)
        dialect = bind(styles, lists, match, repair)
        super().__init__(Tally(known, prefixes(styles), earlier), dialect, writer, refusal)

    @property
    def passages(self) -> Passages:
        """What was in the prompt."""
        return self._tally.passages

    @property
    def passing(self) -> bool:
        """Whether plain text leaves as it comes, whatever its length, until other text is fed.

        Plain is ASCII text without `[` that ends in none of `MAY_LEAD`. A door that has
        a quick way to tell may let such text pass, and feed it joined afterwards.
        """
        return self._stop == "["

    @property
    def settled(self) -> int:
        """Up to where the cleaned answer belongs to no open sentence; 0 while they are off."""
        return 0

    def block(self) -> BlockFilter:
        """Return a filter for another text block of this answer, under the same score."""
        return BlockFilter(self._tally, self._style, self._writer, self._refusal)

    def finish(  # type: ignore[override]  # a block's events, and the summary after them
        self, ended: Ended = "complete", reason: str | None = None
    ) -> list[Event]:
        """Say that no more comes; return what was held back, and the summary last.

        Args:
            ended: How the stream ended.
            reason: Why, when there is more to say.

        Raises:
            FinishedError: It was already called.
        """
        return [*super().finish(), self._tally.summary(ended, reason)]

    def discard(  # type: ignore[override]  # a block has no summary to give
        self, ended: Ended = "cancelled", reason: str | None = None
    ) -> Summary:
        """Drop what is held back, and return the summary.

        Raises:
            FinishedError: The filter has finished already.
        """
        super().discard()
        return self._tally.summary(ended, reason)


class _SentenceBlock(BlockFilter):
    """A text block whose sentences are followed."""

    __slots__ = ("_sentences",)

    def __init__(self, whole: _SentenceFilter) -> None:
        super().__init__(whole._tally, whole._style, whole._writer, whole._refusal)
        self._sentences = Sentences(whole._coverage, whole._abbreviations)

    def feed(self, chunk: str) -> list[Text | Citation]:
        # Two calls a chunk, and no more: a call costs as much as most of what is done in it.
        events = BlockFilter.feed(self, chunk)
        ended = self._sentences.feed(events)
        return [*events, *cast("list[Any]", ended)] if ended else events

    def finish(self) -> list[Text | Citation]:
        events = _with_sentences(super().finish(), self._sentences)
        return [*events, *cast("list[Any]", self._sentences.finish())]


class _SentenceFilter(CitationFilter):
    """A filter of an answer whose sentences are followed."""

    __slots__ = ("_abbreviations", "_coverage", "_sentences")

    def __init__(
        self, passages: PassageSource, *, sentences: bool | Abbreviations = True, **options: Any
    ) -> None:
        super().__init__(passages, sentences=sentences, **options)
        self._abbreviations = sentences if isinstance(sentences, Abbreviations) else ENGLISH
        self._coverage = Coverage()
        self._sentences = Sentences(self._coverage, self._abbreviations)

    @property
    def settled(self) -> int:
        return self._sentences.settled

    def block(self) -> BlockFilter:
        return _SentenceBlock(self)

    def feed(self, chunk: str) -> list[Text | Citation]:
        events = BlockFilter.feed(self, chunk)
        ended = self._sentences.feed(events)
        return [*events, *cast("list[Any]", ended)] if ended else events

    def finish(  # type: ignore[override]  # as the filter's own
        self, ended: Ended = "complete", reason: str | None = None
    ) -> list[Event]:
        events = super().finish(ended, reason)
        summary = events.pop()
        last = _with_sentences(cast("list[Text | Citation]", events), self._sentences)
        last_sentences = self._sentences.finish()
        return [*last, *last_sentences, self._covered(cast("Summary", summary))]

    def discard(  # type: ignore[override]  # as the filter's own
        self, ended: Ended = "cancelled", reason: str | None = None
    ) -> Summary:
        summary = super().discard(ended, reason)
        # What was shown was shown, and the open sentence with it.
        self._sentences.finish()
        return self._covered(summary)

    def _covered(self, summary: Summary) -> Summary:
        coverage = self._coverage
        summary.sentences = coverage.sentences
        summary.uncited = coverage.uncited
        summary.cited_in = tuple(coverage.places.items())
        summary.truncated = summary.truncated or coverage.truncated
        return summary


def _with_sentences(events: list[Text | Citation], sentences: Sentences) -> list[Text | Citation]:
    """Return the events with the sentences that end in them behind.

    The type leaves them out: they come only to those who asked for them.
    """
    ended = sentences.feed(events)
    return [*events, *cast("list[Any]", ended)] if ended else events


def _style_of(source: PassageSource) -> Any:
    """Return the style that the prompt is written in."""
    style = source.style if isinstance(source, Passages) else None
    return NUMERIC if style is None else style


def _passages(source: PassageSource, style: MarkerStyle | tuple[MarkerStyle, ...]) -> Passages:
    if not isinstance(source, Passages):
        return Passages(source, style=style)
    source.check_style(style)
    return source


_PLAIN_WRITER = Writer("drop", "", None, renumber=False)


def _writer(invalid: Invalid, replacement: str, show: Show, renumber: bool) -> Writer:
    # Most filters have no options, and a process has thousands of filters.
    if invalid == "drop" and not replacement and show is None and not renumber:
        return _PLAIN_WRITER
    return Writer(invalid, replacement, show, renumber)


# One-shot


# Made once: a union inside `isinstance()` is made anew at every call.
_SHOWN = (Text, Citation)


def _shown(event: Event) -> str:
    """Return what the reader sees of an event."""
    return event.text if isinstance(event, _SHOWN) else ""


@dataclass(slots=True)
class Checked:
    """An answer, checked whole."""

    answer: str
    """The cleaned answer."""
    cited: list[Label]
    """Labels that have a passage, in the order of first use."""
    invalid: list[Label]
    """Labels that have none, in the order of first use."""
    unused: list[Label]
    """Labels of passages never cited, in passage order."""
    grounded: bool
    """At least one valid citation and no refusal; nothing more."""
    summary: Summary
    """The whole score."""


def check_citations(answer: str, passages: PassageSource, **options: Any) -> Checked:
    """Check the citations of a whole answer.

    Args:
        answer: What the model wrote.
        passages: What was in the prompt, as for `CitationFilter`.
        **options: The options of `CitationFilter`.

    Raises:
        SourceError: The answer is not a `str`.
        PassageError: The passages cannot be used.
    """
    citations = CitationFilter(passages, **options)
    events: list[Any] = citations.feed(answer)
    events += citations.finish()
    summary = events.pop()
    assert isinstance(summary, Summary)  # it is always the last
    return Checked(
        answer="".join([event.text for event in events]),
        cited=list(summary.cited),
        invalid=list(summary.invalid),
        unused=list(summary.unused),
        grounded=summary.grounded,
        summary=summary,
    )


def strip_invalid(answer: str, passages: PassageSource, **options: Any) -> str:
    """Return the answer without the markers that have no passage.

    Args:
        answer: What the model wrote.
        passages: What was in the prompt, as for `CitationFilter`.
        **options: The options of `CitationFilter`.
    """
    return check_citations(answer, passages, **options).answer


def to_history(
    text: str,
    passages: PassageSource = 0,
    *,
    style: MarkerStyle | tuple[MarkerStyle, ...] | None = None,
) -> str:
    """Return an answer as it should go into the next prompt: without its markers.

    In the next turn other passages have these labels, and a model copies what
    it has seen: with markers in the history it learns to cite what is not there,
    or in the form that readers are shown.

    Args:
        text: What the model wrote, or the cleaned answer.
        passages: What was in the prompt; only label style needs it.
        style: What a marker looks like, as for `CitationFilter`.
    """
    return check_citations(text, passages, style=style, show="none").answer


class FilteredText:
    """The visible text of an answer, chunk by chunk, for a loop that is not async."""

    def __init__(self, chunks: Iterable[str], passages: PassageSource, **options: Any) -> None:
        if isinstance(chunks, str | bytes):
            raise SourceError(
                f"expected an iterable of chunks, got a single {type(chunks).__name__}: "
                "check a whole answer with check_citations()"
            )
        try:
            self._chunks = iter(chunks)
        except TypeError:
            raise SourceError(
                f"expected an iterable of str, got {type(chunks).__name__}: "
                "an async source needs CitationStream"
            ) from None
        self._filter = CitationFilter(passages, **options)
        self.summary: Summary | None = None
        """The score; `None` until the loop has ended."""

    def __iter__(self) -> Iterator[str]:
        ended: Ended = "cancelled"
        try:
            for chunk in self._chunks:
                for event in self._filter.feed(chunk):
                    if shown := _shown(event):
                        yield shown
            for last in self._filter.finish():
                if isinstance(last, Summary):
                    self.summary = last
                elif shown := _shown(last):
                    yield shown
        except Exception:
            ended = "error"
            raise
        finally:
            if self.summary is None and not self._filter.finished:
                self.summary = self._filter.discard(ended)


def filter_text(chunks: Iterable[str], passages: PassageSource, **options: Any) -> FilteredText:
    """Filter the chunks of an answer in a loop that is not async.

    Args:
        chunks: The pieces of the answer.
        passages: What was in the prompt, as for `CitationFilter`.
        **options: The options of `CitationFilter`.

    Returns:
        An iterable of the visible text; its `summary` is there afterwards.

    Raises:
        SourceError: `chunks` is not an iterable of `str`, or is itself one.
    """
    return FilteredText(chunks, passages, **options)
