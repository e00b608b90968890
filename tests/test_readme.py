"""The code in README and docs runs and prints what they show; commands are those that are run."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}

# A block of Python, and the block of text that shows its output, when it has one.
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
CONSOLE = re.compile(r"^```console\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
# A command, and what it prints.
COMMAND = re.compile(r"^\$ (.*)\n((?:[^$].*\n|\n)*)", re.MULTILINE)
SETTING_UP = "python3 -m venv .venv && .venv/bin/pip install "

CODE = [(match[1], match[2] or "") for match in BLOCK.finditer(README)]
CODE_IN_DOCS = [
    (match[1], match[2] or "") for text in DOCS.values() for match in BLOCK.finditer(text)
]


@pytest.mark.parametrize(("code", "shown"), CODE, ids=[code.split("\n")[0] for code, _ in CODE])
def test_code_prints_what_is_shown(tmp_path: Path, code: str, shown: str) -> None:
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.stdout, result.stderr) == (shown, "")


def test_code_in_docs_prints_what_is_shown() -> None:
    # In this process: README's has shown that nothing else is needed. Code that shows
    # nothing is a server's, and has a test of its own.
    shown = {code: output for code, output in CODE_IN_DOCS if output}
    printed = {}
    for code in shown:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(code, "docs", "exec", dont_inherit=True), {"__name__": "__main__"})
        printed[code] = output.getvalue()
    assert len(printed) >= 9
    assert printed == shown


def test_code_passes_the_type_checker(tmp_path: Path) -> None:
    files = []
    for number, (code, _) in enumerate([*CODE, *CODE_IN_DOCS]):
        file = tmp_path / f"block_{number}.py"
        file.write_text(code, encoding="utf-8")
        files.append(file)
    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout == f"Success: no issues found in {len(files)} source files\n"


@pytest.mark.parametrize(
    ("session", "status"), [*zip(CONSOLE.findall(README), [1, 0], strict=True)]
)
def test_console_shows_what_the_command_prints(tmp_path: Path, session: str, status: int) -> None:
    (cat, given), (run, printed) = re.findall(
        r"^\$ (.*)\n((?:[^$].*\n|\n)*)", session, re.MULTILINE
    )
    (tmp_path / cat.removeprefix("cat ")).write_text(given, encoding="utf-8")
    name, *arguments = run.split()
    assert name == "citestream"
    result = subprocess.run(
        [sys.executable, "-m", "citestream", *arguments],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.stdout, result.stderr, result.returncode) == (printed, "", status)


@pytest.mark.parametrize("which", ["demo", "test"])
def test_command_is_one_line_with_all_its_setting_up(which: str) -> None:
    (command,) = re.findall(
        rf"^<!-- {which} command -->\n```\n(.*)\n```\n<!-- end -->$", README, re.MULTILINE
    )
    assert command.startswith(SETTING_UP)


def test_links_lead_somewhere() -> None:
    missing = []
    for path, text in {ROOT / "README.md": README, **DOCS}.items():
        prose = re.sub(r"`[^`\n]*`", "", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
        headings = {
            "#" + re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        }
        targets = re.findall(r"\]\(([^)]+)\)", prose)
        missing += [
            (path.name, target)
            for target in targets
            if target not in headings and not (path.parent / target.partition("#")[0]).is_file()
        ]
    assert "](docs/styles.md)" in README
    assert missing == []
