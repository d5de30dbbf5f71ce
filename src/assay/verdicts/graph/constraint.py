"""What an obligation allows a metric to be, as a set of values that can be intersected exactly.

Numbers lie in a span with open or closed ends; texts and truth values, and listed numbers, are members of a set.
"""

from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from msgspec import Struct

from assay.verdicts.graph.condition import Condition, Scalar
from assay.verdicts.graph.obligation import Obligation
from assay.verdicts.graph.obligation_type import ObligationType

# An end of a span: a fraction where its unit was converted.
Number: TypeAlias = Decimal | Fraction
# With its type, since Python takes True for 1.
Member: TypeAlias = tuple[str, Scalar | Fraction]


class Span(Struct, frozen=True, gc=False):
    """Numbers from `low` to `high`; None is without end, and an open end does not belong.

    An end is a fraction where its unit was converted; both kinds compare exactly.
    """

    low: Number | None = None
    low_open: bool = False
    high: Number | None = None
    high_open: bool = False

    def has(self, value: Number) -> bool:
        above = self.low is None or value > self.low or (value == self.low and not self.low_open)
        below = self.high is None or value < self.high or (value == self.high and not self.high_open)
        return above and below

    @property
    def is_empty(self) -> bool:
        if self.low is None or self.high is None:
            return False
        return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))


_EVERYWHERE = Span()


class Constraint(Struct, frozen=True, gc=False):
    """`span` binds numbers and, unless it is everywhere, lets nothing else pass; `allowed` None is no list."""

    span: Span = _EVERYWHERE
    allowed: frozenset[Member] | None = None
    excluded: frozenset[Member] = frozenset()

    def has(self, member: Member) -> bool:
        value = member[1]
        in_span = self.span.has(value) if isinstance(value, Decimal | Fraction) else self.span == _EVERYWHERE
        return in_span and (self.allowed is None or member in self.allowed) and member not in self.excluded


def member_of(value: Scalar | Fraction) -> Member:
    return type(value).__name__, value


def constraint_of(obligation: Obligation | Condition) -> Constraint | None:
    """What satisfies it, or None where values alone do not decide or the operand does not fit the type."""
    if isinstance(obligation, Condition):
        return _constraint(obligation.predicate, obligation.value)
    kind = obligation.kind
    if kind is None or obligation.predicate is not None:
        return None
    return _constraint(kind, obligation.value)


def meet(one: Constraint, other: Constraint) -> Constraint:
    """What satisfies both."""
    if one.allowed is None or other.allowed is None:
        allowed = other.allowed if one.allowed is None else one.allowed
    else:
        allowed = one.allowed & other.allowed
    return Constraint(_meet_spans(one.span, other.span), allowed, one.excluded | other.excluded)


def is_empty(constraint: Constraint) -> bool:
    """Whether no value at all satisfies it."""
    if constraint.allowed is not None:
        return not any(constraint.has(member) for member in constraint.allowed)
    span = constraint.span
    if span.is_empty:
        return True
    point = span.low if span.low is not None and span.low == span.high else None
    return point is not None and member_of(point) in constraint.excluded


def is_within(inner: Constraint, outer: Constraint) -> bool:
    """Whether whatever satisfies `inner` satisfies `outer`; False also where that is not plain to see."""
    if inner.allowed is not None:
        return all(outer.has(member) for member in inner.allowed if inner.has(member))
    if outer.allowed is not None or not outer.excluded <= inner.excluded:
        return False
    return outer.span == _EVERYWHERE or (
        inner.span != _EVERYWHERE and _meet_spans(inner.span, outer.span) == inner.span
    )


def breaches_of(constraint: Constraint) -> tuple[Constraint, ...]:
    """What does not satisfy it, numbers alone for a span: each part on its own."""
    span, parts = constraint.span, []
    if span.low is not None:
        parts.append(Constraint(Span(None, False, span.low, not span.low_open)))
    if span.high is not None:
        parts.append(Constraint(Span(span.high, not span.high_open, None, False)))
    if constraint.allowed is not None:
        parts.append(Constraint(excluded=constraint.allowed))
    if constraint.excluded:
        parts.append(Constraint(allowed=constraint.excluded))
    return tuple(parts)


def _constraint(kind: ObligationType, value: object) -> Constraint | None:
    if kind in _BOUNDS:
        return Constraint(span=_BOUNDS[kind](value)) if isinstance(value, Decimal) else None
    if kind in _RANGES:
        ends = value if isinstance(value, tuple) else ()
        match ends:
            case (Decimal() as low, Decimal() as high):
                return Constraint(span=Span(low, False, high, False))
        return None
    if kind in _LISTED or kind in _UNLISTED:
        if not isinstance(value, tuple):
            return None
        members = frozenset(member_of(part) for part in value)
        return Constraint(allowed=members) if kind in _LISTED else Constraint(excluded=members)
    return _equality(kind, value)


def _equality(kind: ObligationType, value: object) -> Constraint | None:
    """`must` without a value: there and not false; `must_not` without one: false, if there. A list is a set."""
    if value is None and kind in (ObligationType.MUST, ObligationType.MUST_NOT):
        no = frozenset({member_of(False)})
        return Constraint(excluded=no) if kind is ObligationType.MUST else Constraint(allowed=no)
    if isinstance(value, tuple) and kind in (ObligationType.MUST, ObligationType.MUST_NOT):
        members = frozenset(member_of(part) for part in value)
        return Constraint(allowed=members) if kind is ObligationType.MUST else Constraint(excluded=members)
    if not isinstance(value, Decimal | str | bool):
        return None
    only = frozenset({member_of(value)})
    if kind in (ObligationType.MUST, ObligationType.MUST_EQUAL):
        return Constraint(allowed=only)
    if kind in (ObligationType.MUST_NOT, ObligationType.MUST_NOT_EQUAL):
        return Constraint(excluded=only)
    return None


_BOUNDS = {
    ObligationType.MUST_NOT_EXCEED: lambda value: Span(None, False, value, False),
    ObligationType.MUST_NOT_EXCEED_IN_WINDOW: lambda value: Span(None, False, value, False),
    ObligationType.MUST_BE_BELOW: lambda value: Span(None, False, value, True),
    ObligationType.MUST_BE_AT_LEAST: lambda value: Span(value, False, None, False),
    ObligationType.MUST_BE_ABOVE: lambda value: Span(value, True, None, False),
}
_RANGES = frozenset({ObligationType.MUST_BE_WITHIN, ObligationType.MUST_AVERAGE_WITHIN})
_LISTED = frozenset({ObligationType.MUST_BE_ONE_OF})
_UNLISTED = frozenset({ObligationType.MUST_NOT_BE_ONE_OF})


def _meet_spans(one: Span, other: Span) -> Span:
    low, low_open = _higher(one, other)
    high, high_open = _lower(one, other)
    return Span(low, low_open, high, high_open)


def _higher(one: Span, other: Span) -> tuple[Number | None, bool]:
    if one.low is None or other.low is None:
        return (other.low, other.low_open) if one.low is None else (one.low, one.low_open)
    return max((one.low, one.low_open), (other.low, other.low_open))


def _lower(one: Span, other: Span) -> tuple[Number | None, bool]:
    if one.high is None or other.high is None:
        return (other.high, other.high_open) if one.high is None else (one.high, one.high_open)
    high, closed = min((one.high, not one.high_open), (other.high, not other.high_open))
    return high, not closed
