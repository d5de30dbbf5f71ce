"""Conditions and exemptions: every number of them, and every position of the one that decides."""

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any, Final

from assay.model.form import Limits
from assay.model.sweep.case import STYLES, SweepCase, breached_with, condition

_MIXES: Final = (
    *((style,) for style in STYLES),
    ("switch", "number"),
    ("number", "text"),
    ("text", "in"),
    ("not in", "number"),
    STYLES,
    STYLES[::-1],
)
_STATES: Final = ("fails", "missing", "other")
_SETS: Final = frozenset({"in", "not in", "numbers"})
_INFORMAL: Final = "a mild winter"
# Obligations that are not met, by the number of comparisons that they take themselves.
_MAINS: Final[tuple[tuple[int, dict[str, Any], Any], ...]] = (
    (1, {"type": "must_not_exceed", "value": 50}, 51),
    (1, {"type": "must_be_at_least", "value": 50.5}, -3),
    (2, {"type": "must_be_within", "value": [1, 50]}, 51),
    (1, {"type": "must_be_one_of", "value": ["a", "b"]}, "z"),
    (1, {"type": "must_not_equal", "value": "z"}, "z"),
    (1, {"type": "must_not"}, True),
    (1, {"type": "should", "value": True}, False),
    (1, {"type": "must_be_recorded_within", "value": 60}, None),
    (1, {"type": "must_not_exceed_in_window", "value": 50, "window": 60}, 51),
    (2, {"type": "must_average_within", "value": [1, 50], "window": 60}, 51),
)


def conditions(limits: Limits) -> Iterator[SweepCase]:
    """One exemption: all conditions hold, none does, or one or two of them fail, are missing or of another kind."""
    for taken, main, observed in _MAINS:
        for count, mix in product(range(1, limits.comparisons - taken + 1), _MIXES):
            if not _may_name_sets(mix, count, limits):
                continue
            for states in _states(count):
                measurement: dict[str, Any] = {"m": observed}
                text = _joined(mix, states, measurement, 0)
                place = (main["type"], count, "+".join(mix), ".".join(states))
                yield breached_with("conditions", place, [text], measurement, {"id": "ob", "metric": "m", **main})


def exemptions(limits: Limits) -> Iterator[SweepCase]:
    """Every way to divide conditions over exemptions: none holds, or one of them does, or may, or is for a person."""
    for total in range(1, limits.comparisons):
        for shape, mix in product(_compositions(total), _MIXES):
            if not _may_name_sets(mix, total, limits):
                continue
            for at in range(max(shape)):
                failing = [
                    ["fails" if place == min(at, count - 1) else "holds" for place in range(count)] for count in shape
                ]
                yield _divided(("none", at), mix, failing)
                for chosen, count in enumerate(shape):
                    for state in ("holds", "missing", "other"):
                        states = [list(one) for one in failing]
                        states[chosen] = ["holds"] * count
                        states[chosen][min(at, count - 1)] = state
                        yield _divided((state, at, chosen), mix, states)
                    yield _divided(("informal", at, chosen), mix, [*failing[:chosen], [], *failing[chosen + 1 :]])


def _states(count: int) -> Iterator[list[str]]:
    yield ["holds"] * count
    yield ["fails"] * count
    for state in _STATES:
        for at in range(count):
            yield [state if place == at else "holds" for place in range(count)]
    for (one, other), (first, second) in product(combinations(range(count), 2), product(_STATES, repeat=2)):
        yield [first if at == one else second if at == other else "holds" for at in range(count)]


def _may_name_sets(mix: Sequence[str], count: int, limits: Limits) -> bool:
    return all(mix[at % len(mix)] not in _SETS for at in range(limits.exempting_sets, count))


def _joined(mix: Sequence[str], states: Sequence[str], measurement: dict[str, Any], first: int) -> str:
    return " and ".join(
        condition(mix[at % len(mix)], f"c{at}", state, measurement) for at, state in enumerate(states, first)
    )


def _divided(place: tuple[object, ...], mix: Sequence[str], states: Sequence[Sequence[str]]) -> SweepCase:
    measurement: dict[str, Any] = {}
    texts, first = [], 0
    for part in states:
        texts.append(_joined(mix, part, measurement, first) if part else _INFORMAL)
        first += len(part) or 1
    shape = ".".join(str(len(part)) for part in states)
    return breached_with("exemptions", (shape, "+".join(mix), *place), texts, measurement)


def _compositions(total: int) -> Iterator[tuple[int, ...]]:
    if total == 0:
        yield ()
    for first in range(1, total + 1):
        for rest in _compositions(total - first):
            yield first, *rest
