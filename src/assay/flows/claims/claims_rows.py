"""Rows about claims, believed only as far as the ledger says the same: each is held against its own entry.

row -> the entry that it names -> the body that it must have come from | store.damaged
"""

import msgspec

from assay.flows.claims.claims_entry import ClaimsDecided, policy_entry, received_entry
from assay.flows.ledger.in_force import require_newest
from assay.kernel.digest import Digest, digest_of
from assay.kernel.entry import parse_entry
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind
from assay.ports.claims_store import ReceivedBundle, RecordedDecision, ReleasedClaimsPolicy
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit

__all__ = ["decided_rows", "find_active_policy", "find_received"]


def find_received(unit: Unit, tenant_id: TenantId, wanted: Digest) -> ReceivedBundle | None:
    """A bundle as it came; None where none did."""
    row = unit.claims.find_bundle(tenant_id, wanted)
    if row is None:
        return None
    body = _body(unit, tenant_id, row.sequence_number, EntryKind.CLAIMS_RECEIVED)
    _require_same(received_entry(tenant_id, row).body == body and row.bundle_hash == wanted, row.sequence_number)
    return row


def find_active_policy(unit: Unit, tenant_id: TenantId) -> ReleasedClaimsPolicy | None:
    """The one that was released last, by the ledger's word: a row that is gone does not bring back the one before."""
    row = unit.claims.active_policy(tenant_id)
    require_newest(unit, tenant_id, EntryKind.CLAIMS_POLICY, None if row is None else row.sequence_number)
    if row is None:
        return None
    body = _body(unit, tenant_id, row.sequence_number, EntryKind.CLAIMS_POLICY)
    _require_same(policy_entry(tenant_id, row).body == body, row.sequence_number)
    return row


def decided_rows(unit: Unit, tenant_id: TenantId, wanted: Digest) -> tuple[tuple[RecordedDecision, ClaimsDecided], ...]:
    """Every decision about a bundle, in order: 1, 2, 3 … and none between them missing."""
    rows = unit.claims.decisions(tenant_id, wanted)
    return tuple((row, _decided(unit, tenant_id, row, position)) for position, row in enumerate(rows, 1))


def _decided(unit: Unit, tenant_id: TenantId, row: RecordedDecision, position: int) -> ClaimsDecided:
    body = _body(unit, tenant_id, row.sequence_number, EntryKind.CLAIMS_DECIDED)
    try:
        told = msgspec.json.decode(body, type=ClaimsDecided)
    except msgspec.MsgspecError as error:
        raise DamagedRecordError(f"entry {row.sequence_number} is no decision about claims: {error}") from error
    said = (told.bundle_hash, told.position, told.outcome.decision, told.outcome.reason, told.outcome.policy_hash)
    kept = (row.bundle_hash, position, row.decision, row.reason, row.policy_hash)
    _require_same(said == kept and row.position == position and row.text.encode() == body, row.sequence_number)
    return told


def _body(unit: Unit, tenant_id: TenantId, sequence_number: int, kind: EntryKind) -> bytes:
    stored = unit.ledger.find_entry(tenant_id, sequence_number)
    if stored is None or digest_of(stored.text) != stored.entry_hash:
        raise DamagedRecordError(f"expected entry {sequence_number} beside a row about claims, got none that holds")
    entry = parse_entry(stored.text)
    _require_same(entry.kind is kind, sequence_number)
    return bytes(entry.body)


def _require_same(is_same: bool, sequence_number: int) -> None:  # noqa: FBT001  it is what is required
    if not is_same:
        raise DamagedRecordError(f"expected a row about claims to say what entry {sequence_number} says, got another")
