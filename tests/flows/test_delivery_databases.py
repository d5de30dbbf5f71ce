"""The whole way of an answer on PostgreSQL, by the role that owns nothing: asked, failed, concluded, corrected."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from assay.adapters.clock import SystemClock
from assay.adapters.postgres.provision import provision
from assay.delivery.level import Level
from assay.flows.delivery.training import captured_pairs, trigger_training
from assay.flows.known import get_ticket
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.kernel.errors import Error
from assay.kernel.ids import TicketId
from tests.delivering import list_items, list_rules, recount_rules, show_item, show_rule, trace_answer
from tests.flows._delivery import RULE, Delivery, opened_delivery
from tests.flows._people import TENANT, at_once
from tests.postgres_cluster import PostgresCluster


@pytest.fixture
def node(tmp_path: Path, postgres_cluster: PostgresCluster) -> Iterator[Delivery]:
    name = postgres_cluster.create_database()
    provision(postgres_cluster.dsn(name), at=SystemClock().now())
    with opened_delivery(tmp_path, database=postgres_cluster.dsn(name, "assay_app")) as delivery:
        yield delivery.ready()


def test_an_answer_goes_its_whole_way(node: Delivery) -> None:
    node.prove()
    answer = node.ask()
    assert answer.body.authenticity_level is Level.AUTHENTIC
    mark: dict[str, Any] = {
        "authenticity_level": "PRAMANA-3",
        "strands_available": ["capability", "knowledge", "proof"],
    }
    told = partial(node.report, "success", strand_missing=[], answer_id=answer.answer_id, **mark)
    assert [told(key=key).is_new for key in ("s", "t", None)] == [True, False, False]
    jobs: list[Callable[[], object]] = [partial(node.report, key=f"k{number // 2}") for number in range(8)]
    assert not [one for one in at_once(jobs) if isinstance(one, Error)]
    assert node.counters().total == 5
    [item] = list_items(node.tools, TENANT, open_only=True)
    node.conclude(item.item.item_id)
    ticket_id = TicketId(show_item(node.tools, TENANT, item.item.item_id).proposal_ticket_id or "")
    node.accept(node.desk.read(lambda unit: get_ticket(unit, TENANT, ticket_id)))
    assert len(show_rule(node.tools, TENANT, RULE).versions) == 2
    assert [one.is_certified for one in list_rules(node.tools, TENANT)] == [True]
    assert len(captured_pairs(node.tools.database, TENANT)) == 1
    assert len(trigger_training(node.tools, TENANT, size=1, at=node.desk.at(minutes=13))) == 1
    assert trace_answer(node.tools, TENANT, answer.answer_id).problems == ()
    assert recount_rules(node.tools, TENANT).problems == ()
    report = audit_ledger(node.tools, TENANT, full=True)
    assert (report.holds, report.message) == (True, None)
