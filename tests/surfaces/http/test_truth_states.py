"""Truth states over HTTP: served as they were signed, found again as they were known, verified, and drawn as a map."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from assay.flows.ledger.own_keys import own_key_ring
from assay.flows.truth.check_truth import check_state
from assay.kernel.ledger import EntryKind
from assay.truth.state import parse_truth_state, semantic_hash, state_hash
from tests.flows._node import TENANT
from tests.surfaces.http._house import House, opened_house, refused


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with opened_house(tmp_path) as one:
        for name in ("user:eve", "user:fay", "user:ann"):
            one.truth.observe(name)
        one.truth.compile("12:40")
        one.at("12:45")
        yield one


def _state(house: House, query: str = "", **headers: str) -> Any:  # noqa: ANN401  the library's response
    return house.get(f"/truthstates/{house.truth.truthkey}{query}", key=house.relay, **headers)


def test_a_state_is_served_byte_for_byte_as_it_was_signed(house: House) -> None:
    """Whoever has the bytes and the key needs nothing else; the ETag is the hash of the whole envelope."""
    answer = _state(house)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    state = parse_truth_state(answer.content)
    assert state.security is not None
    assert (state.security.semantic_hash, state.security.state_hash) == (semantic_hash(state), state_hash(state))
    assert answer.headers["etag"] == f'"{state_hash(state)}"'
    assert check_state(state, own_key_ring(house.tools)).holds
    kept = house.truth.read(lambda unit: unit.truth.find_state(TENANT, house.truth.truthkey))
    assert kept is not None
    assert answer.text == kept.text


@pytest.mark.parametrize("spelling", ["plain", "encoded", "lower"])
def test_a_key_may_be_percent_encoded_or_not(house: House, spelling: str) -> None:
    """Both are the same resource, in paths as users type them and as libraries write them."""
    key = house.truth.truthkey
    path = {"plain": key, "encoded": quote(key, safe=""), "lower": quote(key, safe="").replace("%3A", "%3a")}[spelling]
    assert (spelling == "plain") == (":" in path)
    assert house.get(f"/truthstates/{path}", key=house.relay).json()["truthkey"] == key
    assert house.get(f"/truthstates/{path}/history", key=house.relay).json()["truthkey"] == key
    done = house.post(f"/api/v1/states/{path}/compile", {}, key=house.truth.operator)
    assert (done.status_code, done.json()["state"]["truthkey"]) == (200, key)


@pytest.mark.parametrize(
    "key", ["nothing", "earth:flood:h3:x:surface:2026-01-07T12:00Z", "a%2Fb", "%00", "%F0%9F%8C%8A"]
)
def test_a_key_that_nobody_spoke_of_is_not_found(house: House, key: str) -> None:
    """Whatever was written in its place; a slash is no part of a key, so there is no such route."""
    code = "http.no_route" if key == "a%2Fb" else "flow.not_found"
    for path in (f"/truthstates/{key}", f"/truthstates/{key}/history"):
        refused(house.get(path, key=house.relay), 404, code)


def test_a_caller_who_has_the_state_is_told_so(house: House) -> None:
    """304 without a body while it is the latest; headers still say what time has left of it."""
    tag = _state(house).headers["etag"]
    for given in (tag, f'"other", W/{tag}', "*"):
        answer = _state(house, **{"if-none-match": given})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag)
        assert answer.headers["assay-is-stale"] == "false"
    assert _state(house, **{"if-none-match": '"other"'}).status_code == 200
    house.truth.observe("user:ben", at="12:46")
    assert _state(house, **{"if-none-match": tag}).headers["assay-is-stale"] == "true"
    house.truth.compile("12:50")
    assert _state(house, **{"if-none-match": tag}).status_code == 200


def test_age_shows_beside_the_state_and_never_in_it(house: House) -> None:
    """The bytes stay as they were signed; what the contract's decay left is in the headers."""
    fresh = _state(house)
    house.at("3T12:45")
    old = _state(house)
    assert old.content == fresh.content
    assert float(old.headers["assay-confidence-now"]) < float(fresh.headers["assay-confidence-now"])
    house.at("300T12:45")
    assert (_state(house).headers["assay-is-expired"], fresh.headers["assay-is-expired"]) == ("true", "false")


