"""Comparisons: one value against one operand, exactly, or no answer where their kinds do not meet.

obligation type + operand -> comparison_of -> Comparison; Comparison(value) -> True, False, or None

Why plain numbers may be compared: every number of a record, a reply or a graph has a text that survives binary64, and
rounding to binary64 never changes the order of two numbers, so the binary values are ordered as the decimal texts are.
Sums and averages are not such numbers: they are compared as fractions, against fractions.
"""

from collections.abc import Callable
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from math import isfinite
from typing import TypeAlias
from unicodedata import is_normalized, normalize

from assay.kernel.canonical import MAX_SAFE_INTEGER
from assay.verdicts.graph.condition import Operand
from assay.verdicts.graph.obligation import PredicateName
from assay.verdicts.graph.obligation_type import ObligationType
from assay.verdicts.telemetry import Scalar

# An operand as JSON writes it.
PlainOperand: TypeAlias = Scalar | tuple[Scalar, ...]
_Value: TypeAlias = Scalar | Fraction
# An operand with its numbers as fractions.
ExactOperand: TypeAlias = _Value | tuple[_Value, ...]
Comparison: TypeAlias = Callable[[_Value], bool | None]

# The comparisons of flat rules as obligation types.
COMPARED = {
    PredicateName.LTE: ObligationType.MUST_NOT_EXCEED,
    PredicateName.GTE: ObligationType.MUST_BE_AT_LEAST,
    PredicateName.LT: ObligationType.MUST_BE_BELOW,
    PredicateName.GT: ObligationType.MUST_BE_ABOVE,
    PredicateName.EQ: ObligationType.MUST_EQUAL,
}
# Not `bool`: a switch is no number, though Python thinks so.
_NUMBERS = frozenset({int, float, Fraction})
_ENDS = 2
_SHOWN = Context(prec=15, traps=[InvalidOperation])


def comparison_of(kind: ObligationType, operand: ExactOperand) -> Comparison | None:
    """How to decide a predicate with this operand; None where the operand is not one for it.

    Windowed predicates are decided here on their aggregate: an average within a range, a maximum, an age in seconds.
    """
    maker = _MAKERS.get(kind)
    return None if maker is None else maker(operand)


def is_number(value: object) -> bool:
    return type(value) in _NUMBERS


def is_same(one: PlainOperand, other: PlainOperand) -> bool:
    """Equal in value and in kind: `true` is not 1, 1 is 1.0, and a large integer is the binary64 number it spells."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(is_same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, str) and isinstance(other, str):
        return nfc(one) == nfc(other)
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other or (_is_large(one, other) and float(one) == float(other))
    return one == other


def plain_operand(value: Operand) -> PlainOperand:
    """The operand as JSON writes it: a graph's decimals survive binary64, so each is that number; texts are in NFC."""
    if isinstance(value, tuple):
        return tuple(_plain(part) for part in value)
    return None if value is None else _plain(value)


def exact_operand(value: Operand) -> ExactOperand:
    """Numbers as fractions, to compare sums and averages with."""
    if isinstance(value, tuple):
        return tuple(_exact(part) for part in value)
    return None if value is None else _exact(value)


def exact_number(value: float) -> Fraction:
    """A number of a record by its own decimal text."""
    return Fraction(Decimal(repr(value)))


def plain_number(value: Decimal) -> int | float:
    is_whole = value == value.to_integral_value() and value.copy_abs() <= MAX_SAFE_INTEGER
    return int(value) if is_whole else float(value)


def shown_fraction(exact: Fraction) -> int | float | None:
    """What is shown of a number that binary64 may not keep: as many digits as always survive; None beyond its range."""
    rounded = _SHOWN.divide(Decimal(exact.numerator), Decimal(exact.denominator))
    shown = plain_number(rounded)
    return shown if isfinite(shown) else None


def _is_large(one: float, other: float) -> bool:
    """Our own texts spell such a number as an integer, which a reader may have taken for one."""
    return min(abs(one), abs(other)) > MAX_SAFE_INTEGER


def nfc(text: str) -> str:
    return text if text.isascii() or is_normalized("NFC", text) else normalize("NFC", text)


