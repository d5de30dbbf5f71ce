"""Quantities: numbers with their units, dates and times, taken out of a plain text.

plain text -> dates -> times -> numbers (digits or words) with units -> the text that is left
Amounts are exact; those of one kind are compared in one unit, so that two years are 24 months.
"""

import re
from fractions import Fraction
from typing import NamedTuple

_HUNDRED = 100
# Characters of private use, one for each number of a text.
_FIRST_MARK = 0xF0000
_MARK = re.compile("([\U000f0000-\U000ffffd])")


def _listed(words: str) -> list[str]:
    return words.split()


_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
            "september sept sep", "october oct", "november nov", "december dec",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_ISO_DATE = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_DAY_FIRST = re.compile(rf"\b{_DAY}(?: of)? ({_MONTH})\b\.?,?(?: (\d{{4}}))?")
_MONTH_FIRST = re.compile(rf"\b({_MONTH})\.? {_DAY}\b(?!\d)(?:,? (\d{{4}}))?")
_MONTH_YEAR = re.compile(rf"\b({_MONTH})\.? (\d{{4}})\b")
_ANY_MONTH = re.compile(rf"\b(?:{_MONTH})\b")
_WEEKDAY = re.compile(r"\b(mon|tues|wednes|thurs|fri|satur|sun)days?\b")
_CLOCK = re.compile(r"\b(\d{1,2})(?::(\d\d))?\s*([ap])\.?m\b\.?|\b(\d{1,2}):(\d\d)\b(?!:)|\b(noon|midnight)\b")
_SMALL = {
    word: number
    for number, word in enumerate(
        _listed(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
            "seventeen eighteen nineteen"
        )
    )
}
_TENS = {
    word: 10 * number for number, word in enumerate(_listed("twenty thirty forty fifty sixty seventy eighty ninety"), 2)
}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_ORDINALS = {
    word: number
    for number, word in enumerate(_listed("first second third fourth fifth sixth seventh eighth ninth tenth"), start=1)
}
_WORDS = "|".join((*_SMALL, *_TENS, *_SCALES))
_WORD_NUMBER = re.compile(rf"\b(?:{_WORDS})(?:(?:[ -]| and )(?:{_WORDS}))*\b")
_ORDINAL = re.compile(rf"\b(?:the )?({'|'.join(_ORDINALS)}|\d+(?:st|nd|rd|th))\b")
_TWICE = (
    ("once ", re.compile(r"\bonce (?=every|a |an |per )"), ""),
    ("twice", re.compile(r"\btwice\b"), "2 times"),
    ("dozen", re.compile(r"\bdozen\b"), "12"),
    ("a 12", re.compile(r"\ba (?=12\b)"), ""),
    ("doubled", re.compile(r"\bdoubled\b"), "2 fold"),
    ("half", re.compile(r"\bhalf\b"), "0.5"),
)
_DIGITS = re.compile(
    r"(?<![\w.])([-−]?)([$€£¥]?)\s?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)*)"
    r"(?:\s?(percentage points?|per ?cent|percent|%|°\s?[cfk]\b|[a-zµ°$€£¥]+(?:\s?/\s?[a-z]+| per [a-z]+)?))?"
)


_SCALED = re.compile(rf"(?<![\w.])(\d+(?:,\d{{3}})*(?:\.\d+)?) ({'|'.join(_SCALES)})\b")


class _Unit(NamedTuple):
    kind: str
    factor: Fraction


def _units(kind: str, table: str) -> dict[str, _Unit]:
    rows = (row.split() for row in table.split(";"))
    return {name: _Unit(kind, Fraction(factor)) for factor, *names in rows for name in names}


