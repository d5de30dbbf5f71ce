"""People decide about a bundle on the review desk: what an answer must be, and what follows from it.

answer -> counts for this bundle, or is refused;  settlement -> a denial is a REFUSE on record, in the same commit
An approval changes nothing by itself: the chain is run again over the bundle that it binds.
"""

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from assay.claims.bundle import ClaimBundle
from assay.claims.edit import BundleEdit, ClaimChange, edited_document, find_changes
from assay.claims.finding import FindingCode
from assay.claims.parse_bundle import check_bundle, parse_bundle
from assay.claims.problem import render_claim_problems
from assay.facts.claims import BundleContext, received_entry, received_row
from assay.flows.claims.claims_facts import active_policy, asked_of
from assay.flows.claims.claims_rows import changes_of
from assay.flows.claims.claims_ticket import bundle_about
from assay.flows.claims.decide_claims import GatedClaims, decide_claims, refuse_bundle
from assay.flows.claims.show_claims import keep_back
from assay.flows.errors import NotFoundError
from assay.flows.errors.claims import ClaimsFlowError
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.problem import NAME_FORM
from assay.kernel.digest import Digest
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.claims_store import ReceivedBundle
from assay.ports.database import Unit
from assay.review.answer import Answer
from assay.review.kind import TicketKind
from assay.review.settle import Settlement, SettlementState
from assay.review.ticket import Ticket

_NO_BODY = "{}"


class Regated(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The bundle as it was decided again after an answer; without `gated`, `code` and `problem` say why not yet.

    After an edit it is the bundle that takes the place of the one that `edits` names, with its `changes`.
    """

    bundle_hash: Digest
    gated: GatedClaims | None
    code: str | None = None
    problem: str | None = None
    edits: Digest | None = None
    changes: tuple[ClaimChange, ...] = ()


def gate_again(tools: Tools, caller: Caller, ticket: Ticket) -> Regated | None:
    """Gate the bundle of a ticket that was answered; None where the ticket is about something else.

    The answer is durable already, so a failure is returned and not raised: the caller would give the answer again.
    """
    wanted = bundle_about(ticket)
    if wanted is None:
        return None
    edited = tools.database.read(lambda unit: find_edit(unit, caller.tenant_id, wanted))
    if edited is not None:
        return _gate_edit(tools, caller, wanted, *edited)
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
    row = _get_bundle(unit, ticket.tenant_id, wanted)
    if answer.choice in ticket.rejecting:
        if answer.body != _NO_BODY:
            _edited(row, answer)
        return
    if msgspec.json.decode(row.context, type=BundleContext).edited_by == answer.by:
        raise ClaimsFlowError.approver_refused(f"`{answer.by}` edited this bundle, expected another person")
    if ticket.kind is not TicketKind.APPROVAL:
        return
    _require_named(unit, ticket, answer, wanted)
    _require_four_eyes(unit, ticket, answer, wanted)


def settle_claims(unit: Unit, ticket: Ticket, settlement: Settlement, answers: tuple[Answer, ...], at: Instant) -> None:
    """The follow-up of a decision: a rejection, or an approval nobody gave in time, refuses the bundle for good.

    A rejection with an edit puts the edited bundle in its place; it is on record with this commit, and gated after it.
    """
    wanted = bundle_about(ticket)
    if wanted is None or not settlement.denied:
        return
    is_late = settlement.state is SettlementState.EXPIRED
    code = FindingCode.APPROVAL_EXPIRED if is_late else FindingCode.APPROVAL_REJECTED
    refuse_bundle(unit, ticket.tenant_id, wanted, code, settlement.reason, at=at)
    edit = next((one for one in answers if one.choice == settlement.choice and one.body != _NO_BODY), None)
    if edit is not None and unit.claims.find_successor(ticket.tenant_id, wanted) is None:
        _put_in_place(unit, ticket.tenant_id, _get_bundle(unit, ticket.tenant_id, wanted), edit, at)


def find_edit(unit: Unit, tenant_id: TenantId, wanted: Digest) -> tuple[Digest, tuple[ClaimChange, ...]] | None:
    """The bundle that a reviewer put in the place of this one, with what was changed; None where nobody did."""
    successor = unit.claims.find_successor(tenant_id, wanted)
    if successor is None:
        return None
    changes = changes_of(unit, tenant_id, successor)
    return (successor.bundle_hash, changes) if changes else None


def _gate_edit(
    tools: Tools, caller: Caller, edits: Digest, wanted: Digest, changes: tuple[ClaimChange, ...]
) -> Regated:
    try:
        gated = decide_claims(tools, caller.tenant_id, wanted, at=caller.at)
    except Error as error:
        return Regated(
            bundle_hash=wanted, gated=None, code=error.code, problem=str(error), edits=edits, changes=changes
        )
    return Regated(bundle_hash=wanted, gated=gated, edits=edits, changes=changes)


def _edited(row: ReceivedBundle, answer: Answer) -> tuple[ClaimBundle, BundleContext]:
    """The bundle that an edit makes, and what comes with it; raise where it is none, or is the same."""
    context = msgspec.json.decode(row.context, type=BundleContext)
    if context.answer_id is not UNSET:
        told = "expected an edit of an agent's bundle, got one of an output of this node"
        raise ClaimsFlowError.edit(f"{told}: reject it, and ask again")
    try:
        edit = msgspec.json.decode(answer.body, type=BundleEdit)
    except msgspec.MsgspecError as error:
        told = 'expected {"claims": [...]} with every claim, and "tool_arguments" where they change'
        raise ClaimsFlowError.edit(f"{told}: {error}") from error
    before = parse_bundle(row.text)
    finding = check_bundle(edited_document(before, edit, at=answer.answered_at))
    if finding.bundle is None:
        raise ClaimsFlowError.edit(f"expected claims, got: {render_claim_problems(finding.problems)}")
    arguments = context.tool_arguments if edit.tool_arguments is UNSET else edit.tool_arguments
    if not find_changes(before, finding.bundle, context.tool_arguments, arguments):
        raise ClaimsFlowError.edit("expected a change, got the same claims")
    made = replace(context, tool_arguments=arguments, estimates={}, questions={}, estimate_problem=None)
    return finding.bundle, replace(made, passages=finding.passages or UNSET, edited_by=answer.by)


def _put_in_place(unit: Unit, tenant_id: TenantId, row: ReceivedBundle, answer: Answer, at: Instant) -> None:
    bundle, context = _edited(row, answer)
    made = received_row(
        bundle, context, submitted_by=row.submitted_by, thread=row.thread, resumes=row.bundle_hash, at=at
    )
    unit.record(received_entry(tenant_id, made, bundle, context))


def _get_bundle(unit: Unit, tenant_id: TenantId, wanted: Digest) -> ReceivedBundle:
    row = unit.claims.find_bundle(tenant_id, wanted)
    if row is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no bundle `{wanted}`")
    return row


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
