"""An obligation (SKI 3.3, 3.4): what is demanded of a metric, since when and until when."""

import re
from decimal import Decimal
from enum import StrEnum

from msgspec import Struct

from assay.kernel.digest import ZERO_DIGEST, Digest
from assay.kernel.instant import Instant
from assay.verdicts.graph.condition import Operand, Scalar
from assay.verdicts.graph.node import NodeId
from assay.verdicts.graph.obligation_type import ObligationType

# A hundred years: longer than any record is looked back at, and short enough for every clock.
MAX_WINDOW_SECONDS = 100 * 366 * 86400

_TYPES = {kind.value: kind for kind in ObligationType}
_SECONDS = {
    "s": 1,
    "sec": 1,
    "second": 1,
    "seconds": 1,
    "min": 60,
    "minute": 60,
    "minutes": 60,
    "h": 3600,
    "hour": 3600,
    "hours": 3600,
    "d": 86400,
    "day": 86400,
    "days": 86400,
}
_AMOUNT = r"(\d{1,9}(?:[.,]\d{1,9})?)"
_DURATION = re.compile(rf"P(?:{_AMOUNT}W)?(?:{_AMOUNT}D)?(?:T(?:{_AMOUNT}H)?(?:{_AMOUNT}M)?(?:{_AMOUNT}S)?)?", re.ASCII)
_DURATION_PARTS = (604800, 86400, 3600, 60, 1)
# Under these a predicate over time, or `exists`, means what it says; under any other it would be reversed or lost.
_DEMANDING = frozenset({ObligationType.MUST, ObligationType.SHOULD})


class Basis(StrEnum):
    """Where an obligation's type comes from."""

    TYPED = "typed"  # the document says it
    CONVERTED = "converted"  # we derived it from the predicate of a flat rule
    UNTYPED = "untyped"  # the flat rule has no predicate that we know: DISCRETIONARY only (SKI 11.2)


class PredicateName(StrEnum):
    """The predicates of flat rules; from `window_count` on they look at earlier records too."""

    LTE = "lte"
    GTE = "gte"
    LT = "lt"
    GT = "gt"
    EQ = "eq"
    RANGE = "range"
    BETWEEN = "between"
    IN_SET = "in_set"
    NOT_IN_SET = "not_in_set"
    EXISTS = "exists"
    WINDOW_COUNT = "window_count"
    WINDOW_SUM = "window_sum"
    WINDOW_AVG = "window_avg"
    SINCE_LAST = "since_last"
    DEBOUNCE = "debounce"
    REQUIRES_RECENT_WITHIN_SECONDS = "requires_recent_within_seconds"


# Those that an obligation type and its operand say as well.
PLAIN_PREDICATES = frozenset(list(PredicateName)[:9])


class FlatPredicate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """The predicate of a flat rule as it was written; `op` is one of the comparisons `lte` to `eq`."""

    name: PredicateName
    value: Operand = None
    min: Scalar | None = None
    max: Scalar | None = None
    seconds: Decimal | None = None
    op: PredicateName | None = None
    value_seconds: Decimal | None = None


class Obligation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """`obligation_type` is kept as written and `kind` is what we know it as.

    The dates are inclusive at both ends, and an absent one is open. `must` without a value demands that the metric is
    there and is not false.
    """

    id: NodeId
    obligation_type: str
    metric: str | None = None
    value: Operand = None
    unit: str | None = None
    effective_date_start: Instant | None = None
    effective_date_end: Instant | None = None
    summary: str | None = None
    window_seconds: Decimal | None = None
    basis: Basis = Basis.TYPED
    predicate: FlatPredicate | None = None
    version: Digest = ZERO_DIGEST

    @property
    def kind(self) -> ObligationType | None:
        """None for a type that neither SKI 3.3 nor the extensions have: DISCRETIONARY."""
        return _TYPES.get(self.obligation_type)

    def is_in_force(self, at: Instant) -> bool:
        """SKI 3.4: start <= as_of <= end."""
        start, end = self.effective_date_start, self.effective_date_end
        return (start is None or start <= at) and (end is None or at <= end)


def has_fitting_type(obligation: Obligation) -> bool:
    """Whether its type can demand its predicate, where it has one that no type says by itself.

    `must` and `should` demand it as it stands. Freshness has a type of its own, which names the other outcome.
    """
    predicate = obligation.predicate
    if predicate is None or predicate.name in PLAIN_PREDICATES:
        return True
    if predicate.name is PredicateName.REQUIRES_RECENT_WITHIN_SECONDS:
        return obligation.kind is ObligationType.MUST_BE_RECORDED_WITHIN
    return obligation.kind in _DEMANDING


def window_of(obligation: Obligation) -> Decimal | None:
    """The seconds of a windowed obligation, or None where it states none.

    `window_seconds` if it is there; else, for `must_be_recorded_within`, the value: a number in its unit (seconds
    unless told), or an ISO 8601 duration of weeks to seconds, the last of which may have a fraction.
    """
    if obligation.window_seconds is not None:
        return obligation.window_seconds
    if obligation.kind is not ObligationType.MUST_BE_RECORDED_WITHIN:
        return None
    value = obligation.value
    if isinstance(value, str):
        return _duration(value)
    factor = _SECONDS.get(obligation.unit or "s")
    return value * factor if isinstance(value, Decimal) and factor is not None else None


def _duration(text: str) -> Decimal | None:
    match = _DURATION.fullmatch(text)
    given = [] if match is None else [part for part in match.groups() if part is not None]
    if match is None or not given or not all(part.isdigit() for part in given[:-1]):
        return None  # ISO 8601 has a fraction in the last part alone
    parts = [Decimal((part or "0").replace(",", ".")) for part in match.groups()]
    seconds = sum((part * size for part, size in zip(parts, _DURATION_PARTS, strict=True)), Decimal(0))
    # As for any number of a graph: one that binary64 would change is not read.
    return seconds if Decimal(repr(float(seconds))) == seconds else None
