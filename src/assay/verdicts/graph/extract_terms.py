"""Words of a regulation that mean something exact: numbers, units, durations, dates, clauses, names of metrics."""

import re
from collections.abc import Iterator
from decimal import Decimal

from msgspec import Struct

__all__ = [
    "DATE",
    "NUMBER",
    "Quantity",
    "Reference",
    "clause_name",
    "find_references",
    "last_moment",
    "parse_date",
    "parse_number",
    "quantities_of",
    "read_quantity",
    "slug",
]

_WORDS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "fourteen": 14, "fifteen": 15, "twenty": 20, "twenty-four": 24, "thirty": 30,
    "forty-eight": 48, "sixty": 60, "seventy-two": 72, "ninety": 90,
}  # fmt: skip
_DIGITS = r"(?:-|minus )?(?:[0-9]{1,3}(?:[,\u00a0\u202f ][0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:[.,][0-9]+)?)"
NUMBER = rf"(?:{_DIGITS}|\b(?:{'|'.join(sorted(_WORDS, key=len, reverse=True))})\b)"
_GROUPS = re.compile(r"(?<=[0-9])[,\u00a0\u202f ](?=[0-9]{3}(?:[^0-9]|$))")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_NAMED = rf"(?P<day>[0-9]{{1,2}}) (?P<month>{'|'.join(_MONTHS)}) (?P<year>[0-9]{{4}})"
_ISO = r"(?P<iso>[0-9]{4}-[0-9]{2}-[0-9]{2})"
DATE = r"(?:[0-9]{1,2} (?:" + "|".join(_MONTHS) + r") [0-9]{4}|[0-9]{4}-[0-9]{2}-[0-9]{2})"
_DATE = re.compile(rf"{_NAMED}|{_ISO}")
# Units by the words that regulations use for them; the first column is how the graph writes them.
_UNITS = {
    "%": ("per cent", "percent", "%"),
    "°C": ("degrees celsius", "°c", "degc"),
    "mg/m3": ("milligrams per cubic metre", "mg/m3", "mg/m³"),
    "mg/Nm3": ("milligrams per normal cubic metre", "mg/nm3", "mg/nm³"),
    "µg/m3": ("micrograms per cubic metre", "µg/m3", "µg/m³", "ug/m3"),
    "mg/l": ("milligrams per litre", "mg/l"),
    "g/kWh": ("grams per kilowatt hour", "g/kwh"),
    "% m/m": ("% m/m", "% by mass", "per cent by mass", "per cent m/m"),
    "ppm": ("parts per million", "ppm"),
    "dB": ("db",),
    "dB(A)": ("db(a)", "dba", "decibels"),
    "bar": ("bar",),
    "kPa": ("kilopascals", "kpa"),
    "m/s": ("metres per second", "m/s"),
    "km/h": ("kilometres per hour", "km/h"),
    "kn": ("knots", "kn"),
    "m": ("metres", "metre"),
    "mm": ("millimetres", "mm"),
    "cm": ("centimetres", "cm"),
    "in": ("inches",),
    "km": ("kilometres",),
    "nm": ("nautical miles",),
    "m3": ("cubic metres", "m3", "m³"),
    "t": ("tonnes", "tonne"),
    "kg": ("kilograms", "kg"),
    "g": ("grams",),
    "mg": ("milligrams", "mg"),
    "l": ("litres",),
    "MW": ("megawatts", "mw"),
    "kW": ("kilowatts", "kw"),
    "V": ("volts",),
    "lux": ("lux",),
    "EUR": ("euro", "euros", "eur", "€"),
    "USD": ("us dollars", "usd", "$"),
    "us": ("microseconds", "microsecond"),
    "ms": ("milliseconds", "millisecond"),
    "s": ("seconds", "second"),
    "min": ("minutes", "minute"),
    "h": ("hours", "hour"),
    "d": ("days", "day", "calendar days"),
}
_SPELLINGS = {spelling: unit for unit, spellings in _UNITS.items() for spelling in spellings}
_UNIT = re.compile(
    r"\s*(?P<unit>" + "|".join(re.escape(one) for one in sorted(_SPELLINGS, key=len, reverse=True)) + r")(?![\w/])",
    re.IGNORECASE,
)
# A quotient that the table does not have is taken as it is written.
_QUOTIENT = re.compile(r"\s*(?P<unit>[A-Za-zµ%°][A-Za-z0-9µ³²]{0,5}/[A-Za-z0-9µ³²]{1,6})(?![\w/])")
_QUANTITY = re.compile(rf"(?P<money>[€$]\s?)?(?P<number>{NUMBER})", re.IGNORECASE)
_ACT = (
    r"(?:(?:Commission |Council |Delegated |Implementing )*(?:Directive|Regulation|Decision)"
    r" (?:\((?:EU|EC|EEC)\) )?(?:No )?[0-9]+/[0-9]+(?:/[A-Z]+)?|[0-9]+ CFR [0-9.]+|MARPOL Annex [IVX]+|ISO [0-9-]+)"
)
_PLACE = (
    r"(?:(?:Article|Section|Regulation|Rule) [0-9]+[a-z]?(?:\.[0-9]+)*(?:\([0-9a-z]+\))*"
    r"|Annex [IVXLC0-9]+|§ ?[0-9]+[a-z]?|paragraph \(?[0-9]+\)?(?:\([a-z]\))?)"
)
_REFERENCE = re.compile(
    rf"(?P<inner>{_PLACE})(?: (?:of|to) (?P<outer>{_ACT}))?|(?P<act>{_ACT})(?:,? (?P<clause>{_PLACE}))?"
)
_DROPPED = frozenset({"a", "an", "the", "any", "each", "every", "all", "such", "its", "their", "of", "in", "that"})
_WORD = re.compile(r"[a-z0-9]+")


