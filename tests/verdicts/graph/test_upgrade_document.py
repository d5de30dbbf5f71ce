"""Graphs as other implementations write them become graphs that people can review, and every change is told."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.verdicts.docket import open_docket, parts_of
from assay.verdicts.graph.graph import GraphForm
from assay.verdicts.graph.index import build_index
from assay.verdicts.graph.parse import parse_graph
from assay.verdicts.graph.upgrade_document import ALWAYS, UpgradedGraph, upgrade_document
from assay.verdicts.slice import slice_graph
from assay.verdicts.telemetry import parse_telemetry
from assay.verdicts.verify import expected_verdict, judge_all
from assay.verdicts.window import window_facts
from assay.verdicts.window_fact import BufferedRecord, buffer_record
from tests.verdicts.graph.graphs import sound

_TYPED: dict[str, Any] = {
    "metadata": {"name": "Stack rules", "schema_version": "2", "compiled_at": "yesterday", "author": "somebody"},
    "nodes": {
        "Subjects": [{"id": "stack-1", "type": "Subject", "title": "Stack 1", "version": "1.0"}],
        "rules": [
            {"id": "r1", "type": "Rule", "name": "SO2", "risk_tier": "Critical", "version": "v2", "track": "B"},
            {"id": "r2", "type": "Rule", "name": "Good practice", "version": "v1"},
        ],
        "obligations": [
            {"id": "o1", "type": "must_not_exceed", "metric": "so2", "threshold": 35, "unit": "mg/m3", "version": "1"},
            {
                "id": "o2",
                "obligation_type": "must_levitate",
                "metric": "x",
                "value": 3,
                "effective_date_start": "2020-01-01",
                "effective_date_end": "2030-12-31",
            },
            {"id": "o3", "obligation_type": "must_not_exceed", "metric": "y", "value": "much", "confidence": 0.9},
            {
                "id": "o4",
                "obligation_type": "must",
                "metric": "z",
                "value": {"a": 1},
                "effective_date": "2020-01-01T00:00:00",
            },
        ],
        "exemptions": [{"id": "x1", "type": "Exemption", "text": "start_up == true"}],
        "jurisdictions": [{"id": "de", "name": "Germany", "parent": "eu"}],
        "notes": [{"id": "n"}],
    },
    "edges": [
        {"type": "applies_to", "source": "r1", "target": "stack-1"},
        {"type": "applies_to", "source": "r1", "target": "stack-2"},
        {"type": "consists_of", "source": "r1", "target": "o1"},
        {"type": "consists_of", "source": "r1", "target": "o1"},
        {"type": "consists_of", "from": "r1", "to": "o2"},
        {"type": "consists_of", "from": "r1", "to": "o3"},
        {"type": "consists_of", "from": "r1", "to": "o4"},
        {"type": "consists_of", "from": "r1", "to": "nowhere"},
        {"type": "exempted_by", "from": "o1", "to": "x1"},
        {"type": "scoped_to", "from": "o1", "to": "de"},
        {"type": "caused_by", "from": "o1", "to": "x1"},
    ],
    "signature": {"algorithm": "none"},
}


def _upgraded(document: object) -> UpgradedGraph:
    return upgrade_document(json.dumps(document).encode())


def _told(found: UpgradedGraph) -> list[tuple[str, str | None]]:
    return [(change.code.value, change.node) for change in found.changes]


@pytest.mark.clause("ski", "11.2")
def test_a_typed_graph_of_others_becomes_a_valid_one() -> None:
    """Versions that are no hashes, missing dates, tiers, citations and ends of edges; fields by other names."""
    found = _upgraded(_TYPED)
    assert found.is_valid, (found.problems, found.issues)
    assert found.form is GraphForm.TYPED
    told = _told(found)
    for change in (
        ("SIGNATURE_REMOVED", None),
        ("NODE_REMOVED", None),
        ("FIELD_RENAMED", "stack-1"),
        ("FIELD_REMOVED", "r1"),
        ("FIELD_RENAMED", "o1"),
        ("FIELD_REMOVED", "o3"),
        ("TIER_ADDED", "r1"),
        ("TIER_ADDED", "r2"),
        ("DATE_ADDED", "o1"),
        ("DATE_COMPLETED", "o2"),
        ("DATE_COMPLETED", "o4"),
        ("TYPE_REPLACED", "o2"),
        ("TYPE_REPLACED", "o3"),
        ("TYPE_REPLACED", "o4"),
        ("NODE_ADDED", "stack-2"),
        ("NODE_ADDED", "eu"),
        ("EDGE_REMOVED", None),
        ("OBLIGATION_ADDED", "r2"),
        ("CITATION_ADDED", "o1"),
        ("CITATION_ADDED", "x1"),
        ("VERSION_REPLACED", "stack-1"),
        ("VERSION_REPLACED", "r1"),
    ):
        assert change in told, change
    assert told.count(("EDGE_REMOVED", None)) == 3
    graph = parse_graph(json.dumps(found.document).encode())
    nodes = {node.id: node for node in graph.obligations}
    limit = nodes["o1"]  # type: ignore[index]  # an id is a text
    assert (limit.obligation_type, limit.value, limit.unit) == ("must_not_exceed", 35, "mg/m3")
    judged = nodes["o2"]  # type: ignore[index]  # as above
    assert (judged.obligation_type, judged.summary) == ("discretionary", "x must_levitate 3")
    assert [rule.risk_tier for rule in graph.rules] == ["high", "high"]
    assert graph.metadata["draft"] is True


def test_what_is_sound_is_left_as_it_is() -> None:
    """But for the mark that people have to read it."""
    document = sound()
    found = _upgraded(document)
    assert found.is_valid
    assert {code for code, _ in _told(found)} <= {"VERSION_ADDED"}
    again = _upgraded(found.document)
    assert (again.document, again.changes) == (found.document, ())


@pytest.mark.clause("ski", "11.2")
def test_a_flat_graph_becomes_a_valid_typed_one() -> None:
    rules = [
        {"id": "a", "metric": "nox", "predicate": "lte", "value": 5, "jurisdiction": ["EU", "US"], "track": "A"},
        {"id": "b", "metric": "so2", "predicate": "as seen fit", "risk_tier": "low", "effective_date": "2020-01-01"},
        {"id": "c", "metric": "co", "predicate": "window_sum", "max": 5, "seconds": 60, "risk_tier": "severe"},
    ]
    found = _upgraded({"metadata": {"version": "1"}, "rules": rules, "tag_registry": {"boiler": "a"}})
    assert found.is_valid, found.issues
    assert found.form is GraphForm.FLAT
    told = _told(found)
    assert {
        ("TYPE_OBLIGATION", "a"),
        ("ADD_RISK_TIER", "a"),
        ("REMOVE_TRACK", "a"),
        ("SUBJECTS_NAMED", None),
        ("DATE_ADDED", "obligation:a"),
        ("TYPE_REPLACED", "obligation:b"),
        ("TIER_ADDED", "c"),
        ("CITATION_ADDED", "obligation:c"),
    } <= set(told)
    graph = parse_graph(json.dumps(found.document).encode())
    assert [rule.risk_tier for rule in graph.rules] == ["medium", "low", "high"]
    assert found.document["nodes"]["obligations"][0]["effective_date_start"] == ALWAYS  # type: ignore[index,call-overload]  # plain JSON


def test_nodes_in_one_list_are_sorted_by_their_kind() -> None:
    nodes = [
        {"id": "s", "type": "subject", "name": "S"},
        {"id": "r", "type": "rule", "name": "R", "risk_tier": "low"},
        {"id": "o", "type": "obligation", "obligation_type": "must", "metric": "m", "value": True},
        {"type": "citation", "document": "Act", "clause": "1"},
        {"id": "w", "type": "widget"},
        "noise",
    ]
    edges = [
        {"type": "applies_to", "from": "r", "to": "s"},
        {"type": "consists_of", "from": "r", "to": "o"},
        {"type": "cited_by", "from": "o", "to": "citation-1"},
    ]
    found = _upgraded({"metadata": {}, "nodes": nodes, "edges": edges})
    assert found.is_valid, found.issues
    assert {("NODES_GROUPED", None), ("ID_ADDED", "citation-1"), ("NODE_REMOVED", None)} <= set(_told(found))


def test_what_only_people_can_part_is_left_and_told() -> None:
    """Two nodes with one id and different content, and limits that contradict."""
    document = sound()
    document["nodes"]["rules"].append({"id": "rule", "type": "rule", "name": "another", "risk_tier": "low"})
    found = _upgraded(document)
    assert not found.is_valid
    assert "DUPLICATE_NODE_ID" in [issue.code.value for issue in found.issues]
    flat = _upgraded({"metadata": {}, "rules": [{"metric": "m"}]})
    assert (flat.is_valid, [problem.path for problem in flat.problems]) == (False, ["rules[0].id"])


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["a", "o1", "must", "2020-01-01", ""]),
    lambda parts: (
        st.lists(parts, max_size=3) | st.dictionaries(st.sampled_from(["id", "type", "value", "x"]), parts, max_size=3)
    ),
    max_leaves=8,
)
_FIELDS = ("id", "type", "obligation_type", "metric", "value", "risk_tier", "effective_date_start", "predicate", "name")


@given(
    nodes=st.dictionaries(
        st.sampled_from(["subjects", "rules", "obligations", "exemptions", "citations", "odd"]),
        st.lists(st.dictionaries(st.sampled_from(_FIELDS), _JSON, max_size=5), max_size=3),
    ),
    edges=st.lists(
        st.dictionaries(
            st.sampled_from(["type", "from", "to", "source"]), st.sampled_from(["a", "o1", "consists_of", "applies_to"])
        ),
        max_size=4,
    ),
)
def test_no_document_is_too_strange(nodes: dict[str, Any], edges: list[Any]) -> None:
    """Whatever comes in, what goes out is a graph that can be read, or tells why not."""
    found = _upgraded({"metadata": {}, "nodes": nodes, "edges": edges})
    if not found.problems:
        parse_graph(json.dumps(found.document).encode())
        again = _upgraded(found.document)
        assert again.document == found.document, again.changes


_EXAMPLES = Path(__file__).parents[3] / "examples"
_SECTORS = ("energy", "finance", "manufacturing", "maritime")


def _foreign(document: dict[str, Any], loss: str) -> dict[str, Any]:
    """An example as another tool might have written it, without what the loss names."""
    nodes = [node for array in document["nodes"].values() for node in array]
    for node in nodes:
        if loss == "versions":
            node["version"] = f"1.{len(node)}"
        elif loss == "no versions":
            del node["version"]
        elif loss == "words" and node["type"] == "obligation":
            node["threshold"], node["text"] = node.pop("value", None), node.pop("summary", None)
            node["effective_from"] = node.pop("effective_date_start")
        elif loss == "tiers":
            node.pop("risk_tier", None)
        if loss == "words":
            node["type"] = node["type"].capitalize()
    if loss == "citations":
        document["edges"] = [edge for edge in document["edges"] if edge["type"] != "cited_by"]
    if loss == "ends":
        document["edges"] = [
            {"type": one["type"], "source": one["from"], "target": one["to"]} for one in document["edges"]
        ]
        document["nodes"]["subjects"] = []
    return {**document, "nodes": nodes} if loss == "one list" else document


@pytest.mark.clause("ski", "11.2")
@pytest.mark.parametrize("loss", ["versions", "no versions", "words", "tiers", "citations", "ends", "one list"])
@pytest.mark.parametrize("sector", _SECTORS)
def test_an_example_in_foreign_words_is_valid_after_one_upgrade_and_keeps_its_verdicts(sector: str, loss: str) -> None:
    """Twenty-eight of twenty-eight: what was lost was no part of the law."""
    document = json.loads((_EXAMPLES / "graphs" / f"{sector}.json").read_text())
    found = _upgraded(_foreign(document, loss))
    assert found.is_valid, [issue for issue in found.issues if issue.severity.value in ("high", "critical")]
    assert found.changes
    index = build_index(parse_graph(json.dumps(found.document).encode()))
    rows = json.loads((_EXAMPLES / "telemetry" / f"{sector}.expected.json").read_text())["expected"]
    wanted = {row["telemetry_id"]: row.get("rules") or {"": "NULL_UNMAPPED"} for row in rows}
    earlier: defaultdict[str, list[BufferedRecord]] = defaultdict(list)
    for line in (_EXAMPLES / "telemetry" / f"{sector}.jsonl").read_text().splitlines():
        record = parse_telemetry(line)
        part = slice_graph(index, record.subject, as_of=record.timestamp, jurisdiction=record.jurisdiction)
        verdicts = {}
        for docket in (open_docket(one, is_mapped=part.subject is not None) for one in parts_of(part)):
            judgements = judge_all(docket, record, window_facts(docket.plans, record, earlier[record.subject]))
            verdict = expected_verdict(judgements, is_mapped=docket.is_mapped, doubt=docket.doubt)
            verdicts[docket.rule_id] = verdict.value
        earlier[record.subject].append(buffer_record(record))
        assert verdicts == wanted[record.telemetry_id], record.telemetry_id
