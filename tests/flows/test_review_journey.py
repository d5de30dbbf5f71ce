"""The whole way, on each database: people join, one asks, two answer, and the ledger tells it all again."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from assay.adapters.clock import SystemClock
from assay.adapters.postgres.provision import provision
from assay.flows.errors.identity import NotSignedInError
from assay.flows.identity.authenticate import authenticate
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.review.act_review import Wish, act_review, claim_wish, comment_wish, undo_wish
from assay.flows.review.desk_settings import DeskSettings
from assay.flows.review.settle_reviews import settle_reviews
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId
from assay.review.errors import ReviewError
from assay.review.kind import TicketKind
from assay.wiring import init_node, open_node
from tests.acting import (
    amend_principal,
    caller_of,
    inspect_principal,
    issue_api_key,
    log_out,
    looking,
    rotate_api_key,
    timeline_of,
    view_desk,
    view_ticket,
)
from tests.flows._people import ADMIN, TENANT, Desk, LostError, at_once, opened_desk, quick_passwords
from tests.postgres_cluster import PostgresCluster
from tests.raising import is_of

AMIRA = PrincipalId("user:amira")


@contextmanager
def _postgres_desk(folder: Path, cluster: PostgresCluster) -> Iterator[Desk]:
    name = cluster.create_database()
    provision(cluster.dsn(name), at=SystemClock().now())
    init_node(folder / "node", database=cluster.dsn(name, "assay_app"))
    with open_node(folder / "node") as (tools, _):
        yield Desk(tools=replace(tools, passwords=quick_passwords()), start=tools.clock.now())


@pytest.fixture(params=["sqlite", "postgres"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    if request.param == "sqlite":
        with opened_desk(tmp_path) as one:
            yield one
        return
    with _postgres_desk(tmp_path, request.getfixturevalue("postgres_cluster")) as one:
        yield one


def test_people_ask_and_answer_and_all_of_it_can_be_audited(desk: Desk) -> None:
    """Every step left its entry, in order, and the chain holds."""
    for name in ("user:amira", "user:bo"):
        desk.add(name)
    desk.add("ai:planner", kind=PrincipalKind.AGENT)
    amend_principal(desk.tools, TENANT, AMIRA, PrincipalChange(trust_mask=5), by=ADMIN, at=desk.at(seconds=1))
    _, record = issue_api_key(desk.tools, TENANT, PrincipalId("ai:planner"), by=ADMIN, at=desk.start)
    rotate_api_key(desk.tools, TENANT, record.prefix, overlap=timedelta(hours=1), by=ADMIN, at=desk.start)
    tokens = [desk.session(name, seconds=2) for name in ("user:amira", "user:bo")]
    ticket, due = desk.ticket(quorum=2), desk.ticket()
    results = at_once([partial(desk.answer, ticket, token) for token in tokens])
    assert not any(isinstance(one, Error) for one in results), results
    log_out(desk.tools, tokens[0], at=desk.at(minutes=2))
    sweep = settle_reviews(desk.tools, TENANT, at=desk.at(hours=1))
    assert [one.ticket_id for one in sweep.settled] == [due.id]
    view = view_ticket(desk.tools, looking(None, at=desk.at(hours=2)), ticket.id)
    assert [one.verified for one in view.answers] == [True, True]
    assert (view.settlement.choice, view.recorded) == ("approve", True)
    kinds = [row.kind for row in desk.read(lambda unit: list(unit.ledger.entries(TENANT)))]
    assert kinds == [
        *["key.added"] * 3,
        *["principal.added", "credential.issued"] * 2,
        *["principal.added", "principal.changed", "credential.issued", "credential.issued", "credential.revoked"],
        *["credential.issued", "credential.issued"],
        *["ticket.opened", "ticket.opened", "ticket.answered", "ticket.answered", "ticket.settled"],
        *["credential.revoked", "ticket.settled"],
    ]
    assert audit_ledger(desk.tools, TENANT).holds


def test_refusals_and_failures_leave_nothing_behind(desk: Desk) -> None:
    """The same person at once, a failing commit, an ended session: the ledger does not move for any of them."""
    desk.add()
    ticket, tokens = desk.ticket(quorum=2), [desk.session(), desk.session()]
    before = desk.head()
    with pytest.raises(LostError):
        desk.failing().answer(ticket, tokens[0])
    assert desk.head() == before
    results = at_once([partial(desk.answer, ticket, token) for token in tokens])
    assert sum(is_of(one, ReviewError.already_answered) for one in results) == 1
    assert desk.head() == before + 1
    with pytest.raises(NotSignedInError):
        authenticate(desk.tools, tokens[0], at=desk.at(hours=1))
    assert len(inspect_principal(desk.tools, TENANT, AMIRA, at=desk.start).history) == 1


def test_a_ticket_is_claimed_commented_held_undone_and_answered(desk: Desk) -> None:
    """The same entries on each database, and the timeline finds them all."""
    patient = replace(
        desk, tools=replace(desk.tools, desk=DeskSettings(grace={TicketKind.APPROVAL: timedelta(minutes=1)}))
    )
    desk.add()
    ticket, amira = desk.ticket(due_at=desk.at(minutes=30)), desk.session()

    def act(wish: Wish, minutes: float) -> None:
        act_review(desk.tools, caller_of(desk.tools, amira, at=desk.at(minutes=minutes)), ticket.id, wish)

    act(claim_wish(desk.tools), 1)
    act(comment_wish(desk.tools, "é 🌊"), 1)
    patient.answer(ticket, amira, "reject", reason="no", at=desk.at(minutes=2))
    act(undo_wish(), 2.5)
    patient.answer(ticket, amira, at=desk.at(minutes=3))
    sweep = settle_reviews(patient.tools, TENANT, at=desk.at(minutes=5))
    assert [one.state for one in sweep.effects] == ["counts"]
    steps = timeline_of(desk.tools, looking(None), ticket.id)
    assert [one.kind.removeprefix("ticket.") for one in steps] == [
        *["opened", "claimed", "commented", "answer_held", "answer_undone", "answer_held", "answered", "settled"]
    ]
    (comment,) = view_desk(desk.tools, looking(None, at=desk.at(minutes=6)), ticket.id).comments
    assert (comment.text, comment.verified) == ("é 🌊", True)
    assert audit_ledger(desk.tools, TENANT).holds
