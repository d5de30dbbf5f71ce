"""Times in a sentence: how often something is done, how soon, how long it is kept.

A deadline (`within 24 hours of detection`) is a duty to act: its metric is the time that passed. A frequency (`every 24
hours`) asks for recent evidence. A retention (`kept for at least five years`) is a length of time.
"""

import re
from decimal import Decimal

from msgspec import Struct

from assay.verdicts.graph.extract_terms import NUMBER, read_quantity
from assay.verdicts.graph.extract_units import TIMES
from assay.verdicts.graph.obligation_type import ObligationType

# Spans without a length of their own: the longest they can be, in days.
_LONG_SPANS = {"week": 7, "month": 31, "quarter": 92, "year": 366, "working day": 5}
_SPAN = r"(?:calendar |working |business )?(?:hour|day|week|month|quarter|year|shift)"
_NUMBERED = re.compile(
    r"\b(?:(?:at least |not less than |no less than |a minimum of )?(?:once |twice )?(?:in )?(?:every|each"
    r"|per)(?: period of)?"
    r"|at (?:least )?(?:regular )?intervals (?:not exceeding|of(?: not| no)?(?: more than| longer than| at most)?"
    r"|(?:not|no) (?:longer|greater|more) than|not to exceed|of not exceeding)"
    rf"|(?:in|within|during) (?:any|each|every)(?: period of)?)\s+(?={NUMBER})",
    re.IGNORECASE,
)
_OFTEN = re.compile(
    r"\b(?:(?P<times>at least once|once|at least twice|twice|at least one time) (?:in |during )?(?:a|an|per|each"
    r"|every|any)"
    rf"(?: period of a)? (?P<span>{_SPAN})\b|(?:every|each) (?P<each>{_SPAN})\b"
    r"|on an? (?P<basis>hourly|daily|weekly|monthly|quarterly|annual|yearly) basis"
    r"|(?P<word>hourly|daily|weekly|monthly|quarterly|annually|yearly|biannually|half-yearly)"
    r"(?=$|[,;.)]|\s+(?:and (?:after|when|before|in|at|on)|by|in|at|for|against|from|to|with|on|using|when|while"
    r"|if|where|unless|whenever|after"
    r"|during|or)\b))",
    re.IGNORECASE,
)
_ADVERBS = {
    "hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter",
    "annually": "year", "annual": "year", "yearly": "year", "biannually": "half year", "half-yearly": "half year",
}  # fmt: skip
_DAYS = {"hour": None, "day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366, "half year": 184, "shift": None}
_SOON = re.compile(
    r"\b(?P<words>within|(?:no|not) (?:later|more|longer) than|at the latest|in less than|inside|at least|(?:no"
    r"|not) less than"
    rf"|(?:no|not) (?:sooner|earlier) than)\s+(?:a (?:maximum|period|total) of |the (?:following|next) )?(?={NUMBER})",
    re.IGNORECASE,
)
_AFTER = re.compile(r"\s*,?\s*(?:of|after|from|following|since|upon)\b")
_BEFORE = re.compile(
    r"['’]?\s*,?\s*(?:before|prior to|in advance|ahead of|(?:prior |advance |written |prior written )?notice)\b"
)
_LASTS = re.compile(
    r"\b(?:kept|keep|keeps|retained|retain|retains|stored|store|preserved|preserve|maintained|maintain|archived|archive"
    r"|held|hold|available|conserved)\b(?P<what>[^,;]*?)\bfor(?: a)?(?: (?:further )?period of)?\s+"
    r"(?P<side>(?:at least|(?:a |the )?minimum(?: period)? of|(?:no|not) (?:less|shorter) than|(?:no|not) (?:more"
    r"|longer) than"
    rf"|longer than|more than|up to|at most|(?:a |the )?maximum(?: period)? of"
    rf"|over)\s+)?(?:a period of\s+)?(?={NUMBER})",
    re.IGNORECASE,
)
_SHORT_SIDE = re.compile(r"(?:no|not) (?:more|longer)|longer|more|up to|at most|maximum|over", re.IGNORECASE)
_WORKING = "working day"


class Frequency(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often: where the words begin and end, the longest gap, and what is doubtful about it."""

    start: int
    end: int
    value: Decimal
    unit: str
    doubts: tuple[str, ...] = ()


class Deadline(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How soon, or how long: the type that says so, and its length."""

    start: int
    end: int
    kind: ObligationType
    value: Decimal
    unit: str
    suffix: str
    is_notice: bool = False


def find_frequency(text: str) -> Frequency | None:
    """`every 60 minutes`, `at least once a month`, `annually`; a month counts as the longest it can be."""
    numbered = _NUMBERED.search(text)
    quantity = None if numbered is None else read_quantity(text, numbered.end())
    if numbered is not None and quantity is not None and quantity.unit in TIMES:
        is_twice = "twice" in numbered.group().lower()
        value, unit, doubts = _in_days(quantity.value / (2 if is_twice else 1), quantity.unit or "d")
        return Frequency(start=numbered.start(), end=quantity.end, value=value, unit=unit, doubts=doubts)
    often = _OFTEN.search(text)
    if often is None:
        return None
    adverb = often["word"] or often["basis"]
    span = _ADVERBS[adverb.lower()] if adverb else (often["span"] or often["each"]).lower()
    span = span.removeprefix("calendar ").removeprefix("working ").removeprefix("business ")
    days = _DAYS[span]
    halves = 2 if "twice" in (often["times"] or "").lower() else 1
    if days is None:
        hours = Decimal(1 if span == "hour" else 12) / halves
        return Frequency(start=often.start(), end=often.end(), value=hours, unit="h", doubts=_counted(span, "12 hours"))
    doubts = _counted(span, f"{days} days")
    return Frequency(start=often.start(), end=often.end(), value=Decimal(days) / halves, unit="d", doubts=doubts)


def _in_days(value: Decimal, unit: str) -> tuple[Decimal, str, tuple[str, ...]]:
    if unit not in _LONG_SPANS:
        return value, unit, ()
    days = _LONG_SPANS[unit] if unit != _WORKING else 3
    return value * days, "d", _counted(unit, f"{days} days")


def _counted(span: str, as_what: str) -> tuple[str, ...]:
    return () if span in {"hour", "day"} else (f"a {span} was counted as {as_what}",)


def find_deadline(text: str) -> Deadline | None:
    """`within 24 hours of detection`, `not later than 24 hours before arrival`, `no sooner than 15 minutes after`."""
    for words in _SOON.finditer(text):
        quantity = read_quantity(text, words.end())
        if quantity is None or quantity.unit not in TIMES:
            continue
        is_before, is_after = _BEFORE.match(text, quantity.end), _AFTER.match(text, quantity.end)
        said = words["words"].lower()
        is_late = said.startswith(
            ("at least", "no less", "not less", "no sooner", "not sooner", "no earlier", "not earlier")
        )
        if is_late and text[: words.start()].rstrip().endswith(" of"):
            continue
        if said.endswith("more than") and not (is_before or is_after):
            continue
        if is_late and not (is_before or is_after):
            continue
        is_notice = is_before is not None and (is_late or "later" in said)
        kind = ObligationType.MUST_BE_AT_LEAST if is_late or is_notice else ObligationType.MUST_NOT_EXCEED
        suffix = "time_before" if is_before is not None else "delay"
        return Deadline(
            start=words.start(),
            end=quantity.end,
            kind=kind,
            value=quantity.value,
            unit=quantity.unit or "",
            suffix=suffix,
            is_notice=is_before is not None and is_before.group().rstrip().endswith("notice"),
        )
    return None


def find_retention(text: str, *, is_negated: bool) -> Deadline | None:
    """`kept for at least five years`; `not kept for longer than a year`."""
    found = _LASTS.search(text)
    quantity = None if found is None else read_quantity(text, found.end())
    if found is None or quantity is None or quantity.unit not in TIMES:
        return None
    is_short = is_negated or _SHORT_SIDE.match(found["side"] or "") is not None
    kind = ObligationType.MUST_NOT_EXCEED if is_short else ObligationType.MUST_BE_AT_LEAST
    return Deadline(
        start=found.start(), end=quantity.end, kind=kind, value=quantity.value, unit=quantity.unit or "",
        suffix="retention",
    )  # fmt: skip
