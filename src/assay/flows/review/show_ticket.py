"""One ticket as one person sees it: what it asks, who works on it, what was said, and what they began themselves."""

from msgspec import Struct
from msgspec.structs import replace

from assay.flows.errors import NotFoundError
from assay.flows.known import get_ticket
from assay.flows.review.check_answer import check_answer, desk_key_ring
from assay.flows.review.comment_review import ShownComment, load_comments
from assay.flows.review.decided_keys import decided_keys
from assay.flows.review.held_answers import find_held
from assay.flows.review.inspect_review import ReviewView
from assay.flows.review.keep_draft import KeptDraft, find_draft
from assay.flows.review.kept_back import is_kept_from
from assay.flows.review.settle_now import settle_now
from assay.flows.review.show_queue import placement_of
from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.kernel.ids import TenantId, TicketId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.review.escalate import Stage
from assay.review.hold import HeldAnswer
from assay.review.lease import Lease, live_leases
from assay.review.placement import Placement
from assay.review.sight import hide_others, is_blind, may_read
from assay.review.ticket import Ticket

__all__ = ["DeskTicket", "get_readable", "show_ticket"]


class DeskTicket(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`blind` says that others' answers and comments are kept back until this person's own answer counts.

    `held` and `draft` are this person's and nobody else's. `decided` is what the room made of the answers while the
    ticket is still open for others to contradict it.
    """

    review: ReviewView
    blind: bool
    placement: Placement
    leases: tuple[Lease, ...]
    stages: tuple[Stage, ...]
    comments: tuple[ShownComment, ...]
    held: HeldAnswer | None = None
    draft: KeptDraft | None = None
    decided: str | None = None


def show_ticket(
    tools: Tools, tenant_id: TenantId, ticket_id: TicketId, *, viewer: Principal | None, at: Instant
) -> DeskTicket:
    """`flow.not_found` for whom it does not concern; no viewer is the operator of the node's folder, who sees all."""

    def look(unit: Unit) -> DeskTicket:
        ticket = get_readable(unit, tenant_id, ticket_id, viewer)
        whole = _whole(unit, tools, ticket, at)
        if viewer is None:
            return whole
        own = replace(whole, held=find_held(unit, ticket, viewer.id), draft=find_draft(unit, ticket, viewer.id))
        return _blinded(own, viewer)

    return tools.database.read(look)


def get_readable(unit: Unit, tenant_id: TenantId, ticket_id: TicketId, viewer: Principal | None) -> Ticket:
    ticket = get_ticket(unit, tenant_id, ticket_id)
    if viewer is not None and (not may_read(ticket, viewer) or is_kept_from(unit, ticket, viewer)):
        raise NotFoundError(f"tenant `{tenant_id}` has no ticket `{ticket_id}` for `{viewer.id}`")
    return ticket


def _whole(unit: Unit, tools: Tools, ticket: Ticket, at: Instant) -> DeskTicket:
    tenant_id, ring = ticket.tenant_id, desk_key_ring(unit, tools.founder)
    findings = tuple(check_answer(unit, ticket, one, ring) for one in unit.review.answers(tenant_id, ticket.id))
    recorded = unit.review.find_settlement(tenant_id, ticket.id)
    standing = recorded or settle_now(unit, ticket, [one.answer for one in findings if one.verified], at=at)
    return DeskTicket(
        review=ReviewView(ticket=ticket, answers=findings, settlement=standing, recorded=recorded is not None),
        blind=False,
        placement=placement_of(unit, ticket),
        leases=live_leases(unit.desk.leases(tenant_id, ticket.id), at),
        stages=tuple(one.stage for one in unit.desk.escalations(tenant_id, ticket.id)),
        comments=load_comments(unit, ticket, unit.desk.acts(tenant_id, ticket.id), ring),
        decided=None if recorded is not None else decided_keys(unit, tenant_id, [ticket]).get(ticket.id),
    )


def _blinded(seen: DeskTicket, viewer: Principal) -> DeskTicket:
    """What they said themselves stays."""
    ticket, standing = seen.review.ticket, seen.review.settlement
    answered = [one.answer.by for one in seen.review.answers]
    if not is_blind(ticket, viewer, answered, settled=not standing.is_open):
        return seen
    return replace(
        seen,
        blind=True,
        review=replace(seen.review, answers=(), settlement=hide_others(standing)),
        comments=tuple(one for one in seen.comments if one.by == viewer.id),
    )
