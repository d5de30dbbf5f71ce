"""The gates, in their order: each takes a bundle, the facts and the policy, and answers with what it found.

bundle + facts + policy -> findings -> GateAnswer(passed, decision, reason, findings, caveats)
evidence -> uncertainty -> security (tier, origin, rate) -> adversarial -> human approval
Every gate is a pure function of what it is given; what a guardian says is asked for by the gate that needs it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from msgspec import UNSET, Struct

from assay.claims._fold import text_of
from assay.claims.approve import Approval, ApprovalCheck, ApprovalFinding, ApprovalState, check_approvals
from assay.claims.bundle import Claim, ClaimBundle, Decision, GateName, Recommendation, bundle_hash
from assay.claims.estimate.estimate import Estimate, is_affirmed
from assay.claims.evidence import CLOCK_AHEAD, check_evidence
from assay.claims.finding import Finding, FindingCode, findings_hash, render_findings, strictest
from assay.claims.guardian import Guardian, Suspect, examine_all, is_leap, worst_report
from assay.claims.passage import Passage
from assay.claims.policy import ApprovalNeed, ClaimsPolicy, Mode, policy_hash
from assay.claims.risk import approval_needs, highest_tier, recommend, recommend_share, strictest_recommendation
from assay.claims.support import (
    Support,
    check_support,
    support_caveats,
    support_findings,
    unsupported_places,
)
from assay.identity.problem import shortened
from assay.identity.risk import RiskTier, is_within
from assay.kernel.digest import Digest
from assay.kernel.instant import Instant, render_instant

# What guardians read of all evidence together, in bytes; of what is longer they are told.
_EVIDENCE_SHOWN = 2 * 1024 * 1024


class GateRules(IntEnum):
    """Which edition of the gates' own rules decides: FIRST is that of release 0.1.0, by which old decisions replay.

    SECOND adds the support check and the share of answers outside the largest meaning. By THIRD a leap of tiers is a
    caveat where people approve the bundle anyway.
    """

    FIRST = 1
    SECOND = 2
    THIRD = 3


CURRENT_RULES = GateRules.THIRD


class Resumption(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A reviewer let a deferred bundle go on past one gate; binds the bundle, the findings and the policy shown."""

    gate: GateName
    bundle_hash: Digest
    findings_hash: Digest
    policy_hash: Digest
    reviewer: str
    resumed_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class GateFacts:
    """Everything besides bundle and policy that can change an answer.

    `submitter` is who was authenticated; `risk_ceiling` the highest tier that one may act at, None when it has none;
    `recent_bundles` how many of its had their turn in the policy's window, this one not counted. `estimates` are by
    claim id, `questions` what was asked for each of them, `contents` by source. `audit_recorded` says that this
    bundle's audit record is durable. `session` are the highest tiers of the session's earlier bundles. `asked_by` is
    who asked for an output that the node itself claims; such a one may approve it as little as the submitter may.
    `approvers` are how many people could approve as each role; a role that is not there was not looked up. `erased`
    are the hashes of evidence whose content was kept here and is gone. `seen` are hashes of evidence that another room
    of this node holds. `passages` are by claim id: what the pointers quote. `mandate` is the standing approval that
    covers the call of this bundle: the flow has compared its limits, and uses it up in the commit of the decision.
    `edited_by` is the reviewer who wrote it, and may approve it as little as its agent may.
    """

    now: Instant
    submitter: str
    risk_ceiling: RiskTier | None
    recent_bundles: int = 0
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    questions: Mapping[str, str] = field(default_factory=dict)
    contents: Mapping[str, bytes] = field(default_factory=dict)
    tool_arguments: tuple[str, ...] = ()
    session: tuple[RiskTier, ...] = ()
    audit_recorded: bool = False
    approvals: tuple[Approval, ...] = ()
    approvals_due_at: Instant | None = None
    resumptions: tuple[Resumption, ...] = ()
    asked_by: str | None = None
    approvers: Mapping[str, int] = field(default_factory=dict)
    erased: frozenset[str] = frozenset()
    seen: frozenset[str] = frozenset()
    passages: Mapping[str, tuple[Passage, ...]] = field(default_factory=dict)
    rules: GateRules = CURRENT_RULES
    mandate: str | None = None
    edited_by: str | None = None


class GateAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`decision` is PUBLISH exactly when the gate passed; `caveats` belong beside the output if it goes out.

    `findings_hash` is of all the findings of a gate that stopped, also where only some of them are kept.
    """

    gate: GateName
    passed: bool
    decision: Decision
    reason: str
    findings: tuple[Finding, ...] = ()
    caveats: tuple[str, ...] = ()
    findings_hash: Digest | None = None


class _Computed(NamedTuple):
    """`is_own_question`: the policy asked it, not the agent; `is_denied`: the model did not say yes to it."""

    estimate: Estimate
    called: Recommendation
    is_own_question: bool
    is_denied: bool


Gate = Callable[[ClaimBundle, GateFacts, ClaimsPolicy], GateAnswer]


def standard_gates(guardians: Sequence[Guardian]) -> tuple[tuple[GateName, Gate], ...]:
    """The five, in the specification's order."""

    def adversarial(bundle: ClaimBundle, facts: GateFacts, policy: ClaimsPolicy) -> GateAnswer:
        return gate_adversarial(bundle, facts, policy, guardians=guardians)

    return (
        (GateName.EVIDENCE, gate_evidence),
        (GateName.UNCERTAINTY, gate_uncertainty),
        (GateName.SECURITY, gate_security),
        (GateName.ADVERSARIAL, adversarial),
        (GateName.HUMAN_APPROVAL, gate_human_approval),
    )


def gate_evidence(bundle: ClaimBundle, facts: GateFacts, policy: ClaimsPolicy) -> GateAnswer:
    """Form, age and source of the evidence, then whether it is held here and supports the claim."""
    found: list[Finding] = []
    caveats: list[str] = []
    for claim in bundle.claims:
        supports = _supports(claim, facts)
        found.extend(
            check_evidence(
                claim,
                policy.evidence,
                now=facts.now,
                contents=facts.contents,
                erased=facts.erased,
                discounted=unsupported_places(supports) if supports else (),
            )
        )
        if supports:
            found.extend(support_findings(claim, policy.evidence, supports))
            caveats.extend(support_caveats(claim, policy.evidence, supports))
    return _answer(
        GateName.EVIDENCE, bundle, facts, policy, found, passed="evidence is sufficient", caveats=tuple(caveats)
    )


def _supports(claim: Claim, facts: GateFacts) -> tuple[Support, ...]:
    if facts.rules is GateRules.FIRST:
        return ()
    passages = facts.passages.get(claim.id, ()) if facts.passages else ()
    return check_support(claim, passages, contents=facts.contents, seen=facts.seen, erased=facts.erased)


def gate_uncertainty(bundle: ClaimBundle, facts: GateFacts, policy: ClaimsPolicy) -> GateAnswer:
    """The strictest of what the agent recommends, what its value calls for, and what was computed."""
    found: list[Finding] = []
    caveats: list[str] = []
    for claim in bundle.claims:
        computed = _computed(claim, facts, policy)
        strict = strictest_recommendation(
            (*_declared(claim, policy), *(() if computed is None else (computed.called,)))
        )
        found.extend(_uncertainty_findings(claim, computed, strict, policy))
        if strict is Recommendation.EXPLAIN:
            caveats.append(f"{claim.id} is uncertain: {_told(claim, computed)}")
    return _answer(
        GateName.UNCERTAINTY, bundle, facts, policy, found, passed="uncertainty is acceptable", caveats=tuple(caveats)
    )


def gate_security(bundle: ClaimBundle, facts: GateFacts, policy: ClaimsPolicy) -> GateAnswer:
    """The origin is who submitted; its tier reaches the highest of the claims; it keeps to its rate."""
    found = _security_findings(bundle, facts, policy)
    return _answer(GateName.SECURITY, bundle, facts, policy, found, passed="origin, tier and rate are in order")


