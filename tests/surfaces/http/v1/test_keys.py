"""API keys over the API: shown once, scoped, rotated with overlap, revoked; by an administrator who is there."""

import json
from datetime import timedelta
from typing import Any

import pytest

from assay.flows.identity.api_keys import IssuedKey
from assay.identity.credential import parse_api_key
from assay.kernel.instant import Instant, parse_instant, render_instant
from assay.surfaces.client import Client
from tests.flows._node import TENANT
from tests.surfaces.http._house import refused
from tests.surfaces.http.v1._whole import Whole

_KEYS = "/api/v1/keys"


def _issue(whole: Whole, by: str = "ada", **changed: Any) -> dict[str, Any]:  # noqa: ANN401  fields of the request
    asked = {"principal_id": "service:sensor", "scopes": ["truth:read", "truth:write"], **changed}
    told = whole.post(_KEYS, asked, by)
    assert told.status_code == 201, told.text
    made: dict[str, Any] = told.json()
    if made["waiting"] is not None:
        assert _status(whole, made["api_key"]) == 401
        whole.approve(told)
    return made


def _status(whole: Whole, key: str, path: str = "/api/v1/observations") -> int:
    return whole.client.get(path, headers={"x-api-key": key}).status_code


def _last(whole: Whole) -> dict[str, Any]:
    row = whole.tools.database.read(
        lambda unit: unit.ledger.find_entry(TENANT, unit.ledger.head(TENANT).sequence_number)
    )
    assert row is not None
    entry: dict[str, Any] = json.loads(row.text)
    return entry


def test_a_key_is_shown_once_opens_its_scopes_and_is_on_record(whole: Whole) -> None:
    made = _issue(whole)
    assert _status(whole, made["api_key"]) == 200
    assert _status(whole, made["api_key"], "/api/v1/agreement") == 403
    entry = _last(whole)
    assert entry["body"]["credential_id"] == made["prefix"]
    assert entry["body"]["issued_by"] == "user:ada"
    seen = whole.get(f"{_KEYS}/{made['prefix']}", "ada")
    assert (seen.json()["principal_id"], seen.json()["live"]) == ("service:sensor", True)
    secret = parse_api_key(made["api_key"])[1]
    everywhere = seen.text + whole.get(_KEYS, "ada").text + json.dumps(entry)
    assert secret not in everywhere


def test_a_key_ends_when_it_was_said_to(whole: Whole) -> None:
    ends = Instant(whole.clock.now() + timedelta(hours=1))
    made = _issue(whole, expires_at=render_instant(ends))
    assert parse_instant(made["expires_at"]) == ends
    assert _status(whole, made["api_key"]) == 200
    start = whole.clock.at
    whole.clock.at = ends
    try:
        assert _status(whole, made["api_key"]) == 401
    finally:
        whole.clock.at = start


def test_the_same_request_again_makes_no_second_key_and_shows_no_secret(whole: Whole) -> None:
    """What is kept of the answer is without the key: nothing on disk opens a door."""
    asked = {"principal_id": "service:sensor", "scopes": ["truth:read"]}
    first = whole.post(_KEYS, asked, "ada", idempotency_key="key-once")
    before = whole.entries()
    again = whole.post(_KEYS, asked, "ada", idempotency_key="key-once")
    assert (again.status_code, again.json()) == (201, {**first.json(), "api_key": None})
    assert again.headers["assay-is-kept"] == "true"
    assert whole.entries() == before
    kept = whole.tools.database.read(lambda unit: unit.requests.find(TENANT, "user:ada", "key-once"))  # type: ignore[arg-type]  # its id
    assert kept is not None
    assert parse_api_key(first.json()["api_key"])[1] not in kept.body


def test_a_rotated_key_works_beside_its_heir_for_as_long_as_was_said(whole: Whole) -> None:
    old = _issue(whole)
    told = whole.post(f"{_KEYS}/{old['prefix']}/rotate", {"overlap_seconds": 3600}, "ada")
    assert told.status_code == 201, told.text
    new = told.json()
    assert [_status(whole, one["api_key"]) for one in (old, new)] == [200, 401]
    whole.approve(told)
    assert (new["scopes"], new["principal_id"]) == (old["scopes"], old["principal_id"])
    assert [_status(whole, one["api_key"]) for one in (old, new)] == [200, 200]
    start = whole.clock.at
    whole.clock.at = Instant(start + timedelta(seconds=3601))
    try:
        assert [_status(whole, one["api_key"]) for one in (old, new)] == [401, 200]
    finally:
        whole.clock.at = start


