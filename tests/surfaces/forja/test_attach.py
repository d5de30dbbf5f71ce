"""One call makes an application a service, whatever it is built with."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

import assay
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.kernel.canonical import canonical_digest
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId
from assay.registry.trip import SwitchRule
from assay.surfaces.forja.app import Emitted
from assay.surfaces.forja.call import Call
from assay.surfaces.forja.service import ServiceRule
from tests.acting import request_tier
from tests.contract._kit import refused
from tests.registry.codex import codex
from tests.surfaces.forja._service import AGENT, FRAMEWORKS, House, make_app, opened_house

_FORJA = "/api/v2/forja"
_PLACES = ("forja_state", "forja_trust", "forja_sense", "forja_proof")
_BELOW_FORJA = {name: name.replace("forja_", "/forja/") for name in _PLACES}


@pytest.fixture(params=FRAMEWORKS)
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    with opened_house(tmp_path, request.param) as opened:
        yield opened


@pytest.mark.clause("forja", "one-call")
@pytest.mark.clause("forja", "endpoints")
def test_the_endpoints_are_there_beside_the_applications_own_routes(house: House) -> None:
    """Both shapes of STATE, TRUST, SENSE, PROOF, the manifest itself and an agent card, open to everyone."""
    assert house.call("GET", "/ping").text == "pong"
    assert house.call("GET", f"{_FORJA}/state").json()["identity"]["id"] == "portwatch-backend"
    flat = house.call("GET", f"{_FORJA}/state?shape=codex").json()
    assert flat["can_do"] == ["MOVEMENT_AUTHORITY", "ALERT_ACK", "BERTH_ASSIGN"]
    trust = house.call("GET", f"{_FORJA}/trust").json()
    assert (trust["default_tier"], trust["kill_switch"]["error_rate_threshold"]) == (0, 0.02)
    assert house.call("GET", f"{_FORJA}/proof").json()["passing"] is False
    assert house.call("GET", "/codex.json").json()["service"] == "portwatch-backend"
    assert house.call("GET", "/.well-known/agent-card.json").json()["version"] == "1.2.0"
    assert house.call("GET", f"{_FORJA}/nothing").status_code == 404


@pytest.mark.clause("forja", "FRJ-007")
@pytest.mark.clause("forja", "FRJ-008")
def test_an_action_of_tier_two_is_logged_before_it_runs(house: House) -> None:
    answer = house.as_agent("POST", "/ack/a-1")
    assert (answer.status_code, answer.json()) == (200, {"acked": "a-1"})
    service = house.agent.service
    (logged,) = service.memory.read(lambda store: store.actions(service.tenant_id, "portwatch-backend"))
    assert (logged.action_id, logged.principal_id) == ("ALERT_ACK", "ai:planner")
    assert '"rollback":{"action_id":null,"description":"reopen the alert in the log"' in logged.text
    assert house.done == ["a-1"]


@pytest.mark.clause("forja", "FRJ-009")
def test_only_a_persons_session_undoes_what_was_logged(house: House) -> None:
    house.as_agent("POST", "/ack/a-1")
    service = house.agent.service
    (logged,) = service.memory.read(lambda store: store.actions(service.tenant_id, "portwatch-backend"))
    for token in ("", "st_forged", house.key):
        with pytest.raises(Error) as caught:
            house.agent.roll_back(logged.log_id, token)
        assert caught.value.code == "FRJ-009"
    house.agent.roll_back(logged.log_id, house.desk.session("user:olga"))
    assert house.done == ["a-1", "undone ALERT_ACK"]


@pytest.mark.clause("forja", "FRJ-009")
def test_an_action_is_undone_once_and_who_did_it_is_in_the_log_before(tmp_path: Path) -> None:
    """Undoing that failed is said so, and may be tried again; what was undone is not undone once more."""
    with opened_house(tmp_path, "plain") as house:
        seen: list[int] = []

        def undo(_log: object) -> None:
            seen.append(len(rows()))
            if len(seen) == 1:
                raise ValueError

        def rows() -> list[str]:
            kept = service.memory.read(lambda store: store.actions(service.tenant_id, "portwatch-backend"))
            return sorted(f"{one.log_id.split('act_')[0]} {one.principal_id}" for one in kept)

        service, token = house.agent.service, house.desk.session("user:olga")
        house.agent.action("ALERT_ACK", rollback=undo)
        house.as_agent("POST", "/ack/a-1")
        (logged,) = service.memory.read(lambda store: store.actions(service.tenant_id, "portwatch-backend"))
        log_id = logged.log_id
        with pytest.raises(ValueError, match=r"^$"):
            house.agent.roll_back(log_id, token)
        house.agent.roll_back(log_id, token)
        for again in (log_id, f"undo_1_{log_id}"):
            with pytest.raises(Error) as caught:
                house.agent.roll_back(again, token)
            assert caught.value.code in {"registry.already_undone", "FRJ-005"}
        assert seen == [2, 4]
        assert rows() == [" ai:planner", "undo_1_ user:olga", "undo_2_ user:olga", "undo_failed_1_ user:olga"]


def test_the_log_tells_two_requests_apart_by_the_fields_of_their_bodies(tmp_path: Path) -> None:
    class Booking(BaseModel):
        berth: int

    with opened_house(tmp_path, "plain") as house:
        gate, hashes = house.agent.gate, []
        for asked in (Booking(berth=1), Booking(berth=2), [Booking(berth=1), object()]):
            call = Call({"headers": [(b"x-api-key", house.key.encode())]})
            logged = gate.begin(call, "ALERT_ACK", {"arguments": {"asked": asked}})
            assert logged is not None
            hashes.append(logged.parameters_hash)
        assert len(set(hashes)) == 3
        assert hashes[0] == canonical_digest({"arguments": {"asked": {"berth": 1}}})


@pytest.mark.clause("forja", "FRJ-011")
def test_asking_for_more_than_was_issued_is_refused_and_counted(house: House) -> None:
    for wish in ({"x_forja_tier": "3"}, {"x_forja_mask": "0x80"}, {"x_forja_mask": "-1"}):
        answer = house.as_agent("POST", "/ack/a-1", **wish)
        assert (answer.status_code, answer.json()["code"]) == (403, "FRJ-011")
        assert answer.headers["content-type"] == "application/problem+json"
    assert house.sense()["security"]["self_escalation_attempt_count"] == 3
    assert house.done == []
    assert house.as_agent("POST", "/ack/a-1", x_forja_tier="2").status_code == 200
    assert house.as_agent("POST", "/ack/a-2", x_forja_tier="1").json()["code"] == "registry.tier_closed"


def test_whoever_proves_nothing_runs_nothing(house: House) -> None:
    answer = house.call("POST", "/ack/a-1")
    assert (answer.status_code, answer.json()["code"]) == (401, "identity.not_signed_in")
    assert house.call("POST", "/ack/a-1", headers={"authorization": "Bearer forged"}).status_code == 401
    assert house.done == []


@pytest.mark.clause("forja", "FRJ-005")
def test_a_question_for_a_ruling_runs_nothing_and_says_why_not(house: House) -> None:
    def ask(action: str) -> tuple[int, str | None]:
        headers = {"x-api-key": house.key}
        answer = house.call("POST", f"{_FORJA}/trust", headers=headers, json={"action_id": action})
        return answer.status_code, answer.json().get("code")

    assert ask("ALERT_ACK") == (200, None)
    assert ask("DROP_TABLES") == (403, "FRJ-005")
    assert ask("BERTH_ASSIGN") == (403, "FRJ-005")
    assert ask("MOVEMENT_AUTHORITY") == (403, "registry.restricted")
    assert house.done == []


def test_the_trust_of_a_user_is_shown_to_that_user_and_to_who_may_look(house: House) -> None:
    own = house.as_agent("GET", f"{_FORJA}/trust/ai:planner").json()
    assert own["can_execute"] == ["ALERT_ACK"]
    assert house.as_agent("GET", f"{_FORJA}/trust/user:olga").status_code == 404
    session = {"authorization": f"Bearer {house.desk.session('user:olga')}"}
    assert house.call("GET", f"{_FORJA}/trust/ai:planner", headers=session).json() == own
    assert house.call("GET", f"{_FORJA}/trust/ai:planner").status_code == 401


def test_an_event_is_taken_from_who_is_known_and_only_if_it_is_declared(tmp_path: Path) -> None:
    taken: list[Emitted] = []
    with opened_house(tmp_path, "plain", on_event=taken.append) as house:
        key = {"x-api-key": house.key}
        assert _emit(house, "cpa-alert", **key) == 202
        assert _emit(house, "made-up", **key) == 422
        assert _emit(house, "cpa-alert") == 401
    assert [one.event_type for one in taken] == ["cpa-alert"]


def test_an_event_that_nobody_takes_is_not_said_to_be_accepted(house: House) -> None:
    assert _emit(house, "cpa-alert", **{"x-api-key": house.key}) == 409


def _emit(house: House, kind: str, **headers: str) -> int:
    event = {"event_type": kind, "service": "portwatch-backend", "timestamp": "2026-01-07T12:00:00Z", "payload": {}}
    return house.call("POST", f"{_FORJA}/sense/emit", json=event, headers=headers).status_code


@pytest.mark.parametrize("said", [{"tier": 3}, {"needs": 1}, {"needs": "READ"}, {"needs": ["READ", "WRITE"]}])
def test_code_that_contradicts_the_manifest_does_not_start(house: House, said: dict[str, int]) -> None:
    with pytest.raises(Error) as caught:
        house.agent.action("ALERT_ACK", **said)  # type: ignore[arg-type]  # a case of the table
    assert caught.value.code == "registry.invalid_rule"
    with pytest.raises(Error) as caught:
        house.agent.action("DROP_TABLES")
    house.agent.action("ALERT_ACK", needs=["ALERT_ACK", "WRITE"])
    assert caught.value.code == "registry.unknown_action"


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_without_a_node_nobody_may_do_anything(tmp_path: Path, framework: str) -> None:
    with opened_house(tmp_path, framework) as known:
        app, bind = make_app(framework, known.done)
        alone = assay.attach(app, tmp_path / "codex.json", memory=tmp_path / "alone.db")
        bind(alone)
        house = House(alone, known.desk, known.key, known.done)
        assert house.as_agent("POST", "/ack/a-1").status_code == 401
        assert house.sense()["security"]["kill_switch_active"] is False
        alone.stop()
        alone.service.memory.close()


@pytest.mark.clause("forja", "FRJ-015")
def test_an_authorised_change_of_tier_is_in_force_at_the_next_request(tmp_path: Path) -> None:
    """The agent's own requests never did it; the ruling, TRUST of the agent and its actions follow the two people."""
    with opened_house(tmp_path, "plain") as house:
        desk = house.desk
        desk.add("user:anna", roles=("admin",))

        def change(tier: int, minutes: int) -> None:
            asked = {"reason": "incident", "credential": desk.session("user:olga"), "at": desk.at(minutes=minutes)}
            ticket = request_tier(desk.tools, PrincipalId(AGENT), tier, **asked)  # type: ignore[arg-type]  # as it takes them
            desk.answer(
                ticket,
                desk.session("user:anna"),
                "authorise",
                at=desk.at(minutes=minutes),
                follow_ups=ROOM_FOLLOW_UPS,
            )

        def may() -> list[str]:
            found: list[str] = house.as_agent("GET", f"{_FORJA}/trust/{AGENT}").json()["can_execute"]
            return found

        assert may() == ["ALERT_ACK"]
        change(1, minutes=1)
        assert may() == []
        assert house.as_agent("POST", "/ack/a-1").json()["code"] == "registry.tier_closed"
        assert house.as_agent("POST", "/ack/a-1", x_forja_tier="2").json()["code"] == "FRJ-011"
        change(2, minutes=2)
        assert house.as_agent("POST", "/ack/a-1").status_code == 200
        assert house.done == ["a-1"]


