"""Sums of an instant and a span that stay within the years 1 to 9999 instead of failing at their edge."""

from datetime import UTC, datetime, timedelta

from assay.kernel.instant import Instant

__all__ = ["later"]

_LAST = Instant(datetime.max.replace(tzinfo=UTC))


def later(at: Instant, span: timedelta) -> Instant:
    """`at + span`, or the last instant there is."""
    try:
        return Instant(at + span)
    except OverflowError:
        return _LAST
