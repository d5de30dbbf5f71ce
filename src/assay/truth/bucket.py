"""Time buckets (Kaori 4.4): an event's time, truncated to the start of its bucket, always in UTC.

Every bucket starts a whole number of durations after the epoch, so buckets shorter than a day start with the day, and
those of several days, weeks included, count from Thursday, 1 January 1970. Times before the epoch truncate downwards.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from assay.kernel.instant import Instant, instant_of
from assay.truth.errors import BucketRangeError, TruthError

_EPOCH = Instant(datetime(1970, 1, 1, tzinfo=UTC))
_DAY = timedelta(days=1)
_MINUTE = timedelta(minutes=1)
_DURATION = re.compile(
    r"P(?:(?P<weeks>\d{1,6})W|(?:(?P<days>\d{1,7})D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d{1,8})H)?(?:(?P<minutes>\d{1,8})M)?(?:(?P<seconds>\d{1,8})S)?)?)",
    re.ASCII,
)


def bucket_datetime(event_time: datetime, duration: str) -> Instant:
    """Truncate, never round (Kaori 4.2); a naive datetime and an unusable duration are refused."""
    step = parse_bucket_duration(duration)
    moment = instant_of(event_time)
    try:
        return Instant(_EPOCH + (moment - _EPOCH) // step * step)
    except OverflowError as error:
        raise BucketRangeError(f"the `{duration}` bucket of `{moment.isoformat()}` starts before the year 1") from error


def format_bucket(bucket: datetime) -> str:
    """`YYYY-MM-DDTHH:MMZ`; an instant with seconds starts no bucket, and dropping them would hide a mistake."""
    moment = instant_of(bucket)
    if moment.second or moment.microsecond:
        raise TruthError.bucket_unaligned(f"expected a whole minute, got `{moment.isoformat()}`")
    return moment.replace(tzinfo=None).isoformat(timespec="minutes") + "Z"


# Every observation asks for that of its contract.
@lru_cache(maxsize=1 << 8)
def parse_bucket_duration(text: str) -> timedelta:
    """Read an ISO 8601 duration of whole minutes that divides a day or is whole days.

    Anything else would drift against the day, have no fixed length (months, years), or give two buckets one name.
    """
    match = _DURATION.fullmatch(text)
    parts = {} if match is None else {unit: int(count) for unit, count in match.groupdict().items() if count}
    length = timedelta(**parts)
    if not length or length % _MINUTE or (_DAY % length and length % _DAY):
        raise TruthError.bucket_duration(
            f"expected an ISO 8601 duration of whole minutes that divides a day or is whole days, got `{text[:80]}`"
        )
    return length
