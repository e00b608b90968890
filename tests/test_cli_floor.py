"""`citestream floor` on JSON Lines and CSV, and what it says of a line it cannot read."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from citestream.cli import cli

CSV = """\
question,in_scope,score
Which practices are banned?,true,0.190
Who keeps the register?,TRUE,0.41
"What, then, is a station?",yes,0.35
What is the weather?,false,0.177
Write a poem,0,0.02
What does the other law say?,no,0.2
"""
REPORT = """\
in-scope questions        3, lowest score  0.19  Which practices are banned?
off-topic questions       3, highest score 0.2  What does the other law say?
margin                -0.01

     floor    in-scope refused  off-topic let through
      0.18              0 of 3                 1 of 3
       0.3              1 of 3                 0 of 3

suggested floor: 0.18
"""


def floor(text: str, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["floor", "-", *arguments], input=text)


def json_lines(text: str) -> str:
    """Return the rows of CSV as JSON Lines."""
    rows = []
    for line in text.splitlines()[1:]:
        question, in_scope, score = line.rsplit(",", 2)
        yes = in_scope.lower() in ("true", "yes")
        rows.append({"question": question.strip('"'), "in_scope": yes, "score": float(score)})
    return "".join(json.dumps({**row, "more": None}) + "\n" for row in rows)


def test_report_of_csv_and_of_json_lines_is_the_same(tmp_path: Path) -> None:
    for name, text in (("questions.csv", CSV), ("questions.jsonl", json_lines(CSV))):
        file = tmp_path / name
        # Spreadsheets write a mark before the first column, and line ends of two characters.
        file.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
        result = CliRunner().invoke(cli, ["floor", str(file)])
        assert (result.output, result.exit_code) == (REPORT, 0), name


def test_floor_that_is_asked_for_is_listed() -> None:
    result = floor(CSV, "--at", "0.25", "--at", "0.1")
    assert result.stdout.splitlines()[5:9] == [
        "       0.1              0 of 3                 2 of 3",
        "      0.18              0 of 3                 1 of 3",
        "      0.25              1 of 3                 0 of 3",
        "       0.3              1 of 3                 0 of 3",
    ]


def test_json_has_the_same_numbers() -> None:
    result = floor(CSV, "--json")
    assert json.loads(result.stdout) == {
        "in_scope": 3,
        "off_topic": 3,
        "lowest_in_scope": 0.19,
        "highest_off_topic": 0.2,
        "margin": -0.01,
        "candidates": [
            {"floor": 0.18, "in_scope_refused": 0, "off_topic_let_through": 1},
            {"floor": 0.3, "in_scope_refused": 1, "off_topic_let_through": 0},
        ],
        "suggested": {"floor": 0.18, "in_scope_refused": 0, "off_topic_let_through": 1},
    }
    unhelpful = floor("in_scope,score\nno,1\nyes,0\n", "--json")
    assert json.loads(unhelpful.stdout)["suggested"] is None


def test_report_says_when_no_floor_helps() -> None:
    result = floor("in_scope,score\nno,1\nyes,0\n")
    assert result.stdout == (
        "in-scope questions        1, lowest score  0\n"
        "off-topic questions       1, highest score 1\n"
        "margin                   -1\n"
        "\n"
        "     floor    in-scope refused  off-topic let through\n"
        "         0              0 of 1                 1 of 1\n"
        "      1.01              1 of 1                 0 of 1\n"
        "\n"
        "suggested floor: none, since any that stops an off-topic question refuses others too\n"
    )


def test_question_cannot_forge_a_line() -> None:
    row = {"question": "a\nsuggested floor: 9\x1b[2J", "in_scope": True, "score": 1}
    result = floor(json.dumps(row) + '\n{"in_scope": false, "score": 0}\n')
    assert "1  a\\nsuggested floor: 9\\x1b[2J\n" in result.stdout


def test_line_that_cannot_be_read_is_named_with_what_was_expected() -> None:
    score = "give the best score that retrieval found for the question, 0 if it found nothing"
    scope = "say whether the passages hold the answer"
    head = (
        "expected JSON Lines, or CSV with the columns question, in_scope and score, got no column"
    )
    both = "expected at least one in-scope and one off-topic question, got"
    good = '{"in_scope": true, "score": 0.4}\n'
    expected = {
        'in_scope,score\nyes,"0,4"': f'-, line 2: expected "score", a number, got "0,4": {score}',
        "in_scope,score\nyes": f'-, line 2: expected "score", a number, got nothing: {score}',
        "in_scope,score\nyes,inf": f'-, line 2: expected "score", a number, got "inf": {score}',
        "in_scope,score\nyes,1\nmaybe,1": (
            f'-, line 3: expected "in_scope", true or false, got "maybe": {scope}'
        ),
        "scope,score\nyes,1": (
            f'-, line 1: {head} in_scope in "scope,score": name the columns in the first line'
        ),
        "": f'-, line 1: {head} in_scope and no column score in "": '
        "name the columns in the first line",
        'in_scope,score\n"yes,1': "-, line 2: not CSV: unexpected end of data",
        "in_scope,score\nyes,1\n": f"-: {both} 1 and 0: a floor lies between the two",
        good + "\n[1]": "-, line 3: expected an object, got [1]: write one question a line",
        good + '{"in_scope": true}': f'-, line 2: expected "score", a number, got nothing: {score}',
        good + '{"in_scope": 2, "score": 1}': (
            f'-, line 2: expected "in_scope", true or false, got 2: {scope}'
        ),
        good + '{"in_scope": true, "score": true}': (
            f'-, line 2: expected "score", a number, got true: {score}'
        ),
        good + '{"in_scope": true, "score": NaN}': (
            f'-, line 2: expected "score", a number, got NaN: {score}'
        ),
        good + '{"in_scope": true, "score": 1' + "0" * 400 + "}": (
            f'-, line 2: expected "score", a number, got 1{"0" * 56}...: {score}'
        ),
    }
    results = {text: floor(text) for text in expected}
    errors = {text: result.stderr.splitlines()[-1] for text, result in results.items()}
    assert errors == {text: f"Error: {message}" for text, message in expected.items()}
    assert {result.exit_code for result in results.values()} == {2}
    broken = floor(good + '{"score": 1,')
    assert broken.stderr.splitlines()[-1].startswith("Error: -, line 2: not JSON: ")
