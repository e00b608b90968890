"""The examples, each run as its first lines say: by a server."""

from __future__ import annotations

import json
import logging
from typing import Any
from urllib.parse import quote

import pytest

import examples.ask
import examples.chat
from citestream import NO_ANSWER
from tests.servers import Reply, serving
from tests.wire.bodies import payloads

PROMPT = "[1] A refund takes five days.\n[2] Helmets are free.\n\nHow long does a refund take?"


def ask(port: int, question: str) -> Any:
    with Reply(port, f"/ask?q={quote(question)}", method="POST") as reply:
        assert reply.status == 200
        return json.loads(reply.read())


def test_ask_returns_the_cited_sources_alone_and_counts_what_was_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    before = examples.ask.app.state.dropped
    with serving(examples.ask.app) as server, caplog.at_level(logging.WARNING, "examples.ask"):
        assert ask(server.port, "How long does a refund take?") == {
            "answer": "A refund takes five days [1]. Weekends do not count.",
            "sources": [{"n": 1, "title": "Refunds", "url": "https://docs.example/refunds"}],
            "grounded": True,
            "dropped_citations": [7],
        }
    assert examples.ask.app.state.dropped == before + 1
    assert caplog.messages == [f"dropped citations [7], {before + 1} so far"]


def test_ask_calls_no_model_where_nothing_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("the model was called")

    monkeypatch.setattr(examples.ask, "generate", never)
    with serving(examples.ask.app) as server:
        assert ask(server.port, "Quantum chromodynamics?") == {
            "answer": NO_ANSWER,
            "sources": [],
            "grounded": False,
            "dropped_citations": [],
        }


def chat(port: int, **request: Any) -> bytes:
    body = {"messages": [{"role": "user", "content": PROMPT}], **request}
    with Reply(port, "/v1/chat/completions", method="POST", body=body) as reply:
        assert reply.status == 200
        return reply.read()


def test_chat_is_checked_by_adding_the_middleware() -> None:
    with serving(examples.chat.app) as server:
        whole = json.loads(chat(server.port))
        stream = chat(server.port, stream=True)
        # Without sources in the prompt there is nothing to check against.
        untouched = chat(server.port, messages=[{"role": "user", "content": "Hello"}])
    assert whole["choices"][0]["message"]["content"] == "It takes five days [1]. Weekends count."
    assert whole["citestream"]["invalid"] == [7]
    frames = payloads(stream)
    deltas = [frame["choices"][0]["delta"].get("content", "") for frame in frames]
    assert "".join(deltas) == whole["choices"][0]["message"]["content"]
    assert frames[-1]["citestream"] == whole["citestream"]
    assert stream.endswith(b"data: [DONE]\n\n")
    assert json.loads(untouched)["choices"][0]["message"]["content"].endswith("count [7].")
