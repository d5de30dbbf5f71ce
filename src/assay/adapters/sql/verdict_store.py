"""Rows of verdicts, the Coverage Register and the stability of rules in SQL."""

from collections.abc import Iterator, Sequence

from assay.adapters.sql.row import add_row, add_rows, columns_of, read_row, sortable, verify_row
from assay.adapters.sql.session import SqlSession
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.verdict_store import CoveredSubject, EgressNote, StableRule, VerdictRow

_ROW = f"SELECT {', '.join(columns_of(VerdictRow))} FROM verdict_index AS judged"  # noqa: S608 - our constants
_UNSETTLED = (
    " AND NOT EXISTS (SELECT 1 FROM verdict_index AS later"
    " WHERE later.held_entry = judged.sequence_number AND later.tenant_id = judged.tenant_id)"
)


_KEYS = ("telemetry_id", "rule_id", "subject", "ticket_id", "attestation")


class SqlVerdictStore:
    """Implements `ports.verdict_store.VerdictStore`."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    def add(self, tenant_id: TenantId, row: VerdictRow) -> None:
        verify_row(row, *_KEYS)
        what = f"the verdict of entry {row.sequence_number}, its ticket, its token or what it settles"
        add_row(self._session, "verdict_index", tenant_id, row, what)

    def add_many(self, tenant_id: TenantId, rows: Sequence[VerdictRow]) -> None:
        for row in rows:
            verify_row(row, *_KEYS)
        add_rows(self._session, "verdict_index", tenant_id, rows, f"{len(rows)} verdicts")

    def find(self, tenant_id: TenantId, sequence_number: int) -> VerdictRow | None:
        return self._first("sequence_number", sequence_number, tenant_id)

    def of_telemetry(self, tenant_id: TenantId, telemetry_id: str) -> tuple[VerdictRow, ...]:
        rows = self._session.query(
            f"{_ROW} WHERE telemetry_id = ? AND tenant_id = ? ORDER BY sequence_number", (telemetry_id, tenant_id)
        )
        return tuple(read_row(row, VerdictRow) for row in rows)

    def find_by_ticket(self, tenant_id: TenantId, ticket_id: str) -> VerdictRow | None:
        return self._first("ticket_id", ticket_id, tenant_id)

    def has_attestation(self, tenant_id: TenantId, attestation: str) -> bool:
        return self._first("attestation", attestation, tenant_id) is not None

    def held(self, tenant_id: TenantId, *, after: int = 0, limit: int = 100) -> tuple[VerdictRow, ...]:
        rows = self._session.query(
            f"{_ROW} WHERE tenant_id = ? AND standing = 'held' AND sequence_number > ?{_UNSETTLED}"
            " ORDER BY sequence_number LIMIT ?",
            (tenant_id, after, limit),
        )
        return tuple(read_row(row, VerdictRow) for row in rows)

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
        rows = self._session.query(
            f"{_ROW} WHERE {where}{_UNSETTLED if is_standing else ''} ORDER BY sequence_number DESC LIMIT ? OFFSET ?",
            (tenant_id, *asked.values(), limit, offset),
        )
        return tuple(read_row(row, VerdictRow) for row in rows)

    def all(self, tenant_id: TenantId, *, first: int = 1, last: int | None = None) -> Iterator[VerdictRow]:
        bound, parameters = ("", ()) if last is None else (" AND sequence_number <= ?", (last,))
        rows = self._session.stream(
            f"{_ROW} WHERE tenant_id = ? AND sequence_number >= ?{bound} ORDER BY sequence_number",
            (tenant_id, first, *parameters),
        )
        return (read_row(row, VerdictRow) for row in rows)

    def statuses(self, tenant_id: TenantId, limit: int) -> tuple[str, ...]:
        rows = self._session.query(
            "SELECT status FROM verdict_index WHERE tenant_id = ? AND held_entry IS NULL AND path IS NULL"
            " ORDER BY sequence_number DESC LIMIT ?",
            (tenant_id, limit),
        )
        return tuple(str(status) for (status,) in reversed(rows))

    def put_coverage(self, tenant_id: TenantId, covered: CoveredSubject) -> None:
        verify_row(covered, "subject")
        self._session.run(
            "INSERT INTO coverage (tenant_id, subject, text) VALUES (?, ?, ?)"
            " ON CONFLICT (subject, tenant_id) DO UPDATE SET text = excluded.text",
            (tenant_id, covered.subject, covered.text),
        )

    def find_coverage(self, tenant_id: TenantId, subject: str) -> CoveredSubject | None:
        rows = self._session.query(
            "SELECT subject, text FROM coverage WHERE subject = ? AND tenant_id = ?", (subject, tenant_id)
        )
        return read_row(rows[0], CoveredSubject) if rows else None

    def coverage(self, tenant_id: TenantId) -> tuple[CoveredSubject, ...]:
        rows = self._session.query(
            "SELECT subject, text FROM coverage WHERE tenant_id = ? ORDER BY subject", (tenant_id,)
        )
        return tuple(read_row(row, CoveredSubject) for row in rows)

    def put_stability(self, tenant_id: TenantId, stability: StableRule) -> None:
        verify_row(stability, "rule_id")
        self._session.run(
            "INSERT INTO rule_stability (tenant_id, rule_id, pattern, count) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (rule_id, tenant_id) DO UPDATE SET pattern = excluded.pattern, count = excluded.count",
            (tenant_id, stability.rule_id, stability.pattern, stability.count),
        )

    def find_stability(self, tenant_id: TenantId, rule_id: str) -> StableRule | None:
        rows = self._session.query(
            "SELECT rule_id, pattern, count FROM rule_stability WHERE rule_id = ? AND tenant_id = ?",
            (rule_id, tenant_id),
        )
        return read_row(rows[0], StableRule) if rows else None

    def stabilities(self, tenant_id: TenantId) -> tuple[StableRule, ...]:
        rows = self._session.query(
            "SELECT rule_id, pattern, count FROM rule_stability WHERE tenant_id = ? ORDER BY rule_id", (tenant_id,)
        )
        return tuple(read_row(row, StableRule) for row in rows)

    def add_egress(self, tenant_id: TenantId, note: EgressNote) -> None:
        add_row(self._session, "egress_note", tenant_id, note, f"the note of entry {note.sequence_number}")

    def egress_notes(self, tenant_id: TenantId) -> tuple[EgressNote, ...]:
        rows = self._session.query(
            f"SELECT {', '.join(columns_of(EgressNote))} FROM egress_note"  # noqa: S608 - our constants
            " WHERE tenant_id = ? ORDER BY sequence_number",
            (tenant_id,),
        )
        return tuple(read_row(row, EgressNote) for row in rows)

    def egress_total(self) -> int:
        ((total,),) = self._session.query("SELECT sum(attempts) FROM egress_note", ())
        return int(total or 0)

    def has_open_egress(self) -> bool:
        rows = self._session.query(
            "SELECT 1 FROM egress_note AS noted WHERE attempts > 0 AND NOT EXISTS (SELECT 1 FROM egress_note AS later"
            " WHERE later.tenant_id = noted.tenant_id AND later.attempts = 0"
            " AND later.sequence_number > noted.sequence_number) LIMIT 1",
            (),
        )
        return bool(list(rows))

    def _first(self, column: str, value: object, tenant_id: TenantId) -> VerdictRow | None:
        rows = self._session.query(f"{_ROW} WHERE {column} = ? AND tenant_id = ?", (value, tenant_id))
        return read_row(rows[0], VerdictRow) if rows else None
