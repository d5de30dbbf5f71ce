"""Whether the tables of knowledge graphs are what the ledger holds: every version, and which came into use when.

entries in order | rows in the order of their entries -> one beside the other
"""

from collections.abc import Iterator

import msgspec

from assay.flows.active_graph import is_activation
from assay.flows.check_bronze import RowProblem
from assay.flows.compare_rows import IndexedTable, compare_rows
from assay.flows.graph_entry import GraphAdded
from assay.kernel.entry import Entry
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.graph_store import GraphHead

__all__ = ["check_graphs"]


def check_graphs(unit: Unit, tenant_id: TenantId) -> Iterator[RowProblem]:
    """In the order of entries. The bytes of a graph are held against its hash whenever it is opened."""
    tables = (
        IndexedTable("graph_version", EntryKind.GRAPH_ADDED, unit.graphs.heads(tenant_id), _is_version),
        IndexedTable("graph_activation", EntryKind.GRAPH_ACTIVATED, unit.graphs.activations(tenant_id), is_activation),
    )
    return compare_rows(unit, tenant_id, "graph", tables)


def _is_version(row: GraphHead, entry: Entry) -> bool:
    said = GraphAdded(
        document_hash=row.document_hash,
        content_hash=row.content_hash,
        form=row.form,
        signed_by=row.signed_by,
        added_by=row.by,
    )
    try:
        return msgspec.json.decode(entry.body, type=GraphAdded) == said and row.added_at == entry.timestamp
    except msgspec.MsgspecError:
        return False
