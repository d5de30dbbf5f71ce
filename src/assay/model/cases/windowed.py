"""Obligations over time: series of earlier records, ages, and the predicates of flat graphs."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from assay.model.cases.draw import Draw
from assay.model.cases.measurement import draw_ends, draw_scalar, draw_text
from assay.model.cases.number import draw_beside, draw_number

FLAT = ("exists", "window_count", "window_sum", "window_avg", "since_last", "debounce")


def draw_windowed(rng: Draw, case: dict[str, Any], one: dict[str, Any]) -> None:
    kind, window = one["type"], rng.choice((60, 600, 3600, 86400, rng.randint(1, 10**6)))
    one["window"] = window
    if kind == "must_be_recorded_within":
        _draw_age(rng, case, one, window)
        return
    values = _draw_series(rng, case, one, window)
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if kind == "must_not_exceed_in_window":
        one["value"] = draw_beside(rng, max(numbers, default=5))
    else:
        one["value"] = _around(rng, numbers, count=len(numbers) or 1)


def _around(rng: Draw, numbers: Sequence[float], *, count: int) -> list[int | float]:
    total = sum((Fraction(Decimal(repr(number))) for number in numbers), Fraction(0)) / count
    middle = float(total) if abs(total) < 1e300 else 1.0
    return draw_ends(rng, float(f"{middle:.{rng.choice((3, 6, 14))}g}"))


def _draw_age(rng: Draw, case: dict[str, Any], one: dict[str, Any], window: int) -> None:
    age: float = rng.choice((window, window - 1, window + 1, window // 2, window * 2, rng.randint(1, 10**6)))
    if rng.random() < 0.2:
        age = max(age, 1) + rng.choice((0.5, -0.5, 0.000001, -0.000001))
    if rng.random() < 0.85 and age > 0:
        case["earlier"].append({"ago": age, "measurement": {one["metric"]: rng.choice((1, "calibrated", True))}})


def _draw_series(rng: Draw, case: dict[str, Any], one: dict[str, Any], window: int) -> list[Any]:
    base = draw_number(rng)
    while abs(base) > 1e12 or 0 < abs(base) < 1e-9:
        base = draw_number(rng)
    values: list[Any] = []
    for place in range(rng.choice((0, 1, 1, 2, 3, 4))):
        value = draw_beside(rng, base) if rng.random() < 0.98 else draw_text(rng)
        ago = rng.randint(1, max(1, window - 1)) if rng.random() < 0.9 else window + place
        case["earlier"].append({"ago": ago, "measurement": {one["metric"]: value}})
        if ago < window:
            values.append(value)
    if rng.random() < 0.93:
        case["measurement"][one["metric"]] = base
        values.append(base)
    return values


def draw_flat(rng: Draw, case: dict[str, Any], one: dict[str, Any], kind: str) -> None:
    one["type"] = rng.choice(("must", "must", "must", "should"))
    flat: dict[str, Any] = {"name": kind}
    one["flat"] = flat
    if kind == "exists":
        if rng.random() < 0.6:
            case["measurement"][one["metric"]] = draw_scalar(rng)
        return
    op = rng.choice(("lte", "gte", "lt", "gt", "eq"))
    window = rng.choice((60, 3600, 86400))
    if kind == "since_last":
        flat.update(op=op, value_seconds=window)
        _draw_age(rng, case, one, window)
        return
    values = [value for value in _draw_series(rng, case, one, window) if isinstance(value, int | float)]
    flat["seconds"] = window
    if kind == "window_count":
        flat.update(op=op, value=max(0, len(values) + rng.choice((-1, 0, 0, 1))))
    elif kind == "debounce":
        flat.update(op=op, value=draw_beside(rng, values[-1] if values else 1))
    elif rng.random() < 0.5:
        flat.update(op=op, value=_around(rng, values, count=1 if kind == "window_sum" else len(values) or 1)[0])
    else:
        low, high = sorted(_around(rng, values, count=1 if kind == "window_sum" else len(values) or 1))
        flat.update(min=low, max=high)