@pytest.mark.clause("forja", "one-call")
def test_prefix_and_threshold_are_the_operators_choice(tmp_path: Path) -> None:
    rule = ServiceRule(switch=SwitchRule(error_rate_threshold="0.5"))
    with opened_house(tmp_path, "fastapi", codex=codex(**_BELOW_FORJA), prefix="/forja/", rule=rule) as house:
        trust = house.call("GET", "/forja/trust").json()
        assert trust["kill_switch"]["error_rate_threshold"] == 0.5
        assert house.call("GET", f"{_FORJA}/trust").status_code == 404
        for _ in range(60):
            house.call("GET", "/ping")
        house.fail(59)
        assert house.call("GET", "/forja/sense").json()["security"]["kill_switch_active"] is False


@pytest.mark.parametrize(
    ("said", "prefix"),
    [({}, "/forja"), ({}, ""), ({"forja_proof": "/elsewhere"}, None), (dict.fromkeys(_PLACES, "/state"), None)],
)
def test_endpoints_that_are_elsewhere_than_the_manifest_says_are_refused(
    tmp_path: Path, said: dict[str, str], prefix: str | None
) -> None:
    """A crawler goes where codex.json says; a service that is not there would never be listed."""
    with refused("registry.invalid_rule"), opened_house(tmp_path, "plain", codex=codex(**said), prefix=prefix):
        pass


