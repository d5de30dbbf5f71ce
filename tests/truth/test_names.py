"""The names of Kaori's own examples can be imported, and do what the examples say."""

from datetime import UTC, datetime

import pytest

from assay.truth.canonical import canonical_hash, canonical_json, canonicalize
from assay.truth.time import NaiveDatetimeError, bucket_datetime, format_bucket
from assay.truth.validation import SchemaValidationError, validate_claim_payload
from tests.truth.records import hash_of_text


@pytest.mark.clause("kaori", "3.3")
def test_the_three_canonical_functions_use_kaori_s_rules() -> None:
    """Bytes, text and hash of one value; white space collapses, floats have six places."""
    value = {"b": " x  y ", "a": 0.1234567}
    assert canonical_json(value) == '{"a":0.123457,"b":"x y"}'
    assert canonicalize(value) == canonical_json(value).encode()
    assert canonical_hash(value) == hash_of_text('{"a":0.123457,"b":"x y"}')


@pytest.mark.clause("kaori", "4.4")
def test_the_two_functions_of_time_give_the_example_s_bucket() -> None:
    event_time = datetime(2026, 1, 7, 12, 34, 56, tzinfo=UTC)
    assert format_bucket(bucket_datetime(event_time, "PT1H")) == "2026-01-07T12:00Z"
    with pytest.raises(NaiveDatetimeError):
        bucket_datetime(event_time.replace(tzinfo=None), "PT1H")


@pytest.mark.clause("kaori", "6.5")
def test_the_validator_raises_the_example_s_error() -> None:
    with pytest.raises(SchemaValidationError):
        validate_claim_payload({}, {"type": "object", "required": ["severity"]})
