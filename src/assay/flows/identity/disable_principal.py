"""A principal may do nothing any more; every key and session is refused from that instant on."""

from assay.flows.identity.amend_principal import amend_principal
from assay.flows.tools import Tools
from assay.identity.principal import Principal, PrincipalChange
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant

__all__ = ["disable_principal"]


def disable_principal(
    tools: Tools, tenant_id: TenantId, principal_id: PrincipalId, *, by: PrincipalId, at: Instant
) -> Principal:
    """A further version with `disabled_at`; what the principal did before stays as it was."""
    return amend_principal(tools, tenant_id, principal_id, PrincipalChange(disabled_at=at), by=by, at=at)
