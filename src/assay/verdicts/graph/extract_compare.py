"""Words that compare with a number: upper and lower limits, ranges, and the number's place in the sentence."""

import re
from decimal import Decimal

from msgspec import Struct

from assay.verdicts.graph.extract_terms import COIN, NUMBER, Quantity, read_quantity
from assay.verdicts.graph.obligation_type import ObligationType

_NUMBER = rf"(?:{COIN})?{NUMBER}"
_BIG = (
    r"(?:more|higher|greater|longer|older|larger|later|wider|deeper|heavier|hotter|warmer|faster|louder|thicker|further"
    r"|farther|bigger)"
)
_SMALL = (
    r"(?:less|fewer|lower|smaller|shorter|earlier|sooner|narrower|thinner|younger|colder|cooler|slower|lighter|closer"
    r"|nearer)"
)
_UPPER = (ObligationType.MUST_NOT_EXCEED, ObligationType.MUST_BE_ABOVE)
_LOWER = (ObligationType.MUST_BE_AT_LEAST, ObligationType.MUST_BE_BELOW)
_ABOVE = (ObligationType.MUST_BE_ABOVE, ObligationType.MUST_NOT_EXCEED)
_BELOW = (ObligationType.MUST_BE_BELOW, ObligationType.MUST_BE_AT_LEAST)
_NOUN = r"(?: [a-z-]+){0,5}?"
_AVERAGE = (
    r"an? (?:[a-z-]+ ){0,4}?(?:average|total|mean|value|sum|velocity|speed|level|concentration|height|length"
    r"|weight|volume|rate"
    r"|depth|width|pressure|temperature|area|capacity|distance|dose|content|load|size) of"
)
# What each says, and what it says after a negation. Where two meet, the longer one counts.
_AT_MOST = (
    rf"(?:no|not|never) {_BIG} than|(?:not|without) exceed(?:ing)?|at (?:most|or below)|not (?:above|over)|up to"
    rf"|(?:a |the )?maximum{_NOUN} of|limited to(?: a maximum of)?|restricted to|less than or equal to"
    rf"|equal to or (?:less|lower|smaller) than|not in excess of"
    r"|capped at|drive a total of|work a total of|max(?:imum|\.)?|a limit of|an upper limit of|≤|<="
)
_AT_LEAST = (
    rf"at (?:the very )?(?:least|or above)|(?:no|not|never) {_SMALL} than|not (?:below|under)|≥|>="
    rf"|(?:a |the )?minimum{_NOUN} of|(?:greater|more|higher) than or equal to|equal to or (?:greater|more|higher"
    rf"|larger) than|min(?:imum|\.)?|a lower limit of"
)
_MORE = (
    rf"exceed(?:s|ing|ed)?|(?:be )?{_BIG} than|(?:rise |be |stay |remain )?above"
    r"|(?<!averaged )(?<!average )(?<!measured )(?<!mean )over|in excess of|>"
)
_LESS = rf"(?:fall |drop |be |stay |remain )?(?:below|under)|(?:be )?{_SMALL} than|<"
_PREFIXES = tuple(
    (re.compile(rf"(?:\b|(?<=[\s(])|^)(?:{words})\s*(?:{_AVERAGE}\s+)?(?={_NUMBER})", re.IGNORECASE), sides)
    for words, sides in ((_AT_MOST, _UPPER), (_AT_LEAST, _LOWER), (_MORE, _ABOVE), (_LESS, _BELOW))
)
_OR_MORE = re.compile(
    r"(?:\s*\([^()]*\))?\s*(?:,? ?or|and) (?:more|greater|higher|above|over|longer|older|larger|better|warmer)\b"
)
_OR_LESS = re.compile(
    r"(?:\s*\([^()]*\))?\s*(?:,? ?or|and) (?:less|lower|below|fewer|under|smaller|younger|shorter|colder)\b"
)
_BOUND_NOUN = re.compile(
    r"(?:(?:a |the )?(?:minimum|maximum)|exceed(?:s|ing)? an?) (?P<noun>[a-z -]+) of\b", re.IGNORECASE
)
_BETWEEN = re.compile(
    rf"\b(?:between|(?:with)?in the range(?: of)?|(?:with)?in a range of|from|ranging from)\s+(?={_NUMBER})",
    re.IGNORECASE,
)
_MIDDLE = re.compile(r"\s*(?:and|to|–|—|-|\.\.\.?|…)\s*(?=[-−+]?[0-9]|minus |[a-z])", re.IGNORECASE)
_DASH = re.compile(r"\s*(?:to|–|—|-)\s*(?=[-−]?[0-9])")
_PLUS_MINUS = re.compile(r"(?:\s*\([^()]*\))?,?\s*(?:±|\+/-|plus or minus)\s*(?=[0-9])", re.IGNORECASE)
_TIMES = re.compile(r"\s*times (?:the|as|that|its|their)\b", re.IGNORECASE)
_CLOCK = re.compile(r":[0-9]{2}")
_DIGIT = re.compile(r"(?<![\w.:/-])[0-9]")


