"""Tiers change by two people who are not meant by it, with a trace; nothing else changes one (FRJ-015)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.flows.review.settle_reviews import settle_reviews
from assay.identity.principal import Principal, PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId
from assay.kernel.ledger import EntryKind
from assay.review.ticket import Ticket
from tests.acting import amend_principal, erase_principal, issue_api_key, list_tier_changes, request_tier
from tests.contract._kit import refused
from tests.flows._people import ADMIN, TENANT, Desk, opened_desk

_PLANNER = PrincipalId("ai:planner")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened_desk(tmp_path) as opened:
        opened.add("user:olga", roles=("operator",))
        opened.add("user:anna", roles=("admin",))
        opened.add("user:bela", roles=("admin",), action_tier=1)
        opened.add(_PLANNER, kind=PrincipalKind.AGENT, roles=(), action_tier=1)
        yield opened


def _planner(desk: Desk) -> Principal:
    found = desk.read(lambda unit: unit.identity.find_principal(TENANT, _PLANNER))
    assert found is not None
    return found


def _ask(desk: Desk, by: str = "user:olga", tier: int = 2, subject: str = _PLANNER) -> Ticket:
    session = desk.session(by)
    return request_tier(
        desk.tools, PrincipalId(subject), tier, reason="it may book", credential=session, at=desk.at(minutes=1)
    )


def _answer(desk: Desk, ticket: Ticket, by: str, choice: str = "authorise") -> None:
    desk.answer(ticket, desk.session(by), choice, at=desk.at(minutes=2), follow_ups=ROOM_FOLLOW_UPS, reason="seen")


@pytest.mark.clause("forja", "FRJ-015")
def test_a_second_person_authorises_and_the_change_is_in_force_and_on_record(desk: Desk) -> None:
    ticket = _ask(desk)
    assert '"from_tier":1' in ticket.shown
    assert _planner(desk).action_tier == 1
    _answer(desk, ticket, "user:anna")
    (change,) = list_tier_changes(desk.tools, TENANT, _PLANNER)
    assert (change.from_tier, change.to_tier, change.reason) == (1, 2, "it may book")
    assert (change.changed_by, change.ticket_id, change.version) == ("user:anna", ticket.id, 1)
    now = _planner(desk)
    assert (now.action_tier, now.version, now.recorded_by, now.name) == (2, 2, "user:anna", "The ai:planner")
    assert [one["to_tier"] for one in desk.entries(EntryKind.TIER_CHANGED)] == [2]
    _answer(desk, _ask(desk, tier=0), "user:bela")
    assert [one.version for one in list_tier_changes(desk.tools, TENANT, _PLANNER)] == [1, 2]
    assert _planner(desk).action_tier == 0
    assert audit_ledger(desk.tools, TENANT, full=True).holds


@pytest.mark.clause("forja", "FRJ-015")
def test_nobody_asks_or_answers_for_themselves_and_no_machine_does_either(desk: Desk) -> None:
    with refused("FRJ-015"):
        _ask(desk, by="user:bela", subject="user:bela", tier=3)
    ticket = _ask(desk, by="user:anna", subject="user:bela", tier=3)
    with refused("review.own_request"):
        _answer(desk, ticket, "user:bela")
    with refused("review.own_request"):
        _answer(desk, ticket, "user:anna")
    with refused("review.not_eligible"):
        _answer(desk, ticket, "user:olga")
    desk.add("ai:boss", kind=PrincipalKind.AGENT, roles=("admin",))
    for name in ("ai:boss", "user:anna"):
        key, _ = issue_api_key(desk.tools, TENANT, PrincipalId(name), by=ADMIN, at=desk.start)
        with refused("identity.session_required"):
            request_tier(desk.tools, _PLANNER, 3, reason="more", credential=key, at=desk.at(minutes=1))
    assert list_tier_changes(desk.tools, TENANT, PrincipalId("user:bela")) == ()


@pytest.mark.clause("forja", "FRJ-015")
def test_a_refusal_and_silence_change_nothing(desk: Desk) -> None:
    _answer(desk, _ask(desk), "user:anna", "refuse")
    _ask(desk)
    swept = settle_reviews(desk.tools, TENANT, at=desk.at(days=8), follow_ups=ROOM_FOLLOW_UPS)
    assert [one.denied for one in swept.settled] == [True]
    assert (_planner(desk).action_tier, desk.entries(EntryKind.TIER_CHANGED)) == (1, [])


def test_an_answer_about_a_tier_that_has_moved_since_is_refused(desk: Desk) -> None:
    """Who authorises from 1 to 2 has not authorised from 0 to 2."""
    ticket = _ask(desk)
    lowered = PrincipalChange(action_tier=0)
    amend_principal(desk.tools, TENANT, _PLANNER, lowered, by=ADMIN, at=desk.at(seconds=90))
    with refused("FRJ-015"):
        _answer(desk, ticket, "user:anna")
    assert _planner(desk).action_tier == 0


def test_a_question_that_is_open_or_moot_is_not_asked(desk: Desk) -> None:
    with refused("FRJ-015"):
        _ask(desk, tier=1)
    with refused("registry.invalid_rule"):
        _ask(desk, tier=4)
    with refused("flow.not_found"):
        _ask(desk, subject="ai:nobody")
    _ask(desk)
    with refused("FRJ-015"):
        _ask(desk, tier=3)


@pytest.mark.clause("forja", "FRJ-015")
def test_an_admin_does_not_amend_their_own_tier(desk: Desk) -> None:
    bela = PrincipalId("user:bela")
    with refused("FRJ-015"):
        amend_principal(desk.tools, TENANT, bela, PrincipalChange(action_tier=3), by=bela, at=desk.at(minutes=1))
    assert desk.entries(EntryKind.PRINCIPAL_CHANGED) == []


def test_an_erased_name_stays_erased_when_the_tier_changes(desk: Desk) -> None:
    _answer(desk, _ask(desk), "user:anna")
    erased = erase_principal(desk.tools, TENANT, _PLANNER, by=ADMIN, reason="asked for", at=desk.at(minutes=3))
    assert len(erased.sequence_numbers) == 2
    _answer(desk, _ask(desk, tier=3), "user:bela")
    assert (_planner(desk).name, _planner(desk).action_tier) == (None, 3)