def _plain(value: Decimal | str | bool) -> Scalar:  # noqa: FBT001  a value of a graph, not a switch
    if isinstance(value, Decimal):
        return plain_number(value)
    return nfc(value) if isinstance(value, str) else value


def _exact(value: Decimal | str | bool) -> _Value:  # noqa: FBT001  as above
    return Fraction(value) if isinstance(value, Decimal) else value


def _kind(value: object) -> type:
    """One kind for all numbers."""
    return Fraction if type(value) in _NUMBERS else type(value)


def _at_most(limit: ExactOperand) -> Comparison | None:
    if type(limit) not in _NUMBERS:
        return None
    return lambda value: value <= limit if type(value) in _NUMBERS else None  # type: ignore[operator]  # both numbers


def _at_least(limit: ExactOperand) -> Comparison | None:
    if type(limit) not in _NUMBERS:
        return None
    return lambda value: value >= limit if type(value) in _NUMBERS else None  # type: ignore[operator]  # both numbers


def _below(limit: ExactOperand) -> Comparison | None:
    if type(limit) not in _NUMBERS:
        return None
    return lambda value: value < limit if type(value) in _NUMBERS else None  # type: ignore[operator]  # both numbers


def _above(limit: ExactOperand) -> Comparison | None:
    if type(limit) not in _NUMBERS:
        return None
    return lambda value: value > limit if type(value) in _NUMBERS else None  # type: ignore[operator]  # both numbers


def _within(ends: ExactOperand) -> Comparison | None:
    if not isinstance(ends, tuple) or len(ends) != _ENDS or not all(type(end) in _NUMBERS for end in ends):
        return None
    low, high = ends
    return lambda value: low <= value <= high if type(value) in _NUMBERS else None  # type: ignore[operator]  # numbers


def _one_of(members: ExactOperand) -> Comparison | None:
    if not isinstance(members, tuple) or not members:
        return None
    # By kind, since Python takes `True` and 1 for the same member.
    found: dict[type, set[_Value]] = {}
    for member in members:
        found.setdefault(_kind(member), set()).add(member)

    def test(value: _Value) -> bool | None:
        among = found.get(_kind(value))
        return None if among is None else value in among

    return test


def _not_one_of(members: ExactOperand) -> Comparison | None:
    return _negated(_one_of(members))


def _equal(wanted: ExactOperand) -> Comparison | None:
    return None if wanted is None or isinstance(wanted, tuple) else _one_of((wanted,))


def _not_equal(unwanted: ExactOperand) -> Comparison | None:
    return _negated(_equal(unwanted))


def _must(operand: ExactOperand) -> Comparison | None:
    """Without an operand the metric must be there and not be false; several values are a choice."""
    if operand is None:
        return lambda value: None if value is None else value is not False
    return _one_of(operand) if isinstance(operand, tuple) else _equal(operand)


def _must_not(operand: ExactOperand) -> Comparison | None:
    return _negated(_must(operand))


def _negated(test: Comparison | None) -> Comparison | None:
    if test is None:
        return None

    def negated(value: _Value) -> bool | None:
        truth = test(value)
        return None if truth is None else not truth

    return negated


_MAKERS: dict[ObligationType, Callable[[ExactOperand], Comparison | None]] = {
    ObligationType.MUST: _must,
    ObligationType.MUST_NOT: _must_not,
    ObligationType.SHOULD: _must,
    ObligationType.MUST_NOT_EXCEED: _at_most,
    ObligationType.MUST_BE_AT_LEAST: _at_least,
    ObligationType.MUST_BE_BELOW: _below,
    ObligationType.MUST_BE_ABOVE: _above,
    ObligationType.MUST_BE_WITHIN: _within,
    ObligationType.MUST_BE_ONE_OF: _one_of,
    ObligationType.MUST_NOT_BE_ONE_OF: _not_one_of,
    ObligationType.MUST_EQUAL: _equal,
    ObligationType.MUST_NOT_EQUAL: _not_equal,
    ObligationType.MUST_AVERAGE_WITHIN: _within,
    ObligationType.MUST_NOT_EXCEED_IN_WINDOW: _at_most,
    # The age of the evidence against the length of the window, whose far end is open.
    ObligationType.MUST_BE_RECORDED_WITHIN: _below,
}
