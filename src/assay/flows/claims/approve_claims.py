"""People decide about a bundle on the review desk: what an answer must be, and what follows from it.

answer -> counts for this bundle, or is refused;  settlement -> a denial is a REFUSE on record, in the same commit
An approval changes nothing by itself: the chain is run again over the bundle that it binds.
"""

from msgspec import Struct
from msgspec.structs import replace

from assay.claims.bundle import ClaimBundle, Decision, GateName
from assay.claims.decide import run_gates
from assay.claims.finding import Finding, FindingCode
from assay.claims.gate import Gate, GateAnswer, GateFacts
from assay.claims.parse_bundle import parse_bundle
from assay.claims.policy import ClaimsPolicy, Mode
from assay.flows.claims.blind_claims import keep_back
from assay.flows.claims.claims_facts import active_policy, asked_of
from assay.flows.claims.claims_rows import find_received
from assay.flows.claims.claims_ticket import bundle_about
from assay.flows.claims.decide_claims import FINAL, GatedClaims, decide_claims, record_decision
from assay.flows.errors import NotFoundError
from assay.flows.errors.claims import ApproverRefusedError, SupersededBundleError
from assay.flows.identity.authenticate import authenticate_in
from assay.flows.known import get_ticket
from assay.flows.review.answer_review import Answered, SignedElsewhere, answer_review
from assay.flows.review.settle_review import FollowUps
from assay.flows.review.show_ticket import get_readable
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.principal import Principal
from assay.identity.problem import NAME_FORM
from assay.kernel.digest import Digest
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId, TicketId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.signer import Signer
from assay.review.answer import Answer
from assay.review.draft import Reply
from assay.review.kind import TicketKind
from assay.review.settle import Settlement, SettlementState
from assay.review.ticket import Ticket


