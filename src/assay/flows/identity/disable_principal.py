"""A principal may do nothing any more; every key and session is refused from that instant on."""

from assay.flows.identity.amend_principal import amend_in
from assay.flows.known import get_principal
from assay.flows.tools import Tools
from assay.identity.principal import Principal, PrincipalChange
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.ids import Entropy

__all__ = ["disable_in", "disable_principal"]


def disable_principal(
    tools: Tools, tenant_id: TenantId, principal_id: PrincipalId, *, by: PrincipalId, at: Instant
) -> Principal:
    """A further version with `disabled_at`; what the principal did before stays as it was."""
    return tools.database.write(
        lambda unit: disable_in(unit, tenant_id, principal_id, entropy=tools.entropy, by=by, at=at)
    )


def disable_in(
    unit: Unit, tenant_id: TenantId, principal_id: PrincipalId, *, entropy: Entropy, by: PrincipalId, at: Instant
) -> Principal:
    """The same as part of a larger unit of work; whoever is disabled already stays so since then."""
    known = get_principal(unit, tenant_id, principal_id)
    if not known.is_active(at):
        # A later `disabled_at` would say that the principal was allowed something in between.
        return known
    return amend_in(unit, tenant_id, principal_id, PrincipalChange(disabled_at=at), entropy=entropy, by=by, at=at)
