"""Checkpoints are signed for whoever has grown, and one refusal does not keep the others from theirs."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from assay.flows.ledger import seal_index
from assay.flows.ledger.checkpoint_growth import checkpoint_growth
from assay.flows.review.settle_review import FollowUps
from assay.flows.review.settle_reviews import Sweep, settle_reviews
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.damage import DamagedRecordError
from assay.ports.witness import WitnessReply
from assay.surfaces.http import serve
from assay.surfaces.http.desk import Desk, open_desk
from assay.surfaces.http.serve import index_grown, settle_overdue, sign_grown
from assay.wiring import open_node
from tests.flows._node import TENANT, append_notes, new_node
from tests.flows._people import Desk as ReviewDesk

_OTHER = TenantId("other")


class _RefusingWitness:
    """Knows no log."""

    name = "w"
    public_key = b"\x58" + b"\x66" * 31  # the base point: a key like any other

    def add_checkpoint(self, request: bytes) -> WitnessReply:
        assert request
        return WitnessReply(404, b"unknown log\n")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with open_node(new_node(tmp_path)) as (tools, config):
        yield open_desk(tools, config)


def _refused(tools: Tools) -> Tools:
    return replace(tools, witnesses=(_RefusingWitness(),), witness_threshold=1)


def test_each_ledger_that_grew_gets_one_checkpoint_and_then_none(desk: Desk) -> None:
    """A round without new entries signs nothing."""
    tools = desk.tools
    append_notes(tools, 2, tenant=_OTHER)
    first = checkpoint_growth(tools, at=tools.clock.now())
    assert {attempt.tenant_id: attempt.size for attempt in first} == {TENANT: 3, _OTHER: 2}
    assert checkpoint_growth(tools, at=tools.clock.now()) == ()
    append_notes(tools, 1, tenant=_OTHER)
    second = checkpoint_growth(tools, at=tools.clock.now())
    assert [(attempt.tenant_id, attempt.size) for attempt in second] == [(_OTHER, 3)]


def test_a_refusal_is_reported_for_each_ledger_and_tried_again(desk: Desk) -> None:
    """Nothing is published, and the next round signs what this one could not."""
    tools = desk.tools
    append_notes(tools, 2, tenant=_OTHER)
    refused = checkpoint_growth(_refused(tools), at=tools.clock.now())
    assert [attempt.error.code for attempt in refused if attempt.error] == ["witness.refused", "witness.refused"]
    assert tools.checkpoints.tenants() == ()
    assert len(checkpoint_growth(tools, at=tools.clock.now())) == 2


def test_a_server_counts_the_checkpoints_it_could_not_sign(desk: Desk) -> None:
    """An operator sees it in the figures, by code."""
    sign_grown(replace(desk, tools=_refused(desk.tools)))
    labels = {"code": "witness.refused", "round": "sign_grown"}
    assert desk.metrics.registry.get_sample_value("assay_round_failures_total", labels) == 1
    sign_grown(desk)
    assert desk.tools.checkpoints.tenants() == (TENANT,)


def test_a_server_indexes_a_ledger_that_grew_by_a_whole_segment(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each ledger by itself, and one that grew by less waits."""
    tools = desk.tools
    for module in (serve, seal_index):
        monkeypatch.setattr(module, "MAX_SEGMENT", 20)
    append_notes(tools, 45)
    append_notes(tools, 19, tenant=_OTHER)
    index_grown(desk)
    segments = [tools.database.read(lambda unit, one=one: unit.index.segments(one)) for one in (TENANT, _OTHER)]  # type: ignore[misc]  # bound at once
    assert [(one.first, one.last) for one in segments[0]] == [(1, 20), (21, 40)]
    assert segments[1] == ()


def test_a_server_denies_what_nobody_approved_in_time(desk: Desk) -> None:
    """Without anybody asking: the ticket's time was up before the round began."""
    tools = desk.tools
    early = Instant(tools.clock.now() - timedelta(hours=2))
    ticket = ReviewDesk(tools=tools, start=early).ticket()
    settle_overdue(desk)
    settlement = tools.database.read(lambda unit: unit.review.find_settlement(TENANT, ticket.id))
    assert settlement is not None
    assert settlement.denied


def test_a_server_denies_in_one_tenant_what_it_cannot_in_another(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tenant before has a desk that fails as a whole; it is counted, and the next one gets its denial."""
    tools = desk.tools
    early = Instant(tools.clock.now() - timedelta(hours=2))
    ticket = ReviewDesk(tools=tools, start=early).ticket()
    append_notes(tools, 1, tenant=TenantId("aardvark"))

    def failing_first(tools: Tools, tenant_id: TenantId, *, at: Instant, follow_ups: FollowUps) -> Sweep:
        if tenant_id != TENANT:
            raise DamagedRecordError("the key that signs answers cannot be read")
        return settle_reviews(tools, tenant_id, at=at, follow_ups=follow_ups)

    monkeypatch.setattr(serve, "settle_reviews", failing_first)
    settle_overdue(desk)
    assert tools.database.read(lambda unit: unit.review.find_settlement(TENANT, ticket.id)) is not None
    labels = {"code": "store.damaged_record", "round": "settle_overdue"}
    assert desk.metrics.registry.get_sample_value("assay_round_failures_total", labels) == 1
