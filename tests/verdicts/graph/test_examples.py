"""The shipped graphs: sound, complete, and judged as the texts that they cite say."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from assay.kernel.key import TrustAnchors
from assay.verdicts.docket import open_docket, parts_of
from assay.verdicts.graph.graph import KnowledgeGraph, NoticeCode
from assay.verdicts.graph.index import build_index
from assay.verdicts.graph.issue import IssueCode, Severity
from assay.verdicts.graph.node import RiskTier
from assay.verdicts.graph.obligation_type import EXTENSIONS, ObligationType
from assay.verdicts.graph.open import SovereigntyMode, open_graph
from assay.verdicts.graph.parse import parse_graph
from assay.verdicts.graph.validate import validate_graph
from assay.verdicts.slice import slice_graph
from assay.verdicts.telemetry import Telemetry, parse_telemetry
from assay.verdicts.verify import expected_verdict, judge_all
from assay.verdicts.window import window_facts
from assay.verdicts.window_fact import BufferedRecord, buffer_record

_EXAMPLES = Path(__file__).parents[3] / "examples"
_SECTORS = ("energy", "finance", "maritime", "manufacturing")
_STRICTEST = ("FLAG", "DISCRETIONARY", "NULL_STALE", "CLEAR")
_VERDICTS = {*_STRICTEST, "NULL_UNMAPPED"}


def _graph(sector: str) -> KnowledgeGraph:
    return parse_graph((_EXAMPLES / "graphs" / f"{sector}.json").read_bytes())


def _records(sector: str) -> list[Telemetry]:
    lines = (_EXAMPLES / "telemetry" / f"{sector}.jsonl").read_text().splitlines()
    return [parse_telemetry(line) for line in lines]


def _expected(sector: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((_EXAMPLES / "telemetry" / f"{sector}.expected.json").read_text())[
        "expected"
    ]
    return rows


@pytest.mark.parametrize("sector", _SECTORS)
def test_a_shipped_graph_is_sound(sector: str) -> None:
    """Nothing but remarks on extensions and on conditions that ask for a person."""
    issues = validate_graph(_graph(sector))
    assert {issue.severity for issue in issues} <= {Severity.LOW}
    assert {issue.code for issue in issues} <= {IssueCode.EXTENSION_TYPE, IssueCode.INFORMAL_EXEMPTION}


@pytest.mark.parametrize("sector", _SECTORS)
def test_a_shipped_graph_is_unsigned_until_its_operator_signs_it(sector: str) -> None:
    """No anchor ships with us."""
    document = (_EXAMPLES / "graphs" / f"{sector}.json").read_bytes()
    opened = open_graph(document, TrustAnchors(), mode=SovereigntyMode.ADVISORY)
    assert [notice.code for notice in opened.notices] == [NoticeCode.UNSIGNED]


@pytest.mark.clause("ski", "3.3")
def test_together_they_use_every_type_every_tier_and_every_kind_of_node() -> None:
    """So that each can be tried out."""
    graphs = [_graph(sector) for sector in _SECTORS]
    types = {obligation.kind for graph in graphs for obligation in graph.obligations}
    assert set(ObligationType) - EXTENSIONS <= types
    assert {ObligationType.MUST_AVERAGE_WITHIN, ObligationType.MUST_NOT_EXCEED_IN_WINDOW} <= types
    assert {rule.tier for graph in graphs for rule in graph.rules} == set(RiskTier)
    for graph in graphs:
        assert all((graph.definitions, graph.exemptions, graph.precedents, graph.citations))
        assert any(place.parent for place in graph.jurisdictions)


@pytest.mark.parametrize("sector", _SECTORS)
def test_the_expected_verdicts_are_those_of_the_records(sector: str) -> None:
    """One for each record, all five among them, the strictest of its rules, and why."""
    rows = _expected(sector)
    assert [row["telemetry_id"] for row in rows] == [record.telemetry_id for record in _records(sector)]
    assert len(rows) >= 12
    assert {row["verdict"] for row in rows} == _VERDICTS
    for row in rows:
        found = set(row["rules"].values())
        assert row["verdict"] == next((each for each in _STRICTEST if each in found), "NULL_UNMAPPED")
        assert row["why"]


@pytest.mark.parametrize("sector", _SECTORS)
def test_each_record_is_judged_as_the_text_says(sector: str) -> None:
    """Rule by rule, against what was written down by hand."""
    index = build_index(_graph(sector))
    earlier: defaultdict[str, list[BufferedRecord]] = defaultdict(list)
    found = []
    for record in _records(sector):
        part_of = slice_graph(index, record.subject, as_of=record.timestamp, jurisdiction=record.jurisdiction)
        verdicts = {}
        for part in parts_of(part_of):
            docket = open_docket(part, is_mapped=part_of.subject is not None)
            facts = window_facts(docket.plans, record, earlier[record.subject])
            judgements = judge_all(docket, record, facts)
            verdict = expected_verdict(judgements, is_mapped=docket.is_mapped, doubt=docket.doubt)
            verdicts[docket.rule_id] = verdict.value
        earlier[record.subject].append(buffer_record(record))
        found.append((record.telemetry_id, verdicts))
    wanted = [(row["telemetry_id"], row["rules"] or {"": "NULL_UNMAPPED"}) for row in _expected(sector)]
    assert found == wanted
