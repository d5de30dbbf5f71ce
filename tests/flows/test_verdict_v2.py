"""The runtime of SKI 2 runs beside that of SKI 3, only where it was selected, and is replayed by itself."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.verdicts.read_verdicts import Decided, list_verdicts, show_verdict
from assay.flows.verdicts.replay_verdict import replay_verdicts
from assay.flows.verdicts.runtime_v2 import replay_v2
from assay.kernel.ledger import EntryKind
from assay.verdicts.envelope import Verdict
from assay.verdicts.graph.open import sign_graph
from assay.verdicts.replay import ReplayResult, summarise_replays
from tests.contract._kit import refused
from tests.flows._node import TENANT, damage
from tests.flows._verdicts import GRAPH_KEY, VerdictDesk, opened_verdicts, rule
from tests.verdict_calls import judge

_FLAT = {
    "metadata": {"version": "2.1"},
    "rules": [
        {"id": "so2-limit", "metric": "so2", "predicate": "lte", "value": 35},
        {"id": "calm", "metric": "so2", "predicate": "window_avg", "seconds": 60, "op": "lte", "value": 20},
    ],
    "tag_registry": {"stack": "so2-limit", "chimney": "calm"},
}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[VerdictDesk]:
    with opened_verdicts(tmp_path) as opened:
        opened.settings(is_v2=True, require_review=False)
        opened.load(sign_graph(json.dumps(_FLAT).encode(), GRAPH_KEY.public_key, GRAPH_KEY.sign))
        yield opened


def _decide(desk: VerdictDesk, so2: float, name: str = "t-1", second: int = 0, **more: Any) -> Decided:  # noqa: ANN401 - fields of a record
    given = desk.record({"so2": so2}, name=name, at=desk.at(minutes=5, seconds=second), **more)
    return judge(desk.tools, given, credential=desk.sensor, at=desk.at(minutes=6))


@pytest.mark.clause("ski", "11.4")
@pytest.mark.clause("ski", "11.2")
def test_flat_rules_are_judged_without_a_model_and_recorded_as_version_two(desk: VerdictDesk) -> None:
    decided = _decide(desk, 40)
    assert (decided.is_new, decided.overall.verdict) == (True, Verdict.FLAG)
    row = desk.read(lambda unit: unit.ledger.find_entry(TENANT, decided.verdicts[0].sequence_number))
    assert row is not None
    assert (row.kind, row.schema_version, row.llm_transcript) == ("verdict.v2", "2.1.0", None)
    assert _decide(desk, 40).is_new is False
    with refused("telemetry.conflict"):
        _decide(desk, 41)
    assert _decide(desk, 1, "t-2", subject="nowhere").overall.verdict is Verdict.NULL_UNMAPPED
    assert {one.path for one in list_verdicts(desk.tools, TENANT)} == {"v2"}
    assert audit_ledger(desk.tools, TENANT, full=True).holds


def test_windows_look_back_in_version_two_as_well(desk: VerdictDesk) -> None:
    assert _decide(desk, 30, "a", 0, subject="chimney").overall.verdict is Verdict.FLAG
    assert _decide(desk, 10, "b", 30, subject="chimney").overall.verdict is Verdict.CLEAR


@pytest.mark.clause("ski", "11.4")
def test_the_operator_alone_selects_the_runtime(desk: VerdictDesk) -> None:
    """The same request is judged by the selected runtime: the second asks no model, the third does."""
    _decide(desk, 1, "second")
    assert (len(desk.entries(EntryKind.VERDICT_V2)), len(desk.entries(EntryKind.VERDICT))) == (1, 0)
    desk.settings(is_v2=False)
    with refused("verdict.no_model"):
        _decide(desk, 1, "third")
    assert (len(desk.entries(EntryKind.VERDICT_V2)), len(desk.entries(EntryKind.VERDICT))) == (1, 0)


@pytest.mark.clause("ski", "8.3")
@pytest.mark.clause("ski", "11.1")
def test_version_three_skips_what_version_two_replays(desk: VerdictDesk) -> None:
    """Both in one ledger: each replay sees its own, and the skipped ones are named."""
    _decide(desk, 40)
    _decide(desk, 10, "b", 30, subject="chimney")
    desk.settings(is_v2=False, require_review=True)
    desk.judge_by(rule("limit"))
    desk.decide({"so2": 40}, name="t-3")
    summary = summarise_replays(replay_verdicts(desk.tools, TENANT))
    assert (summary.counts[ReplayResult.SKIPPED_PRE_V3], summary.counts[ReplayResult.MATCH]) == (2, 1)
    assert [one.is_match for one in replay_v2(desk.tools, TENANT)] == [True, True]
    assert show_verdict(desk.tools, TENANT, "t-1").overall.verdict is Verdict.FLAG


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE graph_version SET document = replace(document, '35', '45')", False),
        ("UPDATE graph_version SET content_hash = 'x'", None),
        ("UPDATE ledger SET text = CAST(replace(text, 'FLAG', 'CLEAR') AS BLOB) WHERE kind = 'verdict.v2'", False),
    ],
    ids=["another graph", "no graph", "another entry"],
)
def test_what_was_changed_does_not_replay(tmp_path: Path, desk: VerdictDesk, statement: str, expected: object) -> None:
    _decide(desk, 40)
    damage(tmp_path / "node", statement)
    assert [one.is_match for one in replay_v2(desk.tools, TENANT)] == [expected]
