"""How reviewers get on: each sees their own figures, and those who look after the desk everybody's.

viewer -> reviewers -> what each answered, without what blind review keeps from the viewer -> figures
"""

from assay.flows.tools import Tools
from assay.identity.authorise import has_role
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.review.lease import live_leases
from assay.review.progress import Progress, measure_progress
from assay.review.settle import settle
from assay.review.sight import STEWARDS, is_blind
from assay.review.ticket import Ticket

__all__ = ["show_progress"]

_READERS = (*STEWARDS, BuiltInRole.AUDITOR)


def show_progress(tools: Tools, tenant_id: TenantId, *, viewer: Principal | None, at: Instant) -> tuple[Progress, ...]:
    """By name: all reviewers for those who look after the desk or audit it, else the viewer's own figures alone.

    No viewer is the operator of the node's folder, who sees all. Others' answers to an open ticket that the viewer has
    yet to judge by themselves are in no figure, held ones neither; whoever has given no other answer is not listed.
    """

    def look(unit: Unit) -> tuple[Progress, ...]:
        names = unit.review.reviewers(tenant_id)
        if viewer is None:
            return tuple(_progress(unit, tenant_id, name, at) for name in names)
        if not has_role(viewer, _READERS):
            return (_progress(unit, tenant_id, viewer.id, at),)
        hidden, own = _hidden(unit, tenant_id, viewer, at), frozenset[TicketId]()
        found = (_progress(unit, tenant_id, name, at, own if name == viewer.id else hidden) for name in names)
        return tuple(one for one in found if one.answered)

    return tools.database.read(look)


def _hidden(unit: Unit, tenant_id: TenantId, viewer: Principal, at: Instant) -> frozenset[TicketId]:
    """The tickets of which the viewer must not learn yet who has answered."""
    waiting = unit.review.tickets(tenant_id, unsettled_only=True)
    return frozenset(one.id for one in waiting if one.quorum > 1 and _is_hidden(unit, one, viewer, at))


def _is_hidden(unit: Unit, ticket: Ticket, viewer: Principal, at: Instant) -> bool:
    answers = unit.review.answers(ticket.tenant_id, ticket.id)
    is_settled = not settle(ticket, answers, at=at).is_open
    return is_blind(ticket, viewer, [one.by for one in answers], settled=is_settled)


def _progress(
    unit: Unit, tenant_id: TenantId, by: PrincipalId, at: Instant, hidden: frozenset[TicketId] = frozenset()
) -> Progress:
    given, held = unit.review.answers_by(tenant_id, by), unit.desk.held_of(tenant_id, by)
    return measure_progress(
        by,
        (one for one in given if one.ticket.id not in hidden),
        open_leases=len(live_leases(unit.desk.leases_of(tenant_id, by), at)),
        held=sum(row.ticket_id not in hidden for row in held),
    )
