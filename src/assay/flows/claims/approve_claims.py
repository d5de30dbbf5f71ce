"""People decide about a bundle on the review desk: what an answer must be, and what follows from it.

answer -> counts for this bundle, or is refused;  settlement -> a denial is a REFUSE on record, in the same commit
An approval changes nothing by itself: the chain is run again over the bundle that it binds.
"""

from msgspec import Struct

from assay.claims.finding import FindingCode
from assay.flows.claims.claims_facts import active_policy, asked_of
from assay.flows.claims.claims_ticket import bundle_about
from assay.flows.claims.decide_claims import GatedClaims, decide_claims, refuse_bundle
from assay.flows.claims.show_claims import keep_back
from assay.flows.errors.claims import ClaimsFlowError
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.problem import NAME_FORM
from assay.kernel.digest import Digest
from assay.kernel.errors import Error
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.review.answer import Answer
from assay.review.kind import TicketKind
from assay.review.settle import Settlement, SettlementState
from assay.review.ticket import Ticket


class Regated(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The bundle as it was decided again after an answer; without `gated`, `code` and `problem` say why not yet."""

    bundle_hash: Digest
    gated: GatedClaims | None
    code: str | None = None
    problem: str | None = None


def gate_again(tools: Tools, caller: Caller, ticket: Ticket) -> Regated | None:
    """Gate the bundle of a ticket that was answered; None where the ticket is about something else.

    The answer is durable already, so a failure is returned and not raised: the caller would give the answer again.
    """
    wanted = bundle_about(ticket)
    if wanted is None:
        return None
    try:
        gated = decide_claims(tools, caller.tenant_id, wanted, at=caller.at)
        # An answer that can still be undone does not count: until then others' answers are not shown to its giver.
        seen = tools.database.read(lambda unit: keep_back(unit, caller.tenant_id, gated, caller.principal))
    except Error as error:
        return Regated(bundle_hash=wanted, gated=None, code=error.code, problem=str(error))
    return Regated(bundle_hash=wanted, gated=seen)


def require_approver(unit: Unit, ticket: Ticket, answer: Answer, _at: Instant) -> None:
    """The follow-up of each answer: one that would not count is refused, so that nobody believes it did."""
    wanted = bundle_about(ticket)
    if wanted is None:
        return
    if unit.claims.find_successor(ticket.tenant_id, wanted) is not None:
        raise ClaimsFlowError.superseded(f"expected a bundle that no other was put in place of, got `{wanted}`")
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
    is_late = settlement.state is SettlementState.EXPIRED
    code = FindingCode.APPROVAL_EXPIRED if is_late else FindingCode.APPROVAL_REJECTED
    refuse_bundle(unit, ticket.tenant_id, wanted, code, settlement.reason, at=at)


def _require_named(unit: Unit, ticket: Ticket, answer: Answer, wanted: Digest) -> None:
    """Where a bundle asks for one person, only that person's approval counts."""
    asked = (one for told in asked_of(unit, ticket.tenant_id, wanted) for one in told.tickets)
    role = next((one.role for one in asked if one.ticket_id == ticket.id), None)
    if role is not None and NAME_FORM.fullmatch(role) is None and answer.by != role:
        raise ClaimsFlowError.approver_refused(f"expected the approval of `{role}`, got one by `{answer.by}`")


def _require_four_eyes(unit: Unit, ticket: Ticket, answer: Answer, wanted: Digest) -> None:
    """Nobody stands for two roles, unless the policy says that one person may."""
    if not active_policy(unit, ticket.tenant_id).approvals.distinct_people:
        return
    for told in asked_of(unit, ticket.tenant_id, wanted):
        for one in (one for one in told.tickets if one.role is not None and one.ticket_id != ticket.id):
            if any(given.by == answer.by for given in unit.review.answers(ticket.tenant_id, one.ticket_id)):
                raise ClaimsFlowError.approver_refused(
                    f"`{answer.by}` has answered as {one.role}, expected another person"
                )
