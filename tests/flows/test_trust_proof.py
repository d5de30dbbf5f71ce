"""Every snapshot that a state was compiled with follows from the signals of the ledger, and anybody can see that."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec.structs import replace as changed

from assay.flows.ledger.export_ledger import ExportForm, export_ledger
from assay.flows.trust import fold_trust as folding
from assay.flows.trust.fold_shelf import FoldShelf
from assay.flows.trust.fold_trust import borrow_trust, fold_trust, keep_marks
from assay.flows.trust.standings import list_standings
from assay.flows.truth.replay_truth import replay_export, replay_truth
from assay.kernel.key import TrustAnchors
from assay.kernel.ledger import EntryKind
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.trust_store import FoldMark
from assay.trust.fold_state import parse_fold_state, render_fold_state
from assay.trust.signal import read_stored_signal
from assay.trust.standing import AgentStanding
from tests.acting_truth import observe, register_policy
from tests.flows._node import TENANT, damage
from tests.flows._truth import POLICY, TruthDesk, opened_truth


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TruthDesk]:
    """Three newcomers who report, and nothing compiled yet."""
    with opened_truth(tmp_path) as one:
        one.people()
        for name in ("user:ann", "user:ben", "user:cem"):
            one.observe(name)
        yield one


def _anew(desk: TruthDesk, *, mark_every: int = 1000) -> None:
    """As after a restart: nothing is kept in memory."""
    desk.tools = replace(desk.tools, folds=FoldShelf(mark_every=mark_every))


def _exported(desk: TruthDesk) -> list[bytes]:
    parts: list[bytes] = []
    export_ledger(desk.tools, TENANT, ExportForm.NDJSON, lambda _, content: parts.append(content))
    return b"".join(parts).splitlines()


def _anchors(desk: TruthDesk) -> TrustAnchors:
    return TrustAnchors(key_ids=frozenset([desk.tools.founder]))


@pytest.mark.clause("kaori", "law 7")
def test_a_snapshot_says_what_it_follows_from(desk: TruthDesk) -> None:
    """Policy, last signal, agents and claim type: enough to freeze it again from the entries."""
    desk.compile("12:40")
    (body,) = desk.entries(EntryKind.SNAPSHOT_FROZEN)
    basis = body["basis"]
    assert basis["agents"] == ["user:ann", "user:ben", "user:cem"]
    assert (basis["claim_type"], basis["disabled"], basis["ahead_seconds"]) == ("earth.flood.v1", [], 0)
    folded = desk.read(lambda unit: fold_trust(unit, desk.tools, TENANT))
    assert basis["policy_hash"] == folded.fold.policy.policy_hash
    assert replay_truth(desk.tools, TENANT, truthkey=desk.truthkey).is_trust_refolded is True
    (exported,) = replay_export(_exported(desk), _anchors(desk))
    assert (exported.holds, exported.is_trust_refolded) == (True, True)


def test_whoever_does_not_want_to_fold_everything_says_so_and_is_told(desk: TruthDesk) -> None:
    desk.compile("12:40")
    finding = replay_truth(desk.tools, TENANT, truthkey=desk.truthkey, skip_trust=True)
    assert (finding.holds, finding.is_trust_refolded) == (True, None)


def test_a_mark_that_this_node_did_not_sign_is_passed_over(desk: TruthDesk) -> None:
    """However well it is made: trust is folded from the signals instead, and the next mark replaces it."""
    folded = desk.read(lambda unit: fold_trust(unit, desk.tools, TENANT))
    state = folded.fold.checkpoint()
    agents = {name: AgentStanding(840_000_000, one.day) for name, one in state.agents.items()}
    forged = FoldMark(
        policy_hash=state.policy_hash,
        through=folded.through,
        text=render_fold_state(changed(state, agents=agents)).decode(),
        signature="00" * 64,
    )
    desk.tools.database.write(lambda unit: unit.trust.put_mark(TENANT, forged))
    _anew(desk, mark_every=1)
    assert {one.standing for one in list_standings(desk.tools, TENANT, at=desk.now("12:40")).agents} == {300}
    keep_marks(desk.tools, TENANT)
    kept = desk.read(lambda unit: unit.trust.find_mark(TENANT, state.policy_hash))
    assert kept is not None
    assert (kept.through, kept.text == forged.text) == (folded.through, False)


def _is_own(desk: TruthDesk, mark: FoldMark) -> bool:
    return desk.read(lambda unit: folding.is_own_mark(unit, desk.tools, TENANT, mark))


def test_a_mark_of_another_ledger_is_not_ones_own(desk: TruthDesk, tmp_path: Path) -> None:
    """As after a restore: the same node signed it, up to an entry that this ledger has with another content."""
    _anew(desk, mark_every=1)
    desk.read(lambda unit: fold_trust(unit, desk.tools, TENANT))
    keep_marks(desk.tools, TENANT)
    mark = desk.read(lambda unit: unit.trust.find_mark(TENANT, _policy_hash(desk)))
    assert mark is not None
    assert _is_own(desk, mark)
    change = "text = CAST(replace(CAST(text AS TEXT), 'user:', 'user:x') AS BLOB)"
    damage(tmp_path / "node", f"UPDATE ledger SET {change} WHERE sequence_number = {mark.through}")
    assert not _is_own(desk, mark)


def test_a_mark_of_another_tenant_or_policy_is_not_ones_own(desk: TruthDesk) -> None:
    """The signature is about the place too."""
    _anew(desk, mark_every=1)
    desk.read(lambda unit: fold_trust(unit, desk.tools, TENANT))
    (due,) = desk.tools.folds.take_due(TENANT)
    assert desk.tools.folds.take_due(TENANT) == []
    assert not _is_own(desk, due)
    _anew(desk, mark_every=1)
    desk.read(lambda unit: fold_trust(unit, desk.tools, TENANT))
    keep_marks(desk.tools, TENANT)
    mark = desk.read(lambda unit: unit.trust.find_mark(TENANT, due.policy_hash))
    assert mark is not None
    assert _is_own(desk, mark)
    assert not _is_own(desk, changed(mark, through=mark.through + 1))
    assert not _is_own(desk, changed(mark, policy_hash="0" * 64))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE trust_signal SET text = replace(text, 'user:ann', 'user:mal') WHERE kind = 'AGENT_REGISTERED'",
        "UPDATE trust_signal SET kind = 'ENDORSEMENT' WHERE kind = 'ROLE_GRANTED'",
        "UPDATE trust_policy SET document = replace(document, '\"initial_standing\":300', '\"initial_standing\":900')",
        (
            "INSERT INTO trust_policy SELECT tenant_id, 'mine', 'f' || substr(policy_hash, 2), document, registered_at,"
            " registered_by, sequence_number + 1 FROM trust_policy"
        ),
    ],
)
def test_nothing_is_frozen_from_a_signal_or_a_policy_that_the_ledger_has_not(
    desk: TruthDesk, tmp_path: Path, statement: str
) -> None:
    damage(tmp_path / "node", statement)
    _anew(desk)
    with pytest.raises(DamagedRecordError, match="trust_"):
        desk.compile("12:40")


def test_a_signal_that_was_taken_away_before_trust_was_frozen_is_found_by_a_replay(
    desk: TruthDesk, tmp_path: Path
) -> None:
    """The state is signed and compiles again; only the ledger knows that somebody was an authority."""
    desk.observe("user:gus")
    damage(tmp_path / "node", "DELETE FROM trust_signal WHERE kind = 'ROLE_GRANTED'")
    _anew(desk)
    desk.compile("12:40")
    finding = replay_truth(desk.tools, TENANT, truthkey=desk.truthkey)
    (exported,) = replay_export(_exported(desk), _anchors(desk))
    for found in (finding, exported):
        assert (found.holds, found.is_complete, found.is_trust_refolded) == (False, True, False)
        assert [(one.code, "`user:gus`" in one.message) for one in found.problems] == [("replay.trust_differs", True)]


def test_a_policy_that_was_not_in_force_is_refused_and_found_by_a_replay(
    desk: TruthDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newer one was taken away; a node that compiled all the same would be found out."""
    stricter = POLICY.replace("id: flow_v1", "id: flow_v2").replace("initial_standing: 300", "initial_standing: 310")
    register_policy(desk.tools, stricter, credential=desk.signed_in("user:op", "12:31"), at=desk.now("12:31"))
    desk.observe("user:eve", at="12:32")
    damage(tmp_path / "node", "DELETE FROM trust_policy WHERE policy_id = 'flow_v2'")
    with pytest.raises(DamagedRecordError, match=r"newest `trust\.policy`"):
        desk.compile("12:40")
    monkeypatch.setattr(folding, "require_newest", lambda *_: None)
    desk.compile("12:40")
    finding = replay_truth(desk.tools, TENANT, truthkey=desk.truthkey)
    assert [one.code for one in finding.problems] == ["replay.trust_differs"]
    assert "another policy" in finding.problems[0].message
    (exported,) = replay_export(_exported(desk), _anchors(desk))
    assert exported.is_trust_refolded is False


