"""What a server reads of its own node besides operations: tenants, sizes, keys to compile, counts for figures.

Nothing here is shown to a caller as it is; operations have flows of their own.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple

from assay.flows.tools import Tools
from assay.flows.verdicts.graphs_in_use import ready_graph
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.ports.database import Database, Unit
from assay.ports.ledger_store import KeptCheckpoint
from assay.ports.truth_store import TruthRecord
from assay.verdicts.govern import Standing


class LedgerFacts(NamedTuple):
    """One tenant's ledger: its entries, and the newest checkpoint."""

    tenant_id: TenantId
    size: int
    checkpoint: KeptCheckpoint | None


class VerdictCounts(NamedTuple):
    """What the entries after a number add: final verdicts by their word, and numbers without an entry."""

    through: int
    final: Counter[str]
    gaps: int


def tenants(tools: Tools) -> tuple[TenantId, ...]:
    return tools.database.read(lambda unit: unit.ledger.tenants())


def ledger_size(tools: Tools, tenant_id: TenantId) -> int:
    return tools.database.read(lambda unit: unit.ledger.head(tenant_id)).sequence_number


def ledger_facts(tools: Tools) -> tuple[LedgerFacts, ...]:
    """The size and the newest checkpoint of every tenant's ledger."""

    def work(unit: Unit) -> tuple[LedgerFacts, ...]:
        ledger = unit.ledger
        return tuple(
            LedgerFacts(one, ledger.head(one).sequence_number, ledger.find_checkpoint(one)) for one in ledger.tenants()
        )

    return tools.database.read(work)


def commit_nothing(database: Database) -> None:
    """Commit an empty unit of work: raises where the writer or the database does not answer; costs no flush."""
    database.write(lambda _unit: None)


def count_verdicts(
    tools: Tools, counted: Mapping[TenantId, int], checked: Mapping[TenantId, int]
) -> dict[TenantId, VerdictCounts]:
    """Count each tenant's verdicts after `counted`, and entries that are missing after `checked`; one read for all."""

    def work(unit: Unit) -> dict[TenantId, VerdictCounts]:
        found = {}
        for tenant_id in unit.ledger.tenants():
            head = unit.ledger.head(tenant_id).sequence_number
            rows = unit.verdicts.all(tenant_id, first=counted.get(tenant_id, 0) + 1, last=head)
            final = Counter(row.verdict for row in rows if row.standing == Standing.FINAL)
            before = checked.get(tenant_id, 0)
            gaps = head - before - unit.ledger.count(tenant_id, first=before + 1, last=head)
            found[tenant_id] = VerdictCounts(head, final, gaps)
        return found

    return tools.database.read(work)


def is_graph_verified(tools: Tools, tenant_id: TenantId) -> bool | None:
    """Whether one of today's anchors signed the graph in use; None where no graph is in use."""
    active = tools.database.read(lambda unit: unit.graphs.find_active(tenant_id))
    if active is None:
        return None
    try:
        return ready_graph(tools, tenant_id, active.document_hash).opened.signed_by is not None
    except Error:
        return False


def observations_after(tools: Tools, tenant_id: TenantId, after: int) -> tuple[TruthRecord, ...]:
    """One page of the observations that were recorded after an entry."""
    return tuple(tools.database.read(lambda unit: unit.truth.observations(tenant_id, after=after)))


def stale_keys(
    tools: Tools, tenant_id: TenantId, *, since: int | None, stuck: Collection[str] = ()
) -> tuple[int, list[str]]:
    """The keys to compile, and the entry up to which that is all of them.

    Only a record makes a key stale. So every key is looked at once (`since` is None), and then those that got records
    since, and again those that could not be compiled (`stuck`).
    """

    def work(unit: Unit) -> tuple[int, list[str]]:
        through = unit.ledger.head(tenant_id).sequence_number
        if since is None:
            return through, list(unit.truth.keys(tenant_id, stale_only=True))
        return through, sorted({*stuck, *unit.truth.stale_since(tenant_id, since)})

    return tools.database.read(work)
