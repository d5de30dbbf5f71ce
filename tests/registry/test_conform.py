"""A conforming service passes, and each way of not conforming is found by its own rule."""

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.kernel.conformance import Fetched, Report, Severity
from assay.kernel.key import key_id_of
from assay.registry.announce import (
    AnnounceEvent,
    AnnouncePolicy,
    Origin,
    ReceivedAnnounce,
    draft_announce,
    follow_announce,
    judge_announce,
    parse_announce,
    sign_announce,
)
from assay.registry.conform import (
    Attack,
    AttackResult,
    Evidence,
    Profile,
    check_service,
    judge_attack,
)
from assay.registry.documents import ServiceFigures, codex_state_of, render_document, sense_of, state_of, trust_of
from assay.registry.health import Totals
from assay.registry.open_manifest import open_manifest
from assay.registry.permission import make_schema
from assay.registry.proof_scan import RuleFact, prove, scan_text
from assay.registry.trip import Switch, SwitchRule
from tests.identity.people import NOON, later
from tests.registry.codex import PORTWATCH, codex, make_manifest

_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
_RAW = _KEY.public_key().public_bytes_raw()
_MANIFEST = make_manifest()
_IDLE = ServiceFigures(
    totals=Totals(), total_requests=0, agent_requests=0, uptime_seconds=1.0, self_escalation_attempts=0
)
_PROOF = prove([RuleFact(id="R-1", certified=True)], scan_text("a.py", "# @rule:R-1"))


def _ok(content: bytes) -> Fetched:
    return Fetched(status=200, content=content)


def _evidence(**changes: Any) -> Evidence:  # noqa: ANN401  any field
    document = draft_announce(
        _MANIFEST, AnnounceEvent.ANNOUNCE, base_url="https://port.example", instance_id="i-1", sequence=1, at=NOON
    )
    received = parse_announce(sign_announce(document, key_id=key_id_of(_RAW), sign=_KEY.sign))
    finding = judge_announce(
        received,
        keys={_MANIFEST.service: frozenset({_RAW})},
        leases={},
        origin=Origin.REMOTE,
        policy=AnnouncePolicy(),
        now=NOON,
    )
    sense = sense_of(_MANIFEST, SwitchRule(), Switch(service_id=_MANIFEST.service), _IDLE, configured_tier=3, at=NOON)
    whole = Evidence(
        codex=_ok(codex()),
        state=_ok(render_document(state_of(_MANIFEST))),
        trust=_ok(render_document(trust_of(_MANIFEST, SwitchRule()))),
        sense=_ok(render_document(sense)),
        proof=_ok(render_document(_PROOF)),
        lease=follow_announce(None, received, finding, at=NOON),
        announce=received,
        attacks=(AttackResult(attack=Attack.FORGED_RESTORE, status=401),),
    )
    return replace(whole, **changes)


def _edited(name: str, *path: str | int, to: object) -> Evidence:
    """The evidence with one member of one document changed."""
    fetched: Fetched = getattr(_evidence(), name)
    document = json.loads(fetched.content)
    inner = document
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = to
    return _evidence(**{name: _ok(json.dumps(document).encode())})


_ALL_SHUT = [{"id": name, "reason": "not today"} for name in _MANIFEST.can_do]


def _flat(**changes: Any) -> Fetched:  # noqa: ANN401  any field
    return _ok(render_document(replace(codex_state_of(_MANIFEST), **changes)))


def _silent_about_actions() -> ReceivedAnnounce:
    received = _evidence().announce
    assert received is not None
    return replace(received, announce=replace(received.announce, can_do=()))


def _failed(report: Report) -> set[str]:
    return {finding.rule for finding in report.findings if not finding.passed}


@pytest.mark.clause("forja", "conformance-levels")
@pytest.mark.parametrize("profile", list(Profile))
def test_what_we_serve_conforms(profile: Profile) -> None:
    report = check_service(_evidence(), profile, at=NOON)
    assert report.passed
    assert _failed(report) == set()


@pytest.mark.clause("forja", "conformance-levels")
def test_each_level_asks_for_more() -> None:
    """BASIC needs STATE only, STANDARD also TRUST, FULL everything."""
    only_state = _evidence(trust=None, sense=None, proof=None, lease=None)
    assert check_service(only_state, Profile.BASIC, at=NOON).passed
    assert _failed(check_service(only_state, Profile.STANDARD, at=NOON)) == {"trust.shape"}
    assert _failed(check_service(only_state, Profile.FULL, at=NOON)) == {
        "trust.shape", "FRJ-013", "sense.shape", "proof.shape", "announce.lease",
    }  # fmt: skip


