"""A person, an agent or a service joins a tenant."""

from assay.flows.errors.identity import PrincipalExistsError
from assay.flows.identity.identity_entry import password_set, principal_recorded
from assay.flows.identity.set_password import encode_password
from assay.flows.tools import Tools
from assay.identity.credential import set_password
from assay.identity.principal import Principal, PrincipalChange, PrincipalKind
from assay.identity.principal import add_principal as first_version
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.ids import Entropy

__all__ = ["add_in", "add_principal"]


def add_principal(
    tools: Tools,
    tenant_id: TenantId,
    principal_id: PrincipalId,
    *,
    kind: PrincipalKind,
    name: str,
    granted: PrincipalChange | None = None,
    password: str | None = None,
    by: PrincipalId,
    at: Instant,
) -> Principal:
    """Version 1, allowed nothing but what `granted` says; with a password (persons only) in the same commit."""
    principal = first_version(id=principal_id, tenant_id=tenant_id, kind=kind, name=name, at=at, by=by, change=granted)
    secret = None
    if password is not None:
        secret = set_password(principal, encode_password(tools, password), at=at, by=by)

    def work(unit: Unit) -> None:
        add_in(unit, principal, entropy=tools.entropy)
        if secret is not None:
            unit.identity.add_password(secret)
            unit.ledger.append(password_set(secret))

    tools.database.write(work)
    return principal


def add_in(unit: Unit, principal: Principal, *, entropy: Entropy) -> None:
    """A first version as part of a larger unit of work; an id is taken once in a tenant, and for good."""
    tenant_id, principal_id = principal.tenant_id, principal.id
    if unit.identity.find_principal(tenant_id, principal_id) is not None:
        raise PrincipalExistsError(f"tenant `{tenant_id}` already has a principal `{principal_id}`")
    logged = unit.ledger.append(principal_recorded(principal, entropy))
    unit.identity.add_principal(principal, logged.sequence_number)
