"""The whole way of a claim on each database: deferred, resumed, approved, published, and the ledger holds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.claims.bundle import Decision
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.identity.risk import RiskTier
from tests.claims.making import example
from tests.flows._claims import ClaimsDesk, opened_claims
from tests.flows._node import TENANT
from tests.flows._people import at_once


@pytest.fixture
def desk(database_place: str | None, tmp_path: Path) -> Iterator[ClaimsDesk]:
    with opened_claims(tmp_path, database=database_place) as one:
        yield one


def test_a_claim_goes_its_whole_way(desk: ClaimsDesk) -> None:
    deferred = desk.gate(desk.document(example("decision")), submission={"thread": "t"})
    assert deferred.decision is Decision.DEFER
    resumed = desk.decide(desk.find(deferred.tickets[0].ticket_id), "user:rita", "resume").gated
    assert resumed is not None
    assert resumed.decision is Decision.ESCALATE
    done = desk.decide(desk.find(resumed.tickets[0].ticket_id), "user:sam", at=desk.at(minutes=4)).gated
    assert done is not None
    assert done.decision is Decision.PUBLISH
    view = desk.shown(done.bundle_hash, at=desk.start)
    assert [one.outcome.decision for one in view.decisions] == ["DEFER", "ESCALATE", "PUBLISH"]
    made = desk.document(desk.claim(RiskTier.MODIFY), id="3f0c7d52-8f0e-4a38-9a53-0d8f3ad5c119")
    told = at_once([lambda: desk.gate(made, submission={"thread": "u"})] * 3)
    assert [getattr(one, "decision", one) for one in told] == [Decision.PUBLISH] * 3
    assert [getattr(one, "is_new", None) for one in told].count(True) == 1
    assert [one.decision for one in desk.listed()] == ["PUBLISH", "PUBLISH"]
    assert audit_ledger(desk.tools, TENANT, full=True).holds
