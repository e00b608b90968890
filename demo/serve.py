"""Puts the demo on a port, with the model that was asked for; it knows no page."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
from typing import TYPE_CHECKING

import uvicorn
from anyio.from_thread import start_blocking_portal

from demo.app import create_app
from demo.local import local_model
from demo.model import LocalModel, RemoteModel, ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from demo.model import Model

__all__ = ["serve"]

# Streams get this long to end when the server is told to stop.
_GRACE = 3


def serve(
    *,
    host: str,
    port: int,
    models: Sequence[str],
    model_name: str | None,
    say: Callable[[str], None],
) -> None:
    """Serve the demo until it is interrupted.

    Args:
        host: The address to listen on.
        port: The port, or 0 for a free one.
        models: Who answers: `scripted`, `local` or the base URL of an endpoint, the
            default first. The scripted model is always there, last unless it is named.
        model_name: The model that endpoints are asked for.
        say: Prints a line.

    Raises:
        OSError: The port cannot be had, or the local model cannot be started.
        ValueError: There is no such model.
    """
    # Ctrl-C is the way to end: uvicorn stops at it and then raises it again.
    with (
        contextlib.suppress(KeyboardInterrupt),
        _listen(host, port) as listening,
        contextlib.ExitStack() as stack,
    ):
        # Each once, in the order given.
        named = dict.fromkeys((*models, "scripted"))
        answering = [stack.enter_context(_running(model, model_name)) for model in named]
        shown = f"[{host}]" if ":" in host else host
        say(f"citestream demo: http://{shown}:{listening.getsockname()[1]}/  (Ctrl-C stops it)")
        say(f"model: {', '.join(model.name for model in answering)}")
        config = uvicorn.Config(
            create_app(*answering, hosts=_names(host)),
            log_level="warning",
            timeout_graceful_shutdown=_GRACE,
        )
        uvicorn.Server(config).run(sockets=[listening])


@contextlib.contextmanager
def _running(model: str, model_name: str | None) -> Iterator[Model]:
    """Give the model that was asked for, with its server where it needs one of ours."""
    if model == "scripted":
        yield ScriptedModel()
    elif model == "local":
        # uvicorn brings its own event loop, and the server must outlive it.
        with (
            start_blocking_portal() as portal,
            portal.wrap_async_context_manager(local_model()) as url,
        ):
            yield LocalModel(url)
    else:
        yield RemoteModel(model, model_name, os.environ.get("CITESTREAM_API_KEY"))


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
