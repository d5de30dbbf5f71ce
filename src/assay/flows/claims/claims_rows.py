"""Rows of claims that decide something: none may be missing, between the others or after them.

The store compares every row with the entry that its `sequence_number` names; what only its absence would change is
compared here with what the ledger itself says.
"""

from functools import lru_cache
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from assay.claims.edit import ClaimChange, find_changes
from assay.claims.parse_bundle import parse_bundle
from assay.claims.parse_policy import parse_policy
from assay.claims.policy import ClaimsPolicy
from assay.facts.claims import BundleContext, ClaimsDecided
from assay.flows.ledger.in_force import require_newest
from assay.identity.principal import Principal
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.claims_store import ReceivedBundle, RecordedDecision, ReleasedClaimsPolicy, TakenTurn
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit


class Turns(NamedTuple):
    """The turns of an agent: the position of the latest, and how many were taken in a window."""

    last: int
    recent: int


def is_asker(row: ReceivedBundle, viewer: Principal | None) -> bool:
    """Whether the bundle claims an output that this principal asked the node for, and that is withheld from them."""
    if viewer is None:
        return False
    return msgspec.json.decode(row.context, type=BundleContext).asked_by == viewer.id


def changes_of(unit: Unit, tenant_id: TenantId, row: ReceivedBundle) -> tuple[ClaimChange, ...]:
    """What a reviewer changed of the bundle that this one takes the place of; none where it is no edit."""
    context = msgspec.json.decode(row.context, type=BundleContext)
    if context.edited_by is UNSET or row.resumes is None:
        return ()
    earlier = unit.claims.find_bundle(tenant_id, row.resumes)
    if earlier is None:
        raise DamagedRecordError(f"expected the bundle `{row.resumes}` that `{row.bundle_hash}` edits, got none")
    arguments = msgspec.json.decode(earlier.context, type=BundleContext).tool_arguments
    return find_changes(parse_bundle(earlier.text), parse_bundle(row.text), arguments, context.tool_arguments)


@lru_cache(maxsize=16)
def read_claims_policy(document: str) -> ClaimsPolicy:
    """A released policy, parsed once: the same text gives the same policy."""
    return parse_policy(document)


def find_active_policy(unit: Unit, tenant_id: TenantId) -> ReleasedClaimsPolicy | None:
    """The policy that was released last, by the ledger: a missing row does not bring back the one before."""
    row = unit.claims.active_policy(tenant_id)
    require_newest(unit, tenant_id, EntryKind.CLAIMS_POLICY, None if row is None else row.sequence_number)
    return row


def decided_rows(unit: Unit, tenant_id: TenantId, wanted: Digest) -> tuple[tuple[RecordedDecision, ClaimsDecided], ...]:
    """Every decision about a bundle, in order: 1, 2, 3 … and none missing, between them or after them.

    Without the last one a bundle would be as it was before it: what was taken back, or refused, would go on.
    """
    rows = unit.claims.decisions(tenant_id, wanted)
    logged = unit.claims.logged_decisions(tenant_id, wanted)
    if len(rows) < logged or any(row.position != place for place, row in enumerate(rows, 1)):
        raise DamagedRecordError(f"expected {logged} decisions about `{wanted}`, as the ledger has, got {len(rows)}")
    return tuple((row, read_decision(row)) for row in rows)


def read_decision(row: RecordedDecision) -> ClaimsDecided:
    """The body of the entry that recorded a decision."""
    try:
        return msgspec.json.decode(row.text, type=ClaimsDecided)
    except msgspec.MsgspecError as error:
        raise DamagedRecordError(f"entry {row.sequence_number} is no decision about claims: {error}") from error


def load_turns(unit: Unit, tenant_id: TenantId, agent: PrincipalId, *, since: Instant) -> Turns:
    """Count the turns of an agent after `since`: the difference of two positions, not a count of rows.

    So a row that was deleted in between is still counted.
    """
    latest = find_latest_turn(unit, tenant_id, agent)
    if latest is None:
        return Turns(0, 0)
    if latest.taken_at <= since:
        return Turns(latest.position, 0)
    before = unit.claims.turn_before(tenant_id, agent, since)
    return Turns(latest.position, latest.position - (0 if before is None else before.position))


def find_latest_turn(unit: Unit, tenant_id: TenantId, agent: PrincipalId) -> TakenTurn | None:
    """The last turn of an agent, by the ledger."""
    latest = unit.claims.latest_turn(tenant_id, agent)
    logged = unit.claims.logged_turn(tenant_id, agent)
    if logged is not None and (latest is None or latest.sequence_number < logged):
        raise DamagedRecordError(f"expected the row of entry {logged}, the latest turn of `{agent}`, got none as late")
    return latest
