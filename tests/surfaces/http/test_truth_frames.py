"""What frames truth over HTTP: windows, trust policies, penalties, and a piece of the map."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.flows.truth.states import Box
from assay.kernel.instant import render_instant
from tests.flows._truth import POLICY
from tests.surfaces.http._house import House, opened_house, refused


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with opened_house(tmp_path) as one:
        yield one


def _window(house: House, kind: str, closes: str | None = None) -> dict[str, object]:
    closes_at = None if closes is None else render_instant(house.truth.now(closes))
    named = {"WINDOW_OPENED": "open", "WINDOW_EXTENDED": "extend", "WINDOW_CLOSED": "close"}
    event = named.get(kind, kind)
    return {"truthkey": house.truth.truthkey, "event": event, "closes_at": closes_at, "reason": "because"}


def test_a_window_is_opened_extended_and_closed(house: House) -> None:
    """Each event is signed and on disk, people are asked while it is open, and no longer."""
    house.truth.observe("user:ann")
    operator, question = house.truth.operator, f"/api/v1/states/{house.truth.truthkey}/question"
    opened = house.post("/api/v1/windows", _window(house, "WINDOW_OPENED", "14:00"), key=operator)
    assert opened.status_code == 201, opened.text
    receipt = opened.json()
    assert (receipt["by"], receipt["kind"], receipt["version"]) == ("user:op", "WINDOW_OPENED", 1)
    assert house.get(question, key=operator).status_code == 200
    refused(
        house.post("/api/v1/windows", _window(house, "WINDOW_OPENED", "15:00"), key=operator),
        409,
        "truth.window_refused",
    )
    house.at("12:40")
    extended = house.post("/api/v1/windows", _window(house, "WINDOW_EXTENDED", "16:00"), key=operator)
    assert extended.json()["sequence_number"] > receipt["sequence_number"]
    house.at("12:50")
    refused(
        house.post("/api/v1/windows", _window(house, "WINDOW_CLOSED"), key=operator), 403, "identity.session_required"
    )
    session = house.truth.signed_in("user:op", "12:50")
    closed = house.post("/api/v1/windows", _window(house, "WINDOW_CLOSED"), key=session)
    assert (closed.status_code, closed.json()["closes_at"]) == (201, None)
    refused(house.get(question, key=operator), 404, "flow.not_found")


def test_a_window_that_says_nothing_sensible_is_refused(house: House) -> None:
    house.truth.observe("user:ann")
    refused(
        house.post("/api/v1/windows", _window(house, "WINDOW_OPENED", "14:00"), key=house.relay), 403, "identity.role"
    )
    operator = house.truth.operator
    refused(house.post("/api/v1/windows", _window(house, "WINDOW_SHUT"), key=operator), 422, "http.fields")
    refused(house.post("/api/v1/windows", _window(house, "WINDOW_OPENED"), key=operator), 422, "truth.record")
    refused(house.post("/api/v1/windows", _window(house, "WINDOW_CLOSED"), key=operator), 409, "truth.window_refused")


def test_policies_are_registered_once_and_listed_in_their_order(house: House) -> None:
    """The last is in force; the same again changes nothing, and another body needs another id."""
    operator = house.truth.operator
    [before] = house.get("/api/v1/policies", key=house.relay).json()["items"]
    assert (before["policy_id"], before["is_in_force"]) == ("flow_v1", True)
    again = house.post("/api/v1/policies", {"document": POLICY}, key=operator)
    assert (again.status_code, again.json()["policy_id"]) == (200, "flow_v1")
    child = "id: flow_v2\nversion: 2\nextends: flow_v1\n"
    refused(house.post("/api/v1/policies", {"document": child}, key=operator), 403, "identity.session_required")
    session = house.truth.signed_in("user:op", "12:29")
    lax = child.replace("flow_v2", "lax") + "limits: {per_day: 500, per_window: 500, window: P1D}\n"
    refused(house.post("/api/v1/policies", {"document": lax}, key=session), 409, "trust.policy_weak")
    made = house.post("/api/v1/policies", {"document": child}, key=session)
    assert made.status_code == 201, made.text
    listed = house.get("/api/v1/policies", key=house.relay).json()["items"]
    assert [(one["policy_id"], one["is_in_force"]) for one in listed] == [("flow_v1", False), ("flow_v2", True)]
    refused(house.post("/api/v1/policies", {"document": child}, key=house.relay), 403, "identity.role")


def test_a_penalty_is_asked_of_people_and_changes_nothing_by_itself(house: House) -> None:
    operator = house.truth.operator
    before = house.get("/agents/user:ann", key=operator).json()["standing"]
    body = {"agent_id": "user:ann", "points": 12.5, "reason": "made it up"}
    asked = house.post("/api/v1/penalties", body, key=operator)
    assert asked.status_code == 201, asked.text
    assert "made it up" in asked.json()["shown"]
    keyed = {"x-api-key": operator, "idempotency-key": "one-penalty"}
    first, again = (house.client.post("/api/v1/penalties", json=body, headers=keyed) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json() != asked.json()
    assert house.get("/agents/user:ann", key=operator).json()["standing"] == before
    refused(house.post("/api/v1/penalties", {**body, "agent_id": "user:nobody"}, key=operator), 404, "flow.not_found")
    refused(house.post("/api/v1/penalties", {**body, "points": 0}, key=operator), 422, "http.fields")
    refused(house.post("/api/v1/penalties", body, key=house.relay), 403, "identity.role")


def test_the_map_of_a_box_has_what_lies_in_it(house: House) -> None:
    """The flood is at 4.175 north, 73.509 east."""
    house.truth.observe("user:ann")
    house.truth.compile("12:40")

    def found(box: str) -> list[str]:
        answer = house.get(f"/api/v1/truth-map?bbox={box}", key=house.relay)
        assert answer.status_code == 200, answer.text
        return [one["id"] for one in answer.json()["features"]]

    assert found("73,4,74,5") == [house.truth.truthkey]
    assert found("73.509,4.175,73.509,4.175") == [house.truth.truthkey]
    assert found("170,-10,75,10") == [house.truth.truthkey]
    assert found("74,4,73,5") == []
    assert found("73,5,74,6") == []
    for wrong in ("1,2,3", "a,b,c,d", "0,5,1,4", "0,0,181,1", "nan,0,1,1"):
        refused(house.get(f"/api/v1/truth-map?bbox={wrong}", key=house.relay), 422, "http.fields")


def test_a_box_meets_what_goes_on_beyond_longitude_180() -> None:
    ring = [(179.5, 0.0), (180.5, 0.0), (180.5, 1.0), (179.5, 0.0)]
    assert Box(-180, 0, -179.6, 1).meets(ring)
    assert Box(179, 0, -179, 1).meets(ring)
    assert not Box(-179, 0, 179, 1).meets(ring)