class AnsweredClaims(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The recorded answer, and the bundle as it stands with it; while that could not be decided, why."""

    answered: Answered
    gated: GatedClaims | None
    code: str | None = None
    problem: str | None = None


def answer_claims(
    tools: Tools,
    ticket_id: TicketId,
    reply: Reply,
    *,
    credential: str,
    follow_ups: FollowUps,
    signing: Signer | SignedElsewhere | None = None,
    at: Instant,
) -> AnsweredClaims:
    """Answer a ticket about a bundle, and gate the bundle again; the answer is durable whatever comes of that.

    A ticket about anything else is not there.
    """
    caller, wanted = tools.database.read(lambda unit: _bundle_asked(unit, ticket_id, credential, at))
    person = caller.principal
    answered = answer_review(tools, caller, ticket_id, reply, signing=signing, follow_ups=follow_ups)
    tenant_id = answered.receipt.tenant_id
    try:
        gated = decide_claims(tools, tenant_id, wanted, at=at)
        # An answer that can still be undone does not count: until then others' answers are kept back from its giver.
        seen = tools.database.read(lambda unit: keep_back(unit, tenant_id, gated, person))
        return AnsweredClaims(answered=answered, gated=seen)
    except Error as error:
        # Of any family: the answer is on disk, and whoever hears of a failure would give it again.
        return AnsweredClaims(answered=answered, gated=None, code=error.code, problem=str(error))


def get_claims_ticket(unit: Unit, tenant_id: TenantId, ticket_id: TicketId) -> Ticket:
    """A ticket about a bundle; others are for the desk that opened them."""
    ticket = get_ticket(unit, tenant_id, ticket_id)
    if bundle_about(ticket) is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no ticket `{ticket_id}` about a bundle")
    return ticket


def get_readable_ticket(unit: Unit, principal: Principal, ticket_id: TicketId) -> Ticket:
    """Return a ticket about a bundle, for those who may read it on the desk; to others it is not there."""
    get_claims_ticket(unit, principal.tenant_id, ticket_id)
    return get_readable(unit, principal.tenant_id, ticket_id, principal)


def _bundle_asked(unit: Unit, ticket_id: TicketId, credential: str, at: Instant) -> tuple[Caller, Digest]:
    caller = authenticate_in(unit, credential, at=at)
    wanted = bundle_about(get_claims_ticket(unit, caller.tenant_id, ticket_id))
    assert wanted is not None  # noqa: S101 - a ticket about a bundle has one
    return caller, wanted


def require_approver(unit: Unit, ticket: Ticket, answer: Answer, _at: Instant) -> None:
    """The follow-up of each answer: one that would not count is refused, so that nobody believes it did."""
    wanted = bundle_about(ticket)
    if wanted is None:
        return
    if unit.claims.find_successor(ticket.tenant_id, wanted) is not None:
        raise SupersededBundleError(f"expected a bundle that no other was put in place of, got `{wanted}`")
    if ticket.kind is not TicketKind.APPROVAL or answer.choice in ticket.rejecting:
        return
    _require_named(unit, ticket, answer, wanted)
    _require_four_eyes(unit, ticket, answer, wanted)


def settle_claims(
    unit: Unit, ticket: Ticket, settlement: Settlement, _answers: tuple[Answer, ...], at: Instant
) -> None:
    """The follow-up of a decision: a rejection, or an approval nobody gave in time, refuses the bundle for good."""
    wanted = bundle_about(ticket)
    if wanted is None or not settlement.denied:
        return
    row = find_received(unit, ticket.tenant_id, wanted)
    if row is None:
        raise NotFoundError(f"tenant `{ticket.tenant_id}` has no bundle `{wanted}`")
    decisions = asked_of(unit, ticket.tenant_id, wanted)
    if decisions and decisions[-1].outcome.decision in FINAL:
        return
    # Whatever the policy says by now: what people denied is not waved through.
    policy = replace(active_policy(unit, ticket.tenant_id), mode=Mode.ENFORCE)
    facts = GateFacts(now=at, submitter=row.submitted_by, risk_ceiling=None)
    bundle = parse_bundle(row.text)
    outcome = run_gates(bundle, ((GateName.HUMAN_APPROVAL, _denied_by(settlement)),), facts, policy)
    record_decision(unit, ticket.tenant_id, bundle, outcome, position=len(decisions) + 1)


def _require_named(unit: Unit, ticket: Ticket, answer: Answer, wanted: Digest) -> None:
    """Where a bundle asks for one person, only that person's approval counts."""
    asked = (one for told in asked_of(unit, ticket.tenant_id, wanted) for one in told.tickets)
    role = next((one.role for one in asked if one.ticket_id == ticket.id), None)
    if role is not None and NAME_FORM.fullmatch(role) is None and answer.by != role:
        raise ApproverRefusedError(f"expected the approval of `{role}`, got one by `{answer.by}`")


def _require_four_eyes(unit: Unit, ticket: Ticket, answer: Answer, wanted: Digest) -> None:
    """Nobody stands for two roles, unless the policy says that one person may."""
    if not active_policy(unit, ticket.tenant_id).approvals.distinct_people:
        return
    for told in asked_of(unit, ticket.tenant_id, wanted):
        for one in (one for one in told.tickets if one.role is not None and one.ticket_id != ticket.id):
            if any(given.by == answer.by for given in unit.review.answers(ticket.tenant_id, one.ticket_id)):
                raise ApproverRefusedError(f"`{answer.by}` has answered as {one.role}, expected another person")


def _denied_by(settlement: Settlement) -> Gate:
    is_late = settlement.state is SettlementState.EXPIRED
    code = FindingCode.APPROVAL_EXPIRED if is_late else FindingCode.APPROVAL_REJECTED
    found = Finding(code=code, message=settlement.reason, decision=Decision.REFUSE)

    def denied(_bundle: ClaimBundle, _facts: GateFacts, _policy: ClaimsPolicy) -> GateAnswer:
        return GateAnswer(
            gate=GateName.HUMAN_APPROVAL,
            passed=False,
            decision=Decision.REFUSE,
            reason=settlement.reason,
            findings=(found,),
        )

    return denied
