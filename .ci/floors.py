"""Prints pyproject.toml's floors as pip constraints, each version exactly.

It knows only what pyproject.toml says, so the two cannot drift apart.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def floors(pyproject: str) -> list[str]:
    """Return `name==version` for every `name>=version` of a pyproject.toml."""
    settings = tomllib.loads(pyproject)
    project = settings["project"]
    wanted = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        wanted += extra
    wanted += settings["dependency-groups"]["test"]
    found = [re.fullmatch(r"([\w.-]+)>=([\w.]+)", requirement) for requirement in wanted]
    return sorted(f"{match[1]}=={match[2]}" for match in found if match)


if __name__ == "__main__":
    sys.stdout.write("\n".join(floors((ROOT / "pyproject.toml").read_text("utf-8"))) + "\n")
