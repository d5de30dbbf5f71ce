"""Decide: the whole chain over one bundle, and what is written down about it.

document -> bundle -> gates, until one stops -> Outcome -> the bundle with its decision, and a record of each gate
No gates, no bundle or a fault inside a gate can only make the answer stricter.
"""

import dataclasses
from collections.abc import Sequence
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from assay.claims.bundle import (
    AuditTrail,
    Claim,
    ClaimBundle,
    ClaimType,
    Decision,
    EvidencePointer,
    GateName,
    HumanApproval,
    Uncertainty,
    UncertaintyMethod,
    bundle_hash,
)
from assay.claims.finding import Finding, FindingCode, strictest
from assay.claims.gate import Gate, GateAnswer, GateFacts
from assay.claims.parse_bundle import BundleFinding
from assay.claims.policy import ClaimsPolicy, Mode, policy_hash
from assay.claims.problem import render_claim_problems
from assay.claims.risk import required_approvals
from assay.identity.risk import RiskTier
from assay.kernel.canonical import canonical_digest
from assay.kernel.digest import Digest, raw_digest
from assay.kernel.errors import Error
from assay.kernel.instant import Instant

_CAVEATS = 10

# What even a policy that only watches does not let through: a refusal that somebody meant, and a check nobody made.
_NEVER_WAVED = frozenset(
    {
        FindingCode.APPROVAL_REJECTED,
        FindingCode.DECLARED_REFUSE,
        FindingCode.FAULT,
        FindingCode.INVALID,
        FindingCode.NO_GATES,
        FindingCode.NOT_SHOWABLE,
        FindingCode.UNAVAILABLE,
    }
)


