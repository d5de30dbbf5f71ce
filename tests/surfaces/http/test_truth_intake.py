"""Observations and contracts over HTTP: recorded once, by whoever may, and read back in pages."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from assay.identity.principal import PrincipalKind
from assay.kernel.ids import PrincipalId
from assay.kernel.ledger import EntryKind
from assay.surfaces.http.kaori import MOST_LINES
from tests.acting import issue_api_key
from tests.flows._people import ADMIN
from tests.flows._truth import critical_flood
from tests.surfaces.http._house import OTHER, House, opened_house, refused
from tests.truth.records import contract_text, schema_bytes

_LINES = "application/x-ndjson"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with opened_house(tmp_path) as one:
        yield one


def _lines(*given: object) -> bytes:
    return b"".join((one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n" for one in given)


def _stranger(house: House, *roles: str) -> str:
    """Somebody of another tenant."""
    house.truth.add("service:gateway", kind=PrincipalKind.SERVICE, tenant=OTHER, roles=roles)
    text, _ = issue_api_key(house.tools, OTHER, PrincipalId("service:gateway"), by=ADMIN, at=house.truth.start)
    return text


def test_an_observation_is_on_disk_when_it_is_answered(house: House) -> None:
    """201 with its place; the ledger holds it, and who submitted it."""
    given = house.truth.report("user:ann")
    answer = house.post("/observations", given, key=house.relay)
    assert answer.status_code == 201
    observed = answer.json()
    assert (observed["truthkey"], observed["is_new"]) == (house.truth.truthkey, True)
    (body,) = house.truth.entries(EntryKind.OBSERVATION_RECORDED)
    assert body["record"]["observation_id"] == observed["observation_id"]
    assert body["submitted_by"] == "service:gateway"
    assert house.sample("assay_observations_total", tenant="default", outcome="recorded") == 1


def test_the_same_observation_again_is_recorded_once(house: House) -> None:
    """200 with the same place, so a request without an answer may be sent again; another under its id is 409."""
    given = house.truth.report("user:ann")
    first = house.post("/observations", given, key=house.relay).json()
    again = house.post("/observations", given, key=house.relay)
    assert (again.status_code, again.json()) == (200, {**first, "is_new": False})
    other = {**given, "payload": {"severity": "low", "water_level_meters": 0.1}}
    refused(house.post("/observations", other, key=house.relay), 409, "truth.record_conflict")
    assert len(house.truth.entries(EntryKind.OBSERVATION_RECORDED)) == 1


def test_a_reporter_speaks_for_itself_and_for_nobody_else(house: House) -> None:
    key = house.join("sensor:042")
    own = house.post("/observations", house.truth.report("sensor:042"), key=key)
    assert own.status_code == 201
    refused(house.post("/observations", house.truth.report("user:ann"), key=key), 403, "truth.not_reporter")


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"claim_type": "earth.fire.v1"}, 409, "truth.not_released"),
        ({"reported_at": "2199-01-01T00:00:00Z"}, 422, "truth.future_observation"),
        ({"reported_at": "2026-01-07T12:10:00"}, 422, "truth.record"),
        ({"geo": {"lat": 91, "lon": 0}}, 422, "truth.record"),
        ({"standing": "authority"}, 422, "truth.record"),
    ],
)
def test_an_observation_that_cannot_stand_is_refused(
    house: House, change: dict[str, object], status: int, code: str
) -> None:
    """And nothing is appended."""
    before = house.truth.head()
    refused(house.post("/observations", {**house.truth.report("user:ann"), **change}, key=house.relay), status, code)
    assert house.truth.head() == before


def test_everything_that_is_wrong_with_an_observation_is_named(house: House) -> None:
    given = {**house.truth.report("user:ann"), "extra": 1, "geo": {"lat": 91, "lon": 0}, "evidence_refs": 3}
    problem = refused(house.post("/observations", given, key=house.relay), 422, "truth.record")
    assert [error["field"] for error in problem["errors"]] == ["evidence_refs", "extra", "geo"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "json.malformed"),
        (b"[]", "truth.record"),
        (b'{"a": 1, "a": 2}', "json.duplicate_key"),
        (b'{"a": NaN}', "json.non_finite"),
        (b'{"a": 12345678901234567890}', "json.number_range"),
        (b'{"a": ' + b"[" * 300 + b"]" * 300 + b"}", "json.depth"),
        (b"\xff", "json.encoding"),
    ],
)
def test_a_body_that_cannot_be_read_one_way_is_refused(house: House, body: bytes, code: str) -> None:
    refused(house.post("/observations", body, key=house.relay), 422, code)


def test_lines_are_answered_one_by_one(house: House) -> None:
    """What is wrong with one line costs no other; the numbers are those of the body, empty lines included."""
    ann, ben = house.truth.report("user:ann"), house.truth.report("user:ben")
    foreign = {**house.truth.report("user:cem"), "claim_type": "earth.fire.v1"}
    body = _lines(ann, b"", b"{", ann, foreign, ben)
    answer = house.post("/observations", body, key=house.relay, media_type=_LINES)
    assert (answer.status_code, answer.headers["content-type"]) == (207, _LINES)
    told = [json.loads(line) for line in answer.text.splitlines()]
    assert [(one["line"], one["code"]) for one in told] == [
        (1, None),
        (3, "json.malformed"),
        (4, None),
        (5, "truth.not_released"),
        (6, None),
    ]
    assert [one["observed"]["is_new"] for one in told if one["observed"]] == [True, False, True]
    assert len(house.truth.entries(EntryKind.OBSERVATION_RECORDED)) == 2
    outcomes = {name: house.sample("assay_observations_total", tenant="default", outcome=name) for name in _OUTCOMES}
    assert outcomes == {"recorded": 2, "repeated": 1, "refused": 2}


_OUTCOMES = ("recorded", "repeated", "refused")


def test_a_stream_beyond_the_limits_is_refused_whole(tmp_path: Path) -> None:
    """Too long or of too many lines: 413, and nothing of it is recorded."""
    with opened_house(tmp_path) as house:
        body = _lines(house.truth.report("user:ann")) + b"\n" * (MOST_LINES + 1)
        refused(house.post("/observations", body, key=house.relay, media_type=_LINES), 413, "http.lines")
        body = _lines(house.truth.report("user:ann")) + b" " * (16 * 1024 * 1024)
        refused(house.post("/observations", body, key=house.relay, media_type=_LINES), 413, "http.body_size")
        assert house.truth.entries(EntryKind.OBSERVATION_RECORDED) == []


def test_one_observation_has_the_limit_of_every_body(house: House) -> None:
    body = json.dumps(house.truth.report("user:ann")).encode() + b" " * (1024 * 1024)
    refused(house.post("/observations", body, key=house.relay), 413, "http.body_size")


@pytest.mark.parametrize("media_type", ["text/plain", "application/json-seq", ""])
def test_only_json_and_lines_of_it_are_taken(house: House, media_type: str) -> None:
    answer = house.post("/observations", b"{}", key=house.relay, media_type=media_type)
    refused(answer, 415, "http.media_type")


def test_observations_are_read_in_pages_without_a_gap(house: House) -> None:
    """A page ends at an entry; what is recorded meanwhile comes later, and nothing comes twice."""
    names = [f"user:ann{number}" for number in range(5)]
    for name in names:
        house.truth.observe(name)
    seen: list[str] = []
    after: int | None = 0
    while after is not None:
        page: dict[str, Any] = house.get(f"/observations?limit=2&after={after}", key=house.truth.operator).json()
        seen += [one["observation"]["reporter_id"] for one in page["observations"]]
        if after == 0:
            house.truth.observe("user:late")
        after = page["next"]
    assert seen == [*names, "user:late"]
    ann = house.get("/observations?reporter_id=user:ann1", key=house.truth.operator).json()
    assert [one["observation_id"] for one in ann["observations"]] == ["obs-user-ann1-1210"]
    none = house.get("/observations?truthkey=earth:flood:h3:0:0:x", key=house.truth.operator).json()
    assert none == {"observations": [], "next": None}


def test_whoever_may_not_see_all_observations_sees_their_own(house: House) -> None:
    key = house.join("sensor:042")
    house.truth.observe("user:ann")
    house.truth.observe("sensor:042")
    page = house.get("/observations", key=key).json()
    assert [one["observation"]["reporter_id"] for one in page["observations"]] == ["sensor:042"]
    assert house.get("/observations?reporter_id=sensor:042", key=key).json() == page
    refused(house.get("/observations?reporter_id=user:ann", key=key), 403, "identity.role")


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("limit=0", ["limit"]),
        ("limit=1001", ["limit"]),
        ("limit=ten", ["limit"]),
        ("after=-1", ["after"]),
        ("limit=1&limit=2", ["limit"]),
        ("truthkey=%00", ["truthkey"]),
        ("tenant=other&after=x", ["after", "tenant"]),
    ],
)
def test_a_query_is_read_strictly(house: House, query: str, fields: list[str]) -> None:
    problem = refused(house.get(f"/observations?{query}", key=house.truth.operator), 422, "http.fields")
    assert [error["field"] for error in problem["errors"]] == fields


def test_another_tenant_has_its_own_observations_and_contracts(house: House) -> None:
    """The same request of another tenant finds no contract, and sees nothing."""
    house.truth.observe("user:ann")
    key = _stranger(house, "operator", "relay")
    refused(house.post("/observations", house.truth.report("user:ann"), key=key), 409, "truth.not_released")
    assert house.get("/observations", key=key).json()["observations"] == []
    assert house.get("/api/v1/contracts", key=key).json() == {"items": [], "next": None}
    refused(house.get("/api/v1/contracts/earth.flood.v1", key=key), 404, "flow.not_found")
    refused(house.get(f"/truthstates/{house.truth.truthkey}", key=key), 404, "flow.not_found")


def test_a_contract_is_released_once(house: House) -> None:
    """201, then 200 for the same; another body under its id is 409, and a new version is a new contract."""
    schema = (schema_bytes("flood_v1") or b"").decode() or None
    given = {"document": critical_flood(), "schema_text": schema}
    released = house.post("/api/v1/contracts", given, key=house.truth.operator)
    assert (released.status_code, released.json()["claim_type"]) == (201, "earth.flood.v2")
    again = house.post("/api/v1/contracts", given, key=house.truth.operator)
    assert (again.status_code, again.json()) == (200, released.json())
    changed = {**given, "document": critical_flood(temporal_decay__half_life="PT1H")}
    refused(house.post("/api/v1/contracts", changed, key=house.truth.operator), 409, "truth.contract_changed")
    listed = house.get("/api/v1/contracts", key=house.relay).json()["items"]
    assert [one["claim_type"] for one in listed] == ["earth.flood.v1", "earth.flood.v2"]
    whole = house.get("/api/v1/contracts/earth.flood.v2", key=house.relay)
    assert whole.headers["etag"] == f'"{released.json()["claim_type_hash"]}"'
    assert whole.json() == {**released.json(), "document": whole.json()["document"], "schema_text": schema}
    assert json.loads(whole.json()["document"])["id"] == "earth.flood.v2"


def test_the_form_of_a_contract_is_served_to_observers(house: House) -> None:
    """Which members, of which kinds; a payload that answers otherwise is refused with the reason."""
    form = house.get("/api/v1/contracts/earth.flood.v1/form", key=house.relay)
    assert (form.status_code, form.json()["title"], form.json()["place"]) == (200, "Flood report", "geo")
    assert [(one["name"], one["widget"]) for one in form.json()["fields"]][:2] == [
        ("severity", "choice"),
        ("water_level_meters", "number"),
    ]
    assert form.json()["evidence"]["max_count"] == 10
    refused(house.get("/api/v1/contracts/earth.none.v1/form", key=house.relay), 404, "flow.not_found")
    wrong = house.truth.report("user:ann", {"severity": "high", "water_level_meters": "deep"})
    refused(house.post("/observations", wrong, key=house.relay), 422, "truth.payload_form")


def test_what_is_wrong_with_a_contract_is_told_by_line(house: House) -> None:
    text = contract_text("flood_v1").replace("risk_profile: monitor", "risk_profile: someday")
    line = next(number for number, one in enumerate(text.splitlines(), 1) if "risk_profile: someday" in one)
    problem = refused(
        house.post("/api/v1/contracts", {"document": text}, key=house.truth.operator), 422, "truth.contract"
    )
    (found,) = [error for error in problem["errors"] if error["field"] == "risk_profile"]
    assert found["message"].startswith(f"line {line}: ")


def test_only_operators_release_contracts(house: House) -> None:
    refused(house.post("/api/v1/contracts", {"document": ""}, key=house.relay), 403, "identity.role")


def test_a_key_for_reading_writes_nothing(house: House) -> None:
    """The principal is a relay and an operator, and this key of theirs is for reading truth alone."""
    house.truth.add("service:both", kind=PrincipalKind.SERVICE, roles=("operator", "relay"))
    text, _ = issue_api_key(
        house.tools,
        house.desk.tools.database.read(lambda unit: unit.ledger.tenants())[0],
        PrincipalId("service:both"),
        scopes=("truth:read",),
        by=ADMIN,
        at=house.truth.start,
    )
    assert house.get("/api/v1/contracts", key=text).status_code == 200
    for path in (
        "/observations",
        "/api/v1/contracts",
        f"/api/v1/states/{house.truth.truthkey}/compile",
        "/signals",
        "/votes",
    ):
        refused(house.post(path, {}, key=text), 403, "identity.scope")
    for path in ("/signals", "/trust-snapshot", "/agents/service:both"):
        refused(house.get(path, key=text), 403, "identity.scope")


def test_the_description_of_an_observation_fits_one(house: House) -> None:
    """What the document calls an observation admits a real one, and not one with a field more."""
    document: dict[str, Any] = house.client.get("/openapi.json").json()
    content = document["paths"]["/observations"]["post"]["requestBody"]["content"]
    assert set(content) == {"application/json", _LINES}
    described = jsonschema_rs.validator_for(content["application/json"]["schema"])
    assert described.is_valid(house.truth.report("user:ann"))
    assert not described.is_valid({**house.truth.report("user:ann"), "standing": "authority"})
