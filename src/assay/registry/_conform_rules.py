"""The rules of each document; a rule that has nothing to look at fails with the reason, it is never skipped."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

from msgspec import UNSET

from assay.kernel.conformance import Finding, Severity, no, outcome, yes
from assay.kernel.errors import Error
from assay.kernel.instant import Instant, instant_of, render_instant
from assay.registry._conform_facts import Facts
from assay.registry.action import Tier, is_tier
from assay.registry.documents import ProofDocument, SenseDocument, TrustDocument
from assay.registry.manifest import Knowledge, Manifest
from assay.registry.permission import MaskSchema, parse_mask

_FRESH = timedelta(minutes=5)
_PER_CENT = 100
_EXACT = 0.01


def check_codex(facts: Facts) -> Iterator[Finding]:
    if facts.manifest is not None:
        yield yes("codex.valid", "codex", "holds")
    elif not facts.manifest_problems:
        yield no("codex.valid", "codex", facts.faults["codex"])
    for problem in facts.manifest_problems:
        yield no("codex.valid", f"codex{problem.pointer}", problem.message)


def check_state(facts: Facts) -> Iterator[Finding]:
    """Either shape will do; what it lists must be what codex.json lists."""
    if facts.state is None and facts.codex_state is None:
        yield no("state.shape", "state", facts.faults["state"])
        return
    yield yes("state.shape", "state", "holds")
    if facts.manifest is None:
        yield no("state.sync", "state", "expected a codex.json to compare with, got none that is valid")
        return
    yield from _state_against(facts, facts.manifest)


def _state_against(facts: Facts, manifest: Manifest) -> Iterator[Finding]:
    told = _told_state(facts)
    expected = (manifest.service, manifest.version, manifest.domain)
    yield outcome(
        told.identity == expected, "state.identity", "state/identity", f"expected {expected}, got {told.identity}"
    )
    yield _same_version(told.forja_version, manifest, "state")
    differing = sorted(told.answers ^ set(manifest.can_answer))
    yield outcome(not differing, "state.sync", "state", f"can_answer differs from codex.json in {', '.join(differing)}")
    does = set(manifest.can_do)
    hidden = _opened(facts, manifest) & told.shut
    wrong = sorted((does - told.does - told.shut) | (told.does - does) | hidden)
    yield outcome(not wrong, "state.actions", "state", f"can_do differs from codex.json in {', '.join(wrong)}")
    absent = sorted(set(manifest.depends_on) - told.needs)
    yield outcome(
        not absent, "state.dependencies", "state", f"depends_on of codex.json is missing: {', '.join(absent)}"
    )
    known = told.knowledge
    sums = 0 <= known.certified_count <= known.rule_count
    yield outcome(sums, "state.knowledge", "state/knowledge", "expected 0 <= certified_count <= rule_count")


def _opened(facts: Facts, manifest: Manifest) -> set[str]:
    """The actions that codex.json itself declares with a tier above 0 and does not restrict."""
    declared = (one for one in manifest.actions if one.id in facts.declared_tiers)
    return {one.id for one in declared if one.tier != Tier.OFF and one.restricted is None}


class _State(NamedTuple):
    """What both shapes of STATE tell."""

    identity: tuple[str, str, str]
    forja_version: str
    answers: set[str]
    does: set[str]
    shut: set[str]
    needs: set[str]
    knowledge: Knowledge


def _told_state(facts: Facts) -> _State:
    if facts.state is not None:
        state, surface, one = facts.state, facts.state.ai_surface, facts.state.identity
        return _State(
            (one.id, one.version, one.domain),
            state.forja_version,
            {each.id for each in surface.queryable},
            {each.id for each in surface.actionable},
            {each.id for each in surface.restricted},
            {each.service_id for each in state.dependencies},
            state.knowledge,
        )
    flat = facts.codex_state
    assert flat is not None  # noqa: S101 - one of the two was read
    said = (flat.service, flat.version, flat.domain)
    does, needs = set(flat.can_do), set(flat.dependencies)
    return _State(said, flat.forja_version, set(flat.can_answer), does, set(), needs, flat.knowledge)


def _same_version(told: str, manifest: Manifest, where: str) -> Finding:
    said = manifest.forja_version
    rule, at = f"{where}.version", f"{where}/forja_version"
    if told == said:
        return yes(rule, at, "holds")
    return no(rule, at, f"expected {said} of codex.json, got {told}", severity=Severity.WARNING)


def check_trust(facts: Facts) -> Iterator[Finding]:
    trust = facts.trust
    if trust is None:
        yield no("trust.shape", "trust", facts.faults["trust"])
        return
    yield yes("trust.shape", "trust", "holds")
    yield outcome(
        trust.default_tier == Tier.OFF, "FRJ-005", "trust/default_tier", f"expected 0, got {trust.default_tier}"
    )
    prevention = trust.self_escalation_prevention
    holds = prevention.enabled and prevention.rejection_code == "FRJ-011"
    yield outcome(holds, "FRJ-011", "trust/self_escalation_prevention", "expected enabled with rejection_code FRJ-011")
    yield from _tiers(trust)
    yield _switch(trust)
    yield _mask(trust, facts.schema)
    if facts.manifest is not None:
        yield from _trust_against(trust, facts, facts.manifest)


def _tells_undoing(descriptor: object) -> bool:
    """A sentence, or an object of which no text is empty; the protocol gives it no shape."""
    if not descriptor or not isinstance(descriptor, dict | str):
        return False
    parts = descriptor.values() if isinstance(descriptor, dict) else [descriptor]
    return not any(isinstance(one, str) and not one.strip() for one in parts)


def _tiers(trust: TrustDocument) -> Iterator[Finding]:
    wrong = [one.action_id for one in trust.action_tiers if not is_tier(one.tier)]
    yield outcome(
        not wrong, "trust.tiers", "trust/action_tiers", f"expected tiers of 0 to 3, not so: {', '.join(wrong)}"
    )
    bare = [
        one.action_id
        for one in trust.action_tiers
        if one.tier >= Tier.LOW_RISK_WRITE and not _tells_undoing(one.rollback_descriptor)
    ]
    yield outcome(
        not bare, "FRJ-008", "trust/action_tiers", f"no rollback descriptor from tier 2 on: {', '.join(bare)}"
    )
    times = Counter(one.action_id for one in trust.action_tiers)
    twice = sorted(name for name, count in times.items() if count > 1)
    yield outcome(not twice, "trust.unique", "trust/action_tiers", f"listed twice: {', '.join(twice)}")


def _switch(trust: TrustDocument) -> Finding:
    switch = trust.kill_switch
    sound = switch.enabled and 0 <= switch.error_rate_threshold < 1 and switch.fallback_tier in {Tier.OFF, Tier.READ}
    return outcome(
        sound,
        "trust.kill_switch",
        "trust/kill_switch",
        "expected enabled, a threshold below 1, and a fallback of 0 or 1",
    )


def _mask(trust: TrustDocument, schema: MaskSchema) -> Finding:
    if trust.trust_mask is UNSET:
        message = "expected a trust_mask, got none"
        return no("trust.mask", "trust/trust_mask", message, severity=Severity.WARNING)
    try:
        parse_mask(trust.trust_mask, schema)
    except Error as error:
        return no("trust.mask", "trust/trust_mask", str(error))
    return yes("trust.mask", "trust/trust_mask", "holds")


def _trust_against(trust: TrustDocument, facts: Facts, manifest: Manifest) -> Iterator[Finding]:
    same = trust.service_id == manifest.service
    yield outcome(same, "trust.identity", "trust/service_id", f"expected {manifest.service}, got {trust.service_id}")
    tiers = {one.action_id: one.tier for one in trust.action_tiers}
    foreign = sorted(set(tiers) - {*manifest.can_do, *manifest.can_answer})
    yield outcome(not foreign, "trust.declared", "trust/action_tiers", f"not in codex.json: {', '.join(foreign)}")
    yield _same_version(trust.forja_version, manifest, "trust")
    yield _codex_tiers(trust, facts, manifest)
    if facts.declares_bits and trust.trust_mask is not UNSET:
        yield _same_bits(trust.trust_mask, manifest.capability_mask, facts.schema)
    if facts.state is not None:
        wrong = [
            one.id
            for one in facts.state.ai_surface.actionable
            if one.trust_tier_required != tiers.get(one.id, trust.default_tier)
        ]
        yield outcome(
            not wrong, "trust.consistent", "trust", f"STATE and TRUST ask for other tiers: {', '.join(wrong)}"
        )


def _same_bits(told: int | str, mask: int, schema: MaskSchema) -> Finding:
    try:
        same = parse_mask(told, schema) == mask
    except Error:
        same = False
    return outcome(same, "trust.bits", "trust/trust_mask", f"expected {hex(mask)} of codex.json, got {told}")


def _codex_tiers(trust: TrustDocument, facts: Facts, manifest: Manifest) -> Finding:
    """Where codex.json gives an action a tier, TRUST asks for that one, and for none where it is restricted."""
    told = {one.action_id: one.tier for one in trust.action_tiers}
    wrong = [
        one.id
        for one in manifest.actions
        if one.id in facts.declared_tiers
        and told.get(one.id, trust.default_tier) != (one.tier if one.restricted is None else Tier.OFF)
    ]
    return outcome(not wrong, "trust.sync", "trust/action_tiers", f"codex.json gives other tiers: {', '.join(wrong)}")


def check_sense(facts: Facts, *, at: Instant) -> Iterator[Finding]:
    status = facts.statuses["sense"]
    yield outcome(status == 200, "FRJ-013", "sense", f"expected status 200 without credentials, got {status}")  # noqa: PLR2004  HTTP's own
    sense = facts.sense
    if sense is None:
        yield no("sense.shape", "sense", facts.faults["sense"])
        return
    yield yes("sense.shape", "sense", "holds")
    yield from _figures(sense, facts.trust)
    near = f"expected a time near {render_instant(at)}, got {sense.timestamp}"
    yield outcome(_is_fresh(sense, at), "sense.fresh", "sense/timestamp", near)
    if facts.manifest is not None:
        yield _same_version(sense.forja_version, facts.manifest, "sense")
        same = sense.service_id == facts.manifest.service
        yield outcome(same, "sense.identity", "sense/service_id", f"got {sense.service_id}")


def _is_fresh(sense: SenseDocument, at: Instant) -> bool:
    try:
        return abs(at - instant_of(sense.timestamp)) <= _FRESH
    except Error:
        # Without a zone, or so far away that UTC has no such time.
        return False


def _figures(sense: SenseDocument, trust: TrustDocument | None) -> Iterator[Finding]:
    shares = (sense.health.score, sense.health.error_rate, sense.knowledge_drift.drift_score)
    held = all(0 <= share <= 1 for share in shares) and 0 <= sense.velocity.ai_agent_traffic_pct <= _PER_CENT
    yield outcome(held, "sense.range", "sense", "expected shares from 0 to 1, and per cent from 0 to 100")
    velocity, drift, security = sense.velocity, sense.knowledge_drift, sense.security
    counts = (velocity.requests_per_minute, velocity.total_requests, drift.stale_rules, drift.conflict_count)
    counted = min(*counts, sense.health.uptime_seconds) >= 0
    yield outcome(counted, "sense.counts", "sense", "expected counts and times from 0")
    tier = security.current_trust_tier
    yield outcome(is_tier(tier), "sense.tier", "sense/security", f"expected a tier of 0 to 3, got {tier}")
    fallback = Tier.READ if trust is None else trust.kill_switch.fallback_tier
    fallen = not security.kill_switch_active or security.current_trust_tier <= fallback
    yield outcome(fallen, "sense.fired", "sense/security", "the switch is active, but the tier has not fallen")
    counted = security.self_escalation_attempt_count >= 0
    yield outcome(counted, "sense.attempts", "sense/security", "expected a count of attempts from 0")


def check_proof(facts: Facts) -> Iterator[Finding]:
    """PROOF may be absent, which is worth a warning; a wrong one is an error."""
    proof = facts.proof
    if proof is None:
        served = facts.statuses["proof"] == 200  # noqa: PLR2004  HTTP's own
        severity = Severity.ERROR if served else Severity.WARNING
        yield no("proof.shape", "proof", facts.faults["proof"], severity=severity)
        return
    yield yes("proof.shape", "proof", "holds")
    yield outcome(_adds_up(proof), "proof.sums", "proof", "the counts do not add up to coverage_pct and passing")
    yield outcome(_bears_out(proof), "proof.matrix", "proof/matrix", "the matrix does not bear out the counts")
    least = 0.0 if facts.manifest is None else facts.manifest.proof_threshold
    held = least <= proof.threshold_pct <= _PER_CENT
    yield outcome(held, "proof.threshold", "proof/threshold_pct", f"expected {least} to 100, got {proof.threshold_pct}")


def _adds_up(proof: ProofDocument) -> bool:
    if not 0 <= proof.rules_with_code <= proof.rules_certified <= proof.rules_total:
        return False
    expected = _PER_CENT * proof.rules_with_code / proof.rules_certified if proof.rules_certified else 0.0
    passing = proof.rules_certified > 0 and proof.coverage_pct >= proof.threshold_pct
    return abs(expected - proof.coverage_pct) < _EXACT and proof.passing == passing


def _bears_out(proof: ProofDocument) -> bool:
    """Whether the matrix gives the counts that the document states, and the same unimplemented rules."""
    certified = [row for row in proof.matrix if row.certified]
    bare = {row.rule_id for row in certified if not row.annotations}
    counts = (len(proof.matrix), len(certified), len(certified) - len(bare))
    said = (proof.rules_total, proof.rules_certified, proof.rules_with_code)
    return counts == said and bare == set(proof.unimplemented_rules)
