"""Poses as xllamacpp: the same names, and a server that repeats what the real one once said.

It knows no model. The folder that `STAND_IN_FOLDER` names holds the answer it
gives, and gets what it was started with; `STAND_IN_MODE` makes it misbehave.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

FOLDER = Path(os.environ.get("STAND_IN_FOLDER", "."))
MODE = os.environ.get("STAND_IN_MODE", "")


class CommonParams(SimpleNamespace):
    def __init__(self) -> None:
        super().__init__(
            model=SimpleNamespace(),
            cpuparams=SimpleNamespace(n_threads=-1),
            cpuparams_batch=SimpleNamespace(n_threads=-1),
        )


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = 0

    def do_GET(self) -> None:
        Handler.asked += 1
        loading = MODE == "never healthy" or (MODE == "loading" and Handler.asked < 3)
        self.reply(503 if loading else 200, "application/json", b"{}")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.reply(200, "text/event-stream", (FOLDER / "answer.sse").read_bytes())

    def reply(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing, as the real one at this verbosity."""


class Server:
    def __init__(self, params: CommonParams) -> None:
        what = {"pid": os.getpid(), "params": plain(params)}
        (FOLDER / "started.json").write_text(json.dumps(what))
        if MODE == "fails":
            raise RuntimeError("Failed to init server, please check the input params.")
        if MODE == "stays":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        server = ThreadingHTTPServer(("127.0.0.1", params.port), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.listening_address = f"http://127.0.0.1:{server.server_port}"
        if MODE in {"babbles", "mumbles"}:
            self.listening_address = "loading " * (1000 if MODE == "babbles" else 1)


def plain(value: Any) -> Any:
    if isinstance(value, SimpleNamespace):
        return {name: plain(inner) for name, inner in vars(value).items()}
    return sorted(value) if isinstance(value, set) else value