def test_a_clock_that_was_ahead_stops_nobody_and_is_told(desk: TruthDesk) -> None:
    """Trust is of the time of its newest signal; by how much that is still to come is on record and in the answer."""
    given = desk.report("user:ann", reported="13:30")
    observe(desk.tools, given, credential=desk.relay, at=desk.now("10T12:00"))
    done = desk.compile("12:40")
    ten_days = 10 * 86400 - 40 * 60
    assert (done.is_new, done.trust_ahead_seconds) == (True, ten_days)
    assert done.state.compile_inputs.compile_time == desk.now("12:40")
    (body,) = desk.entries(EntryKind.SNAPSHOT_FROZEN)
    assert body["basis"]["ahead_seconds"] == ten_days
    assert replay_truth(desk.tools, TENANT, truthkey=desk.truthkey).holds


class _Counted:
    """How many signals and marks were read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.signals = self.marks = 0

        def signal(kind: str, text: str | bytes) -> object:
            self.signals += 1
            return read_stored_signal(kind, text)

        def mark(content: bytes | str) -> object:
            self.marks += 1
            return parse_fold_state(content)

        monkeypatch.setattr(folding, "read_stored_signal", signal)
        monkeypatch.setattr(folding, "parse_fold_state", mark)


@pytest.mark.parametrize("agents", [0, 30])
def test_each_signal_is_read_once_however_many_agents_there_are(
    desk: TruthDesk, monkeypatch: pytest.MonkeyPatch, agents: int
) -> None:
    """A compilation reads what was signalled since the last one, and no mark."""
    for number in range(agents):
        desk.trust(f"user:more{number}")
    desk.compile("12:40")
    counted = _Counted(monkeypatch)
    desk.observe("user:eve", at="12:41")
    desk.compile("12:42")
    assert (counted.signals, counted.marks) == (1, 0)
    desk.compile("12:43")
    assert (counted.signals, counted.marks) == (1, 0)


def test_after_a_restart_a_mark_is_read_once(desk: TruthDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    _anew(desk, mark_every=5)
    desk.compile("12:40")
    _anew(desk)
    counted = _Counted(monkeypatch)
    for number in range(3):
        desk.observe("user:eve", at="12:41", observation_id=f"eve-{number}")
        desk.compile("12:42", force=True)
    assert (counted.signals, counted.marks) == (3, 1)


def test_marks_are_left_every_so_many_signals(desk: TruthDesk) -> None:
    _anew(desk, mark_every=4)

    def marked() -> int:
        desk.read(lambda unit: fold_trust(unit, desk.tools, TENANT))
        keep_marks(desk.tools, TENANT)
        found = desk.read(lambda unit: unit.trust.find_mark(TENANT, _policy_hash(desk)))
        assert found is not None
        return found.through

    first = marked()
    desk.trust("user:more1")
    assert marked() == first
    for number in range(2, 5):
        desk.trust(f"user:more{number}")
    assert marked() > first


def _policy_hash(desk: TruthDesk) -> str:
    return desk.read(lambda unit: unit.trust.policies(TENANT))[-1].policy_hash


def test_who_asks_for_less_than_is_folded_gets_a_fold_of_its_own(desk: TruthDesk) -> None:
    """What others have at hand stays as far as it is, and what one copied stays as it was."""
    before = desk.read(lambda unit: fold_trust(unit, desk.tools, TENANT))
    through = before.through
    desk.trust("user:more")

    def look(unit: Unit) -> tuple[int, int, int]:
        with borrow_trust(unit, desk.tools, TENANT) as kept:
            newest = kept.through
        with borrow_trust(unit, desk.tools, TENANT, through=through) as own:
            older = own.through
        with borrow_trust(unit, desk.tools, TENANT) as kept:
            return newest, older, kept.through

    newest, older, again = desk.read(look)
    assert (older, again) == (through, newest)
    assert newest > older
    assert (before.through, "user:more" in before.fold.agent_ids()) == (through, False)
