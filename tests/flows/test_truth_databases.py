"""The whole way of a claim on each database: recorded, scored, voted on, verified, replayed, and moved to another."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from assay.adapters.process_pool import InlinePool
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.trust.check_trust import check_trust
from assay.flows.truth.compile_all import compile_all
from assay.flows.truth.compile_truth import CompiledTruth, compile_truth, expire_truth
from assay.flows.truth.replay_truth import replay_truth
from assay.flows.truth.states import map_truth
from assay.kernel.errors import Error
from assay.truth.status import TruthStatus
from tests.acting_truth import attach_fingerprint
from tests.flows._node import TENANT
from tests.flows._people import at_once
from tests.flows._truth import TruthDesk, critical_flood, in_force, opened_truth
from tests.truth.records import hash_of_text


@pytest.fixture
def desk(database_place: str | None, tmp_path: Path) -> Iterator[TruthDesk]:
    with opened_truth(tmp_path, contract=critical_flood(), database=database_place) as one:
        one.people()
        yield one


def _versions(desk: TruthDesk, truthkey: str) -> list[int]:
    return [one.version for one in desk.read(lambda unit: unit.truth.history(TENANT, truthkey))]


def test_a_claim_goes_its_whole_way(desk: TruthDesk) -> None:
    """Every state replays from the ledger, the log of signals is what the entries say, and the chain holds."""
    picture = {"uri": "gs://kaori-evidence/a.jpg", "sha256": hash_of_text("one"), "mime_type": "image/jpeg"}
    fingerprint = {"sha256": hash_of_text("one"), "method": "phash", "bits": "00ff00ff00ff00ff"}
    first = desk.observe("user:ann", claim_type="earth.flood.v2", evidence_refs=[picture])
    at = desk.now("12:31")
    attach_fingerprint(desk.tools, first.observation_hash, fingerprint, credential=desk.relay, at=at)
    desk.observe("user:ben", claim_type="earth.flood.v2")
    copied = desk.observe("user:cem", claim_type="earth.flood.v2", reported="12:11", evidence_refs=[picture])
    again = attach_fingerprint(desk.tools, copied.observation_hash, fingerprint, credential=desk.relay, at=at)
    assert not again.is_new
    desk.score(local_vision=0.95)
    waiting = desk.compile("12:40").state
    assert (waiting.status, "duplicate_evidence" in waiting.transparency_flags) == (
        TruthStatus.PENDING_HUMAN_REVIEW,
        True,
    )
    desk.vote("user:eve", at="12:50")
    final = in_force(desk.vote("user:gus", at="12:55"))
    assert final.state.status is TruthStatus.VERIFIED_TRUE
    assert expire_truth(desk.tools, TENANT, at=desk.now("3T12:00")).compiled == (desk.truthkey,)
    findings = [
        replay_truth(desk.tools, TENANT, truthkey=desk.truthkey, version=version)
        for version in range(1, final.version + 2)
    ]
    assert [one.problems for one in findings] == [()] * len(findings)
    assert check_trust(desk.tools, TENANT).holds
    assert audit_ledger(desk.tools, TENANT, leave_mark=False).holds
    assert len(map_truth(desk.tools, TENANT, at=desk.now("3T12:01"))["features"]) == 1


def test_many_at_once_lose_nothing(desk: TruthDesk) -> None:
    """Reporters and compilers on the same keys: every observation ends in a state, versions have no gaps."""
    reporters = ("user:ann", "user:ben", "user:cem", "user:eve")

    def report(name: str) -> None:
        for hour in (9, 10):
            for minute in range(4):
                desk.observe(name, claim_type="earth.flood.v2", reported=f"{hour:02}:{minute:02}", at="12:30")

    def compile_them() -> None:
        for _ in range(3):
            compile_all(desk.tools, TENANT, InlinePool(), at=desk.now("12:40"))

    results = at_once([*(partial(report, name) for name in reporters), compile_them, compile_them])
    assert not any(isinstance(one, Error) for one in results), results
    compile_all(desk.tools, TENANT, InlinePool(), at=desk.now("12:40"))
    keys = desk.read(lambda unit: list(unit.truth.keys(TENANT)))
    assert desk.read(lambda unit: list(unit.truth.keys(TENANT, stale_only=True))) == []
    for key in keys:
        latest = compile_truth(desk.tools, TENANT, key, at=desk.now("12:41"))
        assert isinstance(latest, CompiledTruth)
        assert len(latest.state.compile_inputs.observation_hashes) == 16
        versions = _versions(desk, key)
        assert versions == list(range(1, len(versions) + 1))
        assert replay_truth(desk.tools, TENANT, truthkey=key).holds
