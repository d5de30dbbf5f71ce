"""Two numbers written so that a small model can compare them: digit under digit, taken in turns.

limit 50, observed 48.5 -> `++ 54 08 .. 05`: the signs, then each place of the limit with the same place of the value.
The point is a pair of its own. Numbers too wide for that are marked `ee`: three digits of an exponent, 500 added so
that it is never negative and 000 for zero, then the significant digits. Either way the first pair after the signs
that is not of two equal digits says which of the two is further from zero.
"""

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

_WIDEST = 24
_MANTISSA = 17
_BIAS = 500


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


def spell_exactly(number: Fraction, others: tuple[Spelled, ...]) -> Spelled:
    """As many digits as the longest other has, and one more, 1, if that is not all: enough to be ordered among them."""
    places = max((len(other.fraction) for other in others), default=0)
    scaled = abs(number) * 10**places
    digits = str(scaled.numerator // scaled.denominator).rjust(places + 1, "0")
    point = len(digits) - places
    rest = "1" if scaled.denominator != 1 else ""
    fraction = digits[point:] + rest
    return Spelled("-" if number < 0 else "+", digits[:point], fraction.rstrip("0"))


def interleaved(limit: Spelled, observed: Spelled) -> str:
    """Signs first, then place by place from the highest, the limit's digit before the observed one's."""
    (sign, whole, fraction), (other_sign, other_whole, other_fraction) = limit, observed
    wide, deep = max(len(whole), len(other_whole)), max(len(fraction), len(other_fraction))
    if wide + deep > _WIDEST:
        one, other = _scientific(limit), _scientific(observed)
        long = max(len(one), len(other))
        return f"ee {_pairs(one.ljust(long, '0'), other.ljust(long, '0'))}"
    if len(whole) != len(other_whole):
        whole, other_whole = whole.rjust(wide, "0"), other_whole.rjust(wide, "0")
    if not deep:
        return _pairs(sign + whole, other_sign + other_whole)
    if len(fraction) != len(other_fraction):
        fraction, other_fraction = fraction.ljust(deep, "0"), other_fraction.ljust(deep, "0")
    return _pairs(f"{sign}{whole}.{fraction}", f"{other_sign}{other_whole}.{other_fraction}")


def _pairs(one: str, other: str) -> str:
    """Two texts of one length, ASCII and never empty: a character of each, then a blank."""
    pairs = bytearray(b" ") * (3 * len(one) - 1)
    pairs[::3], pairs[1::3] = one.encode(), other.encode()
    return pairs.decode()


def _scientific(number: Spelled) -> str:
    """Sign, exponent, digits: at most seventeen, as binary64 has; of a longer sum, a 1 stands for the rest."""
    digits = (number.whole + number.fraction).lstrip("0")
    if not digits:
        return "+000"
    exponent = len(number.whole) - 1 if number.whole != "0" else len(digits) - len(number.fraction) - 1
    significant = digits.rstrip("0")
    if len(significant) > _MANTISSA:
        significant = significant[:_MANTISSA] + "1"
    return f"{number.sign}{exponent + _BIAS:03d}{significant}"


def _shifted(whole: str, fraction: str, exponent: int) -> tuple[str, str]:
    digits = whole + fraction
    point = len(whole) + exponent
    if point <= 0:
        return "0", "0" * -point + digits
    return digits[:point].ljust(point, "0"), digits[point:]
