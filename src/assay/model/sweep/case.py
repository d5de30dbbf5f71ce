"""One case of a sweep, and the parts that cases are built of."""

import json
from typing import Any, Final

from msgspec import Struct

# A condition in each way that conditions are written; what holds, what does not, and what is of another kind.
STYLES: Final = ("switch", "number", "text", "in", "not in", "numbers")
_HOLDS: Final = {"switch": True, "number": 48.5, "text": "gas", "in": "b", "not in": "z", "numbers": 3}
_FAILS: Final = {"switch": False, "number": 51.5, "text": "oil", "in": "z", "not in": "b", "numbers": 99}
_OTHER: Final = {"switch": "x", "number": "x", "text": 5, "in": 7, "not in": 7, "numbers": "x"}
_TEXTS: Final = {
    "switch": "{0} == true",
    "number": "{0} <= 50",
    "text": '{0} == "gas"',
    "in": '{0} in ["a", "b", "c"]',
    "not in": '{0} not in ["a", "b", "c"]',
    "numbers": "{0} in [1, 2, 3]",
}
BREACHED: Final = {"id": "ob", "type": "must_not_exceed", "metric": "m", "value": 50}


class SweepCase(Struct, frozen=True, kw_only=True):
    """`place` says which size and position it is; `case` is what `verdicts.case` reads."""

    family: str
    place: str
    case: dict[str, Any]


def single(family: str, place: object, obligation: dict[str, Any], observed: Any) -> SweepCase:  # noqa: ANN401  JSON
    """One obligation about `m`, and a record that gives it."""
    case = {"obligations": [{"id": "ob", "metric": "m", **obligation}], "measurement": {"m": observed}}
    return SweepCase(family=family, place=str(place), case=case)


def breached_with(
    family: str, place: object, exemptions: list[str], measurement: dict[str, Any], main: dict[str, Any] | None = None
) -> SweepCase:
    """An obligation that is not met, and exemptions of it."""
    case = {
        "obligations": [main or BREACHED],
        "measurement": {"m": 51, **measurement},
        "exemptions": {"ob": exemptions},
    }
    return SweepCase(family=family, place=str(place), case=case)


def condition(style: str, name: str, state: str, measurement: dict[str, Any]) -> str:
    """A condition about `name` that holds, fails, misses its value, or finds one of another kind."""
    if state != "missing":
        measurement[name] = {"holds": _HOLDS, "fails": _FAILS, "other": _OTHER}[state][style]
    return _TEXTS[style].format(name)


def member(kind: str, number: int) -> Any:  # noqa: ANN401  a plain JSON value
    return f"t{number}" if kind == "text" else number + 1


def listed(values: list[Any]) -> str:
    return json.dumps(values)
