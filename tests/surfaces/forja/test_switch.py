"""The switch of a running service: it fires by itself, holds, and opens for a person."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import assay
from assay.flows.service_desk import NodeDesk
from tests.flows._people import TENANT
from tests.surfaces.forja._service import FRAMEWORKS, House, make_app, opened_house

_FORJA = "/api/v2/forja"


@pytest.fixture(params=FRAMEWORKS)
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    with opened_house(tmp_path, request.param) as opened:
        yield opened


def _restore(house: House, token: str) -> tuple[int, str | None]:
    answer = house.call("POST", f"{_FORJA}/trust/restore", json={"human_session_token": token})
    return answer.status_code, answer.json().get("code")


@pytest.mark.clause("forja", "kill-switch")
def test_errors_take_writing_away_at_once_and_leave_reading(house: House) -> None:
    """4xx are not errors, nor are the protocol's own endpoints; the fiftieth failure is one too many."""
    for _ in range(60):
        house.call("GET", f"{_FORJA}/nothing")
    house.fail(49)
    assert house.as_agent("POST", "/ack/a-1").status_code == 200
    house.fail(1)
    answer = house.as_agent("POST", "/ack/a-2")
    assert (answer.status_code, answer.json()["code"]) == (403, "registry.tier_closed")
    sense = house.sense()
    assert (sense["security"]["kill_switch_active"], sense["security"]["current_trust_tier"]) == (True, 1)
    assert sense["health"]["status"] == "fired"
    assert house.call("GET", "/ping").text == "pong"
    assert house.done == ["a-1"]


@pytest.mark.clause("forja", "kill-switch")
def test_it_stays_fired_after_a_restart_and_for_every_other_worker(house: House, tmp_path: Path) -> None:
    house.fail(60)
    house.agent.service.tick()
    done: list[str] = []
    app, bind = make_app("plain", done)
    node = NodeDesk(tools=house.desk.tools, tenant_id=TENANT)
    other = assay.attach(app, tmp_path / "codex.json", node=node)
    bind(other)
    second = House(other, house.desk, house.key, done)
    assert second.sense()["security"]["kill_switch_active"] is True
    assert second.as_agent("POST", "/ack/a-1").json()["code"] == "registry.tier_closed"
    assert done == []
    other.service.memory.close()


@pytest.mark.clause("forja", "kill-switch")
def test_only_a_persons_token_restores_it_and_old_errors_are_forgotten(house: House) -> None:
    house.fail(60)
    house.agent.service.tick()
    for token in ("", "st_forged", "a.b", house.key):
        assert _restore(house, token) == (401, "identity.not_signed_in")
    assert house.sense()["security"]["kill_switch_active"] is True
    assert _restore(house, house.desk.session("user:olga")) == (200, None)
    sense = house.sense()
    assert (sense["security"]["kill_switch_active"], sense["security"]["current_trust_tier"]) == (False, 3)
    house.fail(2)
    assert house.as_agent("POST", "/ack/a-1").status_code == 200
    assert _restore(house, house.desk.session("user:olga")) == (409, "registry.restore")
    assert _restore(house, "st_forged") == (401, "identity.not_signed_in")


def test_an_answer_at_the_nodes_own_desk_restores_it_too(house: House) -> None:
    """The ticket was opened by the round that stored the firing; the next round sees the answer."""
    from assay.flows.follow_ups import ROOM_FOLLOW_UPS

    house.fail(60)
    service = house.agent.service
    service.tick()
    (ticket,) = house.desk.read(lambda unit: unit.review.tickets(TENANT, unsettled_only=True))
    now = service.clock.now()
    house.desk.answer(ticket, house.desk.session("user:olga"), "restore", at=now, follow_ups=ROOM_FOLLOW_UPS)
    service.tick()
    service.tick()
    assert not service.switch.is_fired


@pytest.mark.clause("forja", "kill-switch")
def test_a_person_fires_it_by_hand(house: House) -> None:
    session = {"authorization": f"Bearer {house.desk.session('user:olga')}"}
    path, body = f"{_FORJA}/trust/fire", {"reason": "strange bookings"}
    assert house.call("POST", path, json=body).status_code == 401
    assert house.call("POST", path, json=body, headers={"x-api-key": house.key}).status_code == 401
    assert house.call("POST", path, json=body, headers=session).json() == {"fired": True, "episode": 1}
    assert house.as_agent("POST", "/ack/a-1").json()["code"] == "registry.tier_closed"