def gate_adversarial(
    bundle: ClaimBundle, facts: GateFacts, policy: ClaimsPolicy, *, guardians: Sequence[Guardian]
) -> GateAnswer:
    """The worst report counts; above the policy's threshold the bundle is deferred.

    A leap of tiers alone is a caveat where people approve this very bundle: they are shown it, and are asked once.
    """
    evidence, unread = _shown_evidence(facts.contents)
    suspect = Suspect(
        bundle=bundle,
        evidence=evidence,
        unread=unread,
        tool_arguments=facts.tool_arguments,
        session=facts.session,
    )
    worst = worst_report(examine_all(guardians, suspect), policy.threat_above)
    assert worst is not None  # noqa: S101 - without a guardian `examine_all` has raised
    found: list[Finding] = []
    caveats: tuple[str, ...] = ()
    if worst.score > policy.threat_above and is_leap(worst) and _is_for_people(bundle, facts, policy):
        caveats = (f"tier_hopping in session: {worst.signs[0].excerpt}",)
    elif worst.score > policy.threat_above:
        signs = ", ".join(f"{sign.kind} in {sign.where}" for sign in worst.signs[:5]) or "no sign named"
        told = f"expected a threat score of at most {policy.threat_above:g}, got {worst.score:.2f}"
        message = f"{told} from {worst.guardian}: {signs}"
        about = ", ".join(sorted({f"{sign.kind} in {sign.where}" for sign in worst.signs})) or None
        found.append(
            Finding(code=FindingCode.THREAT, message=message, decision=Decision.DEFER, resumable=True, about=about)
        )
    told = f"threat score {worst.score:.2f}"
    return _answer(GateName.ADVERSARIAL, bundle, facts, policy, found, passed=told, caveats=caveats)


def _is_for_people(bundle: ClaimBundle, facts: GateFacts, policy: ClaimsPolicy) -> bool:
    """Whether the last gate lets the bundle pass only by approvals of its own, which a mandate does not give."""
    is_asked = bool(approval_needs(bundle, policy.approvals)) and policy.mode is Mode.ENFORCE
    return facts.rules >= GateRules.THIRD and is_asked and not is_mandated(bundle, facts, policy)


def _shown_evidence(contents: Mapping[str, bytes]) -> tuple[dict[str, str], tuple[str, ...]]:
    """As much as guardians read, and which sources were cut; the shortest first, so that no large one hides others."""
    room, shown, unread = _EVIDENCE_SHOWN, dict[str, str](), list[str]()
    for source, content in sorted(contents.items(), key=lambda one: (len(one[1]), one[0])):
        shown[source] = text_of(content[:room])
        if len(content) > room:
            unread.append(source)
        room = max(room - len(content), 0)
    return shown, tuple(sorted(unread))


def gate_human_approval(bundle: ClaimBundle, facts: GateFacts, policy: ClaimsPolicy) -> GateAnswer:
    """READ_ONLY and WRITE_LIMITED pass; MODIFY once it is recorded; DELETE, PRIVILEGE and named people by approval.

    A mandate takes the place of approvals that nobody has given yet, below PRIVILEGE; it outweighs no rejection.
    """
    found = [*_record_findings(bundle, facts), *_approval_findings(bundle, facts, policy)]
    if not is_mandated(bundle, facts, policy):
        return _answer(GateName.HUMAN_APPROVAL, bundle, facts, policy, found, passed="nobody else has to approve")
    told = f"approved by the mandate {facts.mandate}, by nobody for this call alone"
    return _answer(GateName.HUMAN_APPROVAL, bundle, facts, policy, found, passed=told, caveats=(told,))


def is_mandated(bundle: ClaimBundle, facts: GateFacts, policy: ClaimsPolicy) -> bool:
    """Whether the approvals of a bundle are those of a mandate."""
    is_asked = facts.mandate is not None and highest_tier(bundle).rank < RiskTier.PRIVILEGE.rank
    return is_asked and find_approvals(bundle, facts, policy).state is ApprovalState.WAITING


def _answer(
    gate: GateName,
    bundle: ClaimBundle,
    facts: GateFacts,
    policy: ClaimsPolicy,
    found: Iterable[Finding],
    *,
    passed: str,
    caveats: tuple[str, ...] = (),
) -> GateAnswer:
    findings = tuple(found)
    if not findings:
        return GateAnswer(gate=gate, passed=True, decision=Decision.PUBLISH, reason=passed, caveats=caveats)
    resumed = _resumed_by(gate, bundle, facts, policy, findings)
    if resumed is not None:
        told = f"resumed by {resumed}: {render_findings(findings)}"
        return GateAnswer(
            gate=gate,
            passed=True,
            decision=Decision.PUBLISH,
            reason=told,
            findings=findings,
            caveats=(*caveats, told),
        )
    return GateAnswer(
        gate=gate,
        passed=False,
        decision=strictest(finding.decision for finding in findings),
        reason=render_findings(findings),
        findings=findings,
        caveats=caveats,
        findings_hash=findings_hash(findings),
    )