@pytest.mark.clause("kaori", "17")
def test_what_was_known_at_an_instant_is_found_again(house: House) -> None:
    """`at` before the first state is 404; between two it is the first; history ends where knowledge ended."""
    house.truth.observe("user:ben", {"severity": "low", "water_level_meters": 0.1}, at="13:00")
    house.truth.compile("13:10")
    at = {name: f"?at={house.truth.now(name):%Y-%m-%dT%H:%M:%SZ}" for name in ("12:39", "12:41", "13:10")}
    refused(_state(house, at["12:39"]), 404, "flow.not_found")
    assert _state(house, at["12:41"]).headers["assay-version"] == "1"
    assert _state(house, at["13:10"]).headers["assay-version"] == "2"
    assert len(_state(house, at["12:41"]).json()["observation_ids"]) == 3

    def versions(query: str) -> list[int]:
        page = house.get(f"/truthstates/{house.truth.truthkey}/history{query}", key=house.relay).json()
        return [one["version"] for one in page["states"]]

    assert versions("") == [1, 2]
    assert versions(at["12:41"]) == [1]
    assert versions(at["12:39"]) == []


def test_history_is_read_in_pages(house: House) -> None:
    for minute in (50, 51, 52):
        house.truth.compile(f"12:{minute}", force=True)
    path = f"/truthstates/{house.truth.truthkey}/history?limit=3"
    first = house.get(path, key=house.relay).json()
    assert ([one["version"] for one in first["states"]], first["next"]) == ([1, 2, 3], 3)
    rest = house.get(f"{path}&after=3", key=house.relay).json()
    assert ([one["version"] for one in rest["states"]], rest["next"]) == ([4], None)
    assert first["states"][0]["state"]["truthkey"] == house.truth.truthkey


@pytest.mark.parametrize("at", ["2026-01-07T12:00:00", "yesterday", ""])
def test_an_instant_has_an_offset(house: House, at: str) -> None:
    for path in (
        f"/truthstates/{house.truth.truthkey}",
        f"/truthstates/{house.truth.truthkey}/history",
        "/api/v1/truth-map",
    ):
        problem = refused(house.get(f"{path}?at={at}", key=house.relay), 422, "http.fields")
        assert [one["field"] for one in problem["errors"]] == ["at"]


def test_an_operator_compiles_a_key(house: House) -> None:
    """200 where nothing new is to be said, 201 with the next version where there is."""
    path = f"/api/v1/states/{house.truth.truthkey}/compile"
    same = house.post(path, {}, key=house.truth.operator)
    assert (same.status_code, same.json()["is_new"], same.json()["version"]) == (200, False, 1)
    house.truth.observe("user:ben", at="12:44")
    new = house.post(path, {}, key=house.truth.operator)
    assert (new.status_code, new.json()["is_new"], new.json()["version"]) == (201, True, 2)
    assert len(new.json()["state"]["observation_ids"]) == 4
    forced = house.post(path, {"force": True}, key=house.truth.operator)
    assert (forced.status_code, forced.json()["version"]) == (201, 3)
    assert house.sample("assay_truth_states_total", tenant="default", cause="request") == 2


@pytest.mark.clause("kaori", "11.4")
def test_another_time_of_signing_needs_a_reason(house: House) -> None:
    path = f"/api/v1/states/{house.truth.truthkey}/compile"
    moment = f"{house.truth.now('12:46'):%Y-%m-%dT%H:%M:%SZ}"
    body = {"force": True, "signed_at": moment}
    assert house.post(path, body, key=house.truth.operator).status_code == 422
    done = house.post(path, {**body, "signed_at_reason": "the token was away"}, key=house.truth.operator)
    assert done.json()["state"]["security"]["signed_at"] == moment
    assert "the token was away" in json.dumps(done.json()["state"]["compile_inputs"])


def test_a_key_that_cannot_be_compiled_says_why(house: House) -> None:
    """A malformed key, one without a contract, a time that has passed, and somebody who may not."""
    operator = house.truth.operator
    refused(house.post("/api/v1/states/nothing/compile", {}, key=operator), 422, "truth.key_form")
    fire = house.truth.truthkey.replace("flood", "fire")
    refused(house.post(f"/api/v1/states/{fire}/compile", {}, key=operator), 409, "truth.not_released")
    path = f"/api/v1/states/{house.truth.truthkey}/compile"
    refused(house.post(path, {"claim_type": "earth.flood.v9"}, key=operator), 409, "truth.not_released")
    refused(house.post(path, {"claim_type": "\x00"}, key=operator), 422, "truth.claim_type_id")
    refused(house.post(path, {"at": "now"}, key=operator), 422, "http.fields")
    refused(house.post(path, {}, key=house.relay), 403, "identity.role")
    house.at("12:20")
    refused(house.post(path, {}, key=operator), 409, "truth.compile_time")


def test_without_a_policy_nobody_can_be_trusted(tmp_path: Path) -> None:
    """The request is as it should be; the operator has to register a policy first."""
    with opened_house(tmp_path, policy=None) as house:
        house.truth.observe("user:ann")
        path = f"/api/v1/states/{house.truth.truthkey}/compile"
        refused(house.post(path, {}, key=house.truth.operator), 409, "trust.no_policy")
        refused(house.get("/trust-snapshot", key=house.truth.operator), 409, "trust.no_policy")