def test_a_revoked_key_is_refused_from_the_next_request_on(whole: Whole) -> None:
    made = _issue(whole)
    told = whole.post(f"{_KEYS}/{made['prefix']}/revoke", {"reason": "its holder left"}, "ada")
    assert (told.status_code, told.json()["revoked_by"]) == (201, "user:ada")
    assert _status(whole, made["api_key"]) == 401
    assert _last(whole)["body"]["reason"] == "its holder left"
    refused(
        whole.post(f"{_KEYS}/{made['prefix']}/revoke", {"reason": "again"}, "ada"), 409, "identity.credential_ended"
    )


@pytest.mark.parametrize("path", ["", "/ak_aaaaaaaaaaaa/rotate", "/ak_aaaaaaaaaaaa/revoke"])
def test_only_an_administrator_in_their_own_session_makes_or_ends_keys(whole: Whole, path: str) -> None:
    """A key that makes keys would outlive every rotation."""
    before = whole.entries()
    refused(whole.post(_KEYS + path, {}, "rita"), 403, "identity.role")
    refused(whole.post(_KEYS + path, {}, "operator"), 403, "identity.role")
    made = _issue(whole, principal_id="user:ada", scopes=["*"])["api_key"]
    whole.keys["ada's key"] = made
    refused(whole.post(_KEYS + path, {}, "ada's key"), 403, "identity.session_required")
    assert whole.entries() == before + 1


def test_what_is_wrong_with_a_wish_is_named(whole: Whole) -> None:
    for changed, code in (
        ({"principal_id": "service:nobody-knows"}, "flow.not_found"),
        ({"scopes": []}, "http.fields"),
        ({"scopes": ["no scope"]}, "identity.credential"),
        ({"expires_at": "tomorrow"}, "http.fields"),
    ):
        asked = {"principal_id": "service:sensor", "scopes": ["truth:read"], **changed}
        told = whole.post(_KEYS, asked, "ada")
        assert told.json()["code"] == code, told.text
    refused(whole.post(f"{_KEYS}/ak_aaaaaaaaaaaa/revoke", {"reason": "x"}, "ada"), 404, "flow.not_found")


def test_everybody_sees_their_own_keys_and_some_see_all(whole: Whole) -> None:
    made = _issue(whole)
    mine = whole.get(_KEYS, "sensor").json()["items"]
    assert {one["principal_id"] for one in mine} == {"service:sensor"}
    assert made["prefix"] in {one["prefix"] for one in mine}
    every = whole.get(_KEYS, "operator").json()["items"]
    assert len({one["principal_id"] for one in every}) > 1
    assert [one["prefix"] for one in every] == sorted(one["prefix"] for one in every)
    refused(whole.get(f"{_KEYS}?principal_id=user:ada", "sensor"), 403, "identity.role")
    assert whole.get(f"{_KEYS}?principal_id=user:unheard-of", "operator").json()["items"] == []
    other = next(one["prefix"] for one in every if one["principal_id"] != "service:sensor")
    refused(whole.get(f"{_KEYS}/{other}", "sensor"), 404, "flow.not_found")
    assert (
        whole.get(f"{_KEYS}?principal_id=service:sensor", "operator").json()["items"]
        == whole.get(f"{_KEYS}?principal_id=service:sensor", "sensor").json()["items"]
    )


def test_the_client_does_all_of_it(whole: Whole) -> None:
    node = Client("http://testserver.local", key=whole.keys["ada"], http=whole.client)
    second = Client("http://testserver.local", key=whole.keys["omar"], http=whole.client)

    def approved(made: IssuedKey) -> IssuedKey:
        ticket = second.ticket(str(made.waiting)).ticket
        second.answer_ticket(ticket.id, choice="approve", seen=ticket.shown_hash)
        return made

    made = approved(node.issue_key("service:sensor", scopes=["truth:read"]))
    assert made.api_key is not None
    heir = approved(node.rotate_key(made.prefix, overlap_seconds=0))
    assert not node.key(made.prefix).live
    assert node.revoke_key(heir.prefix, reason="done").prefix == heir.prefix
    assert {made.prefix, heir.prefix} <= {one.prefix for one in node.keys(principal_id="service:sensor")}
