"""Conformance: does a service serve what it declares, judged by rule over documents that were fetched.

evidence (documents, lease, attacks, all as values) + profile -> check_service -> Report: one finding for every rule
BASIC asks for STATE, STANDARD for TRUST too, FULL for SENSE, PROOF and ANNOUNCE; attacks count if they were tried, and
FULL says so where the fourth endpoint, the restore, was not.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from msgspec import Struct

from assay.kernel.conformance import Fetched, Finding, Report, Severity, no, outcome, yes
from assay.kernel.instant import Instant
from assay.registry._conform_facts import Facts, gather
from assay.registry._conform_rules import check_codex, check_proof, check_sense, check_state, check_trust
from assay.registry.announce import ReceivedAnnounce, lists_agree
from assay.registry.lease import Lease, Presence, presence_at
from assay.registry.permission import DEFAULT_SCHEMAS, MaskSchema

_REFUSED = frozenset({401, 403})


class Profile(StrEnum):
    """The three levels of the protocol; each contains those before it."""

    BASIC = "forja-basic"
    STANDARD = "forja-standard"
    FULL = "forja-full"


class Attack(StrEnum):
    """What `--active` really tries; AGENT_ESCALATION as an agent that was issued something, the others as nobody."""

    SELF_ESCALATION = "self_escalation"
    AGENT_ESCALATION = "agent_escalation"
    FORGED_RESTORE = "forged_restore"
    UNAUTHENTICATED_WRITE = "unauthenticated_write"
    UNDECLARED_ACTION = "undeclared_action"
    SPOOFED_OFFLINE = "spoofed_offline"


_ESCALATIONS = frozenset({Attack.SELF_ESCALATION, Attack.AGENT_ESCALATION})


class AttackResult(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What came back, and whether anything had changed afterwards; `counted` is whether SENSE counted the attempt."""

    attack: Attack
    status: int
    code: str | None = None
    changed: bool = False
    counted: bool | None = None


class Evidence(Struct, frozen=True, kw_only=True):
    """Everything that was fetched and tried; None is what could not be fetched at all."""

    codex: Fetched | None = None
    state: Fetched | None = None
    trust: Fetched | None = None
    sense: Fetched | None = None
    proof: Fetched | None = None
    lease: Lease | None = None
    announce: ReceivedAnnounce | None = None
    attacks: tuple[AttackResult, ...] = ()


def check_service(
    evidence: Evidence, profile: Profile, *, at: Instant, schemas: Mapping[str, MaskSchema] = DEFAULT_SCHEMAS
) -> Report:
    """One finding for every rule of the profile and every attack that was tried; never raises for a bad service."""
    facts = gather(
        codex=evidence.codex,
        state=evidence.state,
        trust=evidence.trust,
        sense=evidence.sense,
        proof=evidence.proof,
        schemas=schemas,
    )
    findings = [*check_codex(facts), *check_state(facts)]
    if profile is not Profile.BASIC:
        findings += check_trust(facts)
    if profile is Profile.FULL:
        findings += [*check_sense(facts, at=at), *check_proof(facts), *_check_announce(evidence, facts, at)]
        findings += _untried_restore(evidence)
    findings += [judge_attack(result) for result in evidence.attacks]
    return Report(profile=profile, findings=tuple(findings))


def judge_attack(result: AttackResult) -> Finding:
    """An attack must be refused as the protocol says, and must have changed nothing."""
    rule, expected, holds = _expected(result)
    where = f"attack:{result.attack}"
    got = f"got status {result.status}, code {result.code or 'none'}"
    if result.changed:
        return no(rule, where, f"{result.attack} changed something; {got}")
    return outcome(holds, rule, where, f"expected {expected}, {got}")


def _expected(result: AttackResult) -> tuple[str, str, bool]:
    refused = result.status in _REFUSED
    if result.attack in _ESCALATIONS:
        holds = refused and result.code == "FRJ-011" and result.counted is True
        return "FRJ-011", "a refusal with FRJ-011 that SENSE counts", holds
    if result.attack is Attack.UNDECLARED_ACTION:
        return "FRJ-005", "a refusal with FRJ-005", refused and result.code == "FRJ-005"
    if result.attack is Attack.FORGED_RESTORE:
        return "restore.token", "a refusal of the forged token", refused
    if result.attack is Attack.SPOOFED_OFFLINE:
        return "announce.spoofed", "a refusal of the spoofed offline", refused
    return "write.authenticated", "a refusal of the unauthenticated write", refused


def _untried_restore(evidence: Evidence) -> Iterator[Finding]:
    """The fourth endpoint only changes things, so that nothing is known of it until an attack was tried."""
    if not any(result.attack is Attack.FORGED_RESTORE for result in evidence.attacks):
        told = "not tried: POST /trust/restore is one of the four endpoints, and only an attack asks it"
        yield no("restore.token", f"attack:{Attack.FORGED_RESTORE}", told, severity=Severity.WARNING)


def _check_announce(evidence: Evidence, facts: Facts, at: Instant) -> Iterator[Finding]:
    if evidence.lease is None:
        yield no("announce.lease", "announce", "expected a lease at the registry, got none")
        return
    presence = presence_at(evidence.lease, at)
    yield outcome(
        presence in {Presence.LIVE, Presence.SILENT},
        "announce.lease",
        "announce",
        f"expected a live lease, got {presence}",
    )
    signed = "announce.signed"
    if evidence.lease.key_id is None:
        yield no(signed, "announce", "expected a signed announce, got an unsigned one", severity=Severity.WARNING)
    else:
        yield yes(signed, "announce", f"signed by `{evidence.lease.key_id}`")
    manifest, received = facts.manifest, evidence.announce
    if manifest is not None and received is not None:
        told = received.announce
        same = (told.service_id, told.version, told.domain) == (manifest.service, manifest.version, manifest.domain)
        holds = same and lists_agree(told, manifest)
        yield outcome(holds, "announce.sync", "announce", "expected the service and the lists of codex.json")