_UNITS: dict[str, _Unit] = {
    **_units("length", "1 m metre metres meter meters;1000 km kilometre kilometres kilometer kilometers;"
             "1/100 cm centimetre centimetres centimeter centimeters;1/1000 mm millimetre millimetres millimeter;"
             "1609344/1000 mile miles mi;3048/10000 ft foot feet;254/10000 inch inches;9144/10000 yard yards;"
             "1852 nmi"),
    **_units("area", "1 m2 sqm;10000 hectare hectares ha;1000000 km2;404686/100 acre acres"),
    **_units("length/time", "1609344/3600000 mph;1852/3600 knot knots kn;1000/3600 kmh kph"),
    **_units("mass", "1 kg kilogram kilograms kilo kilos;1/1000 g gram grams;1/1000000 mg milligram milligrams;"
             "1/1000000000 µg mcg microgram micrograms;1000 t tonne tonnes megagram megagrams;"
             "45359237/100000000 lb lbs pound-mass"),
    **_units("volume", "1 l litre litres liter liters;1/1000 ml millilitre millilitres milliliter milliliters"),
    **_units("time", "1 s sec second seconds;60 min minute minutes;3600 h hr hour hours;86400 day days;"
             "604800 week weeks;1/1000 ms millisecond milliseconds;1/1000000 µs microsecond microseconds"),
    **_units("calendar", "1 month months;12 year years yr yrs"),
    **_units("bytes", "1 b byte bytes;1000 kb;1000000 mb;1000000000 gb;1000000000000 tb"),
    **_units("celsius", "1 °c celsius"),
    **_units("fahrenheit", "1 °f fahrenheit"),
    **_units("kelvin", "1 °k kelvin k"),
    **_units("degree", "1 ° degree degrees"),
    **_units("percent", "1 % percent;1/100 basispoints basispoint"),
    **_units("points", "1 points-of-percent"),
    **_units("dollar", "1 $ dollar dollars usd"),
    **_units("euro", "1 € euro euros eur"),
    **_units("sterling", "1 £ pound pounds gbp"),
    **_units("yen", "1 ¥ yen jpy"),
    **_units("volt", "1 v volt volts;1/1000 mv millivolt millivolts;1000 kv kilovolt kilovolts;"
             "1000000 megavolt megavolts"),
    **_units("watt", "1 w watt watts;1000 kw kilowatt kilowatts;1000000 megawatt megawatts;"
             "1/1000 milliwatt milliwatts"),
    **_units("bit", "1 bit bits;1000 kilobit kilobits kbit;1000000 megabit megabits mbit;"
             "1000000000 gigabit gigabits gbit"),
}  # fmt: skip
_SCALES_OF_HEAT: frozenset[str | None] = frozenset({"celsius", "fahrenheit", "kelvin"})
_ICE = Fraction(27315, 100)
_DEGREES: frozenset[str | None] = frozenset({"degree", "celsius", "fahrenheit", "kelvin"})


_CURRENCIES: frozenset[str | None] = frozenset({"dollar", "euro", "sterling", "yen"})


class Quantity(NamedTuple):
    """`kind` is None where no unit was given; `base` is the amount in the kind's own unit.

    `spelling` are the digits as they were written, where they were.
    """

    amount: Fraction
    kind: str | None
    base: Fraction
    is_ordinal: bool
    spelling: str = ""


class Quantities(NamedTuple):
    """`marked` is `rest` with a mark in the place of each number, by which `place_marks` finds them again."""

    dates: frozenset[str]
    times: frozenset[str]
    numbers: tuple[Quantity, ...]
    names: frozenset[str]
    rest: str
    marked: str


def place_marks(marked: str) -> list[tuple[int, str, str]]:
    """Each number of a marked text in its order: its place among the numbers, the text before it, and after it."""
    parts = _MARK.split(marked)
    return [(ord(parts[place]) - _FIRST_MARK, parts[place - 1], parts[place + 1]) for place in range(1, len(parts), 2)]


def take_quantities(plain: str) -> Quantities:
    """What a plain text says in numbers, and what is left of it; `names` are numbers in parts, such as versions."""
    dates, rest = _take_dates(plain if plain.isascii() else _MARK.sub("", plain))
    times, rest = _take_times(rest)
    for word, form, full in _TWICE:
        if word in rest:
            rest = form.sub(full, rest)
    if "illion" in rest or "thousand" in rest or "hundred" in rest:
        rest = _SCALED.sub(lambda found: _scaled(found[1], found[2]), rest)
    rest = _WORD_NUMBER.sub(lambda found: str(_word_value(found.group())), rest)
    numbers: list[Quantity] = []
    rest = _ORDINAL.sub(lambda found: _note_ordinal(found.group(1), numbers), rest)
    names: set[str] = set()
    rest = _DIGITS.sub(lambda found: _note_number(found, numbers, names), rest)
    return Quantities(dates, times, tuple(numbers), frozenset(names), _MARK.sub("", rest), rest)


def are_same_quantities(one: tuple[Quantity, ...], other: tuple[Quantity, ...]) -> bool:
    """The same amounts as often on both sides, in whatever order; a missing unit fits every unit."""
    # Taking the first that fits may miss a fit in one direction; either finding one is enough, and symmetric.
    return len(one) == len(other) and (_fits(one, other) or _fits(other, one))


def _fits(one: tuple[Quantity, ...], other: tuple[Quantity, ...]) -> bool:
    left = list(other)
    for quantity in one:
        found = next((place for place, it in enumerate(left) if _is_same(quantity, it)), None)
        if found is None:
            return False
        del left[found]
    return True


