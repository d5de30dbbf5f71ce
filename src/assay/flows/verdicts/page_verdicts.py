"""Verdicts as a list, the newest first, each read from its entry."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from assay.flows.tools import Tools
from assay.flows.verdicts.read_verdict import RuleVerdict, read_verdict_row
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.ledger_store import StoredEntry
from assay.ports.verdict_store import VerdictRow


class ListedVerdict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one rule came to about one record. `settles` is the entry of the held verdict that it ended."""

    telemetry_id: str
    subject: str
    as_of: Instant
    settles: int | None
    outcome: RuleVerdict


def page_verdicts(tools: Tools, tenant_id: TenantId, *, limit: int, offset: int = 0) -> tuple[ListedVerdict, ...]:
    """A held verdict is listed as held, and without a verdict."""

    def look(unit: Unit) -> tuple[ListedVerdict, ...]:
        rows = unit.verdicts.page(tenant_id, limit=limit, offset=offset)
        return listed_verdicts(unit, tenant_id, rows)

    return tools.database.read(look)


def listed_verdicts(unit: Unit, tenant_id: TenantId, rows: Sequence[VerdictRow]) -> tuple[ListedVerdict, ...]:
    """Rows of the index, each with the verdict that its entry holds; the entries are read at once."""
    entries = unit.ledger.find_entries(tenant_id, (row.sequence_number for row in rows))
    return tuple(_listed(unit, tenant_id, row, entries) for row in rows)


def _listed(unit: Unit, tenant_id: TenantId, row: VerdictRow, entries: Mapping[int, StoredEntry]) -> ListedVerdict:
    _, outcome = read_verdict_row(unit, tenant_id, row, entries)
    return ListedVerdict(
        telemetry_id=row.telemetry_id,
        subject=row.subject,
        as_of=row.as_of,
        settles=row.held_entry,
        outcome=outcome,
    )
