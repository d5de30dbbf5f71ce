"""`/api/v1/claims` over HTTP: decisions are answers, refusals are problems, and people answer in their own session."""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest
from litestar import Litestar
from litestar.testing import TestClient

from assay.identity.principal import PrincipalKind
from assay.identity.risk import RiskTier
from assay.kernel.ids import PrincipalId
from assay.surfaces.http.app import create_app
from assay.wiring import load_config
from tests.acting import issue_api_key
from tests.claims.making import claim, example, pointer
from tests.flows._claims import ClaimsDesk, copied_claims, opened_claims
from tests.flows._node import TENANT
from tests.flows._people import ADMIN
from tests.surfaces.http._house import refused


class _Served:
    """The routes of a node that gates claims; `desk` prepares what the requests are about."""

    def __init__(self, desk: ClaimsDesk, client: TestClient[Litestar]) -> None:
        self.desk = desk
        self.client = client

    def get(self, path: str, key: str | None = None) -> httpx.Response:
        return self.client.get(path, headers={"x-api-key": key or self.desk.agent})

    def post(self, path: str, body: Any, key: str | None = None) -> httpx.Response:  # noqa: ANN401  any JSON
        headers = {"x-api-key": key or self.desk.agent, "content-type": "application/json"}
        return self.client.post(path, content=json.dumps(body).encode(), headers=headers)

    def gate(self, *claims: dict[str, object], **changes: object) -> httpx.Response:
        return self.post("/api/v1/claims", {"bundle": self.desk.document(*claims, **changes)})


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("claims")
    with opened_claims(folder):
        return folder


@pytest.fixture
def served(template: Path, tmp_path: Path) -> Iterator[_Served]:
    folder = copied_claims(template, tmp_path)
    with (
        opened_claims(folder) as desk,
        TestClient(create_app(desk.tools, load_config(folder / "node"))) as client,
    ):
        yield _Served(desk, client)


def test_a_bundle_is_gated_and_told_once_as_new(served: _Served) -> None:
    """201 with the decision on record; the same again is 200, and not new."""
    done = served.gate()
    assert (done.status_code, done.json()["decision"], done.json()["is_new"]) == (201, "PUBLISH", True)
    assert done.json()["bundle"]["audit_trail"]["gates_passed"][0] == "evidence_gate"
    again = served.gate()
    assert (again.status_code, again.json()["is_new"]) == (200, False)
    assert again.json()["sequence_number"] == done.json()["sequence_number"]


@pytest.mark.clause("claimbundle", "fact")
def test_deferral_is_an_answer_and_the_changed_bundle_takes_its_place(served: _Served) -> None:
    one = example("fact")
    deferred = served.gate(one)
    assert (deferred.status_code, deferred.json()["decision"]) == (201, "DEFER")
    assert "got 32" in deferred.json()["outcome"]["reason"]
    content = b"AUROC,0.79\n"
    headers = {"x-api-key": served.desk.agent, "content-type": "application/octet-stream"}
    kept = served.client.post("/api/v1/evidence", content=content, headers=headers)
    assert (kept.status_code, kept.json()["evidence_hash"]) == (201, sha256(content).hexdigest())
    assert served.client.post("/api/v1/evidence", content=content, headers=headers).status_code == 200
    whole = {
        **one,
        "evidence_pointers": [{**one["evidence_pointers"][0], "evidence_hash": kept.json()["evidence_hash"]}],
    }
    path = f"/api/v1/claims/{deferred.json()['bundle_hash']}/resume"
    resumed = served.post(path, {"bundle": served.desk.document(whole)})
    assert (resumed.status_code, resumed.json()["decision"]) == (201, "PUBLISH")
    refused(served.post(path, {}), 409, "claims.superseded")
    shown = served.get(f"/api/v1/claims/{deferred.json()['bundle_hash']}").json()
    assert shown["successor"] == resumed.json()["bundle_hash"]


@pytest.mark.clause("claimbundle", "risk-tiers")
def test_people_approve_over_http_in_their_own_session(served: _Served) -> None:
    """What they are shown has a hash, and the answer says it; an agent polls, and finds it published."""
    gated = served.gate(served.desk.claim(RiskTier.DELETE)).json()
    assert gated["decision"] == "ESCALATE"
    (asked,) = gated["tickets"]
    session = served.desk.session("user:otto")
    path = f"/api/v1/tickets/{asked['ticket_id']}"
    question = served.get(path, key=session).json()["ticket"]
    assert gated["bundle_hash"] in question["shown"]
    answer, path = {"choice": "approve", "seen": question["shown_hash"]}, f"{path}/answers"
    refused(served.post(path, answer), 403, "identity.session_required")
    key, _ = issue_api_key(served.desk.tools, TENANT, PrincipalId("user:otto"), by=ADMIN, at=served.desk.start)
    refused(served.post(path, answer, key=key), 403, "identity.session_required")
    refused(served.post(path, answer, key=served.desk.session("user:sam")), 403, "review.not_eligible")
    done = served.post(path, answer, key=session)
    assert (done.status_code, done.json()["regated"]["gated"]["decision"]) == (201, "PUBLISH")
    path = f"/api/v1/claims/{gated['bundle_hash']}/resume"
    assert served.post(path, {}).json()["decision"] == "PUBLISH"
    decisions = served.get(f"/api/v1/claims/{gated['bundle_hash']}").json()["decisions"]
    assert [one["outcome"]["decision"] for one in decisions] == ["ESCALATE", "PUBLISH"]
    assert len(decisions[-1]["gates"]) == 5


