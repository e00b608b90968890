"""Prints the table of all benchmarks as Markdown; it measures nothing itself.

python -m benchmarks              all that this machine can, some minutes
python -m benchmarks limits       those named
"""

from __future__ import annotations

import datetime as dt
import os
import platform
import sys
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.measure import Row

# Each has a `rows()`.
MODULES = ("limits", "gates", "serve", "doors", "browser")


def machine() -> str:
    """Say what the figures were measured on."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = names[0].partition(":")[2].strip() if names else cpu
    today = dt.datetime.now(tz=dt.UTC).date()
    return (
        f"{cpu}, {os.cpu_count()} cores, {platform.system()}, "
        f"{platform.python_implementation()} {platform.python_version()}, "
        f"citestream {metadata.version('citestream')}, {today.isoformat()}"
    )


def line(row: Row) -> str:
    """Write a row of the table; a bar that is not kept says so."""
    missed = " **missed**" if row.kept is False else ""
    return f"| {row.what} | {row.measured} | {row.bar}{missed} |"


def main(names: list[str]) -> int:
    """Measure and print; 1 when a bar is missed."""
    for name in names:
        if name not in MODULES:
            print(f"expected one of {', '.join(MODULES)}, got {name}", file=sys.stderr)
            return 2
    print(f"Measured on: {machine()}.\n")
    print("| what | measured | bar |\n|---|---|---|")
    missed = False
    for name in names or MODULES:
        module = import_module(f"benchmarks.{name}")
        if not names and not getattr(module, "is_possible", lambda: True)():
            print(f"left out: {name}", file=sys.stderr)
            continue
        for row in module.rows():
            print(line(row), flush=True)
            missed = missed or row.kept is False
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
