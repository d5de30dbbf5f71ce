"""Every change over `/api/v1`: by somebody who proves who they are and may do it, on record, and once."""

import json
from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

import pytest

from assay.flows.answer_once import KeyedRequest
from assay.identity.risk import RiskTier
from assay.kernel.digest import digest_of
from assay.kernel.ids import PrincipalId
from assay.operations.table import TABLE
from assay.surfaces.http.v1.derive import derive_routes
from tests.flows._node import TENANT
from tests.surfaces.http._house import refused
from tests.surfaces.http.v1._whole import Whole
from tests.truth.records import contract_text

PREFIX = "/api/v1"
_numbers = count(100)


class _Sent(NamedTuple):
    """`other` makes another request of it: routes of the table read the fields before the key."""

    path: str
    body: Any
    by: str
    other: dict[str, Any] = {"extra": 1}  # noqa: RUF012 - nobody changes it


def _ticket(whole: Whole, number: int) -> _Sent:
    gated = whole.post(f"{PREFIX}/claims", whole.bundle(number, RiskTier.DELETE), "agent").json()
    [asked] = gated["tickets"]
    shown = whole.get(f"{PREFIX}/tickets/{asked['ticket_id']}").json()["ticket"]
    by = "otto" if "ops_team" in shown["eligible_roles"] else "rita"
    choice = {"choice": shown["choices"][0], "seen": shown["shown_hash"], "reason": "looked at it"}
    return _Sent(f"/tickets/{asked['ticket_id']}/answers", choice, by, {"reason": "looked again"})


def _acted(route: str, body: dict[str, Any]) -> Callable[[Whole, int], _Sent]:
    def make(whole: Whole, number: int) -> _Sent:
        ticket = whole.desk.ticket(eligible_roles=("reviewer",), about=f"act:{number}")
        return _Sent(f"/tickets/{ticket.id}/{route}", body, "rita", {"seen": ticket.shown_hash})

    return make


def _resume(whole: Whole, number: int) -> _Sent:
    """Another bundle in the place of one that waits."""
    waiting = whole.post(f"{PREFIX}/claims", whole.bundle(number, RiskTier.DELETE), "agent").json()["bundle_hash"]
    other = whole.bundle(number + 4_000, RiskTier.READ_ONLY)
    return _Sent(f"/claims/{waiting}/resume", other, "agent", {"reading": "strict"})


def _compile(whole: Whole, number: int) -> _Sent:
    seen = whole.post(f"{PREFIX}/observations", whole.observation(number), "sensor").json()
    return _Sent(f"/states/{seen['truthkey']}/compile", None, "operator")


def _joined(whole: Whole, number: int, verb: str, body: object) -> _Sent:
    name = f"ai:joined-{number}"
    assert whole.post(f"{PREFIX}/principals", {"principal_id": name, "kind": "agent"}, "ada").status_code == 201
    return _Sent(f"/principals/{name}/{verb}", body, "ada")


# Each makes a request that has not been made yet. An answer that a gate held back is resumed in tests of the flow.
def _contract(_whole: Whole, number: int) -> _Sent:
    text = contract_text("research_artifact_v1").replace("artifact.v1", f"artifact.v{number}")
    return _Sent("/contracts", {"document": text.replace("version: 1\n", f"version: {number}\n", 1)}, "operator")


def _event(whole: Whole, number: int) -> _Sent:
    told = {"event_type": f"crane.moved-{number}", "service": "bell", "timestamp": whole.later(minutes=4)}
    return _Sent("/events", {**told, "payload": {}}, "bell")


def _signal(whole: Whole, number: int) -> _Sent:
    told = {"signal_id": f"s-{number}", "kind": "ENDORSEMENT", "agent_id": "service:sensor"}
    endorsed = {"occurred_at": whole.later(minutes=4), "object": {"endorsed": "user:ann", "weight": 0.5}}
    return _Sent("/signals", {**told, **endorsed}, "sensor")


_CALL = {"tool": "delete_record", "arguments": {"id": 41}, "audience": "ai:surveyor"}


_ZERO = "sha256:" + "0" * 64


def _row(number: int) -> dict[str, Any]:
    return {"tool": f"files__{number}", "definition_hash": _ZERO, "tier": "READ_ONLY"}


def _definition(whole: Whole, number: int) -> dict[str, Any]:
    """Another definition of a tool of a table that was just released."""
    released = whole.post("/api/v1/gateway/tables", {"rows": [_row(number)]}, "omar")
    assert released.status_code == 201, released.text
    whole.approve(released, "ada")
    return {"tool": f"files__{number}", "definition_hash": f"sha256:{number:064d}", "reason": "read it"}