def test_whoever_may_approve_reads_what_is_approved_whatever_their_role_is_called(served: _Served) -> None:
    """As on the desk: to others, a reviewer of other questions among them, it is not there."""
    served.desk.add("user:bea", roles=("board",))
    served.desk.add("user:rex", roles=("reviewer",))
    gated = served.post("/api/v1/claims", {"bundle": served.desk.document(required_approvals=["board"])}).json()
    (asked,) = gated["tickets"]
    path = f"/api/v1/tickets/{asked['ticket_id']}"
    question = served.get(path, key=served.desk.session("user:bea"))
    assert (question.status_code, question.json()["ticket"]["eligible_roles"]) == (200, ["board"])
    assert served.get(path, key=served.desk.session("user:olga")).status_code == 200
    refused(served.get(path, key=served.desk.session("user:rex")), 404, "flow.not_found")


def test_what_is_wrong_is_told_as_problems(served: _Served) -> None:
    """Every problem of a bundle with its pointer; another's bundle does not exist for a stranger."""
    problem = refused(served.post("/api/v1/claims", {"bundle": {"id": 1, "claims": []}}), 422, "claims.bundle")
    assert {"/id", "/claims"} <= {one["field"] for one in problem["errors"]}
    refused(served.post("/api/v1/claims", {"bundle": 3}), 422, "http.fields")
    refused(served.gate(origin_agent="ai:other"), 403, "claims.origin")
    refused(served.post("/api/v1/claims", {"bundle": {}, "reading": "loose"}), 422, "http.fields")
    headers = {"x-api-key": served.desk.agent, "content-type": "text/plain"}
    refused(served.client.post("/api/v1/evidence", content=b"x", headers=headers), 415, "http.media_type")
    mine = served.gate().json()["bundle_hash"]
    stranger = served.desk.join("ai:other", kind=PrincipalKind.AGENT)
    for path in (f"/api/v1/claims/{mine}", f"/api/v1/claims/sha256:{'0' * 64}"):
        refused(served.get(path, key=stranger), 404, "flow.not_found")
    assert served.get("/api/v1/claims", key=stranger).json() == {"items": [], "next": None}
    refused(served.get("/api/v1/claims?agent=ai:surveyor", key=stranger), 403, "identity.role")
    listed = served.get("/api/v1/claims?limit=1").json()["items"]
    assert [one["bundle_hash"] for one in listed] == [mine]


def test_a_policy_is_released_in_person_and_shown(served: _Served) -> None:
    document = 'id: papers\nversion: "1"\nevidence: {least_confidence: 0.95}\n'
    key, _ = issue_api_key(served.desk.tools, TENANT, PrincipalId("user:olga"), by=ADMIN, at=served.desk.start)
    refused(served.post("/api/v1/gate-policies", {"document": document}, key=key), 403, "identity.session_required")
    refused(served.post("/api/v1/gate-policies", {"document": document}), 403, "identity.role")
    session = served.desk.session("user:olga")
    refused(served.post("/api/v1/gate-policies", {"document": "id: x"}, key=session), 422, "claims.policy")
    assert served.post("/api/v1/gate-policies", {"document": document}, key=session).status_code == 201
    assert served.post("/api/v1/gate-policies", {"document": document}, key=session).status_code == 200
    (listed,) = served.get("/api/v1/gate-policies").json()["items"]
    shown = served.get("/api/v1/gate-policy").json()
    assert (shown["policy_id"], shown["in_force"], shown["released"]) == ("papers", True, listed)
    weak = served.gate(claim(evidence_pointers=[pointer(source_confidence=0.9)]))
    assert weak.json()["outcome"]["findings"][0]["code"] == "weak_evidence"


