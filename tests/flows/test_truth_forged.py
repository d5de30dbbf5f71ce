"""Whoever writes to the database, or to an entry, cannot make the node sign or a replay pass what did not happen."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import assay.flows.truth.compile_truth as compiling
import assay.flows.truth.load_truth as loading
import assay.flows.truth.state_signal as signalling
from assay.adapters.sql.unit import SqlUnit
from assay.facts.truth import state_entry
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.ledger.own_keys import own_key_ring_in
from assay.flows.trust.check_trust import check_trust
from assay.flows.trust.standings import tally_credits
from assay.flows.truth.key_sealing import Sealing
from assay.flows.truth.replay_state import ReplayFinding, replay_state
from assay.flows.truth.replay_truth import _NodeLedger, ledger_entries, replay_truth
from assay.flows.truth.state_signal import judge_outcomes
from assay.flows.truth.states import map_truth, show_history, show_truth
from assay.flows.vouched import VouchedRows
from assay.kernel.errors import StoreError
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.trust.signal import Outcome, OutcomeRole, RoleGranted, SignalKind
from tests.acting_truth import in_force
from tests.flows._node import TENANT, damage
from tests.flows._truth import TruthDesk, critical_flood, opened_truth

V2 = "earth.flood.v2"
LOW: dict[str, object] = {"severity": "low", "water_level_meters": 0.1}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TruthDesk]:
    """Two reporters compiled at 12:40; a third speaks otherwise at 12:50 and waits."""
    with opened_truth(tmp_path, contract=critical_flood()) as one:
        one.people()
        for name in ("user:ann", "user:ben"):
            one.observe(name, claim_type=V2)
        one.score(local_vision=0.95)
        one.compile("12:40")
        one.observe("user:cem", LOW, at="12:50", claim_type=V2)
        yield one


def _codes(finding: ReplayFinding) -> set[str]:
    return {problem.code for problem in finding.problems}


def _replayed(desk: TruthDesk) -> ReplayFinding:
    return replay_truth(desk.tools, TENANT, truthkey=desk.truthkey)


def _forget(desk: TruthDesk) -> None:
    """As another process would see it."""
    fresh = VouchedRows()
    desk.tools.vouched.__dict__.update(fresh.__dict__)


COLUMNS = {
    "its text": 'text = replace(text, \'"sealed_at":[]\', \'"sealed_at":["2020-01-01T00:00:00Z"]\')',
    "its reach": "through = through + 2",
    "its contract": "claim_type = 'earth.flood.v1'",
    "its status": "status = 'VERIFIED_TRUE'",
    "its snapshot": "snapshot_hash = substr(snapshot_hash, 2) || substr(snapshot_hash, 1, 1)",
    "its time": "compile_time = '2020-01-01T00:00:00.000000Z'",
    "what is due": "due_at = NULL",
    "its meaning": "semantic_hash = substr(semantic_hash, 2) || substr(semantic_hash, 1, 1)",
}


@pytest.mark.parametrize("change", COLUMNS.values(), ids=COLUMNS.keys())
def test_no_state_is_made_served_or_passed_from_a_last_one_that_was_rewritten(
    desk: TruthDesk, tmp_path: Path, change: str
) -> None:
    """Its text says what is sealed, its columns which trust and contract stand: all of it is compared first."""
    _forget(desk)
    damage(tmp_path / "node", f"UPDATE truth_state SET {change}")
    with pytest.raises(DamagedRecordError):
        desk.compile("12:55")
    with pytest.raises(DamagedRecordError):
        show_truth(desk.tools, TENANT, desk.truthkey, at=desk.now("12:55"))
    with pytest.raises(DamagedRecordError):
        show_history(desk.tools, TENANT, desk.truthkey, at=desk.now("12:55"))
    with pytest.raises(DamagedRecordError):
        map_truth(desk.tools, TENANT, at=desk.now("12:55"))
    with pytest.raises(DamagedRecordError):
        _replayed(desk)
    report = audit_ledger(desk.tools, TENANT, full=True, leave_mark=False)
    assert (report.holds, report.code) == (False, "ledger.row_differs")


def test_a_state_is_served_only_as_it_was_signed(desk: TruthDesk, tmp_path: Path) -> None:
    """Also where the entry was rewritten with the row, which breaks the chain and may not have been audited yet."""
    shown = show_truth(desk.tools, TENANT, desk.truthkey, at=desk.now("12:55"))
    assert shown.state.status != "VERIFIED_TRUE"
    _forget(desk)
    word = f'\'"status":"{shown.state.status}"\', \'"status":"VERIFIED_TRUE"\''
    damage(
        tmp_path / "node",
        f"UPDATE truth_state SET status = 'VERIFIED_TRUE', text = replace(text, {word})",
        f"UPDATE ledger SET text = CAST(replace(CAST(text AS TEXT), {word}) AS BLOB) WHERE kind = 'truth.state'",
    )
    with pytest.raises(DamagedRecordError):
        show_truth(desk.tools, TENANT, desk.truthkey, at=desk.now("12:55"))


def test_a_seal_that_no_earlier_state_is_does_not_pass_a_replay(
    desk: TruthDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A state names its own seals; a replay works them out from the states before it, also for those after."""
    seal = desk.now("12:45")
    with monkeypatch.context() as patched:
        patched.setattr(loading, "_sealing", lambda *_: Sealing((seal,), seal, ()))
        forged = desk.compile("12:55")
    assert forged.state.compile_inputs.sealed_at == (seal,)
    assert "replay.seal_differs" in _codes(_replayed(desk))
    desk.compile("12:56", force=True)
    assert "replay.seal_differs" in _codes(_replayed(desk))