def _permit(whole: Whole, number: int) -> str:
    """The id of a permit that can be claimed."""
    issued = whole.post(f"{PREFIX}/permits", {"bundle_hash": _published(whole, number)}, "agent")
    return str(issued.json()["permit"]["permit_id"])


def _published(whole: Whole, number: int) -> str:
    text = json.dumps(_CALL, sort_keys=True, separators=(",", ":"))
    asked = {**whole.bundle(number, RiskTier.MODIFY), "tool_arguments": [text]}
    return str(whole.post(f"{PREFIX}/claims", asked, "agent").json()["bundle_hash"])


def _reported(whole: Whole, number: int) -> "_Sent":
    permit_id = _permit(whole, number)
    claimed = whole.post(f"{PREFIX}/permits/{permit_id}/claim", _CALL, "agent")
    assert claimed.status_code == 201, claimed.text
    return _Sent(f"/permits/{permit_id}/report", {"effect": "done"}, "agent", {"effect": "failed"})


def _label(whole: Whole, number: int) -> _Sent:
    """A known answer about a published output."""
    gated = whole.post(f"{PREFIX}/claims", whole.bundle(number), "agent").json()
    path = f"/claims/{gated['bundle_hash']}/label"
    return _Sent(path, {"label": "wrong", "reason": "it ran aground"}, "omar", {"label": "right"})