class Quantity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A number with its unit, None where the text has none that we know; `end` is where it ends in the text.

    `is_doubtful`: a comma that could be a decimal point.
    """

    value: Decimal
    unit: str | None
    end: int
    is_doubtful: bool = False


class Reference(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A clause that a sentence names; `document` is None where it is one of the same text."""

    document: str | None
    clause: str


def parse_number(text: str) -> tuple[Decimal, bool]:
    """The value, and whether its comma is in doubt: `0,10` is a tenth in most of Europe."""
    word = _WORDS.get(text.lower())
    if word is not None:
        return Decimal(word), False
    plain = _GROUPS.sub("", text.lower().replace("minus ", "-"))
    return Decimal(plain.replace(",", ".")), "," in plain


def read_quantity(text: str, start: int = 0) -> Quantity | None:
    """The first number at or after a place, with the unit that follows it."""
    found = _QUANTITY.search(text, start)
    if found is None:
        return None
    value, is_doubtful = parse_number(found["number"])
    unit = _UNIT.match(text, found.end())
    if found["money"]:
        return Quantity(value=value, unit=_SPELLINGS[found["money"].strip()], end=found.end(), is_doubtful=is_doubtful)
    if unit is None:
        quotient = _QUOTIENT.match(text, found.end())
        end = found.end() if quotient is None else quotient.end()
        return Quantity(value=value, unit=quotient and quotient["unit"], end=end, is_doubtful=is_doubtful)
    return Quantity(value=value, unit=_SPELLINGS[unit["unit"].lower()], end=unit.end(), is_doubtful=is_doubtful)


def quantities_of(text: str) -> tuple[Quantity, ...]:
    """Every number of a text, in its order."""
    found: list[Quantity] = []
    start = 0
    while (one := read_quantity(text, start)) is not None:
        found.append(one)
        start = one.end
    return tuple(found)


def parse_date(text: str) -> str | None:
    """`1 January 2027` or `2027-01-01` as the first moment of that day; None for a day that does not exist."""
    found = _DATE.search(text)
    if found is None:
        return None
    if found["iso"]:
        year, month, day = map(int, found["iso"].split("-"))
    else:
        year, month, day = int(found["year"]), _MONTHS.index(found["month"]) + 1, int(found["day"])
    longest = (31, 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28,
               31, 30, 31, 30, 31, 31, 30, 31, 30, 31)  # fmt: skip
    if not (1 <= month <= len(longest) and 1 <= day <= longest[month - 1] and year > 0):
        return None
    return f"{year:04}-{month:02}-{day:02}T00:00:00Z"


def last_moment(day: str) -> str:
    """Of the day that a date begins: until the 31st is until the 31st is over."""
    return day.replace("T00:00:00Z", "T23:59:59.999999Z")


def find_references(text: str) -> Iterator[Reference]:
    for found in _REFERENCE.finditer(text):
        if found["act"]:
            yield Reference(document=found["act"], clause=found["clause"] or "as a whole")
        else:
            yield Reference(document=found["outer"], clause=found["inner"])


def clause_name(*words: str) -> str:
    """The name of a node that stands for a clause: no letter of its number is left out."""
    return "_".join(_WORD.findall(" ".join(words).lower()))


def slug(words: str, *, most: int = 6) -> str:
    """The name of a metric or a node, made of the words that carry meaning."""
    kept = [word for word in _WORD.findall(words.lower()) if word not in _DROPPED]
    return "_".join(kept[:most])
