"""Contracts, Bronze records, frozen trust and Silver states in SQL; Gold is read from Silver."""

from collections.abc import Iterable, Iterator

from assay.adapters.sql.parts import in_parts, marks
from assay.adapters.sql.record import ConflictError
from assay.adapters.sql.row import add_row, columns_of, read_row, sortable, verify_row
from assay.adapters.sql.session import Row, SqlSession
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.truth_store import FrozenTrust, RecordKind, ReleasedContract, SilverState, TruthRecord

_CONTRACT = f"SELECT {', '.join(columns_of(ReleasedContract))} FROM truth_contract WHERE tenant_id = ?"  # noqa: S608 - our constants
_RECORD_OF_ANY = f"SELECT {', '.join(columns_of(TruthRecord))} FROM truth_record"  # noqa: S608 - our constants
_RECORD = f"{_RECORD_OF_ANY} WHERE tenant_id = ?"
_SNAPSHOT = f"SELECT {', '.join(columns_of(FrozenTrust))} FROM trust_snapshot WHERE tenant_id = ?"  # noqa: S608 - our constants
_STATE_COLUMNS = ", ".join(f"state.{name}" for name in columns_of(SilverState))
_STATE = f"SELECT {_STATE_COLUMNS} FROM truth_state AS state WHERE state.tenant_id = ?"  # noqa: S608 - our constants
_STATUS = "SELECT state.truthkey, state.status FROM truth_state AS state WHERE state.tenant_id = ?"

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
    f"SELECT {_STATE_COLUMNS} FROM truth_state AS opening CROSS JOIN truth_state AS state"  # noqa: S608 - our constants
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
    f"SELECT {_STATE_COLUMNS} FROM truth_due AS due CROSS JOIN truth_state AS state"  # noqa: S608 - our constants
    " WHERE due.tenant_id = ? AND due.due_at <= ?"
    " AND state.tenant_id = due.tenant_id AND state.truthkey = due.truthkey AND state.version = due.version"
    " ORDER BY due.due_at, due.truthkey"
)