def _is_same(one: Quantity, other: Quantity) -> bool:
    if one.is_ordinal is not other.is_ordinal and one.kind is not other.kind:
        return False
    kinds = {one.kind, other.kind}
    # Of two spellings of one number, such as 2.1 and 2.10, at least one is a version, unless a unit says otherwise.
    if kinds == {None} and one.amount == other.amount and one.spelling != other.spelling:
        return not (one.amount >= 1 and "." in one.spelling and "." in other.spelling)
    # An amount of money is no mere number.
    if None in kinds and kinds & _CURRENCIES:
        return False
    # Mere degrees fit every scale, as no unit fits every unit.
    if None in kinds or ("degree" in kinds and kinds <= _DEGREES):
        return one.amount == other.amount
    if kinds <= _SCALES_OF_HEAT:
        return _kelvin(one) == _kelvin(other)
    return one.kind == other.kind and one.base == other.base


def _kelvin(one: Quantity) -> Fraction:
    """A temperature in kelvin; differences of temperature are told in one scale."""
    if one.kind == "celsius":
        return one.amount + _ICE
    return (one.amount + Fraction(45967, 100)) * 5 / 9 if one.kind == "fahrenheit" else one.amount


def _take_dates(plain: str) -> tuple[frozenset[str], str]:
    dates: set[str] = set()

    def note(year: str | None, month: int, day: str | None) -> str:
        dates.add(f"{year or '----'}-{month:02d}" + ("" if day is None else f"-{int(day):02d}"))
        return " "

    rest = plain
    if "-" in rest:
        rest = _ISO_DATE.sub(lambda found: note(found[1], int(found[2]), found[3]), rest)
    if _ANY_MONTH.search(rest):
        rest = _DAY_FIRST.sub(lambda found: note(found[3], _MONTHS[found[2]], found[1]), rest)
        rest = _MONTH_FIRST.sub(lambda found: note(found[3], _MONTHS[found[1]], found[2]), rest)
        rest = _MONTH_YEAR.sub(lambda found: note(found[2], _MONTHS[found[1]], None), rest)
    if "day" in rest:
        dates.update(found[1] for found in _WEEKDAY.finditer(rest))
        rest = _WEEKDAY.sub(" ", rest)
    return frozenset(dates), rest


def _take_times(plain: str) -> tuple[frozenset[str], str]:
    times: set[str] = set()

    def note(found: re.Match[str]) -> str:
        hour, minute, half, full_hour, full_minute, word = found.groups()
        if word is not None:
            times.add("12:00" if word == "noon" else "00:00")
        elif half is not None:
            times.add(f"{int(hour) % 12 + (12 if half == 'p' else 0):02d}:{minute or '00'}")
        else:
            times.add(f"{int(full_hour):02d}:{full_minute}")
        return " "

    rest = _CLOCK.sub(note, plain)
    return frozenset(times), rest


def _scaled(digits: str, scale: str) -> str:
    """`3.5 million` in digits; what is no whole number then stays as it was written."""
    amount = Fraction(digits.replace(",", "")) * _SCALES[scale]
    return str(amount) if amount.denominator == 1 else f"{digits} {scale}"


def _word_value(words: str) -> int:
    total = current = 0
    for word in re.split(r"[ -]", words):
        if word in _SCALES:
            scale = _SCALES[word]
            current = max(current, 1) * scale
            if scale > _HUNDRED:
                total, current = total + current, 0
        else:
            current += _SMALL.get(word, _TENS.get(word, 0))
    return total + current


def _note_ordinal(word: str, numbers: list[Quantity]) -> str:
    value = Fraction(_ORDINALS.get(word) or int(re.sub(r"\D", "", word)))
    numbers.append(Quantity(value, None, value, True))
    return f" {_mark(numbers)} "


def _note_number(found: re.Match[str], numbers: list[Quantity], names: set[str]) -> str:
    sign, currency, digits, after = found.groups()
    if digits.count(".") > 1:
        names.add(digits)
        return f" {after or ''}"
    amount = Fraction(digits.replace(",", "")) * (-1 if sign else 1)
    kind, factor, left = _unit_of(currency, (after or "").strip())
    numbers.append(Quantity(amount, kind, amount * factor, False, digits))
    return f" {_mark(numbers)} {left}"


def _mark(numbers: list[Quantity]) -> str:
    """For the last number; there are more marks than a text that is looked at has places."""
    return chr(_FIRST_MARK + len(numbers) - 1)


def _unit_of(currency: str, after: str) -> tuple[str | None, Fraction, str]:
    """The kind and factor of a unit, and the word after the number where that is none."""
    if currency:
        return _UNITS[currency].kind, Fraction(1), after
    if after.startswith("percentage"):
        return "points", Fraction(1), ""
    if after.startswith("per") and "cent" in after:
        return "percent", Fraction(1), ""
    unit = after.replace(" ", "")
    if unit in _UNITS:
        return *_UNITS[unit], ""
    upper, has_slash, lower = re.sub(r" per |\s?/\s?", "/", after).partition("/")
    if has_slash and upper in _UNITS and lower in _UNITS:
        over, under = _UNITS[upper], _UNITS[lower]
        return f"{over.kind}/{under.kind}", over.factor / under.factor, ""
    return None, Fraction(1), after
