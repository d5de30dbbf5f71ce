"""A telemetry record is read exactly as it was written, or refused with a code."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.canonical import canonical_digest
from assay.kernel.errors import Error
from assay.verdicts._problem import InputProblemCode
from assay.verdicts.errors import TelemetryError, VerdictsError
from assay.verdicts.telemetry import (
    MAX_READINGS,
    MAX_TEXT,
    Reading,
    SkewLimits,
    check_skew,
    find_reading,
    is_repeat,
    parse_telemetry,
)
from tests.raising import raises
from tests.verdicts.judging import NOON, digest, record

GOOD: dict[str, Any] = {
    "measurement_id": "m-1",
    "timestamp": "2026-03-02T13:00:00+01:00",
    "subject": "stack-1",
    "measurement": {"nox": 48.5, "flow": {"value": 3, "unit": "m3/h"}, "pump": {"state": "on", "bypassed": False}},
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def problems(value: object) -> dict[str, InputProblemCode]:
    with pytest.raises(TelemetryError) as refused:
        parse_telemetry(json.dumps(value))
    return {problem.path: problem.code for problem in refused.value.problems}


def test_a_timestamp_to_the_nanosecond_is_read_and_the_record_hashed_as_it_came() -> None:
    finer = GOOD | {"timestamp": "2026-03-02T13:00:00.000000999+01:00"}
    found = parse_telemetry(json.dumps(finer))
    assert found.timestamp == NOON
    assert found.telemetry_hash == canonical_digest(finer)


def test_a_record_becomes_readings_by_dotted_path() -> None:
    found = parse_telemetry(json.dumps(GOOD))
    assert found.telemetry_id == "m-1"
    assert found.timestamp == NOON
    assert found.readings == {
        "nox": Reading(value=48.5),
        "flow": Reading(value=3, unit="m3/h"),
        "pump.state": Reading(value="on"),
        "pump.bypassed": Reading(value=False),
    }
    assert find_reading(found.readings, "flow.value") == Reading(value=3, unit="m3/h")
    assert find_reading(found.readings, "pump") is None
    assert found.jurisdiction is None


@pytest.mark.clause("ski", "7.1")
def test_the_hash_is_of_the_canonical_record_as_received() -> None:
    found = parse_telemetry(json.dumps(GOOD, indent=3))
    assert found.telemetry_hash == canonical_digest(GOOD)
    assert parse_telemetry(found.canonical) == found


@pytest.mark.parametrize("name", ["measurement_id", "telemetry_id", "id"])
def test_any_of_three_names_is_the_id(name: str) -> None:
    rest = {key: value for key, value in GOOD.items() if key != "measurement_id"}
    assert parse_telemetry({**rest, name: "x"}).telemetry_id == "x"
    assert problems({**rest}) == {"telemetry_id": "required"}


def test_two_names_must_say_the_same() -> None:
    assert parse_telemetry({**GOOD, "id": "m-1"}).telemetry_id == "m-1"
    assert problems({**GOOD, "id": "m-2"}) == {"id": "ambiguous"}


@pytest.mark.parametrize(
    ("change", "path", "code"),
    [
        ({"timestamp": "2026-03-02T13:00:00"}, "timestamp", "naive_datetime"),
        ({"timestamp": "yesterday"}, "timestamp", "instant"),
        ({"timestamp": 7}, "timestamp", "type"),
        ({"timestamp": None}, "timestamp", "required"),
        ({"subject": ""}, "subject", "form"),
        ({"subject": " stack"}, "subject", "form"),
        ({"subject": "a\nb"}, "subject", "form"),
        ({"subject": "stack\u202e1"}, "subject", "form"),
        ({"subject": "x" * 257}, "subject", "form"),
        ({"subject": ["stack"]}, "subject", "type"),
        ({"subject": None}, "subject", "required"),
        ({"tenant_id": "NOT A TENANT"}, "tenant_id", "form"),
        ({"tenant_id": 7}, "tenant_id", "form"),
        ({"jurisdiction": 7}, "jurisdiction", "type"),
        ({"jurisdicton": "DE"}, "jurisdicton", "unknown_field"),
        ({"measurement": [1]}, "measurement", "type"),
        ({"measurement": None}, "measurement", "required"),
        ({"measurement": {"a": [1]}}, "measurement.a", "type"),
        ({"measurement": {"a": {"value": [1], "unit": "m"}}}, "measurement.a", "type"),
        ({"measurement": {"a": {"value": 1, "unit": 7}}}, "measurement.a.unit", "form"),
        ({"measurement": {"a": {"value": 1, "unit": ""}}}, "measurement.a.unit", "form"),
        ({"measurement": {"a": "x" * (MAX_TEXT + 1)}}, "measurement.a", "text"),
        ({"measurement": {"a": "\0"}}, "measurement.a", "text"),
        ({"measurement": {"": 1}}, "measurement", "form"),
        ({"measurement": {"a": {"b": 1}, "a.b": 2}}, "measurement.a.b", "ambiguous"),
        ({"measurement": {"a": {"value": 72, "unit": "m"}, "a.value": 12}}, "measurement.a.value", "ambiguous"),
        ({"measurement": {str(n): n for n in range(MAX_READINGS + 1)}}, "measurement", "size"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(change: dict[str, object], path: str, code: str) -> None:
    assert problems({**GOOD, **change}) == {path: code}


def test_everything_that_is_wrong_is_told_at_once() -> None:
    assert problems({"x": 1}) == {
        "x": "unknown_field",
        "telemetry_id": "required",
        "timestamp": "required",
        "subject": "required",
        "measurement": "required",
    }
    assert problems([1]) == {"": "type"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"measurement": {"a": NaN}}', "json.non_finite"),
        ('{"measurement": {"a": 1e999}}', "json.number_range"),
        ('{"measurement": {"a": 9007199254740993}}', "json.number_range"),
        ('{"measurement": {"a": 0.1000000000000000055}}', "json.inexact_number"),
        ('{"id": "a", "id": "b"}', "json.duplicate_key"),
        ('{"a": ' * 9 + "1" + "}" * 9, "json.depth"),
        ('{"subject": "' + "x" * 70000 + '"}', "json.size"),
        ('{"subject": "\\ud800"}', "json.lone_surrogate"),
    ],
)
def test_numbers_and_texts_that_readers_could_take_differently_are_refused(text: str, code: str) -> None:
    with pytest.raises(Error) as refused:
        parse_telemetry(text)
    assert refused.value.code == code


@given(VALUES)
def test_no_value_crashes(value: object) -> None:
    """Anything at all is a record or a coded error."""
    for text in (json.dumps(value), json.dumps({**GOOD, "measurement": value}), json.dumps({**GOOD, "subject": value})):
        with suppress(Error):
            assert parse_telemetry(text).telemetry_hash


def test_a_jurisdiction_and_a_tenant_are_read() -> None:
    found = parse_telemetry({**GOOD, "jurisdiction": "Côte-d'Or", "tenant_id": "acme"})
    assert (found.jurisdiction, found.tenant_id) == ("Côte-d'Or", "acme")
    assert parse_telemetry({**GOOD, "jurisdiction": ""}).jurisdiction is None


def test_texts_are_compared_in_nfc() -> None:
    found = parse_telemetry({**GOOD, "measurement": {"e\u0301tat": "e\u0301"}})
    assert found.readings == {"\u00e9tat": Reading(value="\u00e9")}


def test_a_clock_too_far_off_is_refused() -> None:
    late, early = record({}, at="2026-03-02T11:59:00Z"), record({}, at="2026-03-02T12:05:01Z")
    check_skew(late, NOON, SkewLimits())
    check_skew(late, NOON, SkewLimits(behind_seconds=60))
    with raises(VerdictsError.telemetry_skew):
        check_skew(early, NOON, SkewLimits())
    with raises(VerdictsError.telemetry_skew):
        check_skew(late, NOON, SkewLimits(behind_seconds=59))


def test_a_known_id_is_a_repeat_or_a_conflict() -> None:
    one = record({"a": 1})
    assert not is_repeat(one, None)
    assert is_repeat(one, one.telemetry_hash)
    with raises(VerdictsError.telemetry_conflict):
        is_repeat(one, digest("another"))
