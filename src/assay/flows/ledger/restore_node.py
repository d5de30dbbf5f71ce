"""Load a checked archive into an empty database and verify the whole ledger before anything of it is committed.

empty tables -> rows -> every chain verified against its checkpoints -> heads as signed for -> commit
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import TypeVar, cast

from assay.flows.ledger.audit_ledger import Progress, audit_ledger
from assay.flows.ledger.audit_mark import AuditReport
from assay.flows.ledger.backup_manifest import Manifest, UnusableBackupError, table_member
from assay.flows.tools import Tools
from assay.kernel.errors import LedgerError, StoreError
from assay.ports.archive import ArchiveReader
from assay.ports.database import Database, Unit

T = TypeVar("T")


# The schema of the first release; rows of its backups are read as they are.
_OLDEST_SCHEMA = 14


# Tables that later schemas added: an archive of an earlier one has no such member, and the table stays empty.
ADDED_IN: Mapping[str, int] = {
    "desk_pending": 16,
    "permit": 17,
    "permit_claim": 17,
    "permit_report": 17,
    "permit_end": 17,
    "mandate": 21,
    "mandate_use": 21,
    "mandate_end": 21,
    "gateway_table": 25,
    "gateway_definition": 25,
    "gateway_call": 25,
    "webhook_attempt": 27,
}


def restore_node(
    tools: Tools,
    archive: ArchiveReader,
    manifest: Manifest,
    *,
    progress: Progress | None = None,
) -> tuple[AuditReport, ...]:
    """All or nothing: one transaction that commits only when every chain was verified; the answer is the reports.

    The archive must have passed `check_backup`, and the checkpoints in it must already be in `tools.checkpoints`.
    """
    version = tools.database.facts().schema_version
    if not _OLDEST_SCHEMA <= manifest.schema_version <= version:
        raise UnusableBackupError.schema(
            f"expected a backup of schema version {_OLDEST_SCHEMA} to {version}, got {manifest.schema_version}"
        )

    def work(unit: Unit) -> tuple[AuditReport, ...]:
        _require_empty(unit)
        for table in unit.tables.names():
            _load(unit, archive, manifest, table)
        try:
            return _verify(replace(tools, database=_inside(unit)), unit, manifest, progress)
        except (LedgerError, StoreError) as error:
            # Damage that an audit cannot even read around is the archive's here, not this machine's.
            raise UnusableBackupError.does_not_hold(f"what was loaded cannot be verified: {error}") from error

    return tools.database.write(work)


def _require_empty(unit: Unit) -> None:
    for table in unit.tables.names():
        if not unit.tables.is_empty(table):
            raise UnusableBackupError.target_in_use(f"expected an empty database, got rows in `{table}`")


def _load(unit: Unit, archive: ArchiveReader, manifest: Manifest, table: str) -> None:
    name = table_member(table)
    member = next((member for member in manifest.members if member.name == name), None)
    if member is None and manifest.schema_version < ADDED_IN.get(table, 0):
        return
    if member is None:
        raise UnusableBackupError.does_not_hold(f"expected a member `{name}`, got none")
    with closing(archive.lines(name)) as lines:
        try:
            count = unit.tables.load(table, lines)
        except OverflowError as error:
            raise UnusableBackupError.does_not_hold(f"expected numbers that `{table}` can hold: {error}") from error
    if count != member.rows:
        raise UnusableBackupError.does_not_hold(f"expected {member.rows} rows in `{table}`, got {count}")


def _verify(tools: Tools, unit: Unit, manifest: Manifest, progress: Progress | None) -> tuple[AuditReport, ...]:
    # A checkpoint of a tenant that has no entries any more is a chain that was lost.
    tenants = sorted({*unit.ledger.tenants(), *tools.checkpoints.tenants()})
    reports = tuple(audit_ledger(tools, one, full=True, leave_mark=False, progress=progress) for one in tenants)
    for report in reports:
        if not report.holds:
            raise UnusableBackupError.does_not_hold(
                f"the ledger of `{report.tenant_id}` does not hold: {report.message}"
            )
    found = {report.tenant_id: (report.size, report.head_hash) for report in reports}
    signed = {head.tenant_id: (head.sequence_number, head.entry_hash) for head in manifest.heads}
    if found != signed:
        raise UnusableBackupError.does_not_hold("the chains do not end where the manifest says")
    return reports


class _InsideUnit:
    """The open transaction as a database to read from, so that it can be verified before it is committed."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit

    def read(self, work: Callable[[Unit], T]) -> T:
        return work(self._unit)


def _inside(unit: Unit) -> Database:
    # Verifying only reads.
    return cast("Database", _InsideUnit(unit))
