"""One log record per answer: counts and labels, nothing a model could forge a line with."""

from __future__ import annotations

import logging

import pytest

from citestream.events import Summary
from citestream.record import log_answer


def a_summary(**fields: object) -> Summary:
    values: dict[str, object] = {
        "cited": (2, 1),
        "invalid": (9,),
        "unused": (3,),
        "grounded": True,
        "refused_by": None,
        "passages": (),
        "kept": 3,
        "removed": 1,
        "truncated": False,
        "sentences": None,
        "uncited": None,
        "ended": "complete",
        "reason": None,
        **fields,
    }
    return Summary(**values)  # type: ignore[arg-type]


def logged(caplog: pytest.LogCaptureFixture, summary: Summary, surface: str = "stream") -> str:
    caplog.clear()
    with caplog.at_level(logging.INFO, "citestream"):
        log_answer(summary, surface)
    [record] = caplog.records
    assert (record.name, record.levelno) == ("citestream", logging.INFO)
    return record.getMessage()


def test_record_holds_counts_and_labels(caplog: pytest.LogCaptureFixture) -> None:
    assert logged(caplog, a_summary(), "sse") == (
        "answer surface=sse ended=complete reason=None grounded=True refused_by=None"
        " kept=3 removed=1 cited=2(2, 1) invalid=1(9) unused=1 truncated=False"
    )


def test_record_of_an_answer_that_cites_nothing(caplog: pytest.LogCaptureFixture) -> None:
    summary = a_summary(
        cited=(),
        invalid=(),
        grounded=False,
        refused_by="model",
        kept=0,
        removed=0,
        ended="error",
        reason="source failed (0a1b2c)",
        truncated=True,
    )
    assert logged(caplog, summary) == (
        "answer surface=stream ended=error reason='source failed (0a1b2c)' grounded=False"
        " refused_by=model kept=0 removed=0 cited=0() invalid=0() unused=1 truncated=True"
    )


def test_labels_cannot_forge_a_line_or_turn_it_round(caplog: pytest.LogCaptureFixture) -> None:
    hostile = "a\r\nINFO all is well\x1b[2J\u202e\u2028\ud83d"
    line = logged(caplog, a_summary(cited=(hostile,), reason=hostile))
    assert line.isascii()
    assert line.isprintable()
    assert line.count(r"'a\r\nINFO all is well\x1b[2J\u202e\u2028\ud83d'") == 2


def test_labels_are_short_and_few(caplog: pytest.LogCaptureFixture) -> None:
    line = logged(caplog, a_summary(cited=("x" * 41,), invalid=tuple(range(10, 113))))
    assert f" cited=1({'x' * 40!r}...) " in line
    assert " invalid=103(10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, and 91 more) " in line


def test_uncited_sentences_stay_out_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    line = logged(caplog, a_summary(sentences=2, uncited=("The password is swordfish.",)))
    assert line == logged(caplog, a_summary())


def test_nothing_is_written_when_nobody_listens(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "citestream"):
        log_answer(a_summary(), "stream")
    assert caplog.records == []
