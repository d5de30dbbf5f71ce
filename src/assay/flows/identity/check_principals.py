"""Whether the table of principals is what the ledger holds: every version of everybody, and none besides.

entries in order | rows in the order of their entries -> one beside the other
What somebody may do is read from these rows, so a role that was written there and nowhere else is told.
"""

from collections.abc import Callable, Iterator

import msgspec

from assay.flows.ledger.compare_rows import IndexedTable, RowProblem, compare_rows
from assay.identity.principal import principal_body
from assay.kernel.canonical import canonicalize
from assay.kernel.entry import Entry
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.identity_store import RecordedPrincipal


def check_principals(unit: Unit, tenant_id: TenantId) -> Iterator[RowProblem]:
    """In the order of entries. What somebody is called is not compared: the ledger has a commitment of it alone."""

    def rows(is_theirs: Callable[[RecordedPrincipal], bool]) -> Iterator[RecordedPrincipal]:
        return filter(is_theirs, unit.identity.principal_log(tenant_id))

    tables = (
        IndexedTable("principal", EntryKind.PRINCIPAL_ADDED, rows(_is_first), _is_same),
        IndexedTable("principal", EntryKind.PRINCIPAL_CHANGED, rows(_is_later), _is_same),
    )
    return compare_rows(unit, tenant_id, "identity", tables)


def _is_first(row: RecordedPrincipal) -> bool:
    return row.version == 1


def _is_later(row: RecordedPrincipal) -> bool:
    return row.version > 1


def _is_same(row: RecordedPrincipal, entry: Entry) -> bool:
    """The columns by which a version is found, and all that it says but the name."""
    said = msgspec.json.decode(entry.body)
    if not isinstance(said, dict) or (row.principal_id, row.version) != (row.principal.id, row.principal.version):
        return False
    told = {**principal_body(row.principal), "name": said.get("name")}
    return row.principal.tenant_id == entry.tenant_id and canonicalize(told) == bytes(entry.body)
