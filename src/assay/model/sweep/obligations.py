"""Obligations: every number of them in a rule, and every position of the one that decides."""

from collections.abc import Iterator
from itertools import product
from typing import Any, Final

from assay.model.form import Limits
from assay.model.sweep.case import SweepCase

# What one obligation comes to: how it is written, and what the record gives.
_CLASSES: Final[dict[str, tuple[dict[str, Any], Any]]] = {
    "satisfied": ({"type": "must_equal", "value": True}, True),
    "breached": ({"type": "must_equal", "value": True}, False),
    "undetermined": ({"type": "must_equal", "value": True}, None),
    "unfollowed": ({"type": "should", "value": True}, False),
    "stale": ({"type": "must_be_recorded_within", "value": 60}, None),
    "exempt": ({"type": "must_not_equal", "value": True}, True),
    "unknown": ({"type": "must_levitate"}, True),
}


def obligations(limits: Limits) -> Iterator[SweepCase]:
    """All alike; one breached at each position; one of another class at the first, middle and last position."""
    for count, others in product(range(1, limits.obligations + 1), _CLASSES):
        yield _rule((count, others), [others] * count)
        odd = [name for name in _CLASSES if name != others]
        for name in odd:
            places = range(count) if (others, name) == ("satisfied", "breached") else sorted({0, count // 2, count - 1})
            for at in places:
                yield _rule((count, others, name, at), [*[others] * at, name, *[others] * (count - at - 1)])


def _rule(place: tuple[object, ...], classes: list[str]) -> SweepCase:
    listed, measurement, exemptions = [], {}, {}
    for number, name in enumerate(classes):
        written, observed = _CLASSES[name]
        listed.append({"id": f"ob-{number}", "metric": f"m{number}", **written})
        if observed is not None:
            measurement[f"m{number}"] = observed
        if name == "exempt":
            exemptions[f"ob-{number}"] = ["waived == true"]
            measurement["waived"] = True
    case = {"obligations": listed, "measurement": measurement or {"other": 1}, "exemptions": exemptions}
    return SweepCase(family="obligations", place=str(place), case=case)
