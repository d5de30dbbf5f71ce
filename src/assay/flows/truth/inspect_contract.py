"""Look at released contracts: all of a tenant, or one, or the form that one gives to observers."""

from assay.flows.tools import Tools
from assay.flows.truth.released import get_contract, read_contract
from assay.kernel.ids import TenantId
from assay.ports.truth_store import ReleasedContract
from assay.truth.form import ObservationForm, form_of


def list_contracts(tools: Tools, tenant_id: TenantId) -> tuple[ReleasedContract, ...]:
    """Sorted by claim type."""
    return tools.database.read(lambda unit: unit.truth.contracts(tenant_id))


def show_contract(tools: Tools, tenant_id: TenantId, claim_type: str) -> ReleasedContract:
    """The one of this claim type, or `truth.not_released`."""
    return tools.database.read(lambda unit: get_contract(unit, tenant_id, claim_type))


def show_form(tools: Tools, tenant_id: TenantId, claim_type: str) -> ObservationForm:
    """What observers are asked for under the contract of this claim type, or `truth.not_released`."""
    released = show_contract(tools, tenant_id, claim_type)
    return form_of(read_contract(released.document, released.schema_text, tools.domain_systems))
