"""A second verifier and governor, written from the text of SKI 3.3 to 5.4 and the rulings, with none of our code.

short rule + record + reply -> what each obligation comes to -> verdict, status, and what the governor makes of it
It reads the short form of `tests/vectors/verdicts/rulings`: obligations with a type, a metric, an operand, perhaps a
unit, scopes and exemptions `(metric, operator, value)` or a sentence. It looks at one record alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

# What the graph declares where it declares units.
UNITS = {("lb", "kg"): Fraction("0.45359237"), ("kg", "lb"): 1 / Fraction("0.45359237")}
PLACES: dict[str, str | None] = {"eu": None, "de": "eu", "by": "de", "us": None}
HUMAN = ("discretionary", "must_levitate")
_LIMITS = {
    "must_not_exceed": lambda seen, limit: seen <= limit,
    "must_be_at_least": lambda seen, limit: seen >= limit,
    "must_be_below": lambda seen, limit: seen < limit,
    "must_be_above": lambda seen, limit: seen > limit,
}
_UNMET = ("breached", "stale", "unfollowed", "exempt")


@dataclass
class Opinion:
    """What one obligation comes to: its truth alone, and with exemptions."""

    truth: bool | None
    outcome: str


@dataclass
class Answer:
    """The whole opinion about one rule and one reply."""

    expected: str
    status: str
    governed: str | None
    attested: str | None
    has_breach: bool
    applied: list[str] = field(default_factory=list)


def is_number(value: object) -> bool:
    return isinstance(value, int | float | Fraction) and not isinstance(value, bool)


def same(one: object, other: object) -> bool:
    """JSON equality: true is not 1."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(*pair) for pair in zip(one, other, strict=True))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def holds(kind: str, value: Any, seen: Any) -> bool | None:  # noqa: ANN401  JSON values
    """Whether a value that is there satisfies a predicate; None where the two cannot be compared."""
    if kind in _LIMITS:
        return _LIMITS[kind](seen, value) if is_number(seen) and is_number(value) else None
    if kind == "must_be_within":
        return value[0] <= seen <= value[1] if is_number(seen) else None
    if kind in ("must_be_one_of", "must_not_be_one_of"):
        if not any(type_of(part) == type_of(seen) for part in value):
            return None
        return any(same(part, seen) for part in value) is (kind == "must_be_one_of")
    if kind in ("must", "should", "must_not"):
        if type_of(value) != type_of(seen):
            return None
        return same(value, seen) is (kind != "must_not")
    raise AssertionError(kind)


def type_of(value: object) -> str:
    return "number" if is_number(value) else type(value).__name__


def reading(measurement: Mapping[str, Any], metric: str) -> tuple[Any, str | None]:
    found = measurement.get(metric)
    return (found["value"], found.get("unit")) if isinstance(found, dict) else (found, None)


def observed(one: Mapping[str, Any], measurement: Mapping[str, Any]) -> Any:  # noqa: ANN401  a JSON value
    """What an assertion must say was observed: nothing where it is missing or not to be compared."""
    if one["type"] == "must_be_recorded_within":
        return None
    value, unit = reading(measurement, one["metric"])
    exact = converted(one, measurement)
    if exact is not None:
        rounded = Context(prec=15).divide(Decimal(exact.numerator), Decimal(exact.denominator))
        return int(rounded) if rounded == int(rounded) else float(rounded)
    is_foreign = unit is not None and "unit" in one and unit != one["unit"]
    return None if is_foreign or holds(one["type"], one["value"], value) is None else value


def converted(one: Mapping[str, Any], measurement: Mapping[str, Any]) -> Fraction | None:
    """A number in another unit, exactly in the obligation's own, where the graph declares how."""
    value, unit = reading(measurement, one["metric"])
    factor = UNITS.get((unit or "", one.get("unit", ""))) if one.get("converts") else None
    return None if factor is None or not is_number(value) else Fraction(str(value)) * factor


def truth_of(one: Mapping[str, Any], measurement: Mapping[str, Any]) -> bool | None:
    exact = converted(one, measurement)
    if exact is not None:
        return holds(one["type"], Fraction(str(one["value"])), exact)
    seen = observed(one, measurement)
    return None if seen is None else holds(one["type"], one["value"], seen)


