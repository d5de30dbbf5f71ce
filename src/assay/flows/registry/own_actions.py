"""What this node does for others besides answering: its actions, what each asks for, and who may have it done now.

principal + switch -> the door's own requirements, and what lies behind the door -> `can_do` and `can_execute`
INVARIANT: these are the requirements of the routes themselves; a test compares them.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from assay.flows.delivery.rule_rows import find_granted
from assay.flows.registry.switch_facts import load_switch
from assay.flows.tools import Tools
from assay.identity.access import Needs, Standing, check_access, find_unmet
from assay.identity.credential import EVERY_SCOPE
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.registry.action import Tier
from assay.registry.trip import SwitchRule, active_tier


def _needs(scope: str, *roles: BuiltInRole, session: bool = False) -> Needs:
    held = tuple(str(role) for role in roles) or None
    return Needs(scope=scope, roles=held, tier=Tier.LOW_RISK_WRITE, session=session)


_CONCLUDE, _EMIT, _REPORT = "CONCLUDE_ROOT_CAUSE", "EMIT_EVENT", "REPORT_OUTCOME"
OWN_ACTIONS: Mapping[str, Needs] = MappingProxyType(
    {
        _CONCLUDE: _needs("pramana:conclude", BuiltInRole.REVIEWER, session=True),
        _EMIT: _needs("pramana:emit"),
        _REPORT: _needs("pramana:report"),
    }
)


def can_execute(unit: Unit, tools: Tools, principal: Principal, *, at: Instant) -> tuple[str, ...]:
    """The actions that this principal may have done now, with a credential of every scope; a person, in a session."""
    switch = load_switch(unit.registry, principal.tenant_id, tools.delivery.service)
    left = active_tier(switch, SwitchRule(), Tier.FULL)
    is_person = principal.is_person()
    standing = Standing(principal=principal, scopes=(EVERY_SCOPE,), active_tier=left, has_session=is_person)

    def is_open(name: str) -> bool:
        needs = OWN_ACTIONS[name]
        unmet = find_unmet(check_access(needs, standing, tenant_id=principal.tenant_id, at=at))
        return unmet is None and _BEHIND[name](unit, tools, principal)

    return tuple(filter(is_open, sorted(OWN_ACTIONS)))


def _may_report(unit: Unit, _: Tools, principal: Principal) -> bool:
    """Some rules were granted (PRAMANA 14.2)."""
    granted = find_granted(unit, principal.tenant_id, principal.id)
    return granted is not None and bool(granted.rules)


def _may_emit(_: Unit, tools: Tools, principal: Principal) -> bool:
    """Under one's own name, which is not the node's."""
    return principal.id.partition(":")[2] != tools.delivery.service


def _may_conclude(_: Unit, __: Tools, principal: Principal) -> bool:
    """A machine never does (PRAMANA 10.2)."""
    return principal.is_person()


_BEHIND: Mapping[str, Callable[[Unit, Tools, Principal], bool]] = MappingProxyType(
    {_CONCLUDE: _may_conclude, _EMIT: _may_emit, _REPORT: _may_report}
)
