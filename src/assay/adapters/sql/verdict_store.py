"""Rows of verdicts and of attempts to leave the perimeter in SQL."""

from collections.abc import Iterable, Iterator

from assay.adapters.sql.row import sortable
from assay.adapters.sql.rows import Rows
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.ledger_store import ProvenEntry
from assay.ports.verdict_store import EgressNote, VerdictRow

_UNSETTLED = (
    " AND NOT EXISTS (SELECT 1 FROM verdict_index AS later"
    " WHERE later.held_entry = verdict_index.sequence_number AND later.tenant_id = verdict_index.tenant_id)"
)


class SqlVerdictStore:
    """Implements `ports.verdict_store.VerdictStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._session = rows.session

    def entries(self, tenant_id: TenantId, sequence_numbers: Iterable[int]) -> tuple[ProvenEntry, ...]:
        return tuple(self._rows.entries(tenant_id, list(sequence_numbers)))

    def find(self, tenant_id: TenantId, sequence_number: int) -> VerdictRow | None:
        return self._first("sequence_number", sequence_number, tenant_id)

    def of_telemetry(self, tenant_id: TenantId, telemetry_id: str) -> tuple[VerdictRow, ...]:
        rest = "WHERE telemetry_id = ? AND tenant_id = ? ORDER BY sequence_number"
        return self._rows.all(VerdictRow, rest, (telemetry_id, tenant_id))

    def of_rule(
        self, tenant_id: TenantId, rule_id: str, *, after: int = 0, before: int | None = None, limit: int
    ) -> tuple[VerdictRow, ...]:
        bound, parameters = ("", ()) if before is None else (" AND sequence_number < ?", (before,))
        rest = (
            f"WHERE rule_id = ? AND tenant_id = ? AND sequence_number > ?{bound} AND held_entry IS NULL"
            " ORDER BY sequence_number DESC LIMIT ?"
        )
        return self._rows.all(VerdictRow, rest, (rule_id, tenant_id, after, *parameters, limit))

    def find_by_ticket(self, tenant_id: TenantId, ticket_id: str) -> VerdictRow | None:
        return self._first("ticket_id", ticket_id, tenant_id)

    def has_attestation(self, tenant_id: TenantId, attestation: str) -> bool:
        return self._first("attestation", attestation, tenant_id) is not None

    def held(self, tenant_id: TenantId, *, after: int = 0, limit: int = 100) -> tuple[VerdictRow, ...]:
        rest = f"WHERE tenant_id = ? AND standing = 'held' AND sequence_number > ?{_UNSETTLED}"
        return self._rows.all(VerdictRow, f"{rest} ORDER BY sequence_number LIMIT ?", (tenant_id, after, limit))

    def page(
        self,
        tenant_id: TenantId,
        *,
        rule_id: str | None = None,
        subject: str | None = None,
        verdict: str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        before: int | None = None,
        limit: int = 100,
        offset: int = 0,
        is_standing: bool = False,
    ) -> tuple[VerdictRow, ...]:
        conditions = {
            "rule_id = ?": rule_id,
            "subject = ?": subject,
            "standing = 'final' AND verdict = ?": verdict,
            "as_of >= ?": None if since is None else sortable(since),
            "as_of < ?": None if until is None else sortable(until),
            "sequence_number < ?": before,
        }
        asked = {condition: value for condition, value in conditions.items() if value is not None}
        where = " AND ".join(["tenant_id = ?", *asked])
        rest = f"WHERE {where}{_UNSETTLED if is_standing else ''} ORDER BY sequence_number DESC LIMIT ? OFFSET ?"
        return self._rows.all(VerdictRow, rest, (tenant_id, *asked.values(), limit, offset))

    def all(self, tenant_id: TenantId, *, first: int = 1, last: int | None = None) -> Iterator[VerdictRow]:
        bound, parameters = ("", ()) if last is None else (" AND sequence_number <= ?", (last,))
        rest = f"WHERE tenant_id = ? AND sequence_number >= ?{bound} ORDER BY sequence_number"
        return self._rows.stream(VerdictRow, rest, (tenant_id, first, *parameters))

    def statuses(self, tenant_id: TenantId, limit: int) -> tuple[str, ...]:
        rest = "WHERE tenant_id = ? AND held_entry IS NULL AND path IS NULL ORDER BY sequence_number DESC LIMIT ?"
        return tuple(row.status for row in reversed(self._rows.all(VerdictRow, rest, (tenant_id, limit))))

    def egress_notes(self) -> tuple[tuple[EgressNote, ...], ...]:
        tenants = self._session.query("SELECT DISTINCT tenant_id FROM egress_note ORDER BY tenant_id")
        rest = "WHERE tenant_id = ? ORDER BY sequence_number"
        return tuple(self._rows.all(EgressNote, rest, (tenant_id,)) for (tenant_id,) in tenants)

    def _first(self, column: str, value: object, tenant_id: TenantId) -> VerdictRow | None:
        return self._rows.one(VerdictRow, f"WHERE {column} = ? AND tenant_id = ?", (value, tenant_id))
