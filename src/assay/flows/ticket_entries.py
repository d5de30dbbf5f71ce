"""The entries that a ticket left in the ledger: its opening, each answer, its settlement.

a moment -> the entries around it, found by halving -> those whose own text names the ticket
"""

from collections.abc import Iterable
from datetime import timedelta

import msgspec
from msgspec import Struct

from assay.flows.tools import Tools
from assay.kernel.ids import TenantId, TicketId
from assay.kernel.instant import Instant, parse_instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit

__all__ = ["TicketEntry", "find_ticket_entries"]

_KINDS = frozenset({EntryKind.TICKET_OPENED, EntryKind.TICKET_ANSWERED, EntryKind.TICKET_SETTLED})
# Entries of one commit may carry times in another order than their numbers; so far apart, no two do.
_SLACK = timedelta(seconds=5)
_MOST = 2000


class TicketEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry about the ticket; `by` is who answered."""

    sequence_number: int
    kind: str
    timestamp: str
    by: str | None


class _Body(Struct):
    ticket_id: str
    by: str | None = None


class _Entry(Struct):
    body: _Body


def find_ticket_entries(
    tools: Tools, tenant_id: TenantId, ticket_id: TicketId, moments: Iterable[Instant]
) -> tuple[TicketEntry, ...]:
    """In the order of the ledger. An entry whose time is far from every moment given is not looked for."""

    def look(unit: Unit) -> tuple[TicketEntry, ...]:
        found = {
            one.sequence_number: one for moment in moments for one in _entries_at(unit, tenant_id, ticket_id, moment)
        }
        return tuple(found[number] for number in sorted(found))

    return tools.database.read(look)


def _entries_at(unit: Unit, tenant_id: TenantId, ticket_id: TicketId, moment: Instant) -> Iterable[TicketEntry]:
    first = _first_since(unit, tenant_id, Instant(moment - _SLACK))
    for row in unit.ledger.entries(tenant_id, first=first, last=first + _MOST):
        if parse_instant(row.timestamp) > moment + _SLACK:
            return
        if row.kind not in _KINDS:
            continue
        body = msgspec.json.decode(row.text, type=_Entry).body
        if body.ticket_id == ticket_id:
            yield TicketEntry(sequence_number=row.sequence_number, kind=row.kind, timestamp=row.timestamp, by=body.by)


def _first_since(unit: Unit, tenant_id: TenantId, moment: Instant) -> int:
    """The number of the first entry at or after this moment."""
    low, high = 1, unit.ledger.head(tenant_id).sequence_number + 1
    while low < high:
        middle = (low + high) // 2
        row = unit.ledger.find_entry(tenant_id, middle)
        if row is not None and parse_instant(row.timestamp) < moment:
            low = middle + 1
        else:
            high = middle
    return low
