"""Reads what can be looked up as it stands: numbers and units, dates, times, quotations.

It reads one text at a time; it does not know which text is checked against which.
Digits are read in any script, words for numbers, units and months in English alone.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from citestream.typography import fold

__all__ = ["Fact", "Token", "quotations", "read_facts", "stem", "tokens"]

MOST_WORD = 64
"""Letters of a word that has other forms; what is longer is none, and is compared as it stands."""

DIGITS_MOST = 18
"""Digits of a number that is converted; a longer one is compared as it is written."""

# Below this many words, quotation marks hold a name or are scare quotes.
QUOTED_LEAST = 3
# Longer quotations are those of an unclosed mark.
QUOTED_MOST = 400

Value: TypeAlias = Fraction | str | tuple[int | None, int | None, int | None]


class Token(NamedTuple):
    """A word, a number or a sign, and where it stands."""

    kind: str
    """`"word"`, `"number"`, `"code"` (letters and digits), `"date"`, `"clock"`, `"sign"`."""
    text: str
    start: int
    end: int


class Fact(NamedTuple):
    """A quantity, a date or a time of day."""

    kind: str
    """What is counted: a dimension, such as `"span"` of time, the stem of a noun, or `""`."""
    values: frozenset[Value]
    """What it may mean, in the dimension's own unit: `1.000` is one or a thousand."""
    plain: frozenset[Value]
    """The same without the unit."""
    low: Fraction | None
    """The least it allows; `None`: no bound. "At least 5" has one, "up to 5" has none."""
    high: Fraction | None
    """The most it allows."""
    written: str
    """As it stands in the text, in digits or in words, with its unit."""

    @property
    def measured(self) -> bool:
        """Whether its kind is a dimension, and not merely the noun that follows."""
        return self.kind in _DIMENSIONS

    def matches(self, other: Fact) -> bool:
        """Return whether a text that says `other` says this as well."""
        if self.kind == other.kind == "date":
            return any(_within(date, known) for date in self.values for known in other.values)
        if self.kind == other.kind:
            return not self.values.isdisjoint(other.values)
        if self.measured and other.measured:
            return False
        return not self.plain.isdisjoint(other.plain)

    def differs(self, other: Fact) -> bool:
        """Return whether the two are of one kind and cannot both be meant.

        A value that keeps to the other's bound is no difference: 5 and "up to 10".
        """
        if not self.kind or self.kind != other.kind or self.matches(other):
            return False
        if self.kind == "date":
            return all(_apart(date, known) for date in self.values for known in other.values)
        return not any(
            isinstance(value, Fraction)
            and (other.low is None or other.low <= value)
            and (other.high is None or value <= other.high)
            for value in self.values
        )


def _within(date: Value, known: Value) -> bool:
    assert isinstance(date, tuple)
    assert isinstance(known, tuple)
    return all(mine in (None, theirs) for mine, theirs in zip(date, known, strict=True))


def _apart(date: Value, known: Value) -> bool:
    assert isinstance(date, tuple)
    assert isinstance(known, tuple)
    return any(
        None not in (mine, theirs) and mine != theirs
        for mine, theirs in zip(date, known, strict=True)
    )


# Words and units

