"""The examples, each run as its first lines say: by a server, or as a program."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any
from urllib.parse import quote

import pytest

import examples.answers
import examples.ask
import examples.chat
from citestream import NO_ANSWER
from citestream.respond import Prompt
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


def test_ask_asks_once_more_where_nothing_was_cited(monkeypatch: pytest.MonkeyPatch) -> None:
    written = [["A refund takes a week."], ["A refund takes five days [1]."]]
    prompts: list[str] = []

    async def generate(prompt: Prompt) -> list[str]:
        prompts.append(str(prompt))
        return written[len(prompts) - 1]

    monkeypatch.setattr(examples.ask, "generate", generate)
    with serving(examples.ask.app) as server:
        first = ask(server.port, "How long does a refund take?")
        # And once more only: what cites nothing then is shown for what it is.
        written[1] = ["It is a week."]
        prompts.clear()
        second = ask(server.port, "How long does a refund take?")
    assert (first["answer"], first["grounded"]) == ("A refund takes five days [1].", True)
    assert second == {
        "answer": "It is a week.",
        "sources": [],
        "grounded": False,
        "dropped_citations": [],
    }
    assert len(prompts) == 2
    assert prompts[1].startswith(prompts[0].partition("\n\n")[0])


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


VERDICTS = """\
A: cited 1 | invalid none | unused 2,3 | ok
B: cited 2,4 | invalid 4 | unused 1,3 | FAIL
C: cited none | invalid none | unused 1,2,3 | FAIL
D: cited 2,3 | invalid none | unused 1 | ok
E: cited 1 | invalid none | unused 2,3 | ok
F: cited none | invalid none | unused 1,2,3 | FAIL
G: cited 1 | invalid none | unused 2,3 | ok

E again, where the canonical spelling alone is accepted:
E: cited 1 | invalid 1 | unused 1,2,3 | FAIL

B: Cancel in the app [2]. The fee is refunded [4].
  fall back to the refusal
    the reader gets:   I don't know based on the provided documents.
  drop the bad marker and flag
    the reader gets:   Cancel in the app [2]. The fee is refunded.
    with a warning:    invented_citation
  retry once, then refuse
    the model is told: Your last answer named [4], which is none of the passages. \
Use only the markers that were given to you.
    the reader gets:   Cancel in the app, up to one hour before the start [2].

Valid, and is it so?
  supported: A day ticket costs 9 euros [1].
  contradicted: You can cancel a booked ride thirty minutes before it starts [2].
  unknown: Roses are red [2].
"""


def test_answers_get_the_verdicts_of_the_article(capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(examples.answers.main())
    assert capsys.readouterr().out == VERDICTS
