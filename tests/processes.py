"""What other processes are doing, read off /proc; it starts and stops none."""

from __future__ import annotations

import contextlib
from pathlib import Path

__all__ = ["children", "is_running", "ticks"]

PROC = Path("/proc")


def _stat(path: Path) -> list[str]:
    """Return the fields after the command's name, which may hold blanks."""
    return path.read_text().rpartition(")")[2].split()


def is_running(pid: int) -> bool:
    """Say whether a process is there, and more than a record of its end."""
    try:
        state = _stat(PROC / str(pid) / "stat")[0]
    except OSError:
        return False
    return state != "Z"


def children(pid: int) -> list[int]:
    """Return the processes that a process started and that still run."""
    found = []
    for path in PROC.glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it may have ended meanwhile
            state, parent = _stat(path)[:2]
            if int(parent) == pid and state != "Z":
                found.append(int(path.parent.name))
    return found


def ticks(pid: int) -> dict[str, int]:
    """Return the processor time of every thread of a process, in hundredths of a second."""
    times = {}
    for thread in (PROC / str(pid) / "task").iterdir():
        user, system = _stat(thread / "stat")[11:13]
        times[thread.name] = int(user) + int(system)
    return times
