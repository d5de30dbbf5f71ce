"""Lines that compare numbers, with the first difference at any place and of any pair of digits.

source of draws -> draw_comparison -> line -> row; of many rows, `run` trains on those that the model is least sure of
The cases of `model/cases` draw both ends of a range near the observed value, so one end near and the other far was
rare, and they show each pair of digits at each late place too seldom to learn all of them.
"""

import random
from collections.abc import Iterator

from assay.model.learn.label import label_line
from assay.model.learn.row import Row, line_row
from assay.model.tokenizer import read_line
from assay.verdicts._digits import interleaved, spell

__all__ = ["draw_comparison", "draw_comparison_rows"]

_DIGITS = "0123456789"
_EXACT = 15
_ONE_SIDED = ("must_not_exceed", "must_be_at_least", "must_be_below", "must_be_above")
_EQUAL = ("must_equal", "must_not_equal", "must", "must_not", "should")
_UNITS = ("u u", "u0 u0", "u0 u")
_FAR = (1e9, 1e12, 1e6, 1000, 1e15, 1e20, 10)


def draw_comparison_rows(rng: random.Random, count: int, hidden: frozenset[str]) -> Iterator[tuple[Row, str]]:
    """Rows with their types; none of a line with digits that a sealed case has."""
    for _ in range(count):
        text = draw_comparison(rng)
        if text not in hidden:
            line = read_line(f"o0 {text}", 0)
            yield line_row(line, label_line(line)), line.symbols[0]


def draw_comparison(rng: random.Random) -> str:
    """Draw the line of one obligation, without its name."""
    limit, observed = _draw_pair(rng)
    style, units = rng.random(), rng.choice(_UNITS)
    if style < 0.4:
        return f"must_be_within {units} {_range(rng, limit, observed)}"
    if style < 0.44:
        return f"must_average_within w must_average_within {_range(rng, limit, observed)}"
    if style < 0.48:
        return f"must_not_exceed_in_window w must_not_exceed_in_window {_compared(limit, observed)}"
    if style < 0.6:
        return f"{rng.choice(_EQUAL)} {units} {_compared(limit, observed)}"
    if style < 0.75:
        return _exempted(rng, limit, observed)
    return f"{rng.choice(_ONE_SIDED)} {units} {_compared(limit, observed)}"


def _draw_pair(rng: random.Random) -> tuple[int | float, int | float]:
    """Two numbers that are equal up to some place, where the second has any digit; or two that are unrelated."""
    width = rng.randint(1, _EXACT) if rng.random() < 0.6 else rng.randint(1, 7)
    whole = rng.randint(1, width)
    text = "".join(rng.choice(_DIGITS) for _ in range(width))
    at = rng.randrange(width)
    rest = text[at + 1 :]
    style = rng.random()
    if style > 0.8:
        rest = rng.choice("09") * len(rest)
    elif style > 0.4:
        rest = "".join(rng.choice(_DIGITS) for _ in rest)
    changed = text[:at] + rng.choice(_DIGITS) + rest
    if rng.random() < 0.1:
        changed = "".join(rng.choice(_DIGITS) for _ in range(width))
    sign = -1 if rng.random() < 0.15 else 1
    scale = 0 if rng.random() < 0.9 else rng.randint(-30, 30)
    return _number(text, whole, sign, scale), _number(changed, whole, sign, scale)


def _number(text: str, whole: int, sign: int, scale: int) -> int | float:
    value = float(f"{text[:whole]}.{text[whole:] or '0'}e{scale}")
    return sign * (int(value) if value.is_integer() and value < 2**53 else value)


def _range(rng: random.Random, end: float, observed: float) -> str:
    """One end is `end`; the other is far away, the observed value, its negation, or one digit away from it."""
    far = rng.choice(_FAR) * rng.choice((1, 1, 2, 7))
    style = rng.random()
    other = far if style < 0.5 else observed if style < 0.65 else -observed if style < 0.75 else _draw_pair(rng)[0]
    if rng.random() < 0.5 and other == far:
        other = -far
    low, high = sorted((end, other))
    return f"{_compared(low, observed)} ; {_compared(high, observed)}"


def _exempted(rng: random.Random, limit: float, observed: float) -> str:
    """A breach, and one to four conditions of an exemption, all but one of which hold; that one compares the pair."""
    asked = f"{rng.choice(_ONE_SIDED)} u u {_compared(limit, observed)}"
    held = ["must_equal u u t : t" if rng.random() < 0.5 else _held(rng) for _ in range(rng.randint(0, 3))]
    held.insert(rng.randint(0, len(held)), asked)
    upper, seen = (50, 51) if rng.random() < 0.5 else sorted(_draw_pair(rng))
    return f"must_not_exceed u u {_compared(upper, seen)} x {' & '.join(held)}"


def _held(rng: random.Random) -> str:
    low, high = sorted(_draw_pair(rng))
    return f"must_not_exceed u u {_compared(high, low)}"


def _compared(limit: float, observed: float) -> str:
    return interleaved(spell(limit), spell(observed))