_CHANGES: dict[str, Callable[[Whole, int], _Sent]] = {
    "/contracts": _contract,
    "/observations": lambda whole, number: _Sent("/observations", whole.observation(number), "sensor"),
    "/states/{key}/compile": _compile,
    "/policies": lambda _whole, number: _Sent(
        "/policies", {"document": f"id: own_{number}\nversion: 2\nextends: flow_v1\n"}, "omar", {"accept": ["x"]}
    ),
    "/agents": lambda _whole, number: _Sent("/agents", {"agents": [f"user:a-{number}"]}, "ada", {"agents": ["user:b"]}),
    "/agents/{agent_id}/roles": lambda _whole, number: _Sent(
        f"/agents/user:a-{number}/roles", {"role": "specialist"}, "ada", {"role": "official"}
    ),
    "/agents/{agent_id}/endorsements": lambda _whole, number: _Sent(
        f"/agents/user:a-{number}/endorsements", {"weight": 0.5}, "sensor", {"weight": 0.25}
    ),
    "/signals": _signal,
    "/telemetry": lambda whole, number: _Sent("/telemetry", whole.record(f"t-{number}"), "sensor"),
    "/claims": lambda whole, number: _Sent("/claims", whole.bundle(number), "agent", {"thread": "another"}),
    "/claims/{bundle_hash}/resume": _resume,
    "/permits": lambda whole, number: _Sent(
        "/permits", {"bundle_hash": _published(whole, number)}, "agent", {"seconds": 60}
    ),
    "/permits/{permit_id}/claim": lambda whole, number: _Sent(
        f"/permits/{_permit(whole, number)}/claim", _CALL, "agent", {"tool": "other"}
    ),
    "/permits/{permit_id}/report": _reported,
    "/permits/{permit_id}/revoke": lambda whole, number: _Sent(
        f"/permits/{_permit(whole, number)}/revoke", {"reason": "not needed"}, "agent", {"reason": "another"}
    ),
    "/gateway/tables": lambda _whole, number: _Sent(
        "/gateway/tables", {"rows": [_row(number)]}, "omar", {"rows": [_row(number + 1_000_000)]}
    ),
    "/gateway/definitions": lambda whole, number: _Sent(
        "/gateway/definitions", _definition(whole, number), "omar", {"reason": "another"}
    ),
    "/gateway/calls": lambda _whole, number: _Sent(
        "/gateway/calls",
        {"tool": f"t{number}", **dict.fromkeys(("definition_hash", "arguments_hash", "result_hash"), _ZERO)},
        "agent",
        {"text": "another"},
    ),
    "/mandates": lambda whole, number: _Sent("/mandates", whole.terms(number), "agent", {"count": 6}),
    "/mandates/{mandate_id}/revoke": lambda whole, number: _Sent(
        f"/mandates/{whole.mandate(number)}/revoke", {"reason": "not needed"}, "agent", {"reason": "another"}
    ),
    "/gate-policies": lambda _whole, number: _Sent(
        "/gate-policies", {"document": f'id: papers-{number}\nversion: "1"\n'}, "omar", {"document": "id: x"}
    ),
    "/sample-plans": lambda _whole, number: _Sent(
        "/sample-plans", {"rates": {"MODIFY": number / 10**6}}, "omar", {"rates": {"MODIFY": 0.5}}
    ),
    "/claims/{bundle_hash}/label": _label,
    "/calibrations/certify": lambda _whole, number: _Sent(
        "/calibrations/certify",
        {"cases": [{"uncertainty": at / 100, "wrong": False} for at in range(100)], "alpha": 0.1 + number / 10**6},
        "omar",
        {"alpha": 0.5},
    ),
    "/answers": lambda whole, _number: _Sent("/answers", whole.question(), "amira", {"session_id": "another"}),
    "/rules": lambda _whole, number: _Sent(
        "/rules", {"rule_id": f"MAR-{number}", "content": "slow"}, "operator", {"content": "slower"}
    ),
    "/queries": lambda _whole, number: _Sent(
        "/queries", {"slug": f"q.{number}", "description": "?", "domain": "d"}, "operator", {"domain": "e"}
    ),
    "/events": _event,
    "/peers": lambda _whole, number: _Sent("/peers", {"peer": f"p{number}", "rules": [], "strands": []}, "operator"),
    "/webhooks": lambda _whole, number: _Sent(
        "/webhooks", {"url": f"https://example.org/{number}"}, "omar", {"types": ["rca.triggered"]}
    ),
    "/outcomes": lambda whole, number: _Sent("/outcomes", whole.outcome(query_context=f"trip {number}"), "bell"),
    "/tickets": lambda _whole, number: _Sent(
        "/tickets",
        {"title": f"archive gauge {number}", "shown": {"n": number}, "eligible_roles": ["reviewer"]},
        "omar",
        {"quorum": 2},
    ),
    "/tickets/{ticket_id}/claim": _acted("claim", {"seconds": 60}),
    "/tickets/{ticket_id}/assign": _acted("assign", {"role": "reviewer"}),
    "/tickets/{ticket_id}/prioritise": _acted("prioritise", {"priority": "high"}),
    "/tickets/{ticket_id}/comments": _acted("comments", {"text": "seen"}),
    "/tickets/{ticket_id}/answers": _ticket,
    "/principals": lambda _whole, number: _Sent(
        "/principals", {"principal_id": f"ai:new-{number}", "kind": "agent"}, "ada"
    ),
    "/principals/{principal_id}/amend": lambda whole, number: _joined(whole, number, "amend", {"trust_mask": 2}),
    "/principals/{principal_id}/disable": lambda whole, number: _joined(whole, number, "disable", None),
    "/principals/{principal_id}/tier": lambda whole, number: _joined(
        whole, number, "tier", {"to_tier": 1, "reason": "it has to read"}
    ),
    "/entries": lambda _whole, number: _Sent("/entries", {"note": {"n": number}}, "operator"),
}
_ELSEWHERE = {
    "/answers/{answer_id}/resume",
    # Any bytes (`test_every_change`).
    "/evidence",
    "/graphs",
    "/graphs/reviews",
    # Weights and cases are no JSON (`tests/surfaces/cli`).
    *("/models", "/models/evaluations", "/models/{weights}/activate"),
    "/graphs/{content_hash}/release",
    "/telemetry/answers",
    # A rule of high risk, an attempt to leave the perimeter (`tests/surfaces/cli`).
    "/tickets/{ticket_id}/attest",
    "/sovereignty/clear",
    "/checkpoints",
    "/indexes",
    # Their answers hold a secret, which is shown once (`test_keys`).
    "/keys",
    "/keys/{prefix}/rotate",
    "/keys/{prefix}/revoke",
    # A person's own (`test_principals`).
    "/sessions",
    "/sessions/end",
    # Walked in `test_walk`, or tried where people are asked (`test_truth_votes`, `test_truth_frames`).
    *("/votes", "/windows", "/penalties", "/states/{key}/disputes", "/states/{key}/answers", "/pairs/train"),
    *("/fingerprints/{observation_hash}", "/states:compile", "/states:expire", "/states:score"),
    "/entries/{sequence}/erase",
    "/services/{service_id}/keys",
    "/services/{service_id}/keys/{key_id}/revoke",
    "/rules/{rule_id}/certification",
    "/rules/{rule_id}/certify",
    "/rule-proofs",
    # A switch has to fire first (`test_remote_desk`).
    *("/services/{service_id}/firings", "/services/{service_id}/switch/restore"),
    "/root-causes/{item_id}/conclusion",
    "/outcomes/foreign",
    "/webhooks/{webhook_id}/replay",
    "/principals/{principal_id}/erase",
    "/principals/{principal_id}/public-keys",
    "/public-keys/{key_id}/end",
    # Something else comes first (`test_desk`).
    "/tickets/{ticket_id}/release",
    "/tickets/{ticket_id}/undo",
    "/tickets/settle",
    "/desk/bulk",
}