def test_a_record_that_the_state_does_not_reach_to_was_left_out(desk: TruthDesk, tmp_path: Path) -> None:
    """Its row is away while the key is compiled, and comes back: the ledger had it before the state all the time."""
    keep, back = "CREATE TABLE kept AS SELECT * FROM truth_record WHERE made_by = 'user:cem'", "SELECT * FROM kept"
    damage(tmp_path / "node", keep, "DELETE FROM truth_record WHERE made_by = 'user:cem'")
    desk.compile("12:55", force=True)
    damage(tmp_path / "node", f"INSERT INTO truth_record {back}", "DROP TABLE kept")
    finding = _replayed(desk)
    assert "replay.record_left_out" in _codes(finding)
    assert finding.is_complete is False


def test_a_new_record_under_the_old_trust_does_not_pass_a_replay(
    desk: TruthDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever spoke since was never asked about."""
    grant = RoleGranted(agent_id="user:ann", role="official")
    desk.signal(SignalKind.ROLE_GRANTED, grant, credential=desk.admin, by="user:root", at="12:45")

    def old(unit: Any, tenant_id: Any, last: Any, *_: object, **__: object) -> Any:  # noqa: ANN401  as it is there
        return unit.truth.find_snapshot(tenant_id, last.snapshot_hash)

    with monkeypatch.context() as patched:
        patched.setattr(loading, "_kept_snapshot", old)
        desk.compile("12:55")
    finding = _replayed(desk)
    assert (finding.is_trust_refolded, _codes(finding)) == (False, {"replay.trust_differs"})


def test_trust_that_stops_short_of_a_record_does_not_pass_a_replay(
    desk: TruthDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(loading, "_trust_through", lambda *_: 20)
        desk.compile("12:55")
    assert _codes(_replayed(desk)) == {"replay.trust_differs"}


def test_outcomes_that_do_not_follow_from_a_state_are_found(desk: TruthDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """No signed hash covers them: a replay works them out again, and so does `trust verify`."""
    desk.compile("12:51")
    desk.vote("user:eve", at="12:52")
    honest = judge_outcomes

    def forged(*given: Any) -> tuple[Outcome, ...]:  # noqa: ANN401  as it is there
        made_up = Outcome(agent_id="user:mal", role=OutcomeRole.REPORTER, correct=True, quality=Decimal(1))
        return (*(replace(one, correct=False) for one in honest(*given)), made_up)

    assert check_trust(desk.tools, TENANT).holds
    with monkeypatch.context() as patched:
        patched.setattr(signalling, "judge_outcomes", forged)
        done = desk.vote("user:gus", at="12:55")
    assert in_force(done).state.status == "VERIFIED_TRUE"
    assert _codes(_replayed(desk)) == {"replay.signal_differs"}
    assert {one.code for one in check_trust(desk.tools, TENANT).problems} == {"trust.outcomes_differ"}


def test_a_version_that_was_skipped_is_told(desk: TruthDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions count the states of a key; one too many says that a state is missing. No table takes such a row."""
    plain = state_entry
    with monkeypatch.context() as patched:
        patched.setattr(compiling, "state_entry", lambda *of, **told: plain(*of, **{**told, "version": 9}))
        with pytest.raises(StoreError, match="must follow"):
            desk.compile("12:55")
        patched.setattr(SqlUnit, "record", lambda unit, draft: unit.append(draft))
        number = desk.compile("12:55").sequence_number

    def replay(unit: Unit) -> ReplayFinding:
        ring, entries = own_key_ring_in(unit, desk.tools.founder), ledger_entries(unit, TENANT)
        return replay_state(entries, number, ring, own=desk.tools.truth_signer, ledger=_NodeLedger(unit, TENANT))

    assert _codes(desk.read(replay)) == {"replay.state_left_out"}


def test_nobody_is_paid_by_a_row_that_the_ledger_does_not_know(desk: TruthDesk, tmp_path: Path) -> None:
    """Credits are added from the log of signals, each row compared with its entry."""
    desk.compile("12:51")
    desk.vote("user:eve", at="12:52")
    desk.vote("user:gus", at="12:55")
    assert "user:ann" in {one.agent_id for one in tally_credits(desk.tools, TENANT).agents}
    change = "text = replace(text, 'user:ann', 'user:mal') WHERE kind = 'TRUTHSTATE_EMITTED'"
    damage(tmp_path / "node", f"UPDATE trust_signal SET {change}")
    with pytest.raises(DamagedRecordError):
        tally_credits(desk.tools, TENANT)
