"""Everything besides bundle and policy that can change a decision, gathered in one unit of work.

rows + principal + desk + evidence -> Case(bundle, policy, facts, what it rests on)
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import replace as with_fields
from datetime import timedelta
from hashlib import sha256
from types import MappingProxyType

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from assay.claims.approve import Approval
from assay.claims.bundle import ClaimBundle, HumanDecision, is_full_hash
from assay.claims.gate import GateFacts, Resumption
from assay.claims.parse_bundle import parse_bundle
from assay.claims.policy import DEFAULT_POLICY, ApprovalNeed, ApprovalPolicy, ClaimsPolicy
from assay.claims.risk import approval_needs
from assay.facts.claims import AskedTicket, BundleContext, ClaimsDecided
from assay.flows.claims.claims_rows import (
    Turns,
    decided_rows,
    find_active_policy,
    load_turns,
    read_claims_policy,
)
from assay.flows.claims.claims_ticket import bundle_about
from assay.flows.claims.output_claims import cited_clauses
from assay.flows.errors import NotFoundError
from assay.flows.errors.claims import ClaimsFlowError
from assay.flows.known import get_principal, get_ticket
from assay.flows.permits.cover import find_cover
from assay.flows.registry.switch_facts import load_switch
from assay.flows.review.check_answer import desk_key_ring, verified_answers
from assay.flows.tools import Tools
from assay.identity.principal import Principal, PrincipalKind
from assay.identity.risk import RiskTier
from assay.kernel.canonical import canonical_json
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.key import KeyRing
from assay.permits.mandate import MandateId
from assay.ports.claims_store import ReceivedBundle, RecordedDecision
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.review.answer import Answer
from assay.review.kind import TicketKind
from assay.review.settle import SettlementState
from assay.review.ticket import Ticket

# What is read of evidence for one bundle, all of it together.
MOST_EVIDENCE = 64 * 1024 * 1024
# Within this time the bundles that name no thread, or the same, are one session.
_SESSION = timedelta(hours=1)
_SESSION_BUNDLES = 50
# Beyond the number of every entry.
_NOT_RECEIVED = 2**53 - 1

# A decision as it is stored, and what its entry says.
Recorded = tuple[RecordedDecision, ClaimsDecided]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What may change between looking and recording: if any of it did, the decision is made again.

    `deferrals` are the policies and findings about which a reviewer is being asked. `has_turn` says that the bundle
    was counted in its agent's rate before, `has_room` that it may be counted now. `mandate` covers its call, where
    nobody was asked to approve it yet.
    """

    policy: ClaimsPolicy
    ceiling: RiskTier | None
    approvals: tuple[Approval, ...]
    resumptions: tuple[Resumption, ...]
    due_at: Instant | None
    position: int
    open_tickets: tuple[AskedTicket, ...]
    deferrals: frozenset[tuple[Digest, Digest | None]]
    is_superseded: bool
    has_turn: bool
    has_room: bool
    mandate: MandateId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`known` is the decision in force, if there is one; `turns` are those of the agent in the rate's window."""

    row: ReceivedBundle
    bundle: ClaimBundle
    context: BundleContext
    standing: Standing
    facts: GateFacts
    turns: Turns
    known: Recorded | None = None

    def with_context(self, context: BundleContext) -> "Case":
        """The same case with what this node computed itself."""
        facts = with_fields(self.facts, estimates=context.estimates, questions=context.questions)
        row = replace(self.row, context=canonical_json(context))
        return with_fields(self, row=row, context=context, facts=facts)


def active_policy(unit: Unit, tenant_id: TenantId) -> ClaimsPolicy:
    """The policy that was released last, or the strict one of the specification where none was."""
    released = find_active_policy(unit, tenant_id)
    return DEFAULT_POLICY if released is None else read_claims_policy(released.document)


def load_case(unit: Unit, tools: Tools, tenant_id: TenantId, wanted: Digest, *, at: Instant) -> Case:
    """All that the chain is given about a bundle that was received, at that instant."""
    row = unit.claims.find_bundle(tenant_id, wanted)
    if row is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no bundle `{wanted}`")
    bundle = parse_bundle(row.text)
    context = msgspec.json.decode(row.context, type=BundleContext)
    standing, turns, decisions = load_standing(unit, tools, tenant_id, row, at=at)
    facts = _facts(unit, tools, tenant_id, row, bundle, context, standing, turns, at=at)
    known = decisions[-1] if decisions else None
    return Case(row=row, bundle=bundle, context=context, standing=standing, facts=facts, turns=turns, known=known)


