"""The command line: `citestream check`, `citestream floor` and `citestream demo`.

It reads files and prints lines, and does not know how an answer is checked.
It needs click, from the extra `citestream[cli]`; `demo` needs `citestream[demo]`.
"""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass
from itertools import count
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import click

from citestream import styles
from citestream.exceptions import CitestreamError
from citestream.filter import check_citations
from citestream.floors import Scored, measure_floors
from citestream.passages import Passages

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from citestream.events import Label, Summary
    from citestream.floors import Floors

__all__ = ["cli", "line_of", "passes"]

STYLES = {
    name.lower(): style
    for name in styles.__all__
    if isinstance(style := getattr(styles, name), styles.MarkerStyle)
}


@dataclass(frozen=True, slots=True)
class _Answer:
    name: str
    text: str
    passages: Passages


@click.group()
@click.version_option(package_name="citestream")
def cli() -> None:
    """Check the citations of a language model's answers."""


@cli.command()
@click.argument("file")
@click.option(
    "--passages",
    "given",
    metavar="N|FILE",
    help="How many passages the prompt held, or a JSON or JSON Lines file of them.",
)
@click.option(
    "--style",
    "style_name",
    default="numeric",
    show_default=True,
    metavar="NAME|prefix:WORD",
    help=f"What a marker looks like: {', '.join(sorted(STYLES))}, or prefix:S for [S1].",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Accept the canonical spelling of a marker alone: [1, 2], not [1 ] or [Source 1].",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@click.pass_context
def check(
    context: click.Context,
    file: str,
    given: str | None,
    style_name: str,
    strict: bool,
    as_json: bool,
) -> None:
    r"""Check the answer in FILE, or the answers when it is JSON Lines; - is standard input.

    One line an answer. "cited" lists every label that its markers name,
    "invalid" those among them that no passage has, "unused" the passages never
    cited. An answer is ok when it has no invalid label and cites a passage, or
    is the refusal.

    A line of JSON Lines is an object with "answer", a name as "id" or "name"
    if it has one, and "passages" if the answer has its own.

    \b
    Exit status: 0 all ok, 1 some answer failed, 2 the command cannot be carried out.
    """
    style = _style(style_name, strict=strict)
    passages = None if given is None else _passages(given)
    all_ok = True
    for answer in _answers(_read(file), file, passages):
        try:
            summary = check_citations(answer.text, answer.passages, style=style).summary
        except CitestreamError as error:
            # The passages do not suit the style: labels that it cannot write.
            raise click.UsageError(f"{_printable(answer.name)}: {error}") from error
        ok = passes(summary)
        all_ok = all_ok and ok
        if as_json:
            click.echo(json.dumps({"name": answer.name, "ok": ok, "summary": summary.to_dict()}))
        else:
            click.echo(line_of(answer.name, summary))
    context.exit(0 if all_ok else 1)


def _style(name: str, *, strict: bool) -> styles.MarkerStyle:
    """Return the style of that name, or the one for markers with that prefix."""
    word = name.removeprefix("prefix:")
    try:
        style = STYLES[name] if word == name else styles.prefixed(word)
        return style.replace(strict=strict)
    except KeyError:
        raise click.BadParameter(
            f"expected prefix:WORD or one of {', '.join(sorted(STYLES))}, got {name!r:.60}",
            param_hint="--style",
        ) from None
    except CitestreamError as error:
        raise click.BadParameter(str(error), param_hint="--style") from error


def passes(summary: Summary) -> bool:
    """Tell whether an answer may be shown as it stands.

    A refusal cites nothing and is no failure. An invented label too long to be
    listed is one all the same.
    """
    invented = bool(summary.invalid) or summary.truncated
    return not invented and (bool(summary.cited) or summary.refused_by is not None)


def line_of(name: str, summary: Summary) -> str:
    """Return the one line that says how an answer stands."""
    # The labels of all markers, as the answer has them: a reader of the line
    # compares it with the answer, where an invented label looks like any other.
    named = _sorted({*summary.cited, *summary.invalid})
    more = summary.truncated
    return " | ".join(
        (
            f"{_printable(name)}: cited {_listed(named, more=more)}",
            f"invalid {_listed(_sorted(summary.invalid), more=more)}",
            f"unused {_listed(summary.unused)}",
            "ok" if passes(summary) else "FAIL",
        )
    )


def _sorted(labels: Any) -> list[Label]:
    """Sort numbers by value, then names by spelling."""
    return sorted(labels, key=lambda label: (isinstance(label, str), label))


def _listed(labels: Sequence[Label], *, more: bool = False) -> str:
    # A name may hold a comma itself: "Annex III, point 4".
    separator = "; " if any(isinstance(label, str) for label in labels) else ","
    listed = [_printable(str(label)) for label in labels] + ["..."] * more
    return separator.join(listed) or "none"


def _printable(text: str) -> str:
    """Escape what could move the cursor or forge a line: names and labels are a model's words."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def _read(file: str) -> str:
    """Read a file, or standard input when it is called -."""
    try:
        with click.open_file(file, encoding="utf-8-sig") as opened:
            text: str = opened.read()
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file}: expected UTF-8: {error}") from error
    except OSError as error:
        raise click.UsageError(f"{file}: {error.strerror}") from error
    return text


def _passages(given: str) -> Passages:
    """Read `--passages`: a number, or a file of passages."""
    # Nine digits at most, since `int()` of five thousand raises; more is refused below.
    if given.isascii() and given.isdecimal():
        return _as_passages(int(given[:10]), "--passages")
    text = _read(given)
    try:
        rows = json.loads(text)
    except json.JSONDecodeError:
        rows = [row for _, row in _json_lines(text, given)]
    return _as_passages(rows, given)


def _as_passages(rows: Any, where: str) -> Passages:
    if isinstance(rows, bool) or not isinstance(rows, int | list | dict):
        raise click.UsageError(
            f"{where}: expected passages as a number, a list or an object, got {rows!r:.60}"
        )
    try:
        return Passages(rows)
    except CitestreamError as error:
        raise click.UsageError(f"{where}: {error}") from error


def _json_lines(text: str, where: str) -> Iterator[tuple[str, Any]]:
    """Give every line that is not blank, read as JSON, with the words for where it stands."""
    # Not splitlines: a JSON string may hold a line separator (U+2028) as it is.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        place = f"{where}, line {number}"
        try:
            yield place, json.loads(line)
        except json.JSONDecodeError as error:
            raise click.UsageError(f"{place}: not JSON: {error}") from error


def _answers(text: str, where: str, passages: Passages | None) -> Iterator[_Answer]:
    """Give the answers of a file: one, or one a line when its first line is an object with one."""
    names = _names()
    if not _is_json_lines(text):
        if passages is None:
            raise click.UsageError("--passages is needed: how many, or a file of them")
        yield _Answer(next(names), text, passages)
        return
    for place, row in _json_lines(text, where):
        if not isinstance(row, dict) or not isinstance(row.get("answer"), str):
            raise click.UsageError(f'{place}: expected an object with "answer", a string')
        default = next(names)
        name = row.get("id", row.get("name", default))
        if "passages" in row:
            own = _as_passages(row["passages"], place)
        elif passages is not None:
            own = passages
        else:
            raise click.UsageError(f'{place}: needs "passages" of its own, or --passages')
        yield _Answer(str(name), row["answer"], own)


def _is_json_lines(text: str) -> bool:
    first = text.lstrip().partition("\n")[0]
    try:
        row = json.loads(first)
    except json.JSONDecodeError:
        return False
    return isinstance(row, dict) and "answer" in row


def _names() -> Iterator[str]:
    """Give A to Z, then A2 to Z2, and so on."""
    for lap in count(1):
        for letter in ascii_uppercase:
            yield letter if lap == 1 else f"{letter}{lap}"


@cli.command()
@click.argument("file")
@click.option(
    "--at", "given", type=float, multiple=True, metavar="FLOOR", help="A floor to list as well."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def floor(file: str, given: tuple[float, ...], as_json: bool) -> None:
    r"""Measure the floor under which a question is refused before the model is called.

    FILE, or standard input as -, has the questions of a test set with the score of
    the best passage that was found for each, higher being better:

    \b
    JSON Lines  {"question": "...", "in_scope": true, "score": 0.43}
    CSV         with the columns question, in_scope and score in its first line

    "in_scope" is true where the passages hold the answer and false where they do not;
    in CSV yes and no, 1 and 0 will do as well. "question" is optional, and so is
    anything else a line has.

    The floors listed are those worth a thought: any other refuses more in-scope
    questions than one of them, or lets more off-topic ones through, and gains nothing.
    The suggested floor is one that refuses no in-scope question and stops all that it
    then can. All of it holds for the embedding model and the passages that were
    measured: measure again after a change, with --at and the floor you have.
    """
    questions = list(_scored(_read(file), file))
    try:
        floors = measure_floors(questions, given)
    except ValueError as error:
        raise click.UsageError(f"{file}: {error}") from error
    if as_json:
        click.echo(json.dumps(floors.to_dict()))
        return
    for line in _lines_of(floors):
        click.echo(line)


def _lines_of(floors: Floors) -> Iterator[str]:
    """Give the lines of a report for people."""
    inside, outside = f"of {floors.in_scope}", f"of {floors.off_topic}"
    yield f"in-scope questions   {floors.in_scope:>6}, lowest score  {_named(floors.lowest)}"
    yield f"off-topic questions  {floors.off_topic:>6}, highest score {_named(floors.highest)}"
    yield f"margin               {floors.margin:>6.3g}"
    yield ""
    yield f"{'floor':>10}  {'in-scope refused':>18}  {'off-topic let through':>21}"
    for row in floors.candidates:
        refused, let_through = f"{row.refused} {inside}", f"{row.let_through} {outside}"
        yield f"{row.floor:>10.6g}  {refused:>18}  {let_through:>21}"
    yield ""
    if floors.suggested is None:
        yield "suggested floor: none, since any that stops an off-topic question refuses others too"
    else:
        yield f"suggested floor: {floors.suggested.floor:.6g}"


def _named(question: Scored) -> str:
    name = _printable(question.question[:60])
    return f"{question.score:.6g}" + (f"  {name}" if name else "")


def _scored(text: str, where: str) -> Iterator[Scored]:
    """Give the questions of a file of JSON Lines or CSV."""
    rows = _json_lines(text, where) if text.lstrip()[:1] in ("{", "[") else _csv(text, where)
    for place, row in rows:
        if not isinstance(row, dict):
            raise click.UsageError(
                f"{place}: expected an object, got {_short(row)}: write one question a line"
            )
        yield Scored(
            score=_score(row.get("score"), place),
            in_scope=_in_scope(row.get("in_scope"), place),
            question=str(row.get("question") or ""),
        )


def _csv(text: str, where: str) -> Iterator[tuple[str, Any]]:
    """Give every row of CSV by the names of its columns, with the words for where it stands."""
    reader = csv.DictReader(text.splitlines(keepends=True), skipinitialspace=True, strict=True)
    try:
        columns = {name.strip(): name for name in reader.fieldnames or ()}
        missing = [name for name in ("in_scope", "score") if name not in columns]
        if missing:
            raise click.UsageError(
                f"{where}, line 1: expected JSON Lines, or CSV with the columns question, in_scope "
                f"and score, got no column {' and no column '.join(missing)} in "
                f"{_short(','.join(columns))}: name the columns in the first line"
            )
        for row in reader:
            yield f"{where}, line {reader.line_num}", {c: row[name] for c, name in columns.items()}
    except csv.Error as error:
        line = reader.reader.line_num
        raise click.UsageError(f"{where}, line {line}: not CSV: {error}") from error


def _score(value: object, place: str) -> float:
    try:
        score = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        score = math.nan
    if not math.isfinite(score):
        raise click.UsageError(
            f'{place}: expected "score", a number, got {_short(value)}: '
            "give the best score that retrieval found for the question, 0 if it found nothing"
        )
    return score


_IN_SCOPE = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def _in_scope(value: object, place: str) -> bool:
    # JSON's own true, or what a spreadsheet makes of it.
    word = str(value).strip().lower() if isinstance(value, bool | int | str) else ""
    try:
        return _IN_SCOPE[word]
    except KeyError:
        raise click.UsageError(
            f'{place}: expected "in_scope", true or false, got {_short(value)}: '
            "say whether the passages hold the answer"
        ) from None


def _short(value: object) -> str:
    """Return what was got, in JSON's spelling and no longer than a line."""
    if value is None:
        return "nothing"
    written = json.dumps(value)
    return written if len(written) <= 60 else f"{written[:57]}..."


@cli.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="0 takes a free one.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--model",
    "models",
    multiple=True,
    default=["scripted"],
    show_default=True,
    metavar="scripted|local|URL",
    help="Who answers: a script that misbehaves on cue, a small model on this machine, "
    "or any OpenAI-compatible endpoint, such as http://127.0.0.1:8080/v1. Given several "
    "times, the page has the choice, the first one made; the script is always among them.",
)
@click.option(
    "--model-name",
    default=None,
    help="The model to ask the endpoint for.  [default: the first it lists]",
)
def demo(port: int, host: str, models: tuple[str, ...], model_name: str | None) -> None:
    """Serve a page that asks a model about a small corpus and shows what was filtered.

    An endpoint's key is read from the environment variable CITESTREAM_API_KEY.
    """
    try:
        from demo.serve import serve  # noqa: PLC0415 - needs an extra that `check` does not
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"the demo needs {error.name}: pip install 'citestream[demo]'"
        ) from error
    try:
        serve(host=host, port=port, models=models, model_name=model_name, say=click.echo)
    except (OSError, ValueError) as error:
        raise click.ClickException(str(error)) from error
