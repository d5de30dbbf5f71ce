"""A principal's next version: another role, another name, a key, or the end of it."""

from msgspec import UNSET

from assay.flows.identity.identity_entry import principal_recorded
from assay.flows.known import get_principal
from assay.flows.tools import Tools
from assay.identity.principal import Principal, PrincipalChange
from assay.identity.principal import amend_principal as next_version
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.ids import Entropy
from assay.registry.errors import TierChangeError

__all__ = ["amend_in", "amend_principal"]


def amend_principal(
    tools: Tools,
    tenant_id: TenantId,
    principal_id: PrincipalId,
    change: PrincipalChange,
    *,
    by: PrincipalId,
    at: Instant,
) -> Principal:
    """Apply the change to whatever is the latest version when it commits; of two at once, neither is lost."""
    return tools.database.write(
        lambda unit: amend_in(unit, tenant_id, principal_id, change, entropy=tools.entropy, by=by, at=at)
    )


def amend_in(
    unit: Unit,
    tenant_id: TenantId,
    principal_id: PrincipalId,
    change: PrincipalChange,
    *,
    entropy: Entropy,
    by: PrincipalId,
    at: Instant,
) -> Principal:
    """The same as part of a larger unit of work.

    Nobody amends their own tier (FRJ-015); `request_tier` puts it to a second person.
    """
    if by == principal_id and change.action_tier is not UNSET:
        raise TierChangeError(f"`{by}` asked to change their own tier")
    principal = next_version(get_principal(unit, tenant_id, principal_id), change, at=at, by=by)
    logged = unit.ledger.append(principal_recorded(principal, entropy))
    unit.identity.add_principal(principal, logged.sequence_number)
    return principal
