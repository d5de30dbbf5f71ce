"""An audit compares stored rows with projected ones in both directions, by itself or with workers."""

from collections.abc import Iterator
from dataclasses import replace
from errno import ENOSPC
from pathlib import Path

import pytest

from assay.adapters.process_pool import ProcessPool
from assay.flows.ledger.audit_ledger import Workers, audit_ledger
from assay.flows.ledger.examine_node import State, examine_node
from assay.flows.review.act_review import act_review, comment_wish, priority_wish
from assay.kernel.ids import TenantId
from assay.review.act import Priority
from assay.wiring import FolderReader
from tests.acting import caller_of
from tests.flows._node import damage
from tests.flows._people import TENANT, Desk, opened_desk

_CHANGES = {
    "UPDATE desk_act SET made_by = 'user:mallory'": "ledger.row_differs",
    "UPDATE desk_act SET text = text || ' '": "ledger.row_differs",
    "UPDATE desk_act SET tenant_id = 'nobody'": "ledger.row_unrecorded",
    "UPDATE desk_act SET sequence_number = sequence_number + 1000": "ledger.row_unrecorded",
    "UPDATE desk_act SET sequence_number = 1 WHERE kind = 'comment'": "ledger.row_unrecorded",
    "DELETE FROM desk_act WHERE kind = 'comment'": "ledger.row_missing",
    "INSERT INTO desk_act SELECT tenant_id, ticket_id, 1, kind, made_by, text FROM desk_act LIMIT 1": (
        "ledger.row_unrecorded"
    ),
    "INSERT INTO desk_act SELECT 'nobody', ticket_id, 1, kind, made_by, text FROM desk_act LIMIT 1": (
        "ledger.row_unrecorded"
    ),
}


@pytest.fixture
def used(tmp_path: Path) -> Iterator[Desk]:
    with opened_desk(tmp_path) as desk:
        desk.add("user:amira")
        desk.add("user:olga", roles=("operator",))
        ticket = desk.ticket()
        for wish in (priority_wish(Priority.HIGH), comment_wish(desk.tools, "looks right")):
            act_review(desk.tools, caller_of(desk.tools, desk.session("user:olga"), at=desk.at()), ticket.id, wish)
        yield desk


@pytest.mark.parametrize(("change", "code"), _CHANGES.items())
def test_a_changed_table_is_found_and_named(used: Desk, tmp_path: Path, change: str, code: str) -> None:
    sound = audit_ledger(used.tools, TENANT, full=True, leave_mark=False)
    assert (sound.holds, sound.rows_checked >= 2, sound.everything_at is None) == (True, True, False)
    damage(tmp_path / "node", change)
    report = audit_ledger(used.tools, TENANT, full=True, leave_mark=False)
    assert (report.holds, report.code) == (False, code)
    assert "`desk_act`" in str(report.message)


def test_workers_find_what_one_process_finds(used: Desk, tmp_path: Path) -> None:
    with ProcessPool(2) as pool:
        workers = Workers(pool, FolderReader(tmp_path / "node"))
        alone = audit_ledger(used.tools, TENANT, full=True, leave_mark=False)
        shared = audit_ledger(used.tools, TENANT, full=True, leave_mark=False, workers=workers)
        assert (shared.holds, shared.root_hash, shared.rows_checked) == (True, alone.root_hash, alone.rows_checked)
        damage(tmp_path / "node", "UPDATE desk_act SET made_by = 'user:mallory' WHERE kind = 'comment'")
        broken = audit_ledger(used.tools, TENANT, full=True, leave_mark=False, workers=workers)
    again = audit_ledger(used.tools, TENANT, full=True, leave_mark=False)
    assert (broken.code, broken.first_bad_entry) == (again.code, again.first_bad_entry)
    assert broken.code == "ledger.row_differs"


def test_a_run_from_a_mark_says_what_it_skipped_and_a_sample_finds_a_forged_row(used: Desk, tmp_path: Path) -> None:
    first = audit_ledger(used.tools, TENANT, full=True)
    assert first.everything_at is not None
    damage(tmp_path / "node", "UPDATE desk_act SET made_by = 'user:mallory'")
    quick = audit_ledger(used.tools, TENANT)
    assert (quick.holds, quick.rows_checked, quick.everything_at) == (True, 0, first.everything_at)
    assert f"entries 1 to {first.size}" in quick.skipped
    assert "rows of all tables" in quick.skipped
    sampled = audit_ledger(used.tools, TENANT, sample=5)
    assert (sampled.holds, sampled.code) == (False, "ledger.row_differs")


class _FullDisk:
    """Implements `ports.mark_memory.MarkMemory` where nothing can be written."""

    def load(self, tenant_id: TenantId) -> bytes | None:  # noqa: ARG002 - as the port has it
        return None

    def store(self, tenant_id: TenantId, content: bytes) -> None:  # noqa: ARG002 - as the port has it
        raise OSError(ENOSPC, "No space left on device")

    def can_store(self) -> bool:
        return True


def test_a_full_disk_keeps_nobody_from_verifying(used: Desk) -> None:
    report = audit_ledger(replace(used.tools, marks=_FullDisk()), TENANT)
    assert report.holds
    assert "no mark was left" in report.skipped[-1]


def test_doctor_samples_rows(used: Desk, tmp_path: Path) -> None:
    def found() -> State:
        return next(one.state for one in examine_node(used.tools, at=used.at()) if one.name == f"rows of {TENANT}")

    assert found() is State.OK
    damage(tmp_path / "node", "UPDATE desk_act SET kind = 'undo' WHERE kind = 'comment'")
    assert found() is State.FAILED
