"""Rows about claims, believed only as far as the ledger says the same: each is held against its own entry.

row -> the entry that it names -> the body that it must have come from | store.damaged
rows of a bundle, turns of an agent -> as many, and as late, as the ledger itself says: one that is gone is missed
"""

import msgspec

from assay.flows.claims.claims_entry import BundleContext, ClaimsDecided, Turn, policy_entry, received_entry
from assay.flows.ledger.in_force import require_newest
from assay.identity.principal import Principal
from assay.kernel.digest import Digest, digest_of
from assay.kernel.entry import Entry, parse_entry
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.claims_store import ReceivedBundle, RecordedDecision, ReleasedClaimsPolicy, TakenTurn
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit


def find_received(unit: Unit, tenant_id: TenantId, wanted: Digest) -> ReceivedBundle | None:
    """A bundle as it came; None where none did."""
    row = unit.claims.find_bundle(tenant_id, wanted)
    if row is None:
        return None
    body = _body(unit, tenant_id, row.sequence_number, EntryKind.CLAIMS_RECEIVED)
    _require_same(received_entry(tenant_id, row).body == body and row.bundle_hash == wanted, row.sequence_number)
    return row


def is_asker(row: ReceivedBundle, viewer: Principal | None) -> bool:
    """Whether the bundle claims an output that this principal asked the node for, and that is kept from them."""
    if viewer is None:
        return False
    return msgspec.json.decode(row.context, type=BundleContext).asked_by == viewer.id


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
    """Every decision about a bundle, in order: 1, 2, 3 … and none missing, between them or after them.

    Without the last one a bundle would stand as it stood before it: what was taken back, or refused, would go on.
    """
    rows = unit.claims.decisions(tenant_id, wanted)
    logged = unit.claims.logged_decisions(tenant_id, wanted)
    if len(rows) < logged:
        raise DamagedRecordError(f"expected {logged} decisions about `{wanted}`, as the ledger has, got {len(rows)}")
    return tuple((row, _decided(unit, tenant_id, row, position)) for position, row in enumerate(rows, 1))


def recent_turns(unit: Unit, tenant_id: TenantId, agent: PrincipalId, *, since: Instant) -> int:
    """How many bundles of an agent had their turn after `since`: the difference of two positions, not a count of rows.

    So a row that was deleted in between is still counted.
    """
    latest = find_latest_turn(unit, tenant_id, agent)
    if latest is None or latest.taken_at <= since:
        return 0
    before = _held(unit, tenant_id, unit.claims.turn_before(tenant_id, agent, since))
    return latest.position - (0 if before is None else before.position)


def find_latest_turn(unit: Unit, tenant_id: TenantId, agent: PrincipalId) -> TakenTurn | None:
    """The last turn of an agent, by the ledger's word."""
    latest = _held(unit, tenant_id, unit.claims.latest_turn(tenant_id, agent))
    logged = unit.claims.logged_turn(tenant_id, agent)
    if logged is not None and (latest is None or latest.sequence_number < logged):
        raise DamagedRecordError(f"expected the row of entry {logged}, the latest turn of `{agent}`, got none as late")
    return latest


def _held(unit: Unit, tenant_id: TenantId, row: TakenTurn | None) -> TakenTurn | None:
    if row is None:
        return None
    entry = _entry(unit, tenant_id, row.sequence_number, EntryKind.CLAIMS_DECIDED)
    told = _parsed(bytes(entry.body), row.sequence_number)
    said = (told.bundle_hash, told.turn, entry.timestamp)
    is_same = said == (row.bundle_hash, Turn(of=row.submitted_by, position=row.position), row.taken_at)
    _require_same(is_same, row.sequence_number)
    return row


def _decided(unit: Unit, tenant_id: TenantId, row: RecordedDecision, position: int) -> ClaimsDecided:
    body = _body(unit, tenant_id, row.sequence_number, EntryKind.CLAIMS_DECIDED)
    told = _parsed(body, row.sequence_number)
    said = (told.bundle_hash, told.position, told.outcome.decision, told.outcome.reason, told.outcome.policy_hash)
    kept = (row.bundle_hash, position, row.decision, row.reason, row.policy_hash)
    _require_same(said == kept and row.position == position and row.text.encode() == body, row.sequence_number)
    return told


def _parsed(body: bytes, sequence_number: int) -> ClaimsDecided:
    try:
        return msgspec.json.decode(body, type=ClaimsDecided)
    except msgspec.MsgspecError as error:
        raise DamagedRecordError(f"entry {sequence_number} is no decision about claims: {error}") from error


def _body(unit: Unit, tenant_id: TenantId, sequence_number: int, kind: EntryKind) -> bytes:
    return bytes(_entry(unit, tenant_id, sequence_number, kind).body)


def _entry(unit: Unit, tenant_id: TenantId, sequence_number: int, kind: EntryKind) -> Entry:
    stored = unit.ledger.find_entry(tenant_id, sequence_number)
    if stored is None or digest_of(stored.text) != stored.entry_hash:
        raise DamagedRecordError(f"expected entry {sequence_number} beside a row about claims, got none that holds")
    entry = parse_entry(stored.text)
    _require_same(entry.kind is kind, sequence_number)
    return entry


def _require_same(is_same: bool, sequence_number: int) -> None:  # noqa: FBT001  it is what is required
    if not is_same:
        raise DamagedRecordError(f"expected a row about claims to say what entry {sequence_number} says, got another")
