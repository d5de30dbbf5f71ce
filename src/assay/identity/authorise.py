"""May this principal do this: the checks that every surface and the review desk share."""

from collections.abc import Iterable

from assay.identity.errors import IdentityError, OtherTenantError
from assay.identity.principal import Principal
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant


def has_role(principal: Principal, any_of: Iterable[str]) -> bool:
    """One of the roles is held by name; no role implies another, and an empty list is held by nobody."""
    return not set(principal.roles).isdisjoint(any_of)


def allowed(principal: Principal, *, tenant_id: TenantId, any_of: Iterable[str], at: Instant) -> bool:
    """Whether a principal is of the same tenant, not disabled, and holds one of the roles."""
    return principal.tenant_id == tenant_id and principal.is_active(at) and has_role(principal, any_of)


def require_same_tenant(principal: Principal, tenant_id: TenantId) -> None:
    """Raise before anything else is looked at: another tenant's things do not exist for this principal."""
    if principal.tenant_id != tenant_id:
        raise OtherTenantError(f"`{principal.id}` is of tenant `{principal.tenant_id}`, not of the one asked for")


def require_active(principal: Principal, at: Instant) -> None:
    if not principal.is_active(at):
        raise IdentityError.disabled(f"`{principal.id}` is disabled")


def require_role(principal: Principal, any_of: Iterable[str]) -> None:
    wanted = sorted(any_of)
    if not has_role(principal, wanted):
        raise IdentityError.role(
            f"`{principal.id}` holds `{', '.join(principal.roles) or 'no role'}`, expected one of `{', '.join(wanted)}`"
        )