@pytest.mark.clause("forja", "conformance-levels")
def test_full_says_so_where_the_fourth_endpoint_was_not_looked_at() -> None:
    """The restore is one of the four, and nobody can look at it without trying it; the levels below do not ask."""
    untried = _evidence(attacks=())
    report = check_service(untried, Profile.FULL, at=NOON)
    assert (report.passed, _failed(report)) == (True, {"restore.token"})
    assert _failed(check_service(untried, Profile.STANDARD, at=NOON)) == set()
    missing = _evidence(attacks=(AttackResult(attack=Attack.FORGED_RESTORE, status=404),))
    assert [one.rule for one in check_service(missing, Profile.FULL, at=NOON).failures] == ["restore.token"]


_FOREIGN: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "registry" / "portwatch_documents.json").read_text()
)


def _foreign(**changes: Any) -> Evidence:  # noqa: ANN401  any document
    """Of a service that has none of our own members, in codex.json as in what it serves."""
    told = {name: _ok(json.dumps(_FOREIGN[name]).encode()) for name in ("state", "trust", "sense")}
    return _evidence(codex=_ok(PORTWATCH), announce=None, **(told | changes))


@pytest.mark.clause("forja", "endpoints")
@pytest.mark.clause("forja", "conformance-levels")
@pytest.mark.parametrize("profile", list(Profile))
@pytest.mark.parametrize("shape", ["state", "codex_state"])
def test_what_another_implementation_serves_conforms(profile: Profile, shape: str) -> None:
    """Its rollback descriptor is a sentence, and its STATE has members that the protocol does not name."""
    report = check_service(_foreign(state=_ok(json.dumps(_FOREIGN[shape]).encode())), profile, at=NOON)
    assert report.failures == ()


@pytest.mark.clause("forja", "FRJ-008")
@pytest.mark.parametrize("descriptor", [..., None, "", " ", {}, 7, ["undo"], {"method": "manual", "description": ""}])
def test_an_empty_rollback_descriptor_is_none(descriptor: object) -> None:
    trust = json.loads(json.dumps(_FOREIGN["trust"]))
    del trust["action_tiers"][0]["rollback_descriptor"]
    if descriptor is not ...:
        trust["action_tiers"][0]["rollback_descriptor"] = descriptor
    evidence = _foreign(trust=_ok(json.dumps(trust).encode()))
    assert "FRJ-008" in _failed(check_service(evidence, Profile.STANDARD, at=NOON))


def test_the_other_shape_of_state_conforms_too() -> None:
    flat = _ok(render_document(codex_state_of(_MANIFEST)))
    assert check_service(_evidence(state=flat), Profile.FULL, at=NOON).passed
    wrong = _ok(render_document(replace(codex_state_of(_MANIFEST), can_answer=())))
    assert _failed(check_service(_evidence(state=wrong), Profile.BASIC, at=NOON)) == {"state.sync"}