class Comparison(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A limit in a sentence: where its words begin and end, its number, and its two readings."""

    start: int
    end: int
    quantity: Quantity
    plain: ObligationType
    negated: ObligationType
    noun: str = ""  # `a minimum rest period of 11 hours` names its metric
    is_firm: bool = False  # `at least`, `not more than`: the words of a limit, hardly ever of a condition


class Range(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    start: int
    end: int
    low: Decimal
    high: Decimal
    unit: str | None


def comparisons_of(text: str) -> tuple[Comparison, ...]:
    """Every comparison with a number, in the order of the text; where two patterns meet, the longer one counts."""
    found: list[Comparison] = []
    for pattern, (plain, negated) in _PREFIXES:
        for words in pattern.finditer(text):
            quantity = read_quantity(text, words.end())
            # `at least six times the permitted speed` compares with something that is not a number.
            if quantity is not None and _TIMES.match(text, quantity.end) is None:
                is_firm = (plain, negated) in {_UPPER, _LOWER}
                noun = _BOUND_NOUN.match(words.group())
                found.append(
                    Comparison(
                        start=words.start(), end=quantity.end, quantity=quantity, plain=plain, negated=negated,
                        noun="" if noun is None else noun["noun"], is_firm=is_firm,
                    )
                )  # fmt: skip
    found += _suffixed(text)
    kept: list[Comparison] = []
    for one in sorted(found, key=lambda each: (each.start, -each.end)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return tuple(kept)


def _suffixed(text: str) -> list[Comparison]:
    """`300 kN or greater`, `8 °C or below`."""
    found: list[Comparison] = []
    for digit in _DIGIT.finditer(text):
        quantity = read_quantity(text, digit.start())
        if quantity is None:
            continue
        more, less = _OR_MORE.match(text, quantity.end), _OR_LESS.match(text, quantity.end)
        sides = _LOWER if more is not None else _UPPER
        end = more or less
        if end is not None:
            found.append(
                Comparison(
                    start=digit.start(),
                    end=end.end(),
                    quantity=quantity,
                    plain=sides[0],
                    negated=sides[1],
                    is_firm=True,
                )
            )
    return found


def find_range(text: str) -> Range | None:
    """`between 6.5 and 9.5`, `2–6 °C`, `1.5 to 2.0 %`, `22 °C ± 2 °C`."""
    between = _BETWEEN.search(text)
    if between is not None:
        found = _range(text, between.start(), between.end(), _MIDDLE)
        if found is not None:
            return found
    for digit in _DIGIT.finditer(text):
        found = _range(text, digit.start(), digit.start(), _DASH)
        if found is not None and (found.unit is not None or re.search(r"\bpH\b", text)):
            return found
        around = _around(text, digit.start())
        if around is not None:
            return around
    return None


def _range(text: str, start: int, at: int, middle: re.Pattern[str]) -> Range | None:
    low = read_quantity(text, at)
    if low is None or _CLOCK.match(text, low.end):
        return None
    join = middle.match(text, low.end)
    high = None if join is None else read_quantity(text, join.end())
    if join is None or high is None or high.value < low.value or _CLOCK.match(text, high.end):
        return None
    if (
        text[join.end() : high.end].strip()[:1].isalpha()
        and join.end() != high.end
        and high.unit is None
        and low.unit is None
    ):
        return None
    return Range(start=start, end=high.end, low=low.value, high=high.value, unit=high.unit or low.unit)


def _around(text: str, start: int) -> Range | None:
    middle = read_quantity(text, start)
    sign = None if middle is None else _PLUS_MINUS.match(text, middle.end)
    spread = None if sign is None else read_quantity(text, sign.end())
    if middle is None or spread is None:
        return None
    unit = spread.unit or middle.unit
    if spread.unit == "%" and middle.unit not in {None, "%"}:
        return None
    low, high = middle.value - spread.value, middle.value + spread.value
    return Range(start=start, end=spread.end, low=low, high=high, unit=unit)
