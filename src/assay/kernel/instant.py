"""An instant: a moment in UTC with microseconds, passed in as an argument and never read from a clock here."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NewType

from assay.kernel.errors import TypeFormError

Instant = NewType("Instant", datetime)

# Hours and minutes are bounded here: Python up to 3.13 reads the offset `+05:60` as six hours, and Python from 3.14 on
# the hour 24 as the next day. RFC 3339 has neither.
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d"
_RFC3339 = re.compile(
    rf"(\d{{4}}-\d\d-\d\d)[Tt]({_CLOCK}:[0-5]\d)(?:\.(\d{{1,9}}))?([Zz]|[+-]{_CLOCK})",
    re.ASCII,
)
_MICROSECOND_DIGITS = 6
_FINER = re.compile(r"(\.\d{6})\d+(?=[Zz+-])", re.ASCII)
_FIRST = Instant(datetime.min.replace(tzinfo=UTC))


class NaiveDatetimeError(TypeFormError):
    """A datetime without an offset names no instant (Kaori 4.2)."""

    code = "form.naive_datetime"


class MalformedInstantError(TypeFormError):
    """A text is not an RFC 3339 date-time with an offset."""

    code = "form.instant"


def instant_of(moment: datetime) -> Instant:
    """Convert to UTC at once (Kaori 4.2); a naive datetime is refused."""
    if moment.utcoffset() is None:
        raise NaiveDatetimeError(f"expected an aware datetime, got naive `{moment.isoformat()}`")
    try:
        return Instant(moment.astimezone(UTC))
    except OverflowError as error:
        raise MalformedInstantError(f"`{moment.isoformat()}` leaves the years 1 to 9999 in UTC") from error


def instant_before(instant: Instant, seconds: float) -> Instant:
    """`seconds` earlier, but not before the first instant of year 1."""
    try:
        return Instant(instant - timedelta(seconds=seconds))
    except OverflowError:
        return _FIRST


def parse_instant(text: str) -> Instant:
    """Read RFC 3339 with an offset; digits past the microsecond must be zero, since they would be lost."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        if _RFC3339.fullmatch(text + "Z"):
            raise NaiveDatetimeError(f"expected an offset or `Z`, got `{text}`")
        raise MalformedInstantError(f"expected an RFC 3339 date-time with an offset, got `{text[:80]}`")
    date, time, fraction, offset = match.groups()
    digits = (fraction or "").ljust(_MICROSECOND_DIGITS, "0")
    if digits[_MICROSECOND_DIGITS:].strip("0"):
        raise MalformedInstantError(f"expected at most microseconds, got `{text}`")
    told = f"{date}T{time}.{digits[:_MICROSECOND_DIGITS]}{'+00:00' if offset in 'Zz' else offset}"
    try:
        moment = datetime.fromisoformat(told)
    except ValueError as error:
        raise MalformedInstantError(f"`{text}` is not a date-time: {error}") from error
    return Instant(moment) if moment.tzinfo is UTC else instant_of(moment)


def parse_foreign_instant(text: str) -> Instant:
    """As `parse_instant`, for documents of others: RFC 3339 limits no fraction, and what is finer than ours is cut.

    Clocks of other languages tell hundreds of nanoseconds or single ones; a cut moment is never later than the real
    one. What is hashed is the document as it was received, or the instant as we write it, and never half of each.
    """
    return parse_instant(_FINER.sub(r"\1", text))


# One moment is written many times over: in an entry, its events and its rows, and for all that came with it.
@lru_cache(maxsize=256)
def render_instant(instant: datetime) -> str:
    """UTC with `Z`; fractional seconds only when non-zero, trailing zeros trimmed."""
    moment = instant if instant.tzinfo is UTC else instant_of(instant)
    text = moment.isoformat().removesuffix("+00:00")
    return (text.rstrip("0") if moment.microsecond else text) + "Z"
