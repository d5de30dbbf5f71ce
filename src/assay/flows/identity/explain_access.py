"""Why can I, or why can I not: the requirements of an action, by the very functions that decide it.

an action of a service -> registry's questions;   a risk tier -> the gates' ceiling;   a level -> the reader's floor
"""

from assay.claims.finding import FindingCode
from assay.delivery.level import Level, is_below
from assay.identity.access import Requirement, RequirementName
from assay.identity.principal import Principal
from assay.identity.risk import RiskTier, is_within
from assay.registry.action import ActionRequest, ServicePower, grant_of
from assay.registry.permission import describe
from assay.registry.tier import Refusal, Ruling, weigh

_REFUSALS = {
    RequirementName.DECLARED: Refusal.UNDECLARED,
    RequirementName.RESTRICTED: Refusal.RESTRICTED,
    RequirementName.MASK: Refusal.BITS_MISSING,
    RequirementName.ACTION_TIER: Refusal.TIER_CLOSED,
}


def explain_action(principal: Principal, power: ServicePower, action_id: str) -> tuple[Requirement, ...]:
    """What a service asks of whoever wants this action of it."""
    ruled = weigh(grant_of(principal), power, ActionRequest(action_id=action_id))
    return tuple(_requirement(name, ruling, power, principal) for name, ruling in ruled)


def explain_risk(principal: Principal, tier: RiskTier) -> Requirement:
    """What the gates ask of whoever submits claims of this tier."""
    met = is_within(tier, principal.risk_ceiling)
    return Requirement(
        name=RequirementName.RISK_CEILING,
        met=met,
        code=FindingCode.TIER,
        reason=f"`{principal.id}` may act up to {principal.risk_ceiling}, this is {tier}",
        remedy=None if met else f"an admin raises the risk ceiling to {tier}",
    )


def explain_level(principal: Principal, level: Level) -> Requirement:
    """Whether answers of this level are shown to a reader, and why."""
    floor = principal.authenticity_level_floor
    met = not is_below(level, floor)
    return Requirement(
        name=RequirementName.LEVEL_FLOOR,
        met=met,
        code=None,
        reason=f"`{principal.id}` is shown answers from level {floor} on, this is {level}",
        remedy=None if met else "more strands behind the answer, or an admin lowers the floor",
    )


def _requirement(name: RequirementName, ruling: Ruling, power: ServicePower, principal: Principal) -> Requirement:
    return Requirement(
        name=name,
        met=ruling.allowed,
        code=ruling.refusal or _REFUSALS[name],
        reason=ruling.reason,
        remedy=None if ruling.allowed else _remedy(name, ruling, power, principal),
    )


def _remedy(name: RequirementName, ruling: Ruling, power: ServicePower, principal: Principal) -> str:
    if name is RequirementName.DECLARED:
        return f"`{power.service_id}` declares the action, with a tier of 1 or more"
    if name is RequirementName.RESTRICTED:
        return "nothing: the service lets no agent do this"
    if name is RequirementName.ACTION_TIER:
        issued = f"issued to `{principal.id}` is {principal.action_tier}"
        left = f"the switch leaves {power.active_tier}"
        return f"a second person grants a higher tier ({issued}), or the switch is restored ({left})"
    bits = ", ".join(describe(ruling.missing)) or hex(ruling.missing)
    lacking = "the principal" if ruling.missing & ~principal.trust_mask else "the service"
    return f"{lacking} is given {bits}"
