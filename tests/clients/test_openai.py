"""The official openai clients read every answer to its end through the middleware."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from citestream import Passages, check_citations
from tests.clients.replay import ANSWERS, Replayed, app
from tests.oracle import invented_in
from tests.servers import serving

HERE = Path(__file__).parent
# Where `tests/clients/install` puts the clients that need a place of their own.
INSTALLED = HERE.parent.parent / ".clients"

CLIENTS: dict[str, tuple[list[str], str]] = {
    "python 3": ([sys.executable, str(HERE / "read_openai.py")], "3."),
    "python 2": ([str(INSTALLED / "openai2/bin/python"), str(HERE / "read_openai.py")], "2."),
    "node": (["node", str(HERE / "node/read_openai.cjs")], "6."),
}


def ways_of(answer: Replayed, client: str) -> list[str]:
    if answer.legacy:
        return ["legacy"]
    if not answer.streamed:
        return ["whole"]
    ways = ["raw"] if client == "node" else ["raw", "async"]
    # The streaming helpers expect the first chunk to be of choice 0, which a
    # real server with several choices does not promise, and refuse answers
    # that are filtered or cut where a schema was asked for.
    if not answer.name.startswith("chat-n"):
        ways.append("helper")
    if answer.name == "structured" and client != "node":
        ways.append("parsed")
    return ways


@pytest.fixture(scope="module", params=CLIENTS)
def client(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def results(client: str) -> dict[str, Any]:
    """Let a client read every answer in every way, in one process."""
    command, version = CLIENTS[client]
    assert INSTALLED.is_dir(), "run tests/clients/install first"
    cases = [
        {
            "model": answer.name,
            "ways": ways_of(answer, client),
            "request": request_of(answer, client),
        }
        for answer in ANSWERS.values()
    ]
    with serving(app) as server:
        run = subprocess.run(
            [*command, f"http://127.0.0.1:{server.port}/v1"],
            input=json.dumps(cases),
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "NODE_PATH": str(INSTALLED / "node/node_modules")},
            check=False,
        )
    assert run.returncode == 0, run.stderr
    read: dict[str, Any] = json.loads(run.stdout)
    assert read.pop("version").startswith(version)
    return read


def request_of(answer: Replayed, client: str) -> dict[str, Any]:
    request = dict(answer.request)
    if answer.streamed and not answer.legacy:
        # The clients say `stream` themselves where it is another method.
        request.pop("stream", None)
    return request


def visible_of(answer: Replayed) -> dict[str, str]:
    """Say what a reader must see, by the check of whole texts."""
    visible = {}
    for index, text in answer.texts.items():
        if answer.json:
            value = json.loads(text)
            checked = check_citations(value["answer"], answer.passages).answer
            visible[index] = text.replace(
                json.dumps(value["answer"])[1:-1], json.dumps(checked)[1:-1]
            )
        else:
            visible[index] = check_citations(text, answer.passages).answer
    return visible


@pytest.mark.parametrize("name", ANSWERS)
def test_w09_a_client_reads_the_whole_answer_and_finds_the_summary(
    client: str, results: dict[str, Any], name: str
) -> None:
    answer = ANSWERS[name]
    for way in ways_of(answer, client):
        read = results[f"{name} {way}"]
        texts = {index: "".join(pieces) for index, pieces in read["contents"].items()}
        visible = visible_of(answer)
        assert {i: text for i, text in texts.items() if text} == {
            i: t for i, t in visible.items() if t
        }
        if not answer.json:
            for text in texts.values():
                assert invented_in(text, range(1, answer.passages + 1)) == []
        assert read["finishes"] == {index: [f] for index, f in answer.finishes.items()}
        assert read["tools"] == answer.tools
        # The helper for Node forgets the usage where it came in a chunk of its own.
        if (client, way) != ("node", "helper"):
            assert read["usage"] == answer.usage
        other = {k: v for k, v in read["other"].items() if k not in ("parsed", "summaryInFinal")}
        # The helpers know no field but the provider's, and keep a part of others.
        if way not in ("helper", "parsed"):
            assert other == answer.other
        assert read["summaries"].keys() == answer.texts.keys()
        for index, summary in read["summaries"].items():
            assert summary == expected_summary(answer, index)
        if not answer.legacy:
            assert places(read, texts) == cited_places(answer, texts)


def expected_summary(answer: Replayed, index: str) -> dict[str, Any]:
    text = answer.texts[index]
    text = json.loads(text)["answer"] if answer.json else text
    passages = [
        {"text": f"Text {n}.", "url": f"https://docs.example/{n}"}
        for n in range(1, answer.passages + 1)
    ]
    finish = answer.finishes[index]
    reason = None if finish == "stop" else finish
    return {**check_citations(text, Passages(passages)).summary.to_dict(), "reason": reason}


def places(read: dict[str, Any], texts: dict[str, str]) -> dict[str, list[tuple[str, str]]]:
    """Say which part of the text each annotation points at, and where it leads."""
    found = {}
    for index, notes in read["annotations"].items():
        cited = [note["url_citation"] for note in notes]
        found[index] = [(texts[index][c["start_index"] : c["end_index"]], c["url"]) for c in cited]
    return found


def cited_places(answer: Replayed, texts: dict[str, str]) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for index, text in texts.items():
        prose = json.loads(text)["answer"] if answer.json else text
        for marker in prose.split("[")[1:]:
            labels, closed, _ = marker.partition("]")
            if closed and all(label.strip().isdigit() for label in labels.split(",")):
                found.setdefault(index, []).extend(
                    (f"[{labels}]", f"https://docs.example/{label.strip()}")
                    for label in labels.split(",")
                )
    return found


def test_w09_the_summary_and_the_annotations_are_where_the_table_says(
    client: str, results: dict[str, Any]
) -> None:
    final = results["padded helper"]
    assert len(final["annotations"]["0"]) == 1
    if client == "node":
        # Its helper keeps the extra key in the final object as well.
        assert final["other"]["summaryInFinal"] == '["0"]'
    else:
        parsed = json.loads(results["structured parsed"]["other"]["parsed"])
        assert parsed == {"answer": "Five days [1] plus café.", "sources": [1, 9]}