def test_a_list_is_filtered_by_decision_agent_and_tier_in_pages(served: _Served) -> None:
    for number, tier in enumerate((RiskTier.DELETE, RiskTier.DELETE, RiskTier.READ_ONLY, RiskTier.READ_ONLY)):
        served.gate(served.desk.claim(tier), id=f"5b0d0c1e-6d5c-4a3e-9b57-1f6f0c1d000{number}")
    whole = served.get("/api/v1/claims").json()["items"]
    assert [one["decision"] for one in whole] == ["PUBLISH", "PUBLISH", "ESCALATE", "ESCALATE"]
    for query, places in (
        ("decision=PUBLISH", (0, 1)),
        ("decision=ESCALATE", (2, 3)),
        ("decision=REFUSE", ()),
        ("tier=DELETE", (2, 3)),
        ("tier=DELETE&decision=PUBLISH", ()),
        ("agent=ai:surveyor&tier=READ_ONLY", (0, 1)),
    ):
        assert served.get(f"/api/v1/claims?{query}").json() == {"items": [whole[n] for n in places], "next": None}
    first = served.get("/api/v1/claims?decision=ESCALATE&limit=1").json()
    assert first["items"] == whole[2:3]
    rest = served.get(f"/api/v1/claims?decision=ESCALATE&limit=1&cursor={first['next']}").json()
    assert (rest["items"], rest["next"]) == (whole[3:], None)
    refused(served.get("/api/v1/claims?decision=MAYBE"), 422, "http.fields")


def test_evidence_is_shown_to_its_owner_and_to_those_who_may_see_claims(served: _Served) -> None:
    kept = served.desk.attach(b"AUROC,0.79\n")
    path = f"/api/v1/evidence/{kept.evidence_hash}"
    assert served.get(path).json()["is_erased"] is False
    content = served.get(f"{path}/content")
    assert (content.content, content.headers["content-type"]) == (b"AUROC,0.79\n", "application/octet-stream")
    assert "attachment" in content.headers["content-disposition"]
    assert served.get(path, key=served.desk.session("user:rita")).status_code == 200
    stranger = served.desk.join("ai:other", kind=PrincipalKind.AGENT)
    for name in (path, f"{path}/content", f"/api/v1/evidence/{'0' * 64}"):
        refused(served.get(name, key=stranger), 404, "flow.not_found")


def test_bundles_in_lines_are_decided_one_by_one(served: _Served) -> None:
    lines = [{"bundle": served.desk.document(id=f"5b0d0c1e-6d5c-4a3e-9b57-1f6f0c1d001{n}")} for n in range(2)]
    body = "\n".join(map(json.dumps, [*lines, lines[0], {"bundle": {"id": 1}}, {"bundel": {}}]))
    headers = {"x-api-key": served.desk.agent, "content-type": "application/x-ndjson"}
    told = served.client.post("/api/v1/claims:bulk", content=body.encode(), headers=headers)
    found = [json.loads(line) for line in told.text.splitlines()]
    assert [one["status"] for one in found] == ["recorded", "recorded", "known", "refused", "refused"]
    assert found[0]["receipt"]["decision"] == "PUBLISH"
    assert [one["code"] for one in found[3:]] == ["claims.bundle", "http.fields"]


def test_a_resume_under_if_match_finds_the_bundle_as_it_was_read(served: _Served) -> None:
    gated = served.gate(served.desk.claim(RiskTier.DELETE)).json()
    path = f"/api/v1/claims/{gated['bundle_hash']}"
    tag = served.get(path).headers["etag"]
    headers = {"x-api-key": served.desk.agent, "content-type": "application/json", "if-match": tag}
    assert served.client.post(f"{path}/resume", content=b"{}", headers=headers).status_code == 200
    served.desk.decide(served.desk.find(gated["tickets"][0]["ticket_id"]), "user:otto")
    done = served.client.post(f"{path}/resume", content=b"{}", headers=headers)
    refused(done, 412, "http.precondition")


def test_a_policy_is_checked_and_a_bundle_tried_with_nothing_recorded(served: _Served) -> None:
    head = served.desk.head()
    bad = served.post("/api/v1/gate-policies/check", {"document": "id: x\nthreat_above: 3\n"}).json()
    assert (bad["holds"], bool(bad["problems"])) == (False, True)
    strict = 'id: s\nversion: "1"\nevidence: {least_confidence: 0.99}\n'
    good = served.post("/api/v1/gate-policies/check", {"document": strict}).json()
    assert (good["holds"], good["unheld"]) == (True, [])
    made = served.desk.document()
    assert served.post("/api/v1/claims/try", {"bundle": made}).json()["outcome"]["decision"] == "PUBLISH"
    tried = served.post("/api/v1/claims/try", {"bundle": made, "policy": strict}).json()
    assert tried["outcome"]["findings"][0]["code"] == "weak_evidence"
    assert served.desk.head() == head


def test_a_picture_of_a_calibration_is_svg(served: _Served) -> None:
    cases = [{"uncertainty": number / 100, "wrong": number > 60} for number in range(100)]
    drawn = served.post("/api/v1/calibrations/plot", {"cases": cases, "kind": "reliability"})
    assert (drawn.status_code, drawn.headers["content-type"]) == (200, "image/svg+xml")
    assert drawn.content.startswith(b"<svg")
    refused(served.post("/api/v1/calibrations/plot", {"cases": cases[:3]}), 422, "claims.scores")
