"""The page's module: its own tests under Node, and the rules that hold for its text."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULE = ROOT / "demo/page/citestream.js"


def test_its_own_tests_pass() -> None:
    run = subprocess.run(
        ["node", "--test", "--test-reporter=tap", "tests/javascript/citestream.test.mjs"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    counts = dict(re.findall(r"(?m)^# (\w+) (\d+)$", run.stdout))
    code = (ROOT / "tests/javascript/citestream.test.mjs").read_text(encoding="utf-8")
    written = re.findall(r"(?m)^test\(", code)
    # Older Nodes count the file as a test of its own.
    assert int(counts["pass"]) >= len(written) > 0
    assert {name: counts[name] for name in ("fail", "cancelled", "skipped", "todo")} == {
        "fail": "0",
        "cancelled": "0",
        "skipped": "0",
        "todo": "0",
    }


def test_it_stands_alone_and_makes_no_markup_of_text() -> None:
    code = MODULE.read_text(encoding="utf-8")
    forbidden = (
        r"(?m)^\s*import |innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\("
        r"|new Function|new EventSource"
    )
    assert re.findall(forbidden, code) == []