def opinion(one: Mapping[str, Any], measurement: Mapping[str, Any]) -> Opinion:
    """SKI 3.3 for one obligation and one record with nothing before it."""
    if one["type"] in HUMAN:
        return Opinion(None, "undetermined")
    if one["type"] == "must_be_recorded_within":
        truth: bool | None = False  # nothing is evidence of its own freshness
    else:
        truth = truth_of(one, measurement)
    if truth:
        return Opinion(True, "satisfied")
    unmet = {"should": "unfollowed", "must_be_recorded_within": "stale"}.get(one["type"], "breached")
    answers = [exempts(condition, measurement) for condition in one.get("exemptions", ())]
    if True in answers:
        return Opinion(truth, "exempt")
    if None in answers or truth is None:
        return Opinion(truth, "undetermined")
    return Opinion(truth, unmet)


def exempts(condition: str, measurement: Mapping[str, Any]) -> bool | None:
    """A formal condition is `metric == value`; one that is a sentence is a person's."""
    parts = condition.split(" == ")
    if len(parts) == 1:
        return None
    value, _ = reading(measurement, parts[0])
    wanted = {"true": True, "false": False}[parts[1]]
    if value is None:
        return False
    return same(value, wanted) if isinstance(value, bool) else None


def applying(
    obligations: Sequence[Mapping[str, Any]], jurisdiction: str | None
) -> tuple[list[Mapping[str, Any]], bool]:
    """SKI 3.4 and ruling 13: what applies, and whether scoped obligations are left out for want of a place."""
    place = (jurisdiction or "").casefold() or None
    chain = []
    while place is not None and place in PLACES:
        chain.append(place)
        place = PLACES[place]
    applied = [one for one in obligations if not one.get("scope") or set(one["scope"]) & set(chain)]
    return applied, not chain and any(one.get("scope") for one in obligations)


def verdict_of(kinds: Sequence[str], outcomes: Sequence[str], *, is_doubtful: bool) -> str:
    """Ruling 13a within a rule, and ruling 13 for a jurisdiction in doubt."""
    if any(kind in HUMAN for kind in kinds):
        return "DISCRETIONARY"
    if "breached" in outcomes:
        return "FLAG"
    if is_doubtful:
        return "DISCRETIONARY"
    if "stale" in outcomes:
        return "NULL_STALE"
    return "DISCRETIONARY" if {"undetermined", "unfollowed"} & set(outcomes) else "CLEAR"


def choices_of(kinds: Sequence[str], *, is_doubtful: bool) -> set[str]:
    """The verdicts that a grammar leaves open: what types fix cannot be written otherwise."""
    if any(kind in HUMAN for kind in kinds):
        return {"DISCRETIONARY"}
    open_to = {"DISCRETIONARY"} if kinds or is_doubtful else set()
    if any(kind not in ("should", "must_be_recorded_within") for kind in kinds):
        open_to.add("FLAG")
    if not is_doubtful:
        open_to.add("CLEAR")
        if "must_be_recorded_within" in kinds:
            open_to.add("NULL_STALE")
    return open_to


def judge(
    obligations: Sequence[Mapping[str, Any]],
    tier: str,
    measurement: Mapping[str, Any],
    jurisdiction: str | None,
    reply: Mapping[str, Any],
    versions: Mapping[str, str],
) -> Answer:
    """The whole of SKI 5.3 and 5.4 for one rule."""
    applied, is_doubtful = applying(obligations, jurisdiction)
    kinds = [one["type"] for one in applied]
    opinions = {one["id"]: opinion(one, measurement) for one in applied}
    outcomes = [one.outcome for one in opinions.values()]
    expected = verdict_of(kinds, outcomes, is_doubtful=is_doubtful)
    is_readable = reply["verdict"] in choices_of(kinds, is_doubtful=is_doubtful)
    said: Mapping[str, Any] = (
        reply if is_readable else {"verdict": "DISCRETIONARY", "formalizable_assertions": [], "kg_citations": []}
    )
    wrong = _wrongs(applied, opinions, measurement, said, versions)
    if is_readable and said["verdict"] != expected:
        wrong.add("divergence")
    if "contradiction" in wrong:
        status = "LLM_CONTRADICTION"
    elif wrong:
        status = "NEURO_SYMBOLIC_DIVERGENCE"
    elif is_readable and _is_settled(applied, opinions, said, is_doubtful=is_doubtful):
        status = "AGREED"
    else:
        status = "UNVERIFIABLE"
    return Answer(
        expected=expected,
        status=status,
        governed=_governed(tier, status, said["verdict"]),
        attested=(said["verdict"] if status == "AGREED" else "DISCRETIONARY") if tier == "high" else None,
        has_breach="breached" in outcomes,
        applied=sorted(opinions),
    )


