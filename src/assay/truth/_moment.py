"""Spans of contracts, and their sums with instants, which stay within the years 1 to 9999 instead of failing there."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

from assay.kernel.instant import Instant
from assay.truth.duration import parse_duration

__all__ = ["later", "span_of"]

_LAST = Instant(datetime.max.replace(tzinfo=UTC))

# A deployment has a few contracts, each with a few spans, and every compilation asks for them.
span_of = lru_cache(maxsize=1 << 8)(parse_duration)


def later(at: Instant, span: timedelta) -> Instant:
    """`at + span`, or the last instant there is."""
    try:
        return Instant(at + span)
    except OverflowError:
        return _LAST
