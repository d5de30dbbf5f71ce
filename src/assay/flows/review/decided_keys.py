"""Which open validation tickets ask about a claim that is final already: others may contradict it until their end."""

from collections.abc import Iterable

from assay.kernel.ids import TenantId, TicketId
from assay.ports.database import Unit
from assay.review.kind import TicketKind
from assay.review.ticket import Ticket
from assay.truth.status import FINAL_STATUSES


def decided_keys(unit: Unit, tenant_id: TenantId, unsettled: Iterable[Ticket]) -> dict[TicketId, str]:
    """The final status in force, by ticket; one that is not decided is left out."""
    asked = {one.id: one.about for one in unsettled if one.kind is TicketKind.VALIDATION and one.about is not None}
    found = unit.truth.statuses(tenant_id, asked.values())
    return {id_: found[key] for id_, key in asked.items() if found.get(key) in FINAL_STATUSES}
