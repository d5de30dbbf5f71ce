"""Words of a regulation that mean something exact: numbers, units, durations, dates, clauses, names of metrics."""

import re
from collections.abc import Iterator
from decimal import Decimal

from msgspec import Struct

from assay.verdicts.graph.extract_units import MONEY, match_unit

_WORDS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "eighteen": 18,
    "twenty": 20, "twenty-one": 21, "twenty-four": 24, "twenty-five": 25, "twenty-eight": 28, "thirty": 30,
    "thirty-six": 36, "forty": 40, "forty-five": 45, "forty-eight": 48, "fifty": 50, "sixty": 60,
    "seventy-two": 72, "eighty": 80, "ninety": 90, "one hundred": 100, "hundred": 100,
}  # fmt: skip
_DIGITS = (
    r"(?:[-+−]|minus )?(?:[1-9][0-9]{0,2}(?:[,\u00a0\u202f ][0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:[.,][0-9]+)?)"
)
NUMBER = rf"(?:{_DIGITS}|\b(?:{'|'.join(sorted(_WORDS, key=len, reverse=True))})\b)"
_GROUPS = re.compile(r"(?<=[0-9])[,\u00a0\u202f ](?=[0-9]{3}(?:[^0-9]|$))")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_MONTH = "|".join(_MONTHS)
_DAY = r"[0-9]{1,2}(?:st|nd|rd|th)?"
DATE = (
    rf"(?:(?:the )?{_DAY}(?: day)?(?: of)? (?:{_MONTH}),? [0-9]{{4}}|(?:{_MONTH}) {_DAY},? [0-9]{{4}}"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2})"
)
_DATE = re.compile(
    rf"(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?(?: day)?(?: of)? (?P<month>{_MONTH}),? (?P<year>[0-9]{{4}})"
    rf"|(?P<us_month>{_MONTH}) (?P<us_day>[0-9]{{1,2}})(?:st|nd|rd|th)?,? (?P<us_year>[0-9]{{4}})"
    r"|(?P<iso>[0-9]{4}-[0-9]{2}-[0-9]{2})"
)
COIN = r"(?:[€$£]\s?|\b(?-i:EUR|USD|GBP|CHF|SEK|NOK|DKK|JPY|INR|AUD|CAD|CNY|BRL|Rs\.?)\s)"
_QUANTITY = re.compile(rf"(?P<money>{COIN})?(?P<number>{NUMBER})", re.IGNORECASE)
_NUMBERED = r"[0-9]+[A-Za-z]?(?:[.-][0-9]+)*(?: ?\([0-9A-Za-z]{1,4}\))*"
_ACT = (
    r"(?:(?:Commission |Council |Delegated |Implementing )*(?:Directive|Regulation|Decision)"
    r" (?:\((?:EU|EC|EEC)\) )?(?:No )?[0-9]+/[0-9]+(?:/[A-Z]+)?|[0-9]+ CFR (?:[Pp]art )?[0-9.]+|MARPOL Annex [IVX]+"
    r"|(?:ISO(?:/IEC|/TS)?|IEC|EN(?: ISO)?|DIN|BS|ASTM|NFPA|IEEE) [A-Z]?[0-9][0-9.:-]*(?<![.:-])"
    r"|S\.I\. No\. [0-9]+ of [0-9]{4}"
    r"|(?:the )?(?:(?:[A-Z][A-Za-z&-]*|\([A-Z][A-Za-z ]*\)) (?:and |of |for |at )?){1,7}(?:Act|Code|Ordinance"
    r"|Regulations?|Rules"
    r"|Convention),? [0-9]{4}"
    r"|(?:the )?(?:GDPR|HIPAA|REACH|SOLAS|MARPOL)(?! Annex))"
)
_PLACE = (
    rf"(?:(?:[Aa]rticle|[Ss]ection|[Rr]egulation|[Rr]ule|[Cc]lause|[Cc]ondition) {_NUMBERED}"
    r"|(?:Annex|Schedule|Appendix)(?: [IVXLC]+| [0-9]+| [A-Z])\b|Table [0-9]+(?:[.-][0-9]+)*"
    rf"|§+ ?{_NUMBERED}|(?:[Ss]ub)?[Pp]aragraph \(?[0-9]+\)?(?: ?\([a-z]\))?)"
)
_REFERENCE = re.compile(
    rf"(?P<inner>{_PLACE})(?:,? (?:of|to|in) (?P<outer>{_ACT}))?|(?P<act>{_ACT})(?:,? (?P<clause>{_PLACE}))?"
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
    signed = text.lower().replace("minus ", "-").replace("−", "-").lstrip("+")
    # `0,010` is a hundredth: no group of thousands begins with a nought.
    plain = signed if signed.lstrip("-").startswith("0") else _GROUPS.sub("", signed)
    return Decimal(plain.replace(",", ".")), "," in plain


def read_quantity(text: str, start: int = 0) -> Quantity | None:
    """The first number at or after a place, with the unit that follows it."""
    found = _QUANTITY.search(text, start)
    if found is None:
        return None
    value, is_doubtful = parse_number(found["number"])
    if found["money"]:
        return Quantity(value=value, unit=MONEY[found["money"].strip()], end=found.end(), is_doubtful=is_doubtful)
    unit = match_unit(text, found.end())
    if unit is None:
        return Quantity(value=value, unit=None, end=found.end(), is_doubtful=is_doubtful)
    return Quantity(value=value, unit=unit[0], end=unit[1], is_doubtful=is_doubtful)


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
        year, day = int(found["year"] or found["us_year"]), int(found["day"] or found["us_day"])
        month = _MONTHS.index(found["month"] or found["us_month"]) + 1
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
            yield Reference(document=found["act"].removeprefix("the "), clause=found["clause"] or "as a whole")
        else:
            outer = found["outer"]
            yield Reference(document=outer and outer.removeprefix("the "), clause=found["inner"])


def clause_name(*words: str) -> str:
    """The name of a node that stands for a clause: no letter of its number is left out."""
    return "_".join(_WORD.findall(" ".join(words).lower()))


def slug(words: str, *, most: int = 6) -> str:
    """The name of a metric or a node, made of the words that carry meaning."""
    kept = [word for word in _WORD.findall(words.lower()) if word not in _DROPPED]
    return "_".join(kept[:most])
