"""Whether the tables of claims are what the ledger holds: policies, bundles, decisions, turns and evidence.

entries in order | rows in the order of their entries -> one beside the other
The gates decide by these tables, so what was added, changed or taken away there is told.
"""

from collections.abc import Iterator

import msgspec
from msgspec import UNSET

from assay.claims.bundle import bundle_hash
from assay.claims.parse_bundle import parse_bundle
from assay.claims.risk import highest_tier
from assay.flows.claims.claims_entry import ClaimsDecided, Turn, evidence_entry, policy_entry, received_entry
from assay.flows.ledger.compare_rows import IndexedTable, RowProblem, compare_rows
from assay.kernel.entry import Entry
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind
from assay.ports.claims_store import (
    EvidenceFact,
    HeldEvidence,
    ReceivedBundle,
    RecordedDecision,
    ReleasedClaimsPolicy,
    TakenTurn,
)
from assay.ports.database import Unit


def check_claims(unit: Unit, tenant_id: TenantId) -> Iterator[RowProblem]:
    """In the order of entries. The content of evidence is held against its hash whenever it is read."""
    claims = unit.claims

    tables = (
        IndexedTable("claims_policy", EntryKind.CLAIMS_POLICY, claims.policies(tenant_id), _is_policy),
        IndexedTable("claims_bundle", EntryKind.CLAIMS_RECEIVED, claims.bundle_log(tenant_id), _is_bundle),
        IndexedTable("claims_decision", EntryKind.CLAIMS_DECIDED, claims.decision_log(tenant_id), _is_decision),
        IndexedTable("claims_turn", EntryKind.CLAIMS_DECIDED, claims.turn_log(tenant_id), _is_turn, is_due=_took_turn),
        IndexedTable("claims_evidence", EntryKind.CLAIMS_EVIDENCE, claims.evidence_log(tenant_id), _is_evidence),
    )
    return compare_rows(unit, tenant_id, "claims", tables)


def _is_policy(row: ReleasedClaimsPolicy, entry: Entry) -> bool:
    return policy_entry(entry.tenant_id, row).body == bytes(entry.body) and row.released_at == entry.timestamp


def _is_bundle(row: ReceivedBundle, entry: Entry) -> bool:
    """Its body, and the columns beside it that follow from the bundle: its id, its tier, and when it came."""
    try:
        is_same = received_entry(entry.tenant_id, row).body == bytes(entry.body)
        bundle = parse_bundle(row.text)
    except (Error, msgspec.MsgspecError):
        return False
    columns = (row.bundle_hash, row.bundle_id, row.tier, row.received_at)
    return is_same and columns == (bundle_hash(bundle), bundle.id, str(highest_tier(bundle)), entry.timestamp)


def _is_decision(row: RecordedDecision, entry: Entry) -> bool:
    told = _decided(entry)
    if told is None or row.text.encode() != bytes(entry.body) or row.decided_at != entry.timestamp:
        return False
    said = (told.bundle_hash, told.position, told.outcome.decision, told.outcome.reason, told.outcome.policy_hash)
    return said == (row.bundle_hash, row.position, row.decision, row.reason, row.policy_hash)


def _is_turn(row: TakenTurn, entry: Entry) -> bool:
    told = _decided(entry)
    if told is None or (told.bundle_hash, entry.timestamp) != (row.bundle_hash, row.taken_at):
        return False
    return told.turn == Turn(of=row.submitted_by, position=row.position)


def _took_turn(entry: Entry) -> bool:
    told = _decided(entry)
    return told is not None and told.turn is not UNSET


def _is_evidence(row: EvidenceFact, entry: Entry) -> bool:
    fields = {name: getattr(row, name) for name in EvidenceFact.__struct_fields__}
    draft = evidence_entry(entry.tenant_id, HeldEvidence(content=None, **fields))
    return draft.body == bytes(entry.body) and row.attached_at == entry.timestamp


def _decided(entry: Entry) -> ClaimsDecided | None:
    try:
        return msgspec.json.decode(entry.body, type=ClaimsDecided)
    except msgspec.MsgspecError:
        return None
