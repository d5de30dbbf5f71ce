"""Principals over the API: added, amended and disabled by an administrator who is there; a tier by two people."""

import json
from itertools import count
from typing import Any

import pytest

from assay.flows.errors.identity import IdentityFlowError
from assay.flows.request import FieldsError
from assay.identity.principal import BuiltInRole, PrincipalKind
from assay.identity.risk import RiskTier
from assay.kernel.ids import PrincipalId, TenantId
from assay.registry.errors import DeniedError
from assay.surfaces.client import Client
from tests.flows._node import TENANT
from tests.raising import raises
from tests.surfaces.http._house import refused
from tests.surfaces.http.v1._whole import Whole

_PRINCIPALS = "/api/v1/principals"
_numbers = count(1)


def _add(whole: Whole, kind: str = "agent", **granted: Any) -> str:  # noqa: ANN401  fields of the request
    name = f"ai:helping-{next(_numbers)}"
    told = whole.post(_PRINCIPALS, {"principal_id": name, "kind": kind, **granted}, "ada")
    assert told.status_code == 201, told.text
    assert told.headers["location"] == f"{_PRINCIPALS}/{name}"
    if told.json()["waiting"] is not None:
        assert "principal" not in _shown(whole, name)
        whole.approve(told)
    return name


def _last(whole: Whole) -> dict[str, Any]:
    row = whole.tools.database.read(
        lambda unit: unit.ledger.find_entry(TENANT, unit.ledger.head(TENANT).sequence_number)
    )
    assert row is not None
    entry: dict[str, Any] = json.loads(row.text)
    return entry


def _shown(whole: Whole, name: str) -> dict[str, Any]:
    shown: dict[str, Any] = whole.get(f"{_PRINCIPALS}/{name}", "ada").json()
    return shown


def test_whoever_joins_may_do_what_was_granted_and_nothing_else(whole: Whole) -> None:
    """The entry says who added them, and holds no name in the clear."""
    name = _add(whole, name="Helping Hand", roles=["reviewer", "auditor"], trust_mask=6, risk_ceiling="MODIFY")
    entry = _last(whole)
    assert (entry["kind"], entry["body"]["id"], entry["body"]["recorded_by"]) == ("principal.added", name, "user:ada")
    assert "Helping Hand" not in json.dumps(entry)
    found = _shown(whole, name)["principal"]
    assert (found["name"], found["roles"], found["trust_mask"]) == ("Helping Hand", ["auditor", "reviewer"], 6)
    assert (found["risk_ceiling"], found["action_tier"], found["tenant_id"]) == ("MODIFY", 0, str(TENANT))


def test_a_name_that_is_left_out_is_the_id(whole: Whole) -> None:
    name = _add(whole)
    assert _shown(whole, name)["principal"]["name"] == name


def test_an_id_is_taken_once(whole: Whole) -> None:
    name, before = _add(whole), whole.entries()
    refused(whole.post(_PRINCIPALS, {"principal_id": name, "kind": "person"}, "ada"), 409, "identity.exists")
    assert whole.entries() == before


def test_an_amendment_is_the_next_version_and_keeps_what_it_does_not_name(whole: Whole) -> None:
    name = _add(whole, trust_mask=6, roles=["reviewer"])
    told = whole.post(f"{_PRINCIPALS}/{name}/amend", {"roles": ["relay", "auditor"]}, "ada")
    assert told.status_code == 201, told.text
    amended = told.json()
    assert (amended["version"], amended["roles"], amended["trust_mask"]) == (2, ["auditor", "relay"], 6)
    entry = _last(whole)
    assert (entry["kind"], entry["body"]["version"], entry["body"]["recorded_by"]) == (
        "principal.changed",
        2,
        "user:ada",
    )


def test_whoever_is_disabled_is_refused_from_the_next_request_on_until_that_is_undone(whole: Whole) -> None:
    name = _add(whole)
    asked = whole.post("/api/v1/keys", {"principal_id": name, "scopes": ["*"]}, "ada")
    whole.approve(asked)
    whole.keys[name] = asked.json()["api_key"]
    assert whole.get("/whoami", name).status_code == 200
    first = whole.post(f"{_PRINCIPALS}/{name}/disable", None, "ada")
    assert (first.status_code, first.json()["version"]) == (201, 2)
    assert whole.get("/whoami", name).status_code == 401
    before = whole.entries()
    again = whole.post(f"{_PRINCIPALS}/{name}/disable", None, "ada")
    assert (again.status_code, again.json(), whole.entries()) == (201, first.json(), before)
    undone = whole.post(f"{_PRINCIPALS}/{name}/amend", {"disabled_at": None}, "ada")
    assert (undone.status_code, undone.json()["disabled_at"]) == (201, None)
    assert whole.get("/whoami", name).status_code == 401
    whole.approve(undone)
    assert whole.get("/whoami", name).status_code == 200


