"""The demo as an application of its own process, for a test that ends the process."""

from __future__ import annotations

from demo.app import create_app
from demo.model import ScriptedModel

__all__ = ["app"]

app = create_app(ScriptedModel())
