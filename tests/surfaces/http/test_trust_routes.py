"""Trust over HTTP: snapshots as they would be frozen, standings, and the log of signals."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from assay.identity.principal import PrincipalKind
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import render_instant
from assay.kernel.ledger import EntryKind
from assay.trust.signal import RoleGranted, SignalKind
from assay.truth.snapshot import parse_snapshot
from tests.acting import issue_api_key
from tests.acting_truth import register_policy
from tests.flows._people import ADMIN
from tests.flows._truth import POLICY
from tests.surfaces.http._house import OTHER, House, opened_house, refused


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with opened_house(tmp_path) as one:
        yield one


def _endorsement(house: House, by: str, endorsed: str = "user:ann", **members: object) -> dict[str, Any]:
    return {
        "signal_id": f"endorse.{endorsed.replace(':', '-')}",
        "kind": "ENDORSEMENT",
        "agent_id": by,
        "occurred_at": render_instant(house.clock.at),
        "object": {"endorsed": endorsed, "weight": 0.5},
        **members,
    }


def test_a_snapshot_is_what_a_compilation_would_freeze(house: House) -> None:
    """Its hash holds and is the ETag; agents that nobody knows are not in it."""
    answer = house.get("/trust-snapshot?agents=user:ann,user:gus,user:nobody", key=house.truth.operator)
    snapshot = parse_snapshot(answer.content)
    assert sorted(snapshot.agent_trusts) == ["user:ann", "user:gus"]
    assert answer.headers["etag"] == f'"{snapshot.snapshot_hash}"'
    assert snapshot.agent_trusts["user:gus"].standing == "authority"
    whole = parse_snapshot(house.get("/trust-snapshot", key=house.truth.operator).content)
    assert {"user:ann", "user:ben", "user:cem", "user:eve", "user:fay", "user:gus"} <= set(whole.agent_trusts)


def test_a_snapshot_of_the_past_knows_only_the_past(house: House) -> None:
    """Whoever was registered later is not in it, and a role that was granted later does not count."""
    house.at("13:00")
    grant = RoleGranted(agent_id="user:ann", role="official")
    house.truth.signal(SignalKind.ROLE_GRANTED, grant, credential=house.truth.admin, by="user:root", at="13:00")
    for at, standing in (("12:59", "bronze"), ("13:00", "authority")):
        moment = quote(render_instant(house.truth.now(at)))
        path = f"/trust-snapshot?agents=user:ann&at={moment}"
        snapshot = parse_snapshot(house.get(path, key=house.truth.operator).content)
        assert snapshot.snapshot_time == house.truth.now(at)
        assert (at, snapshot.agent_trusts["user:ann"].standing) == (at, standing)
    before = quote(render_instant(house.truth.now("11:59")))
    refused(house.get(f"/trust-snapshot?at={before}", key=house.truth.operator), 409, "trust.no_policy")


def test_the_past_is_read_under_the_policy_of_its_time(house: House) -> None:
    stricter = POLICY.replace("flow_v1", "flow_v2").replace("initial_standing: 300", "initial_standing: 250")
    assert stricter.count("initial_standing: 250") == 1
    session = house.truth.signed_in("user:op", "13:00")
    weak = ("newcomer_unheard", "honest_unheard", "lazy_as_honest")
    register_policy(house.tools, stricter, credential=session, accept=weak, at=house.truth.now("13:00"))

    def score(at: str) -> float:
        moment = quote(render_instant(house.truth.now(at)))
        path = f"/trust-snapshot?agents=user:ann&at={moment}"
        return float(house.get(path, key=house.truth.operator).json()["agent_trusts"]["user:ann"]["trust_score"])

    assert score("13:00") < score("12:59")


def test_an_agent_is_shown_as_the_log_tells_it(house: House) -> None:
    """Ids hold colons, and may be percent-encoded."""
    for spelling in ("user:gus", "user%3Agus"):
        agent = house.get(f"/agents/{spelling}", key=house.truth.operator).json()
        assert (agent["agent_id"], agent["standing_class"], agent["roles"]) == ("user:gus", "authority", ["official"])
        assert 0 <= agent["trust_score"] <= 1
        assert 0 <= agent["standing"] <= 1000
    refused(house.get("/agents/user:nobody", key=house.truth.operator), 404, "flow.not_found")


def test_an_agent_sees_itself_and_nobody_else(house: House) -> None:
    house.truth.trust("sensor:042")
    key = house.join("sensor:042")
    assert house.get("/agents/sensor:042", key=key).json()["agent_id"] == "sensor:042"
    refused(house.get("/agents/user:ann", key=key), 403, "identity.role")
    refused(house.get("/trust-snapshot", key=key), 403, "identity.role")
    refused(house.get("/signals?agent_id=user:root", key=key), 403, "identity.role")
    assert house.get("/signals", key=key).json() == {"signals": [], "next": None}


def test_a_signal_is_logged_once(house: House) -> None:
    """201, then 200 for the same; another under its id is 409; the endorsement shows with the endorsed."""
    house.truth.trust("sensor:042")
    key = house.join("sensor:042")
    given = _endorsement(house, "sensor:042")
    first = house.post("/signals", given, key=key)
    assert (first.status_code, first.json()["is_new"]) == (201, True)
    again = house.post("/signals", given, key=key)
    assert (again.status_code, again.json()) == (200, {**first.json(), "is_new": False})
    other = {**given, "object": {"endorsed": "user:ben", "weight": 1}}
    refused(house.post("/signals", other, key=key), 409, "truth.record_conflict")
    assert house.get("/agents/user:ann", key=house.truth.operator).json()["endorsed_by"] == ["sensor:042"]
    page = house.get("/signals", key=key).json()
    assert [one["signal"]["signal_id"] for one in page["signals"]] == [given["signal_id"]]
    assert house.sample("assay_signals_total", tenant="default", kind="ENDORSEMENT") == 1


@pytest.mark.parametrize(
    ("members", "status", "code"),
    [
        ({"agent_id": "user:ann"}, 403, "trust.signal_refused"),
        ({"occurred_at": "2199-01-01T00:00:00Z"}, 403, "trust.signal_refused"),
        ({"kind": "AGENT_REGISTERED", "object": {"agent_id": "sensor:042"}}, 403, "identity.role"),
        ({"kind": "GIFT"}, 422, "trust.signal"),
        ({"object": {"endorsed": "user:ann", "weight": 2}}, 422, "trust.signal"),
        ({"weight": 1}, 422, "http.fields"),
        ({"object": None}, 422, "http.fields"),
    ],
)
def test_a_signal_that_may_not_be_logged_is_refused(
    house: House, members: dict[str, object], status: int, code: str
) -> None:
    key = house.join("sensor:042")
    before = house.truth.head()
    refused(house.post("/signals", {**_endorsement(house, "sensor:042"), **members}, key=key), status, code)
    assert house.truth.head() == before


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (
            "PENALTY_APPLIED",
            {"agent_id": "user:ann", "points": 5, "ticket_id": "tk_" + "a" * 26, "answer_hashes": ["0" * 64]},
        ),
        (
            "TRUTHSTATE_EMITTED",
            {
                "truthkey": "earth:flood:h3:886142a8e7fffff:surface:2026-01-07T12:00Z",
                "claim_type": "earth.flood.v1",
                "state_hash": "0" * 64,
                "status": "VERIFIED_TRUE",
                "outcomes": [{"agent_id": "sensor:042", "role": "reporter", "correct": True, "quality": 1}],
            },
        ),
    ],
)
def test_what_moves_a_standing_cannot_be_handed_in(house: House, kind: str, body: dict[str, object]) -> None:
    """Only signed states and people on the review desk do that, whoever asks."""
    key = house.join("sensor:042", "admin", "operator")
    given = _endorsement(house, "sensor:042", kind=kind, object=body)
    answer = house.post("/signals", given, key=key)
    assert answer.status_code in (403, 422)
    assert answer.json()["code"] in ("trust.signal_refused", "trust.signal")
    assert all(one["signal"]["kind"] != kind for one in house.truth.entries(EntryKind.TRUST_SIGNAL))


def test_signals_are_read_in_pages_without_a_gap(house: House) -> None:
    """The whole log in its order, or one agent's part of it."""
    everything = house.get("/signals?limit=1000", key=house.truth.operator).json()["signals"]
    seen: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None:
        page = house.get(f"/signals?limit=3&after={after}", key=house.truth.operator).json()
        assert len(page["signals"]) <= 3
        seen += page["signals"]
        after = page["next"]
    assert seen == everything
    numbers = [one["sequence_number"] for one in seen]
    assert numbers == sorted(set(numbers))
    roots = house.get("/signals?agent_id=user:root&limit=1000", key=house.truth.operator).json()["signals"]
    assert roots == [one for one in everything if one["signal"]["agent_id"] == "user:root"]


