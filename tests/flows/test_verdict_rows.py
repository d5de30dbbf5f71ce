"""Rows beside the ledger are short cuts: one that was added or changed by hand is refused and never served."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.verdicts.read_verdicts import list_verdicts, show_verdict
from assay.flows.vouched import VouchedRows
from assay.kernel.instant import render_instant
from assay.verdicts.envelope import Verdict
from tests.contract._kit import refused
from tests.flows._node import TENANT, damage
from tests.flows._verdicts import VerdictDesk, opened_verdicts, rule

_FORGED = """
    INSERT INTO verdict_index (tenant_id, sequence_number, telemetry_id, rule_id, subject, as_of, standing, verdict,
                               status, tier, path, kg_version_hash, recorded_at, held_entry)
    SELECT tenant_id, {entry}, telemetry_id, rule_id, subject, as_of, 'final', 'CLEAR', 'AGREED', tier, {path},
           kg_version_hash, recorded_at, sequence_number
    FROM verdict_index WHERE telemetry_id = 'a'
"""
_DROPPED = "INSERT INTO telemetry_drop VALUES ('default', 'stack', '2026-01-01T00:00:00.000000Z', 1, '', 1)"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[VerdictDesk]:
    with opened_verdicts(tmp_path) as opened:
        opened.judge_by(rule("r"))
        assert opened.decide({"so2": 500}, name="a").overall.verdict is Verdict.FLAG
        yield opened


def add(folder: Path, statement: str) -> None:
    """As anybody can who may write to the file: no trigger is dropped."""
    with closing(sqlite3.connect(folder / "node" / "assay.db")) as connection, connection:
        connection.execute(statement)


@pytest.mark.clause("ski", "7.2")
@pytest.mark.parametrize("path", ["'v2'", "NULL"])
def test_a_row_that_was_added_turns_no_flag_into_clear(desk: VerdictDesk, tmp_path: Path, path: str) -> None:
    """It names an entry that is no verdict: whoever asks is told so, and is given nothing to believe."""
    add(tmp_path, _FORGED.format(entry=1, path=path))
    with refused("store.damaged_record"):
        desk.decide({"so2": 500}, name="a")
    with refused("store.damaged_record"):
        show_verdict(desk.tools, TENANT, "a")
    with refused("store.damaged_record"):
        list_verdicts(desk.tools, TENANT)


@pytest.mark.clause("ski", "7.2")
def test_a_row_may_not_borrow_the_verdict_of_another_record(desk: VerdictDesk, tmp_path: Path) -> None:
    clear = desk.decide({"so2": 1}, name="b").verdicts[0].sequence_number
    with closing(sqlite3.connect(tmp_path / "node" / "assay.db")) as connection, connection:
        connection.execute("DROP TRIGGER verdict_index_no_delete")
        connection.execute(f"DELETE FROM verdict_index WHERE sequence_number = {clear}")
    add(tmp_path, _FORGED.format(entry=clear, path="NULL"))
    with refused("store.damaged_record"):
        show_verdict(desk.tools, TENANT, "a")


@pytest.mark.clause("ski", "2.2")
def test_a_record_that_was_called_known_is_not_passed_over(desk: VerdictDesk, tmp_path: Path) -> None:
    """Every record is judged: one whose row says that it was, without a verdict of it, is refused loudly."""
    damage(tmp_path / "node", "UPDATE verdict_index SET telemetry_id = 'b'")
    with refused("store.damaged_record"):
        desk.decide({"so2": 500}, name="b")


@pytest.mark.clause("ski", "7.2")
@pytest.mark.parametrize(
    ("statement", "code"),
    [
        (_FORGED.format(entry=1, path="'v2'"), "ledger.row_unrecorded"),
        ("UPDATE verdict_index SET verdict = 'CLEAR'", "ledger.row_differs"),
        ("UPDATE verdict_index SET bound = 1", "ledger.row_differs"),
        ("DELETE FROM verdict_index", "ledger.row_missing"),
        (_DROPPED, "ledger.row_unrecorded"),
    ],
)
def test_an_audit_finds_every_row_that_the_ledger_does_not_have(
    desk: VerdictDesk, tmp_path: Path, statement: str, code: str
) -> None:
    assert audit_ledger(desk.tools, TENANT, leave_mark=False).holds
    damage(tmp_path / "node", statement)
    report = audit_ledger(desk.tools, TENANT, leave_mark=False)
    assert (report.holds, report.code) == (False, code)


def test_readings_in_any_order_and_form_are_those_of_the_entry(desk: VerdictDesk) -> None:
    """Windows read them from the entry, which has them sorted and its numbers in their one form."""
    line = (
        '{"telemetry_id": "z", "timestamp": "%s", "subject": "stack",'
        ' "measurement": {"so2": 40.0, "nox": {"monthly": 1e1, "daily": 2}, "a": true}}'
    )
    desk.decide_given(line % render_instant(desk.at(minutes=5)))
    report = audit_ledger(desk.tools, TENANT, full=True)
    assert (report.holds, report.message) == (True, None)


_INVENTED = """
    INSERT INTO verdict_index (tenant_id, sequence_number, telemetry_id, rule_id, subject, as_of, standing, verdict,
                               status, tier, path, kg_version_hash, recorded_at)
    SELECT tenant_id, 1, 'c', rule_id, subject, as_of, standing, verdict, status, tier, path, kg_version_hash,
           recorded_at FROM verdict_index
"""


@pytest.mark.clause("ski", "7.2")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE verdict_index SET as_of = substr(as_of, 1, 20) || '000001Z'",
        "UPDATE verdict_index SET telemetry_id = 'z'",
        "INSERT INTO telemetry_drop VALUES ('default', 'stack', '2026-01-01T00:00:00.000000Z', 1, '', 1)",
        _INVENTED,
    ],
)
def test_a_window_does_not_look_back_at_what_no_entry_holds(tmp_path: Path, statement: str) -> None:
    """Whoever writes to the database turns no breach into CLEAR: the record is refused, and nothing recorded."""
    with opened_verdicts(tmp_path) as desk:
        desk.judge_by(rule("r", kind="must_not_exceed_in_window", value=100, window_seconds=600))
        desk.decide({"so2": 500}, name="a", at=desk.at(minutes=4))
        damage(tmp_path / "node", statement)
        before = desk.head()
        with refused("store.damaged_record"):
            desk.decide({"so2": 6}, name="b")
        assert desk.head() == before


@pytest.mark.clause("ski", "7.2")
def test_another_process_looks_back_at_the_same_records(tmp_path: Path) -> None:
    """It has compared nothing yet: what is as it was recorded is believed again, by its entry."""
    with opened_verdicts(tmp_path) as desk:
        desk.judge_by(rule("r", kind="must_not_exceed_in_window", value=100, window_seconds=600))
        desk.decide({"so2": 500, "x": 1.5e300, "a": {"value": 1, "unit": "g"}}, name="a", at=desk.at(minutes=4))
        desk.use(vouched=VouchedRows())
        assert desk.decide({"so2": 6}, name="b").overall.verdict is Verdict.FLAG