_CASES: list[tuple[Evidence, str]] = [
    (_evidence(codex=None), "codex.valid"),
    (_evidence(codex=_ok(codex(port=0))), "codex.valid"),
    (_evidence(codex=Fetched(status=404, content=b"")), "state.sync"),
    (_evidence(state=Fetched(status=500, content=b"")), "state.shape"),
    (_evidence(state=_ok(b"\xff")), "state.shape"),
    (_evidence(state=_ok(b"[" * 100_000)), "state.shape"),
    (_edited("state", "colour", to="red"), "state.shape"),
    (_edited("state", "identity", "version", to="9"), "state.identity"),
    (_edited("state", "ai_surface", "queryable", to=[]), "state.sync"),
    (_edited("state", "ai_surface", "restricted", to=[]), "state.actions"),
    (_edited("state", "ai_surface", "actionable", to=[{"id": "FLY", "trust_tier_required": 1}]), "state.actions"),
    (_edited("state", "ai_surface", "restricted", to=_ALL_SHUT), "state.actions"),
    (_evidence(state=_flat(can_do=(*_MANIFEST.can_do, "FLY"))), "state.actions"),
    (_edited("state", "dependencies", to=[]), "state.dependencies"),
    (_edited("state", "knowledge", "certified_count", to=1), "state.knowledge"),
    (_edited("state", "knowledge", "rule_count", to=-1), "state.knowledge"),
    (_edited("trust", "default_tier", to=1), "FRJ-005"),
    (_edited("trust", "self_escalation_prevention", "enabled", to=False), "FRJ-011"),
    (_edited("trust", "self_escalation_prevention", "rejection_code", to="NOPE"), "FRJ-011"),
    (_edited("trust", "action_tiers", 0, "tier", to=7), "trust.tiers"),
    (_edited("trust", "action_tiers", 0, "tier", to=2), "FRJ-008"),
    (_edited("trust", "action_tiers", 0, "action_id", to="FLY"), "trust.declared"),
    (_edited("trust", "action_tiers", 1, "action_id", to="ALERT_ACK"), "trust.unique"),
    (_edited("trust", "action_tiers", 4, "tier", to=3), "trust.consistent"),
    (_edited("trust", "action_tiers", 4, "tier", to=1), "trust.sync"),
    (_edited("trust", "action_tiers", to=[]), "trust.sync"),
    (_edited("trust", "action_tiers", 3, "tier", to=1), "trust.sync"),
    (_edited("trust", "action_tiers", 4, "rollback_descriptor", "description", to=""), "FRJ-008"),
    (_edited("trust", "trust_mask", to=1), "trust.bits"),
    (_edited("trust", "kill_switch", "enabled", to=False), "trust.kill_switch"),
    (_edited("trust", "kill_switch", "fallback_tier", to=3), "trust.kill_switch"),
    (_edited("trust", "trust_mask", to=1 << 31), "trust.mask"),
    (_edited("trust", "service_id", to="other"), "trust.identity"),
    (_evidence(sense=Fetched(status=401, content=b"")), "FRJ-013"),
    (_edited("sense", "health", "error_rate", to=3.0), "sense.range"),
    (_edited("sense", "timestamp", to="2020-01-01T00:00:00Z"), "sense.fresh"),
    (_edited("sense", "timestamp", to="2026-01-07T12:00:00"), "sense.fresh"),
    (_edited("sense", "timestamp", to="0001-01-01T00:00:00+14:00"), "sense.fresh"),
    (_edited("sense", "timestamp", to="9999-12-31T23:59:59-14:00"), "sense.fresh"),
    (_edited("sense", "security", "current_trust_tier", to=4), "sense.tier"),
    (_edited("sense", "security", "current_trust_tier", to=-1), "sense.tier"),
    (_edited("sense", "velocity", "total_requests", to=-1), "sense.counts"),
    (_edited("sense", "health", "uptime_seconds", to=-0.5), "sense.counts"),
    (_edited("sense", "service_id", to="other"), "sense.identity"),
    (_edited("sense", "security", "kill_switch_active", to=True), "sense.fired"),
    (_edited("sense", "security", "self_escalation_attempt_count", to=-1), "sense.attempts"),
    (_edited("proof", "coverage_pct", to=50.0), "proof.sums"),
    (_edited("proof", "passing", to=False), "proof.sums"),
    (_edited("proof", "rules_with_code", to=2), "proof.sums"),
    (_edited("proof", "matrix", to=[]), "proof.matrix"),
    (_edited("proof", "matrix", 0, "annotations", to=[]), "proof.matrix"),
    (_edited("proof", "unimplemented_rules", to=["R-1"]), "proof.matrix"),
    (_edited("proof", "threshold_pct", to=10.0), "proof.threshold"),
    (_edited("proof", "threshold_pct", to=101.0), "proof.threshold"),
    (_evidence(proof=_ok(b"{}")), "proof.shape"),
    (_evidence(lease=None), "announce.lease"),
    (_evidence(announce=_silent_about_actions()), "announce.sync"),
]  # fmt: skip


@pytest.mark.parametrize(("evidence", "rule"), _CASES, ids=[f"{at}-{rule}" for at, (_, rule) in enumerate(_CASES)])
def test_every_fault_is_found_by_its_rule(evidence: Evidence, rule: str) -> None:
    report = check_service(evidence, Profile.FULL, at=NOON)
    assert not report.passed
    assert rule in {finding.rule for finding in report.failures}


def test_faults_of_codex_json_keep_their_pointers() -> None:
    report = check_service(_evidence(codex=_ok(codex(port=0, colour=1))), Profile.BASIC, at=NOON)
    assert {finding.where for finding in report.failures} >= {"codex/port", "codex/colour"}


def test_a_warning_does_not_fail_a_service() -> None:
    """No PROOF yet, no mask shown, an unsigned announce: worth reading, not worth refusing."""
    evidence = _evidence()
    assert evidence.lease is not None
    bare = json.loads(render_document(trust_of(_MANIFEST, SwitchRule())))
    del bare["trust_mask"]
    mild = replace(
        evidence,
        proof=None,
        lease=replace(evidence.lease, key_id=None),
        trust=_ok(json.dumps(bare).encode()),
    )
    report = check_service(mild, Profile.FULL, at=NOON)
    assert report.passed
    assert {one.rule for one in report.findings if one.severity is Severity.WARNING} == {
        "proof.shape", "announce.signed", "trust.mask",
    }  # fmt: skip


def test_documents_of_another_version_are_worth_a_warning() -> None:
    for name in ("state", "trust", "sense"):
        report = check_service(_edited(name, "forja_version", to="9.9"), Profile.FULL, at=NOON)
        assert report.passed
        assert _failed(report) == {f"{name}.version"}