def load_new_case(
    unit: Unit,
    tools: Tools,
    submitter: Principal,
    row: ReceivedBundle,
    bundle: ClaimBundle,
    context: BundleContext,
    *,
    contents: Mapping[str, bytes],
    at: Instant,
) -> Case:
    """All that the chain is given about a bundle that is not received yet; `contents` is evidence that comes with it.

    INVARIANT: nothing was decided, asked or answered about it before, which the ledger itself says.
    """
    tenant_id = submitter.tenant_id
    if decided_rows(unit, tenant_id, row.bundle_hash):
        raise DamagedRecordError(f"expected the row of bundle `{row.bundle_hash}`, which was decided, got none")
    policy = active_policy(unit, tenant_id)
    turns = _turns(unit, tenant_id, row, policy, at)
    standing = Standing(
        policy=policy,
        ceiling=ceiling_of(unit, submitter, at),
        approvals=(),
        resumptions=(),
        due_at=None,
        position=0,
        open_tickets=(),
        deferrals=frozenset(),
        is_superseded=False,
        has_turn=False,
        has_room=turns.recent < policy.rate.bundles,
        mandate=find_cover(unit, tenant_id, row, bundle, context.tool_arguments, policy.approvals, at=at),
    )
    facts = _facts(unit, tools, tenant_id, row, bundle, context, standing, turns, contents=contents, at=at)
    return Case(row=row, bundle=bundle, context=context, standing=standing, facts=facts, turns=turns)


def is_case_current(unit: Unit, case: Case, submitter: Principal, *, at: Instant) -> bool:
    """Whether a case of a new bundle is still as it was read: the bundle is new, and nothing it rests on changed."""
    tenant_id, standing = submitter.tenant_id, case.standing
    return (
        unit.claims.find_bundle(tenant_id, case.row.bundle_hash) is None
        and active_policy(unit, tenant_id) == standing.policy
        and ceiling_of(unit, submitter, at) == standing.ceiling
        and _turns(unit, tenant_id, case.row, standing.policy, at) == case.turns
        and _cover(unit, tenant_id, case.row, standing.policy.approvals, at) == standing.mandate
    )


def _facts(
    unit: Unit,
    tools: Tools,
    tenant_id: TenantId,
    row: ReceivedBundle,
    bundle: ClaimBundle,
    context: BundleContext,
    standing: Standing,
    turns: Turns,
    *,
    contents: Mapping[str, bytes] = MappingProxyType({}),
    at: Instant,
) -> GateFacts:
    held, erased = _evidence(unit, tenant_id, bundle, contents)
    return GateFacts(
        now=at,
        submitter=row.submitted_by,
        risk_ceiling=standing.ceiling,
        # What had its turn is not counted again: people may take longer to approve it than a window lasts.
        recent_bundles=0 if standing.has_turn else turns.recent,
        estimates=context.estimates,
        questions=context.questions,
        contents=held,
        erased=erased,
        tool_arguments=context.tool_arguments,
        session=_session(unit, tenant_id, row),
        # It is in the ledger, or gets there in the commit of this decision: nobody is told of it before.
        audit_recorded=True,
        approvals=standing.approvals,
        approvals_due_at=standing.due_at,
        resumptions=standing.resumptions,
        asked_by=context.asked_by or None,
        edited_by=context.edited_by or None,
        mandate=standing.mandate,
        passages=context.passages or {},
        seen=cited_clauses(bundle) if row.submitted_by == own_agent(tools) else frozenset(),
        approvers=count_approvers(
            unit,
            tenant_id,
            approval_needs(bundle, standing.policy.approvals),
            parties=(bundle.origin_agent, row.submitted_by, context.asked_by or "", context.edited_by or ""),
            at=at,
        ),
    )


