"""Rows beside the ledger are short cuts: one that was added or changed by hand is refused and never served."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.truth.vouch_rows import VouchedRows
from assay.flows.verdicts.read_verdicts import list_verdicts, show_verdict
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
_KNOWN = """
    INSERT INTO telemetry (tenant_id, telemetry_id, telemetry_hash, subject, as_of, sequence_number)
    SELECT tenant_id, 'b', {digest}, subject, as_of, {entry} FROM telemetry WHERE telemetry_id = 'a'
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
    with refused("verdict.row_differs"):
        desk.decide({"so2": 500}, name="a")
    with refused("verdict.row_differs"):
        show_verdict(desk.tools, TENANT, "a")
    with refused("verdict.row_differs"):
        list_verdicts(desk.tools, TENANT)


@pytest.mark.clause("ski", "7.2")
def test_a_row_may_not_borrow_the_verdict_of_another_record(desk: VerdictDesk, tmp_path: Path) -> None:
    clear = desk.decide({"so2": 1}, name="b").verdicts[0].sequence_number
    with closing(sqlite3.connect(tmp_path / "node" / "assay.db")) as connection, connection:
        connection.execute("DROP TRIGGER verdict_index_no_delete")
        connection.execute(f"DELETE FROM verdict_index WHERE sequence_number = {clear}")
    add(tmp_path, _FORGED.format(entry=clear, path="NULL"))
    with refused("verdict.row_differs"):
        show_verdict(desk.tools, TENANT, "a")


@pytest.mark.clause("ski", "2.2")
@pytest.mark.parametrize("entry", ["sequence_number", "1"])
def test_a_record_that_was_called_known_is_not_passed_over(desk: VerdictDesk, tmp_path: Path, entry: str) -> None:
    """Every record is judged: one whose row says that it was, without a verdict of it, is refused loudly."""
    add(tmp_path, _KNOWN.format(digest="telemetry_hash", entry=entry))
    with refused("verdict.row_differs"):
        desk.decide({"so2": 500}, name="b")


@pytest.mark.clause("ski", "7.2")
@pytest.mark.parametrize(
    ("statement", "code"),
    [
        (_FORGED.format(entry=1, path="'v2'"), "verdict.row_unrecorded"),
        (_KNOWN.format(digest="telemetry_hash", entry="sequence_number"), "verdict.row_unrecorded"),
        ("UPDATE verdict_index SET verdict = 'CLEAR'", "verdict.row_differs"),
        ("DELETE FROM verdict_index", "verdict.row_missing"),
        ("DELETE FROM telemetry", "verdict.row_missing"),
        ("UPDATE telemetry_buffer SET text = replace(text, '500', '5')", "verdict.row_differs"),
        ("DELETE FROM telemetry_buffer", "verdict.row_missing"),
        ("UPDATE telemetry_buffer SET subject = 'other'", "verdict.row_unrecorded"),
        ("INSERT INTO rule_stability VALUES ('default', 'r', 'sha256:0', 1000000)", "verdict.row_differs"),
        (
            _DROPPED,
            "verdict.row_differs",
        ),
    ],
)
def test_an_audit_finds_every_row_that_the_ledger_does_not_have(
    desk: VerdictDesk, tmp_path: Path, statement: str, code: str
) -> None:
    assert audit_ledger(desk.tools, TENANT, leave_mark=False).holds
    damage(tmp_path / "node", statement)
    report = audit_ledger(desk.tools, TENANT, leave_mark=False)
    assert (report.holds, report.code) == (False, code)


@pytest.mark.clause("ski", "7.2")
def test_what_windows_look_back_at_cannot_be_changed(desk: VerdictDesk, tmp_path: Path) -> None:
    """Rows leave the buffer when they are old, and an entry says so; none is ever changed or replaced."""
    with pytest.raises(sqlite3.IntegrityError, match="UPDATE refused"):
        add(tmp_path, "UPDATE telemetry_buffer SET text = replace(text, '500', '5')")
    with pytest.raises(sqlite3.IntegrityError, match="taken"):
        add(tmp_path, "INSERT OR REPLACE INTO telemetry_buffer SELECT * FROM telemetry_buffer")
    assert desk.decide({"so2": 500}, name="a").overall.verdict is Verdict.FLAG


def test_readings_in_any_order_and_form_are_those_of_the_entry(desk: VerdictDesk) -> None:
    """The buffer has them as they came, the entry has them sorted and its numbers in their one form."""
    line = (
        '{"telemetry_id": "z", "timestamp": "%s", "subject": "stack",'
        ' "measurement": {"so2": 40.0, "nox": {"monthly": 1e1, "daily": 2}, "a": true}}'
    )
    desk.decide_given(line % render_instant(desk.at(minutes=5)))
    report = audit_ledger(desk.tools, TENANT, full=True)
    assert (report.holds, report.message) == (True, None)


_INVENTED = """
    INSERT INTO telemetry_buffer
    SELECT tenant_id, subject, as_of, 'c', replace(text, '"a"', '"c"') FROM telemetry_buffer
"""


@pytest.mark.clause("ski", "7.2")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE telemetry_buffer SET text = replace(text, '500', '5')",
        "UPDATE telemetry_buffer SET text = 'no record'",
        "UPDATE telemetry_buffer SET as_of = substr(as_of, 1, 20) || '000001Z'",
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
        with refused("verdict.row_differs"):
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
