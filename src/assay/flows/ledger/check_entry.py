"""One stored row against the text that is proven: hash, link, leaf, and every column."""

from hashlib import sha256
from operator import attrgetter

from assay.kernel.checkpoint import parse_checkpoint
from assay.kernel.digest import Digest, digest_from_raw, digest_of
from assay.kernel.entry import Entry, parse_entry
from assay.kernel.errors import Blame, Error, JsonError, LedgerError
from assay.kernel.ids import TenantId
from assay.kernel.instant import render_instant
from assay.kernel.json_text import CANONICAL_LIMITS, parse_json
from assay.ports.damage import DamagedRecordError
from assay.ports.ledger_store import KeptCheckpoint, StoredEntry

_PLAIN_COLUMNS = (
    "tenant_id",
    "sequence_number",
    "previous_hash",
    "telemetry_id",
    "telemetry_hash",
    "verdict",
    "rule_id",
    "kg_version_hash",
    "model_weight_hash",
    "schema_version",
    "trace_id",
)
_plain_columns = attrgetter(*_PLAIN_COLUMNS)


# What an operator does about damage, in this order.
NEXT_STEPS = (
    "stop changing the node; copy its folder and its database for inspection",
    "run `assay ledger verify --full`: it names the first bad entry and the last good checkpoint",
    "restore a backup that holds at least the last good checkpoint: `assay restore`",
)


class EntryFaultError(LedgerError):
    """The ledger does not hold: `fault_code` says how, `entry` where, if one entry can be named.

    `last_good_checkpoint` is the size of the newest checkpoint before that entry that still holds, where it was sought.
    """

    code = "ledger.fault"
    blame = Blame.INPUT

    def __init__(
        self, fault_code: str, message: str, entry: int | None, *, last_good_checkpoint: int | None = None
    ) -> None:
        super().__init__(message)
        self.fault_code = fault_code
        self.entry = entry
        self.last_good_checkpoint = last_good_checkpoint


def verify_stored_entry(row: StoredEntry, tenant_id: TenantId, expected: int, *, previous_hash: Digest | None) -> Entry:
    """Raise unless the row is entry `expected` of this chain; return it. None leaves the link to the caller."""
    if row.sequence_number != expected:
        raise EntryFaultError("ledger.entry_missing", f"entry {expected} is missing", expected)
    entry_hash = digest_of(row.text)
    if row.entry_hash != entry_hash:
        raise _fault(row, "ledger.entry_hash", f"its text hashes to {entry_hash}, but {row.entry_hash} is recorded")
    if row.leaf_hash != sha256(b"\x00" + row.text).digest():
        raise _fault(row, "ledger.leaf_hash", "its Merkle leaf is not the hash of its text")
    try:
        entry = parse_entry(row.text)
    except Error as error:
        raise _fault(row, error.code, str(error)) from error
    _verify_columns(row, entry)
    if (entry.tenant_id, entry.sequence_number) != (tenant_id, expected):
        raise _fault(row, "ledger.misplaced", f"it says it is entry {entry.sequence_number} of `{entry.tenant_id}`")
    if previous_hash not in (None, entry.previous_hash):
        raise _fault(row, "ledger.broken_link", f"expected it to follow {previous_hash}, got {entry.previous_hash}")
    return entry


def _verify_columns(row: StoredEntry, entry: Entry) -> None:
    """A query trusts the columns, so they must say what the proven text says."""
    if _plain_columns(row) != _plain_columns(entry):
        proven, stored = _plain_columns(entry), _plain_columns(row)
        at = next(at for at, value in enumerate(proven) if value != stored[at])
        raise _column_fault(row, _PLAIN_COLUMNS[at], proven[at], stored[at])
    if row.kind != entry.kind.value:
        raise _column_fault(row, "kind", entry.kind.value, row.kind)
    if row.timestamp != render_instant(entry.timestamp):
        raise _column_fault(row, "timestamp", render_instant(entry.timestamp), row.timestamp)
    for name in ("llm_transcript", "verifier_result"):
        if not _is_same_document(bytes(getattr(entry, name)), getattr(row, name)):
            raise _column_fault(row, name, "the proven document", "another")


def _is_same_document(proven: bytes, stored: str | None) -> bool:
    """Compared as values: a database may keep a document in another spelling."""
    if stored is None or not proven:
        return stored is None and not proven
    if stored == proven.decode():
        return True
    try:
        return parse_json(proven, limits=CANONICAL_LIMITS) == parse_json(stored, limits=CANONICAL_LIMITS)
    except JsonError:
        return False


def _column_fault(row: StoredEntry, name: str, proven: object, stored: object) -> EntryFaultError:
    return _fault(row, "ledger.column_altered", f"column `{name}` should be `{proven}`, got `{stored}`")


def _fault(row: StoredEntry, code: str, message: str) -> EntryFaultError:
    return EntryFaultError(code, f"entry {row.sequence_number}: {message}", row.sequence_number)


def sound_checkpoint(kept: KeptCheckpoint) -> KeptCheckpoint:
    """Return a checkpoint whose columns are what its note says; its signatures are for those who are given it."""
    what = f"the checkpoint over {kept.size} entries"
    try:
        signed = parse_checkpoint(kept.note.encode()).checkpoint
    except Error as error:
        raise DamagedRecordError(f"{what}: its note cannot be read: {error}") from error
    if (kept.size, kept.root_hash) != (signed.size, digest_from_raw(signed.root)):
        raise DamagedRecordError(f"{what}: a column is not what its note says")
    if signed.signed_at not in (None, kept.signed_at):
        raise DamagedRecordError(f"{what}: expected the time that its note says, got {render_instant(kept.signed_at)}")
    return kept
