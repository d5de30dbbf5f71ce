"""What is on record about bundles: one with every decision about it, or the latest of them; and the policies."""

from msgspec import UNSET, Struct
from msgspec.structs import replace

from assay.claims.policy import policy_hash
from assay.claims.render_policy import render_policy
from assay.flows.claims.blind_claims import keep_back, last_seen
from assay.flows.claims.claims_entry import ClaimsDecided
from assay.flows.claims.claims_facts import active_policy, asked_of
from assay.flows.claims.claims_rows import decided_rows, is_asker
from assay.flows.claims.decide_claims import GatedClaims, recorded_claims
from assay.flows.errors import NotFoundError
from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.claims_store import ReceivedBundle, RecordedDecision, ReleasedClaimsPolicy
from assay.ports.database import Unit


class ClaimsView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A bundle as it stands, and every decision about it in order; `successor` is the one in its place, if any."""

    gated: GatedClaims
    decisions: tuple[ClaimsDecided, ...]
    submitted_by: PrincipalId
    received_at: Instant
    resumes: Digest | None
    successor: Digest | None


class ListedClaims(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of a list; `decision` is None where a bundle was received and not decided yet.

    `sequence_number` is that of the entry that received it: the next page begins before that of the last line.
    """

    bundle_hash: Digest
    bundle_id: str
    submitted_by: PrincipalId
    tier: str
    received_at: Instant
    decision: str | None
    reason: str | None
    sequence_number: int


class PoliciesView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every released policy in order, and the one in force: its text with everything that it leaves out."""

    released: tuple[ReleasedClaimsPolicy, ...]
    active_id: str
    active_version: str
    active_hash: Digest
    active_document: str


def show_claims(
    unit: Unit, tools: Tools, tenant_id: TenantId, wanted: Digest, *, viewer: Principal | None = None, at: Instant
) -> ClaimsView:
    """A bundle with its decisions, as the viewer may see it; no viewer is the operator of the node's folder.

    What others answered to a question that the person is still to answer by themselves is kept back. An output that
    they asked for themselves is not there: it is withheld from them until it is published.
    """
    row = _get(unit, tenant_id, wanted)
    if is_asker(row, viewer):
        raise NotFoundError(f"tenant `{tenant_id}` has no bundle `{wanted}` for its asker")
    gated = recorded_claims(unit, tools, tenant_id, wanted, at=at)
    if gated is None:
        raise NotFoundError(f"`{wanted}` was received and is not decided yet: submit it again")
    successor = unit.claims.find_successor(tenant_id, wanted)
    decisions = asked_of(unit, tenant_id, wanted)
    return ClaimsView(
        gated=keep_back(unit, tenant_id, gated, viewer),
        # The facts of a decision name answers of others, and are for deciding again: the entry has them.
        decisions=tuple(
            replace(one, facts=UNSET) for one in decisions[: last_seen(unit, tenant_id, decisions, viewer)]
        ),
        submitted_by=row.submitted_by,
        received_at=row.received_at,
        resumes=row.resumes,
        successor=None if successor is None else successor.bundle_hash,
    )


def list_claims(
    unit: Unit,
    tenant_id: TenantId,
    *,
    submitted_by: PrincipalId | None = None,
    viewer: Principal | None = None,
    before: int | None = None,
    limit: int = 50,
) -> tuple[ListedClaims, ...]:
    """The latest first, from before an entry's number on; of one agent or of all, as the viewer may see them.

    It tells of rows: `show_claims` holds each against the ledger.
    """
    rows = unit.pages.bundles(tenant_id, submitted_by=submitted_by, before=before, limit=limit)
    decided = unit.claims.latest_decisions(tenant_id, [row.bundle_hash for row in rows])
    seen = {one.bundle_hash: _seen(unit, tenant_id, one, viewer) for one in decided}
    return tuple(_listed(row, seen.get(row.bundle_hash)) for row in rows)


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


def _seen(unit: Unit, tenant_id: TenantId, latest: RecordedDecision, viewer: Principal | None) -> RecordedDecision:
    """The latest decision about a bundle that this person may see."""
    # Nothing was answered before the first decision, so only a later one can tell of answers.
    if latest.position == 1 or viewer is None:
        return latest
    rows = decided_rows(unit, tenant_id, latest.bundle_hash)
    last = last_seen(unit, tenant_id, [told for _, told in rows], viewer)
    return latest if last is None else rows[last - 1][0]


def _listed(row: ReceivedBundle, latest: RecordedDecision | None) -> ListedClaims:
    return ListedClaims(
        bundle_hash=row.bundle_hash,
        bundle_id=row.bundle_id,
        submitted_by=row.submitted_by,
        tier=row.tier,
        received_at=row.received_at,
        decision=None if latest is None else latest.decision,
        reason=None if latest is None else latest.reason,
        sequence_number=row.sequence_number,
    )
