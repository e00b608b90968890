"""Serves a model file over HTTP with llama.cpp; it knows nothing of the demo.

    python demo/llamacpp.py MODEL.gguf [SLOTS]

It picks a free port on loopback, prints the address on a line of its own once
the model answers, and serves until its standard input ends. Whoever started it
holds the other end: when that process dies, however it dies, this one ends too.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

__all__ = ["main"]

# What an answer gets for its prompt and itself. The longest prompt of the
# demo, with four documents, has 912 tokens.
_TOKENS_PER_SLOT = 2048

# Two threads wait for each other as soon as anything else wants one of two
# cores: an answer then took eight to thirty times as long.
_THREADS = 1

# Errors only: what else llama.cpp says would drown the demo's own lines.
_VERBOSITY = 1


def main(model_file: str, slots: int = 1) -> None:
    """Serve until standard input ends."""
    # It is installed by hand and has no type hints: this module can be
    # imported and checked without it.
    xllamacpp = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = model_file
    # The path of somebody's home directory is no name for a model.
    params.model_alias = {Path(model_file).name.split(".")[0]}
    params.port = 0
    # No page of another origin may read what this server answers.
    params.cors_origins = "http://127.0.0.1"
    params.ui = False
    params.n_parallel = slots
    params.n_ctx = slots * _TOKENS_PER_SLOT
    # Finished prompts are not kept: by default, they may take 8 GiB.
    params.cache_ram_mib = 0
    params.cpuparams.n_threads = _THREADS
    params.cpuparams_batch.n_threads = _THREADS
    params.verbosity = _VERBOSITY
    # It listens, and has loaded the model, when the constructor returns.
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)  # noqa: T201 - the one line it is asked for
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
