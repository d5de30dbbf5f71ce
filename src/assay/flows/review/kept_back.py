"""What a ticket shows may be kept from somebody who could read it otherwise: an output that is withheld from them.

ticket + viewer -> did they ask for the output that others judge, or is it below their floor? -> the ticket is not there
"""

from assay.delivery.workitem import WorkItem
from assay.flows.claims.claims_ticket import bundle_about
from assay.flows.delivery.delivery_entry import read_text
from assay.flows.delivery.item_sight import is_hidden
from assay.identity.principal import Principal
from assay.ports.database import Unit
from assay.review.kind import TicketKind
from assay.review.sight import may_read
from assay.review.ticket import Ticket


def is_readable(unit: Unit, ticket: Ticket, viewer: Principal | None) -> bool:
    """Whether the ticket concerns the viewer, and shows nothing that is withheld from them."""
    return viewer is None or (may_read(ticket, viewer) and not is_kept_from(unit, ticket, viewer))


def is_kept_from(unit: Unit, ticket: Ticket, viewer: Principal | None) -> bool:
    """Whatever roles the viewer holds; never without a viewer: the operator of the node's folder reads the database."""
    if viewer is None:
        return False
    return _asked_for_it(unit, ticket, viewer) or _is_below_floor(unit, ticket, viewer)


def _asked_for_it(unit: Unit, ticket: Ticket, viewer: Principal) -> bool:
    """The gates hold an output of the node from its asker until people have answered; claims of one's own are known."""
    wanted = bundle_about(ticket) if ticket.requested_by == viewer.id else None
    if wanted is None:
        return False
    row = unit.claims.find_bundle(ticket.tenant_id, wanted)
    return row is None or row.submitted_by != viewer.id


def _is_below_floor(unit: Unit, ticket: Ticket, viewer: Principal) -> bool:
    if ticket.kind is not TicketKind.ROOT_CAUSE or not viewer.authenticity_level_floor or ticket.about is None:
        return False
    asked = unit.delivery.find_asked(ticket.tenant_id, ticket.about)
    return asked is None or is_hidden(unit, ticket.tenant_id, read_text(asked.text, WorkItem), viewer)
