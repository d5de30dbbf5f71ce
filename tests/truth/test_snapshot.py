"""Trust comes as one frozen snapshot whose hash always holds; the compiler asks nobody."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import TypeFormError
from assay.kernel.instant import Instant, parse_instant
from assay.truth._read import read_record
from assay.truth.contract import Standing
from assay.truth.errors import NumberFormError, RecordError, TruthError
from assay.truth.snapshot import (
    AgentTrust,
    TrustSnapshot,
    freeze_snapshot,
    parse_snapshot,
    render_snapshot,
    snapshot_hash,
)
from tests.raising import raises
from tests.truth.records import HASH_A, TRUSTS, changed

AT = parse_instant("2026-01-07T12:30:00Z")
VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "truth" / "records.json").read_text())["cases"]
EXPECTED = next(case for case in VECTORS if case["name"] == "snapshot")
RECORD: dict[str, Any] = {
    "snapshot_id": "snap-1",
    "snapshot_time": "2026-01-07T12:30:00Z",
    "agent_trusts": TRUSTS,
    "snapshot_hash": EXPECTED["sha256"],
}


@pytest.mark.clause("kaori", "3.4")
@pytest.mark.clause("kaori", "9.2")
@pytest.mark.clause("kaori", "9.3")
def test_the_hash_is_that_of_the_canonical_trusts_written_out_by_hand() -> None:
    """Over the trusts sorted by agent, and over nothing else of the snapshot."""
    snapshot = parse_snapshot(RECORD)
    assert snapshot.snapshot_hash == EXPECTED["sha256"]
    renamed = freeze_snapshot("another-name", parse_instant("2030-01-01T00:00:00Z"), snapshot.agent_trusts)
    assert renamed.snapshot_hash == snapshot.snapshot_hash


_TRUST = st.builds(
    AgentTrust,
    standing=st.sampled_from(Standing),
    trust_score=st.integers(0, 10**6).map(lambda n: Decimal(n).scaleb(-6)),
    admissible=st.booleans(),
)


@pytest.mark.clause("kaori", "9.3")
@given(st.dictionaries(st.from_regex(r"\A[a-z]{1,8}:[a-z0-9]{1,8}\Z"), _TRUST, max_size=6), st.permutations(range(6)))
def test_the_order_in_which_agents_come_does_not_matter(trusts: dict[str, AgentTrust], order: list[int]) -> None:
    """The same trusts in any order are the same snapshot, also after being written and read."""
    pairs = list(trusts.items())
    shuffled = [pairs[place] for place in order if place < len(pairs)]
    snapshot = freeze_snapshot("s", AT, dict(shuffled))
    assert snapshot.snapshot_hash == snapshot_hash(trusts)
    assert snapshot.agent_trusts == trusts
    assert parse_snapshot(render_snapshot(snapshot)) == snapshot


@pytest.mark.clause("kaori", "9.1")
@pytest.mark.clause("kaori", "law 5")
def test_an_agent_that_the_snapshot_does_not_know_has_no_trust() -> None:
    """It is data: there is nothing to call, and nothing is made up."""
    snapshot = parse_snapshot(RECORD)
    assert snapshot.find("user:amira") == AgentTrust(
        standing=Standing.SILVER, trust_score=Decimal("0.75"), admissible=True
    )
    assert snapshot.find("user:nobody") is None


@pytest.mark.clause("kaori", "9.3")
def test_a_snapshot_with_another_hash_cannot_exist() -> None:
    """Neither read nor made: whoever holds one need not check again."""
    with raises(TruthError.snapshot_hash) as refused:
        parse_snapshot(changed(RECORD, "snapshot_hash", HASH_A))
    assert refused.value.code == "truth.snapshot_hash"
    trusts = parse_snapshot(RECORD).agent_trusts
    with raises(TruthError.snapshot_hash):
        TrustSnapshot(snapshot_id="s", snapshot_time=AT, agent_trusts=trusts, snapshot_hash=HASH_A)
    raised = changed(RECORD, "agent_trusts.sensor:042.standing", "authority")
    with raises(TruthError.snapshot_hash):
        parse_snapshot(raised)


@pytest.mark.parametrize(
    ("path", "to", "where"),
    [
        ("agent_trusts.user:amira.trust_score", 1.2, "agent_trusts.user:amira.trust_score"),
        ("agent_trusts.user:amira.trust_score", -0.1, "agent_trusts.user:amira.trust_score"),
        ("agent_trusts.user:amira.standing", "gold", "agent_trusts.user:amira.standing"),
        ("agent_trusts.user:amira.admissible", 1, "agent_trusts.user:amira.admissible"),
        ("agent_trusts.User", {"standing": "silver", "trust_score": 0, "admissible": True}, "agent_trusts.User"),
        ("agent_trusts", [], "agent_trusts"),
        ("snapshot_time", "noon", "snapshot_time"),
    ],
)
def test_a_snapshot_out_of_form_is_refused_with_its_place(path: str, to: object, where: str) -> None:
    with pytest.raises(RecordError) as refused:
        parse_snapshot(changed(RECORD, path, to))
    assert [problem.path for problem in refused.value.problems] == [where]


def test_a_trust_score_with_more_places_than_a_hash_keeps_is_refused_where_it_is_not_rounded() -> None:
    """From outside it is rounded first; a value handed in directly must already be in form."""
    with pytest.raises(RecordError) as refused:
        read_record({"standing": "silver", "trust_score": 0.1234567, "admissible": True}, AgentTrust)
    assert [problem.code for problem in refused.value.problems] == ["number"]


def test_a_snapshot_is_of_an_instant() -> None:
    """A naive time names none."""
    with pytest.raises(TypeFormError):
        freeze_snapshot("s", Instant(AT.replace(tzinfo=None)), {})


@pytest.mark.parametrize("score", ["NaN", "Infinity", "-0.1", "1.1"])
def test_a_trust_that_is_no_share_is_refused_before_it_is_hashed(score: str) -> None:
    """However the record was made: not every one comes through a parser."""
    trust = AgentTrust(standing=Standing.SILVER, trust_score=Decimal(score), admissible=True)
    with pytest.raises(NumberFormError) as refused:
        freeze_snapshot("s-1", AT, {"user:amira": trust})
    assert refused.value.code == "truth.number"
