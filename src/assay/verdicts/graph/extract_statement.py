"""One sentence of a regulation as what it demands; by rules alone, and honest about doubt.

core of a sentence -> modal verb -> time | range | limits | set | state -> Demand
Whatever demands something and fits no pattern becomes `discretionary`: a person judges it, and nothing is lost.
"""

import re
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from assay.verdicts.graph.extract_metric import (
    ACTORS,
    RANGE,
    comparisons_of,
    counted_metric,
    measured_metric,
    named_metric,
    timed_metric,
)
from assay.verdicts.graph.extract_terms import NUMBER, Quantity, read_quantity, slug
from assay.verdicts.graph.obligation_type import ObligationType

__all__ = ["LONGEST", "Demand", "read_demands"]

# No sentence that a person can follow is longer; what is, costs no more than to say so.
LONGEST = 2000

Scalar = Decimal | str | bool
# The name of a metric, and what is doubtful about it.
_Named = tuple[str | None, tuple[str, ...]]


class Demand(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one sentence asks of one metric; `doubts` say what a person should look at first."""

    kind: ObligationType
    metric: str | None = None
    value: Scalar | tuple[Scalar, ...] | None = None
    unit: str | None = None
    doubts: tuple[str, ...] = ()


_MODAL = re.compile(
    r"\b(?P<modal>must not|shall not|may not|should not|must|shall|should|is required to|are required to|may"
    r"|is prohibited|are prohibited|is forbidden|are forbidden)\b",
)
_RANGE_MIDDLE = re.compile(r"\s*(?:and|to|–|-)\s*", re.IGNORECASE)
_EVERY = re.compile(rf"\b(?:within|at least every|at least once every|every|at intervals not exceeding)\s+(?={NUMBER})")
_TIMES = frozenset({"s", "min", "h", "d"})
# Longer spans have no length of their own: the longest they can be, in days.
_LONG_SPANS = {"week": 7, "month": 31, "quarter": 92, "year": 366}
_SPAN = re.compile(r"\s*(?P<span>week|month|quarter|year)s?\b")
_OFTEN = re.compile(
    r"\b(?:(?:at least )?once (?:a|an|per|each|every) (?P<span>hour|day|week|month|quarter|year)"
    r"|(?P<word>hourly|daily|weekly|monthly|quarterly|annually|yearly))\b"
)
_ADVERBS = {
    "hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter",
    "annually": "year", "yearly": "year",
}  # fmt: skip
_LASTS = re.compile(rf"^be \w+ for (?:at least |a period of )?(?={NUMBER})")
_ONE_OF = re.compile(r"\b(?:be )?(?P<no>not be )?one of(?: the following)?:?\s+(?P<members>\S.*)")
_FOR_WHAT = re.compile(r" for (?P<what>[a-z][\w -]*?)(?= and |,|;|$)")
_AND_NUMBER = re.compile(rf"(?: and|,(?: and)?) (?={NUMBER})")
_STATE = re.compile(r"^be (?P<word>\w+ed|\w+en|kept|shut|open|operational|closed|present|available|active|in place)\b")


def read_demands(core: str) -> tuple[Demand, ...]:
    """What a sentence demands; nothing where it only permits or tells. Several limits of one sentence are several."""
    modal = _MODAL.search(core)
    if modal is not None and len(core) > LONGEST:
        return (Demand(kind=ObligationType.DISCRETIONARY, doubts=_TOO_LONG),)
    before = "" if modal is None else core[: modal.start()].strip()
    # `No ship shall …`, `at no time shall …`: the verb is plain, and the sentence forbids.
    is_nobody = _NOBODY.search(_NO_MORE.sub("", before)) is not None
    if modal is None or (modal["modal"] == "may" and not is_nobody):
        return ()
    after = core[modal.end() :].strip()
    if turned := _AT_NO_TIME.fullmatch(f"{before}|{after}"):
        # The subject stands behind the verb: put it where it belongs.
        return read_demands(f"{turned['thing']} {modal['modal']} not {turned['rest']}")
    again = _AGAIN.search(after)
    if again is not None:
        rest = f"{before} {after[again.start('modal') :]}"
        return (*_demanded(before, modal["modal"], after[: again.start()], is_nobody=is_nobody), *read_demands(rest))
    return _demanded(before, modal["modal"], after, is_nobody=is_nobody)


def _demanded(before: str, word: str, after: str, *, is_nobody: bool) -> tuple[Demand, ...]:
    if word.endswith(("prohibited", "forbidden")):
        return (Demand(kind=ObligationType.MUST_NOT, metric=named_metric(before)[0], value=True, doubts=_NAMED),)
    is_negated = word.endswith(" not")
    if is_negated and is_nobody:
        return (Demand(kind=ObligationType.DISCRETIONARY, doubts=_TWICE),)
    found = _compared(before, after, is_negated=is_negated or is_nobody)
    if word.startswith("should"):
        # A recommendation of nothing that is measured is for a person too: `should` asks for a metric.
        return tuple(_recommended(one) for one in found) or (Demand(kind=ObligationType.DISCRETIONARY, doubts=_ADVICE),)
    return found or (_stated(before, after, is_negated=is_negated, is_nobody=is_nobody),)


_TOO_LONG = ("the sentence is too long to be read by rules",)
_NAMED = ("the metric is named after the words of the sentence",)
_OUTSIDE = ("it forbids a range, which no type of obligation says",)
_TWICE = ("it says no twice: which way the limit goes is for a person",)
_NEVER = ("it forbids something within a time, which no type of obligation says",)
_IN_FRONT = ("the limit stands in front of the verb: it may only say what the sentence is about",)
_NOT = re.compile(
    r"\b(?:not|never|no|nor|without|prevent(?:s|ed|ing)?|avoid(?:s|ed|ing)?|prohibit(?:s|ed|ing)?|refrain(?:s|ed|ing)?"
    r"|stop(?:s|ped|ping)?)\b",
)
_NOBODY = re.compile(r"\b(?:no|nobody|none|never|neither|nor|nothing)\b", re.IGNORECASE)
_NO_MORE = re.compile(r"\b(?:no|not) (?:more|less|fewer|higher|lower|greater) than\b", re.IGNORECASE)
_AT_NO_TIME = re.compile(
    r"(?:At no time|Under no circumstances|In no case|Never)\|"
    r"(?P<thing>\S.*?) (?P<rest>(?:be|fall|drop|rise|exceed|contain|stay|remain|have)\b.*)",
)
_HOW = re.compile(r"^be \w+ (?:fairly|properly|adequately|appropriately|promptly|regularly|with)\b")
_AGAIN = re.compile(r",? (?:and|but|or) (?P<modal>must|shall|should|may)\b")
# What follows these says when or for whom, not how much.
_CONDITION = re.compile(
    r"\b(?:when|whenever|if|where|once|while|after|before|until|as soon as|in case|for|which|that)\b"
)
_GIVEN = re.compile(r"^be (?:provided|paid|held|maintained|kept|deposited|available)\b")
_ADVICE = ("a recommendation, of nothing that can be compared",)
_INFORMAL = ("no number, set or state that can be compared was found",)


def _compared(before: str, after: str, *, is_negated: bool) -> tuple[Demand, ...]:
    """The first reading that fits: time, range, limit behind the verb, set, limit in front of it."""
    named = measured_metric(before, after)
    return (
        _timed(before, after, is_negated=is_negated)
        or _ranged(after, named, is_negated=is_negated)
        or _limited(after, named, is_negated=is_negated)
        or _listed(after, named, is_negated=is_negated)
        or _limited_in_front(before, after, named, is_negated=is_negated)
    )


def _timed(before: str, after: str, *, is_negated: bool) -> tuple[Demand, ...]:
    found = _within(after) or _often(after)
    if found is None:
        return ()
    if is_negated:
        return (Demand(kind=ObligationType.DISCRETIONARY, doubts=_NEVER),)
    start, value, unit, told = found
    metric, doubts = timed_metric(before, after[:start])
    kind = ObligationType.MUST_BE_RECORDED_WITHIN
    return (Demand(kind=kind, metric=metric, value=value, unit=unit, doubts=(*doubts, *told)),)


def _within(after: str) -> tuple[int, Decimal, str, tuple[str, ...]] | None:
    """`within 48 hours`, `every two weeks`: where it stands, how long, in which unit."""
    every = _EVERY.search(after)
    length = None if every is None else read_quantity(after, every.end())
    if every is None or length is None:
        return None
    if length.unit in _TIMES:
        return every.start(), length.value, str(length.unit), ()
    span = _SPAN.match(after, length.end) if length.unit is None else None
    if span is None:
        return None
    return every.start(), length.value * _LONG_SPANS[span["span"]], "d", (_counted_as(span["span"]),)


def _often(after: str) -> tuple[int, Decimal, str, tuple[str, ...]] | None:
    """How often, as in `daily` and `at least once a month`."""
    found = _OFTEN.search(after)
    if found is None:
        return None
    span = found["span"] or _ADVERBS[found["word"]]
    if span in _LONG_SPANS:
        return found.start(), Decimal(_LONG_SPANS[span]), "d", (_counted_as(span),)
    return found.start(), Decimal(1), span[0], ()


def _counted_as(span: str) -> str:
    return f"a {span} was counted as {_LONG_SPANS[span]} days"


def _ranged(after: str, named: _Named, *, is_negated: bool) -> tuple[Demand, ...]:
    between = RANGE.search(after)
    found = None if between is None else _range(after, between.end())
    if found is None:
        return ()
    if is_negated:
        # No type of SKI 3.3 says "outside of a range".
        return (Demand(kind=ObligationType.DISCRETIONARY, doubts=_OUTSIDE),)
    kind = ObligationType.MUST_BE_WITHIN
    return (Demand(kind=kind, metric=named[0], value=found[0], unit=found[1], doubts=named[1]),)


def _limited(after: str, named: _Named, *, is_negated: bool) -> tuple[Demand, ...]:
    """Every limit of a sentence, on the side that the words before it say; `at least 5 and at most 9` is two."""
    found: list[Demand] = []
    start = 0
    for begin, end, plain, negated in comparisons_of(after):
        between = after[start:begin]
        if _CONDITION.search(between):
            return ()
        is_told_again = _NOT.search(between) is not None
        if is_negated and is_told_again:
            return (Demand(kind=ObligationType.DISCRETIONARY, doubts=_TWICE),)
        limits, start = _limits(after, end, negated if is_negated or is_told_again else plain, *named)
        found += limits
    return tuple(found)


def _limited_in_front(before: str, after: str, named: _Named, *, is_negated: bool) -> tuple[Demand, ...]:
    """`security of at least €5,000 must be provided`: the limit belongs to what the sentence is about."""
    found = comparisons_of(before)
    if is_negated or len(found) != 1 or _GIVEN.match(after) is None:
        return ()
    _, end, plain, _ = found[0]
    return _limits(before, end, plain, named[0], (*named[1], *_IN_FRONT))[0]


def _listed(after: str, named: _Named, *, is_negated: bool) -> tuple[Demand, ...]:
    members = _ONE_OF.search(after)
    if members is None:
        return ()
    is_not = is_negated or bool(members["no"])
    kind = ObligationType.MUST_NOT_BE_ONE_OF if is_not else ObligationType.MUST_BE_ONE_OF
    return (Demand(kind=kind, metric=named[0], value=_members(members["members"]), doubts=named[1]),)


def _limits(
    text: str, start: int, kind: ObligationType, metric: str | None, doubts: tuple[str, ...]
) -> tuple[tuple[Demand, ...], int]:
    """`35 mg/m3 for sulphur dioxide and 150 mg/m3 for nitrogen oxides` are two limits of two metrics; and the end."""
    found: list[Demand] = []
    while (quantity := read_quantity(text, start)) is not None:
        for_what = _FOR_WHAT.match(text, quantity.end)
        name = (counted_metric(text, quantity.end) or metric) if for_what is None else slug(for_what["what"])
        found.append(_limit(kind, name, quantity, doubts))
        start = quantity.end if for_what is None else for_what.end()
        if for_what is None or _AND_NUMBER.match(text, start) is None:
            break
    return tuple(found), start


def _limit(kind: ObligationType, metric: str | None, quantity: Quantity, doubts: tuple[str, ...]) -> Demand:
    told = list(doubts)
    if quantity.is_doubtful:
        told.append("the comma in the number was read as a decimal point")
    if quantity.unit is None:
        told.append("no unit that is known follows the number")
    return Demand(kind=kind, metric=metric, value=quantity.value, unit=quantity.unit, doubts=tuple(told))


def _range(text: str, start: int) -> tuple[tuple[Scalar, ...], str | None] | None:
    low = read_quantity(text, start)
    middle = None if low is None else _RANGE_MIDDLE.match(text, low.end)
    high = None if middle is None else read_quantity(text, middle.end())
    if low is None or high is None or high.value < low.value:
        return None
    return (low.value, high.value), high.unit or low.unit


def _members(text: str) -> tuple[Scalar, ...]:
    parts = re.split(r",\s*(?:and |or )?|\s+(?:and|or)\s+", text.rstrip(" ."))
    return tuple(part.strip("“”\"'‘’ ") for part in parts if part.strip())


def _stated(before: str, after: str, *, is_negated: bool, is_nobody: bool) -> Demand:
    """`guards shall be fitted` is a state of a thing; anything else is for a person."""
    state = _STATE.match(after)
    thing, _ = named_metric(before)
    if is_nobody or state is None or thing is None or thing.rpartition("_")[2] in ACTORS:
        return Demand(kind=ObligationType.DISCRETIONARY, doubts=_INFORMAL)
    if _LASTS.match(after) or _HOW.match(after):
        return Demand(kind=ObligationType.DISCRETIONARY, doubts=_INFORMAL)
    kind = ObligationType.MUST_NOT if is_negated else ObligationType.MUST
    return Demand(kind=kind, metric=f"{thing}_{slug(state['word'])}", value=True, doubts=_NAMED)


def _recommended(demand: Demand) -> Demand:
    """A recommendation has no operand to compare by: its metric says whether the limit was passed."""
    if not isinstance(demand.value, Decimal) or demand.metric is None:
        return replace(demand, kind=ObligationType.DISCRETIONARY, metric=None, value=None, unit=None, doubts=_ADVICE)
    side = "below" if demand.kind in (ObligationType.MUST_BE_AT_LEAST, ObligationType.MUST_BE_ABOVE) else "above"
    unit = "" if demand.unit is None else f"_{slug(demand.unit)}"
    number = slug(str(demand.value))
    metric = f"{demand.metric}_{side}_{number}{unit}"
    return Demand(kind=ObligationType.SHOULD, metric=metric, value=False, doubts=(*demand.doubts, *_NAMED))
