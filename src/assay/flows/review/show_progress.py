"""How reviewers get on: each sees their own figures, and those who look after the desk everybody's.

viewer -> reviewers -> what each answered, without what blind review keeps from the viewer -> figures
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from assay.flows.review.by_ticket import by_ticket
from assay.flows.tools import Tools
from assay.identity.authorise import has_role
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.review.lease import live_leases
from assay.review.progress import GivenAnswer, Progress, measure_progress
from assay.review.sight import STEWARDS, is_blind

__all__ = ["show_progress"]

_READERS = (*STEWARDS, BuiltInRole.AUDITOR)


def show_progress(tools: Tools, tenant_id: TenantId, *, viewer: Principal | None, at: Instant) -> tuple[Progress, ...]:
    """By name: all reviewers for those who look after the desk or audit it, else the viewer's own figures alone.

    No viewer is the operator of the node's folder, who sees all. Others' answers to an open ticket that the viewer has
    yet to judge by themselves are in no figure, held ones neither; whoever has given no other answer is not listed.
    """

    def look(unit: Unit) -> tuple[Progress, ...]:
        if viewer is not None and not has_role(viewer, _READERS):
            return _figures(unit, tenant_id, (viewer.id,), at)
        names = unit.review.reviewers(tenant_id)
        if viewer is None:
            return _figures(unit, tenant_id, names, at)
        hidden = _hidden(unit, tenant_id, viewer)
        found = _figures(unit, tenant_id, names, at, lambda by, ticket_id: by == viewer.id or ticket_id not in hidden)
        return tuple(one for one in found if one.answered)

    return tools.database.read(look)


def _hidden(unit: Unit, tenant_id: TenantId, viewer: Principal) -> frozenset[TicketId]:
    """The tickets of which the viewer must not learn yet who has answered."""
    waiting = [one for one in unit.review.tickets(tenant_id, unsettled_only=True) if one.quorum > 1]
    answers = by_ticket(unit.review.answers_on(tenant_id, [one.id for one in waiting]))
    return frozenset(
        one.id
        for one in waiting
        if is_blind(one, viewer, [given.by for given in answers.get(one.id, ())], settled=False)
    )


def _figures(
    unit: Unit,
    tenant_id: TenantId,
    names: Sequence[PrincipalId],
    at: Instant,
    is_told: Callable[[PrincipalId, TicketId], bool] = lambda _by, _ticket_id: True,
) -> tuple[Progress, ...]:
    leases = Counter(one.by for one in live_leases(unit.desk.leases_of(tenant_id, names), at))
    held = Counter(row.by for row in unit.desk.held_of(tenant_id, names) if is_told(row.by, row.ticket_id))

    def measured(by: PrincipalId, given: Iterable[GivenAnswer]) -> Progress:
        told = (one for one in given if is_told(by, one.ticket.id))
        return measure_progress(by, told, open_leases=leases[by], held=held[by])

    # One person after the other: what all of them were ever shown may be much.
    everything = groupby(unit.review.answers_by(tenant_id, names), key=lambda one: one.answer.by)
    found = {by: measured(by, given) for by, given in everything}
    return tuple(found.get(by) or measured(by, ()) for by in names)
