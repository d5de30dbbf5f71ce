"""Numbers that decide: decimals of at most six places, the same on every machine.

YAML or JSON text -> Decimal -> arithmetic in a fixed context -> six places, half away from zero
Six places is what canonical bytes keep (Kaori 3.2): a digit beyond them would change an answer and no hash.
"""

from collections.abc import Mapping
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_UP, Context, Decimal, DivisionByZero, InvalidOperation, Overflow

from assay.truth.errors import NumberFormError

PLACES = Decimal("0.000001")
MILLION = 1_000_000
_ZERO = Decimal("0.000000")
# Far more digits than any product of two six-place numbers needs, and no setting of the caller's thread.
ARITHMETIC = Context(
    prec=60,
    rounding=ROUND_HALF_UP,
    Emin=MIN_EMIN,
    Emax=MAX_EMAX,
    capitals=1,
    clamp=0,
    flags=[],
    traps=[InvalidOperation, DivisionByZero, Overflow],
)
# Six places above this would not survive binary64, which JSON readers use.
_LARGEST = Decimal(10) ** 9
_LARGEST_INTEGER = 9_007_199_254_740_991


def exact_number(value: float | Decimal) -> Decimal:
    """The decimal that the shortest text of a number says; booleans and what is not finite are refused."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise NumberFormError(f"expected a number, got {type(value).__name__}")
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite():
        raise NumberFormError(f"expected a finite number, got `{value}`")
    return number


def has_six_places(number: Decimal) -> bool:
    """Whether canonical bytes keep the number as it is, and binary64 too."""
    if number == number.to_integral_value():
        return number.copy_abs() <= _LARGEST_INTEGER
    return number.copy_abs() < _LARGEST and quantised(number) == number


def quantised(number: Decimal) -> Decimal:
    """At most six places, half away from zero; zero has no sign."""
    return number.quantize(PLACES, None, ARITHMETIC) or _ZERO


def whole_millionths(value: float | Decimal) -> int:
    """A finite number at six places, as a whole number of millionths: of these, sums are exact and cheap."""
    number = exact_number(value)
    if number == number.to_integral_value():
        return int(number) * MILLION
    return int(quantised(number).scaleb(6, ARITHMETIC))


def from_millionths(number: int) -> Decimal:
    return ARITHMETIC.multiply(Decimal(number), PLACES)


def rounded_ratio(above: int, below: int, places: int) -> int | float:
    """The ratio at so many places, half away from zero, as JSON has it; `below` is more than 0."""
    unit = int(10**places)
    whole, rest = divmod(nearest(abs(above) * unit, below), unit)
    size = (whole * unit + rest) / unit if rest else whole
    return -size if above < 0 else size


def nearest(above: int, below: int) -> int:
    """The whole number nearest to a ratio that is not negative; half goes up."""
    return (2 * above + below) // (2 * below)


def rounded_whole(above: int, below: int) -> int:
    """The whole number nearest to any ratio, half away from zero; `below` is more than 0."""
    return nearest(above, below) if above >= 0 else -nearest(-above, below)


def plain_number(number: Decimal) -> int | float:
    """A six-place decimal as JSON and canonical bytes take it: an integer where it is one; refused if not finite."""
    try:
        whole = int(number)
    except (ValueError, OverflowError) as error:
        raise NumberFormError(f"expected a finite number, got {number}") from error
    return whole if number == whole else float(number)


def plain_value(value: object) -> object:
    """A tree with its decimals written plainly."""
    if isinstance(value, Decimal):
        return plain_number(value)
    if isinstance(value, Mapping):
        return {key: plain_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(item) for item in value]
    return value
