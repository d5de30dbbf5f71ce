"""What is refused at the door before anything is computed from it."""

from typing import Any

import orjson
import pytest

from assay.truth.errors import TruthError
from assay.truth.limits import LARGEST_OBSERVATION, LARGEST_PAYLOAD, parse_arriving
from assay.truth.observation import parse_observation
from assay.truth.validation import SchemaValidationError, validate_claim_payload
from tests.raising import raises
from tests.truth.records import OBSERVATION, changed


def test_an_ordinary_observation_passes() -> None:
    assert parse_arriving(orjson.dumps(OBSERVATION)) == parse_observation(OBSERVATION)


@pytest.mark.parametrize("year", ["0001", "1969", "2201", "9999"])
def test_a_year_that_nobody_reports_from_is_refused(year: str) -> None:
    """What was recorded before the limit is read all the same."""
    reported = changed(OBSERVATION, "reported_at", f"{year}-06-01T00:00:00Z")
    with raises(TruthError.observation_range):
        parse_arriving(reported)
    assert parse_observation(reported).reported_at.year == int(year)
    captured = changed(OBSERVATION, "evidence_refs.0.capture_time", f"{year}-06-01T00:00:00Z")
    with raises(TruthError.observation_range):
        parse_arriving(captured)


def test_huge_observations_and_payloads_are_refused() -> None:
    large = changed(OBSERVATION, "payload", {"note": "x" * LARGEST_PAYLOAD})
    with raises(TruthError.payload_size):
        parse_arriving(large)
    with raises(TruthError.payload_size):
        parse_arriving(b" " * (LARGEST_OBSERVATION + 1))
    fits = changed(OBSERVATION, "payload", {"note": "x" * (LARGEST_PAYLOAD - 11)})
    assert parse_arriving(fits).payload


@pytest.mark.clause("kaori", "6.5")
@pytest.mark.parametrize("payload", [[], [["severity", "high"]], "text", 5, None])
def test_a_claim_that_is_no_object_is_refused_with_its_code(payload: Any) -> None:  # noqa: ANN401
    """A list of pairs is no object, though Python could make one of it."""
    with pytest.raises(SchemaValidationError) as refused:
        validate_claim_payload(payload, {"type": "object"})
    assert [one.code for one in refused.value.violations] == ["schema.type"]
