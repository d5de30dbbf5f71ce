"""What came after the answer of people, or the end of their round, by the order of the ledger, waits for the next."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from assay.flows.truth.replay_truth import replay_truth
from assay.trust.signal import ProbeCreated, SignalKind
from assay.truth.status import TruthStatus, VerificationBasis
from assay.truth.window import WindowEventKind
from tests.acting_truth import attach_fingerprint
from tests.flows._node import TENANT
from tests.flows._truth import BeforeWriting, TruthDesk, critical_flood, in_force, opened_truth
from tests.truth.records import hash_of_text

V2 = "earth.flood.v2"
LOW: dict[str, object] = {"severity": "low", "water_level_meters": 0.1}
BY_PEOPLE = (TruthStatus.VERIFIED_TRUE, VerificationBasis.HUMAN_CONSENSUS)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TruthDesk]:
    """Two reporters in the critical lane; the window is open from 12:40 to 18:40, and one has voted."""
    with opened_truth(tmp_path, contract=critical_flood()) as opened:
        opened.people()
        for name in ("user:ann", "user:ben"):
            opened.observe(name, claim_type=V2)
        opened.score(local_vision=0.95)
        opened.compile("12:40")
        opened.vote("user:eve", at="12:50")
        yield opened


def _answer(desk: TruthDesk) -> None:
    state = in_force(desk.vote("user:gus", at="12:55")).state
    assert (state.status, state.verification_basis) == BY_PEOPLE


def _all_replay(desk: TruthDesk) -> None:
    last = desk.read(lambda unit: unit.truth.find_state(TENANT, desk.truthkey))
    assert last is not None
    for version in range(1, last.version + 1):
        finding = replay_truth(desk.tools, TENANT, truthkey=desk.truthkey, version=version)
        assert finding.holds, finding.problems


def test_a_report_in_flight_while_people_answer_does_not_undo_it(desk: TruthDesk) -> None:
    """It is stamped before their answer and recorded after it: what they answered about did not contain it."""
    plain = desk.tools

    def others() -> None:
        desk.tools = plain
        _answer(desk)

    desk.tools = replace(plain, database=BeforeWriting(plain.database, others))
    late = desk.observe("user:ann", LOW, reported="12:20", at="12:51", claim_type=V2)
    desk.tools = plain
    state = desk.compile("12:56").state
    assert (state.status, state.verification_basis) == BY_PEOPLE
    assert state.compile_inputs.late_hashes == (late.observation_hash,)
    assert "late_observation" in state.transparency_flags
    again = desk.compile("13:30", force=True).state
    assert (again.status, again.compile_inputs.late_hashes) == (state.status, state.compile_inputs.late_hashes)
    _all_replay(desk)
    operator = desk.signed_in("user:op", "14:00")
    desk.window(WindowEventKind.CLOSED, credential=operator, at="14:00")
    opened = in_force(desk.window(WindowEventKind.OPENED, credential=operator, at="14:01", closes="18:00")).state
    assert opened.compile_inputs.late_hashes == ()
    assert "obs-user-ann-1220" in opened.observation_ids
    _all_replay(desk)


def _attach(desk: TruthDesk, reporter: str, observation_hash: str, at: str) -> None:
    given = {"sha256": hash_of_text(f"{reporter} 12:10"), "method": "phash", "bits": "0" * 16}
    attach_fingerprint(desk.tools, observation_hash, given, credential=desk.relay, at=desk.now(at))


def test_a_copy_that_is_found_after_the_answer_does_not_undo_it(desk: TruthDesk) -> None:
    """A fingerprint is evidence too: it is recorded, told, and waits for the next round."""
    hashes = {name: desk.observe(name, claim_type=V2).observation_hash for name in ("user:ann", "user:ben")}
    _answer(desk)
    before = desk.compile("12:56").state
    for name, hash_ in hashes.items():
        _attach(desk, name, hash_, "13:00")
    after = desk.compile("13:05").state
    assert (after.status, after.claim, after.observation_ids) == (before.status, before.claim, before.observation_ids)
    assert "late_fingerprint" in after.transparency_flags
    assert "duplicate_evidence" not in after.transparency_flags
    assert len(after.compile_inputs.late_hashes) == 2
    late = desk.compile("2T13:05").state
    assert late.observation_ids == before.observation_ids
    _all_replay(desk)


def test_scores_and_copies_after_the_end_of_a_round_change_nothing_in_it(tmp_path: Path) -> None:
    """By their receipt; what comes after the first state since then waits even if its clock says otherwise."""
    with opened_truth(tmp_path, contract=critical_flood()) as desk:
        desk.people()
        hashes = {name: desk.observe(name, claim_type=V2).observation_hash for name in ("user:ann", "user:ben")}
        desk.compile("12:40")
        over = desk.compile("18:41").state
        assert over.status is TruthStatus.INCONCLUSIVE
        desk.score("18:39", local_vision=0.95)
        for name, hash_ in hashes.items():
            _attach(desk, name, hash_, "18:45")
        after = desk.compile("18:50").state
        assert (after.status, after.ai_confidence) == (over.status, over.ai_confidence)
        assert {"ai_score_not_counted", "late_fingerprint"} <= {*after.transparency_flags}
        assert after.observation_ids == over.observation_ids
        _all_replay(desk)


def test_the_report_that_speaks_says_for_which_probe(tmp_path: Path) -> None:
    """A later one that the contract does not admit decides nothing about the trust of the first."""
    with opened_truth(tmp_path) as desk:
        desk.people()
        strict = ProbeCreated(probe_id="strict", created_by="user:op", theta_min=Decimal("0.9"))
        desk.signal(SignalKind.PROBE_CREATED, strict, credential=desk.operator, by="user:op")
        desk.observe("user:ann", probe_id="strict")
        first = desk.compile("12:40").state
        desk.observe("user:ann", at="12:41", reported="12:30", evidence_refs=[])
        second = desk.compile("12:45").state
        assert second.observation_ids == first.observation_ids
        assert second.compile_inputs.trust_snapshot_hash == first.compile_inputs.trust_snapshot_hash
        _all_replay(desk)
