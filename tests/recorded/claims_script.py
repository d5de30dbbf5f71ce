"""The routes of ClaimBundle: evidence, gate, resume, approvals and policies, each with its refusals."""

from pathlib import Path
from typing import Any

from tests.recorded import node
from tests.recorded.refusals import refuse_body, refuse_caller
from tests.recorded.tape import Tape

__all__ = ["run_claims"]

_NO_BUNDLE = "sha256:" + "0" * 64


def run_claims(folder: Path) -> list[dict[str, Any]]:
    with node.whole_scene(folder) as scene:
        tape = Tape(scene)
        for part in (_evidence, _gate, _approve, _policies):
            part(tape)
        return tape.exchanges


def _evidence(tape: Tape) -> None:
    path, content = "/claims/evidence", node.EVIDENCE
    tape.post(path, content, None, media="application/octet-stream")
    tape.post(path, content, "narrow", media="application/octet-stream")
    tape.post(path, content, "walker")
    tape.post(path, b"", "walker", media="application/octet-stream")
    tape.post(path, content, "walker", media="application/octet-stream")
    tape.post(path, content, "walker", media="application/octet-stream")


def _gate(tape: Tape) -> None:
    path = "/claims/gate"
    plain = node.bundle(tape.scene, 9_100)
    refuse_caller(tape, "POST", path, body=plain)
    refuse_body(tape, path, by="agent")
    tape.post(path, plain, "walker")
    tape.post(path, plain, "agent")
    tape.post(path, plain, "agent")
    vague = node.bundle(tape.scene, 9_101)
    vague["bundle"]["claims"][0]["evidence_pointers"] = []
    tape.post(path, vague, "agent")
    refused = node.bundle(tape.scene, 9_102)
    refused["bundle"]["decision"] = "REFUSE"
    tape.post(path, refused, "agent")
    broken = node.bundle(tape.scene, 9_103)
    del broken["bundle"]["claims"][0]["risk_tier"]
    tape.post(path, broken, "agent")


def _approve(tape: Tape) -> None:
    gated = tape.post("/claims/gate", node.bundle(tape.scene, 9_201, tier="DELETE", agent="ai:walker"), "walker").json()
    (asked,) = gated["tickets"]
    shown_path = f"/claims/approvals/{asked['ticket_id']}"
    refuse_caller(tape, "GET", shown_path, role="nobody")
    shown = tape.get(shown_path, "otto").json()
    tape.get("/claims/approvals/tkt_" + "a" * 26, "otto")
    answer = {"ticket_id": asked["ticket_id"], "choice": "approve", "seen": shown["shown_hash"], "reason": "looked"}
    refuse_caller(tape, "POST", "/claims/approvals", body=answer, role="walker")
    refuse_body(tape, "/claims/approvals", by="otto")
    tape.post("/claims/approvals", answer, "amira")
    tape.post("/claims/approvals", {**answer, "seen": _NO_BUNDLE}, "otto")
    tape.post("/claims/approvals", {**answer, "choice": "perhaps"}, "otto")
    resume = f"/claims/{gated['bundle_hash']}/resume"
    tape.post(resume, {}, "walker")
    tape.post("/claims/approvals", answer, "otto")
    tape.post("/claims/approvals", answer, "otto")
    refuse_caller(tape, "POST", resume, body={}, role="agent")
    tape.post(resume, {}, "walker")
    tape.post(f"/claims/{_NO_BUNDLE}/resume", {}, "walker")
    _read(tape, gated["bundle_hash"])


def _read(tape: Tape, bundle_hash: str) -> None:
    refuse_caller(tape, "GET", f"/claims/{bundle_hash}", role="agent")
    for name in (bundle_hash, _NO_BUNDLE, "nothing"):
        tape.get(f"/claims/{name}", "walker")
    refuse_caller(tape, "GET", "/claims")
    for by, query in (("walker", "?limit=1"), ("operator", ""), ("nobody", ""), ("walker", "?limit=x")):
        tape.get(f"/claims{query}", by)


def _policies(tape: Tape) -> None:
    policy = {"document": 'id: papers\nversion: "1"\nevidence: {least_confidence: 0.95}\n'}
    refuse_caller(tape, "POST", "/claims/policies", body=policy, role="walker")
    refuse_body(tape, "/claims/policies", by="omar")
    tape.post("/claims/policies", policy, "operator")
    tape.post("/claims/policies", {"document": "id: papers\nsurprise: 1\n"}, "omar")
    tape.post("/claims/policies", policy, "omar")
    tape.post("/claims/policies", policy, "omar")
    tape.post("/claims/policies", {"document": policy["document"].replace("0.95", "0.9")}, "omar")
    refuse_caller(tape, "GET", "/claims/policies")
    tape.get("/claims/policies", "walker")
