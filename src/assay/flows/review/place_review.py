"""A person says whose a ticket is, or how soon it should be looked at; neither makes anybody eligible."""

from assay.flows.review.act_review import Seat, Wish
from assay.flows.review.settle_review import require_unsettled
from assay.kernel.ids import PrincipalId
from assay.ports.database import Unit
from assay.review.act import Act, Assign, Prioritise, Priority
from assay.review.placement import require_assignable
from assay.review.sight import require_steward
from assay.review.ticket import Ticket

__all__ = ["assign_wish", "priority_wish"]


def assign_wish(*, person: PrincipalId | None = None, role: str | None = None) -> Wish:
    """For a person or a role that may answer it; for neither, it is everybody's again."""
    wanted = Assign(person=person, role=role)

    def body(seat: Seat) -> Assign:
        require_steward(seat.ticket, seat.person, seat.at)
        require_unsettled(seat.unit, seat.ticket)
        named = None if person is None else seat.unit.identity.find_principal(seat.ticket.tenant_id, person)
        require_assignable(seat.ticket, wanted, named, seat.at)
        return wanted

    return Wish(body=body)


def priority_wish(priority: Priority) -> Wish:
    def body(seat: Seat) -> Prioritise:
        require_steward(seat.ticket, seat.person, seat.at)
        require_unsettled(seat.unit, seat.ticket)
        return Prioritise(priority=priority)

    def change(unit: Unit, ticket: Ticket, _act: Act) -> None:
        unit.review.prioritise(ticket, priority)

    return Wish(body=body, change=change)