def test_another_tenant_has_its_own_trust(house: House) -> None:
    house.truth.add("service:op", kind=PrincipalKind.SERVICE, tenant=OTHER, roles=("operator",))
    key, _ = issue_api_key(house.tools, OTHER, PrincipalId("service:op"), by=ADMIN, at=house.truth.start)
    assert house.get("/signals", key=key).json()["signals"] == []
    refused(house.get("/agents/user:ann", key=key), 409, "trust.no_policy")
    register_policy(house.tools, POLICY, credential=key, at=house.truth.now("12:00"))
    refused(house.get("/agents/user:ann", key=key), 404, "flow.not_found")
    assert house.get("/trust-snapshot", key=key).json()["agent_trusts"] == {}


def test_a_final_state_is_disputed_and_the_answer_says_what_became_of_it(house: House) -> None:
    """By a session of somebody who votes it counts; by a key it is logged, and the answer says why it does not."""
    house.truth.observe("user:ann")
    operator = house.truth.signed_in("user:op", "12:31")
    house.at("12:31")
    closes_at, window = (
        render_instant(house.truth.now("12:40")),
        {"truthkey": house.truth.truthkey, "reason": "because"},
    )
    house.post("/api/v1/windows", {**window, "event": "open", "closes_at": closes_at}, key=operator)
    house.at("12:35")
    final = house.post("/api/v1/windows", {**window, "event": "close"}, key=operator).json()["state"]
    assert final["status"] == "INCONCLUSIVE"
    house.at("13:00")
    body = {"truthkey": house.truth.truthkey, "state_hash": final["security"]["state_hash"], "reason": "look again"}
    by_key = _endorsement(house, "user:op", kind="DISPUTE_RAISED", object=body, signal_id="dispute.1")
    refusal = house.post("/signals", by_key, key=house.truth.operator).json()["dispute"]
    assert (refusal["counts"], refusal["refusal"]) == (False, "not_in_person")
    disputed = _endorsement(house, "user:eve", kind="DISPUTE_RAISED", object=body, signal_id="dispute.2")
    answer = house.post("/signals", disputed, key=house.truth.signed_in("user:eve", "13:00"))
    assert answer.status_code == 201, answer.text
    told = answer.json()["dispute"]
    assert (told["counts"], told["state"]["status"]) == (True, "PENDING_HUMAN_REVIEW")
    assert "disputed" in told["state"]["transparency_flags"]