@pytest.mark.clause("kaori", "12.2")
def test_verify_tells_what_holds(house: House) -> None:
    """The state as served holds in every check; the ledger too has it."""
    finding = house.post("/verify", _state(house).content, key=house.relay).json()
    assert finding["holds"] is True
    assert [(check["name"], check["holds"]) for check in finding["checks"]] == [
        ("semantic_hash", True),
        ("state_hash", True),
        ("signature", True),
        ("key", True),
        ("ledger", True),
    ]


@pytest.mark.clause("kaori", "12.2")
def test_verify_finds_each_forgery(house: House) -> None:
    """A forged state is an answer, not a refusal: 200, and each check that fails says so."""
    state = _state(house).json()

    def failing(**changes: object) -> list[str]:
        forged = json.loads(json.dumps(state))
        for path, value in changes.items():
            *parents, last = path.split("__")
            place = forged
            for parent in parents:
                place = place[parent]
            place[last] = value
        answer = house.post("/verify", forged, key=house.relay)
        assert (answer.status_code, answer.json()["holds"]) == (200, False)
        return [check["name"] for check in answer.json()["checks"] if check["holds"] is False]

    assert failing(claim={"severity": "low"})[:2] == ["semantic_hash", "state_hash"]
    assert failing(security__signature="00" * 64) == ["signature", "ledger"]
    assert "key" in failing(security__key_id="sha256:" + "0" * 64)
    assert "ledger" in failing(compile_inputs__compiler_version="other")
    assert failing(security=None) == ["semantic_hash", "state_hash", "signature", "key", "ledger"]
    refused(house.post("/verify", {"truthkey": "x"}, key=house.relay), 422, "truth.record")


def test_the_map_is_geojson(house: House) -> None:
    """A polygon for each key, its claim and what age left of it (RFC 7946: closed rings, longitude first)."""
    answer = house.get("/api/v1/truth-map", key=house.relay)
    assert answer.json()["type"] == "FeatureCollection"
    (feature,) = answer.json()["features"]
    assert (feature["id"], feature["properties"]["status"]) == (house.truth.truthkey, _state(house).json()["status"])
    (ring,) = feature["geometry"]["coordinates"]
    assert ring[0] == ring[-1]
    assert all(73 < lon < 74 and 4 < lat < 5 for lon, lat in ring)
    assert feature["properties"]["state_hash"] == _state(house).headers["etag"].strip('"')


def test_the_map_is_filtered_and_paged(house: House) -> None:
    """By status and claim type, as known at an instant, after a key; together the pages are the whole."""
    for day in (1, 2, 3):
        house.truth.observe("user:ann", at=f"{day}T12:30", reported=f"{day}T12:10", observation_id=f"obs-{day}")
    house.at("3T12:45")
    stale = house.truth.read(lambda unit: list(unit.truth.keys(TENANT, stale_only=True)))
    for key in stale:
        assert house.post(f"/api/v1/states/{key}/compile", {}, key=house.truth.operator).status_code == 201

    def ids(query: str) -> tuple[list[str], str | None]:
        page = house.get(f"/api/v1/truth-map?{query}", key=house.relay).json()
        return [one["id"] for one in page["features"]], page["next"]

    keys, end = ids("")
    assert (len(keys), keys, end) == (4, sorted(keys), None)
    first, after = ids("limit=3")
    assert (first, after) == (keys[:3], keys[2])
    assert ids(f"limit=3&after={quote(after or '')}") == (keys[3:], None)
    assert ids("claim_type=earth.flood.v1")[0] == keys
    assert ids("claim_type=earth.fire.v1") == ([], None)
    assert ids(f"at={house.truth.now('12:41'):%Y-%m-%dT%H:%M:%SZ}")[0] == [house.truth.truthkey]
    statuses = {
        one["properties"]["status"] for one in house.get("/api/v1/truth-map", key=house.relay).json()["features"]
    }
    assert ids("&".join(f"status={one}" for one in sorted(statuses)))[0] == keys
    assert ids("status=EXPIRED") == ([], None)
    problem = refused(house.get("/api/v1/truth-map?status=GONE", key=house.relay), 422, "http.fields")
    assert [error["field"] for error in problem["errors"]] == ["status"]


def test_reading_appends_nothing(house: House) -> None:
    before = house.truth.head()
    for path in ("", "/history"):
        house.get(f"/truthstates/{house.truth.truthkey}{path}", key=house.relay)
    house.get("/api/v1/truth-map", key=house.relay)
    house.post("/verify", _state(house).content, key=house.relay)
    assert (house.truth.head(), len(house.truth.entries(EntryKind.TRUTH_STATE))) == (before, 1)
