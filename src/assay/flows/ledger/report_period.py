"""Report to an auditor what was decided in a period: each entry in words, with the proof that it is in the ledger.

period + filters -> entries -> rows with paths -> one checkpoint over all of them, and its growth from one before

What a row says is derived from the entry's text alone, and the text is in the report: `check_report` derives it again.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import asdict

from assay.flows.errors.ledger import LedgerFlowError, NoCheckpointError
from assay.flows.ledger.check_key_facts import verify_key_facts
from assay.flows.ledger.report_row import DECIDING, RowFacts, derive_row
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, parse_instant
from assay.kernel.key import Endorsement, Retirement
from assay.kernel.tile import TileCache
from assay.ports.database import Unit
from assay.ports.ledger_store import KeptCheckpoint, StoredEntry

REPORT_FORMAT = "assay-audit-report/1"
# A report is made whole, in some times the memory of its entries: in a server, which others rely on, of no more.
SERVED_BYTES = 32 * 1024 * 1024


class ReportScope(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which entries: from `from_at` on and before `until`, decisions or all kinds, of one rule or about one subject."""

    from_at: Instant
    until: Instant
    every_kind: bool = False
    rule: str | None = None
    subject: str | None = None


class ReportRow(RowFacts, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry in words, the text that they follow from, and the path from it to the checkpoint's root."""

    entry: str
    inclusion_path: tuple[bytes, ...]


class Growth(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A checkpoint from before the period, and the path that shows that the ledger only grew since."""

    checkpoint: str
    consistency_path: tuple[bytes, ...]


class PeriodReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The report; `entries` are all of the period by kind, also those that the filters leave out."""

    tenant_id: TenantId
    origin: str
    made_at: Instant
    scope: ReportScope
    entries: dict[str, int]
    rows: tuple[ReportRow, ...]
    checkpoint: str
    tree_size: int
    keys: tuple[Endorsement, ...]
    retirements: tuple[Retirement, ...]
    growth: Growth | None = None
    format: Literal["assay-audit-report/1"] = "assay-audit-report/1"


def report_period(
    tools: Tools, tenant_id: TenantId, scope: ReportScope, *, at: Instant, most_bytes: int | None = None
) -> PeriodReport:
    """What was decided in a period, with the proof of it.

    Raises `NoCheckpointError` while no checkpoint covers every entry of the period, since what is not proven is not
    reported; and `report.size` as soon as the entries in it are more than `most_bytes` long.
    """
    return tools.database.read(lambda unit: _report(unit, tools, tenant_id, scope, at, most_bytes))


def is_asked(facts: RowFacts, scope: ReportScope) -> bool:
    """Whether a row belongs in the report."""
    return (
        scope.from_at <= parse_instant(facts.timestamp) < scope.until
        and (scope.every_kind or facts.kind in DECIDING)
        and (scope.rule is None or scope.rule in facts.rules)
        and (scope.subject is None or scope.subject in facts.about)
    )


def _report(
    unit: Unit, tools: Tools, tenant_id: TenantId, scope: ReportScope, at: Instant, most_bytes: int | None
) -> PeriodReport:
    kept = _newest_checkpoint(unit, tenant_id)
    counts: Counter[str] = Counter()
    asked = list(_asked(_of_period(unit, tenant_id, scope, kept.size, counts), scope, most_bytes))
    with tools.tiles.borrow(unit, tenant_id) as cache:
        rows = tuple(_row(row, facts, kept.size, cache) for row, facts in asked)
        growth = _growth(unit, tenant_id, rows[0].sequence_number - 1 if rows else 0, kept.size, cache)
    verify_key_facts(unit)
    return PeriodReport(
        tenant_id=tenant_id,
        origin=tools.origin_of(tenant_id),
        made_at=at,
        scope=scope,
        entries=dict(sorted(counts.items())),
        rows=rows,
        checkpoint=kept.note,
        tree_size=kept.size,
        keys=unit.keys.endorsements(),
        retirements=unit.keys.retirements(),
        growth=growth,
    )


def _asked(
    rows: Iterable[StoredEntry], scope: ReportScope, most_bytes: int | None
) -> Iterator[tuple[StoredEntry, RowFacts]]:
    """Those that belong in the report; what does not is let go at once."""
    size = 0
    for row in rows:
        if not (scope.every_kind or row.kind in DECIDING):
            continue
        facts = derive_row(row.text)
        if not is_asked(facts, scope):
            continue
        size += len(row.text)
        if most_bytes is not None and size > most_bytes:
            raise LedgerFlowError.report_size(
                f"expected at most {most_bytes} bytes of entries in a report that is made here, got more by entry"
                f" {row.sequence_number}: narrow the period, or use `assay report`"
            )
        yield row, facts


def _newest_checkpoint(unit: Unit, tenant_id: TenantId) -> KeptCheckpoint:
    kept = unit.ledger.find_checkpoint(tenant_id)
    if kept is None:
        raise NoCheckpointError(f"expected a checkpoint of `{tenant_id}`, got none")
    return kept


def _of_period(
    unit: Unit, tenant_id: TenantId, scope: ReportScope, covered: int, counts: "Counter[str]"
) -> Iterator[StoredEntry]:
    """All are looked at: clocks may step back, so the order of entries is not that of their times."""
    for row in unit.ledger.entries(tenant_id):
        if not scope.from_at <= parse_instant(row.timestamp) < scope.until:
            continue
        # A ledger that grows while it is read always has entries after its checkpoint; those of the period count.
        if row.sequence_number > covered:
            number = row.sequence_number
            raise NoCheckpointError(f"expected a checkpoint that covers entry {number} of `{tenant_id}`, got {covered}")
        counts[row.kind] += 1
        yield row


def _row(row: StoredEntry, facts: RowFacts, size: int, cache: TileCache) -> ReportRow:
    path = cache.inclusion_path(row.sequence_number - 1, size)
    return ReportRow(**asdict(facts), entry=row.text.decode(), inclusion_path=path)


def _growth(unit: Unit, tenant_id: TenantId, before: int, size: int, cache: TileCache) -> Growth | None:
    earlier = unit.ledger.find_checkpoint(tenant_id, at_most=before) if before > 0 else None
    if earlier is None:
        return None
    return Growth(checkpoint=earlier.note, consistency_path=cache.consistency_path(earlier.size, size))
