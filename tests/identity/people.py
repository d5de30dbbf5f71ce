"""People, agents and services for tests."""

from datetime import UTC, datetime, timedelta

from assay.identity.principal import Principal, PrincipalChange, PrincipalKind, add_principal
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant

__all__ = ["ADMIN", "NOON", "TENANT", "later", "make_principal"]

TENANT = TenantId("acme")
ADMIN = PrincipalId("user:admin")
NOON = Instant(datetime(2026, 1, 7, 12, tzinfo=UTC))


def later(**length: float) -> Instant:
    return Instant(NOON + timedelta(**length))


def make_principal(
    name: str = "user:amira",
    *,
    kind: PrincipalKind = PrincipalKind.PERSON,
    tenant: TenantId = TENANT,
    change: PrincipalChange | None = None,
) -> Principal:
    return add_principal(id=PrincipalId(name), tenant_id=tenant, kind=kind, name=name, at=NOON, by=ADMIN, change=change)
