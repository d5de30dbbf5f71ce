"""The chain over one bundle that was received, and its decision on record before anybody hears of it.

case -> gates, outside the commit -> outcome -> tickets it calls for -> entry, row and tickets in one commit
Whatever the decision rests on is looked at again in the commit: if it changed meanwhile, the chain is run again.
"""

from collections.abc import Callable, Iterator, Sequence

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from assay.claims.bundle import ClaimBundle, Decision, GateName
from assay.claims.decide import Outcome, decided_bundle, gate_bundles, refused_outcome, run_gates
from assay.claims.errors import ClaimsError
from assay.claims.finding import Finding, FindingCode
from assay.claims.gate import Gate, GateAnswer, GateFacts, find_approvals, is_mandated, standard_gates
from assay.claims.guardian import Guardian, Suspect, ThreatReport, worst_report
from assay.claims.parse_bundle import parse_bundle
from assay.claims.policy import ClaimsPolicy, Mode
from assay.facts.claims import (
    CLAIMS_SERVICE,
    AskedTicket,
    ClaimsDecided,
    DecisionFacts,
    Turn,
    bounded_outcome,
    decision_entry,
)
from assay.flows.claims.claims_facts import (
    Case,
    Recorded,
    active_policy,
    asked_of,
    load_case,
    load_standing,
)
from assay.flows.claims.claims_rows import changes_of
from assay.flows.claims.claims_ticket import approvers_of, draft_approval, draft_deferral, is_showable, render_edit
from assay.flows.errors import NotFoundError
from assay.flows.errors.claims import ClaimsFlowError
from assay.flows.permits.cover import use_mandate
from assay.flows.review.open_review import open_review_in
from assay.flows.tools import Tools
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.claims_store import RecordedDecision
from assay.ports.database import Unit
from assay.review.ticket import Ticket

# Nothing that comes later changes these.
FINAL = frozenset({Decision.PUBLISH, Decision.REFUSE})
TRIES = 5
_MOST_SIGNS = 200
_LONGEST_EXCERPT = 80