def _governed(tier: str, status: str, verdict: str) -> str | None:
    if tier == "high":
        return None
    return verdict if tier == "low" or status in ("AGREED", "UNVERIFIABLE") else "DISCRETIONARY"


def _wrongs(
    applied: Sequence[Mapping[str, Any]],
    opinions: Mapping[str, Opinion],
    measurement: Mapping[str, Any],
    reply: Mapping[str, Any],
    versions: Mapping[str, str],
) -> set[str]:
    """SKI 4.5 and 5.3: contradictions of the model with itself, and differences between it and the graph or record."""
    known = {one["id"]: one for one in applied}
    wrong: set[str] = set()
    seen: list[str] = []
    for claim in reply["formalizable_assertions"]:
        one = known.get(claim["obligation_id"])
        is_true = one is not None and _is_true(claim, one, opinions[one["id"]], measurement)
        # Of a converted number no more is shown than 15 digits: one that rounds onto the limit is no contradiction.
        if _contradicts_itself(claim) and not (is_true and one is not None and converted(one, measurement)):
            wrong.add("contradiction")
        is_strange = one is None or one["type"] in HUMAN or claim["obligation_id"] in seen
        if is_strange or one is None or not _is_true(claim, one, opinions[one["id"]], measurement):
            wrong.add("divergence")
        seen.append(claim["obligation_id"])
    for name, found in opinions.items():
        if found.outcome in _UNMET and name not in seen:
            wrong.add("divergence")
    for citation in reply["kg_citations"]:
        is_shown = citation["node_id"] in known and versions[citation["node_id"]] == citation["version"]
        if not is_shown or citation["role"] != "obligation":
            wrong.add("divergence")
    return wrong


def _contradicts_itself(claim: Mapping[str, Any]) -> bool:
    if claim["observed"] is None:
        return False
    kind, window = claim["predicate"], claim.get("window_seconds")
    if kind == "must_be_recorded_within":
        truth = None if window is None or not is_number(claim["observed"]) else claim["observed"] < window
    else:
        truth = None if kind in HUMAN else holds(kind, claim["value"], claim["observed"])
    return truth is not None and truth is not claim["satisfied"]


def _is_true(claim: Mapping[str, Any], one: Mapping[str, Any], found: Opinion, measurement: Mapping[str, Any]) -> bool:
    window = one["value"] if one["type"] == "must_be_recorded_within" else None
    return (
        (claim["predicate"], claim["metric"]) == (one["type"], one["metric"])
        and same(claim["value"], one["value"])
        and claim.get("window_seconds") == window
        and same(claim["observed"], observed(one, measurement))
        and claim["satisfied"] is (found.truth is True)
    )


def _is_settled(
    applied: Sequence[Mapping[str, Any]],
    opinions: Mapping[str, Opinion],
    reply: Mapping[str, Any],
    *,
    is_doubtful: bool,
) -> bool:
    """Ruling 12: something was compared, and the verdict is the same whatever the rest turns out to be."""
    asserted = {claim["obligation_id"] for claim in reply["formalizable_assertions"]}
    determined = {name for name, found in opinions.items() if found.truth is not None or found.outcome == "exempt"}
    if not asserted & determined:
        return False
    kinds = [one["type"] for one in applied]
    if any(kind in HUMAN for kind in kinds):
        return True
    worst = {"should": "unfollowed", "must_be_recorded_within": "stale"}
    best_case = ["satisfied" if found.outcome == "undetermined" else found.outcome for found in opinions.values()]
    worst_case = [
        worst.get(one["type"], "breached")
        if opinions[one["id"]].outcome == "undetermined"
        else opinions[one["id"]].outcome
        for one in applied
    ]
    if is_doubtful:
        worst_case.append("breached")
    ends = {verdict_of(kinds, case, is_doubtful=False) for case in (best_case, worst_case)}
    return len(ends) == 1
