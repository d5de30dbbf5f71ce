"""Every route of `/api/v1`, walked through on one node: it answers, by its own shape, to whom it should."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from assay.identity.risk import RiskTier
from assay.kernel.instant import render_instant
from assay.operations.kinds import Listing
from assay.operations.table import TABLE
from assay.surfaces.http.v1 import common as examples
from assay.surfaces.http.v1.derive import derive_routes
from tests.surfaces.http.v1._whole import Whole
from tests.truth.records import contract_text, schema_bytes

PREFIX = "/api/v1"
# The node is shared by every file of this folder, in whatever order a machine runs them: what is made here has names
# that nothing else has, so that it is new whoever was here before.
_NUMBER = 9_101
_EXAMPLES = Path(examples.__file__).parent / examples.EXAMPLES


@dataclass
class Walk:
    """One answer of each route that answers with JSON, by its name in the description."""

    whole: Whole
    told: dict[str, Any] = field(default_factory=dict)

    def post(self, route: str, body: object, by: str, path: str | None = None, **headers: str) -> Any:  # noqa: ANN401  whatever it answers
        response = self.whole.post(PREFIX + (path or route), body, by, **headers)
        assert response.status_code == 201, (route, response.text)
        self.told[f"POST {PREFIX}{route}"] = response.json()
        if isinstance(response.json(), dict) and response.json().get("waiting") is not None:
            self.whole.approve(response, "ada" if by == "omar" else "omar")
        return response.json()

    def send(self, method: str, route: str, by: str, path: str, body: object = None) -> Any:  # noqa: ANN401  the same
        sent = {"authorization": f"Bearer {self.whole.keys[by]}"}
        response = self.whole.client.request(method, PREFIX + path, json=body, headers=sent)
        assert response.status_code in (200, 201), (route, response.text)
        self.told[f"{method} {PREFIX}{route}"] = response.json()
        return response.json()

    def get(self, route: str, by: str = "operator", path: str | None = None) -> Any:  # noqa: ANN401  the same
        response = self.whole.get(PREFIX + (path or route), by)
        assert response.status_code == 200, (route, response.text)
        self.told[f"GET {PREFIX}{route}"] = response.json()
        return response.json()


def _contract(name: str) -> dict[str, str]:
    return {"document": contract_text(name), "schema_text": (schema_bytes(name) or b"").decode()}


def _walk_truth(walk: Walk) -> None:
    whole, get, post = walk.whole, walk.get, walk.post
    released = post("/contracts", _contract("orbital_debris_v1"), "operator")
    get("/contracts")
    get("/contracts/{claim_type}", "nobody", f"/contracts/{released['claim_type']}")
    observed = post("/observations", whole.observation(_NUMBER), "sensor")
    get("/observations", "sensor")
    get("/observations/{observation_id}", "sensor", f"/observations/obs-{_NUMBER}")
    post("/states/{key}/compile", None, "operator", f"/states/{observed['truthkey']}/compile")
    get("/states")
    get("/states/{key}", "operator", f"/states/{observed['truthkey']}")
    post("/states/{key}/answers", None, "amira", f"/states/{observed['truthkey']}/answers")
    get("/states/{key}/versions", "operator", f"/states/{observed['truthkey']}/versions")
    get("/states/{key}/claims", "operator", f"/states/{observed['truthkey']}/claims")
    whole.post(f"{PREFIX}/checkpoints", None, "operator")
    get("/states/{key}/proof", "operator", f"/states/{observed['truthkey']}/proof")
    get("/states/{key}/document", "operator", f"/states/{observed['truthkey']}/document")
    get("/states/{key}/replay", "operator", f"/states/{observed['truthkey']}/replay")
    for part in ("document", "form"):
        get(f"/contracts/{{claim_type}}/{part}", "nobody", f"/contracts/{released['claim_type']}/{part}")
    get("/truth-map", "operator", "/truth-map?limit=1")
    walk.send("POST", "/states:compile", "operator", "/states:compile", {"keys": [observed["truthkey"]]})
    walk.send("POST", "/states:expire", "operator", "/states:expire")
    state = whole.get(f"{PREFIX}/states/{observed['truthkey']}/document").json()
    walk.send("POST", "/states:verify", "operator", "/states:verify", state)
    post("/windows", {"truthkey": observed["truthkey"], "event": "open", "closes_in": 3600}, "operator")


def _walk_trust(walk: Walk) -> None:
    whole, get, post = walk.whole, walk.get, walk.post
    child = {"document": f"id: walked_{_NUMBER}\nversion: 2\nextends: flow_v1\n"}
    walk.send("POST", "/policies:compare", "operator", "/policies:compare", child)
    post("/policies", child, "omar")
    get("/policies")
    get("/policies/{policy_id}", "operator", f"/policies/walked_{_NUMBER}")
    post("/agents", {"agents": [f"user:walked-{_NUMBER}", "service:sensor"]}, "ada")
    get("/agents")
    name = f"/agents/user:walked-{_NUMBER}"
    get("/agents/{agent_id}", "operator", name)
    post("/agents/{agent_id}/roles", {"role": "specialist"}, "ada", f"{name}/roles")
    post("/agents/{agent_id}/endorsements", {"weight": 0.5}, "sensor", f"{name}/endorsements")
    signal = {
        "signal_id": f"walked.{_NUMBER}",
        "kind": "ENDORSEMENT",
        "agent_id": "service:sensor",
        "occurred_at": render_instant(whole.clock.now()),
        "object": {"endorsed": f"user:walked-{_NUMBER}", "weight": 0.25},
    }
    post("/signals", signal, "sensor")
    get("/signals", "sensor")
    post("/penalties", {"agent_id": f"user:walked-{_NUMBER}", "points": 1, "reason": "made it up"}, "operator")
    get("/trust-snapshot", "operator", "/trust-snapshot?agents=service:sensor")
    get("/credits")
    get("/trust-check")


def _walk_verdicts(walk: Walk) -> None:
    whole, get, post = walk.whole, walk.get, walk.post
    judged = post("/telemetry", whole.record("t-walked"), "sensor")
    get("/telemetry/{telemetry_id}/verdicts", "operator", "/telemetry/t-walked/verdicts")
    get("/telemetry/{telemetry_id}/claims", "operator", "/telemetry/t-walked/claims")
    whole.post(f"{PREFIX}/checkpoints", None, "operator")
    get("/telemetry/{telemetry_id}/proof", "operator", "/telemetry/t-walked/proof")
    explained = get("/telemetry/{telemetry_id}/explanation", "operator", "/telemetry/t-walked/explanation")
    (transcript,) = explained["transcripts"]
    get("/transcripts/{transcript_ref}", "operator", f"/transcripts/{transcript}")
    get("/telemetry-buffers")
    get("/held-verdicts")
    get("/replays", "operator", "/replays?limit=1")
    get("/replays/v2")
    get("/verdicts")
    get("/verdicts/{sequence}", "operator", f"/verdicts/{judged['verdicts'][0]['sequence_number']}")
    whole.post(f"{PREFIX}/telemetry", whole.record("t-unknown", subject="boiler"), "sensor")
    get("/coverage")
    get("/agreement")
    get("/health")
    get("/sovereignty")
    active = get("/graphs/active")
    get("/graphs")
    get("/models")
    get("/models/{weights}", "operator", "/models/active")
    get("/graphs/history")
    named = active["document_hash"]
    document = get("/graphs/{graph}", "operator", f"/graphs/{named}")
    get("/graphs/{graph}/summary", "operator", f"/graphs/{named}/summary")
    get("/graphs/{before}/diff/{after}", "operator", f"/graphs/{named}/diff/{named}")
    content = active["content_hash"]
    get("/graphs/{content_hash}/reviews", "operator", f"/graphs/{content}/reviews")
    walk.send("POST", "/graphs/{content_hash}/release/prepare", "operator", f"/graphs/{content}/release/prepare")
    post("/graphs/{content_hash}/release", None, "operator", f"/graphs/{content}/release")
    walk.send("POST", "/graphs/impact", "operator", "/graphs/impact", document)
    post("/graphs/reviews", document, "operator")
    post("/graphs", document, "operator")


def _walk_claims(walk: Walk) -> None:
    whole, get, post = walk.whole, walk.get, walk.post
    waiting = post("/claims", whole.bundle(_NUMBER, RiskTier.DELETE, "ai:walker"), "walker")
    content = f"measured {_NUMBER}".encode()
    kept = post("/evidence", content, "walker", content_type="application/octet-stream")
    get("/evidence/{evidence_hash}", "walker", f"/evidence/{kept['evidence_hash']}")
    bundle = whole.bundle(_NUMBER, RiskTier.DELETE, "ai:walker")["bundle"]
    walk.send("POST", "/claims/try", "walker", "/claims/try", {"bundle": bundle})
    quote = {"statement": "The river is 30 m deep.", "quote": "30 m", "content": "VGhlIHJpdmVyIGlzIDMwIG0gZGVlcC4="}
    walk.send("POST", "/claims/check-quote", "walker", "/claims/check-quote", quote)
    walk.send("POST", "/claims/backtest", "operator", "/claims/backtest", {})
    walk.send("POST", "/oversight", "operator", "/oversight", {})
    get("/gate-approvers", "operator")
    policy = {"document": 'id: papers\nversion: "1"\n'}
    walk.send("POST", "/gate-policies/check", "walker", "/gate-policies/check", policy)
    post("/gate-policies", policy, "omar")
    get("/gate-policies", "walker")
    get("/gate-policy", "walker")
    cases = [{"uncertainty": number / 100, "wrong": number > 60} for number in range(100)]
    walk.send("POST", "/calibrations", "walker", "/calibrations", {"cases": cases})
    sets = [{"probabilities": [0.7, 0.3], "right": 0}] * 20
    walk.send("POST", "/calibrations/sets", "walker", "/calibrations/sets", {"cases": sets})
    walk.send("POST", "/calibrations/risk", "walker", "/calibrations/risk", {"cases": [{"losses": [0.9, 0.0]}] * 20})
    get("/claims", "walker")
    get("/claims/{bundle_hash}", "walker", f"/claims/{waiting['bundle_hash']}")
    [asked] = waiting["tickets"]
    # Of this bundle alone: others of the folder leave tickets on the same node, and a page has an end.
    tickets = get("/tickets", "otto", f"/tickets?about=bundle:{waiting['bundle_hash']}")
    assert asked["ticket_id"] in [one["ticket"]["id"] for one in tickets["items"]]
    shown = get("/tickets/{ticket_id}", "otto", f"/tickets/{asked['ticket_id']}")
    choice = {"choice": "approve", "seen": shown["ticket"]["shown_hash"], "reason": "looked at it"}
    post("/tickets/{ticket_id}/answers", choice, "otto", f"/tickets/{asked['ticket_id']}/answers")
    asked = {"title": "archive the gauges of 2019", "shown": {"gauges": 40}, "eligible_roles": ["reviewer"]}
    post("/tickets", asked, "omar")
    # The answer gated it again, so that nothing is left to be decided.
    walk.send("POST", "/claims/{bundle_hash}/resume", "walker", f"/claims/{waiting['bundle_hash']}/resume", {})
    _walk_oversight(walk, waiting["bundle_hash"])


def _walk_oversight(walk: Walk, bundle_hash: str) -> None:
    """A sample is planned, an output labelled, a threshold certified; the next plan reveals the seed of the first."""
    plan = {"rates": {"READ_ONLY": 0.02}, "known_answers": 0.2}
    first = walk.post("/sample-plans", plan, "omar")
    walk.get("/sample-plan", "walker")
    label = {"label": "wrong", "reason": "the vessel ran aground there"}
    walk.post("/claims/{bundle_hash}/label", label, "omar", f"/claims/{bundle_hash}/label")
    walk.get("/claim-labels", "operator")
    cases = [{"uncertainty": number / 100, "wrong": False} for number in range(100)]
    walk.post("/calibrations/certify", {"cases": cases}, "omar")
    walk.post("/sample-plans", plan, "omar")
    walk.get("/sample-plans/{plan_id}/check", "operator", f"/sample-plans/{first['plan']['id']}/check")


def _walk_permits(walk: Walk) -> None:
    whole, get, post = walk.whole, walk.get, walk.post
    call = {"tool": "delete_record", "arguments": {"id": 41}, "audience": "ai:walker"}
    issued = []
    for number in (_NUMBER + 1, _NUMBER + 2):
        text = json.dumps(call, sort_keys=True, separators=(",", ":"))
        asked = {**whole.bundle(number, RiskTier.MODIFY, "ai:walker"), "tool_arguments": [text]}
        gated = whole.post(f"{PREFIX}/claims", asked, "walker").json()
        issued.append(post("/permits", {"bundle_hash": gated["bundle_hash"]}, "walker")["permit"]["permit_id"])
    first, second = issued
    post("/permits/{permit_id}/claim", call, "walker", f"/permits/{first}/claim")
    post("/permits/{permit_id}/report", {"effect": "done", "detail": "1 row"}, "walker", f"/permits/{first}/report")
    post("/permits/{permit_id}/revoke", {"reason": "not needed"}, "walker", f"/permits/{second}/revoke")
    get("/permits/{permit_id}", "walker", f"/permits/{first}")
    get("/permits", "walker")


def _walk_mandates(walk: Walk) -> None:
    """Proposed by the agent, signed on the desk, used once, revoked."""
    whole, get, post = walk.whole, walk.get, walk.post
    call = {"tool": "purge", "arguments": {"id": 41}, "audience": "ai:walker"}
    terms = {
        "agent": "ai:walker",
        "tool": "purge",
        "audience": "ai:walker",
        "tier": "DELETE",
        "purpose": "old records",
        "count": 5,
        "expires_at": whole.later(hours=1),
        "limits": [{"argument": "id", "minimum": "1", "maximum": "100"}],
    }
    assert walk.send("POST", "/mandates/preview", "walker", "/mandates/preview", terms)["allowed"] == 0
    made = post("/mandates", terms, "walker")
    signature = {"choice": "sign", "seen": made["shown_hash"], "reason": "few and old"}
    signed = whole.post(f"{PREFIX}/tickets/{made['ticket_id']}/answers", signature, "otto")
    assert signed.status_code == 201, signed.text
    text = json.dumps(call, sort_keys=True, separators=(",", ":"))
    bundle = whole.bundle(_NUMBER + 3, RiskTier.DELETE, "ai:walker")
    bundle["bundle"]["claims"][0]["claim_type"] = "DECISION"
    gated = whole.post(f"{PREFIX}/claims", {**bundle, "tool_arguments": [text]}, "walker").json()
    assert gated["decision"] == "PUBLISH", gated
    name = made["mandate_id"]
    assert get("/mandates/{mandate_id}", "walker", f"/mandates/{name}")["used_count"] == 1
    get("/mandates", "walker")
    get("/mandates/{mandate_id}/uses", "walker", f"/mandates/{name}/uses")
    post("/mandates/{mandate_id}/revoke", {"reason": "not needed"}, "walker", f"/mandates/{name}/revoke")


def _walk_gateway(walk: Walk) -> None:
    """A table, a changed definition that is approved, a call, by an operator and an agent."""
    first, second = "sha256:" + "1" * 64, "sha256:" + "2" * 64
    row = {"tool": "files__read", "definition_hash": first, "tier": "READ_ONLY", "says": "read {path}"}
    walk.post("/gateway/tables", {"rows": [row]}, "omar")
    walk.get("/gateway/table", "walker")
    walk.post(
        "/gateway/definitions", {"tool": row["tool"], "definition_hash": second, "reason": "only the wording"}, "omar"
    )
    call = {"tool": row["tool"], "definition_hash": second, "arguments_hash": first, "result_hash": second}
    assert walk.post("/gateway/calls", {**call, "text": "twelve rooms"}, "walker")["is_withheld"] is False
    walk.get("/gateway/calls", "walker")


def _walk_desk(walk: Walk) -> None:
    """One ticket, worked on by one person until they take their answer back."""
    ticket = walk.whole.desk.ticket(eligible_roles=("reviewer",), about=f"desk:{_NUMBER}")
    name, place = f"/tickets/{ticket.id}", "/tickets/{ticket_id}"
    for verb, body in (
        ("claim", {"seconds": 900}),
        ("assign", {"role": "reviewer"}),
        ("prioritise", {"priority": "high"}),
        ("comments", {"text": "I ask the supplier first"}),
        ("release", {}),
    ):
        walk.post(f"{place}/{verb}", body, "rita", f"{name}/{verb}")
    walk.send("PUT", f"{place}/draft", "rita", f"{name}/draft", {"choice": "approve"})
    walk.get(f"{place}/desk", "rita", f"{name}/desk")
    walk.send("DELETE", f"{place}/draft", "rita", f"{name}/draft")
    walk.send("PUT", "/desk/views/{name}", "rita", "/desk/views/walked", {"filter": {"about": f"desk:{_NUMBER}"}})
    walk.get("/desk/queue", "rita", "/desk/queue?view=walked")
    walk.get("/desk/next", "rita", "/desk/next?view=walked")
    walk.get("/desk/views", "rita")
    plan = {"choice": "approve", "filter": {"about": f"desk:{_NUMBER}"}}
    walk.send("POST", "/desk/bulk/plan", "rita", "/desk/bulk/plan", plan)
    picks = {"choice": "approve", "picks": [{"ticket_id": ticket.id, "seen": ticket.shown_hash}]}
    walk.send("POST", "/desk/bulk", "rita", "/desk/bulk", picks)
    walk.post(f"{place}/undo", {"reason": "too soon"}, "rita", f"{name}/undo")
    walk.get(f"{place}/timeline", "rita", f"{name}/timeline")
    walk.get("/desk/progress", "operator")
    walk.send("DELETE", "/desk/views/{name}", "rita", "/desk/views/walked")
    walk.send("POST", "/tickets/settle", "operator", "/tickets/settle")


def _walk_answers(walk: Walk) -> None:
    whole, get, post = walk.whole, walk.get, walk.post
    answered = post("/answers", whole.question(), "amira")
    get("/answers", "amira")
    get("/answers/{answer_id}", "amira", f"/answers/{answered['answer_id']}")
    get("/answers/{answer_id}/claims", "amira", f"/answers/{answered['answer_id']}/claims")
    whole.post(f"{PREFIX}/checkpoints", None, "operator")
    get("/answers/{answer_id}/proof", "amira", f"/answers/{answered['answer_id']}/proof")
    post("/outcomes", whole.outcome(answer_id=answered["answer_id"]), "bell")
    get("/outcomes")
    get("/rules")
    get("/rules/{rule_id}", "operator", "/rules/MAR-YK-007")
    whole.delivery.fail(prefix="walked", session_id="walked")
    opened = get("/root-causes", "operator", "/root-causes?open=true&limit=1")["items"][0]["item"]["item_id"]
    shown = get("/root-causes/{item_id}", "operator", f"/root-causes/{opened}")
    said = {"failure_category": "B", "siddhanta": "the tide was misread", "seen": shown["ticket"]["shown_hash"]}
    post("/root-causes/{item_id}/conclusion", said, "rita", f"/root-causes/{opened}/conclusion")
    get("/trace/{id}", "operator", f"/trace/{answered['answer_id']}")
    get("/pairs")
    get("/pairs/queue")
    get("/pairs/measure")
    post("/pairs/train", {"size": 1}, "operator")
    get("/pramana-state")
    get("/pramana-trust/{user_id}", "amira", "/pramana-trust/user:amira")


def _walk_rules(walk: Walk) -> None:
    get, post, send = walk.get, walk.post, walk.send
    rule = {"rule_id": f"MAR-{_NUMBER}", "content": "Slow down in fog.", "domains": ["maritime"]}
    post("/rules", rule, "operator")
    place = f"/rules/MAR-{_NUMBER}"
    shown = post("/rules/{rule_id}/certification", None, "operator", f"{place}/certification")
    seen = {"seen": shown["shown_hash"]}
    post("/rules/{rule_id}/certify", seen, "rita", f"{place}/certify")
    texts = {"texts": {"fog.py": f"# @rule:MAR-{_NUMBER}"}}
    post("/rule-proofs", texts, "omar")
    get("/rule-recount")
    get("/rule-alerts", "operator", "/rule-alerts?min_total=1&min_confidence=1")
    grants = {"rules": ["MAR-*"]}
    send("PUT", "/reporters/{principal_id}", "operator", "/reporters/service:bell", grants)
    get("/reporters")
    kind = {"slug": "vessel.fog", "description": "may it sail", "domain": "maritime", "expected_level": "PRAMANA-3+"}
    post("/queries", {**kind, "answerer": "vessel.ukc-status", "rules": [rule["rule_id"]]}, "operator")
    get("/queries")
    walk.whole.post(f"{PREFIX}/answers", {"query_type": "vessel.fog"}, "amira")
    get("/shortfalls")
    get("/outcome-sessions")
    get("/outcome-sessions/{session}", "operator", "/outcome-sessions/session:walked")


def _walk_others(walk: Walk) -> None:
    """Peers, events and webhooks."""
    whole, get, post, send = walk.whole, walk.get, walk.post, walk.send
    agreed = {"peer": "bell", "rules": [["BELL-1", "MAR-YK-007"]], "strands": [], "keys": []}
    post("/peers", agreed, "operator")
    get("/peers")
    get("/peers/{peer}", "operator", "/peers/bell")
    get("/tenants")
    get("/trust-anchors")
    told = whole.outcome(rule_id=None, rule_ids=["BELL-1", "BELL-2"])
    post("/outcomes/foreign", told, "bell")
    event = {"event_type": "crane.moved", "service": "bell", "timestamp": whole.later(minutes=4), "payload": {"t": 4}}
    post("/events", event, "bell")
    added = post("/webhooks", {"url": "https://example.org/hook", "types": ["rca.triggered"]}, "omar")
    place = f"/webhooks/{added['webhook']['webhook_id']}"
    get("/webhooks")
    get("/webhooks/{webhook_id}/dead", "operator", f"{place}/dead")
    post("/webhooks/{webhook_id}/replay", {"after": 0}, "omar", f"{place}/replay")
    send("DELETE", "/webhooks/{webhook_id}", "omar", place)


def _walk_node(walk: Walk) -> None:
    whole, get, post = walk.whole, walk.get, walk.post
    get("/services")
    get("/principals")
    get("/principals/{principal_id}", "amira", "/principals/user:amira")
    _walk_principal(walk, "service:walked")
    issued = post("/keys", {"principal_id": "service:nobody", "scopes": ["truth:read"]}, "ada")
    walk.told[f"POST {PREFIX}/keys"]["api_key"] = _UNREAL
    get("/keys")
    get("/keys/{prefix}", "operator", f"/keys/{issued['prefix']}")
    post("/keys/{prefix}/rotate", {"overlap_seconds": 0}, "ada", f"/keys/{issued['prefix']}/rotate")
    walk.told[f"POST {PREFIX}/keys/{{prefix}}/rotate"]["api_key"] = _UNREAL
    heir = walk.told[f"POST {PREFIX}/keys/{{prefix}}/rotate"]["prefix"]
    post("/keys/{prefix}/revoke", {"reason": "its holder left"}, "ada", f"/keys/{heir}/revoke")
    get("/whoami")
    get("/why", "operator", "/why?action=key.revoke")
    get("/principals/{principal_id}/tiers", "operator", "/principals/service:nobody/tiers")
    post("/principals/{principal_id}/erase", {"reason": "asked to"}, "ada", "/principals/service:nobody/erase")
    public = {"public_key": "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"}
    added = post("/principals/{principal_id}/public-keys", public, "ada", "/principals/service:nobody/public-keys")
    post("/public-keys/{key_id}/end", {"reason": "lost"}, "ada", f"/public-keys/{added['key_id']}/end")

    get("/who-can", "operator", "/who-can?bits=READ")
    vouched = {"public_key": "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"}
    key = post("/services/{service_id}/keys", vouched, "omar", "/services/bookings/keys")
    get("/services/{service_id}/keys", "operator", "/services/bookings/keys")
    get("/services/{service_id}/switch", "operator", "/services/bookings/switch")
    revoke = f"/services/bookings/keys/{key['key_id']}/revoke"
    post("/services/{service_id}/keys/{key_id}/revoke", {"reason": "stolen"}, "omar", revoke)
    receipt = post("/entries", {"note": {"text": "seen", "who": "Ann"}, "personal": ["/who"]}, "operator")
    get("/entries")
    get("/activity")
    get("/activity/days")
    get("/entries/{sequence}", "operator", f"/entries/{receipt['sequence_number']}")
    get("/entries/{sequence}/text", "operator", f"/entries/{receipt['sequence_number']}/text")
    erased = {"reason": "asked for by the person", "pointers": ["/note/who"]}
    post("/entries/{sequence}/erase", erased, "omar", f"/entries/{receipt['sequence_number']}/erase")
    signed = post("/checkpoints", None, "operator")
    get("/checkpoints")
    get("/checkpoints/{size}", "operator", f"/checkpoints/{signed['size']}")
    proof = get("/proofs/{sequence}", "operator", f"/proofs/{receipt['sequence_number']}")
    walk.send("POST", "/proofs/verify", "operator", "/proofs/verify", {"proof": json.dumps(proof)})
    get("/ledger/verification")
    get("/operations", "operator", "/operations?limit=3")
    get("/search", "operator", "/search?term=kind%3Dnote&term=text%3Dseen")
    post("/indexes", None, "operator")
    get("/indexes")
    whole.post(f"{PREFIX}/checkpoints", None, "operator")
    get("/search/proof", "operator", "/search/proof?term=text%3Dseen")


def _walk_principal(walk: Walk, name: str) -> None:
    joins = {"principal_id": name, "kind": "service", "name": "Walked", "action_tier": 1}
    walk.post("/principals", joins, "ada")
    walk.post("/principals/{principal_id}/amend", {"roles": ["relay"]}, "ada", f"/principals/{name}/amend")
    asked = {"to_tier": 2, "reason": "it has to write its findings"}
    walk.post("/principals/{principal_id}/tier", asked, "ada", f"/principals/{name}/tier")
    walk.post("/principals/{principal_id}/disable", None, "ada", f"/principals/{name}/disable")


def _served() -> set[str]:
    return {
        f"{method} {path.replace(':str}', '}')}"
        for handler in derive_routes(TABLE)
        for path in handler.paths
        for method in handler.http_methods
        if ":bulk" not in path
    }


# These need somebody else first: a service that announced itself, an answer that a gate held back. A report is no JSON.
_ELSEWHERE = {
    # A session is a person's, and ending it would sign out the walk.
    f"POST {PREFIX}/sessions",
    f"POST {PREFIX}/sessions/end",
    # A password is a person's (`test_principals`).
    f"PUT {PREFIX}/principals/{{principal_id}}/password",
    f"GET {PREFIX}/services/{{service_id}}",
    # A switch has to fire first (`test_remote_desk`).
    f"POST {PREFIX}/services/{{service_id}}/firings",
    f"POST {PREFIX}/services/{{service_id}}/switch/restore",
    f"POST {PREFIX}/answers/{{answer_id}}/resume",
    f"GET {PREFIX}/reports",
    # Bytes and pictures of their own (`test_claims_routes`); a model is asked (`test_judging`).
    f"GET {PREFIX}/evidence/{{evidence_hash}}/content",
    f"POST {PREFIX}/calibrations/plot",
    f"POST {PREFIX}/estimates",
    # For a person with a key of their own (`test_desk`).
    f"POST {PREFIX}/tickets/{{ticket_id}}/answers/prepare",
    f"POST {PREFIX}/tickets/{{ticket_id}}/acts/prepare",
    # A rule of high risk, a TPM, an attempt to leave the perimeter, a receipt of the judge (`tests/surfaces/cli`).
    *(f"POST {PREFIX}/tickets/{{ticket_id}}/{name}" for name in ("attest", "attest/prepare")),
    f"GET {PREFIX}/tickets/{{ticket_id}}/verdict",
    *(f"POST {PREFIX}/sovereignty/{name}" for name in ("quote", "audit", "clear")),
    f"GET {PREFIX}/verdicts/{{sequence}}/receipt",
    # Weights and cases are no JSON (`tests/surfaces/cli`).
    *(f"POST {PREFIX}/models{name}" for name in ("", "/evaluations", "/{weights}/activate")),
    # An answer that needs the scopes of both rooms (`tests/node`).
    f"POST {PREFIX}/telemetry/answers",
    # Where people are asked about a claim (`test_truth_votes`), a state is final, evidence or an engine is there.
    f"GET {PREFIX}/states/{{key}}/question",
    f"POST {PREFIX}/votes",
    f"POST {PREFIX}/votes/prepare",
    f"POST {PREFIX}/states/{{key}}/disputes",
    f"POST {PREFIX}/fingerprints/{{observation_hash}}",
    f"POST {PREFIX}/states:score",
}
# No key that ever opened anything stands in a file.
_UNREAL = f"ak_{'a' * 12}.{'A' * 43}"


def test_every_route_is_walked_and_its_answer_is_the_example_in_the_description(whole: Whole) -> None:
    """What the description shows was really answered. With ASSAY_RECORD=1 it is written anew."""
    walk = Walk(whole)
    for part in (
        _walk_truth,
        _walk_trust,
        _walk_verdicts,
        _walk_claims,
        _walk_permits,
        _walk_mandates,
        _walk_gateway,
        _walk_desk,
        _walk_answers,
        _walk_rules,
        _walk_others,
        _walk_node,
    ):
        part(walk)
    told = walk.told
    assert set(told) == _served() - _ELSEWHERE
    if os.environ.get("ASSAY_RECORD") == "1":
        _EXAMPLES.write_text(
            json.dumps({name: _short(one) for name, one in told.items()}, indent=1, sort_keys=True) + "\n"
        )
        return
    kept = json.loads(_EXAMPLES.read_text())
    assert set(kept) == set(told)
    for route, answer in told.items():
        assert _members(answer) == _members(kept[route]), route


def _short(answer: dict[str, Any]) -> dict[str, Any]:
    """One item of a page says as much as a hundred."""
    return {**answer, "items": answer["items"][-1:]} if "items" in answer else answer


def _members(value: Any) -> Any:  # noqa: ANN401  any JSON
    """The names of an answer, without what depends on the day."""
    return sorted(value) if isinstance(value, dict) else type(value).__name__


def test_pages_have_one_shape() -> None:
    """Whatever is listed: `items`, and the `next` cursor."""
    kept = msgspec.json.decode(_EXAMPLES.read_bytes())
    lists = {route for route in _served() - _ELSEWHERE if route.startswith("GET") and not route.endswith("}")}
    listings = {f"GET {PREFIX}{one.path}" for one in TABLE if isinstance(one, Listing)}
    pages = {route: sorted(kept[route]) for route in lists & listings}
    assert len(pages) > 20
    assert set(map(tuple, pages.values())) == {("items", "next")}