class GatedClaims(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What holds for a bundle now, and is on record: the bundle with its decision, the outcome, and open tickets.

    `is_new` is false where this very decision was recorded before, by whoever asked then: after an approval that is the
    approver. An agent acts on a PUBLISH once by remembering the `bundle_hash` that it has acted on.
    """

    bundle_hash: Digest
    decision: Decision
    bundle: ClaimBundle
    outcome: Outcome
    position: int
    sequence_number: int
    tickets: tuple[AskedTicket, ...]
    is_new: bool


def decide_claims(
    tools: Tools,
    tenant_id: TenantId,
    wanted: Digest,
    *,
    at: Instant,
    require: Callable[[Unit], None] = lambda _unit: None,
) -> GatedClaims:
    """Gate a received bundle with what is known now; a bundle that was published or refused stays so.

    The same decision for the same reason is not recorded twice. The caller of this function has checked the permission;
    `require` raises where a condition of the request does not hold for the bundle as it is read.
    """
    for _ in range(TRIES):
        case = tools.database.read(lambda unit: _look(unit, tools, tenant_id, wanted, at, require))
        if case.known is not None and case.known[1].outcome.decision in FINAL:
            return told_of(case, case.known, is_new=False)
        _require_current(case)
        outcome, reports = ask_gates(tools, case)
        if case.known is not None and _is_same(case.known[1].outcome, outcome):
            return told_of(case, case.known, is_new=False)
        recorded = _recorded(tools, tenant_id, case, outcome, reports)
        if recorded is not None:
            return told_of(case, recorded, is_new=True)
    raise ClaimsFlowError.busy(f"expected `{wanted}` to stand still while it was decided, got a change {TRIES} times")


def recorded_claims(
    unit: Unit, tools: Tools, tenant_id: TenantId, wanted: Digest, *, at: Instant
) -> GatedClaims | None:
    """What is on record about a bundle, asking no gate; None before the first decision."""
    case = load_case(unit, tools, tenant_id, wanted, at=at)
    return None if case.known is None else told_of(case, case.known, is_new=False)


def ask_gates(tools: Tools, case: Case) -> tuple[Outcome, list[ThreatReport]]:
    """Run the chain over a case; return the outcome with the reports of the guardians."""
    noted: list[ThreatReport] = []
    gates = _gates(tools, case, noted)
    return _showable(case, run_gates(case.bundle, gates, case.facts, case.standing.policy)), noted


def record_decision(
    unit: Unit,
    tenant_id: TenantId,
    bundle: ClaimBundle,
    outcome: Outcome,
    *,
    position: int,
    tickets: tuple[tuple[str | None, Ticket], ...] = (),
    approvals: tuple[str, ...] = (),
    turn: Turn | UnsetType = UNSET,
    facts: DecisionFacts | UnsetType = UNSET,
) -> Recorded:
    """Entry, rows and tickets; of two deciders that took the same position one is told, and its commit undone."""
    wanted = outcome.bundle_hash or Digest("")
    kept, left_out = bounded_outcome(outcome)
    body = ClaimsDecided(
        bundle_hash=wanted,
        position=position,
        outcome=kept,
        left_out=left_out,
        gates=gate_bundles(bundle, kept, node_agent=CLAIMS_SERVICE),
        tickets=tuple(AskedTicket(ticket_id=ticket.id, role=role) for role, ticket in tickets),
        approvals=approvals,
        turn=turn,
        facts=facts,
    )
    draft = decision_entry(tenant_id, body)
    receipt = unit.record(draft)
    row = RecordedDecision(
        bundle_hash=wanted,
        position=position,
        decision=outcome.decision.value,
        reason=outcome.reason,
        policy_hash=outcome.policy_hash,
        text=draft.body.decode(),
        decided_at=outcome.decided_at,
        sequence_number=receipt.sequence_number,
    )
    for _, ticket in tickets:
        open_review_in(unit, ticket)
    return row, body


def refuse_bundle(
    unit: Unit, tenant_id: TenantId, wanted: Digest, code: FindingCode, reason: str, *, at: Instant
) -> None:
    """Record a REFUSE of a bundle that waits, for what people said; one that was published or refused stays so.

    The policy does not matter, not even AUDIT_ONLY: what people denied is not waved through.
    """
    row = unit.claims.find_bundle(tenant_id, wanted)
    if row is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no bundle `{wanted}`")
    decisions = asked_of(unit, tenant_id, wanted)
    if decisions and decisions[-1].outcome.decision in FINAL:
        return
    finding = Finding(code=code, message=reason, decision=Decision.REFUSE)
    answer = GateAnswer(
        gate=GateName.HUMAN_APPROVAL, passed=False, decision=Decision.REFUSE, reason=reason, findings=(finding,)
    )
    policy = replace(active_policy(unit, tenant_id), mode=Mode.ENFORCE)
    facts = GateFacts(now=at, submitter=row.submitted_by, risk_ceiling=None)
    bundle = parse_bundle(row.text)
    outcome = run_gates(bundle, ((GateName.HUMAN_APPROVAL, lambda *_given: answer),), facts, policy)
    record_decision(unit, tenant_id, bundle, outcome, position=len(decisions) + 1)


def _look(
    unit: Unit,
    tools: Tools,
    tenant_id: TenantId,
    wanted: Digest,
    at: Instant,
    require: Callable[[Unit], None],
) -> Case:
    require(unit)
    return load_case(unit, tools, tenant_id, wanted, at=at)


def _require_current(case: Case) -> None:
    if case.standing.is_superseded:
        raise ClaimsFlowError.superseded(
            f"expected a bundle that no other was put in place of, got `{case.row.bundle_hash}`"
        )


class _Noting:
    """A guardian whose report is noted, so that it can go on record with the decision."""

    def __init__(self, guardian: Guardian, noted: list[ThreatReport]) -> None:
        self.name = guardian.name
        self._guardian = guardian
        self._noted = noted

    def examine(self, suspect: Suspect) -> ThreatReport:
        report = self._guardian.examine(suspect)
        self._noted.append(report)
        return report


Gates = tuple[tuple[GateName, Gate], ...]


def _gates(tools: Tools, case: Case, noted: list[ThreatReport]) -> Gates:
    """The standard chain; an uncertainty that was to be computed and could not be is the uncertainty gate's answer."""
    return hindered(standard_gates([_Noting(one, noted) for one in tools.guardians]), case.context.estimate_problem)


def hindered(gates: Gates, problem: str | None) -> Gates:
    """The gates, where the uncertainty gate cannot answer for this problem: its answer is then the stricter one."""
    if problem is None:
        return gates

    def unavailable(_bundle: ClaimBundle, _facts: GateFacts, _policy: ClaimsPolicy) -> GateAnswer:
        raise ClaimsError.judge_unavailable(problem)

    return tuple((name, unavailable if name is GateName.UNCERTAINTY else gate) for name, gate in gates)


def _showable(case: Case, outcome: Outcome) -> Outcome:
    """What waits for people is shown to them whole; what is too large for that is refused, and can be sent in parts."""
    is_asked = outcome.decision is Decision.ESCALATE or (outcome.decision is Decision.DEFER and _is_resumable(outcome))
    if not is_asked or is_showable(case.bundle, case.facts.tool_arguments, outcome, case.facts.passages):
        return outcome
    told = "expected a bundle that people can be shown whole, got one that is too large: send it in parts"
    return refused_outcome(outcome, Finding(code=FindingCode.NOT_SHOWABLE, message=told, decision=Decision.REFUSE))


def _is_same(known: Outcome, outcome: Outcome) -> bool:
    return _gist(known) == _gist(outcome)


def _gist(outcome: Outcome) -> tuple[object, ...]:
    stop = outcome.stop
    return outcome.decision, outcome.reason, outcome.policy_hash, None if stop is None else stop.findings_hash


def _recorded(
    tools: Tools, tenant_id: TenantId, case: Case, outcome: Outcome, reports: list[ThreatReport]
) -> Recorded | None:
    """None where what the outcome rests on has changed since."""

    def work(unit: Unit) -> Recorded | None:
        standing, turns, _ = load_standing(unit, tools, tenant_id, case.row, at=case.facts.now)
        if standing != case.standing:
            return None
        return record_outcome(unit, tools, tenant_id, case, outcome, reports, last_turn=turns.last)

    return tools.database.write(work)


def record_outcome(
    unit: Unit,
    tools: Tools,
    tenant_id: TenantId,
    case: Case,
    outcome: Outcome,
    reports: list[ThreatReport],
    *,
    last_turn: int,
) -> Recorded:
    """Record the outcome of a case with its tickets; `last_turn` is the position of the agent's latest turn.

    A mandate that the outcome rests on is used up in the same commit.
    """
    if outcome.decision is Decision.PUBLISH and is_mandated(case.bundle, case.facts, case.standing.policy):
        use_mandate(unit, tenant_id, case.row, case.bundle, case.facts)
    return record_decision(
        unit,
        tenant_id,
        case.bundle,
        outcome,
        position=case.standing.position + 1,
        tickets=tuple(_tickets(unit, tools, tenant_id, case, outcome)),
        approvals=_used(case, outcome),
        turn=_turn(case, last_turn),
        facts=facts_on_record(case.bundle, case.facts, reports, case.standing.policy),
    )


def facts_on_record(
    bundle: ClaimBundle, facts: GateFacts, reports: Sequence[ThreatReport], policy: ClaimsPolicy
) -> DecisionFacts:
    """What has to be on record for the decision to be made again; what is none is left out."""
    held = sorted(
        {
            pointer.evidence_hash
            for claim in bundle.claims
            for pointer in claim.evidence_pointers
            if pointer.evidence_hash is not None
            and (pointer.source in facts.contents or f"{pointer.source}#{pointer.evidence_hash}" in facts.contents)
        }
    )
    worst = worst_report(reports, policy.threat_above)
    return DecisionFacts(
        rules=facts.rules,
        risk_ceiling=facts.risk_ceiling,
        recent_bundles=facts.recent_bundles or UNSET,
        held=tuple(held) or UNSET,
        erased=tuple(sorted(facts.erased)) or UNSET,
        session=facts.session or UNSET,
        approvers=dict(facts.approvers) or UNSET,
        approvals=facts.approvals or UNSET,
        approvals_due_at=facts.approvals_due_at or UNSET,
        resumptions=facts.resumptions or UNSET,
        threat=UNSET if worst is None else _bounded(worst),
        mandate=facts.mandate or UNSET,
    )


def _bounded(report: ThreatReport) -> ThreatReport:
    """The report with each kind of sign in each place once, as many as fit into an entry."""
    told = {(one.kind, one.where): replace(one, excerpt=one.excerpt[:_LONGEST_EXCERPT]) for one in report.signs}
    return replace(report, signs=tuple(told.values())[:_MOST_SIGNS])


def _turn(case: Case, last: int) -> Turn | UnsetType:
    """The turn that a bundle takes in its agent's rate: with its first decision that there was room for."""
    if case.standing.has_turn or not case.standing.has_room:
        return UNSET
    return Turn(of=case.row.submitted_by, position=last + 1)


def _used(case: Case, outcome: Outcome) -> tuple[str, ...]:
    """The answers that a publication rests on; the bundle stays published, so they are good for nothing more."""
    if outcome.decision is not Decision.PUBLISH:
        return ()
    return tuple(one.id for one in find_approvals(case.bundle, case.facts, case.standing.policy).counted)


def _tickets(
    unit: Unit, tools: Tools, tenant_id: TenantId, case: Case, outcome: Outcome
) -> Iterator[tuple[str | None, Ticket]]:
    """Whom the outcome waits for; a question that is open already is not asked twice."""
    if outcome.decision is Decision.ESCALATE:
        yield from _approval_tickets(unit, tools, tenant_id, case, outcome)
    elif outcome.decision is Decision.DEFER and _is_resumable(outcome):
        stop = outcome.stop
        # Another finding, or another policy, is another question: an answer to the earlier one does not cover it.
        if (outcome.policy_hash, None if stop is None else stop.findings_hash) not in case.standing.deferrals:
            yield (
                None,
                draft_deferral(
                    tools,
                    tenant_id,
                    case.bundle,
                    case.facts.tool_arguments,
                    outcome,
                    passages=case.facts.passages,
                    edit=_edit_text(unit, tenant_id, case),
                    requested_by=_asker(case),
                    at=case.facts.now,
                ),
            )


def _approval_tickets(
    unit: Unit, tools: Tools, tenant_id: TenantId, case: Case, outcome: Outcome
) -> Iterator[tuple[str | None, Ticket]]:
    policy = case.standing.policy
    asked = {one.role for one in case.standing.open_tickets}
    missing = find_approvals(case.bundle, case.facts, policy).missing
    edit = _edit_text(unit, tenant_id, case)
    for need in (one for one in missing if one.role not in asked):
        ticket = draft_approval(
            tools,
            tenant_id,
            case.bundle,
            case.facts.tool_arguments,
            outcome,
            need,
            approvers_of(unit, tenant_id, need.role),
            policy.approvals,
            passages=case.facts.passages,
            edit=edit,
            requested_by=_asker(case),
            at=case.facts.now,
        )
        yield need.role, ticket


def _edit_text(unit: Unit, tenant_id: TenantId, case: Case) -> str:
    by, edits = case.context.edited_by, case.row.resumes
    return "" if by is UNSET or edits is None else render_edit(edits, by, changes_of(unit, tenant_id, case.row))


def _asker(case: Case) -> PrincipalId:
    """Who wants it: whoever asked the node for an output, else whoever sent the bundle."""
    return case.context.asked_by or case.row.submitted_by


def _is_resumable(outcome: Outcome) -> bool:
    stop = outcome.stop
    return stop is not None and bool(stop.findings) and all(finding.resumable for finding in stop.findings)


def told_of(case: Case, known: Recorded, *, is_new: bool) -> GatedClaims:
    """A recorded decision about a case, as callers are answered."""
    row, body = known
    opened = body.tickets if is_new else ()
    return GatedClaims(
        bundle_hash=case.row.bundle_hash,
        decision=body.outcome.decision,
        bundle=decided_bundle(case.bundle, body.outcome, case.facts),
        outcome=body.outcome,
        position=row.position,
        sequence_number=row.sequence_number,
        tickets=() if body.outcome.decision in FINAL else (*case.standing.open_tickets, *opened),
        is_new=is_new,
    )
