"""Tenants are apart, disabled means nothing, and no role implies another."""

import pytest

from assay.identity.authorise import allowed, has_role, require_active, require_role, require_same_tenant
from assay.identity.errors import IdentityError, OtherTenantError
from assay.identity.principal import PrincipalChange
from assay.kernel.ids import TenantId
from tests.identity.people import NOON, TENANT, later, make_principal
from tests.raising import raises

ADMIN = make_principal(change=PrincipalChange(roles=("admin",), disabled_at=later(hours=1)))


def test_a_role_is_held_by_name_only() -> None:
    """An admin is no reviewer, and nobody holds one of no roles."""
    assert has_role(ADMIN, ["reviewer", "admin"])
    assert not has_role(ADMIN, ["reviewer"])
    assert not has_role(ADMIN, [])
    require_role(ADMIN, {"admin"})
    with raises(IdentityError.role, match="expected one of `auditor, reviewer`"):
        require_role(ADMIN, ["reviewer", "auditor"])
    with raises(IdentityError.role, match="no role"):
        require_role(make_principal(), ["reviewer"])


def test_all_three_must_hold_to_be_allowed() -> None:
    """Tenant, activity and role."""
    assert allowed(ADMIN, tenant_id=TENANT, any_of=["admin"], at=NOON)
    assert not allowed(ADMIN, tenant_id=TenantId("other"), any_of=["admin"], at=NOON)
    assert not allowed(ADMIN, tenant_id=TENANT, any_of=["admin"], at=later(hours=1))
    assert not allowed(ADMIN, tenant_id=TENANT, any_of=["auditor"], at=NOON)


def test_another_tenant_is_refused_without_naming_it() -> None:
    """The message does not confirm that the other tenant exists."""
    require_same_tenant(ADMIN, TENANT)
    with pytest.raises(OtherTenantError) as caught:
        require_same_tenant(ADMIN, TenantId("secret-project"))
    assert "secret-project" not in str(caught.value)


def test_a_disabled_principal_is_refused() -> None:
    """From the instant on which it was disabled."""
    require_active(ADMIN, NOON)
    with raises(IdentityError.disabled):
        require_active(ADMIN, later(hours=1))