def load_standing(
    unit: Unit, tools: Tools, tenant_id: TenantId, row: ReceivedBundle, *, at: Instant
) -> tuple[Standing, Turns, tuple[Recorded, ...]]:
    """Answers are believed only with the signatures they were given under."""
    policy = active_policy(unit, tenant_id)
    rows = decided_rows(unit, tenant_id, row.bundle_hash)
    decisions = [told for _, told in rows]
    turns = _turns(unit, tenant_id, row, policy, at)
    # The ring is read anew each time, which only answers are worth.
    ring = desk_key_ring(unit, tools.founder) if any(told.tickets for told in decisions) else KeyRing()
    asked: list[tuple[Ticket, tuple[Answer, ...], ClaimsDecided]] = []
    for told in decisions:
        tickets = (get_ticket(unit, tenant_id, one.ticket_id) for one in told.tickets)
        asked += [(ticket, verified_answers(unit, ticket, ring), told) for ticket in tickets]
    is_asked = any(ticket.kind is TicketKind.APPROVAL for ticket, _, _ in asked)
    settled = {ticket.id: unit.review.find_settlement(tenant_id, ticket.id) is not None for ticket, _, _ in asked}
    standing = Standing(
        policy=policy,
        ceiling=_submitter_ceiling(unit, tools, tenant_id, row.submitted_by, at),
        approvals=_gathered(
            (
                approval
                for ticket, answers, _ in asked
                if ticket.kind is TicketKind.APPROVAL
                for approval in _approvals(unit, ticket, answers, policy.approvals, at)
            ),
            distinct_people=policy.approvals.distinct_people,
        ),
        resumptions=tuple(
            one
            for ticket, answers, told in asked
            for one in _resumptions(unit, ticket, answers, told, row.bundle_hash, at)
        ),
        due_at=min(_due(unit, [ticket for ticket, _, _ in asked], at), default=None),
        position=len(decisions),
        open_tickets=tuple(one for told in decisions for one in told.tickets if not settled[one.ticket_id]),
        deferrals=frozenset(
            (told.outcome.policy_hash, None if told.outcome.stop is None else told.outcome.stop.findings_hash)
            for ticket, _, told in asked
            if ticket.kind is TicketKind.DEFERRAL and not settled[ticket.id]
        ),
        is_superseded=unit.claims.find_successor(tenant_id, row.bundle_hash) is not None,
        has_turn=any(told.turn is not UNSET for told in decisions),
        has_room=turns.recent < policy.rate.bundles,
        mandate=None if is_asked else _cover(unit, tenant_id, row, policy.approvals, at),
    )
    return standing, turns, rows


def _cover(
    unit: Unit, tenant_id: TenantId, row: ReceivedBundle, policy: ApprovalPolicy, at: Instant
) -> MandateId | None:
    arguments = msgspec.json.decode(row.context, type=BundleContext).tool_arguments
    if len(arguments) != 1:
        return None
    return find_cover(unit, tenant_id, row, parse_bundle(row.text), arguments, policy, at=at)


def asked_of(unit: Unit, tenant_id: TenantId, wanted: Digest) -> tuple[ClaimsDecided, ...]:
    """Every decision about a bundle, in order, each with the questions that it put to people."""
    return tuple(told for _, told in decided_rows(unit, tenant_id, wanted))


def own_agent(tools: Tools) -> PrincipalId:
    """Under which name the node itself claims what it answers."""
    return PrincipalId(f"service:{tools.delivery.service}")


def _submitter_ceiling(
    unit: Unit, tools: Tools, tenant_id: TenantId, submitter: PrincipalId, at: Instant
) -> RiskTier | None:
    """The node may claim at any tier: whoever asked it was held to their own before it claimed anything."""
    found = unit.identity.find_principal(tenant_id, submitter)
    if found is None and submitter == own_agent(tools):
        is_fired = load_switch(unit.registry, tenant_id, tools.delivery.service).is_fired
        return RiskTier.READ_ONLY if is_fired else RiskTier.PRIVILEGE
    return ceiling_of(unit, found or get_principal(unit, tenant_id, submitter), at)


def ceiling_of(unit: Unit, principal: Principal, at: Instant) -> RiskTier | None:
    """What it may act at now: nothing once it is disabled, and only reading while its kill switch is latched."""
    if not principal.is_active(at):
        return None
    if principal.kind is PrincipalKind.SERVICE:
        service_id = principal.id.partition(":")[2]
        if load_switch(unit.registry, principal.tenant_id, service_id).is_fired:
            return RiskTier.READ_ONLY
    return principal.risk_ceiling


