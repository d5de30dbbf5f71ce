"""What a reviewer sees of a bundle that several must approve: as it was when they were asked, until they answered.

Each decision after the question tells how others answered it, by its reason, its approvals, or by being there at all.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from assay.claims.decide import decided_bundle
from assay.claims.gate import GateFacts
from assay.flows.claims.claims_entry import ClaimsDecided
from assay.flows.claims.claims_facts import asked_of
from assay.flows.claims.claims_rows import decided_rows
from assay.flows.claims.decide_claims import FINAL, GatedClaims
from assay.flows.known import get_ticket
from assay.identity.principal import Principal
from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId, TicketId
from assay.ports.database import Unit
from assay.review.sight import is_blind


def last_seen(
    unit: Unit, tenant_id: TenantId, decisions: Sequence[ClaimsDecided], viewer: Principal | None
) -> int | None:
    """The position of the decision after which nothing is told to this person yet; None where all is.

    None is also the operator of the folder. What is published or refused is told to everybody who may look.
    """
    if viewer is None or not decisions or decisions[-1].outcome.decision in FINAL:
        return None
    return next((one.position for one in decisions if _asks_in_blind(unit, tenant_id, one, viewer)), None)


def keep_back(unit: Unit, tenant_id: TenantId, gated: GatedClaims, viewer: Principal | None) -> GatedClaims:
    """The bundle as this person may see it now."""
    rows = decided_rows(unit, tenant_id, gated.bundle_hash)
    last = last_seen(unit, tenant_id, [told for _, told in rows], viewer)
    if last is None:
        return gated
    row, told = rows[last - 1]
    nobody = GateFacts(now=told.outcome.decided_at, submitter=gated.bundle.origin_agent, risk_ceiling=None)
    return replace(
        gated,
        bundle=decided_bundle(gated.bundle, told.outcome, nobody),
        outcome=told.outcome,
        position=last,
        sequence_number=row.sequence_number,
        is_new=False,
    )


def is_kept_back(unit: Unit, tenant_id: TenantId, wanted: Digest, position: int, viewer: Principal) -> bool:
    """Whether this decision about a bundle is not told to this person yet."""
    last = last_seen(unit, tenant_id, asked_of(unit, tenant_id, wanted), viewer)
    return last is not None and position > last


def _asks_in_blind(unit: Unit, tenant_id: TenantId, told: ClaimsDecided, viewer: Principal) -> bool:
    return any(_is_blind(unit, tenant_id, one.ticket_id, viewer) for one in told.tickets)


def _is_blind(unit: Unit, tenant_id: TenantId, ticket_id: TicketId, viewer: Principal) -> bool:
    ticket = get_ticket(unit, tenant_id, ticket_id)
    answered = [one.by for one in unit.review.answers(tenant_id, ticket_id)]
    settled = unit.review.find_settlement(tenant_id, ticket_id) is not None
    return is_blind(ticket, viewer, answered, settled=settled)
