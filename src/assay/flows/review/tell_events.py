"""Which events are told to whom: where each shall judge by themselves, not that others have answered or what they said.

events -> those about a question that this person is still to answer are left out -> the rest
What is left out is not told later either; the timeline of the ticket has it then.
"""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from assay.flows.claims.show_claims import is_kept_back
from assay.flows.delivery.emit_event import is_emitted
from assay.flows.review.show_timeline import SAID
from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.kernel.digest import Digest
from assay.kernel.ids import TicketId
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.events import OutboxEvent
from assay.review.sight import is_blind


class _Placed(Struct, frozen=True, kw_only=True):
    """Which decision about a bundle an event tells of."""

    position: int


def may_tell_of_others(events: Iterable[OutboxEvent]) -> bool:
    """Whether any of them could be one to leave out: most are not, and nothing need be looked up."""
    return any(one.type in SAID or one.type == EntryKind.CLAIMS_DECIDED for one in events)


def told_events(tools: Tools, events: Iterable[OutboxEvent], viewer: Principal) -> tuple[OutboxEvent, ...]:
    """As `tell_events`, as things are now."""
    return tools.database.read(lambda unit: tell_events(unit, events, viewer))


def tell_events(unit: Unit, events: Iterable[OutboxEvent], viewer: Principal) -> tuple[OutboxEvent, ...]:
    return tuple(one for one in events if not _is_kept_from(unit, one, viewer))


def _is_kept_from(unit: Unit, event: OutboxEvent, viewer: Principal) -> bool:
    tenant_id = viewer.tenant_id
    if is_emitted(event):
        return False
    if event.type == EntryKind.CLAIMS_DECIDED:
        position = msgspec.json.decode(event.body, type=_Placed).position
        return position > 1 and is_kept_back(unit, tenant_id, Digest(event.subject), position, viewer)
    if event.type not in SAID:
        return False
    ticket_id = TicketId(event.subject)
    ticket = unit.review.find_ticket(tenant_id, ticket_id)
    if ticket is None:
        return True
    answered = [one.by for one in unit.review.answers(tenant_id, ticket_id)]
    return is_blind(ticket, viewer, answered, settled=unit.review.find_settlement(tenant_id, ticket_id) is not None)