_UNITS: dict[str, tuple[str, Fraction]] = {
    word: (kind, Fraction(factor))
    for kind, factor, words in (
        ("span", 1, "second seconds sec secs"),
        ("span", 60, "minute minutes min mins"),
        ("span", 3600, "hour hours hr hrs"),
        ("span", 86400, "day days"),
        ("span", 604800, "week weeks"),
        ("months", 1, "month months"),
        ("months", 12, "year years"),
        ("euro", 1, "euro euros eur €"),
        ("dollar", 1, "dollar dollars usd $"),
        ("pound", 1, "gbp £"),
        ("yen", 1, "yen jpy ¥"),
        ("rupee", 1, "rupee rupees inr ₹"),
        ("franc", 1, "franc francs chf"),
        ("cent", 1, "cent cents"),
        ("percent", 1, "% percent"),
        ("length", Fraction(1, 1000), "mm millimetre millimetres millimeter millimeters"),
        ("length", Fraction(1, 100), "cm centimetre centimetres centimeter centimeters"),
        ("length", 1, "m metre metres meter meters"),
        ("length", 1000, "km kilometre kilometres kilometer kilometers"),
        ("mile", 1, "mile miles"),
        ("weight", 1, "g gram grams gramme grammes"),
        ("weight", 1000, "kg kilo kilos kilogram kilograms"),
        ("weight", 1000000, "tonne tonnes"),
        ("degree", 1, "° degree degrees"),
    )
    for word in words.split()
}
_DIMENSIONS = frozenset({kind for kind, _ in _UNITS.values()} | {"clock", "date"})
# Units of time that an article may stand before; "a second" is mostly another one.
_SPANS = frozenset("minute hour day week month year".split())

# What may stand between a number and its unit.
_ADJECTIVES = frozenset("working business calendar consecutive full whole further more".split())

_SMALL = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen".split()
    )
}
_TENS = {
    word: 10 * number
    for number, word in enumerate(
        "twenty thirty forty fifty sixty seventy eighty ninety".split(), 2
    )
}
_SCALES = {
    "hundred": 100,
    "thousand": 1000,
    "k": 1000,
    "million": 10**6,
    "mn": 10**6,
    "billion": 10**9,
    "bn": 10**9,
}
# Behind a currency's sign, "5m" is no length.
_MONEY_SCALES = {**_SCALES, "m": 10**6}

_MONTHS = {
    name: number
    for number, names in enumerate(
        "january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|"
        "september sep sept|october oct|november nov|december dec".split("|"),
        1,
    )
    for name in names.split()
}
# Words that a fact can begin with; most words of a text are none of them.
_BEGINNINGS = frozenset({*_SMALL, *_TENS, *_MONTHS, *_UNITS, "a", "an", "half"})
_BEFORE_YEAR = frozenset("in since until till by before after from of during to".split())

# Behind a number these are no noun that is counted.
_NO_NOUN = frozenset(
    "a about after all also an and any are as at be because been before but by can cannot could "
    "do does during each every for from had has have he her his how if in into is it its may "
    "might more must no not of off on only or other our out over per shall she should since so "
    "such than that the their them then there these they this those through to under until up "
    "was we were what when where which while who will with within without would you your".split()
)

_LEAST = frozenset("least minimum over above exceeding from".split())
_MOST = frozenset("most maximum under below within until".split())
_GREATER = frozenset("more longer later older higher greater farther further".split())
_SMALLER = frozenset("less fewer shorter earlier younger lower sooner".split())
_NEGATIONS = frozenset("no not never none cannot".split())
# "Up to an hour before it starts" is an hour or more.
_AHEAD = frozenset("before prior ahead earlier".split())

_TOKEN = re.compile(
    r"""
    (?P<date>(?<![\w.,/-])(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}/\d{1,2}/\d{4}|\d{1,2}\.\d{1,2}\.\d{4})
        (?![\d/-]|[.,]\d))
    |(?P<clock>(?<![\w.,:])\d{1,2}:\d{2}(?![\d:]))
    |(?P<code>[^\W\d_]{1,64}\d\w{0,64})
    |(?P<number>\d+(?:[.,'’]\d+|[ \u00a0\u2009\u202f]\d{3}(?!\d))*)
    |(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*)
    |(?P<sign>[%€$£¥₹°–-])
    """,
    re.VERBOSE,
)
_DATE_PARTS = re.compile(r"[-/.]")
_GROUPS = re.compile(r"[ '’\u00a0\u2009\u202f]")
_QUOTATION = re.compile(rf'"([^"\n]{{1,{QUOTED_MOST}}})"|[“„«]([^“”„«»\n]{{1,{QUOTED_MOST}}})[”“»]')
_ELLIPSIS = re.compile(r"\.\.\.|…|\[[^\]\n]{0,40}\]")

