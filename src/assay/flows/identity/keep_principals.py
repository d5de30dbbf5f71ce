"""An administrator looks after the principals of their tenant: in their own session, proved in the commit that acts.

session -> admin of the tenant -> add, amend or disable + entry, in one commit
"""

from assay.flows.identity.add_principal import add_in
from assay.flows.identity.amend_principal import amend_in
from assay.flows.identity.disable_principal import disable_in
from assay.flows.identity.prove_admin import prove_admin
from assay.flows.tools import Tools
from assay.identity.principal import Principal, PrincipalChange, PrincipalKind
from assay.identity.principal import add_principal as first_version
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.ports.database import Unit

__all__ = ["add_principal_as_admin", "amend_principal_as_admin", "disable_principal_as_admin"]


def add_principal_as_admin(
    tools: Tools,
    principal_id: PrincipalId,
    *,
    kind: PrincipalKind,
    name: str,
    granted: PrincipalChange,
    credential: str,
    at: Instant,
) -> Principal:
    """Version 1 in the administrator's own tenant, without anything that proves it yet."""

    def work(unit: Unit) -> Principal:
        admin = prove_admin(unit, credential, at)
        principal = first_version(
            id=principal_id, tenant_id=admin.tenant_id, kind=kind, name=name, at=at, by=admin.id, change=granted
        )
        add_in(unit, principal, entropy=tools.entropy)
        return principal

    return tools.database.write(work)


def amend_principal_as_admin(
    tools: Tools, principal_id: PrincipalId, change: PrincipalChange, *, credential: str, at: Instant
) -> Principal:
    """The next version of a principal of the administrator's own tenant; nobody amends their own tier (FRJ-015)."""

    def work(unit: Unit) -> Principal:
        admin = prove_admin(unit, credential, at)
        return amend_in(unit, admin.tenant_id, principal_id, change, entropy=tools.entropy, by=admin.id, at=at)

    return tools.database.write(work)


def disable_principal_as_admin(tools: Tools, principal_id: PrincipalId, *, credential: str, at: Instant) -> Principal:
    """Refused everything from now on; of the administrator's own tenant, the administrator too."""

    def work(unit: Unit) -> Principal:
        admin = prove_admin(unit, credential, at)
        return disable_in(unit, admin.tenant_id, principal_id, entropy=tools.entropy, by=admin.id, at=at)

    return tools.database.write(work)
