"""Look at released contracts: all of a tenant, or one."""

from assay.flows.released import get_contract
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.ports.truth_store import ReleasedContract

__all__ = ["list_contracts", "show_contract"]


def list_contracts(tools: Tools, tenant_id: TenantId) -> tuple[ReleasedContract, ...]:
    """Sorted by claim type."""
    return tools.database.read(lambda unit: unit.truth.contracts(tenant_id))


def show_contract(tools: Tools, tenant_id: TenantId, claim_type: str) -> ReleasedContract:
    """The one of this claim type, or `truth.not_released`."""
    return tools.database.read(lambda unit: get_contract(unit, tenant_id, claim_type))