_ENDINGS = ("ations", "ation", "ings", "ing", "ied", "ies", "ed", "es", "s", "e")


@lru_cache(maxsize=4096)  # more words than an answer and its passages have
def stem(word: str) -> str:
    """Return what an English word shares with its other forms, roughly.

    `cancel`, `cancels`, `cancelled` and `cancellation` come out the same. So do
    some words that have nothing in common.
    """
    if len(word) > MOST_WORD:
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            if ending in ("ied", "ies"):
                return f"{word}y"
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word


def tokens(text: str) -> list[Token]:
    """Return the words, numbers and signs of a text, letters in lower case."""
    found = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        assert kind is not None
        found.append(Token(kind, match[0].casefold(), match.start(), match.end()))
    return found


def quotations(text: str) -> list[str]:
    """Return the phrases in quotation marks, folded; of one with an ellipsis, each piece.

    Phrases of fewer than three words are left out.
    """
    pieces = [
        piece
        for match in _QUOTATION.finditer(text)
        for piece in _ELLIPSIS.split(match[1] or match[2])
    ]
    folded = (fold(piece).casefold().strip(" .,;:!?") for piece in pieces)
    return [piece for piece in folded if piece.count(" ") >= QUOTED_LEAST - 1]


def read_facts(text: str, found: list[Token]) -> tuple[list[Fact], list[Token]]:
    """Return the facts of a text, and those of its tokens that are in none.

    Args:
        text: The text.
        found: Its tokens.
    """
    return _Reader(text, found).read()