def _approvals(
    unit: Unit, ticket: Ticket, answers: tuple[Answer, ...], policy: ApprovalPolicy, at: Instant
) -> Iterator[Approval]:
    wanted = bundle_about(ticket)
    if wanted is None:
        return
    for answer in answers:
        person = get_principal(unit, answer.tenant_id, answer.by)
        is_rejecting = answer.choice in ticket.rejecting
        yield Approval(
            id=f"{ticket.id}/{answer.by}",
            bundle_hash=wanted,
            approver=answer.by,
            is_person=person.is_person(),
            # The desk let only holders of these answer it; an approval falls with the role, a rejection stands.
            roles=ticket.eligible_roles if is_rejecting else _held(person, ticket.eligible_roles),
            decision=HumanDecision.REJECTED if is_rejecting else HumanDecision.APPROVED,
            given_at=answer.answered_at,
            expires_at=Instant(answer.answered_at + timedelta(seconds=policy.valid_for_seconds)),
            reason=answer.reason,
            is_active=person.is_active(at),
        )


def _held(person: Principal, roles: Iterable[str]) -> tuple[str, ...]:
    return tuple(role for role in roles if role in person.roles)


def _gathered(approvals: Iterable[Approval], *, distinct_people: bool) -> tuple[Approval, ...]:
    """Where a policy lets one person stand for several roles, their answers are one, as old as the first of them."""
    given = tuple(approvals)
    if distinct_people:
        return given
    by_person: dict[tuple[str, HumanDecision], Approval] = {}
    for one in given:
        place = (one.approver, one.decision)
        first = by_person.setdefault(place, one)
        by_person[place] = replace(first, roles=tuple(sorted({*first.roles, *one.roles})))
    return tuple(by_person.values())


def _resumptions(
    unit: Unit, ticket: Ticket, answers: tuple[Answer, ...], told: ClaimsDecided, wanted: Digest, at: Instant
) -> Iterator[Resumption]:
    """For what the reviewer was shown: the findings of that decision, by the policy of that time."""
    stop = told.outcome.stop
    if ticket.kind is not TicketKind.DEFERRAL or stop is None or stop.findings_hash is None:
        return
    for answer in answers:
        person = get_principal(unit, answer.tenant_id, answer.by)
        if answer.choice in ticket.rejecting or not (person.is_active(at) and _held(person, ticket.eligible_roles)):
            continue
        yield Resumption(
            gate=stop.gate,
            bundle_hash=wanted,
            findings_hash=stop.findings_hash,
            policy_hash=told.outcome.policy_hash,
            reviewer=answer.by,
            resumed_at=answer.answered_at,
        )


def _due(unit: Unit, tickets: list[Ticket], at: Instant) -> Iterator[Instant]:
    """When each approval that is still undecided closes; one that has run out counts too, and stays closed."""
    for ticket in tickets:
        settlement = unit.review.find_settlement(ticket.tenant_id, ticket.id)
        is_waiting = settlement is None or settlement.state is SettlementState.EXPIRED
        if ticket.kind is not TicketKind.APPROVAL or ticket.due_at is None or not is_waiting:
            continue
        # An answer that was given in time counts in time: until the sweep has made it, silence has decided nothing.
        if at < ticket.due_at or not _is_answer_held(unit, ticket, at):
            yield ticket.due_at


def _is_answer_held(unit: Unit, ticket: Ticket, at: Instant) -> bool:
    return any(held.ticket_id == ticket.id for held in unit.desk.held_until(ticket.tenant_id, at))


def _turns(unit: Unit, tenant_id: TenantId, row: ReceivedBundle, policy: ClaimsPolicy, at: Instant) -> Turns:
    """How many had their turn in the window up to now: what came too fast waits, and takes its turn when there is room.

    A turn is taken with a decision, not with the sending: whoever sent too much cannot have it all gated at once later.
    """
    since = Instant(at - timedelta(seconds=policy.rate.window_seconds))
    return load_turns(unit, tenant_id, row.submitted_by, since=since)


