"""What a graph of SKI 2 needs to become one of SKI 3."""

import json
from typing import Any

import pytest

from assay.verdicts.graph.graph import GraphForm, KnowledgeGraph
from assay.verdicts.graph.hash import stamp_versions
from assay.verdicts.graph.parse import parse_graph
from assay.verdicts.graph.upgrade import suggest_upgrades, upgrade_graph
from assay.verdicts.graph.validate import validate_graph
from tests.verdicts.graph.graphs import read, sound

_RULES: list[dict[str, Any]] = [
    {"id": "a", "metric": "m", "predicate": "lte", "value": 5, "jurisdiction": "eu", "track": "A"},
    {"id": "b", "metric": "n", "predicate": "as seen fit", "risk_tier": "low", "effective_date": "2020-01-01"},
    {"id": "c", "metric": "o", "predicate": "window_sum", "max": 5, "seconds": 60, "risk_tier": "low"},
]


def _flat() -> KnowledgeGraph:
    return parse_graph(json.dumps({"metadata": {"version": "2.1"}, "rules": _RULES}).encode())


@pytest.mark.clause("ski", "11.2")
def test_rules_without_typed_obligations_are_reported_with_what_to_write() -> None:
    """Each step by rule; the typed node is given where it can be derived."""
    steps = suggest_upgrades(_flat())
    assert [(step.rule, step.code.value) for step in steps] == [
        ("a", "TYPE_OBLIGATION"),
        ("a", "ADD_CITATION"),
        ("a", "ADD_EFFECTIVE_DATE"),
        ("a", "ADD_RISK_TIER"),
        ("a", "REMOVE_TRACK"),
        ("b", "WRITE_OBLIGATION"),
        ("b", "ADD_CITATION"),
        ("c", "TYPE_OBLIGATION"),
        ("c", "ADD_CITATION"),
        ("c", "ADD_EFFECTIVE_DATE"),
    ]
    assert steps[0].node is not None
    assert (steps[0].node["obligation_type"], steps[0].node["value"]) == ("must_not_exceed", 5)
    assert all(step.message for step in steps)


def test_a_typed_graph_needs_nothing_unless_a_rule_has_no_obligation() -> None:
    """Then somebody writes one."""
    assert suggest_upgrades(read(sound())) == ()
    document = sound()
    document["edges"] = [each for each in document["edges"] if each["type"] != "consists_of"]
    document["edges"].append({"type": "consists_of", "from": "rule", "to": "nothing"})
    assert [step.code.value for step in suggest_upgrades(read(document))] == ["WRITE_OBLIGATION"]


@pytest.mark.clause("ski", "11.2")
def test_an_upgraded_graph_is_typed_and_says_the_same() -> None:
    """It is still for people to complete: the validator names what is missing."""
    upgraded = upgrade_graph(_flat())
    graph = parse_graph(json.dumps(stamp_versions(upgraded)).encode())
    assert graph.form is GraphForm.TYPED
    assert graph.metadata["schema_version"] == "3.0"
    before = [(node.metric, node.obligation_type, node.value) for node in _flat().obligations]
    after = [(node.metric, node.obligation_type, node.value) for node in graph.obligations]
    assert after == before
    # What a type says is written as a type; a predicate over time stays one.
    assert [node.predicate for node in graph.obligations] == [None, None, _flat().obligations[2].predicate]
    codes = {issue.code.value for issue in validate_graph(graph)}
    assert {"MISSING_CITATION", "MISSING_EFFECTIVE_DATE"} <= codes
