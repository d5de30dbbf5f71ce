"""Contracts, Bronze records, frozen trust and Silver states in SQL; Gold is read from Silver."""

from collections.abc import Iterable, Iterator

from assay.adapters.sql.parts import in_parts, marks
from assay.adapters.sql.row import sortable
from assay.adapters.sql.rows import Rows
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.truth_store import FrozenTrust, RecordKind, ReleasedContract, SilverState, TruthRecord

# From key to key along the index, however many records each has; each row follows from the one before, in order.
_KEYS = (
    "WITH RECURSIVE held (truthkey) AS ("
    " SELECT min(truthkey) FROM truth_record WHERE tenant_id = ?"
    " UNION ALL"
    " SELECT (SELECT min(record.truthkey) FROM truth_record AS record"
    " WHERE record.tenant_id = ? AND record.truthkey > held.truthkey) FROM held WHERE held.truthkey IS NOT NULL"
    ") SELECT truthkey FROM held WHERE truthkey IS NOT NULL"
)
_NEW_KEYS = (
    "SELECT truthkey FROM (SELECT DISTINCT truthkey FROM truth_record WHERE tenant_id = ? AND sequence_number > ?)"
    " AS held WHERE truthkey IS NOT NULL"
)
_IS_STALE = (
    " AND (SELECT max(record.sequence_number) FROM truth_record AS record"
    " WHERE record.tenant_id = ? AND record.truthkey = held.truthkey)"
    " > coalesce((SELECT state.through FROM truth_state AS state"
    " WHERE state.tenant_id = ? AND state.truthkey = held.truthkey ORDER BY state.version DESC LIMIT 1), 0)"
)
# From one first version to the next, and of each key one look at its end. CROSS fixes that order on SQLite.
_EACH_KEY = (
    "truth_state AS opening CROSS JOIN truth_state AS state"
    " WHERE opening.tenant_id = ? AND opening.version = 1"
    " AND state.tenant_id = opening.tenant_id AND state.truthkey = opening.truthkey AND state.version ="
    " (SELECT later.version FROM truth_state AS later"
    " WHERE later.tenant_id = opening.tenant_id AND later.truthkey = opening.truthkey"
)
# Versions have no gaps and their times never fall, so the last one is the one without a next one.
_WITHOUT_NEXT = (
    " AND NOT EXISTS (SELECT 1 FROM truth_state AS later WHERE later.tenant_id = state.tenant_id"
    " AND later.truthkey = state.truthkey AND later.version = state.version + 1"
)
# From what is due to the one state that it is about.
_DUE = (
    "truth_due AS due CROSS JOIN truth_state AS state"
    " WHERE due.tenant_id = ? AND due.due_at <= ?"
    " AND state.tenant_id = due.tenant_id AND state.truthkey = due.truthkey AND state.version = due.version"
    " ORDER BY due.due_at, due.truthkey"
)
_STATES = "truth_state AS state WHERE state.tenant_id = ?"