@pytest.mark.clause("forja", "FRJ-015")
def test_a_tier_changes_when_a_second_person_authorises_it(whole: Whole) -> None:
    name = _add(whole)
    told = whole.post(f"{_PRINCIPALS}/{name}/tier", {"to_tier": 2, "reason": "it has to write"}, "ada")
    assert told.status_code == 201, told.text
    ticket = told.json()
    assert told.headers["location"] == f"/api/v1/tickets/{ticket['id']}"
    assert (ticket["kind"], ticket["requested_by"]) == ("tier_change", "user:ada")
    assert _shown(whole, name)["principal"]["action_tier"] == 0
    answer = {"choice": "authorise", "seen": ticket["shown_hash"], "reason": "it does"}
    place = f"/api/v1/tickets/{ticket['id']}/answers"
    refused(whole.post(place, answer, "ada"), 403, "review.own_request")
    assert whole.post(place, answer, "omar").status_code == 201
    assert _shown(whole, name)["principal"]["action_tier"] == 2


@pytest.mark.clause("forja", "FRJ-015")
def test_no_administrator_changes_a_tier_alone(whole: Whole) -> None:
    """Neither one's own nor, by an amendment, another's; and it is asked for once."""
    name, asked = _add(whole), {"to_tier": 1, "reason": "it has to read"}
    before = whole.entries()
    refused(whole.post(f"{_PRINCIPALS}/user:ada/tier", {**asked, "to_tier": 3}, "ada"), 409, "FRJ-015")
    told = whole.post(f"{_PRINCIPALS}/{name}/amend", {"action_tier": 3}, "ada")
    refused(told, 422, "http.fields")
    assert [one["pointer"] for one in told.json()["errors"]] == ["/action_tier"]
    assert whole.entries() == before
    assert whole.post(f"{_PRINCIPALS}/{name}/tier", asked, "ada").status_code == 201
    refused(whole.post(f"{_PRINCIPALS}/{name}/tier", asked, "omar"), 409, "FRJ-015")


@pytest.mark.parametrize("path", ["", "/user:amira/amend", "/user:amira/disable", "/user:amira/tier"])
def test_only_an_administrator_in_their_own_session_changes_principals(whole: Whole, path: str) -> None:
    """A key that makes administrators would outlive every rotation; an operator in session may ask for a tier."""
    key = whole.post("/api/v1/keys", {"principal_id": "user:ada", "scopes": ["*"]}, "ada").json()["api_key"]
    whole.keys["ada's key"] = key
    before = whole.entries()
    refused(whole.post(_PRINCIPALS + path, {}, "rita"), 403, "identity.role")
    refused(whole.post(_PRINCIPALS + path, {}, "ada's key"), 403, "identity.session_required")
    expected = "identity.session_required" if path.endswith("/tier") else "identity.role"
    refused(whole.post(_PRINCIPALS + path, {}, "operator"), 403, expected)
    assert whole.entries() == before


def test_everything_that_is_wrong_is_named_at_once(whole: Whole) -> None:
    before = whole.entries()
    wrong = {"principal_id": "ai:wrong", "kind": "robot", "trust_mask": "all", "rank": 1}
    told = whole.post(_PRINCIPALS, wrong, "ada")
    refused(told, 422, "http.fields")
    assert {one["pointer"] for one in told.json()["errors"]} == {"/kind", "/trust_mask", "/rank"}
    beyond = {"principal_id": "ai:wrong", "kind": "agent", "trust_mask": -1, "action_tier": 4, "roles": ["No Role"]}
    told = whole.post(_PRINCIPALS, beyond, "ada")
    refused(told, 422, "identity.principal")
    assert {one["field"] for one in told.json()["errors"]} == {"trust_mask", "action_tier", "roles"}
    refused(whole.post(f"{_PRINCIPALS}/user:amira/amend", {}, "ada"), 422, "http.fields")
    told = whole.post(f"{_PRINCIPALS}/user:amira/amend", {"disabled_at": "2026-01-01T00:00:00Z"}, "ada")
    refused(told, 422, "http.fields")
    told = whole.post(f"{_PRINCIPALS}/user:amira/tier", {"to_tier": 4, "reason": ""}, "ada")
    assert {one["pointer"] for one in told.json()["errors"]} == {"/to_tier", "/reason"}
    assert whole.entries() == before


