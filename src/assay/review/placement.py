"""Where a ticket has been put: how soon people should look at it, and who. It steers, and allows nobody anything."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from assay.identity.principal import Principal
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.review.act import Assign, Prioritise, Priority, UnsignedAct, parse_act_body
from assay.review.draft import require_reviewer
from assay.review.errors import ReviewError
from assay.review.ticket import Ticket


class Placement(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """As the latest acts have it; at first everybody's, and as urgent as any."""

    priority: Priority = Priority.NORMAL
    person: PrincipalId | None = None
    role: str | None = None


def place_ticket(acts: Iterable[UnsignedAct]) -> Placement:
    """Acts in the order they were recorded; the last one of each kind stands."""
    placed = Placement()
    for act in acts:
        body = parse_act_body(act)
        if isinstance(body, Assign):
            placed = replace(placed, person=body.person, role=body.role)
        elif isinstance(body, Prioritise):
            placed = replace(placed, priority=body.priority)
    return placed


def require_assignable(ticket: Ticket, wanted: Assign, person: Principal | None, at: Instant) -> None:
    """Raise unless the assignee could answer the ticket. `person` is the principal of that name, if there is one."""
    if wanted.person is not None and wanted.role is not None:
        raise ReviewError.assignee("expected a person or a role, got both")
    if wanted.role is not None and wanted.role not in ticket.eligible_roles:
        raise ReviewError.assignee(f"expected one of `{', '.join(ticket.eligible_roles)}`, got `{wanted.role[:80]}`")
    if wanted.person is None:
        return
    if person is None:
        raise ReviewError.assignee(f"expected a principal of this tenant, got `{wanted.person[:80]}`")
    require_reviewer(ticket, person, at)
