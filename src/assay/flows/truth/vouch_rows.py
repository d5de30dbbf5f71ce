"""Before anything is signed: whether the rows that a compilation reads are what the ledger's entries hold.

rows of one key -> those not compared before -> the texts of their entries -> member by member -> remembered
A row is a short cut to an entry. Whoever can write to the database can write a row; the entry is in a signed chain.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

import msgspec
from msgspec import Raw, Struct

from assay.flows.truth.truth_entry import ENTRY_KINDS, evidence_of
from assay.kernel.canonical import Profile, canonical_json
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, render_instant
from assay.kernel.json_text import parse_json
from assay.kernel.ledger import EntryKind
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.truth_store import FrozenTrust, RecordKind, ReleasedContract, SilverState, TruthRecord

_REMEMBERED = 1 << 17


class AlteredRowError(DamagedRecordError):
    """A row is not what its entry in the ledger holds: nothing is signed that was made from it."""

    code = "truth.row_differs"


class VouchedRows:
    """Which rows were compared with their entries in this process; those asked for least recently are forgotten.

    By a hash that no writer of the database can aim at, since every process makes its own.
    """

    def __init__(self, most: int = _REMEMBERED) -> None:
        self._most = most
        self._seen: OrderedDict[tuple[TenantId, int], None] = OrderedDict()
        self._lock = Lock()

    def unseen(self, tenant_id: TenantId, rows: Iterable[Struct]) -> list[Struct]:
        with self._lock:
            return [row for row in rows if not self._is_seen((tenant_id, hash(row)))]

    def add(self, tenant_id: TenantId, rows: Iterable[Struct]) -> None:
        with self._lock:
            self._seen.update(((tenant_id, hash(row)), None) for row in rows)
            while len(self._seen) > self._most:
                self._seen.popitem(last=False)

    def _is_seen(self, place: tuple[TenantId, int]) -> bool:
        if place not in self._seen:
            return False
        self._seen.move_to_end(place)
        return True


class _Body(Struct):
    """The members of a Bronze body that rows are made of."""

    truthkeys: tuple[str, ...]
    record: Raw
    record_hash: str
    receipt_time: Instant


class _BronzeEntry(Struct):
    kind: str
    body: _Body


_BRONZE = msgspec.json.Decoder(_BronzeEntry)
# Whose word a record is: the snapshot is taken of those.
_MAKER = {RecordKind.OBSERVATION: "reporter_id", RecordKind.VOTE: "voter_id", RecordKind.WINDOW_EVENT: "by"}


def vouch_rows(
    unit: Unit,
    seen: VouchedRows,
    tenant_id: TenantId,
    records: Iterable[TruthRecord],
    contract: ReleasedContract,
    snapshot: FrozenTrust | None,
) -> None:
    """Raise `truth.row_differs` for the first row that is not its entry; each is compared once in a process."""
    given = tuple(records)
    rows = seen.unseen(tenant_id, [*given, contract, *([] if snapshot is None else [snapshot])])
    if not rows:
        return
    numbers = [row.sequence_number for row in rows if isinstance(row, TruthRecord | ReleasedContract | FrozenTrust)]
    texts = unit.ledger.texts(tenant_id, numbers)
    for row in rows:
        fault = _find_fault(row, texts, given)
        if fault is not None:
            raise AlteredRowError(fault)
    seen.add(tenant_id, rows)


def vouch_states(unit: Unit, seen: VouchedRows, tenant_id: TenantId, states: Iterable[SilverState]) -> None:
    """Raise `truth.row_differs` for the first state whose row, columns included, is not its entry."""
    rows = [row for row in seen.unseen(tenant_id, states) if isinstance(row, SilverState)]
    if not rows:
        return
    texts = unit.ledger.texts(tenant_id, [row.sequence_number for row in rows])
    for row in rows:
        fault = find_state_fault(row, texts.get(row.sequence_number))
        if fault is not None:
            raise AlteredRowError(fault)
    seen.add(tenant_id, rows)


def _find_fault(row: Struct, texts: dict[int, bytes], records: tuple[TruthRecord, ...]) -> str | None:
    if isinstance(row, TruthRecord):
        return find_record_fault(row, texts.get(row.sequence_number), lambda: _carried(records))
    if isinstance(row, ReleasedContract):
        return find_contract_fault(row, texts.get(row.sequence_number))
    if isinstance(row, FrozenTrust):
        return find_snapshot_fault(row, texts.get(row.sequence_number))
    raise TypeError(f"expected a row of truth, got {type(row).__name__}")


def find_contract_fault(row: ReleasedContract, text: bytes | None) -> str | None:
    """What is wrong with the row of a contract beside its entry, its columns included."""
    told = _body_of(text, EntryKind.CONTRACT_RELEASED)
    names = ("claim_type", "claim_type_hash", "document", "schema_text", "released_by")
    is_same = told is not None and all(told.get(name) == getattr(row, name) for name in names)
    return None if is_same else _another("truth_contract", row.sequence_number)


def find_snapshot_fault(row: FrozenTrust, text: bytes | None) -> str | None:
    """What is wrong with the row of a snapshot beside its entry, its columns included."""
    told = _body_of(text, EntryKind.SNAPSHOT_FROZEN)
    snapshot = None if told is None else told.get("snapshot")
    is_same = isinstance(snapshot, dict) and snapshot == _value_of(row.text)
    if is_same and isinstance(snapshot, dict):
        columns = {"snapshot_hash": row.snapshot_hash, "snapshot_time": render_instant(row.snapshot_time)}
        is_same = all(snapshot.get(name) == value for name, value in columns.items())
    return None if is_same else _another("trust_snapshot", row.sequence_number)


class _Security(Struct):
    semantic_hash: str
    state_hash: str


class _Inputs(Struct):
    trust_snapshot_hash: str
    compile_time: Instant


class _State(Struct):
    """The members of a state that columns are made of."""

    truthkey: str
    claim_type: str
    status: str
    compile_inputs: _Inputs
    security: _Security


class _StateBody(Struct):
    state: Raw
    version: int
    through: int
    due_at: Instant | None = None


class _StateEntry(Struct):
    kind: str
    body: _StateBody


_STATE, _STATE_ENTRY = msgspec.json.Decoder(_State), msgspec.json.Decoder(_StateEntry)


def find_state_fault(row: SilverState, text: bytes | None) -> str | None:
    """What is wrong with the row of a state beside its entry: its text, and every column that somebody goes by."""
    try:
        entry = _STATE_ENTRY.decode(text or b"")
        is_same = entry.kind == EntryKind.TRUTH_STATE and _is_state(row, entry.body)
    except msgspec.MsgspecError:
        is_same = False
    return None if is_same else _another("truth_state", row.sequence_number)


def _is_state(row: SilverState, body: _StateBody) -> bool:
    if not is_same_text(bytes(body.state), row.text):
        return False
    state = _STATE.decode(row.text)
    inputs, security = state.compile_inputs, state.security
    told = (state.truthkey, body.version, state.claim_type, state.status, security.semantic_hash, security.state_hash)
    held = (row.truthkey, row.version, row.claim_type, row.status, row.semantic_hash, row.state_hash)
    more = (inputs.trust_snapshot_hash, inputs.compile_time, body.due_at, body.through)
    return told == held and more == (row.snapshot_hash, row.compile_time, row.due_at, row.through)


def _body_of(text: bytes | None, kind: EntryKind) -> dict[str, Any] | None:
    entry = _value_of(text or b"null")
    body = entry.get("body") if isinstance(entry, dict) and entry.get("kind") == kind else None
    return body if isinstance(body, dict) else None


def _another(table: str, number: int) -> str:
    return f"expected the row of entry {number} in `{table}` as the ledger has it, got another"


def find_record_fault(row: TruthRecord, text: bytes | None, carried: Callable[[], frozenset[str]]) -> str | None:
    """What is wrong with a row of Bronze beside its entry; `carried` is the evidence that its key's observations carry.

    A fingerprint alone may stand under a key that its entry does not name, where its evidence is.
    """
    place = f"the row of entry {row.sequence_number} in `truth_record`"
    if text is None:
        return f"expected the entry of {place}, got none"
    try:
        entry = _BRONZE.decode(text)
    except msgspec.MsgspecError:
        return f"expected {place} to have an entry of its kind, got another"
    if entry.kind != ENTRY_KINDS[row.kind] or not _is_told_right(row, entry.body):
        return f"expected {place} as the ledger has it, got another"
    is_placed = row.truthkey in entry.body.truthkeys
    if is_placed or (row.kind is RecordKind.FINGERPRINT and row.record_id.rpartition(".")[2] in carried()):
        return None
    return f"expected {place} under a key that its entry names, got `{row.truthkey[:200]}`"


def _is_told_right(row: TruthRecord, body: _Body) -> bool:
    """The text, and the columns beside it that a compilation goes by: its hash, whose word it is, and since when."""
    if body.record_hash != row.record_hash or not is_same_text(bytes(body.record), row.text):
        return False
    maker = _MAKER.get(row.kind)
    if maker is not None:
        record = msgspec.json.decode(body.record)
        if record.get(maker) != row.by:
            return False
    return body.receipt_time == row.received_at


def is_same_text(held: bytes, text: str) -> bool:
    """An entry holds a record as a value: in most cases in the very bytes of the row, and else in another spelling."""
    if held == text.encode():
        return True
    value = _value_of(held)
    return value is not None and canonical_json(value, Profile.KAORI) == text


def _carried(records: Iterable[TruthRecord]) -> frozenset[str]:
    observed = (_value_of(one.text) for one in records if one.kind is RecordKind.OBSERVATION)
    return frozenset().union(*(evidence_of(one) for one in observed if isinstance(one, dict)))


def _value_of(text: bytes | str) -> object:
    try:
        return parse_json(text)
    except Error:
        return None
