"""`citestream check` on files, lines and standard input; the demo has tests of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from citestream import NO_ANSWER, check_citations
from citestream.cli import cli

ROOT = Path(__file__).resolve().parent.parent

# The four answers of "Citations you can check", and what the article expects.
ARTICLE = [
    {"id": "A", "answer": "A day ticket costs 9 euros [1]."},
    {"id": "B", "answer": "Cancel in the app [2]. The fee is refunded [4]."},
    {"id": "C", "answer": "Refunds usually take a few days."},
    {"id": "D", "answer": "Rides end at a station [3], within 45 minutes [2]."},
]
EXPECTED = """\
A: cited 1 | invalid none | unused 2,3 | ok
B: cited 2,4 | invalid 4 | unused 1,3 | FAIL
C: cited none | invalid none | unused 1,2,3 | FAIL
D: cited 2,3 | invalid none | unused 1 | ok
"""


def lines(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def check(text: str, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["check", "-", *arguments], input=text)


def test_four_answers_come_out_as_the_article_expects(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(lines(*ARTICLE), encoding="utf-8")
    result = CliRunner().invoke(cli, ["check", str(file), "--passages", "3"])
    assert (result.stdout, result.exit_code) == (EXPECTED, 1)


@pytest.mark.parametrize(
    ("answer", "line", "status"),
    [
        ("A pass costs 25 [1].", "A: cited 1 | invalid none | unused 2,3 | ok", 0),
        # The article's sneaky answers: a blank inside, round brackets, a bracket that is prose.
        ("Cancel at once [1 ].", "A: cited 1 | invalid none | unused 2,3 | ok", 0),
        ("Cancel at once (1).", "A: cited none | invalid none | unused 1,2,3 | FAIL", 1),
        (
            "The sign said [sic] 25 dollars [1].",
            "A: cited 1 | invalid none | unused 2,3 | ok",
            0,
        ),
        (NO_ANSWER, "A: cited none | invalid none | unused 1,2,3 | ok", 0),
        (f"{NO_ANSWER} [9]", "A: cited 9 | invalid 9 | unused 1,2,3 | FAIL", 1),
        ("", "A: cited none | invalid none | unused 1,2,3 | FAIL", 1),
        # An invented label that is too long to list is not forgotten.
        (
            f"So [1] and so [{'9' * 200}].",
            "A: cited 1,... | invalid ... | unused 2,3 | FAIL",
            1,
        ),
        ("[10] [2] [9] [1]", "A: cited 1,2,9,10 | invalid 9,10 | unused 3 | FAIL", 1),
    ],
)
def test_plain_text_is_one_answer(answer: str, line: str, status: int) -> None:
    result = check(answer, "--passages", "3")
    assert (result.stdout, result.exit_code) == (f"{line}\n", status)


def test_strict_accepts_the_canonical_spelling_alone() -> None:
    result = check(
        "Cancel [1 ], at once [Source 2]. Or wait [2, 3].", "--passages", "3", "--strict"
    )
    assert result.stdout == "A: cited 1,2,3 | invalid 1,2 | unused 1 | FAIL\n"


def test_marker_may_have_a_prefix() -> None:
    result = check("See [S1], [S9], and row[2].", "--passages", "2", "--style", "prefix:S")
    assert result.stdout == "A: cited 1,9 | invalid 9 | unused 2 | FAIL\n"


def test_labels_are_parted_by_semicolons_since_they_hold_commas() -> None:
    answer = {
        "answer": "So it is [Annex III, point 4] and not so [Article 7].",
        "passages": {"Annex III, point 4": "One.", "Article 6(3)": "Two."},
    }
    result = check(lines(answer), "--style", "label")
    assert result.stdout == (
        "A: cited Annex III, point 4; Article 7 | invalid Article 7 | unused Article 6(3) | FAIL\n"
    )


def test_json_prints_the_summary_and_the_verdict() -> None:
    result = check(lines(*ARTICLE[:2]), "--passages", "3", "--json")
    summaries = [check_citations(str(row["answer"]), 3).summary for row in ARTICLE[:2]]
    assert [summary.invalid for summary in summaries] == [(), (4,)]
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"name": "A", "ok": True, "summary": summaries[0].to_dict()},
        {"name": "B", "ok": False, "summary": summaries[1].to_dict()},
    ]
    assert result.exit_code == 1


def test_answers_are_named_by_id_then_name_then_letter() -> None:
    answers = lines(
        {"id": 7, "name": "seven", "answer": "[1]"},
        {"name": "eight", "answer": "[1]"},
        {"answer": "[1]"},
    )
    result = check(answers, "--passages", "1")
    assert [line.split(":")[0] for line in result.stdout.splitlines()] == ["7", "eight", "C"]


def test_letters_go_on_after_z() -> None:
    result = check(lines({"answer": "[1]"}) * 28, "--passages", "1")
    names = [line.split(":")[0] for line in result.stdout.splitlines()]
    assert (names[0], names[25:]) == ("A", ["Z", "A2", "B2"])


def test_name_cannot_forge_a_line() -> None:
    result = check(lines({"id": "x\nB: ok\x1b[2J", "answer": "[1]"}), "--passages", "1")
    assert result.stdout == "x\\nB: ok\\x1b[2J: cited 1 | invalid none | unused none | ok\n"


def test_line_with_passages_of_its_own_is_checked_against_them() -> None:
    answers = lines(
        {"answer": "[2]", "passages": ["one", "two"]},
        {"answer": "[2]", "passages": 1},
        {"answer": "[2]", "passages": {"2": {"text": "two"}}},
    )
    result = check(answers)
    assert result.stdout == (
        "A: cited 2 | invalid none | unused 1 | ok\n"
        "B: cited 2 | invalid 2 | unused 1 | FAIL\n"
        "C: cited 2 | invalid none | unused none | ok\n"
    )


@pytest.mark.parametrize(
    "passages",
    [
        '["one", "two"]',
        '[{"text": "one"}, {"text": "two"}]',
        '{"1": "one", "2": "two"}',
        '{"text": "one"}\n\n{"text": "two"}\n',
        '\ufeff"one"\n"two"\n',
        "2",
    ],
)
def test_passages_come_from_a_file(tmp_path: Path, passages: str) -> None:
    file = tmp_path / "passages"
    file.write_text(passages, encoding="utf-8")
    result = check("[2] [3]", "--passages", str(file))
    assert result.stdout == "A: cited 2,3 | invalid 3 | unused 1 | FAIL\n"


def test_line_separator_inside_a_string_does_not_end_the_line() -> None:
    result = check('{"answer": "one\u2028two [1]"}\n', "--passages", "1")
    assert result.stdout == "A: cited 1 | invalid none | unused none | ok\n"


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("[1]", [], "--passages is needed: how many, or a file of them"),
        ('{"answer": "[1]"}', [], '-, line 1: needs "passages" of its own, or --passages'),
        ('{"answer": 1}', ["--passages", "1"], '-, line 1: expected an object with "answer"'),
        ('{"answer": ""}\n\n{"id": 1}', ["--passages", "1"], "-, line 3: expected an object"),
        ('{"answer": ""}\n{', ["--passages", "1"], "-, line 2: not JSON"),
        ('{"answer": "", "passages": "x"}', [], "-, line 1: expected passages as a number"),
        ('{"answer": "", "passages": true}', [], "-, line 1: expected passages as a number"),
        ('{"answer": "", "passages": -1}', [], "-, line 1: expected 0 to 100000 passages"),
        ('{"answer": "", "passages": {"": "x"}}', [], "-, line 1: expected a label"),
        ("[1]", ["--passages", "1" * 5000], "--passages: expected 0 to 100000 passages"),
        ("[1]", ["--passages", "nowhere"], "nowhere: No such file or directory"),
        ("[1]", ["--passages", "."], ".: Is a directory"),
        ("[1]", ["--passages", "3", "--style", "wavy"], "--style: expected prefix:WORD or one of"),
        ("[1]", ["--passages", "3", "--style", "prefix:"], "--style: expected"),
        ("[1]", ["--passages", "3", "--style", "label"], "A: expected a label that the style"),
    ],
)
def test_bad_usage_is_said_in_a_sentence(text: str, arguments: list[str], message: str) -> None:
    result = check(text, *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output


@pytest.mark.parametrize("which", ["answers", "passages"])
def test_file_that_is_no_utf_8_is_said_in_a_sentence(tmp_path: Path, which: str) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_text("[1]")
    bad.write_bytes(b"\xff[1]")
    files = [bad, "1"] if which == "answers" else [good, bad]
    result = CliRunner().invoke(cli, ["check", str(files[0]), "--passages", str(files[1])])
    assert result.exit_code == 2
    assert "UTF-8" in result.output


def test_missing_file_is_said_in_a_sentence() -> None:
    result = CliRunner().invoke(cli, ["check", "nowhere", "--passages", "1"])
    assert result.exit_code == 2
    assert "nowhere: No such file or directory" in result.output


def run(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        input=text,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_module_runs_as_the_command() -> None:
    result = run("-m", "citestream", "check", "-", "--passages", "3", text="See [1, 9, 2].")
    assert result.stdout == "A: cited 1,2,9 | invalid 9 | unused 3 | FAIL\n"
    assert (result.stderr, result.returncode) == ("", 1)


def test_missing_extra_is_named() -> None:
    program = (
        "import sys; sys.modules['click'] = None\nfrom citestream.__main__ import main; main()"
    )
    result = run("-c", program)
    assert result.stderr == (
        "citestream: the command line needs click: pip install 'citestream[cli]'\n"
    )
    assert result.returncode == 1


def test_demo_names_its_missing_extra() -> None:
    program = (
        "import sys; sys.modules['uvicorn'] = None; sys.argv = ['citestream', 'demo']\n"
        "from citestream.__main__ import main; main()"
    )
    result = run("-c", program)
    assert result.stderr == "Error: the demo needs uvicorn: pip install 'citestream[demo]'\n"
    assert result.returncode == 1
