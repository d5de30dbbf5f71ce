"""Every output of the node passes the gates before anybody sees it, whichever room reasoned.

claims, as data -> bundle of the node's own agent -> gates -> PUBLISH, or what has to happen first
What people can still let through is put on record as a bundle, in the commit of the output that it holds back.
"""

from typing import Any
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from assay.claims.bundle import ClaimBundle, Decision, bundle_hash
from assay.claims.decide import Outcome, gate_document
from assay.claims.gate import GateFacts, standard_gates
from assay.claims.parse_bundle import Reading, check_bundle
from assay.claims.policy import ClaimsPolicy
from assay.delivery.annotate import GateMark
from assay.facts.claims import BundleContext, received_entry, received_row
from assay.flows.claims.claims_facts import active_policy, ceiling_of, own_agent
from assay.flows.claims.decide_claims import hindered
from assay.flows.claims.estimate import estimated_context
from assay.flows.claims.output_claims import at_least, cited_clauses
from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.identity.risk import RiskTier
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant, render_instant
from assay.ports.database import Unit

_UUID_BYTES = 16
_LONGEST_REASON = 1000
_WAITING = frozenset({Decision.DEFER, Decision.ESCALATE})


class OutputRules(Struct, frozen=True, kw_only=True):
    """What outputs for one reader are gated by: the policy in force, and the highest tier this reader may act at."""

    tenant_id: TenantId
    policy: ClaimsPolicy
    ceiling: RiskTier | None


class GatedOutput(Struct, frozen=True, kw_only=True):
    """What the gates decided; `waiting` is the bundle that people can still let through, if they can.

    `context` has what the node's own model said of it, where the policy asks for that.
    """

    outcome: Outcome
    waiting: ClaimBundle | None
    context: BundleContext = BundleContext()

    @property
    def mark(self) -> GateMark:
        return mark_of(self.outcome, None if self.waiting is None else bundle_hash(self.waiting))


def load_output_rules(unit: Unit, principal: Principal, *, at: Instant) -> OutputRules:
    tenant_id = principal.tenant_id
    return OutputRules(
        tenant_id=tenant_id, policy=active_policy(unit, tenant_id), ceiling=ceiling_of(unit, principal, at)
    )


def gate_output(
    tools: Tools,
    claims: tuple[Any, ...],
    rules: OutputRules,
    *,
    tier: RiskTier,
    asked_by: PrincipalId,
    at: Instant,
) -> GatedOutput:
    """Claims that are none are refused; `tier` is the least that acting on the output amounts to.

    Where the policy requires a computed uncertainty, the general model is asked about each claim, at the cost that its
    estimate states and within the tenant's budget.
    """
    agent = own_agent(tools)
    document = {
        "id": str(UUID(bytes=tools.entropy.token(_UUID_BYTES), version=4)),
        "timestamp": render_instant(at),
        "origin_agent": agent,
        "claims": list(claims),
    }
    finding = check_bundle(document, reading=Reading.STRICT)
    if finding.bundle is not None:
        raised = replace(finding.bundle, claims=at_least(finding.bundle.claims, tier))
        finding = replace(finding, bundle=raised)
    context = BundleContext(asked_by=asked_by)
    if finding.bundle is not None:
        context = estimated_context(tools, rules.tenant_id, rules.policy, finding.bundle, context, at=at)
    facts = GateFacts(
        now=at,
        submitter=agent,
        risk_ceiling=rules.ceiling,
        # Nobody sees the output before it is in the ledger, with this decision.
        audit_recorded=True,
        asked_by=asked_by,
        estimates=context.estimates,
        questions=context.questions,
        seen=frozenset() if finding.bundle is None else cited_clauses(finding.bundle),
    )
    gates = hindered(standard_gates(tools.guardians), context.estimate_problem)
    outcome = gate_document(finding, gates, facts, rules.policy)
    waiting = finding.bundle if outcome.decision in _WAITING else None
    return GatedOutput(outcome=outcome, waiting=waiting, context=context)


def mark_of(outcome: Outcome, waiting: Digest | None) -> GateMark:
    """The decision as it goes with the output; `waiting` is the bundle that people are asked about."""
    return GateMark(
        decision=outcome.decision.value,
        reason=outcome.reason[:_LONGEST_REASON],
        policy_hash=outcome.policy_hash,
        caveats=tuple(one[:_LONGEST_REASON] for one in outcome.caveats),
        bundle_hash=waiting,
    )


def hold_output(
    unit: Unit, tenant_id: TenantId, bundle: ClaimBundle, context: BundleContext, *, answer_id: str, at: Instant
) -> None:
    """Record the bundle as the node's own, with the answer that waits for it; people other than the asker judge it."""
    context = replace(context, answer_id=answer_id)
    row = received_row(bundle, context, submitted_by=PrincipalId(bundle.origin_agent), thread=None, resumes=None, at=at)
    unit.record(received_entry(tenant_id, row, bundle, context))
