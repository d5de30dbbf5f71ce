"""One sentence of a regulation as what it demands; by rules alone, with its doubts.

core of a sentence -> verb of duty -> time | range | limits | set | state -> Demand
A demand that fits no pattern becomes `must` of a metric named after its words, or `discretionary` where its words ask
for judgement ("adequate", "reasonable"): a person decides, and nothing is lost.
"""

import re
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from assay.verdicts.graph.extract_compare import Comparison, comparisons_of, find_range
from assay.verdicts.graph.extract_metric import (
    ACTORS,
    acted_metric,
    counted_metric,
    is_actor,
    measured_metric,
    named_metric,
    timed_metric,
)
from assay.verdicts.graph.extract_modal import LONGEST, Statement, statements_of
from assay.verdicts.graph.extract_terms import NUMBER, Quantity, read_quantity, slug
from assay.verdicts.graph.extract_time import find_deadline, find_frequency, find_retention
from assay.verdicts.graph.obligation_type import ObligationType

Scalar = Decimal | str | bool
# The name of a metric, and what is doubtful about it.
_Named = tuple[str | None, tuple[str, ...]]


class Demand(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one sentence asks of one metric; `doubts` say what a person should check first."""

    kind: ObligationType
    metric: str | None = None
    value: Scalar | tuple[Scalar, ...] | None = None
    unit: str | None = None
    doubts: tuple[str, ...] = ()


_MOST_ONLY = 10
# A negation belongs to a limit when it stands within so many words before it.
_NEAR = 5
_NAMED = ("the metric is named after the words of the sentence",)
_TOO_LONG = ("the sentence is too long to be read by rules",)
_OUTSIDE = ("it forbids a range, which no type of obligation says",)
_EXACTLY = ("an exact value: check whether a limit or a tolerance was meant",)
_TWICE = ("it says no twice: which way the limit goes is for a person",)
_NEVER = ("it forbids something within a time, which no type of obligation says",)
_IN_FRONT = ("the limit stands in front of the verb: it may only say what the sentence is about",)
_ADVICE = ("a recommendation, of nothing that can be compared",)
_VAGUE_WORDS = ("its words ask for judgement",)
_ELAPSED = ("a deadline was read as the time that passed until the act",)
_ONE_PROPERTY = ("what has the property is forbidden: it was read as a limit of the property",)
_NOT = re.compile(
    r"\b(?:not|never|no|nor|prevent(?:s|ed|ing)?|avoid(?:s|ed|ing)?|prohibit(?:s|ed|ing)?|refrain(?:s|ed|ing)?"
    r"|stop(?:s|ped|ping)?)\b",
)
# What follows these says when or for whom, not how much.
_CONDITION = re.compile(
    r"\b(?:when|whenever|if|where|once|while|after|before|until|as soon as|in case|for|which|that|who|whose"
    r"|with regard to)\b"
)
_HARD_CONDITION = re.compile(
    r"\b(?:when|whenever|if|where|once|while|until|as soon as|in case|which|whose|exposed (?:to|at))\b"
)
_NO_OBJECT = re.compile(
    r"\s*(?:of|after|from|following|before|prior|and|to|or|but|unless|by|in|at|if|when|where)\b|\s*[,;(]"
)
_IF_PASSED = re.compile(r"\bif (?P<thing>[^,;]*?)(?: will| would| is| are| has| have)?\s*$", re.IGNORECASE)
_VALUE_OF_WHICH = re.compile(
    r"^(?:incur|have|hold|make|take|carry|cause|acquire) (?:an?|any|the) (?P<thing>[^,]*?),? the \w+ of which\s*$"
)
_CONTAINED = re.compile(
    r"\b(?P<carrier>(?:[a-z]+ ){0,2}[a-z]+) (?:that|which):?"
    r"(?: (?:contain|exhibit|exceed|have|has|show)s?\b ?(?P<thing>[\w -]*?))?\s*$",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"\b(?:reasonabl[ey]|appropriate(?:ly)?|adequate(?:ly)?|suitabl[ey]|sufficient(?:ly)?|practicable|due (?:care"
    r"|regard"
    r"|diligence|consideration)|tak(?:e|en) into (?:account|consideration)|have regard|best (?:efforts"
    r"|endeavours)|respect(?:ful(?:ly)?)?"
    r"|fair(?:ly)?|properly|as necessary|proportionate|satisfactory|undue|in good faith|with care|carefully"
    r"|promptly|rapidly|periodically|efforts"
    r"|good (?:practice|order|condition)|regularly|from time to time|concise|minimi[sz]e[ds]?|as far as|endeavour"
    r"|strive)\b",
    re.IGNORECASE,
)
_ONE_OF = re.compile(
    r"\b(?:be |use |be made of |come from )?(?P<no>not be )?(?:one of|any of"
    r"|either)(?: the following(?: [a-z]+)?)?:?\s+(?P<members>\S.*)"
)
_FOR_WHAT = re.compile(r" (?:for|of) (?P<what>[a-z][\w -]*?)(?= and |,|;|\.|$)")
_FOR_TARGET = re.compile(r" for (?P<what>[a-z][\w -]*?)(?= and |,|;|\.|$)")
_AND_NUMBER = re.compile(rf"(?: and|,(?: and)?) (?={NUMBER})")
_LISTED_NUMBERS = re.compile(
    r"^(?:at|in|to|from|on|by|via"
    r"|through) (?P<thing>[a-z]+s) (?P<members>[A-Z0-9][\w-]*(?:, [A-Z0-9][\w-]*)*,? (?:and|or) [A-Z0-9][\w-]*)$"
)
_GIVEN = re.compile(
    r"^be (?:provided|paid|held|maintained|kept|deposited|available|on duty|present|used|carried|in place|taken|left"
    r"|installed|fitted|observed|made)\b"
)
_WITH_LIMIT = re.compile(r"\b(?:with|having|whose|of) (?:a|an|the)? ?(?P<thing>[a-z][a-z -]{2,40}?) (?:of |is |are )?$")
_EXACT = re.compile(rf"^(?:be|be set (?:at|to)|be equal to|equal|be exactly|be fixed at)\s+(?={NUMBER})")
_LIMIT_TO = re.compile(rf"^(?:limit|restrict|control|confine|reduce)s? (?P<thing>\S.*?) to (?={NUMBER})")
_STARTS_COUNT = re.compile(rf"^(?:a total of )?(?={NUMBER}\s+[a-z])", re.IGNORECASE)
_ADJECTIVE = {
    "old": "age", "older": "age", "younger": "age", "fast": "speed", "faster": "speed", "hotter": "temperature",
    "warmer": "temperature", "colder": "temperature", "heavier": "weight", "wider": "width", "deeper": "depth",
    "taller": "height", "thicker": "thickness", "narrower": "width",
}  # fmt: skip
_MEASURED_BY = {
    "higher": "height", "wider": "width", "deeper": "depth", "longer": "length", "heavier": "weight", "older": "age",
    "taller": "height", "thicker": "thickness", "shorter": "length", "narrower": "width", "younger": "age",
}  # fmt: skip
_HELD_THING = re.compile(
    r"^(?:hold|have|possess|carry|produce|use|wear|show|display) (?:a|an|the|any) (?P<thing>[a-z][a-z -]{2,40}?) $"
)
_OTHER_THING = re.compile(
    r"^,? (?:and|but|while) (?P<thing>(?!not |to |for |of |in )[a-z][a-z-]*(?: [a-z][a-z-]*){0,2}) $"
)
_EMPTY_NAMES = frozenset({"given", "provided", "granted", "allowed", "have", "receive", "take", "be"})
_HOLDS = re.compile(r"^(?:contain|include|hold|carry)\b")
_HELD_OF = re.compile(r" of (?P<what>[a-z][a-z -]{2,40}?)(?= by | in | at | per |,|;|\.|$)")
_IN_WHAT = re.compile(r" in (?P<what>height|length|width|depth|diameter|weight|volume|duration)\b")
_KEPT = re.compile(
    r"\b(?:stor|kept|keep|held|hold|maintain|serv|transport|deliver|arriv|cool|heat|cook|chill|remain|stay|reach"
    r"|fr(?:ee|o)z)"
)
_QUANTITIES = {"°C": "temperature", "°F": "temperature"}


def read_demands(core: str) -> tuple[Demand, ...]:
    """What a sentence demands; nothing where it only permits or tells. Several limits of one sentence are several."""
    if len(core) > LONGEST:
        is_demand = any(word in core for word in ("must", "shall", "should", "prohibited"))
        return (Demand(kind=ObligationType.DISCRETIONARY, doubts=_TOO_LONG),) if is_demand else ()
    found: list[Demand] = []
    for statement in statements_of(core):
        found += _demanded(statement)
    return _merged(found)


def _demanded(statement: Statement) -> tuple[Demand, ...]:
    if statement.is_twice_negated:
        return (Demand(kind=ObligationType.DISCRETIONARY, doubts=_TWICE),)
    found = _compared(statement)
    if statement.is_advice:
        return tuple(map(_recommended, found)) or (_advised(statement),)
    return tuple(replace(one, doubts=(*one.doubts, *statement.doubts)) for one in found or (_stated(statement),))


def _compared(statement: Statement) -> tuple[Demand, ...]:
    """The first reading that fits."""
    if statement.is_forbidden:
        return _forbidden_above(statement)
    return (
        _counted_in_front(statement)
        or _timed(statement)
        or _ranged(statement)
        or _limited(statement)
        or _listed(statement)
        or _limited_in_front(statement)
        or _held_to(statement)
        or _exact(statement)
    )


def _forbidden_above(statement: Statement) -> tuple[Demand, ...]:
    """`Vegetation higher than 1.1 metres is not permitted`: its height is limited."""
    found = comparisons_of(statement.before)
    if len(found) != 1 or not found[0].start or found[0].is_firm or found[0].end < len(statement.before.rstrip()):
        return ()
    limit = found[0]
    words = statement.before[limit.start :].split()
    measured = next((_MEASURED_BY[word] for word in words if word in _MEASURED_BY), None)
    thing = named_metric(statement.before[: limit.start])[0]
    if measured is None or thing is None:
        return ()
    return (_limit(limit.negated, f"{thing}_{measured}", limit.quantity, _ONE_PROPERTY),)


def _counted_in_front(statement: Statement) -> tuple[Demand, ...]:
    """`At least two lifeguards shall be on duty`, `Two samples are required`."""
    before = statement.before
    found = [one for one in comparisons_of(before) if one.start == 0 and one.is_firm]
    if found:
        kind = found[0].negated if statement.is_negated else found[0].plain
        return (_counted(statement, kind, found[0].quantity),)
    count = _STARTS_COUNT.match(before)
    quantity = None if count is None or not statement.is_existence else read_quantity(before, count.end())
    if quantity is None:
        return ()
    return (_counted(statement, ObligationType.MUST_BE_AT_LEAST, quantity),)


def _counted(statement: Statement, kind: ObligationType, quantity: Quantity) -> Demand:
    thing = statement.before[quantity.end :].strip()
    metric = "_".join(filter(None, (slug(thing), slug(re.sub(r"^be ", "", statement.after), most=4))))
    return Demand(kind=kind, metric=metric or None, value=quantity.value, unit=quantity.unit, doubts=_NAMED)


def _timed(statement: Statement) -> tuple[Demand, ...]:
    """How long it is kept, how soon it is done, how often."""
    before, after = statement.before, statement.after
    kept = find_retention(after, is_negated=statement.is_negated)
    if kept is not None:
        metric, doubts = acted_metric(before, after[: kept.start] + after[kept.start :].split(" for ", 1)[0])
        return (Demand(kind=kept.kind, metric=metric, value=kept.value, unit=kept.unit, doubts=doubts),)
    often, soon = find_frequency(after), find_deadline(after)
    limits = comparisons_of(after)
    first = min((one.start for one in (often, soon) if one is not None), default=None)
    if first is None or (limits and limits[0].end <= first and not statement.is_negated):
        is_unlimited = first is None and not limits and not statement.is_negated
        return _often_listed(before, after) if is_unlimited else ()
    if soon is not None and soon.start == first:
        if statement.is_negated:
            return (Demand(kind=ObligationType.DISCRETIONARY, doubts=_NEVER),) if soon.suffix == "delay" else ()
        act, rest = after[: soon.start].strip(" ,"), after[soon.end :]
        if soon.is_notice:
            act = f"give{rest}"
        elif rest.strip() and _NO_OBJECT.match(rest) is None:
            act = f"{act}{rest}"
        metric, doubts = acted_metric(before, act)
        name = f"{metric}_{soon.suffix}" if metric else None
        return (Demand(kind=soon.kind, metric=name, value=soon.value, unit=soon.unit, doubts=(*doubts, *_ELAPSED)),)
    if often is None or statement.is_negated:
        return ()
    metric, doubts = timed_metric(before, after[: often.start].strip(" ,"))
    kind = ObligationType.MUST_BE_RECORDED_WITHIN
    return (Demand(kind=kind, metric=metric, value=often.value, unit=often.unit, doubts=(*doubts, *often.doubts)),)


def _often_listed(before: str, after: str) -> tuple[Demand, ...]:
    """An item of a list that says itself how often: `the following are carried out: an inspection every 7 days`."""
    often = find_frequency(before)
    if often is None or before[often.end :].strip(" ,;."):
        return ()
    metric, doubts = timed_metric(before[: often.start].strip(" ,"), after)
    kind = ObligationType.MUST_BE_RECORDED_WITHIN
    return (Demand(kind=kind, metric=metric, value=often.value, unit=often.unit, doubts=(*doubts, *often.doubts)),)


def _ranged(statement: Statement) -> tuple[Demand, ...]:
    after = statement.after
    found = find_range(after)
    if found is None or _HARD_CONDITION.search(after[: found.start]):
        return ()
    limits = comparisons_of(after)
    if limits and limits[0].start < found.start:
        # `45 dB(A) between 22 and 7 h`: the range says when.
        return ()
    if statement.is_negated:
        # No type of SKI 3.3 says "outside of a range".
        return (Demand(kind=ObligationType.DISCRETIONARY, doubts=_OUTSIDE),)
    name, doubts = _with_quantity(measured_metric(statement.before, after), found.unit, after[: found.start])
    value: tuple[Scalar, ...] = (found.low, found.high)
    ranged = Demand(kind=ObligationType.MUST_BE_WITHIN, metric=name, value=value, unit=found.unit, doubts=doubts)
    lasting = [one for one in limits if one.is_firm and after[found.end : one.start].strip() == "for"]
    if name is None or not lasting:
        return (ranged,)
    # `at 1500 to 2500 g for at least 10 minutes`: how much, and how long.
    return ranged, _limit(lasting[0].plain, f"{name}_time", lasting[0].quantity, _NAMED)


def _limited(statement: Statement) -> tuple[Demand, ...]:
    """Every limit of a sentence, on the side that the words before it say; `at least 5 and at most 9` is two."""
    after = statement.after
    named = measured_metric(statement.before, after)
    found: list[Demand] = []
    start = 0
    for limit in comparisons_of(after):
        between = after[start : limit.start]
        hard = _HARD_CONDITION if limit.is_firm else _CONDITION
        contained = _CONTAINED.search(between) if statement.is_negated else None
        is_valued = statement.is_negated and _VALUE_OF_WHICH.match(between) is not None
        passed = _IF_PASSED.search(between) if statement.is_negated and not found else None
        if passed is not None:
            # `No one may be scheduled if the flight time will exceed 13 hours`.
            named, is_valued = (named_metric(passed["thing"])[0], _ONE_PROPERTY), True
        is_aside = not (limit.is_firm or statement.is_negated) and re.search(r"\bto [a-z]+ .*\bfrom\b", between)
        if is_aside:
            break
        if hard.search(between) and contained is None and not is_valued:
            break
        valued = _VALUE_OF_WHICH.match(between) if statement.is_negated else None
        if valued is not None:
            named = (slug(valued["thing"], most=4) or named[0], named[1])
        if contained is not None:
            # `No operator shall discharge gases that contain dust in excess of 5 mg/m3`.
            thing = contained["thing"] or counted_metric(after, limit.quantity.end) or ""
            named = (slug(f"{contained['carrier']} {thing}") or named[0], named[1])
        other = _OTHER_THING.match(between) if found else None
        if other is not None and named_metric(other["thing"])[0]:
            # `Hot food shall be held at or above 63 °C and cold food at or below 8 °C`: two things.
            named = (named_metric(other["thing"])[0], _NAMED)
        is_aged = re.match(r"\s*old\b", after[limit.end :]) is not None
        thing = _HELD_THING.match(between) if not found and is_aged else None
        if thing is not None:
            # `must hold a certificate not more than three years old`: the certificate is measured.
            named = (slug(thing["thing"]), named[1])
        is_told_again = _NOT.search(" ".join(between.split()[-_NEAR:])) is not None
        if statement.is_negated and is_told_again:
            return (Demand(kind=ObligationType.DISCRETIONARY, doubts=_TWICE),)
        kind = limit.negated if statement.is_negated or is_told_again else limit.plain
        limits, start = _limits(after, limit, kind, named)
        found += limits
    return tuple(found)


def _limits(text: str, limit: Comparison, kind: ObligationType, named: _Named) -> tuple[tuple[Demand, ...], int]:
    """`35 mg/m3 for sulphur dioxide and 150 mg/m3 for nitrogen oxides` are two limits of two metrics; and the end."""
    found: list[Demand] = []
    quantity, end = limit.quantity, limit.end
    while True:
        for_what = _FOR_TARGET.match(text, quantity.end)
        name: _Named = (_bound_name(limit, named) or _name(text, quantity, named, for_what), named[1])
        name = _with_quantity(name, quantity.unit, text[: limit.start])
        found.append(_limit(kind, name[0], quantity, name[1]))
        end = max(end, quantity.end if for_what is None else for_what.end())
        following = None if for_what is None else _AND_NUMBER.match(text, end)
        after = None if following is None else read_quantity(text, following.end())
        if after is None or comparisons_of(text[end : after.end]):
            return tuple(found), end
        quantity = after


def _bound_name(limit: Comparison, named: _Named) -> str | None:
    """`a minimum daily rest period of 11 hours` is about the rest period; `a minimum period of` is not."""
    noun = slug(limit.noun)
    if not noun or noun in {"period", "of", "value", "level", "average", "total", "mean"} or noun.endswith("average"):
        return None
    return noun if named[0] is None or named[0] in ACTORS or noun in named[0] else f"{named[0]}_{noun}"


def _name(text: str, quantity: Quantity, named: _Named, for_what: re.Match[str] | None) -> str | None:
    if for_what is not None:
        what = slug(for_what["what"])
        subject = named[0] or ""
        is_plain = subject in {"", "emissions", "waste_gas", "limits", "levels"} or subject.count("_") >= 2  # noqa: PLR2004  a long name says enough
        return what if is_plain or set(what.split("_")) <= set(subject.split("_")) else f"{subject}_{what}"
    counted = counted_metric(text, quantity.end) if quantity.unit is None else None
    if counted is not None:
        # A single word is completed by what the sentence is about.
        return counted if "_" in counted or not named[0] or counted in named[0] else f"{named[0]}_{counted}"
    behind = _words_behind(text, quantity, named[0])
    return named[0] if behind is None else f"{named[0]}_{behind}"


def _words_behind(text: str, quantity: Quantity, name: str | None) -> str | None:
    """Words behind a number that say what it measures: `of suspended solids`, `in height`, `old`."""
    if name is None:
        return None
    rest = text[quantity.end :]
    held = _HELD_OF.match(rest) if _HOLDS.match(text) else _IN_WHAT.match(rest)
    if held is not None:
        return slug(held["what"])
    if name in _EMPTY_NAMES:
        following = re.match(r"\s*(?P<words>[a-z]+(?: [a-z]+){0,3})", rest)
        return None if following is None else slug(following["words"])
    # The nearest word counts: `wider than 3.5 metres or deeper than 2 metres` measures twice.
    words = [*re.findall(r"^\s+([a-z]+)", rest), *reversed(re.findall(r"[a-z]+", text[: quantity.end]))]
    return next((_ADJECTIVE[word] for word in words if word in _ADJECTIVE and _ADJECTIVE[word] not in name), None)


def _with_quantity(named: _Named, unit: str | None, act: str) -> _Named:
    """A thing that is stored at 2 to 8 °C is measured by its temperature."""
    quantity = _QUANTITIES.get(unit or "")
    if quantity is None or named[0] is None or quantity in named[0] or _KEPT.search(act) is None:
        return named
    return f"{named[0]}_{quantity}", named[1]


def _limited_in_front(statement: Statement) -> tuple[Demand, ...]:
    """`security of at least €5,000 must be provided`; `vessels with a draught exceeding 9 m shall not enter`."""
    before = statement.before
    found = comparisons_of(before)
    if len(found) != 1:
        return ()
    limit = found[0]
    thing = _WITH_LIMIT.search(before[: limit.start])
    if statement.is_negated or statement.is_only:
        kind = limit.negated if statement.is_negated else limit.plain
        if thing is None or "that" in before or "which" in before:
            return ()
        metric = "_".join(filter(None, (named_metric(before[: thing.start()])[0], slug(thing["thing"]))))
        return (_limit(kind, metric, limit.quantity, _ONE_PROPERTY),)
    if _GIVEN.match(statement.after) is None or not limit.is_firm:
        return ()
    return (_limit(limit.plain, named_metric(before)[0], limit.quantity, _IN_FRONT),)


def _listed(statement: Statement) -> tuple[Demand, ...]:
    members = _ONE_OF.search(statement.after)
    numbered = _LISTED_NUMBERS.match(statement.after) if statement.is_only else None
    if members is None and numbered is None:
        return ()
    if numbered is not None:
        name = "_".join(filter(None, (named_metric(statement.before)[0], slug(numbered["thing"]))))
        kind = ObligationType.MUST_BE_ONE_OF
        return (Demand(kind=kind, metric=name, value=_members(numbered["members"]), doubts=_NAMED),)
    if members is None or len(_members(members["members"])) < 2:  # noqa: PLR2004  one member is no set
        return ()
    is_not = statement.is_negated or bool(members["no"])
    kind = ObligationType.MUST_NOT_BE_ONE_OF if is_not else ObligationType.MUST_BE_ONE_OF
    named = measured_metric(statement.before, statement.after)
    return (Demand(kind=kind, metric=named[0], value=_members(members["members"]), doubts=named[1]),)


def _exact(statement: Statement) -> tuple[Demand, ...]:
    """`shall be set at 5 bar`: an exact value, which is rarely meant."""
    found = _EXACT.match(statement.after)
    quantity = None if found is None or statement.is_negated else read_quantity(statement.after, found.end())
    if quantity is None or quantity.unit is None:
        return ()
    named = named_metric(statement.before, is_state=True)
    bound = re.match(r"(?:the |a |an )?(?P<side>minimum|maximum)\b", statement.before, re.IGNORECASE)
    if bound is not None:
        is_low = bound["side"].lower() == "minimum"
        kind = ObligationType.MUST_BE_AT_LEAST if is_low else ObligationType.MUST_NOT_EXCEED
        return (_limit(kind, named[0], quantity, named[1]),)
    return (_limit(ObligationType.MUST_EQUAL, named[0], quantity, (*named[1], *_EXACTLY)),)


def _held_to(statement: Statement) -> tuple[Demand, ...]:
    """`shall limit the intake to 10 mg in a week`."""
    found = _LIMIT_TO.match(statement.after)
    quantity = None if found is None or statement.is_negated else read_quantity(statement.after, found.end())
    if found is None or quantity is None or quantity.unit is None:
        return ()
    named = named_metric(found["thing"])
    return (_limit(ObligationType.MUST_NOT_EXCEED, named[0], quantity, named[1]),)


def _limit(kind: ObligationType, metric: str | None, quantity: Quantity, doubts: tuple[str, ...]) -> Demand:
    told = list(doubts)
    if quantity.is_doubtful:
        told.append("the comma in the number was read as a decimal point")
    if quantity.unit is None:
        told.append("no unit that is known follows the number")
    return Demand(kind=kind, metric=metric, value=quantity.value, unit=quantity.unit, doubts=tuple(told))


def _members(text: str) -> tuple[Scalar, ...]:
    parts = re.split(r",\s*(?:and |or )?|\s+(?:and|or)\s+", text.rstrip(" ."))
    return tuple(part.strip("“”\"'‘’ ") for part in parts if part.strip())


def _stated(statement: Statement) -> Demand:
    """A duty without a number: a state of a thing, or an act; what asks for judgement is for a person."""
    if _VAGUE.search(statement.after) or _VAGUE.match(statement.before):
        return Demand(kind=ObligationType.DISCRETIONARY, doubts=_VAGUE_WORDS)
    is_negated = statement.is_negated or statement.is_forbidden
    metric = _stated_metric(statement)
    if metric is None:
        return Demand(kind=ObligationType.DISCRETIONARY, doubts=_VAGUE_WORDS)
    kind = ObligationType.MUST_NOT if is_negated else ObligationType.MUST
    return Demand(kind=kind, metric=metric, value=True, doubts=_NAMED)


def _stated_metric(statement: Statement) -> str | None:
    if statement.metric is not None:
        return statement.metric
    if statement.is_forbidden:
        return _forbidden_metric(statement)
    if statement.is_existence:
        return acted_metric(statement.before, f"{statement.after} provided".strip())[0]
    before, limits = statement.before, comparisons_of(statement.before)
    if statement.is_only and statement.after:
        # The restriction is the point: no word of it is left out.
        return slug(f"{'' if is_actor(before) else before} {statement.after}", most=_MOST_ONLY) or None
    if limits:
        before = before[: limits[0].start]
    return acted_metric(before, statement.after)[0]


def _forbidden_metric(statement: Statement) -> str | None:
    """`the disposal of ash is prohibited`, `it is forbidden to smoke`."""
    if re.fullmatch(r"(?:It|it|there|There)?", statement.before.strip()):
        return acted_metric("", re.sub(r"^(?:for .*? )?to ", "", statement.after))[0]
    return named_metric(statement.before, is_state=True)[0]


def _recommended(demand: Demand) -> Demand:
    """A recommendation has no operand to compare by: its metric says whether the limit was passed."""
    if demand.metric is None or demand.kind is ObligationType.DISCRETIONARY:
        return replace(demand, kind=ObligationType.DISCRETIONARY, metric=None, value=None, unit=None, doubts=_ADVICE)
    unit = "" if demand.unit is None else f"_{slug(demand.unit)}"
    doubts = (*demand.doubts, *_NAMED)
    if isinstance(demand.value, tuple):
        metric = f"{demand.metric}_outside_{'_'.join(slug(str(one)) for one in demand.value)}{unit}"
        return Demand(kind=ObligationType.SHOULD, metric=metric, value=False, doubts=doubts)
    number = slug(str(demand.value))
    if demand.kind is ObligationType.MUST_BE_RECORDED_WITHIN:
        metric = f"{demand.metric}_within_{number}{unit}"
        return Demand(kind=ObligationType.SHOULD, metric=metric, value=True, doubts=doubts)
    side = "below" if demand.kind in (ObligationType.MUST_BE_AT_LEAST, ObligationType.MUST_BE_ABOVE) else "above"
    metric = f"{demand.metric}_{side}_{number}{unit}"
    return Demand(kind=ObligationType.SHOULD, metric=metric, value=False, doubts=doubts)


def _advised(statement: Statement) -> Demand:
    is_measurable = not _VAGUE.search(statement.after) and (
        is_actor(statement.before) or re.match(r"^(?:be \w+(?:ed|en|t)\b|(?!be\b)[a-z]+ )", statement.after) is not None
    )
    metric = acted_metric(statement.before, statement.after)[0] if is_measurable else None
    if metric is None:
        return Demand(kind=ObligationType.DISCRETIONARY, doubts=_ADVICE)
    return Demand(kind=ObligationType.SHOULD, metric=metric, value=not statement.is_negated, doubts=_NAMED)


def _merged(demands: list[Demand]) -> tuple[Demand, ...]:
    """A lower and an upper limit of one metric are one range."""
    if len(demands) != 2:  # noqa: PLR2004  a range has two ends
        return tuple(demands)
    low, high = sorted(demands, key=lambda one: one.kind is ObligationType.MUST_NOT_EXCEED)
    is_pair = (low.kind, high.kind) == (ObligationType.MUST_BE_AT_LEAST, ObligationType.MUST_NOT_EXCEED)
    units = {one.unit for one in demands if one.unit is not None}
    if not is_pair or low.metric != high.metric or len(units) > 1:
        return tuple(demands)
    if not isinstance(low.value, Decimal) or not isinstance(high.value, Decimal) or low.value > high.value:
        return tuple(demands)
    doubts = tuple(dict.fromkeys(one for one in (*low.doubts, *high.doubts) if "no unit" not in one or not units))
    unit = next(iter(units), None)
    kind = ObligationType.MUST_BE_WITHIN
    return (Demand(kind=kind, metric=low.metric, value=(low.value, high.value), unit=unit, doubts=doubts),)
