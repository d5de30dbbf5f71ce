"""Conditions of exemptions: formal where a machine can evaluate them wholly."""

from decimal import Decimal
from unicodedata import normalize

import pytest

from assay.verdicts.graph.condition import Condition, parse_conditions
from assay.verdicts.graph.obligation_type import ObligationType as Type


@pytest.mark.parametrize(
    ("text", "metric", "predicate", "value"),
    [
        ("startup == true", "startup", Type.MUST_EQUAL, True),
        ('fuel.kind == "gas oil"', "fuel.kind", Type.MUST_EQUAL, "gas oil"),
        ("load != 0", "load", Type.MUST_NOT_EQUAL, Decimal(0)),
        ("load <= 0.1", "load", Type.MUST_NOT_EXCEED, Decimal("0.1")),
        ("load >= 1", "load", Type.MUST_BE_AT_LEAST, Decimal(1)),
        ("load<1", "load", Type.MUST_BE_BELOW, Decimal(1)),
        ("load > -1e2", "load", Type.MUST_BE_ABOVE, Decimal(-100)),
        ('fuel in ["gas", 1]', "fuel", Type.MUST_BE_ONE_OF, ("gas", Decimal(1))),
        ("fuel not in []", "fuel", Type.MUST_NOT_BE_ONE_OF, ()),
        ('fuel == "oil and gas"', "fuel", Type.MUST_EQUAL, "oil and gas"),
        ('fuel in ["oil and gas", "a"]', "fuel", Type.MUST_BE_ONE_OF, ("oil and gas", "a")),
        ('fuel == "a\\" and b"', "fuel", Type.MUST_EQUAL, 'a" and b'),
        ("größe.höhe == true", "größe.höhe", Type.MUST_EQUAL, True),
        ("gro\u0308ße == true", "größe", Type.MUST_EQUAL, True),
        ("वज़न < 5", normalize("NFC", "वज़न"), Type.MUST_BE_BELOW, Decimal(5)),
        ("_重量2 > 1", "_重量2", Type.MUST_BE_ABOVE, Decimal(1)),
    ],
)
def test_a_comparison_is_formal(text: str, metric: str, predicate: Type, value: object) -> None:
    """A metric, an operator, and a JSON value."""
    assert parse_conditions(text) == (Condition(metric=metric, predicate=predicate, value=value),)  # type: ignore[arg-type]  # as given


def test_conditions_joined_by_and_hold_together() -> None:
    """All of them are formal, or none counts."""
    found = parse_conditions("startup == true and hours < 12")
    assert found is not None
    assert [condition.metric for condition in found] == ["startup", "hours"]
    assert parse_conditions("startup == true and in an emergency") is None
    mixed = parse_conditions('a == "x and y" and b == "z" and größe == 1')
    assert mixed is not None
    assert [condition.metric for condition in mixed] == ["a", "b", "größe"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "in an emergency",
        "when the operator could not foresee the breakdown",
        "load < high",
        'load < "5"',
        "load < true",
        "load == null",
        "load == [1]",
        "load in 5",
        "load in [1, null]",
        "load in [[1]]",
        "load == 0.12345678901234567890",
        "startup == true or hours < 12",
        "import os == 1",
        'fuel == "oil and gas',
        'fuel == "oil" and gas"',
        "load ≤ 5",
        "load≤ == 5",
        "load\u00a0 == 5",
        "\u200bload == 5",
    ],
)
def test_everything_else_is_informal(text: str) -> None:
    """A person decides; nothing is half understood."""
    assert parse_conditions(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "a ==" + " " * 200_000 + "x",
        "a" + " " * 200_000,
        " " * 200_000 + "and b",
        "a == 1" + " " * 200_000 + "b",
        '"' + '\\"' * 200_000,
        "ä" * 200_000,
    ],
)
def test_a_hostile_text_costs_no_more_than_its_length(text: str) -> None:
    """Graphs come from outside; a run of blanks is no reason to stop working."""
    assert parse_conditions(text) is None
