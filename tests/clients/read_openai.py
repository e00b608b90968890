"""Reads answers with the official openai client and prints what it made of them as JSON.

    python read_openai.py BASE_URL < cases.json

A case is `{"model", "ways", "request"}`; ways are `raw`, `async`, `helper`,
`parsed`, `whole` and `legacy`. It runs under any environment that has the
client and imports nothing of the package under test.
"""

import asyncio
import json
import sys
from typing import Any

import openai
from pydantic import BaseModel

MESSAGES: Any = [{"role": "user", "content": "How long do refunds take?"}]


class Structured(BaseModel):
    """The schema that was asked for where answers are JSON."""

    answer: str
    sources: list[int]


class Read:
    """What a client saw of one answer."""

    def __init__(self) -> None:
        self.contents: dict[str, list[str]] = {}
        self.finishes: dict[str, list[str]] = {}
        self.summaries: dict[str, Any] = {}
        self.annotations: dict[str, Any] = {}
        self.tools: dict[str, str] = {}
        self.other: dict[str, str] = {}
        self.usage: Any = None

    def chunk(self, chunk: Any) -> None:
        """Take in a chunk of a stream."""
        if chunk.usage is not None:
            self.usage = chunk.usage.total_tokens
        for choice in chunk.choices:
            index = str(choice.index)
            if getattr(chunk, "citestream", None):
                self.summaries[index] = chunk.citestream
            text = choice.text if hasattr(choice, "text") else choice.delta.content
            if text:
                self.contents.setdefault(index, []).append(text)
            if choice.finish_reason:
                self.finishes.setdefault(index, []).append(choice.finish_reason)
            delta: Any = getattr(choice, "delta", None)
            if getattr(delta, "annotations", None):
                self.annotations.setdefault(index, []).extend(delta.annotations)
            for call in getattr(delta, "tool_calls", None) or []:
                arguments = call.function.arguments or ""
                self.tools[index] = self.tools.get(index, "") + arguments
            for name in ("refusal", "reasoning_content"):
                said = getattr(delta, name, None)
                if said:
                    self.other[name] = self.other.get(name, "") + said

    def completion(self, completion: Any) -> None:
        """Take in a whole answer."""
        self.usage = completion.usage.total_tokens if completion.usage else None
        for choice in completion.choices:
            index = str(choice.index)
            message = getattr(choice, "message", choice)
            text = message.text if message is choice else message.content
            self.contents[index] = [text] if text else []
            self.finishes[index] = [choice.finish_reason]
            summary = getattr(choice, "citestream", None) or getattr(completion, "citestream", None)
            if summary:
                self.summaries[index] = summary
            if getattr(message, "annotations", None):
                notes = [n if isinstance(n, dict) else n.to_dict() for n in message.annotations]
                self.annotations[index] = notes
            for call in getattr(message, "tool_calls", None) or []:
                self.tools[index] = call.function.arguments
            for name in ("refusal", "reasoning_content"):
                if getattr(message, name, None):
                    self.other[name] = getattr(message, name)


def raw(client: Any, case: Any, read: Read) -> None:
    """Iterate over the chunks."""
    with client.chat.completions.create(
        model=case["model"], messages=MESSAGES, stream=True, **case["request"]
    ) as stream:
        for chunk in stream:
            read.chunk(chunk)


def legacy(client: Any, case: Any, read: Read) -> None:
    """Iterate over the chunks of the older endpoint, or take the whole of it."""
    answer = client.completions.create(model=case["model"], prompt="How?", **case["request"])
    if case["request"].get("stream"):
        for chunk in answer:
            read.chunk(chunk)
    else:
        read.completion(answer)


def whole(client: Any, case: Any, read: Read) -> None:
    """Take the whole answer."""
    read.completion(
        client.chat.completions.create(model=case["model"], messages=MESSAGES, **case["request"])
    )


def helper(client: Any, case: Any, read: Read) -> None:
    """Use the streaming helper, and compare its events with its final object."""
    deltas: dict[str, str] = {}
    seen = Read()
    request = dict(case["request"])
    if case["way"] == "parsed":
        request["response_format"] = Structured
    with client.chat.completions.stream(
        model=case["model"], messages=MESSAGES, **request
    ) as stream:
        for event in stream:
            if event.type == "chunk":
                seen.chunk(event.chunk)
            elif event.type == "content.delta":
                deltas["0"] = deltas.get("0", "") + event.delta
        try:
            final = stream.get_final_completion()
        except (openai.LengthFinishReasonError, openai.ContentFilterFinishReasonError):
            # It parses no answer that was cut; what it has put together is here.
            final = stream.current_completion_snapshot
    read.completion(final)
    read.summaries = seen.summaries
    if len(final.choices) == 1:
        assert deltas.get("0", "") == "".join(read.contents["0"]), "events against final object"
    if case["way"] == "parsed":
        read.other["parsed"] = final.choices[0].message.parsed.model_dump_json()


async def in_async(url: str, case: Any, read: Read) -> None:
    """Iterate over the chunks in an async client."""
    async with openai.AsyncOpenAI(base_url=url, api_key="x", max_retries=0) as client:
        stream = await client.chat.completions.create(
            model=case["model"], messages=MESSAGES, stream=True, **case["request"]
        )
        async for chunk in stream:
            read.chunk(chunk)


def main(url: str) -> None:
    """Read every case in every way it names."""
    ways = {"raw": raw, "helper": helper, "parsed": helper, "whole": whole, "legacy": legacy}
    results: dict[str, Any] = {"version": openai.__version__}
    with openai.OpenAI(base_url=url, api_key="x", max_retries=0) as client:
        for case in json.load(sys.stdin):
            for way in case["ways"]:
                read = Read()
                if way == "async":
                    asyncio.run(in_async(url, case, read))
                else:
                    ways[way](client, {**case, "way": way}, read)
                results[f"{case['model']} {way}"] = vars(read)
    print(json.dumps(results))  # noqa: T201 - what it is for


if __name__ == "__main__":
    main(sys.argv[1])
