"""A fired switch on a node: on record, put to people, and opened by a person alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.flows.identity.authenticate import authenticate
from assay.flows.registry.fire_switch import fire_switch
from assay.flows.registry.restore_switch import restore_switch
from assay.flows.registry.switch_facts import load_switch
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.registry.trip import Fired, FiringCause, Restored, SenseFigures
from tests.acting import issue_api_key
from tests.contract._kit import refused
from tests.flows._people import ADMIN, TENANT, Desk, opened_desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened_desk(tmp_path) as opened:
        yield opened


def _fired(desk: Desk, episode: int = 1, *, errors: int = 9) -> Fired:
    return Fired(
        service_id="port",
        episode=episode,
        cause=FiringCause.ERROR_RATE,
        reason=f"{errors} of 100 requests failed",
        snapshot=SenseFigures(requests=100, errors=errors, active_tier=3),
        fired_at=desk.at(minutes=episode - 1),
    )


def _restore(desk: Desk, fired: Fired, credential: str, at: Instant) -> Restored:
    proved = authenticate(desk.tools, credential, at=at)
    return restore_switch(desk.tools, proved, fired, follow_ups=ROOM_FOLLOW_UPS)


def _is_fired(desk: Desk) -> bool:
    return desk.read(lambda unit: load_switch(unit.registry, TENANT, "port")).is_fired


@pytest.mark.clause("forja", "kill-switch")
def test_a_firing_is_recorded_once_and_put_to_people(desk: Desk) -> None:
    fired = _fired(desk)
    ticket = fire_switch(desk.tools, TENANT, fired, at=desk.at(seconds=1))
    again = fire_switch(desk.tools, TENANT, fired, at=desk.at(seconds=9))
    assert again == ticket
    assert '"errors":9' in ticket.shown
    assert len(desk.entries(EntryKind.SWITCH_FIRED)) == len(desk.entries(EntryKind.TICKET_OPENED)) == 1
    assert _is_fired(desk)
    with refused("registry.restore"):
        fire_switch(desk.tools, TENANT, _fired(desk, errors=3), at=desk.at(seconds=9))


@pytest.mark.clause("forja", "kill-switch")
def test_a_persons_session_restores_it_and_the_next_firing_asks_again(desk: Desk) -> None:
    desk.add("user:olga", roles=("operator",))
    session = desk.session("user:olga")
    restored = _restore(desk, _fired(desk), session, desk.at(minutes=2))
    assert restored.restored_by == ("user:olga",)
    assert not _is_fired(desk)
    assert _restore(desk, _fired(desk), session, desk.at(minutes=3)) == restored
    assert [one["episode"] for one in desk.entries(EntryKind.SWITCH_RESTORED)] == [1]
    fire_switch(desk.tools, TENANT, _fired(desk, 2), at=desk.at(minutes=4))
    assert _is_fired(desk)


@pytest.mark.clause("forja", "kill-switch")
def test_nothing_but_an_eligible_persons_session_restores_it(desk: Desk) -> None:
    """A forged token, an API key of the same person, and a person without the role change nothing at all."""
    desk.add("user:olga", roles=("operator",))
    desk.add("user:rita", roles=("reviewer",))
    fired, at = _fired(desk), desk.at(minutes=2)
    key, _ = issue_api_key(desk.tools, TENANT, PrincipalId("user:olga"), by=ADMIN, at=desk.start)
    before = desk.head()
    for forged in ("st_forged", "st_" + "0" * 60, "", "nonsense"):
        with refused("identity.not_signed_in"):
            _restore(desk, fired, forged, at)
    with refused("identity.session_required"):
        _restore(desk, fired, key, at)
    assert desk.head() == before
    fire_switch(desk.tools, TENANT, fired, at=at)
    with refused("review.not_eligible"):
        _restore(desk, fired, desk.session("user:rita"), at)
    assert _is_fired(desk)


def test_a_no_keeps_it_fired_and_people_can_be_asked_once_more(desk: Desk) -> None:
    desk.add("user:olga", roles=("operator",))
    session = desk.session("user:olga")
    ticket = fire_switch(desk.tools, TENANT, _fired(desk), at=desk.at(seconds=1))
    desk.answer(ticket, session, "keep_restricted", reason="not yet", follow_ups=ROOM_FOLLOW_UPS)
    assert _is_fired(desk)
    assert _restore(desk, _fired(desk), session, desk.at(minutes=2)).episode == 1
    assert not _is_fired(desk)


@pytest.mark.clause("forja", "kill-switch")
def test_a_person_who_may_not_restore_puts_no_firing_on_record(desk: Desk) -> None:
    """Otherwise any signed-in person could tell of a firing that never was, and stop a service by it."""
    desk.add("user:eve", roles=("auditor",))
    with refused("review.not_eligible"):
        _restore(desk, _fired(desk), desk.session("user:eve"), desk.at(seconds=5))
    assert not _is_fired(desk)
    assert desk.entries(EntryKind.SWITCH_FIRED, EntryKind.TICKET_OPENED) == []
