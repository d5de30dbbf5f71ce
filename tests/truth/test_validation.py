"""A claim payload satisfies its schema, or every violation is told by a stable code, always in the same order."""

import pytest

from assay.kernel.errors import CanonicalError
from assay.truth.errors import TruthError
from assay.truth.validation import (
    SchemaValidationError,
    is_field_valid,
    require_schema,
    schema_text,
    validate_claim_payload,
)
from tests.raising import raises
from tests.truth.records import contract

SCHEMA: dict[str, object] = {
    "type": "object",
    "required": ["severity", "water_level_meters"],
    "properties": {
        "severity": {"type": "string", "enum": ["low", "moderate", "high", "critical"]},
        "water_level_meters": {"type": "number", "minimum": 0},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 3}},
        "never": False,
    },
    "additionalProperties": False,
}


def violations(payload: dict[str, object], schema: dict[str, object] = SCHEMA) -> list[tuple[str, str]]:
    with pytest.raises(SchemaValidationError) as refused:
        validate_claim_payload(payload, schema)
    assert refused.value.code == "truth.schema_validation"
    return [(violation.path, violation.code) for violation in refused.value.violations]


@pytest.mark.clause("kaori", "6.5")
def test_a_valid_payload_comes_back_in_its_canonical_form() -> None:
    """As it will be hashed and signed: six places, white space collapsed."""
    payload = {"severity": " high ", "water_level_meters": 1.23456789}
    assert validate_claim_payload(payload, SCHEMA) == {"severity": "high", "water_level_meters": 1.234568}


@pytest.mark.clause("kaori", "6.5")
@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({}, [("severity", "schema.required"), ("water_level_meters", "schema.required")]),
        ({"severity": "wet", "water_level_meters": 0}, [("severity", "schema.enum")]),
        (
            {"severity": 5, "water_level_meters": -1},
            [("severity", "schema.enum"), ("severity", "schema.type"), ("water_level_meters", "schema.minimum")],
        ),
        (
            {"severity": "low", "water_level_meters": 0, "tags": ["ok", "long", 4]},
            [("tags[1]", "schema.max_length"), ("tags[2]", "schema.type")],
        ),
        ({"severity": "low", "water_level_meters": 0, "mood": 1}, [("", "schema.additional_properties")]),
        ({"severity": "low", "water_level_meters": 0, "never": 1}, [("never", "schema.false_schema")]),
    ],
)
def test_violations_have_codes_and_paths_in_a_fixed_order(
    payload: dict[str, object], expected: list[tuple[str, str]]
) -> None:
    """No library's words, no locale, no dependence on the order of members."""
    assert violations(payload) == expected
    assert violations(dict(reversed(payload.items()))) == expected


@pytest.mark.parametrize(
    ("schema", "payload", "code"),
    [
        ({"type": "object", "additionalProperties": False}, {"x": 1}, "schema.additional_properties"),
        ({"type": "object", "minProperties": 1}, {}, "schema.min_properties"),
        ({"type": "object", "dependentRequired": {"a": ["b"]}}, {"a": 1}, "schema.required"),
        ({"type": "object", "not": {}}, {}, "schema.not"),
    ],
)
def test_other_keywords_have_codes_too(schema: dict[str, object], payload: dict[str, object], code: str) -> None:
    assert code in [found for _, found in violations(payload, schema)]


def test_a_payload_is_judged_by_the_text_that_is_signed() -> None:
    """What canonical bytes round away cannot violate, and what has no canonical bytes is refused."""
    validate_claim_payload({"severity": "low", "water_level_meters": -0.0000001}, SCHEMA)
    with pytest.raises(CanonicalError):
        validate_claim_payload({"severity": "low", "water_level_meters": float("nan")}, SCHEMA)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {},
        {"type": "object", "properties": 5},
        {"$schema": "https://json-schema.org/draft/2019-09/schema", "type": "object"},
        {"type": "object", "$ref": "file:///etc/passwd"},
        {"type": "object", "$ref": "#/nowhere"},
    ],
)
def test_a_schema_that_is_none_or_reaches_outside_is_refused(schema: dict[str, object]) -> None:
    with raises(TruthError.schema_form) as refused:
        require_schema(schema)
    assert refused.value.code == "truth.schema_form"


@pytest.mark.clause("kaori", "6.5")
def test_the_shipped_flood_schema_takes_the_specification_s_own_fields() -> None:
    payload = {"severity": "moderate", "water_level_meters": 0.4}
    assert validate_claim_payload(payload, contract().schema) == payload


def test_a_member_is_judged_by_itself_with_all_that_its_schema_refers_to() -> None:
    """Neither what is required of the whole nor other members matter."""
    text = schema_text(
        {
            "type": "object",
            "$defs": {"depth": {"type": "number", "maximum": 50}},
            "properties": {"mean": {"$ref": "#/$defs/depth"}, "peak": {"$ref": "#/properties/mean"}},
            "required": ["mean", "peak"],
            "additionalProperties": False,
        }
    )
    judged = [is_field_valid(text, name, value) for name in ("mean", "peak") for value in (50, 51, "deep")]
    assert judged == [True, False, False] * 2
