"""The whole way of a verdict on each database: judged, held, attested, replayed, and the ledger holds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.verdicts.coverage import check_agreement, show_buffers
from assay.flows.verdicts.read_verdicts import list_verdicts, show_verdict
from assay.flows.verdicts.replay_verdict import replay_verdicts
from assay.verdicts.envelope import Verdict
from assay.verdicts.replay import summarise_replays
from tests.flows._node import TENANT
from tests.flows._people import at_once
from tests.flows._verdicts import VerdictDesk, opened_verdicts, rule
from tests.verdict_calls import coverage, list_held


@pytest.fixture
def desk(database_place: str | None, tmp_path: Path) -> Iterator[VerdictDesk]:
    with opened_verdicts(tmp_path, database=database_place) as one:
        yield one


def test_a_verdict_goes_its_whole_way(desk: VerdictDesk) -> None:
    desk.settings(fast_path_n=2, keep_seconds=45)
    desk.judge_by(
        rule("low", "low"),
        rule("window", kind="must_average_within", value=[0, 20], window_seconds=60),
        rule("high", "high", value=30),
    )
    for n in range(4):
        desk.decide({"so2": 12 * n}, name=f"t-{n}", at=desk.at(minutes=5, seconds=20 * n))
    desk.decide({"so2": 1}, subject="chimney", name="unmapped")
    held = list_held(desk.tools, TENANT, at=desk.at(minutes=7))
    assert len(held) == 4
    desk.attest(held[0].ticket.id)
    desk.attest(held[3].ticket.id, "decline")
    verdicts = {n: show_verdict(desk.tools, TENANT, f"t-{n}").overall.verdict for n in range(4)}
    assert verdicts == {0: Verdict.CLEAR, 1: None, 2: None, 3: Verdict.FLAG}
    assert len(list_held(desk.tools, TENANT, at=desk.at(minutes=7))) == 2
    assert [row.rule_id for row in list_verdicts(desk.tools, TENANT, subject="chimney")] == [""]
    assert [gap.subject for gap in coverage(desk.tools, TENANT, is_open=True)] == ["chimney"]
    assert check_agreement(desk.tools, TENANT).is_healthy
    assert {state.subject for state in show_buffers(desk.tools, TENANT)} == {"stack", "chimney"}
    assert summarise_replays(replay_verdicts(desk.tools, TENANT)).is_clean
    report = audit_ledger(desk.tools, TENANT, full=True)
    assert (report.holds, report.message) == (True, None)


def test_many_at_once_lose_nothing(desk: VerdictDesk) -> None:
    desk.judge_by(rule("low", "low"), rule("medium"))
    at_once([lambda n=n: desk.decide({"so2": n}, name=f"t-{n}") for n in range(32)])  # type: ignore[misc]  # bound at once
    rows = list_verdicts(desk.tools, TENANT, limit=1000)
    assert {(row.telemetry_id, row.rule_id) for row in rows} == {
        (f"t-{n}", name) for n in range(32) for name in ("low", "medium")
    }
    assert audit_ledger(desk.tools, TENANT, full=True).holds