class SqlTruthStore:
    """Implements `ports.truth_store.TruthStore`."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    def release_contract(self, tenant_id: TenantId, contract: ReleasedContract) -> None:
        verify_row(contract, "claim_type")
        add_row(self._session, "truth_contract", tenant_id, contract, f"the contract `{contract.claim_type}`")

    def find_contract(self, tenant_id: TenantId, claim_type: str) -> ReleasedContract | None:
        rows = self._session.query(f"{_CONTRACT} AND claim_type = ?", (tenant_id, claim_type))
        return read_row(rows[0], ReleasedContract) if rows else None

    def contracts(self, tenant_id: TenantId) -> tuple[ReleasedContract, ...]:
        rows = self._session.query(f"{_CONTRACT} ORDER BY claim_type", (tenant_id,))
        return tuple(read_row(row, ReleasedContract) for row in rows)

    def add_record(self, tenant_id: TenantId, record: TruthRecord) -> None:
        verify_row(record, "truthkey", "record_id", "record_hash", "by")
        what = f"the {record.kind} `{record.record_id}`, its hash or its entry {record.sequence_number}"
        add_row(self._session, "truth_record", tenant_id, record, what)

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

    def records(self, tenant_id: TenantId, truthkey: str, *, through: int | None = None) -> Iterator[TruthRecord]:
        condition, parameters = " AND truthkey = ?", list[object]((tenant_id, truthkey))
        if through is not None:
            # The plus keeps SQLite on the index that has the order; by another it would first sort every text.
            condition, parameters = f"{condition} AND +sequence_number <= ?", [*parameters, through]
        rows = self._session.stream(f"{_RECORD}{condition} ORDER BY kind, record_hash", parameters)
        return (read_row(row, TruthRecord) for row in rows)

    def observations(
        self,
        tenant_id: TenantId,
        *,
        truthkey: str | None = None,
        by: str | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> tuple[TruthRecord, ...]:
        condition, parameters = " AND kind = 'observation' AND sequence_number > ?", list[object]((tenant_id, after))
        for column, value in (("truthkey", truthkey), ("made_by", by)):
            if value is not None:
                condition, parameters = f"{condition} AND {column} = ?", [*parameters, value]
        rows = self._session.query(f"{_RECORD}{condition} ORDER BY sequence_number LIMIT ?", (*parameters, limit))
        return tuple(read_row(row, TruthRecord) for row in rows)

    def observations_by(self, tenant_id: TenantId, by: str, *, before: int, limit: int) -> tuple[TruthRecord, ...]:
        rows = self._session.query(
            f"{_RECORD} AND made_by = ? AND kind = 'observation' AND sequence_number < ?"
            " ORDER BY sequence_number DESC LIMIT ?",
            (tenant_id, by, before, limit),
        )
        return tuple(read_row(row, TruthRecord) for row in rows)

    def count_reports(self, tenant_id: TenantId, truthkey: str, by: str) -> int:
        sql = "SELECT COUNT(*) FROM truth_record WHERE made_by = ? AND truthkey = ? AND tenant_id = ? AND kind = ?"
        ((count,),) = self._session.query(sql, (by, truthkey, tenant_id, RecordKind.OBSERVATION.value))
        return int(str(count))

    def last_record(self, tenant_id: TenantId, truthkey: str) -> int:
        ((number,),) = self._session.query(
            "SELECT coalesce(max(sequence_number), 0) FROM truth_record WHERE tenant_id = ? AND truthkey = ?",
            (tenant_id, truthkey),
        )
        return int(number)

    def keys(self, tenant_id: TenantId, *, stale_only: bool = False) -> Iterator[str]:
        sql = f"{_KEYS}{_IS_STALE}" if stale_only else _KEYS
        rows = self._session.stream(sql, (tenant_id,) * (4 if stale_only else 2))
        return (str(truthkey) for (truthkey,) in rows)

    def stale_since(self, tenant_id: TenantId, after: int) -> tuple[str, ...]:
        rows = self._session.query(f"{_NEW_KEYS}{_IS_STALE}", (tenant_id, after, tenant_id, tenant_id))
        return tuple(sorted(str(truthkey) for (truthkey,) in rows))

    def record_log(self, tenant_id: TenantId, *, first: int = 1) -> Iterator[TruthRecord]:
        rows = self._session.stream(
            f"{_RECORD} AND sequence_number >= ? ORDER BY sequence_number, truthkey", (tenant_id, first)
        )
        return (read_row(row, TruthRecord) for row in rows)

    def freeze(self, tenant_id: TenantId, trust: FrozenTrust) -> None:
        verify_row(trust, "snapshot_hash")
        add_row(self._session, "trust_snapshot", tenant_id, trust, f"the snapshot `{trust.snapshot_hash}`")

    def find_snapshot(self, tenant_id: TenantId, snapshot_hash: str) -> FrozenTrust | None:
        rows = self._session.query(f"{_SNAPSHOT} AND snapshot_hash = ?", (tenant_id, snapshot_hash))
        return read_row(rows[0], FrozenTrust) if rows else None

    def snapshot_log(self, tenant_id: TenantId, *, first: int = 1) -> Iterator[FrozenTrust]:
        rows = self._session.stream(
            f"{_SNAPSHOT} AND sequence_number >= ? ORDER BY sequence_number", (tenant_id, first)
        )
        return (read_row(row, FrozenTrust) for row in rows)

    def add_state(self, tenant_id: TenantId, state: SilverState) -> None:
        verify_row(state, "truthkey", "claim_type", "state_hash")
        self._verify_follows(tenant_id, state)
        what = f"version {state.version} of `{state.truthkey}`"
        add_row(self._session, "truth_state", tenant_id, state, what)
        self._note_due(tenant_id, state)

    def find_state(self, tenant_id: TenantId, truthkey: str, *, known_at: Instant | None = None) -> SilverState | None:
        if known_at is None:
            return self._state(" AND state.truthkey = ? ORDER BY state.version DESC", tenant_id, truthkey)
        return self._state(
            " AND state.truthkey = ? AND state.compile_time <= ? ORDER BY state.compile_time DESC, state.version DESC",
            tenant_id,
            truthkey,
            sortable(known_at),
        )

    def find_state_by_hash(self, tenant_id: TenantId, state_hash: str) -> SilverState | None:
        return self._state(" AND state.state_hash = ? ORDER BY state.sequence_number", tenant_id, state_hash)

    def statuses(self, tenant_id: TenantId, truthkeys: Iterable[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for part in in_parts(truthkeys):
            sql = f"{_STATUS} AND state.truthkey IN ({marks(part)}){_WITHOUT_NEXT})"
            found.update((key, status) for key, status in self._session.query(sql, (tenant_id, *part)))
        return found

    def history(self, tenant_id: TenantId, truthkey: str) -> tuple[SilverState, ...]:
        rows = self._session.query(f"{_STATE} AND state.truthkey = ? ORDER BY state.version", (tenant_id, truthkey))
        return tuple(read_row(row, SilverState) for row in rows)

    def state_log(self, tenant_id: TenantId, *, first: int = 1) -> Iterator[SilverState]:
        rows = self._session.stream(
            f"{_STATE} AND state.sequence_number >= ? ORDER BY state.sequence_number", (tenant_id, first)
        )
        return (read_row(row, SilverState) for row in rows)

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
            rows = self._latest(tenant_id, by_then, after)
        else:
            rows = self._latest_of(tenant_id, claim_type, by_then, after)
        return (read_row(row, SilverState) for row in rows)

    def due(self, tenant_id: TenantId, at: Instant) -> Iterator[SilverState]:
        rows = self._session.stream(_DUE, (tenant_id, sortable(at)))
        return (read_row(row, SilverState) for row in rows)

    def _note_due(self, tenant_id: TenantId, state: SilverState) -> None:
        if state.due_at is None:
            self._session.run("DELETE FROM truth_due WHERE tenant_id = ? AND truthkey = ?", (tenant_id, state.truthkey))
            return
        self._session.run(
            "INSERT INTO truth_due (tenant_id, truthkey, version, due_at) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (tenant_id, truthkey) DO UPDATE SET version = excluded.version, due_at = excluded.due_at",
            (tenant_id, state.truthkey, state.version, sortable(state.due_at)),
        )

    def _first_record(
        self, column: str, value: str, tenant_id: TenantId, kind: RecordKind, **others: str | None
    ) -> TruthRecord | None:
        # Only the id or the hash may lead to rows. Told more, a server that has not counted yet takes a tenant, a kind
        # or an order for as good a lead, and reads all of a tenant's records; this is asked of every arriving record.
        asked = {"tenant_id": tenant_id, **{name: other for name, other in others.items() if other is not None}}
        conditions = "".join(f" AND {name} || '' = ?" for name in asked)
        rows = self._session.query(f"{_RECORD_OF_ANY} WHERE {column} = ?{conditions}", (value, *asked.values()))
        found = [record for record in (read_row(row, TruthRecord) for row in rows) if record.kind is kind]
        return min(found, key=lambda record: (record.sequence_number, record.truthkey), default=None)

    def _state(self, condition: str, *parameters: object) -> SilverState | None:
        rows = self._session.query(f"{_STATE}{condition} LIMIT 1", parameters)
        return read_row(rows[0], SilverState) if rows else None

    def _verify_follows(self, tenant_id: TenantId, state: SilverState) -> None:
        rows = self._session.query(
            "SELECT version, compile_time, through FROM truth_state WHERE tenant_id = ? AND truthkey = ?"
            " ORDER BY version DESC LIMIT 1",
            (tenant_id, state.truthkey),
        )
        version, compile_time, through = rows[0] if rows else (0, "", 0)
        if state.version != version + 1:
            raise ConflictError(f"expected version {version + 1} of `{state.truthkey}`, got {state.version}")
        if sortable(state.compile_time) < compile_time or state.through < through:
            raise ConflictError(
                f"expected a state of `{state.truthkey}` compiled at {compile_time} or later through entry {through}"
                f" at least, got one at {sortable(state.compile_time)} through {state.through}"
            )

    def _latest(self, tenant_id: TenantId, by_then: str | None, after: str | None) -> Iterator[Row]:
        rest, parameters = _rest("opening", after)
        if by_then is None:
            return self._session.stream(
                f"{_EACH_KEY} ORDER BY later.version DESC LIMIT 1){rest}", (tenant_id, *parameters)
            )
        return self._session.stream(
            f"{_EACH_KEY} AND later.compile_time <= ? ORDER BY later.compile_time DESC, later.version DESC LIMIT 1)"
            f"{rest}",
            (tenant_id, by_then, *parameters),
        )

    def _latest_of(self, tenant_id: TenantId, claim_type: str, by_then: str | None, after: str | None) -> Iterator[Row]:
        rest, parameters = _rest("state", after)
        if by_then is None:
            return self._session.stream(
                f"{_STATE} AND state.claim_type = ?{_WITHOUT_NEXT}){rest}", (tenant_id, claim_type, *parameters)
            )
        return self._session.stream(
            f"{_STATE} AND state.claim_type = ? AND state.compile_time <= ?"
            f"{_WITHOUT_NEXT} AND later.compile_time <= ?){rest}",
            (tenant_id, claim_type, by_then, by_then, *parameters),
        )


def _rest(table: str, after: str | None) -> tuple[str, tuple[str, ...]]:
    """The end of a statement that goes from key to key: from which on, and in their order."""
    order = f" ORDER BY {table}.truthkey"
    return (order, ()) if after is None else (f" AND {table}.truthkey > ?{order}", (after,))
