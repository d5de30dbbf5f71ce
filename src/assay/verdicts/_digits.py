"""Two numbers written so that a small model can compare them: digit under digit, taken in turns.

limit 50, observed 48.5 -> `++ 54 08 .. 05`: the signs, then each place of the limit with the same place of the value.
The point is a pair of its own. Numbers too wide for that are written as exponents and seventeen digits, marked `ee`.
"""

from functools import lru_cache
from typing import NamedTuple

__all__ = ["Spelled", "interleaved", "spell"]

_WIDEST = 24
_MANTISSA = 17
_EXPONENT = 3


class Spelled(NamedTuple):
    """The decimal text of a number in parts: sign, digits before and after the point, without padding."""

    sign: str
    whole: str
    fraction: str


# A graph has few limits, and each is spelled for every record.
@lru_cache(maxsize=4096)
def spell(number: float) -> Spelled:
    """The digits of the number's shortest text, without an exponent."""
    text = repr(number)
    sign = "-" if text.startswith("-") else "+"
    mantissa, _, exponent = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    if exponent:
        whole, fraction = _shifted(whole, fraction, int(exponent))
    whole, fraction = whole.lstrip("0"), fraction.rstrip("0")
    return Spelled(sign if whole or fraction else "+", whole or "0", fraction)


def interleaved(limit: Spelled, observed: Spelled) -> str:
    """Signs first, then place by place from the highest, the limit's digit before the observed one's."""
    wide = max(len(limit.whole), len(observed.whole))
    deep = max(len(limit.fraction), len(observed.fraction))
    if wide + deep > _WIDEST:
        return f"ee {_pairs(_scientific(limit), _scientific(observed))}"
    one, other = limit.sign + limit.whole.rjust(wide, "0"), observed.sign + observed.whole.rjust(wide, "0")
    if deep:
        one = f"{one}.{limit.fraction.ljust(deep, '0')}"
        other = f"{other}.{observed.fraction.ljust(deep, '0')}"
    return _pairs(one, other)


def _pairs(one: str, other: str) -> str:
    return " ".join(map(str.__add__, one, other))


def _scientific(number: Spelled) -> str:
    """Sign, sign and digits of the exponent, then the digits; binary64 has at most three and seventeen of them."""
    digits = (number.whole + number.fraction).lstrip("0")
    if not digits:
        return "++" + "0" * (_EXPONENT + _MANTISSA)
    exponent = len(number.whole) - 1 if number.whole != "0" else len(digits) - len(number.fraction) - 1
    significant = digits.rstrip("0")[:_MANTISSA].ljust(_MANTISSA, "0")
    return f"{number.sign}{'-' if exponent < 0 else '+'}{abs(exponent):0{_EXPONENT}d}{significant}"


def _shifted(whole: str, fraction: str, exponent: int) -> tuple[str, str]:
    digits = whole + fraction
    point = len(whole) + exponent
    if point <= 0:
        return "0", "0" * -point + digits
    return digits[:point].ljust(point, "0"), digits[point:]
