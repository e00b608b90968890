"""Numbers, dates, times and quotations, as they are written and as they are read."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from citestream.facts import Fact, quotations, read_facts, stem, tokens

MINUTE, HOUR, DAY = 60, 3600, 86400


def facts(text: str) -> list[Fact]:
    return read_facts(text, tokens(text))[0]


def read(text: str) -> list[tuple[str, set[Any]]]:
    return [(fact.kind, set(fact.values)) for fact in facts(text)]


def bounds(text: str) -> list[tuple[Fraction | None, Fraction | None]]:
    return [(fact.low, fact.high) for fact in facts(text)]


def test_numbers_are_read_in_every_format_with_their_units() -> None:
    expected: dict[str, list[tuple[str, set[Any]]]] = {
        "30 minutes": [("span", {30 * MINUTE})],
        "thirty minutes": [("span", {30 * MINUTE})],
        "a 30-minute ride": [("span", {30 * MINUTE})],
        "half an hour": [("span", {30 * MINUTE})],
        "an hour": [("span", {HOUR})],
        "one hour": [("span", {HOUR})],
        "24 hours": [("span", {DAY})],
        "5 working days": [("span", {5 * DAY})],
        "two years": [("months", {24})],
        "25": [("", {25})],
        "٢٥ euros": [("euro", {25})],
        "２５ euros": [("euro", {25})],
        "twenty-five euros": [("euro", {25})],
        "one hundred and twenty euros": [("euro", {120})],
        "a hundred euros": [("euro", {100})],
        "two thousand three hundred euros": [("euro", {2300})],
        "€1,000.50": [("euro", {Fraction("1000.5")})],
        "1.000,50 EUR": [("euro", {Fraction("1000.5")})],
        "1 000 euros": [("euro", {1000})],
        "1\u202f000 euros": [("euro", {1000})],
        "1'000 euros": [("euro", {1000})],
        # Where a comma groups and where it is the decimal point, is not known here.
        "1,000 euros": [("euro", {1, 1000})],
        "1.5 euros": [("euro", {Fraction(3, 2)})],
        "0,125 euros": [("euro", {Fraction(1, 8)})],
        "1,000,000 euros": [("euro", {10**6})],
        "2.5 million people": [("peopl", {2_500_000})],
        "€5m": [("euro", {5_000_000})],
        "5 m": [("length", {5})],
        "3 km": [("length", {3000})],
        "50%": [("percent", {50})],
        "fifty per cent": [("percent", {50})],
        "-5 degrees": [("degree", {-5})],
        "a minus: (−5 °C)": [("degree", {-5})],
        "84 stations": [("station", {84})],
        "the 2nd station": [("station", {2})],
        "version 1.2.3": [("", {"1.2.3"})],
        "10 to 15 minutes": [("span", {10 * MINUTE}), ("span", {15 * MINUTE})],
        "€10-15": [("euro", {10}), ("euro", {15})],
        "8 to 18:00": [("", {8}), ("clock", {18 * 60})],
        "ten and twenty": [("", {10}), ("", {20})],
        "30分钟": [("", {30})],
        # A unit follows on its number.
        "3, hundred times": [("", {3})],
        "25. Euros are money": [("", {25})],
        "twenty, five": [("", {20}), ("", {5})],
        "1,000 pm": [("pm", {1, 1000})],
        "13 pm": [("pm", {13})],
        # No quantities: a rate, a pronoun, a name, another second.
        "twice a day": [],
        "one of them": [],
        "v2 and B12": [],
        "a second person": [],
    }
    assert {text: read(text) for text in expected} == expected


def test_number_in_words_does_not_go_on_for_ever() -> None:
    assert len(facts("two thousand " * 100)) > 10


def test_dates_and_times_are_read_in_every_format() -> None:
    whole = [("date", {(2024, 3, 12)})]
    expected: dict[str, list[tuple[str, set[Any]]]] = {
        "12 March 2024": whole,
        "12th of March 2024": whole,
        "March 12, 2024": whole,
        "March 12th, 2024": whole,
        "Mar 12 2024": whole,
        "2024-03-12": whole,
        "12.03.2024": whole,
        # American or European.
        "12/03/2024": [("date", {(2024, 3, 12), (2024, 12, 3)})],
        "March 2024": [("date", {(2024, 3, None)})],
        "12 March": [("date", {(None, 3, 12)})],
        "March 12": [("date", {(None, 3, 12)})],
        "in 2024": [("date", {(2024, None, None)})],
        "in 2024 days": [("span", {2024 * DAY})],
        "2024 stations": [("station", {2024})],
        "Article 12 may apply": [("", {12})],
        "They march and may stop": [],
        "18:00": [("clock", {18 * 60})],
        "6 pm": [("clock", {18 * 60})],
        "6 p.m.": [("clock", {18 * 60})],
        "6:30pm": [("clock", {18 * 60 + 30})],
        "12 am": [("clock", {0})],
    }
    assert {text: read(text) for text in expected} == expected


def test_bounds_are_read_from_the_words_around_a_number() -> None:
    five = Fraction(5)
    expected = {
        "exactly 5": (five, five),
        "at least 5": (five, None),
        "a minimum of 5": (five, None),
        "more than 5": (five, None),
        "over 5": (five, None),
        "5 or more": (five, None),
        "at most 5": (None, five),
        "up to 5": (None, five),
        "less than 5": (None, five),
        "5 or fewer": (None, five),
        "no more than 5": (None, five),
        "None costs more than 5": (None, five),
        "no fewer than 5": (five, None),
        "not exceeding 5": (None, five),
        "does not exceed 5": (None, five),
        "to exceed 5": (five, five),
        # What comes before an hour before is further from it.
        "up to 5 before": (five, None),
        "no later than 5 before": (five, None),
        "less than 5 before": (None, five),
    }
    assert {text: bounds(text)[0] for text in expected} == expected
    both = [(five, Fraction(10))] * 2
    assert bounds("5-10") == bounds("5 to 10") == both


def test_facts_are_compared_by_what_they_mean() -> None:
    def pair(mine: str, theirs: str) -> tuple[bool, bool]:
        (claim,), (known, *_) = facts(mine), facts(theirs)
        return claim.matches(known), claim.differs(known)

    expected = {
        ("thirty minutes", "half an hour"): (True, False),
        ("30 minutes", "one hour"): (False, True),
        ("30 minutes", "up to one hour"): (False, False),
        ("30 minutes", "up to one hour before"): (False, True),
        ("90 minutes", "up to one hour"): (False, True),
        ("12 minutes", "10 to 15 minutes"): (False, False),
        ("20 minutes", "10 to 15 minutes"): (False, True),
        # Minutes are no euros; a noun may be another word for the same.
        ("25 euros", "25 minutes"): (False, False),
        ("25 euros", "25"): (True, False),
        ("12 stations", "12 docks"): (True, False),
        ("12 stations", "13 docks"): (False, False),
        ("12 stations", "13 stations"): (False, True),
        # A number alone is of no kind, so it differs from nothing.
        ("12", "13"): (False, False),
        ("1,000 euros", "1.000 euros"): (True, False),
        ("March 2024", "12 March 2024"): (True, False),
        ("12 March 2024", "March 2024"): (False, False),
        ("12 March 2024", "12 March 2025"): (False, True),
        ("in 2024", "12 March 2024"): (True, False),
        ("6 pm", "18:00"): (True, False),
        ("7 pm", "18:00"): (False, True),
        ("9" * 30, "9" * 30): (True, False),
        ("9" * 30 + " euros", "9" * 31 + " euros"): (False, True),
    }
    assert {case: pair(*case) for case in expected} == expected


def test_what_is_no_fact_is_left_as_words() -> None:
    text = "Two of the 84 stations don't open on 12 March 2024."
    found, others = read_facts(text, tokens(text))
    assert [fact.written for fact in found] == ["Two", "84", "12 March 2024"]
    assert [token.text for token in others] == "of the stations don't open on".split()


def test_quotations_are_phrases_of_three_words_and_more() -> None:
    expected = {
        'It says "no second person is allowed".': ["no second person is allowed"],
        "It says “No second  person”, and so on.": ["no second person"],
        "Es heißt „ohne zweite Person“.": ["ohne zweite person"],
        'So "the first [...] of every ride" and "as it is ... in the end of it".': [
            "of every ride",
            "as it is",
            "in the end of it",
        ],
        'The "free" ride': [],
        'An open "mark that nothing closes': [],
        "Don't and won't": [],
    }
    assert {text: quotations(text) for text in expected} == expected


def test_forms_of_a_word_have_one_stem() -> None:
    groups = [
        "cancel cancels cancelled canceled cancelling cancellation cancellations",
        "ride rides riding",
        "prohibit prohibits prohibited prohibiting",
        "company companies",
        "carry carries carried",
        "pass passes passed",
    ]
    assert [len(set(map(stem, group.split()))) for group in groups] == [1] * len(groups)
    assert stem("x" * 100 + "ing") == "x" * 100 + "ing"
