"""Rows about claims, believed only as far as the ledger says the same: each is held against its own entry.

row -> the entry that it names -> the body that it must have come from | store.damaged
rows of a bundle, turns of an agent -> as many, and as late, as the ledger itself says: one that is gone is missed
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from assay.claims.bundle import bundle_hash
from assay.claims.parse_bundle import parse_bundle
from assay.claims.parse_policy import parse_policy
from assay.claims.policy import ClaimsPolicy
from assay.claims.risk import highest_tier
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
from assay.ports.ledger_store import StoredEntry


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


@lru_cache(maxsize=16)
def read_claims_policy(document: str) -> ClaimsPolicy:
    """A released policy, parsed once: the same text gives the same policy."""
    return parse_policy(document)


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


def verify_listed(
    unit: Unit, tenant_id: TenantId, rows: Sequence[ReceivedBundle], decisions: Sequence[RecordedDecision]
) -> None:
    """Raise where a row of a page, or a latest decision, differs from its entry; all entries come with one query."""
    numbers = [*(one.sequence_number for one in rows), *(one.sequence_number for one in decisions)]
    entries = unit.ledger.find_entries(tenant_id, numbers)
    for row in rows:
        entry = _held_entry(entries.get(row.sequence_number), row.sequence_number, EntryKind.CLAIMS_RECEIVED)
        is_same = received_entry(tenant_id, row).body == bytes(entry.body) and row.received_at == entry.timestamp
        _require_same(is_same and _is_summary(row), row.sequence_number)
    for decision in decisions:
        entry = _held_entry(entries.get(decision.sequence_number), decision.sequence_number, EntryKind.CLAIMS_DECIDED)
        _compare_decision(decision, bytes(entry.body), decision.position)


def _is_summary(row: ReceivedBundle) -> bool:
    """Whether the columns beside the bundle's text are what the bundle says."""
    bundle = parse_bundle(row.text)
    return (row.bundle_hash, row.bundle_id, row.tier) == (bundle_hash(bundle), bundle.id, str(highest_tier(bundle)))


class Turns(NamedTuple):
    """The turns of an agent: the position of the latest, and how many were taken in a window."""

    last: int
    recent: int


def load_turns(unit: Unit, tenant_id: TenantId, agent: PrincipalId, *, since: Instant) -> Turns:
    """Count the turns of an agent after `since`: the difference of two positions, not a count of rows.

    So a row that was deleted in between is still counted.
    """
    latest = find_latest_turn(unit, tenant_id, agent)
    if latest is None:
        return Turns(0, 0)
    if latest.taken_at <= since:
        return Turns(latest.position, 0)
    before = _held(unit, tenant_id, unit.claims.turn_before(tenant_id, agent, since))
    return Turns(latest.position, latest.position - (0 if before is None else before.position))


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
    return _compare_decision(row, _body(unit, tenant_id, row.sequence_number, EntryKind.CLAIMS_DECIDED), position)


def _compare_decision(row: RecordedDecision, body: bytes, position: int) -> ClaimsDecided:
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
    return _held_entry(unit.ledger.find_entry(tenant_id, sequence_number), sequence_number, kind)


def _held_entry(stored: StoredEntry | None, sequence_number: int, kind: EntryKind) -> Entry:
    if stored is None or digest_of(stored.text) != stored.entry_hash:
        raise DamagedRecordError(f"expected entry {sequence_number} beside a row about claims, got none that holds")
    entry = parse_entry(stored.text)
    _require_same(entry.kind is kind, sequence_number)
    return entry


def _require_same(is_same: bool, sequence_number: int) -> None:  # noqa: FBT001  it is what is required
    if not is_same:
        raise DamagedRecordError(f"expected a row about claims to say what entry {sequence_number} says, got another")