class _Reader:
    """Walks over the tokens of one text."""

    def __init__(self, text: str, found: list[Token]) -> None:
        self._text = text
        self._tokens = found
        self._at = 0
        self._facts: list[Fact] = []
        # The first token of each fact, and the one behind it.
        self._spans: list[tuple[int, int]] = []
        self._others: list[Token] = []
        self._negated = False

    def read(self) -> tuple[list[Fact], list[Token]]:
        while self._at < len(self._tokens):
            start = self._at
            fact = self._fact()
            if fact is None:
                token = self._tokens[start]
                self._negated |= token.text in _NEGATIONS or token.text.endswith(("n't", "n’t"))
                self._others.append(token)
                self._at = start + 1
            else:
                self._facts.append(fact)
                self._spans.append((start, self._at))
        self._join_ranges()
        return self._facts, self._others

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at].text if at < len(self._tokens) else ""

    def _kind(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at].kind if at < len(self._tokens) else ""

    def _written(self, start: int) -> str:
        return self._text[self._tokens[start].start : self._tokens[self._at - 1].end]

    def _fact(self) -> Fact | None:
        kind, text, _, _ = self._tokens[self._at]
        if kind == "code" or (kind == "word" and text not in _BEGINNINGS):
            return None
        if kind == "date":
            return self._date_in_digits()
        if kind == "clock":
            hours, minutes = map(int, self._peek().split(":"))
            return self._clock(hours, minutes)
        return self._date_in_words() or self._quantity()

    # Dates and times

    def _date_in_digits(self) -> Fact:
        start = self._at
        parts = _DATE_PARTS.split(self._peek())
        first, second, third = map(int, parts)
        self._at += 1
        if len(parts[0]) == 4:
            dates = [(first, second, third)]
        elif "." in self._written(start):
            dates = [(third, second, first)]
        else:  # the day or the month may come first
            dates = [(third, second, first), (third, first, second)]
        return self._date(start, *dates)

    def _date_in_words(self) -> Fact | None:
        """Read `12 March 2024`, `March 12, 2024`, `March 2024`, `12 March`, `in 2024`."""
        start = self._at
        day = self._day(0)
        if day is not None:
            ahead = 2 if self._peek(1) in ("st", "nd", "rd", "th") else 1
            ahead += self._peek(ahead) == "of"
            month = self._month(ahead)
            if month is None:
                return self._year_alone()
            year = self._year(ahead + 1)
            self._at += ahead + (1 if year is None else 2)
            return self._date(start, (year, month, day))
        month = self._month(0)
        if month is None:
            return self._year_alone()
        day = self._day(1)
        if day is None:
            year = self._year(1)
            if year is None:
                return None
            self._at += 2
            return self._date(start, (year, month, None))
        ahead = 3 if self._peek(2) in ("st", "nd", "rd", "th") else 2
        year = self._year(ahead)
        self._at += ahead + (year is not None)
        return self._date(start, (year, month, day))

    def _year_alone(self) -> Fact | None:
        start = self._at
        year = self._year(0)
        before = self._tokens[start - 1].text if start else ""
        if year is None or before not in _BEFORE_YEAR or self._peek(1) in _UNITS:
            return None
        self._at += 1
        return self._date(start, (year, None, None))

    def _day(self, ahead: int) -> int | None:
        text = self._peek(ahead)
        is_day = self._kind(ahead) == "number" and len(text) <= 2 and 1 <= int(text) <= 31
        return int(text) if is_day else None

    def _year(self, ahead: int) -> int | None:
        text = self._peek(ahead)
        is_year = self._kind(ahead) == "number" and len(text) == 4 and text.isdecimal()
        return int(text) if is_year and 1000 <= int(text) < 3000 else None

    def _month(self, ahead: int) -> int | None:
        month = _MONTHS.get(self._peek(ahead))
        if month is None:
            return None
        # "Article 12 may apply": a month has a capital letter.
        return month if self._text[self._tokens[self._at + ahead].start].isupper() else None

    def _date(self, start: int, *dates: tuple[int | None, int | None, int | None]) -> Fact:
        values: frozenset[Value] = frozenset(dates)
        return Fact("date", values, frozenset(), None, None, self._written(start))

    def _clock(self, hours: int, minutes: int) -> Fact:
        """Read what is left of a time of day: the first token, and what tells the half."""
        start = self._at
        self._at += 1
        word = self._peek()
        if word in ("am", "pm"):
            self._at += 1
        elif word in ("a", "p") and self._peek(1) == "m":
            word += "m"
            self._at += 2
        if word in ("am", "pm"):
            hours = hours % 12 + 12 * (word == "pm")
        time = Fraction(60 * hours + minutes)
        return Fact("clock", frozenset({time}), frozenset(), time, time, self._written(start))

    # Quantities

    def _quantity(self) -> Fact | None:
        start = self._at
        currency = None
        if (self._kind() == "sign" and self._peek() not in "–-") or self._kind() == "word":
            currency = _UNITS.get(self._peek())
            if currency is not None and self._kind(1) == "number":
                self._at += 1
            else:
                currency = None
        negative = self._is_minus()
        values = self._number()
        if values is None:
            self._at = start
            return None
        if currency is None and self._is_clock():
            self._at -= 1
            return self._clock(int(self._peek()), 0)
        if negative:
            values = {-value if isinstance(value, Fraction) else value for value in values}
        values = self._scaled(values, _SCALES if currency is None else _MONEY_SCALES)
        kind, factor = self._unit() if currency is None else currency
        last = self._at
        bound = self._bound(start)
        amounts: set[Value] = {
            value * factor if isinstance(value, Fraction) else value for value in values
        }
        known = [amount for amount in amounts if isinstance(amount, Fraction)]
        low = min(known, default=None) if bound != "most" else None
        high = max(known, default=None) if bound != "least" else None
        self._at = last
        return Fact(kind, frozenset(amounts), frozenset(values), low, high, self._written(start))

    def _is_minus(self) -> bool:
        """Return whether a minus sign, and no hyphen and no dash, stands before a number."""
        start = self._tokens[self._at].start if self._at < len(self._tokens) else 0
        before = self._text[max(0, start - 2) : start]
        return before[-1:] in ("-", "−") and (len(before) == 1 or before[0] in " (\n")

    def _number(self) -> set[Value] | None:
        """Read a number in digits or in words; stay where it is when there is none."""
        text = self._peek()
        if self._kind() == "number":
            self._at += 1
            if self._peek() in ("st", "nd", "rd", "th") and self._is_joined():
                self._at += 1
            return _readings(text)
        if text in ("a", "an", "half"):
            return self._article(text)
        if text == "one" and (self._peek(1) in _NO_NOUN or self._kind(1) != "word"):
            return None
        number = self._in_words()
        return None if number is None else {Fraction(number)}

    def _follows(self) -> bool:
        """Return whether nothing but blanks stands before the next token."""
        if self._at >= len(self._tokens):
            return False
        return not self._text[self._tokens[self._at - 1].end : self._tokens[self._at].start].strip()

    def _is_joined(self) -> bool:
        return self._tokens[self._at].start == self._tokens[self._at - 1].end

    def _article(self, text: str) -> set[Value] | None:
        """Read `an hour` and `half an hour`, but not the rate in `2 euros an hour`."""
        if text == "a" and self._peek(1) in ("hundred", "thousand", "million", "billion"):
            self._at += 1
            number = self._in_words(first=1)
            return None if number is None else {Fraction(number)}
        half = text == "half"
        if self._peek(1 + half) not in _SPANS or (half and self._peek(1) not in ("a", "an")):
            return None
        before = self._tokens[self._at - 1].text if self._at else ""
        if (self._spans and self._spans[-1][1] == self._at) or before in ("once", "twice", "times"):
            return None
        self._at += 1 + half
        return {Fraction(1, 2) if half else Fraction(1)}

    def _in_words(self, first: int = 0) -> int | None:
        """Read `twenty-five`, `one hundred and twenty`; behind an article `first` is one."""
        total, current = 0, first
        start = end = self._at
        while True:
            word = self._peek() if end == start or self._follows() else ""
            if word in _SMALL and (current % 100 == 0 or (current % 10 == 0 and _SMALL[word] < 10)):
                current += _SMALL[word]
            elif word in _TENS and current % 100 == 0:
                current += _TENS[word]
            elif word == "hundred" and 0 < current < 100:
                current *= 100
            elif word in ("thousand", "million", "billion") and 0 < current < 1000:
                total += current * _SCALES[word]
                current = 0
            elif end > start and word in ("-", "and") and self._continues(current, total):
                self._at += 1
                continue
            else:
                break
            self._at += 1
            end = self._at
            if end - start > 12:  # no number that is meant has so many words
                break
        self._at = end
        return total + current if end > start else None

    def _continues(self, current: int, total: int) -> bool:
        """Return whether a hyphen or an "and" joins what follows to the number before."""
        if self._peek() == "-":
            return current % 100 in _TENS.values() and 0 < _SMALL.get(self._peek(1), 0) < 10
        # "Ten and twenty" are two numbers, "a hundred and twenty" is one.
        whole = (current and current % 100 == 0) or (total and not current)
        return bool(whole) and (self._peek(1) in _SMALL or self._peek(1) in _TENS)

    def _scaled(self, values: set[Value], scales: dict[str, int]) -> set[Value]:
        scale = scales.get(self._peek())
        if scale is None or not self._follows():
            return values
        self._at += 1
        return {value * scale if isinstance(value, Fraction) else value for value in values}

    def _is_clock(self) -> bool:
        """Return whether the number before is the hour of `6 pm` or `6 p.m.`."""
        hours = self._tokens[self._at - 1].text
        return (
            hours.isdecimal()
            and int(hours[:3]) <= 12
            and (
                self._peek() in ("am", "pm")
                or (self._peek() in ("a", "p") and self._peek(1) == "m")
            )
        )

    def _unit(self) -> tuple[str, Fraction]:
        """Read the unit, or look at the noun that is counted, which stays a word of the text."""
        ahead = 0
        if not self._follows():
            return "", Fraction(1)
        if self._peek() == "-" and self._is_joined():
            ahead = 1
        while self._peek(ahead) in _ADJECTIVES and ahead < 3:
            ahead += 1
        if self._peek(ahead) == "per" and self._peek(ahead + 1) == "cent":
            self._at += ahead + 2
            return _UNITS["percent"]
        unit = _UNITS.get(self._peek(ahead))
        if unit is not None:
            self._at += ahead + 1
            return unit
        noun = self._peek(ahead)
        if self._kind(ahead) != "word" or noun in _NO_NOUN or noun[0] > "ɏ":
            # Where a script has no spaces, a run of letters is no noun.
            return "", Fraction(1)
        return stem(noun), Fraction(1)

    def _bound(self, start: int) -> str:
        """Return what the words around a number make of it: `"least"`, `"most"` or nothing."""
        before = [self._tokens[at].text for at in range(max(0, start - 3), start)]
        while before and before[-1] in ("of", "a", "an", "is"):
            before.pop()
        last = before[-1] if before else ""
        previous = before[-2] if len(before) > 1 else ""
        ahead = self._peek() in _AHEAD
        if (last == "to" and previous == "up") or last == "until":
            return "least" if ahead else "most"
        if last == "than" and previous in _GREATER:
            if not self._negated:
                return "least"
            return "least" if ahead and previous == "later" else "most"
        if last == "than" and previous in _SMALLER:
            return "least" if self._negated else "most"
        if self._peek() == "or" and self._peek(1) in _GREATER:
            return "least"
        if self._peek() == "or" and self._peek(1) in _SMALLER:
            return "most"
        if last in _LEAST:
            return "most" if last == "exceeding" and self._negated else "least"
        if last == "exceed" and self._negated:
            return "most"
        return "most" if last in _MOST else ""

    def _join_ranges(self) -> None:
        """Give both ends of `10 to 15 minutes` the unit, and the range as their bounds."""
        for at in range(len(self._facts) - 1):
            connector = [t.text for t in self._tokens[self._spans[at][1] : self._spans[at + 1][0]]]
            if connector not in (["-"], ["–"], ["to"], ["and"], ["or"]):
                continue
            first, second = self._facts[at], self._facts[at + 1]
            if "date" in (first.kind, second.kind):
                continue
            if not first.measured and second.measured:
                first = _in_unit(first, second)
            elif first.measured and not second.measured:
                second = _in_unit(second, first)
            if connector[0] not in ("and", "or") and first.kind == second.kind:
                first = first._replace(high=second.high)
                second = second._replace(low=first.low)
            self._facts[at : at + 2] = first, second