def _resumed_by(
    gate: GateName, bundle: ClaimBundle, facts: GateFacts, policy: ClaimsPolicy, findings: tuple[Finding, ...]
) -> str | None:
    """Who let exactly this bundle past exactly these findings of this gate, where all of them may be resumed."""
    if not facts.resumptions or not all(finding.resumable for finding in findings):
        return None
    wanted = (gate, bundle_hash(bundle), findings_hash(findings), policy_hash(policy))
    parties = _parties(bundle, facts)
    who = (
        one.reviewer
        for one in facts.resumptions
        if (one.gate, one.bundle_hash, one.findings_hash, one.policy_hash) == wanted
        and one.resumed_at <= facts.now
        and one.reviewer not in parties
    )
    return next(who, None)


def _parties(bundle: ClaimBundle, facts: GateFacts) -> tuple[str, ...]:
    """Whose word about the bundle counts for nothing: they made it, sent it, or asked for it."""
    others = (one for one in (facts.asked_by, facts.edited_by) if one is not None)
    return (bundle.origin_agent, facts.submitter, *others)


def _uncertainty_findings(
    claim: Claim, computed: _Computed | None, strict: Recommendation, policy: ClaimsPolicy
) -> Iterator[Finding]:
    if strict is Recommendation.REFUSE:
        told = f"expected no recommendation to refuse, got one by {_who(claim, computed)}"
        yield Finding(code=FindingCode.DECLARED_REFUSE, message=told, decision=Decision.REFUSE, claim_id=claim.id)
    elif strict is Recommendation.DEFER:
        told = f"uncertainty calls for DEFER: {_told(claim, computed)}"
        yield Finding(
            code=FindingCode.UNCERTAIN, message=told, decision=Decision.DEFER, claim_id=claim.id, resumable=True
        )
    if policy.uncertainty.require_computed and (computed is None or not computed.is_own_question):
        told = f"expected an uncertainty computed by the policy's own question, got only {_told(claim, computed)}"
        yield Finding(code=FindingCode.NOT_COMPUTED, message=told, decision=Decision.DEFER, claim_id=claim.id)


def _declared(claim: Claim, policy: ClaimsPolicy) -> tuple[Recommendation, Recommendation]:
    said = claim.uncertainty
    return said.gate_recommendation, recommend(said.value, policy.uncertainty.for_method(said.method))


def _computed(claim: Claim, facts: GateFacts, policy: ClaimsPolicy) -> _Computed | None:
    """What the policy's thresholds call for; a model that does not affirm the claim it was asked about defers it."""
    estimate = facts.estimates.get(claim.id)
    if estimate is None:
        return None
    is_own = facts.questions.get(claim.id) == policy.uncertainty.question_for(claim.statement)
    is_denied = is_own and not is_affirmed(estimate.answer)
    called = recommend(estimate.value, policy.uncertainty.for_method(estimate.method))
    if estimate.dissent is not UNSET and facts.rules is not GateRules.FIRST:
        share = recommend_share(estimate.dissent.share, policy.uncertainty.share_line)
        called = strictest_recommendation((called, share))
    # The estimate's own line is drawn by thresholds that its maker had; only a refusal outranks the policy's.
    refused = (Recommendation.REFUSE,) if estimate.recommendation is Recommendation.REFUSE else ()
    denied = (Recommendation.DEFER,) if is_denied else ()
    return _Computed(estimate, strictest_recommendation((called, *refused, *denied)), is_own, is_denied)


def _told(claim: Claim, computed: _Computed | None) -> str:
    said = claim.uncertainty
    words = f"{said.method} {said.value:g}, self_reported, recommending {said.gate_recommendation}"
    if computed is None:
        return words
    estimate = computed.estimate
    judge = "" if estimate.judge is None else f" by {estimate.judge}"
    denied = ", and the model does not affirm it" if computed.is_denied else ""
    made = f"computed {estimate.method} {estimate.value:g}{judge}{_split(estimate)}"
    return f"{words}; {made}, recommending {computed.called}{denied}"


def _split(estimate: Estimate) -> str:
    """How the answers split: the share beside the entropy, since one small group hardly moves the entropy."""
    split = estimate.dissent
    if split is UNSET:
        return ""
    interval = f"95 % interval {split.low:.2f} to {split.high:.2f}"
    return f", {split.outside} of {split.answers} answers outside the largest meaning ({split.share:.2f}; {interval})"


def _who(claim: Claim, computed: _Computed | None) -> str:
    is_own = claim.uncertainty.gate_recommendation is Recommendation.REFUSE or computed is None
    return "the agent itself" if is_own else "the computed estimate"


