"""Factors between units as pint knows them: exact fractions, or none."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from assay.adapters.units_pint import PintUnits
from assay.verdicts.graph.draft_units import draft_units
from assay.verdicts.graph.parse import parse_graph
from assay.verdicts.graph.unit import Conversion
from tests.surfaces.cli.running import ask
from tests.verdicts.rulings import document_of


@pytest.fixture(scope="module")
def book() -> PintUnits:
    return PintUnits()


@pytest.mark.parametrize(
    ("source", "target", "factor", "offset"),
    [
        ("g/m3", "mg/m3", "1000", "0"),
        ("g/Nm3", "mg/Nm3", "1000", "0"),
        ("lb", "kg", "45359237/100000000", "0"),
        ("degF", "degC", "5/9", "-160/9"),
        ("MW", "mW", "1000000000", "0"),
        ("ppm", "%", "1/10000", "0"),
        ("psi", "kPa", "8896443230521/1290320000000", "0"),
    ],
)
def test_a_factor_is_an_exact_fraction(book: PintUnits, source: str, target: str, factor: str, offset: str) -> None:
    wanted = Conversion(source=source, target=target, factor=Fraction(factor), offset=Fraction(offset))
    assert book.find(source, target) == wanted


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("g/Nm3", "mg/m3"),  # under other conditions
        ("kg", "m"),
        ("degree", "radian"),  # a constant that is itself rounded
        ("frobs", "kg"),
        ("kg", "__import__('os')"),
        ("", "kg"),
        ("%%", "kg"),
    ],
)
def test_what_is_not_exact_or_not_known_is_none(book: PintUnits, source: str, target: str) -> None:
    assert book.find(source, target) is None


def test_conversions_are_drafted_into_the_graph(book: PintUnits, tmp_path: Path) -> None:
    """Once for each unit of an obligation; what is declared already stays, and what nobody knows is told."""
    limits = [("oa", "mg/m3"), ("ob", "kg"), ("oc", None)]
    obligations = [
        {"id": name, "type": "must_not_exceed", "metric": name, "value": 5, **({} if unit is None else {"unit": unit})}
        for name, unit in limits
    ]
    declared = [{"from": "t", "to": "kg", "factor": "1000"}]
    rules = [{"id": "r1", "tier": "low", "obligations": obligations}]
    document = document_of(rules, unit_conversions=declared)
    found = draft_units(document, ["g/m3", "t", "frobs", "kg", "g/m3"], book)
    assert (found.drafted, found.unknown) == ((("g/m3", "mg/m3"),), ("frobs",))
    graph = parse_graph(json.dumps(found.document).encode())
    assert {one.source for group in graph.units.by_target.values() for one in group} == {"g/m3", "mg/m3", "t", "kg"}
    file, out = tmp_path / "graph.json", tmp_path / "with.json"
    file.write_text(json.dumps(document))
    answer = ask("graph", "units", file, "--from", "g/m3", "--from", "frobs", "--output", out)
    assert (answer.code, "no conversion found for frobs" in answer.err) == (0, True)
    assert json.loads(out.read_text())["metadata"]["unit_conversions"][1]["factor"] == "1000"
