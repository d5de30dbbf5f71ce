"""What a window came to, and what is kept of records for the windows of later ones."""

from datetime import timedelta
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from msgspec import Struct

from assay.kernel.instant import Instant
from assay.verdicts.comparison import plain_number
from assay.verdicts.telemetry import Reading, Telemetry

_MICROSECOND = timedelta(microseconds=1)
_MICROSECONDS = Decimal(1_000_000)


class WindowKind(StrEnum):
    """Which number a window comes to."""

    AVERAGE = "average"
    SUM = "sum"
    COUNT = "count"
    MAXIMUM = "maximum"
    AGE = "age"  # seconds since the latest evidence before this record
    RUN = "run"  # for how many seconds the comparison has failed without a break


class WindowDoubt(StrEnum):
    """Why a window cannot be trusted to be whole; the names are those of `Doubt`."""

    KIND = "kind"
    UNIT = "unit"
    WINDOW = "window"  # records that belong to it were dropped


class WindowFact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a window came to; everything that decides is in here.

    `shown` is the number that the model is told and that an assertion calls observed. `total` is the exact sum, as
    text, for sums and averages: these are decided by it and `records`, never by the rounded number. It is the exact
    maximum where a unit was converted.
    """

    obligation_id: str
    kind: WindowKind
    metric: str
    window_seconds: int | float | None
    records: int
    shown: int | float | None = None
    total: str | None = None
    oldest_at: Instant | None = None
    newest_at: Instant | None = None
    doubt: WindowDoubt | None = None


class BufferedRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is kept of a record for the windows of later ones; per tenant and subject."""

    telemetry_id: str
    timestamp: Instant
    readings: dict[str, Reading]


class BufferState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The telemetry buffer of one subject, as Level 2 asks to see it (SKI 9.2)."""

    subject: str
    records: int
    oldest_at: Instant | None
    newest_at: Instant | None
    dropped_until: Instant | None
    keep_seconds: int | float


def exact_value(fact: WindowFact) -> Fraction | None:
    """The sum or average that decides; None for a fact whose shown number is exact."""
    if fact.total is None:
        return None
    total = Fraction(fact.total)  # a decimal text, or a fraction where a unit was converted
    return total / fact.records if fact.kind is WindowKind.AVERAGE else total


def buffer_record(telemetry: Telemetry) -> BufferedRecord:
    return BufferedRecord(
        telemetry_id=telemetry.telemetry_id, timestamp=telemetry.timestamp, readings=telemetry.readings
    )


def span_seconds(span: timedelta) -> int | float:
    return plain_number(Decimal(span // _MICROSECOND) / _MICROSECONDS)