def _security_findings(bundle: ClaimBundle, facts: GateFacts, policy: ClaimsPolicy) -> Iterator[Finding]:
    if bundle.origin_agent != facts.submitter:
        told = f"expected origin_agent `{shortened(facts.submitter)}`, got `{shortened(bundle.origin_agent)}`"
        yield Finding(code=FindingCode.ORIGIN, message=told, decision=Decision.REFUSE)
    if bundle.timestamp > facts.now + CLOCK_AHEAD:
        told = f"expected a bundle made by {render_instant(facts.now)}, got one of {render_instant(bundle.timestamp)}"
        yield Finding(code=FindingCode.FUTURE_TIME, message=told, decision=Decision.REFUSE)
    highest = highest_tier(bundle)
    if not is_within(highest, facts.risk_ceiling):
        told = f"expected claims of at most {facts.risk_ceiling or 'no tier'}, got {highest}"
        yield Finding(code=FindingCode.TIER, message=told, decision=Decision.REFUSE)
    if facts.recent_bundles >= policy.rate.bundles:
        limit = f"{policy.rate.bundles} bundles in {policy.rate.window_seconds} s"
        got = f"got {facts.recent_bundles + 1}: it waits for its turn"
        told = f"expected at most {limit} from `{shortened(bundle.origin_agent)}`, {got}"
        yield Finding(code=FindingCode.RATE, message=told, decision=Decision.DEFER)


def _record_findings(bundle: ClaimBundle, facts: GateFacts) -> Iterator[Finding]:
    # MODIFY and above change something: there is a durable record of it first.
    if highest_tier(bundle).rank >= RiskTier.MODIFY.rank and not facts.audit_recorded:
        told = f"expected a durable audit record before {highest_tier(bundle)}, got none"
        yield Finding(code=FindingCode.NOT_RECORDED, message=told, decision=Decision.DEFER)


def find_approvals(bundle: ClaimBundle, facts: GateFacts, policy: ClaimsPolicy) -> ApprovalFinding:
    """Where the approvals that a bundle needs stand; satisfied where it needs none."""
    check = ApprovalCheck(
        bundle_hash=bundle_hash(bundle),
        needs=approval_needs(bundle, policy.approvals),
        parties=_parties(bundle, facts),
        now=facts.now,
        due_at=facts.approvals_due_at,
        valid_for_seconds=policy.approvals.valid_for_seconds,
        distinct_people=policy.approvals.distinct_people,
    )
    return check_approvals(check, facts.approvals)


def _approval_findings(bundle: ClaimBundle, facts: GateFacts, policy: ClaimsPolicy) -> Iterator[Finding]:
    if not approval_needs(bundle, policy.approvals) or is_mandated(bundle, facts, policy):
        return
    found = find_approvals(bundle, facts, policy)
    if found.state is not ApprovalState.SATISFIED:
        yield _approval_finding(found)
    if found.state is ApprovalState.WAITING:
        yield from _absent_approvers(approval_needs(bundle, policy.approvals), facts)


def _absent_approvers(needs: Iterable[ApprovalNeed], facts: GateFacts) -> Iterator[Finding]:
    """A question that nobody can answer is said to be one, and not left to run out in silence."""
    for need in needs:
        people = facts.approvers.get(need.role)
        if people is not None and people < need.people:
            told = f"expected {need.people} who may approve as `{shortened(need.role)}`, got {people} here"
            yield Finding(code=FindingCode.APPROVER_ABSENT, message=told, decision=Decision.ESCALATE, about=need.role)


def _approval_finding(found: ApprovalFinding) -> Finding:
    missing = ", ".join(f"{need.people} of {need.role}" for need in found.missing)
    ignored = "".join(f"; {name} does not count: {why}" for name, why in found.discounted[:5])
    if found.state is ApprovalState.REJECTED:
        told = f"rejected by {', '.join(found.rejected_by)}"
        return Finding(code=FindingCode.APPROVAL_REJECTED, message=told, decision=Decision.REFUSE)
    if found.state is ApprovalState.EXPIRED:
        told = f"expected approval by {missing} in time, got none{ignored}"
        return Finding(code=FindingCode.APPROVAL_EXPIRED, message=told, decision=Decision.REFUSE)
    told = f"expected approval by {missing}, got none yet{ignored}"
    return Finding(code=FindingCode.APPROVAL_MISSING, message=told, decision=Decision.ESCALATE)
