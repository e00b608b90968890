"""Puts the demo on a port, with the model that was asked for; it knows no page."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
from typing import TYPE_CHECKING

import uvicorn

from demo.app import create_app
from demo.model import RemoteModel, ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from demo.model import Model

__all__ = ["serve"]

# Streams get this long to end when the server is told to stop.
_GRACE = 3


def serve(
    *, host: str, port: int, model: str, model_name: str | None, say: Callable[[str], None]
) -> None:
    """Serve the demo until it is interrupted.

    Raises:
        OSError: The port cannot be had.
        ValueError: There is no such model.
    """
    answering = _model(model, model_name)
    listening = _listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    say(f"citestream demo: http://{shown}:{listening.getsockname()[1]}/  (Ctrl-C stops it)")
    say(f"model: {answering.name}")
    config = uvicorn.Config(
        create_app(answering, hosts=_names(host)),
        log_level="warning",
        timeout_graceful_shutdown=_GRACE,
    )
    # uvicorn stops at Ctrl-C and then raises it again: here it is the way to end.
    with listening, contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])


def _model(model: str, model_name: str | None) -> Model:
    if model == "scripted":
        return ScriptedModel()
    return RemoteModel(model, model_name, os.environ.get("CITESTREAM_API_KEY"))


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
    except OSError as error:
        raise OSError(f"cannot listen on {host}, port {port}: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    # The error's own words may go on about the address, which is said already.
    return str(error) if error.errno is None else os.strerror(error.errno)


def _names(host: str) -> list[str]:
    """Return the names a browser may use: on loopback those of loopback, else any."""
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = host == "localhost"
    return ["127.0.0.1", "localhost", host] if loopback else ["*"]
