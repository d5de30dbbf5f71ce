"""Buckets truncate in UTC, count from the epoch, and refuse what would drift."""

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.instant import NaiveDatetimeError, parse_instant
from assay.truth.bucket import bucket_datetime, format_bucket, parse_bucket_duration
from assay.truth.errors import BucketRangeError, TruthError
from tests.raising import raises

VECTORS = Path(__file__).parents[1] / "vectors" / "kaori" / "buckets.json"
CASES = json.loads(VECTORS.read_text())["cases"]


@pytest.mark.clause("kaori", "4.2")
@pytest.mark.clause("kaori", "4.4")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['event_time']}-{case['duration']}")
def test_every_published_bucket_is_met(case: dict[str, str]) -> None:
    """Truncated, never rounded, after the conversion to UTC."""
    bucket = bucket_datetime(parse_instant(case["event_time"]), case["duration"])
    assert format_bucket(bucket) == case["ref"]


# Worked out by hand from the rule: whole durations since 1970-01-01T00:00Z, downwards.
@pytest.mark.parametrize(
    ("event", "duration", "expected"),
    [
        ("2026-01-07T13:37:42Z", "PT15M", "2026-01-07T13:30Z"),
        ("2026-01-07T13:37:42Z", "PT4H", "2026-01-07T12:00Z"),
        ("2026-01-07T13:37:42Z", "P1D", "2026-01-07T00:00Z"),
        ("2026-01-07T13:37:42Z", "PT24H", "2026-01-07T00:00Z"),
        ("2026-01-07T13:37:42Z", "PT60S", "2026-01-07T13:37Z"),
        ("1970-01-08T00:00:00Z", "P1W", "1970-01-08T00:00Z"),
        ("1970-01-07T23:59:59.999999Z", "P1W", "1970-01-01T00:00Z"),
        ("1970-01-07T23:59:59Z", "P7D", "1970-01-01T00:00Z"),
        ("1969-12-31T23:59:59Z", "P1D", "1969-12-31T00:00Z"),
        ("1969-12-31T23:59:59Z", "P1W", "1969-12-25T00:00Z"),
        ("1969-12-31T23:59:59Z", "P3D", "1969-12-29T00:00Z"),
        ("0001-01-01T00:00:59Z", "PT1M", "0001-01-01T00:00Z"),
    ],
)
@pytest.mark.clause("kaori", "4.4")
def test_longer_buckets_count_from_the_epoch_and_downwards_before_it(event: str, duration: str, expected: str) -> None:
    """A week starts on the epoch's Thursday."""
    assert format_bucket(bucket_datetime(parse_instant(event), duration)) == expected


@pytest.mark.parametrize(
    "duration",
    [
        *("", "P", "PT", "P1DT", "1H", "pt1h", "PT0M", "P0D", "PT1S", "PT90S", "PT7M", "PT5H", "PT25H", "P1M", "P1Y"),
        *("PT1.5H", "PT-1H", "-PT1H", "P1DT1H", "P1W1D", "PT1H ", "PT\u0661H", "P99999999999D"),
    ],
)
def test_a_duration_that_does_not_fit_the_day_is_refused(duration: str) -> None:
    """Months and years have no length, seconds no place in a key, and 5 hours drift against the day."""
    with raises(TruthError.bucket_duration) as caught:
        bucket_datetime(parse_instant("2026-01-07T00:00:00Z"), duration)
    assert caught.value.code == "truth.bucket_duration"


@pytest.mark.parametrize(("text", "minutes"), [("P1DT24H", 2880), ("P2W", 20160), ("PT1H30M", 90), ("PT720M", 720)])
def test_equal_lengths_may_be_written_in_several_ways(text: str, minutes: int) -> None:
    """Only the length counts."""
    assert parse_bucket_duration(text) == timedelta(minutes=minutes)


@pytest.mark.clause("kaori", "4.2")
def test_a_naive_datetime_has_no_bucket() -> None:
    """Without an offset it names no instant."""
    naive = datetime(2026, 1, 7, 12)  # noqa: DTZ001  naive on purpose
    with pytest.raises(NaiveDatetimeError):
        bucket_datetime(naive, "PT1H")
    with pytest.raises(NaiveDatetimeError):
        format_bucket(naive)


def test_a_bucket_before_the_year_one_is_refused() -> None:
    """There is no way to write it."""
    with pytest.raises(BucketRangeError):
        bucket_datetime(parse_instant("0001-01-02T00:00:00Z"), "P9999999D")


def test_an_instant_with_seconds_is_no_bucket() -> None:
    """Dropping the seconds would hide a mistake."""
    for text in ("2026-01-07T12:00:01Z", "2026-01-07T12:00:00.000001Z"):
        with raises(TruthError.bucket_unaligned):
            format_bucket(parse_instant(text))


@given(
    moment=st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1)),  # noqa: DTZ001  given a zone below
    offset=st.integers(-14 * 60, 14 * 60),
    duration=st.sampled_from(["PT1M", "PT15M", "PT1H", "PT4H", "PT6H", "P1D", "P3D", "P1W"]),
)
def test_an_event_lies_in_its_bucket_and_a_bucket_in_itself(moment: datetime, offset: int, duration: str) -> None:
    """Start <= event < start + duration; bucketing twice changes nothing; the zone does not matter."""
    event = moment.replace(tzinfo=timezone(timedelta(minutes=offset)))
    bucket = bucket_datetime(event, duration)
    assert bucket <= event < bucket + parse_bucket_duration(duration)
    assert bucket_datetime(bucket, duration) == bucket
