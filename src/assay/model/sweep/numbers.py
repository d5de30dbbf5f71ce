"""Numbers: every number of digits, every position of the first that differs, every scale, both signs, both ends."""

from collections.abc import Iterator
from itertools import product
from typing import Any, Final

from assay.model.sweep.case import SweepCase, breached_with, single

# Numbers of so many digits are the same in binary64 and in decimal.
_EXACT: Final = 15
_ORDERED: Final = ("must_not_exceed", "must_be_at_least", "must_be_below", "must_be_above")
_EQUAL: Final = ("must_equal", "must_not_equal")
_PATTERN: Final = "738294615027364"
_HIGHEST: Final = 300
_CLOSE: Final = 24
_MIDDLE: Final = 8
_FAR: Final = 10**9
_RANGE_DIGITS: Final = ("615027", "4907318", "73829461")


def digits() -> Iterator[SweepCase]:
    """Two numbers that differ first at each position, whatever their later digits say; and equal ones."""
    for whole in range(1, _EXACT + 1):
        for fraction in range(_EXACT - whole + 1):
            width = whole + fraction
            text = _PATTERN[:width]
            yield from _compared((whole, fraction, "equal"), text, text, whole)
            for at in range(width):
                for other, tail in product(_others(text[at]), ("0", "9")):
                    changed = text[:at] + other + tail * (width - at - 1)
                    yield from _compared((whole, fraction, at, other, tail), text, changed, whole)
    for at, limit, observed in product(range(_EXACT), "0123456789", "0123456789"):
        text, changed = (_PATTERN[:at] + digit + _PATTERN[at + 1 :] for digit in (limit, observed))
        yield from _compared(("pairs", at, limit, observed), text, changed, _MIDDLE)


def ranges() -> Iterator[SweepCase]:
    """Every pair of digits at every place of numbers of six to eight digits, at the lower and the upper end of a range.

    The other end is far away, or the observed value itself; the digits behind the pair are equal, or say the opposite.
    """
    for text in _RANGE_DIGITS:
        for whole, at in product((3, len(text)), range(len(text))):
            for limit, observed, tail in product("0123456789", "0123456789", ("same", "opposite")):
                rest = text[at + 1 :]
                behind = rest if tail == "same" else ("0" if observed > limit else "9") * len(rest)
                end = _value(text[:at] + limit + rest, whole)
                seen = _value(text[:at] + observed + behind, whole)
                place = (text, whole, at, limit, observed, tail)
                yield _ranged(("upper", *place), -_FAR, end, seen)
                yield _ranged(("lower", *place), end, _FAR, seen)
                yield _ranged(("upper alone", *place), min(end, seen), end, seen)


def _ranged(place: tuple[object, ...], low: float, high: float, observed: float) -> SweepCase:
    return single("ranges", place, {"type": "must_be_within", "value": [low, high]}, observed)


def _others(digit: str) -> tuple[str, str]:
    """The next digit and the one before it; after 9 comes 0."""
    value = int(digit)
    return str((value + 1) % 10), str((value - 1) % 10)


def _compared(place: tuple[object, ...], limit: str, observed: str, whole: int) -> Iterator[SweepCase]:
    wanted, seen = _value(limit, whole), _value(observed, whole)
    for demand in (*_ORDERED, *_EQUAL):
        yield single("digits", (demand, *place), {"type": demand, "value": wanted}, seen)
    yield single("digits", ("signs", *place), {"type": _ORDERED[0], "value": -wanted}, -seen)
    yield single("digits", ("upper", *place), {"type": "must_be_within", "value": [-1e9, max(wanted, 0)]}, seen)
    window: dict[str, Any] = {"type": "must_not_exceed_in_window", "value": wanted, "window": 60}
    yield single("digits", ("window", *place), window, seen)
    yield breached_with("digits", ("condition", *place), [f"c < {wanted!r}"], {"c": seen})


def _value(text: str, whole: int) -> int | float:
    """The number of these digits; an integer where there is nothing behind the point."""
    before, after = text[:whole], text[whole:]
    return float(f"{before}.{after}") if after.strip("0") else int(before or "0")


def scales() -> Iterator[SweepCase]:
    """Powers of ten against each other, every exponent against the next, and long numbers at every exponent."""
    for one, other in product(range(-_CLOSE, _CLOSE + 1), repeat=2):
        for first, second in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            for demand in _ORDERED[:2]:
                limit, observed = first * float(f"1e{one}"), second * float(f"3e{other}")
                yield single("scales", (demand, one, other, first, second), {"type": demand, "value": limit}, observed)
    for exponent in range(-_HIGHEST, _HIGHEST):
        texts = (f"2.5e{exponent}", f"2.5e{exponent + 1}", f"2.6e{exponent}", f"2.50000000000001e{exponent}", "0")
        for demand, (limit_text, observed_text) in product(_ORDERED[:2], product(texts, texts)):
            place = (demand, limit_text, observed_text)
            yield single("scales", place, {"type": demand, "value": float(limit_text)}, float(observed_text))