def _routes(method: str) -> list[str]:
    return [
        path.removeprefix(PREFIX).replace(":str}", "}")
        for handler in derive_routes(one for one in TABLE if one.writes)
        if method in getattr(handler, "http_methods", ())
        for path in getattr(handler, "paths", ())
    ]


def test_every_change_is_tried() -> None:
    """A new one has to be listed here, and is then tried."""
    assert {one for one in _routes("POST") if not one.endswith(":bulk")} == set(_CHANGES) | _ELSEWHERE


@pytest.mark.parametrize("route", _CHANGES)
def test_a_change_is_on_record_and_under_a_key_happens_once(whole: Whole, route: str) -> None:
    """The first appends; the same again is answered the same and appends nothing; another body is refused."""
    sent = _CHANGES[route](whole, next(_numbers))
    before, key = whole.entries(), f'"{route}-{before_key()}"'
    first = whole.post(PREFIX + sent.path, sent.body, sent.by, idempotency_key=key)
    after = whole.entries()
    again = whole.post(PREFIX + sent.path, sent.body, sent.by, idempotency_key=key)
    assert (first.status_code, again.status_code) == (201, 201), first.text
    assert again.content == first.content
    assert after > before
    assert whole.entries() == after
    assert ("assay-is-kept" in first.headers, again.headers["assay-is-kept"]) == (False, "true")
    other = b'{"other": 1}' if sent.body is None else {**sent.body, **sent.other}
    # A body that is not of the route's type is refused before its key is looked at.
    told = whole.post(PREFIX + sent.path, other, sent.by, idempotency_key=key)
    assert (told.status_code, told.json()["code"] in ("request.key_reused", "http.fields")) == (422, True), told.text
    assert whole.entries() == after


def before_key() -> int:
    return next(_numbers)


def test_a_key_is_each_principals_own(whole: Whole) -> None:
    """What one sent under a key says nothing to another who uses the same."""
    for by in ("sensor", "operator"):
        mine = whole.observation(next(_numbers))
        mine["reporter_id"] = "service:sensor" if by == "sensor" else "user:olga"
        done = whole.post(f"{PREFIX}/observations", mine, by, idempotency_key="shared")
        assert done.status_code == 201, done.text
        assert done.json()["observation_id"] == mine["observation_id"]


@pytest.mark.parametrize("path", [f"{PREFIX}/entries", f"{PREFIX}/telemetry", "/api/evaluate"])
def test_a_twin_of_a_request_in_hand_is_told_to_come_again(whole: Whole, path: str) -> None:
    """Also where those who wait are worked on together."""
    desk, before = whole.client.app.state.desk, whole.entries()
    body = {"note": {}} if path.endswith("entries") else whole.record(f"twin-{next(_numbers)}")
    twin = KeyedRequest(
        tenant_id=TENANT, principal_id=PrincipalId("user:olga"), request_key="twin", fingerprint=digest_of(b"")
    )
    with desk.in_hand.take(twin):
        told = whole.post(path, body, idempotency_key="twin")
    refused(told, 409, "request.in_hand")
    assert told.headers["retry-after"] == "1"
    assert whole.entries() == before


@pytest.mark.parametrize("key", ["", "a b", "ä", "x" * 256])
def test_a_key_that_cannot_be_kept_is_refused(whole: Whole, key: str) -> None:
    headers = {
        b"idempotency-key": key.encode("latin-1"),
        b"x-api-key": whole.keys["operator"].encode(),
        b"content-type": b"application/json",
    }
    told = whole.client.post(f"{PREFIX}/entries", content=b'{"note": {}}', headers=headers)
    refused(told, 400, "http.idempotency_key")


