"""Look at registered trust policies: all of a tenant, or the one of an id."""

from assay.flows.errors import NotFoundError
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.ports.trust_store import RegisteredPolicy


def list_policies(tools: Tools, tenant_id: TenantId, *, policy_id: str | None = None) -> tuple[RegisteredPolicy, ...]:
    """In the order of registration, so that the last one is in force; an id that is not there is `flow.not_found`."""
    known = tools.database.read(lambda unit: unit.trust.policies(tenant_id))
    found = tuple(one for one in known if policy_id in (None, one.policy_id))
    if policy_id is not None and not found:
        raise NotFoundError(f"tenant `{tenant_id}` has no trust policy `{policy_id[:80]}`")
    return found