@pytest.mark.parametrize(
    ("verb", "body"), [("amend", {"trust_mask": 1}), ("disable", None), ("tier", {"to_tier": 3, "reason": "mine"})]
)
def test_another_tenants_principals_are_not_there(whole: Whole, verb: str, body: object) -> None:
    """An administrator there changes nobody here, and cannot tell who there is."""
    if "stranger" not in whole.keys:
        other = TenantId("strangers")
        whole.desk.add("user:sue", tenant=other, roles=(str(BuiltInRole.ADMIN),))
        whole.keys["stranger"] = whole.desk.session("user:sue", tenant=other)
    before = whole.entries()
    there = whole.post(f"{_PRINCIPALS}/user:amira/{verb}", body, "stranger")
    never = whole.post(f"{_PRINCIPALS}/user:nobody/{verb}", body, "stranger")
    refused(there, 404, "flow.not_found")
    assert there.text.replace("user:amira", "user:nobody") == never.text
    assert whole.entries() == before


def test_the_client_does_all_of_it_under_the_names_of_a_node(whole: Whole) -> None:
    node = Client("http://testserver.local", key=whole.keys["ada"], http=whole.client)
    name = f"ai:helping-{next(_numbers)}"
    asked = node.add_principal(name, kind=PrincipalKind.AGENT, roles=("reviewer",), risk_ceiling=RiskTier.DELETE)
    second = Client("http://testserver.local", key=whole.keys["omar"], http=whole.client)
    ticket = second.ticket(str(asked.waiting)).ticket
    second.answer_ticket(ticket.id, choice="approve", seen=ticket.shown_hash)
    added = node.principal(name).principal
    assert (added.name, added.roles, added.risk_ceiling, added.version) == (name, ("reviewer",), RiskTier.DELETE, 1)
    with raises(IdentityFlowError.exists):
        node.add_principal(name, kind="agent")
    assert node.amend_principal(name, roles=()).roles == ()
    with pytest.raises(FieldsError):
        node.amend_principal(name)
    assert node.request_tier(name, 1, reason="it has to read").about == f"tier:{name}"
    with raises(DeniedError.tier_change):
        node.request_tier("user:ada", 1, reason="mine")
    assert node.disable_principal(name) == node.principal(name).principal
    assert not node.principal(name).active


def test_a_person_gets_a_password_and_logs_in_with_it(whole: Whole) -> None:
    """With the first version or later; nothing of it is in any answer, nor kept under the key of the request."""
    name, first, second = f"user:typed-{next(_numbers)}", "a first long password", "a second long password"
    wanted = {"principal_id": name, "kind": "person", "password": first}
    added = whole.post(_PRINCIPALS, wanted, "ada", idempotency_key=f"password-{name}")
    assert (added.status_code, first in added.text) == (201, False)
    whole.approve(added)
    asked = {"principal_id": name, "password": first}
    assert whole.client.post("/auth/login", json=asked).status_code == 200
    whole.client.cookies.clear()
    place, headers = f"{_PRINCIPALS}/{name}/password", {"authorization": f"Bearer {whole.keys['ada']}"}
    short = whole.client.put(place, json={"password": "short"}, headers=headers)
    assert short.json()["code"] == "identity.password_form"
    told = whole.client.put(place, json={"password": second}, headers=headers)
    assert (told.status_code, told.json()["principal_id"], second in told.text) == (200, name, False)
    whole.approve(told)
    assert whole.client.post("/auth/login", json=asked).status_code == 401
    ada, key = PrincipalId("user:ada"), f"password-{name}"
    kept = whole.tools.database.read(lambda unit: unit.requests.find(TENANT, ada, key))
    assert kept is not None
    assert first not in str(kept)


def test_a_session_is_opened_shown_and_ended(whole: Whole) -> None:
    """Without a credential one can log in, and nothing else; the token is shown once."""
    name, password = f"user:session-{next(_numbers)}", "a long password"
    whole.approve(whole.post(_PRINCIPALS, {"principal_id": name, "kind": "person", "password": password}, "ada"))
    wrong = whole.client.post("/api/v1/sessions", json={"principal_id": name, "password": "another password"})
    assert (wrong.status_code, wrong.json()["code"]) == (401, "identity.not_signed_in")
    sent = {"principal_id": name, "password": password, "lifetime_seconds": 60}
    headers = {"idempotency-key": f"login-{name}"}
    opened = whole.client.post("/api/v1/sessions", json=sent, headers=headers).json()
    assert whole.client.post("/api/v1/sessions", json=sent, headers=headers).json()["session_token"] is None
    mine = {"authorization": f"Bearer {opened['session_token']}"}
    assert whole.client.get("/api/v1/whoami", headers=mine).json()["id"] == name
    ended = whole.client.post("/api/v1/sessions/end", headers=mine)
    assert (ended.status_code, ended.json()["session_id"]) == (201, opened["session_id"])
    assert whole.client.get("/api/v1/whoami", headers=mine).status_code == 401
    whole.client.cookies.clear()