@pytest.mark.parametrize("path", [f"{PREFIX}/entries", f"{PREFIX}/outcomes"])
def test_a_key_is_sent_once(whole: Whole, path: str) -> None:
    """Of two, the one that was looked at may not be the one that is sent again."""
    twice = [("idempotency-key", "one"), ("idempotency-key", "two"), ("x-api-key", whole.keys["operator"])]
    told = whole.client.post(path, json={"note": {}}, headers=twice)
    refused(told, 400, "http.idempotency_key")


# Anybody may try to log in, and any credential of a person shows a session.
_SESSIONS = ("/sessions", "/sessions/end")


@pytest.mark.parametrize("route", [one for one in _routes("POST") if one not in _SESSIONS])
def test_nobody_changes_anything_without_a_credential_or_with_one_for_something_else(whole: Whole, route: str) -> None:
    path = PREFIX + route.replace("{", "").replace("}", "")
    before = whole.entries()
    told = whole.client.post(path, content=b"{}", headers={"content-type": "application/json"})
    refused(told, 401, "identity.not_signed_in")
    refused(whole.post(path, {}, "narrow"), 403, "identity.scope")
    assert whole.entries() == before


@pytest.mark.parametrize("route", ["/states/k/compile", "/graphs", "/entries", "/checkpoints", "/indexes"])
def test_what_an_operator_does_nobody_else_can(whole: Whole, route: str) -> None:
    refused(whole.post(PREFIX + route, {}, "nobody"), 403, "identity.role")


def test_a_ticket_is_answered_by_a_person_in_their_own_session(whole: Whole) -> None:
    sent = _ticket(whole, next(_numbers))
    refused(whole.post(PREFIX + sent.path, sent.body, "operator"), 403, "identity.session_required")


def test_an_answer_to_what_has_changed_since_is_refused(whole: Whole) -> None:
    """`If-Match` names the ticket as it was read; somebody answered meanwhile."""
    sent = _ticket(whole, next(_numbers))
    path = PREFIX + sent.path.removesuffix("/answers")
    tag = whole.get(path).headers["etag"]
    refused(whole.post(PREFIX + sent.path, sent.body, sent.by, if_match='"other"'), 412, "http.precondition")
    assert whole.post(PREFIX + sent.path, sent.body, sent.by, if_match=tag).status_code == 201
    assert whole.get(path).headers["etag"] != tag


def test_a_refusal_names_every_wrong_field_by_its_pointer(whole: Whole) -> None:
    body = {"bundle": [], "tool_arguments": ["a", 1], "questions": {"c/1": 2}, "x~y": 0}
    problem = refused(whole.post(f"{PREFIX}/claims", body, "agent"), 422, "http.fields")
    assert [one["pointer"] for one in problem["errors"]] == [
        "/tool_arguments/1",
        "/questions/c~11",
        "/bundle",
        "/x~0y",
    ]


@pytest.mark.parametrize(
    ("path", "body", "wrong"),
    [
        ("/api/v1/keys", {"principal_id": "Bad", "scopes": [], "expires_at": "tomorrow"}, 3),
        ("/api/v1/principals", {"principal_id": "Bad Id", "kind": "robot"}, 2),
        ("/api/v1/windows", {"truthkey": "x", "event": "shut", "closes_at": "2026-01-07T12:00:00"}, 2),
        ("/api/v1/outcomes", {"outcome": "maybe", "applied_by": 7, "strands_available": "all", "x": 1}, 6),
        ("/api/v2/pramana/phala", {"outcome": "maybe", "x": 1, "y": 2}, 7),
        ("/api/v2/pramana/sense/emit", {"x": 1, "y": 2}, 5),
    ],
)
def test_texts_that_have_a_form_are_wrong_together_with_everything_else(
    whole: Whole, path: str, body: dict[str, Any], wrong: int
) -> None:
    """An instant, an id, a word of a closed list: whoever sends several wrong ones is told of all at once."""
    answer = whole.post(path, body, "omar")
    assert answer.status_code == 422, answer.text
    pointers = [one["pointer"] for one in answer.json()["errors"]]
    assert len(pointers) == wrong, answer.text
    assert {f"/{name}" for name in body} - {"/truthkey"} == {one for one in pointers if one[1:] in body}


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ("/verdicts?from=x&to=2026-01-07T12:00:00&limit=0", 3),
        ("/states?at=x&limit=0", 2),
        ("/keys?principal_id=B&x=1", 2),
    ],
)
def test_so_are_those_of_a_query(whole: Whole, query: str, wrong: int) -> None:
    problem = refused(whole.get(PREFIX + query), 422, "http.fields")
    assert len(problem["errors"]) == wrong, problem
