"""Moments as people read them: to the second with their zone, and how far away they are."""

from datetime import datetime

from assay.kernel.instant import parse_instant

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def moment(given: datetime | str | None) -> str:
    """The exact one stands beside it."""
    return "–" if given is None else f"{_parsed(given):%Y-%m-%d %H:%M:%S} UTC"


def ago(given: datetime | str | None, now: datetime) -> str:
    """In one unit, since nobody reads more; the smaller one where one of the larger would hide half of it."""
    if given is None:
        return "–"
    seconds = int((now - _parsed(given)).total_seconds())
    size = abs(seconds)
    words = f"{size} s" if size < 2 * _MINUTE else f"{size // _MINUTE} min"
    if size >= 2 * _HOUR:
        words = f"{size // _HOUR} h" if size < 2 * _DAY else f"{size // _DAY} d"
    return f"in {words}" if seconds < 0 else f"{words} ago"


def _parsed(given: datetime | str) -> datetime:
    return parse_instant(given) if isinstance(given, str) else given