def _in_unit(fact: Fact, other: Fact) -> Fact:
    """Return a fact without a unit of its own in that of its neighbour."""
    if other.kind == "clock":
        return fact
    factor = next(
        (
            value / plain
            for value in other.values
            for plain in other.plain
            if isinstance(value, Fraction) and isinstance(plain, Fraction) and plain
        ),
        Fraction(1),
    )
    values: frozenset[Value] = frozenset(
        value * factor if isinstance(value, Fraction) else value for value in fact.plain
    )
    return fact._replace(
        kind=other.kind,
        values=values,
        low=None if fact.low is None else fact.low * factor,
        high=None if fact.high is None else fact.high * factor,
    )


def _readings(text: str) -> set[Value]:
    """Return what a number in digits may mean."""
    text = _GROUPS.sub("", text)
    if len(text) > DIGITS_MOST:
        return {text}
    points = [char for char in text if char in ".,"]
    parts = re.split(r"[.,]", text)
    whole = int("".join(parts))
    if not points:
        return {Fraction(whole)}
    decimal = Fraction(whole, 10 ** len(parts[-1]))
    if len(set(points)) == 2:
        # The last one is the decimal point, if it is the only one of its kind.
        return {decimal if points.count(points[-1]) == 1 else text}
    grouped = all(len(part) == 3 for part in parts[1:]) and 1 <= len(parts[0]) <= 3
    if len(points) > 1:
        return {Fraction(whole) if grouped else text}  # or it is a version: 1.2.3
    return {Fraction(whole), decimal} if grouped and parts[0] != "0" else {decimal}