def test_the_endpoints_are_where_the_manifest_says_without_being_told(tmp_path: Path) -> None:
    with opened_house(tmp_path, "plain", codex=codex(**_BELOW_FORJA)) as house:
        assert house.call("GET", "/forja/state").status_code == 200
        assert house.call("GET", "/forja-own").text == "pong"


def test_a_document_that_is_wrong_in_many_places_is_told_all_of_them(house: House) -> None:
    """Each by its pointer, those that are missing and those that nobody asked for too."""
    wrong = {"event_type": 7, "timestamp": "yesterday", "payload": [], "a/b": 1}
    answer = house.call("POST", f"{_FORJA}/sense/emit", json=wrong, headers={"x-api-key": house.key})
    told = answer.json()
    assert (answer.status_code, told["code"]) == (422, "forja.bad_request")
    places = [one["pointer"] for one in told["errors"]]
    assert places == ["/event_type", "/service", "/timestamp", "/payload", "/a~1b"]
    assert told["errors"][1] == {
        "field": "service",
        "message": "expected this field, got none",
        "pointer": "/service",
    }
    assert all(one["message"] in told["detail"] for one in told["errors"])


def test_an_event_of_another_service_and_another_kind_is_told_both(house: House) -> None:
    event = {"event_type": "made-up", "service": "other", "timestamp": "2026-01-07T12:00:00Z", "payload": {}}
    answer = house.call("POST", f"{_FORJA}/sense/emit", json=event, headers={"x-api-key": house.key})
    assert [one["pointer"] for one in answer.json()["errors"]] == ["/service", "/event_type"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b'{"reason":"a","reason":"b"}', b"[" * 100])
def test_a_body_that_is_no_json_object_is_refused_in_words(house: House, body: bytes) -> None:
    answer = house.call("POST", f"{_FORJA}/trust", content=body, headers={"x-api-key": house.key})
    assert (answer.status_code, answer.json()["code"]) == (422, "forja.bad_request")
    assert "expected a JSON object" in answer.json()["detail"]
