"""Spans of contracts, and their sums with instants, which stay within the years 1 to 9999 instead of failing there."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

from assay.kernel.instant import Instant
from assay.truth.duration import parse_duration

EPOCH = Instant(datetime(1970, 1, 1, tzinfo=UTC))
_MICROSECOND = timedelta(microseconds=1)
_LAST = Instant(datetime.max.replace(tzinfo=UTC))

# A deployment has a few contracts, each with a few spans, and every compilation asks for them.
span_of = lru_cache(maxsize=1 << 8)(parse_duration)


def later(at: Instant, span: timedelta) -> Instant:
    """`at + span`, or the last instant there is."""
    try:
        return Instant(at + span)
    except OverflowError:
        return _LAST


def microseconds(at: Instant) -> int:
    """Since 1970: the same order as instants have, and quicker to compare."""
    return (at - EPOCH) // _MICROSECOND
