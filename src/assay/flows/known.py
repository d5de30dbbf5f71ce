"""What must be there before a journey goes on: found in this unit of work, or `flow.not_found`."""

from assay.flows.errors import NotFoundError
from assay.flows.tools import Tools
from assay.identity.credential import ApiKeyPrefix, ApiKeyRecord
from assay.identity.principal import Principal
from assay.identity.session import SessionId, SessionRecord
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.ports.database import Unit
from assay.review.ticket import Ticket


def get_principal(unit: Unit, tenant_id: TenantId, principal_id: PrincipalId) -> Principal:
    found = unit.identity.find_principal(tenant_id, principal_id)
    if found is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no principal `{principal_id}`")
    return found


def get_api_key(unit: Unit, tenant_id: TenantId, prefix: ApiKeyPrefix) -> ApiKeyRecord:
    found = unit.identity.find_api_key(prefix)
    # Another tenant's key does not exist here: the prefix finds it in every tenant.
    if found is None or found.tenant_id != tenant_id:
        raise NotFoundError(f"tenant `{tenant_id}` has no API key `{prefix}`")
    return found


def get_session(unit: Unit, session_id: SessionId) -> SessionRecord:
    found = unit.identity.find_session(session_id)
    if found is None:
        raise NotFoundError(f"there is no session `{session_id}`")
    return found


def known_ticket(tools: Tools, tenant_id: TenantId, ticket_id: TicketId) -> Ticket:
    """As `get_ticket`, as things are now."""
    return tools.database.read(lambda unit: get_ticket(unit, tenant_id, ticket_id))


def get_ticket(unit: Unit, tenant_id: TenantId, ticket_id: TicketId) -> Ticket:
    found = unit.review.find_ticket(tenant_id, ticket_id)
    if found is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no ticket `{ticket_id}`")
    return found
