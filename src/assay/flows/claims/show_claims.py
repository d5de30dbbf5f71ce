"""What is on record about bundles: one with every decision about it, or the latest of them; and the policies."""

from msgspec import Struct

from assay.claims.policy import policy_hash
from assay.claims.render_policy import render_policy
from assay.flows.claims.claims_entry import ClaimsDecided
from assay.flows.claims.claims_facts import active_policy, asked_of
from assay.flows.claims.decide_claims import GatedClaims, recorded_claims
from assay.flows.errors import NotFoundError
from assay.flows.tools import Tools
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.claims_store import ReceivedBundle, RecordedDecision, ReleasedClaimsPolicy
from assay.ports.database import Unit

__all__ = ["ClaimsView", "ListedClaims", "PoliciesView", "list_claims", "list_claims_policies", "show_claims"]


class ClaimsView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A bundle as it stands, and every decision about it in order; `successor` is the one in its place, if any."""

    gated: GatedClaims
    decisions: tuple[ClaimsDecided, ...]
    submitted_by: PrincipalId
    received_at: Instant
    resumes: Digest | None
    successor: Digest | None


class ListedClaims(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of a list; `decision` is None where a bundle was received and not decided yet."""

    bundle_hash: Digest
    bundle_id: str
    submitted_by: PrincipalId
    tier: str
    received_at: Instant
    decision: str | None
    reason: str | None


class PoliciesView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every released policy in order, and the one in force: its text with everything that it leaves out."""

    released: tuple[ReleasedClaimsPolicy, ...]
    active_id: str
    active_version: str
    active_hash: Digest
    active_document: str


def show_claims(unit: Unit, tools: Tools, tenant_id: TenantId, wanted: Digest, *, at: Instant) -> ClaimsView:
    row = _get(unit, tenant_id, wanted)
    gated = recorded_claims(unit, tools, tenant_id, wanted, at=at)
    if gated is None:
        raise NotFoundError(f"`{wanted}` was received and is not decided yet: submit it again")
    successor = unit.claims.find_successor(tenant_id, wanted)
    return ClaimsView(
        gated=gated,
        decisions=asked_of(unit, tenant_id, wanted),
        submitted_by=row.submitted_by,
        received_at=row.received_at,
        resumes=row.resumes,
        successor=None if successor is None else successor.bundle_hash,
    )


def list_claims(
    unit: Unit, tenant_id: TenantId, *, submitted_by: PrincipalId | None = None, limit: int = 50
) -> tuple[ListedClaims, ...]:
    """The latest first; of one agent or of all. It tells of rows: `show_claims` holds each against the ledger."""
    rows = unit.claims.bundles(tenant_id, submitted_by=submitted_by, limit=limit)
    return tuple(_listed(row, unit.claims.latest_decision(tenant_id, row.bundle_hash)) for row in rows)


def list_claims_policies(unit: Unit, tenant_id: TenantId) -> PoliciesView:
    active = active_policy(unit, tenant_id)
    return PoliciesView(
        released=unit.claims.policies(tenant_id),
        active_id=active.id,
        active_version=active.version,
        active_hash=policy_hash(active),
        active_document=render_policy(active),
    )


def _get(unit: Unit, tenant_id: TenantId, wanted: Digest) -> ReceivedBundle:
    row = unit.claims.find_bundle(tenant_id, wanted)
    if row is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no bundle `{wanted}`")
    return row


def _listed(row: ReceivedBundle, latest: RecordedDecision | None) -> ListedClaims:
    return ListedClaims(
        bundle_hash=row.bundle_hash,
        bundle_id=row.bundle_id,
        submitted_by=row.submitted_by,
        tier=row.tier,
        received_at=row.received_at,
        decision=None if latest is None else latest.decision,
        reason=None if latest is None else latest.reason,
    )
