"""The tables that truth is compiled from are what the ledger holds, no more and no less, before anything is signed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.adapters.process_pool import InlinePool
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.ledger.examine_node import State, examine_node
from assay.flows.truth.compile_all import compile_all
from assay.flows.vouched import VouchedRows
from assay.ports.damage import DamagedRecordError
from tests.acting_truth import attach_fingerprint
from tests.flows._node import TENANT, damage
from tests.flows._truth import TruthDesk, critical_flood, opened_truth
from tests.truth.records import hash_of_text

_FLOOD = "earth.flood.v2"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TruthDesk]:
    """A critical flood with every kind of record, compiled once; the next report waits."""
    with opened_truth(tmp_path, contract=critical_flood()) as one:
        one.people()
        for name in ("user:ann", "user:ben"):
            one.observe(name, claim_type=_FLOOD)
        one.score(local_vision=0.95)
        one.compile("12:40")
        one.vote("user:eve", at="12:50")
        one.observe("user:cem", at="12:52", claim_type=_FLOOD)
        yield one


def _fingerprint(desk: TruthDesk, reporter: str, observation_hash: str) -> None:
    given = {"sha256": hash_of_text(f"{reporter} 12:10"), "method": "phash", "bits": "f0f0f0f0f0f0f0f0"}
    attach_fingerprint(desk.tools, observation_hash, given, credential=desk.operator, at=desk.now("12:53"))


_VOTE = (
    "INSERT INTO truth_record SELECT tenant_id, 'vote', truthkey, 'vote.x', '{hash}', 'user:gus', occurred_at,"
    " received_at, replace(text, 'RATIFY', 'REJECT'), {number} FROM truth_record WHERE kind = 'vote' LIMIT 1"
)
_FORGERIES = {
    "a record taken away": ("DELETE FROM truth_record WHERE made_by = 'user:cem'", "ledger.row_missing"),
    "a record rewritten": (
        "UPDATE truth_record SET text = replace(text, '1.25', '9.5') WHERE made_by = 'user:cem'",
        "ledger.row_differs",
    ),
    "a vote that nobody cast": (_VOTE.format(hash="f" * 64, number=3), "ledger.row_unrecorded"),
    "a vote that no entry follows": (_VOTE.format(hash="f" * 64, number=9999), "ledger.row_unrecorded"),
    "the hash of another": (
        (
            "UPDATE truth_record SET record_hash = substr(record_hash, 2) || substr(record_hash, 1, 1)"
            " WHERE made_by = 'user:cem'"
        ),
        "ledger.row_differs",
    ),
    "another reporter": (
        "UPDATE truth_record SET made_by = 'user:gus' WHERE made_by = 'user:cem'",
        "ledger.row_differs",
    ),
    "received earlier": (
        "UPDATE truth_record SET received_at = '2020-01-01T00:00:00.000000Z' WHERE made_by = 'user:cem'",
        "ledger.row_differs",
    ),
    "under another key": (
        "UPDATE truth_record SET truthkey = replace(truthkey, 'T12:00Z', 'T11:00Z') WHERE made_by = 'user:cem'",
        "ledger.row_differs",
    ),
    "a snapshot rewritten": ("UPDATE trust_snapshot SET text = replace(text, 'bronze', 'gold')", "ledger.row_differs"),
    "a snapshot taken away": ("DELETE FROM trust_snapshot", "ledger.row_missing"),
    "a state rewritten": ("UPDATE truth_state SET text = replace(text, 'LEANING', 'VERIFIED')", "ledger.row_differs"),
    "a state taken away": ("DELETE FROM truth_state WHERE version = 2", "ledger.row_missing"),
    "a contract rewritten": (
        "UPDATE truth_contract SET document = replace(document, 'flood', 'food')",
        "ledger.row_differs",
    ),
    "a contract taken away": ("DELETE FROM truth_contract", "ledger.row_missing"),
}


def test_tables_that_nobody_touched_hold(desk: TruthDesk) -> None:
    """Also with fingerprints of evidence that is under several keys."""
    first = desk.observe("user:fay", at="12:52", claim_type=_FLOOD)
    _fingerprint(desk, "user:fay", first.observation_hash)
    later = desk.observe(
        "user:gus",
        at="13:20",
        reported="13:10",
        claim_type=_FLOOD,
        evidence_refs=desk.report("user:fay")["evidence_refs"],
    )
    _fingerprint(desk, "user:fay", later.observation_hash)
    assert audit_ledger(desk.tools, TENANT, full=True, leave_mark=False).holds


@pytest.mark.parametrize(("statement", "code"), _FORGERIES.values(), ids=_FORGERIES)
def test_what_was_changed_behind_our_back_is_found(desk: TruthDesk, tmp_path: Path, statement: str, code: str) -> None:
    """By a whole verification of the ledger, and where the row is another also by the examination of a node."""
    damage(tmp_path / "node", statement)
    report = audit_ledger(desk.tools, TENANT, full=True, leave_mark=False)
    assert (report.holds, report.code) == (False, code)
    examined = {one.name: one.state for one in examine_node(desk.tools, at=desk.now("13:00"))}
    assert (examined[f"rows of {TENANT}"] is State.FAILED) is (code != "ledger.row_missing")


@pytest.mark.parametrize(
    "name",
    [
        "a record rewritten",
        "a vote that nobody cast",
        "the hash of another",
        "another reporter",
        "received earlier",
        "a contract rewritten",
    ],
)
def test_nothing_is_signed_from_a_row_that_is_not_its_entry(desk: TruthDesk, tmp_path: Path, name: str) -> None:
    """The key stops with a code, and others go on."""
    head = desk.head()
    damage(tmp_path / "node", _FORGERIES[name][0])
    with pytest.raises(DamagedRecordError):
        desk.compile("12:55")
    done = compile_all(desk.tools, TENANT, InlinePool(), at=desk.now("12:56"))
    assert [(one.truthkey, one.code) for one in done.stuck] == [(desk.truthkey, "store.damaged_record")]
    assert desk.head() == head


def test_a_snapshot_that_was_rewritten_is_not_used_again(desk: TruthDesk, tmp_path: Path) -> None:
    """Trust stands until something is recorded, and then it is read from its row."""
    desk.compile("12:55")
    damage(tmp_path / "node", "UPDATE trust_snapshot SET text = replace(text, 'bronze', 'gold')")
    with pytest.raises(DamagedRecordError, match="trust_snapshot"):
        desk.compile("12:56", force=True)


def test_a_fingerprint_stands_where_its_evidence_is_and_nowhere_else(desk: TruthDesk, tmp_path: Path) -> None:
    observed = desk.observe("user:fay", at="13:20", reported="13:10", claim_type=_FLOOD)
    given = {"sha256": hash_of_text("user:fay 13:10"), "method": "phash", "bits": "f0f0f0f0f0f0f0f0"}
    attach_fingerprint(desk.tools, observed.observation_hash, given, credential=desk.operator, at=desk.now("13:21"))
    statement = (
        "INSERT INTO truth_record SELECT tenant_id, kind, '{key}', record_id, record_hash, made_by, occurred_at,"
        " received_at, text, sequence_number FROM truth_record WHERE kind = 'fingerprint'"
    )
    damage(tmp_path / "node", statement.format(key=desk.truthkey))
    assert not audit_ledger(desk.tools, TENANT, full=True, leave_mark=False).holds
    with pytest.raises(DamagedRecordError, match="truth_record"):
        desk.compile("13:30")


def test_each_row_is_compared_once_in_a_process(desk: TruthDesk) -> None:
    """What was compared is remembered by its whole content, and the oldest is forgotten first."""
    seen = VouchedRows(most=2)
    rows = desk.read(lambda unit: list(unit.truth.records(TENANT, desk.truthkey)))
    seen.add(TENANT, rows[:2])
    assert seen.unseen(TENANT, rows[:3]) == rows[2:3]
    seen.add(TENANT, rows[2:3])
    assert seen.unseen(TENANT, rows[:3]) == rows[:1]
