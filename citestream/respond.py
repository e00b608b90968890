"""Retrieve, gate, prompt, generate, filter, retry, refuse: an answer as one async stream.

It does not know the retriever, the model or who reads the events.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio.to_thread

from citestream.gate import check_options
from citestream.judge import VERIFY_AT_ONCE, VERIFY_SECONDS, Judge
from citestream.passages import NO_ANSWER
from citestream.policy import AnswerPolicy
from citestream.sources import open_source
from citestream.stream import CitationStream

if TYPE_CHECKING:
    from citestream.items import TextOf
    from citestream.judge import Verify
    from citestream.passages import Passages
    from citestream.stream import OnSummary

__all__ = ["AnswerStream", "Generate", "Prompt", "Retrieve", "respond"]

Retrieve: TypeAlias = Callable[[Any], Any]
"""Takes the question and gives the passages, in any form that `CitationFilter` takes."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model is asked; `str()` of it is all of it."""

    question: Any
    """The question, as it was given."""
    passages: Passages
    """What was retrieved for it."""
    instructions: str
    """The citing rule, and in a second attempt what was wrong with the first."""
    attempt: int = 1
    """Which attempt it is for, from one."""

    @property
    def messages(self) -> list[dict[str, str]]:
        """The prompt as the messages that most chat models take."""
        user = f"{self.passages.prompt()}\n\n{self.question}"
        return [
            {"role": "system", "content": self.instructions},
            {"role": "user", "content": user},
        ]

    def __str__(self) -> str:
        """Return the whole prompt as one text."""
        return "\n\n".join([message["content"] for message in self.messages])


Generate: TypeAlias = Callable[[Prompt], Any]
"""Takes the prompt and gives the source of the answer, or an awaitable of it."""


class AnswerStream(CitationStream):
    """The events of the answer to a question, as `CitationStream` gives them.

    It retrieves when the first event is asked for, so nothing runs before
    somebody reads, and what is raised comes out as from any source. It is what
    `respond` returns.
    """

    def __init__(
        self,
        question: Any,
        retrieve: Retrieve,
        generate: Generate,
        policy: AnswerPolicy | None,
        *,
        verify: Verify | None,
        verify_at_once: int,
        verify_seconds: float,
        text: TextOf | None,
        on_summary: OnSummary | None,
        surface: str,
        **options: Any,
    ) -> None:
        if verify is not None:
            policy = policy or AnswerPolicy()
            self._first_judge: Judge | None = Judge(verify, verify_at_once, verify_seconds)
        else:
            self._first_judge = None
        if policy is not None:
            check_options(policy, options, judged=verify is not None)
        # There are no passages yet, and so nothing to judge.
        super().__init__((), [], text=text, on_summary=on_summary, surface=surface, **options)
        self._question = question
        self._retrieve = retrieve
        self._generate = generate
        self._policy = policy
        self._retry = self._generate_again
        self._pull = self._prepare

    async def _prepare(self) -> Any:
        """Retrieve, and pull the first item of the answer if there is to be one."""
        self._set_filter(await _called(self._retrieve, self._question), self._first_judge)
        if self._attempts is None or self._attempts.gate.decision is None:
            source = await _given(self._generate, self._prompt())
            self._source = open_source(source)
        self._pull = self._source.pull if self._attempts is None else self._begin
        return await self._pull()

    async def _generate_again(self, correction: str) -> Any:
        return await _given(self._generate, self._prompt(correction))

    def _prompt(self, correction: str = "") -> Prompt:
        """Write the prompt of an attempt, from the list that its markers are checked by."""
        passages = self.passages
        rules = [passages.instructions(self._options.get("refusal", NO_ANSWER))]
        most = None if self._policy is None else self._policy.max_sentences
        if most is not None:
            rules.append(f"Use at most {most} sentence{'s' if most > 1 else ''}.")
        if correction:
            rules.append(correction)
        return Prompt(self._question, passages, "\n".join(rules), 2 if correction else 1)


def respond(
    question: Any,
    retrieve: Retrieve,
    generate: Generate,
    policy: AnswerPolicy | None = None,
    *,
    verify: Verify | None = None,
    verify_at_once: int = VERIFY_AT_ONCE,
    verify_seconds: float = VERIFY_SECONDS,
    text: TextOf | None = None,
    on_summary: OnSummary | None = None,
    surface: str = "respond",
    **options: Any,
) -> AnswerStream:
    """Answer a question from what is retrieved for it, or refuse, as one stream of events.

    The passages are judged before the model is called: with nothing to answer
    from, it costs nothing. An answer that fails is asked for once more, with
    what was wrong, or refused, as the policy says.

    Args:
        question: What is asked; `retrieve` and the prompt get it as it is.
        retrieve: Called with the question, gives the passages. A function that is not
            async runs in a worker thread.
        generate: Called with a `Prompt` for each attempt, gives the source of the answer:
            an async generator function, or a function that returns what the model's client
            streams, sync or async. It must not block.
        policy: What the answer must satisfy to be shown.
        verify: Judges sentences beside the stream, as for `CitationStream`.
        verify_at_once: How many at a time.
        verify_seconds: How many seconds it has for each.
        text: Takes the text out of an item, for sources of another kind.
        on_summary: Called with the summary, sync or async, exactly once.
        surface: What the log calls this door.
        options: All that `CitationFilter` takes.

    Returns:
        A stream to iterate and to close; `CitationResponse` takes it in place of a source.

    Raises:
        PolicyError: The policy asks for what cannot be done here.
    """
    return AnswerStream(
        question,
        retrieve,
        generate,
        policy,
        verify=verify,
        verify_at_once=verify_at_once,
        verify_seconds=verify_seconds,
        text=text,
        on_summary=on_summary,
        surface=surface,
        **options,
    )


async def _called(function: Callable[[Any], Any], value: Any) -> Any:
    """Call what may be sync, and then blocks, or async."""
    whole = function.func if isinstance(function, partial) else function
    call = getattr(whole, "__call__", None)  # noqa: B004 - its kind is asked for
    if inspect.iscoroutinefunction(whole) or inspect.iscoroutinefunction(call):
        return await _given(function, value)

    async def in_thread(value: Any) -> Any:
        # In a box: a coroutine that comes out of a thread is an error to trio.
        (given,) = await anyio.to_thread.run_sync(
            lambda: (function(value),), abandon_on_cancel=True
        )
        return await given if inspect.isawaitable(given) else given

    return await _given(in_thread, value)


async def _given(function: Callable[[Any], Any], value: Any) -> Any:
    """Call what gives something at once, or an awaitable of it."""
    try:
        given = function(value)
        given = await given if inspect.isawaitable(given) else given
    except StopAsyncIteration as error:
        # Raised as it is, it would pass for the end of the answer.
        raise RuntimeError("a function of the caller raised StopAsyncIteration") from error
    return given