def _session(unit: Unit, tenant_id: TenantId, row: ReceivedBundle) -> tuple[RiskTier, ...]:
    """The tiers of earlier bundles of its thread; for the first one of a thread, those of all threads of its agent."""

    def tiers(*, any_thread: bool) -> tuple[RiskTier, ...]:
        found = unit.claims.tiers(
            tenant_id,
            row.submitted_by,
            row.thread,
            since=Instant(row.received_at - _SESSION),
            before=row.sequence_number or _NOT_RECEIVED,
            limit=_SESSION_BUNDLES,
            any_thread=any_thread,
        )
        return tuple(RiskTier(tier) for tier in found)

    return tiers(any_thread=False) or tiers(any_thread=True)


def _evidence(
    unit: Unit, tenant_id: TenantId, bundle: ClaimBundle, given: Mapping[str, bytes]
) -> tuple[dict[str, bytes], frozenset[str]]:
    """What is held of the bundle's evidence, by source, and the hashes of what was erased.

    A source with several hashes is distinguished by them. `given` is evidence by hash that comes with the bundle. A
    gate must know what was erased: else erasing an attack would let the bundle pass.

    INVARIANT: nothing that is held is left out. A source that is written like another one with its hash does not take
    that one's place: guardians read both, and the evidence gate refuses what then is not its content.
    """
    pointers = {
        (pointer.source, pointer.evidence_hash)
        for claim in bundle.claims
        for pointer in claim.evidence_pointers
        if pointer.evidence_hash is not None
    }
    hashes = {hashed for _, hashed in pointers}
    sizes, erased = unit.claims.evidence_states(tenant_id, tuple(sorted(hashes))) if hashes else ({}, frozenset())
    wanted = {hashed: size for hashed, size in sizes.items() if is_full_hash(hashed)}
    if sum(wanted.values()) > MOST_EVIDENCE:
        raise ClaimsFlowError.evidence_size(
            f"expected at most {MOST_EVIDENCE} bytes of evidence, got {sum(wanted.values())}"
        )
    contents = {**given, **(unit.claims.contents(tenant_id, tuple(wanted)) if wanted else {})}
    for hashed, content in contents.items():
        if sha256(content).hexdigest() != hashed:
            raise DamagedRecordError(f"expected content with the hash {hashed}, got another")
    full = sorted((source, hashed) for source, hashed in pointers if is_full_hash(hashed))
    times = Counter(source for source, _ in full)
    found: dict[str, bytes] = {}
    for source, hashed in full:
        if hashed in contents:
            place = source if times[source] == 1 and source not in found else f"{source}#{hashed}"
            found[place] = contents[hashed]
    return found, erased


def count_approvers(
    unit: Unit, tenant_id: TenantId, needs: Iterable[ApprovalNeed], *, parties: tuple[str, ...] = (), at: Instant
) -> dict[str, int]:
    """Count who may answer for each role, or for the person who is named; machines and `parties` may not."""
    names = [need.role for need in needs]
    if not names:
        return {}
    people = [one for one in unit.identity.principals_with(tenant_id, names) if _may_answer(one, parties, at)]
    return {name: sum(name in one.roles or name == one.id for one in people) for name in names}


def find_unheld(unit: Unit, tenant_id: TenantId, policy: ClaimsPolicy, *, at: Instant) -> tuple[ApprovalNeed, ...]:
    """The needs of a policy that too few people could meet now, each role once with how many are missing."""
    needs = needs_of(policy)
    found = count_approvers(unit, tenant_id, needs, at=at)
    short = ((need.role, need.people - found[need.role]) for need in needs)
    return tuple(ApprovalNeed(role=role, people=people) for role, people in short if people > 0)


def needs_of(policy: ClaimsPolicy) -> tuple[ApprovalNeed, ...]:
    """Each role that a policy asks for, once, with the most people that any tier asks for."""
    needed: dict[str, int] = {}
    for need in (need for row in policy.approvals.by_tier for need in row.needs):
        needed[need.role] = max(needed.get(need.role, 0), need.people)
    return tuple(ApprovalNeed(role=role, people=people) for role, people in sorted(needed.items()))


def _may_answer(one: Principal, parties: tuple[str, ...], at: Instant) -> bool:
    return one.is_person() and one.is_active(at) and one.id not in parties
