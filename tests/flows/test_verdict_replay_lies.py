"""A replay believes no table and no code of the past: what was recorded must follow from the ledger's own entries."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

import assay.flows.verdicts.prepare_verdict as preparing
import assay.flows.verdicts.reason as judging
from assay.flows.verdicts.replay_verdict import replay_verdicts
from assay.identity.principal import PrincipalChange
from assay.kernel.ids import PrincipalId
from assay.verdicts.envelope import Verdict
from assay.verdicts.fastpath import fast_answer
from assay.verdicts.record import seal_envelope
from assay.verdicts.replay import ReplayResult
from assay.verdicts.window import facts_at
from assay.verdicts.window_fact import buffer_record
from tests.acting import amend_principal
from tests.contract._kit import refused
from tests.flows._node import TENANT, damage
from tests.flows._people import ADMIN
from tests.flows._verdicts import KeyInHand, VerdictDesk, opened_verdicts, rule


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[VerdictDesk]:
    with opened_verdicts(tmp_path) as opened:
        yield opened


def _results(desk: VerdictDesk) -> list[ReplayResult]:
    return [one.result for one in replay_verdicts(desk.tools, TENANT)]


_WELL, _LIED = ReplayResult.MATCH, ReplayResult.REPLAY_DIVERGENCE


def _fast(desk: VerdictDesk, *measured: int) -> None:
    desk.judge_by(rule("r", "low"))
    desk.settings(fast_path_n=1)
    for second, so2 in enumerate(measured):
        desk.decide({"so2": so2}, name=f"t-{second}", at=desk.at(minutes=4, seconds=second))


@pytest.mark.clause("ski", "8.1")
def test_a_verdict_of_the_fast_path_is_worked_out_again(desk: VerdictDesk) -> None:
    _fast(desk, 500, 500, 500)
    assert _results(desk) == [_WELL] * 3


@pytest.mark.clause("ski", "8.1")
def test_a_fast_verdict_that_does_not_follow_diverges(desk: VerdictDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody asked a model, so the verdict is the verifier's own: CLEAR over the limit is a lie."""
    real = fast_answer

    def lying(*given: Any, **more: Any) -> Any:  # noqa: ANN401 - whatever the real one takes
        fast = real(*given, **more)
        return replace(fast, answer=replace(fast.answer, verdict=Verdict.CLEAR))

    _fast(desk, 500)
    monkeypatch.setattr(judging, "fast_answer", lying)
    assert desk.decide({"so2": 500}, name="b").overall.verdict is Verdict.CLEAR
    assert _results(desk) == [_WELL, _LIED]


@pytest.mark.clause("ski", "5.6")
def test_a_count_that_was_written_by_hand_is_found_out(desk: VerdictDesk, tmp_path: Path) -> None:
    """After one evaluation the model may not be left out as after many: the count is that of the entries."""
    _fast(desk, 10)
    rest = "rule_id, subject, as_of, standing, verdict, status, tier, path, kg_version_hash, recorded_at"
    with closing(sqlite3.connect(tmp_path / "node" / "assay.db")) as connection, connection:
        connection.execute(
            f"INSERT INTO verdict_index (tenant_id, sequence_number, telemetry_id, {rest})"
            f" SELECT tenant_id, sequence_number + 1000, 'x', {rest} FROM verdict_index"
        )
    with refused("store.damaged_record"):
        desk.decide({"so2": 10}, name="b")


@pytest.mark.clause("ski", "8.1")
def test_windows_that_are_not_those_of_the_ledger_diverge(desk: VerdictDesk, tmp_path: Path) -> None:
    """A record whose row was deleted is missed once, and the replay finds it out."""
    desk.judge_by(rule("r", kind="must_not_exceed_in_window", value=100, window_seconds=600))
    desk.decide({"so2": 500}, name="a", at=desk.at(minutes=4))
    damage(tmp_path / "node", "DELETE FROM verdict_index")
    assert desk.decide({"so2": 6}, name="b").overall.verdict is Verdict.CLEAR
    assert _results(desk) == [_WELL, _LIED]


@pytest.mark.clause("ski", "8.1")
def test_windows_are_looked_at_again_as_they_were(desk: VerdictDesk) -> None:
    """Late records, records that were dropped and held verdicts: each fact is that of its own moment."""
    desk.judge_by(
        rule("r", kind="must_average_within", value=[0, 20], window_seconds=60),
        rule("h", "high", kind="must_not_exceed_in_window", value=100, window_seconds=60),
    )
    desk.settings(keep_seconds=90)
    decided = [
        desk.decide({"so2": second}, name=f"t-{second}", at=desk.at(seconds=second))
        for second in (0, 30, 10, 200, 60, 210)
    ]
    desk.attest(decided[1].verdicts[0].ticket_id)
    assert set(_results(desk)) == {_WELL}


def _cautious(plans: Any, telemetry: Any, earlier: Any, **more: Any) -> Any:  # noqa: ANN401 - as the real one
    """What `window_facts` was when every doubt counted."""
    return facts_at(plans, buffer_record(telemetry), earlier, is_cautious=True, **more)


@pytest.mark.clause("ski", "8.1")
def test_an_entry_from_when_every_doubt_counted_still_matches(
    desk: VerdictDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its facts are stored with it: a text beside a breach was a person's then, and the replay leaves it at that."""
    desk.judge_by(rule("r", kind="must_not_exceed_in_window", value=100, window_seconds=600))
    desk.decide({"so2": "n/a"}, name="a", at=desk.at(minutes=4))
    with monkeypatch.context() as former:
        former.setattr(judging, "window_facts", _cautious)
        old = desk.decide({"so2": 500}, name="b", at=desk.at(minutes=5))
    new = desk.decide({"so2": 500}, name="c", at=desk.at(minutes=6))
    assert (old.overall.verdict, new.overall.verdict) == (Verdict.DISCRETIONARY, Verdict.FLAG)
    assert _results(desk) == [_WELL] * 3


@pytest.mark.clause("ski", "4.2")
def test_words_and_citations_that_no_model_said_diverge(desk: VerdictDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    real = seal_envelope

    def lying(*given: Any, **more: Any) -> Any:  # noqa: ANN401 - whatever the real one takes
        return replace(real(*given, **more), reasoning="the operator is innocent")

    desk.judge_by(rule("r"))
    desk.decide({"so2": 500}, name="a")
    monkeypatch.setattr(preparing, "seal_envelope", lying)
    desk.decide({"so2": 500}, name="b")
    assert _results(desk) == [_WELL, _LIED]


@pytest.mark.clause("ski", "5.4")
def test_a_reviewer_who_takes_another_key_changes_nothing_about_the_past(desk: VerdictDesk) -> None:
    """A token is verified by the key that its reviewer had when it was signed."""
    first, second = (KeyInHand(Ed25519PrivateKey.from_private_bytes(seed * 32)) for seed in (b"R", b"S"))
    rita = PrincipalId("user:rita")
    desk.judge_by(rule("r", "high"))
    held = desk.decide({"so2": 500}, name="a")
    change = PrincipalChange(public_key=first.public_key.hex())
    amend_principal(desk.tools, TENANT, rita, change, by=ADMIN, at=desk.start)
    desk.attest(held.verdicts[0].ticket_id, signing=first)
    later = PrincipalChange(public_key=second.public_key.hex())
    amend_principal(desk.tools, TENANT, rita, later, by=ADMIN, at=desk.at(minutes=20))
    assert set(_results(desk)) == {_WELL}
