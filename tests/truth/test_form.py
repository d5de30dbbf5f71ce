"""A contract says what observers are asked for, and a payload that answers otherwise is told so at once."""

from typing import Any

import pytest

from assay.truth.contract import Widget
from assay.truth.errors import ContractError, TruthError
from assay.truth.form import form_of, verify_payload
from tests.raising import raises
from tests.truth.compiling import flood
from tests.truth.records import contract


def _fields(*fields: dict[str, Any]) -> dict[str, object]:
    return {"ui_schema.fields": list(fields)}


@pytest.mark.clause("kaori", "6.1")
def test_the_form_is_what_the_contract_asks_with_what_its_schema_allows() -> None:
    """A choice offers what the claim may say; evidence and place are asked for as the contract has them."""
    form = form_of(flood())
    assert (form.title, form.place, form.claim_type) == ("Flood report", "geo", "earth.flood.v1")
    assert [(one.name, one.widget) for one in form.fields] == [
        ("severity", Widget.CHOICE),
        ("water_level_meters", Widget.NUMBER),
        ("road_passable", Widget.TOGGLE),
    ]
    assert form.fields[0].options == ("low", "moderate", "high", "critical")
    assert (form.evidence.min_count, form.evidence.max_count) == (1, 10)


def test_without_a_form_each_path_of_the_claim_is_asked_for_once() -> None:
    form = form_of(flood({"ui_schema": {}}))
    assert [(one.name, one.widget) for one in form.fields] == [
        ("severity", Widget.CHOICE),
        ("water_level_meters", Widget.NUMBER),
        ("road_passable", Widget.TOGGLE),
    ]
    assert form.title == "earth.flood.v1"
    assert form_of(contract("research_artifact_v1")).place == "artifact"


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({"severity": 3}, "expected a text as `severity`, got int"),
        ({"water_level_meters": "deep"}, "expected a number as `water_level_meters`, got str"),
        ({"water_level_meters": True}, "expected a number as `water_level_meters`, got bool"),
        ({"road_passable": 1}, "expected true or false as `road_passable`, got int"),
    ],
)
def test_a_member_of_another_kind_is_refused(payload: dict[str, object], expected: str) -> None:
    with raises(TruthError.payload_form) as refused:
        verify_payload(flood(), payload)
    assert str(refused.value) == expected
    assert refused.value.code == "truth.payload_form"


def test_what_is_not_said_or_not_asked_for_is_not_judged() -> None:
    """Null says nothing, and a value that the claim's schema refuses is the compiler's matter."""
    verify_payload(flood(), {"severity": None, "water_level_meters": 1e9, "other": [1]})
    verify_payload(flood(), {"severity": "unheard of"})


def test_what_a_form_requires_and_the_only_options_it_names_are_held_to() -> None:
    """At a path too; every member is told at once."""
    asked = flood(
        _fields(
            {"name": "water.colour", "widget": "choice", "options": ["clear", "brown"]},
            {"name": "depth", "widget": "number", "required": True},
        )
    )
    verify_payload(asked, {"water": {"colour": "brown"}, "depth": 1})
    with raises(TruthError.payload_form) as refused:
        verify_payload(asked, {"water": {"colour": "red"}})
    assert (
        str(refused.value) == "expected one of clear, brown as `water.colour`, got `red`; expected `depth`, got nothing"
    )
    with raises(TruthError.payload_form):
        verify_payload(asked, {"water": "brown"})


@pytest.mark.parametrize(
    ("field", "path", "code"),
    [
        ({"name": "depth", "widget": "dial"}, "ui_schema.fields[0].widget", "choice"),
        ({"name": "depth"}, "ui_schema.fields[0].widget", "required"),
        ({"name": "depth", "widget": "number", "colour": "red"}, "ui_schema.fields[0].colour", "unknown_key"),
        ({"name": "depth", "widget": "number", "options": ["1"]}, "ui_schema.fields[0].options", "agreement"),
        ({"name": "a", "widget": "choice", "options": ["x", "x"]}, "ui_schema.fields[0].options", "duplicate"),
    ],
)
def test_a_form_that_cannot_be_shown_is_refused_with_its_contract(field: dict[str, Any], path: str, code: str) -> None:
    with pytest.raises(ContractError) as refused:
        flood(_fields(field))
    assert [(one.path, one.code) for one in refused.value.problems] == [(path, code)]


def test_a_form_asks_for_each_member_once_and_may_say_more_of_its_own() -> None:
    with pytest.raises(ContractError) as refused:
        flood(_fields({"name": "a", "widget": "text"}, {"name": "a", "widget": "text"}))
    assert [one.code for one in refused.value.problems] == ["duplicate"]
    assert flood({"ui_schema.theme": {"colour": "blue"}}).ui_schema["theme"] == {"colour": "blue"}