def test_a_service_whose_manifest_gives_no_tiers_or_bits_is_not_judged_by_ours() -> None:
    """`actions` is our own member: another implementation tells its tiers in STATE and TRUST alone."""
    content = codex(actions=None)
    manifest = open_manifest(content).manifest
    trust = json.loads(render_document(trust_of(manifest, SwitchRule())))
    undo = {"method": "manual", "description": "call the port"}
    trust["action_tiers"][-1] |= {"tier": 2, "rollback_descriptor": undo}
    trust["trust_mask"] = 0x104
    state = json.loads(render_document(state_of(manifest)))
    shut = state["ai_surface"]["restricted"].pop()
    state["ai_surface"]["actionable"] = [{"id": shut["id"], "trust_tier_required": 2}]
    evidence = Evidence(
        codex=_ok(content), state=_ok(json.dumps(state).encode()), trust=_ok(json.dumps(trust).encode())
    )
    report = check_service(evidence, Profile.STANDARD, at=NOON)
    assert _failed(report) == set()


def test_an_expired_lease_is_no_announce() -> None:
    report = check_service(_evidence(), Profile.FULL, at=later(hours=200))
    assert {"announce.lease", "sense.fresh"} <= _failed(report)


def test_a_mask_is_judged_by_the_schema_that_the_service_names() -> None:
    """Bit 21 is reserved in the usual schema and means something in this one."""
    bank = make_schema("bank-v1", {21: "LEND"})
    content = codex(permission_schema="bank-v1", capability_mask=["READ", "LEND"], actions={})
    manifest = open_manifest(content, schemas={bank.id: bank}).manifest
    evidence = Evidence(
        codex=_ok(content),
        state=_ok(render_document(state_of(manifest))),
        trust=_ok(render_document(trust_of(manifest, SwitchRule()))),
    )
    assert check_service(evidence, Profile.STANDARD, at=NOON, schemas={bank.id: bank}).passed
    assert "codex.valid" in _failed(check_service(evidence, Profile.STANDARD, at=NOON))


def test_an_empty_report_has_not_passed() -> None:
    assert not Report(profile=Profile.BASIC, findings=()).passed


@given(content=st.binary(max_size=40))
def test_no_answer_of_a_service_makes_the_check_itself_fail(content: bytes) -> None:
    strange = _ok(content)
    evidence = Evidence(codex=strange, state=strange, trust=strange, sense=strange, proof=strange)
    assert not check_service(evidence, Profile.FULL, at=NOON).passed


_GOOD = {
    Attack.SELF_ESCALATION: AttackResult(attack=Attack.SELF_ESCALATION, status=403, code="FRJ-011", counted=True),
    Attack.AGENT_ESCALATION: AttackResult(attack=Attack.AGENT_ESCALATION, status=403, code="FRJ-011", counted=True),
    Attack.FORGED_RESTORE: AttackResult(attack=Attack.FORGED_RESTORE, status=401),
    Attack.UNAUTHENTICATED_WRITE: AttackResult(attack=Attack.UNAUTHENTICATED_WRITE, status=401),
    Attack.UNDECLARED_ACTION: AttackResult(attack=Attack.UNDECLARED_ACTION, status=403, code="FRJ-005"),
    Attack.SPOOFED_OFFLINE: AttackResult(attack=Attack.SPOOFED_OFFLINE, status=403),
}


@pytest.mark.clause("forja", "FRJ-011")
@pytest.mark.parametrize("attack", list(Attack))
def test_an_attack_must_be_refused_and_change_nothing(attack: Attack) -> None:
    good = _GOOD[attack]
    assert judge_attack(good).passed
    assert not judge_attack(replace(good, status=200)).passed
    assert not judge_attack(replace(good, status=500)).passed
    assert not judge_attack(replace(good, changed=True)).passed


@pytest.mark.clause("forja", "FRJ-011")
def test_an_escalation_must_be_told_and_counted() -> None:
    good = _GOOD[Attack.SELF_ESCALATION]
    assert not judge_attack(replace(good, code=None)).passed
    assert not judge_attack(replace(good, counted=False)).passed
    assert not judge_attack(replace(good, counted=None)).passed
    assert not judge_attack(replace(_GOOD[Attack.UNDECLARED_ACTION], code="registry.denied")).passed


def test_a_failed_attack_fails_the_service() -> None:
    bad = AttackResult(attack=Attack.FORGED_RESTORE, status=200)
    report = check_service(_evidence(attacks=(*_GOOD.values(), bad)), Profile.FULL, at=NOON)
    assert [finding.rule for finding in report.failures] == ["restore.token"]