class SqlTruthStore:
    """Implements `ports.truth_store.TruthStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._session = rows.session

    def find_contract(self, tenant_id: TenantId, claim_type: str) -> ReleasedContract | None:
        return self._rows.one(ReleasedContract, "WHERE tenant_id = ? AND claim_type = ?", (tenant_id, claim_type))

    def contracts(self, tenant_id: TenantId) -> tuple[ReleasedContract, ...]:
        return self._rows.all(ReleasedContract, "WHERE tenant_id = ? ORDER BY claim_type", (tenant_id,))

    def find_record(
        self,
        tenant_id: TenantId,
        kind: RecordKind,
        record_id: str,
        *,
        by: str | None = None,
        truthkey: str | None = None,
    ) -> TruthRecord | None:
        return self._first_record("record_id", record_id, tenant_id, kind, made_by=by, truthkey=truthkey)

    def find_observation(self, tenant_id: TenantId, observation_hash: str) -> TruthRecord | None:
        return self._first_record("record_hash", observation_hash, tenant_id, RecordKind.OBSERVATION)

    def fingerprints(
        self, tenant_id: TenantId, record_ids: Iterable[str], beginnings: Iterable[str]
    ) -> tuple[TruthRecord, ...]:
        found: list[TruthRecord] = []
        of_kind = "AND kind = 'fingerprint' AND tenant_id || '' = ?"
        for part in in_parts(record_ids):
            found += self._rows.all(TruthRecord, f"WHERE record_id IN ({marks(part)}) {of_kind}", (*part, tenant_id))
        for beginning in beginnings:
            rest = f"WHERE record_id >= ? AND record_id < ? {of_kind}"
            found += self._rows.all(TruthRecord, rest, (beginning, f"{beginning}\x7f", tenant_id))
        return tuple(sorted(found, key=lambda record: (record.sequence_number, record.truthkey)))

    def records(self, tenant_id: TenantId, truthkey: str, *, through: int | None = None) -> Iterator[TruthRecord]:
        rest, parameters = "WHERE tenant_id = ? AND truthkey = ?", list[object]((tenant_id, truthkey))
        if through is not None:
            # The plus keeps SQLite on the index that has the order; by another it would first sort every text.
            rest, parameters = f"{rest} AND +sequence_number <= ?", [*parameters, through]
        return self._rows.stream(TruthRecord, f"{rest} ORDER BY kind, record_hash", parameters)

    def observations(
        self,
        tenant_id: TenantId,
        *,
        truthkey: str | None = None,
        by: str | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> tuple[TruthRecord, ...]:
        rest = "WHERE tenant_id = ? AND kind = 'observation' AND sequence_number > ?"
        parameters: list[object] = [tenant_id, after]
        for column, value in (("truthkey", truthkey), ("made_by", by)):
            if value is not None:
                rest, parameters = f"{rest} AND {column} = ?", [*parameters, value]
        return self._rows.all(TruthRecord, f"{rest} ORDER BY sequence_number LIMIT ?", (*parameters, limit))

    def observations_by(self, tenant_id: TenantId, by: str, *, before: int, limit: int) -> tuple[TruthRecord, ...]:
        rest = (
            "WHERE tenant_id = ? AND made_by = ? AND kind = 'observation' AND sequence_number < ?"
            " ORDER BY sequence_number DESC LIMIT ?"
        )
        return self._rows.all(TruthRecord, rest, (tenant_id, by, before, limit))

    def count_reports(self, tenant_id: TenantId, truthkey: str, by: str) -> int:
        # A limit on how much one reporter may fill: a forged count lets somebody in or out, and changes no truth.
        sql = "SELECT COUNT(*) FROM truth_record WHERE made_by = ? AND truthkey = ? AND tenant_id = ? AND kind = ?"
        ((count,),) = self._session.query(sql, (by, truthkey, tenant_id, RecordKind.OBSERVATION.value))
        return int(str(count))

    def last_record(self, tenant_id: TenantId, truthkey: str) -> int:
        rest = "WHERE truthkey = ? AND tenant_id = ? ORDER BY sequence_number DESC LIMIT 1"
        found = self._rows.one(TruthRecord, rest, (truthkey, tenant_id))
        return 0 if found is None else found.sequence_number

    def keys(self, tenant_id: TenantId, *, stale_only: bool = False) -> Iterator[str]:
        # Names of what is to be compiled; a compilation reads the rows of the key itself.
        sql = f"{_KEYS}{_IS_STALE}" if stale_only else _KEYS
        rows = self._session.stream(sql, (tenant_id,) * (4 if stale_only else 2))
        return (str(truthkey) for (truthkey,) in rows)

    def stale_since(self, tenant_id: TenantId, after: int) -> tuple[str, ...]:
        rows = self._session.query(f"{_NEW_KEYS}{_IS_STALE}", (tenant_id, after, tenant_id, tenant_id))
        return tuple(sorted(str(truthkey) for (truthkey,) in rows))

    def find_snapshot(self, tenant_id: TenantId, snapshot_hash: str) -> FrozenTrust | None:
        return self._rows.one(FrozenTrust, "WHERE tenant_id = ? AND snapshot_hash = ?", (tenant_id, snapshot_hash))

    def find_state(self, tenant_id: TenantId, truthkey: str, *, known_at: Instant | None = None) -> SilverState | None:
        rest, parameters = "WHERE tenant_id = ? AND truthkey = ?", (tenant_id, truthkey)
        if known_at is None:
            return self._rows.one(SilverState, f"{rest} ORDER BY version DESC LIMIT 1", parameters)
        rest = f"{rest} AND compile_time <= ? ORDER BY compile_time DESC, version DESC LIMIT 1"
        return self._rows.one(SilverState, rest, (*parameters, sortable(known_at)))

    def find_state_by_hash(self, tenant_id: TenantId, state_hash: str) -> SilverState | None:
        rest = "WHERE tenant_id = ? AND state_hash = ? ORDER BY sequence_number LIMIT 1"
        return self._rows.one(SilverState, rest, (tenant_id, state_hash))

    def statuses(self, tenant_id: TenantId, truthkeys: Iterable[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for part in in_parts(truthkeys):
            rest = f"{_STATES} AND state.truthkey IN ({marks(part)}){_WITHOUT_NEXT})"
            rows = self._rows.joined(SilverState, "state", rest, (tenant_id, *part))
            found.update((state.truthkey, state.status) for state in rows)
        return found

    def history(self, tenant_id: TenantId, truthkey: str) -> tuple[SilverState, ...]:
        rest = "WHERE tenant_id = ? AND truthkey = ? ORDER BY version"
        return self._rows.all(SilverState, rest, (tenant_id, truthkey))

    def gold(
        self,
        tenant_id: TenantId,
        *,
        claim_type: str | None = None,
        known_at: Instant | None = None,
        after: str | None = None,
    ) -> Iterator[SilverState]:
        by_then = None if known_at is None else sortable(known_at)
        if claim_type is None:
            return self._latest(tenant_id, by_then, after)
        return self._latest_of(tenant_id, claim_type, by_then, after)

    def due(self, tenant_id: TenantId, at: Instant) -> Iterator[SilverState]:
        return self._rows.joined(SilverState, "state", _DUE, (tenant_id, sortable(at)))

    def note_due(self, tenant_id: TenantId, truthkey: str, version: int, due_at: Instant | None) -> None:
        if due_at is None:
            self._session.run("DELETE FROM truth_due WHERE tenant_id = ? AND truthkey = ?", (tenant_id, truthkey))
            return
        self._session.run(
            "INSERT INTO truth_due (tenant_id, truthkey, version, due_at) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (tenant_id, truthkey) DO UPDATE SET version = excluded.version, due_at = excluded.due_at",
            (tenant_id, truthkey, version, sortable(due_at)),
        )

    def _first_record(
        self, column: str, value: str, tenant_id: TenantId, kind: RecordKind, **others: str | None
    ) -> TruthRecord | None:
        # Only the id or the hash may lead to rows. Told more, a server that has not counted yet takes a tenant, a kind
        # or an order for as good a lead, and reads all of a tenant's records; this is asked of every arriving record.
        asked = {"tenant_id": tenant_id, **{name: other for name, other in others.items() if other is not None}}
        conditions = "".join(f" AND {name} || '' = ?" for name in asked)
        rows = self._rows.all(TruthRecord, f"WHERE {column} = ?{conditions}", (value, *asked.values()))
        found = [record for record in rows if record.kind is kind]
        return min(found, key=lambda record: (record.sequence_number, record.truthkey), default=None)

    def _latest(self, tenant_id: TenantId, by_then: str | None, after: str | None) -> Iterator[SilverState]:
        rest, parameters = _rest("opening", after)
        if by_then is None:
            return self._rows.joined(
                SilverState,
                "state",
                f"{_EACH_KEY} ORDER BY later.version DESC LIMIT 1){rest}",
                (tenant_id, *parameters),
            )
        return self._rows.joined(
            SilverState,
            "state",
            f"{_EACH_KEY} AND later.compile_time <= ? ORDER BY later.compile_time DESC, later.version DESC LIMIT 1)"
            f"{rest}",
            (tenant_id, by_then, *parameters),
        )

    def _latest_of(
        self, tenant_id: TenantId, claim_type: str, by_then: str | None, after: str | None
    ) -> Iterator[SilverState]:
        rest, parameters = _rest("state", after)
        if by_then is None:
            return self._rows.joined(
                SilverState,
                "state",
                f"{_STATES} AND state.claim_type = ?{_WITHOUT_NEXT}){rest}",
                (tenant_id, claim_type, *parameters),
            )
        return self._rows.joined(
            SilverState,
            "state",
            f"{_STATES} AND state.claim_type = ? AND state.compile_time <= ?"
            f"{_WITHOUT_NEXT} AND later.compile_time <= ?){rest}",
            (tenant_id, claim_type, by_then, by_then, *parameters),
        )


def _rest(table: str, after: str | None) -> tuple[str, tuple[str, ...]]:
    """The end of a statement that goes from key to key: from which on, and in their order."""
    order = f" ORDER BY {table}.truthkey"
    return (order, ()) if after is None else (f" AND {table}.truthkey > ?{order}", (after,))