class Outcome(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the chain decided, and why.

    `decision` is what holds. Under a policy that only watches, it may be PUBLISH where `would_be` says what the gates
    had decided at the strictest; `would_be` is None where the two agree. `answers` are those of the gates that were
    asked. `required_approvals` are named whichever gate stopped. `bundle_hash` is None where there is no bundle,
    `arguments_hash` where no tool was to be called: a PUBLISH is for these arguments and no others.
    """

    decision: Decision
    reason: str
    required_approvals: tuple[str, ...]
    answers: tuple[GateAnswer, ...]
    findings: tuple[Finding, ...]
    caveats: tuple[str, ...]
    policy_hash: Digest
    bundle_hash: Digest | None
    decided_at: Instant
    arguments_hash: Digest | None = None
    stopped_by: GateName | None = None
    would_be: Decision | None = None

    @property
    def stop(self) -> GateAnswer | None:
        """The answer that the decision comes from; None where no gate stopped."""
        return next((one for one in self.answers if one.gate is self.stopped_by), None)


def gate_document(
    finding: BundleFinding, gates: Sequence[tuple[GateName, Gate]], facts: GateFacts, policy: ClaimsPolicy
) -> Outcome:
    """Run the gates over a document as it was read; an invalid or empty bundle is refused, with all that is wrong."""
    if finding.bundle is not None:
        if finding.passages and facts.passages is not finding.passages:
            facts = dataclasses.replace(facts, passages=finding.passages)
        return run_gates(finding.bundle, gates, facts, policy)
    found = Finding(code=FindingCode.INVALID, message=render_claim_problems(finding.problems), decision=Decision.REFUSE)
    return _refused(None, found, facts, policy)


def run_gates(
    bundle: ClaimBundle, gates: Sequence[tuple[GateName, Gate]], facts: GateFacts, policy: ClaimsPolicy
) -> Outcome:
    """Ask one gate after the other until one does not pass; an empty chain refuses, a declared REFUSE stays one.

    Under a policy that only watches all are asked: what it never lets through may stand behind what it does.
    """
    if not gates:
        found = Finding(code=FindingCode.NO_GATES, message="no gates configured", decision=Decision.REFUSE)
        return _refused(bundle, found, facts, policy)
    if bundle.decision is Decision.REFUSE:
        told = "expected a bundle that was not refused, got decision REFUSE"
        found = Finding(code=FindingCode.DECLARED_REFUSE, message=told, decision=Decision.REFUSE)
        return _refused(bundle, found, facts, policy)
    answers: list[GateAnswer] = []
    for name, gate in gates:
        answer = _asked(name, gate, bundle, facts, policy)
        answers.append(answer)
        if not answer.passed and policy.mode is not Mode.AUDIT_ONLY:
            break
    return _outcome(bundle, tuple(answers), facts, policy)


def arguments_hash(tool_arguments: tuple[str, ...]) -> Digest | None:
    """What a decision binds of the arguments that came with a bundle; None where none did."""
    return canonical_digest(list(tool_arguments)) if tool_arguments else None


def refused_outcome(outcome: Outcome, found: Finding) -> Outcome:
    """The same outcome, refused for one more reason than the gates had."""
    return replace(
        outcome,
        decision=Decision.REFUSE,
        reason=found.message,
        findings=(*outcome.findings, found),
        stopped_by=None,
        would_be=None,
    )


def decided_bundle(bundle: ClaimBundle, outcome: Outcome, facts: GateFacts) -> ClaimBundle:
    """The bundle with what was decided filled in; its hash is unchanged."""
    trail = AuditTrail(
        gates_passed=tuple(answer.gate for answer in outcome.answers if answer.passed),
        gates_failed=tuple(answer.gate for answer in outcome.answers if not answer.passed),
        human_approvals=tuple(
            HumanApproval(approver=one.approver, timestamp=one.given_at, decision=one.decision, reason=one.reason)
            for one in facts.approvals
            if one.bundle_hash == outcome.bundle_hash
        ),
    )
    return replace(
        bundle,
        decision=outcome.decision,
        reason=outcome.reason,
        required_approvals=outcome.required_approvals,
        audit_trail=trail,
    )


def gate_bundles(bundle: ClaimBundle, outcome: Outcome, *, node_agent: str) -> tuple[ClaimBundle, ...]:
    """Each gate's answer as a bundle with one DECISION claim by the node itself; these are not gated again."""
    return tuple(_gate_bundle(bundle, answer, outcome, node_agent) for answer in outcome.answers)


def _asked(name: GateName, gate: Gate, bundle: ClaimBundle, facts: GateFacts, policy: ClaimsPolicy) -> GateAnswer:
    try:
        return _sound(name, gate(bundle, facts, policy))
    except Error as error:
        # What a gate needs could not answer: a person may look instead.
        found = Finding(code=FindingCode.UNAVAILABLE, message=f"{error.code}: {error}", decision=Decision.DEFER)
    except Exception as error:  # noqa: BLE001  whatever broke inside a gate, nothing may be published because of it
        found = Finding(code=FindingCode.FAULT, message=f"fault: {type(error).__name__}", decision=Decision.REFUSE)
    return GateAnswer(gate=name, passed=False, decision=found.decision, reason=found.message, findings=(found,))


def _sound(name: GateName, answer: GateAnswer) -> GateAnswer:
    """A gate that contradicts itself, or answers for another, is a fault."""
    if answer.gate is not name or answer.passed is not (answer.decision is Decision.PUBLISH):
        raise TypeError(name)
    return answer


def _outcome(bundle: ClaimBundle, answers: tuple[GateAnswer, ...], facts: GateFacts, policy: ClaimsPolicy) -> Outcome:
    stop = _stopping(answers)
    findings = tuple(finding for answer in answers for finding in answer.findings)
    caveats = tuple(caveat for answer in answers for caveat in answer.caveats)
    if stop is None:
        decision, reason = Decision.PUBLISH, _passed_with(caveats)
    else:
        decision, reason = stop.decision, f"{stop.gate}: {stop.reason}"
    waved = stop is not None and _is_waved(answers, policy)
    return Outcome(
        decision=Decision.PUBLISH if waved else decision,
        reason=f"audit only, would be {decision}: {reason}" if waved else reason,
        required_approvals=required_approvals(bundle, policy.approvals),
        answers=answers,
        findings=findings,
        caveats=caveats,
        policy_hash=policy_hash(policy),
        bundle_hash=bundle_hash(bundle),
        decided_at=facts.now,
        arguments_hash=arguments_hash(facts.tool_arguments),
        stopped_by=None if stop is None else stop.gate,
        would_be=decision if waved else None,
    )


def _stopping(answers: tuple[GateAnswer, ...]) -> GateAnswer | None:
    """The first of the strictest that did not pass; where the chain stops at once there is only one."""
    failed = [answer for answer in answers if not answer.passed]
    worst = strictest(answer.decision for answer in failed)
    return next((answer for answer in failed if answer.decision is worst), None)


def _passed_with(caveats: tuple[str, ...]) -> str:
    """EXPLAIN's caveats belong to what is published, so they are in its reason."""
    if not caveats:
        return "all gates passed"
    more = f"; and {len(caveats) - _CAVEATS} more" if len(caveats) > _CAVEATS else ""
    return f"all gates passed, with caveats: {'; '.join(caveats[:_CAVEATS])}{more}"


def _is_waved(answers: tuple[GateAnswer, ...], policy: ClaimsPolicy) -> bool:
    if policy.mode is not Mode.AUDIT_ONLY:
        return False
    failed = (answer for answer in answers if not answer.passed)
    return not any(finding.code in _NEVER_WAVED for answer in failed for finding in answer.findings)


def _refused(bundle: ClaimBundle | None, found: Finding, facts: GateFacts, policy: ClaimsPolicy) -> Outcome:
    return Outcome(
        decision=Decision.REFUSE,
        reason=found.message,
        required_approvals=() if bundle is None else required_approvals(bundle, policy.approvals),
        answers=(),
        findings=(found,),
        caveats=(),
        policy_hash=policy_hash(policy),
        bundle_hash=None if bundle is None else bundle_hash(bundle),
        decided_at=facts.now,
        arguments_hash=arguments_hash(facts.tool_arguments),
    )


def _gate_bundle(bundle: ClaimBundle, answer: GateAnswer, outcome: Outcome, node_agent: str) -> ClaimBundle:
    gated = bundle_hash(bundle)
    name = UUID(bytes=raw_digest(canonical_digest([gated, answer.gate, outcome.decided_at]))[:16], version=5)
    claim = Claim(
        id=str(answer.gate),
        statement=f"{answer.gate} answers {answer.decision} for bundle {bundle.id}: {answer.reason}",
        claim_type=ClaimType.DECISION,
        evidence_pointers=(
            EvidencePointer(
                source=f"bundle:{bundle.id}",
                source_confidence=1.0,
                evidence_hash=gated.removeprefix("sha256:"),
                retrieved_at=outcome.decided_at,
            ),
        ),
        # A rule was applied; nothing was estimated.
        uncertainty=Uncertainty(
            method=UncertaintyMethod.CONFIDENCE_SCORE, value=0.0, interpretation="a rule applied, nothing estimated"
        ),
        risk_tier=RiskTier.READ_ONLY,
        if_wrong_cost=f"bundle {bundle.id} is {answer.decision} where it should not be",
    )
    return ClaimBundle(
        id=str(name),
        timestamp=outcome.decided_at,
        origin_agent=node_agent,
        claims=(claim,),
        decision=Decision.PUBLISH,
        reason="a gate's own decision, not gated again",
    )
