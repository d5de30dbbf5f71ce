"""One sentence of a regulation as what it demands, defines or excepts; by rules alone, and honest about doubt.

sentence -> dates and places in front -> exceptions cut off -> modal verb -> comparison -> Statement
Whatever demands something and fits no pattern becomes `discretionary`: a person judges it, and nothing is lost.
"""

import re
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from assay.verdicts.graph.extract_metric import (
    ACTORS,
    COMPARISONS,
    RANGE,
    measured_metric,
    named_metric,
    timed_metric,
)
from assay.verdicts.graph.extract_terms import DATE, NUMBER, Quantity, last_moment, parse_date, read_quantity, slug
from assay.verdicts.graph.obligation_type import ObligationType

__all__ = ["Demand", "Frame", "read_definition", "read_demands", "read_frame"]

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


class Frame(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What stands around a demand: since when, until when, where, except when; `core` is the rest of the sentence."""

    core: str
    start: str | None = None
    end: str | None = None
    place: str | None = None
    exceptions: tuple[str, ...] = ()


_DEFINITION = re.compile(
    r"(?:For the purposes? of [^,]+, |In this [A-Z]?\w+, )?(?:[Tt]he term )?"
    r"[“\"‘']?(?P<term>[A-Za-z][\w -]{1,60}?)[”\"’']?,? (?:means|is defined as) (?P<text>\S.*)"
)
_FROM = re.compile(rf"(?:[Ww]ith effect )?\b(?:[Ff]rom|[Aa]s of|[Oo]n and after|starting on) (?P<date>{DATE}),? ?")
_UNTIL = re.compile(rf"\b(?:[Uu]ntil|[Uu]p to and including|[Bb]efore the end of) (?P<date>{DATE}),? ?")
_WHERE = re.compile(r"^(?:In|Within) (?:the )?(?P<place>[A-Z][\w-]*(?: (?:of |and )?[A-Z][\w-]*)*(?: area)?), ")
_EXCEPT = re.compile(
    r",? \b(?:except (?:where|when|during|for|if|in)|unless|other than|with the exception of)\b (?P<rest>\S.*)",
)
_ASIDE = re.compile(r", (?:as (?:laid down|set out|provided|required|defined|referred)|in accordance|pursuant)\b")
_MODAL = re.compile(
    r"\b(?P<modal>must not|shall not|may not|should not|must|shall|should|is required to|are required to|may"
    r"|is prohibited|are prohibited|is forbidden|are forbidden)\b",
)
_RANGE_MIDDLE = re.compile(r"\s*(?:and|to|–|-)\s*", re.IGNORECASE)
_EVERY = re.compile(rf"\b(?:within|at least every|at least once every|every|at intervals not exceeding)\s+(?={NUMBER})")
_TIMES = frozenset({"s", "min", "h", "d"})
_ONE_OF = re.compile(r"\b(?:be )?(?P<no>not be )?one of(?: the following)?:?\s+(?P<members>\S.*)")
_STATE = re.compile(r"^be (?P<word>\w+ed|\w+en|kept|shut|open|operational|closed|present|available|active|in place)\b")


def read_definition(text: str) -> tuple[str, str] | None:
    """The term and its meaning."""
    found = _DEFINITION.fullmatch(text)
    return None if found is None else (found["term"].strip(), found["text"].strip())


def read_frame(text: str) -> Frame:
    """Dates, place and exceptions of a sentence; what is left is its core."""
    frame = Frame(core=text)
    if exception := _EXCEPT.search(frame.core):
        said = _ASIDE.split(exception["rest"], maxsplit=1)[0].rstrip(" ,.;")
        frame = replace(frame, core=frame.core[: exception.start()], exceptions=(said,))
    for pattern, name in ((_FROM, "start"), (_UNTIL, "end")):
        found = pattern.search(frame.core)
        date = None if found is None else parse_date(found["date"])
        if found is not None and date is not None:
            core = f"{frame.core[: found.start()]}{frame.core[found.end() :]}".strip()
            frame = replace(frame, core=core[:1].upper() + core[1:])
            frame = replace(frame, start=date) if name == "start" else replace(frame, end=last_moment(date))
    where = _WHERE.match(frame.core)
    if where is not None:
        core = frame.core[where.end() :]
        frame = replace(frame, core=core[:1].upper() + core[1:], place=where["place"])
    return frame


def read_demands(core: str) -> tuple[Demand, ...]:
    """What a sentence demands; nothing where it only permits or tells. Several limits of one sentence are several."""
    modal = _MODAL.search(core)
    if modal is None or modal["modal"] == "may":
        return ()
    before, after = core[: modal.start()].strip(), core[modal.end() :].strip()
    word = modal["modal"]
    if word.endswith(("prohibited", "forbidden")):
        return (Demand(kind=ObligationType.MUST_NOT, metric=named_metric(before)[0], value=True, doubts=_NAMED),)
    is_negated = word.endswith(" not")
    found = _compared(before, after, is_negated=is_negated)
    if word.startswith("should"):
        # A recommendation of nothing that is measured is for a person too: `should` asks for a metric.
        return tuple(_recommended(one) for one in found) or (Demand(kind=ObligationType.DISCRETIONARY, doubts=_ADVICE),)
    return found or (_stated(before, after, is_negated=is_negated),)


_NAMED = ("the metric is named after the words of the sentence",)
_OUTSIDE = ("it forbids a range, which no type of obligation says",)
_TWICE = ("it says no twice: which way the limit goes is for a person",)
_NOT = re.compile(r"\b(?:not|never|no)\b")
_ADVICE = ("a recommendation, of nothing that can be compared",)
_INFORMAL = ("no number, set or state that can be compared was found",)


def _compared(before: str, after: str, *, is_negated: bool) -> tuple[Demand, ...]:
    """The first reading that fits: time, range, limit behind the verb, set, limit in front of it."""
    named = measured_metric(before, after)
    return (
        _timed(before, after)
        or _ranged(after, named, is_negated=is_negated)
        or _limited(after, named, is_negated=is_negated)
        or _listed(after, named, is_negated=is_negated)
        or _limited_in_front(before, named, is_negated=is_negated)
    )


def _timed(before: str, after: str) -> tuple[Demand, ...]:
    every = _EVERY.search(after)
    length = None if every is None else read_quantity(after, every.end())
    if every is None or length is None or length.unit not in _TIMES:
        return ()
    metric, doubts = timed_metric(before, after[: every.start()])
    kind = ObligationType.MUST_BE_RECORDED_WITHIN
    return (Demand(kind=kind, metric=metric, value=length.value, unit=length.unit, doubts=doubts),)


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
    for pattern, plain, negated in COMPARISONS:
        compared = pattern.search(after)
        if compared is None:
            continue
        is_told_again = _NOT.search(after[: compared.start()]) is not None
        if is_negated and is_told_again:
            return (Demand(kind=ObligationType.DISCRETIONARY, doubts=_TWICE),)
        kind = negated if is_negated or is_told_again else plain
        return _limits(after, compared.end(), kind, *named)
    return ()


def _limited_in_front(before: str, named: _Named, *, is_negated: bool) -> tuple[Demand, ...]:
    """`security of at least €5,000 must be provided`: the limit belongs to what the sentence is about."""
    for pattern, plain, _ in COMPARISONS:
        compared = pattern.search(before)
        if compared is not None and not is_negated:
            return _limits(before, compared.end(), plain, *named)
    return ()


def _listed(after: str, named: _Named, *, is_negated: bool) -> tuple[Demand, ...]:
    members = _ONE_OF.search(after)
    if members is None:
        return ()
    is_not = is_negated or bool(members["no"])
    kind = ObligationType.MUST_NOT_BE_ONE_OF if is_not else ObligationType.MUST_BE_ONE_OF
    return (Demand(kind=kind, metric=named[0], value=_members(members["members"]), doubts=named[1]),)


def _limits(
    text: str, start: int, kind: ObligationType, metric: str | None, doubts: tuple[str, ...]
) -> tuple[Demand, ...]:
    """`35 mg/m3 for sulphur dioxide and 150 mg/m3 for nitrogen oxides` are two limits of two metrics."""
    found: list[Demand] = []
    while (quantity := read_quantity(text, start)) is not None:
        for_what = re.compile(r" for (?P<what>[a-z][\w -]*?)(?= and |,|;|$)").match(text, quantity.end)
        name = metric if for_what is None else slug(for_what["what"])
        found.append(_limit(kind, name, quantity, doubts))
        if for_what is None:
            break
        start = for_what.end()
        if not text[start:].lstrip().startswith(("and ", ",")):
            break
    return tuple(found)


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


def _stated(before: str, after: str, *, is_negated: bool) -> Demand:
    """`guards shall be fitted` is a state of a thing; anything else is for a person."""
    state = _STATE.match(after)
    thing, _ = named_metric(before)
    if state is None or thing is None or thing.rpartition("_")[2] in ACTORS:
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
