"""STATE and TRUST of this node (PRAMANA 7.1, 7.2)."""

from typing import Annotated

from msgspec import Meta, Struct

from assay import __version__
from assay.delivery.state import PramanaState, ServiceStatus, state_of
from assay.flows.delivery.answerers import answered_here
from assay.flows.delivery.deliver_answer import can_query
from assay.flows.delivery.query_types import load_queries
from assay.flows.errors import NotFoundError
from assay.flows.identity.authenticate import require_scope
from assay.flows.registry.own_actions import OWN_ACTIONS, can_execute
from assay.flows.registry.switch_facts import load_switch
from assay.flows.request import Option, Request
from assay.flows.tools import Tools
from assay.identity.authorise import require_role
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.ids import PrincipalId
from assay.ports.database import Unit

# Roles that may read the grants of another principal, and the scope that it takes.
_SEE_PRINCIPALS = (BuiltInRole.ADMIN, BuiltInRole.AUDITOR, BuiltInRole.OPERATOR)
_SEE_SCOPE = "identity:read"


class ShowTrust(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    user_id: Annotated[str, Meta(description="The id of a principal.")]


class ShowState(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    service: Annotated[
        str | None, Meta(description="The name of this service; another one is not found."), Option(metavar="NAME")
    ] = None


class ShownTrust(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A principal, the query types they may ask, and the actions they may have done."""

    principal: Principal
    can_query: tuple[str, ...]
    can_execute: tuple[str, ...]


def show_state(tools: Tools, caller: Caller, request: ShowState) -> PramanaState:
    """Show STATE (PRAMANA 7.1): what this node can answer and which strands it checks; open to everybody.

    It is degraded while a fired switch limits this service to reading.
    """
    tenant_id, service = caller.tenant_id, tools.delivery.service
    if request.service not in (None, service):
        raise NotFoundError(f"this is `{service}`, not `{str(request.service)[:80]}`")

    def work(unit: Unit) -> PramanaState:
        fired = load_switch(unit.registry, tenant_id, service).is_fired
        return state_of(
            answered_here(tools, tenant_id, load_queries(unit, tenant_id)),
            service=service,
            version=__version__,
            status=ServiceStatus.DEGRADED if fired else ServiceStatus.ONLINE,
            can_do=tuple(sorted(OWN_ACTIONS)),
            registry=tools.delivery.strands,
        )

    return tools.database.read(work)


def show_trust(tools: Tools, caller: Caller, request: ShowTrust) -> ShownTrust:
    """Show TRUST (PRAMANA 7.2) of one principal; a disabled one may do nothing.

    One's own needs no scope; another principal's needs a role that may read principals, and `identity:read`.
    """
    tenant_id, user_id = caller.tenant_id, request.user_id
    if user_id != caller.principal.id:
        require_role(caller.principal, _SEE_PRINCIPALS)
        require_scope(caller, _SEE_SCOPE)

    def work(unit: Unit) -> ShownTrust:
        principal = unit.identity.find_principal(tenant_id, PrincipalId(user_id))
        if principal is None:
            raise NotFoundError(f"tenant `{tenant_id}` has no principal `{user_id[:80]}`")
        may_ask = can_query(principal) and principal.is_active(caller.at)
        asked = answered_here(tools, tenant_id, load_queries(unit, tenant_id)).can_answer() if may_ask else ()
        return ShownTrust(
            principal=principal, can_query=asked, can_execute=can_execute(unit, tools, principal, at=caller.at)
        )

    return tools.database.read(work)
