"""Who reports for a probe is trusted as its policy says: assigned observers more, whoever made it less."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from assay.flows.ledger.own_keys import own_key_ring
from assay.flows.trust.fold_trust import read_policy
from assay.flows.trust.standings import list_standings
from assay.flows.truth.replay_state import replay_state
from assay.flows.truth.replay_truth import replay_truth
from assay.flows.truth.truth_entry import KeyEntries, read_key_entries
from assay.kernel.ledger import EntryKind
from assay.trust.evolve import Fold
from assay.trust.signal import ObserverAssigned, ProbeCreated, SignalKind, parse_signal
from assay.truth.snapshot import parse_snapshot
from tests.flows._node import TENANT
from tests.flows._truth import TruthDesk, critical_flood, in_force, opened_truth
from tests.trust.signals import fold_of

V2 = "earth.flood.v2"
# 1 / (1 + exp(2)), a newcomer's, and what the policy makes of it: a tenth more, and half.
NEWCOMER, ASSIGNED, MAKER = Decimal("0.119203"), Decimal("0.131123"), Decimal("0.059601")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TruthDesk]:
    """`user:ann` is assigned to a probe that `user:ben` made."""
    with opened_truth(tmp_path, contract=critical_flood()) as opened:
        opened.people()
        created = ProbeCreated(probe_id="probe-1", created_by="user:ben")
        opened.signal(SignalKind.PROBE_CREATED, created, credential=opened.operator, by="user:op")
        assigned = ObserverAssigned(probe_id="probe-1", agent_id="user:ann")
        opened.signal(SignalKind.OBSERVER_ASSIGNED, assigned, credential=opened.operator, by="user:op")
        yield opened


def _trusts(desk: TruthDesk) -> dict[str, Decimal]:
    entry = desk.entries(EntryKind.SNAPSHOT_FROZEN)[-1]
    frozen = parse_snapshot(entry["snapshot"])
    return {name: trust.trust_score for name, trust in frozen.agent_trusts.items()}


def test_a_probe_counts_for_whoever_reported_for_it_and_for_nobody_else(desk: TruthDesk) -> None:
    """A probe that nobody created says nothing; the snapshot's entry names the probes, so that it can be made again."""
    for name, probe in (("user:ann", "probe-1"), ("user:ben", "probe-1"), ("user:cem", "probe-none")):
        desk.observe(name, claim_type=V2, probe_id=probe)
    desk.compile("12:40")
    assert _trusts(desk) == {"user:ann": ASSIGNED, "user:ben": MAKER, "user:cem": NEWCOMER}
    basis = desk.entries(EntryKind.SNAPSHOT_FROZEN)[-1]["basis"]
    assert basis["probes"] == {"user:ann": "probe-1", "user:ben": "probe-1", "user:cem": "probe-none"}
    finding = replay_truth(desk.tools, TENANT, truthkey=desk.truthkey)
    assert (finding.holds, finding.is_trust_refolded) == (True, True), finding.problems


def test_the_latest_report_says_for_which_probe_somebody_speaks(desk: TruthDesk) -> None:
    desk.observe("user:ann", claim_type=V2, reported="12:05", probe_id="probe-1")
    desk.observe("user:ann", claim_type=V2, reported="12:15")
    desk.compile("12:40")
    assert _trusts(desk) == {"user:ann": NEWCOMER}


def test_outcomes_name_probes_and_whoever_made_one_is_heard_less_in_it(desk: TruthDesk) -> None:
    """A newcomer's half is below what the policy hears: the maker is not heard, and gains nothing by it."""
    for name, probe in (("user:ann", "probe-1"), ("user:ben", "probe-1"), ("user:cem", None)):
        desk.observe(name, claim_type=V2, probe_id=probe)
    desk.score(local_vision=0.95)
    desk.compile("12:40")
    desk.vote("user:eve", at="12:50")
    state = in_force(desk.vote("user:gus", at="12:55")).state
    assert (state.status, "reporter_not_heard" in state.transparency_flags) == ("VERIFIED_TRUE", True)
    emitted = desk.entries(EntryKind.TRUTH_STATE)[-1]["signal"]["object"]
    probes = {one["agent_id"]: one["probe_id"] for one in emitted["outcomes"] if one["role"] == "reporter"}
    assert probes == {"user:ann": "probe-1", "user:cem": None}
    standings = list_standings(desk.tools, TENANT, at=desk.now("13:00"), agents=["user:ann", "user:ben"]).agents
    assert [one.standing > 300 for one in standings] == [True, False]


def test_a_probe_that_somebody_did_not_report_for_is_found_by_a_replay(desk: TruthDesk) -> None:
    """Whoever writes a snapshot's entry cannot lend a bonus to somebody who never asked for it."""
    desk.observe("user:ann", claim_type=V2)
    desk.compile("12:40")
    rows = desk.read(lambda unit: list(unit.ledger.entries(TENANT)))
    texts = {row.sequence_number: row.text for row in rows}
    number = next(row.sequence_number for row in rows if row.kind == EntryKind.SNAPSHOT_FROZEN)
    texts[number] = texts[number].replace(b'"probes":{}', b'"probes":{"user:ann":"probe-9"}')
    state = next(row.sequence_number for row in rows if row.kind == EntryKind.TRUTH_STATE)

    class Whole:
        def key_entries(self, truthkey: str, through: int) -> KeyEntries:
            return desk.read(lambda unit: read_key_entries(unit, TENANT, truthkey, through=through))

        def fold(self, policy_hash: str | None, through: int) -> Fold | None:
            policy = read_policy(desk.entries(EntryKind.TRUST_POLICY)[0]["document"])
            assert policy_hash in (None, policy.policy_hash)
            signals = desk.read(lambda unit: list(unit.trust.signals(TENANT, through=through)))
            return fold_of(*(parse_signal(one.text) for one in signals), under=policy)

    finding = replay_state(texts.get, state, own_key_ring(desk.tools), ledger=Whole())
    assert "replay.trust_differs" in [one.code for one in finding.problems]
