"""Whether a principal may do something of the node's own through an agent's tool: bits, tier and switch.

Nothing is implied by anything: no role, no other bit and no person's rank stands in for a bit that was not granted.
"""

from assay.flows.registry.switch_facts import load_switch
from assay.flows.tools import Tools
from assay.identity.principal import Principal, PrincipalKind
from assay.kernel.ids import TenantId
from assay.registry.action import Tier
from assay.registry.errors import BitsMissingError, TierClosedError
from assay.registry.permission import describe, mask_of, missing_bits

# Autonomy, bits 24 to 27: what an agent may do by itself is granted apart from what it may do at all.
_AUTONOMY = {"READ": "AI_READ", "QUERY": "AI_QUERY", "WRITE": "AI_EXECUTE"}


def require_bits(tools: Tools, principal: Principal, bit: str, *, tier: int, own: TenantId) -> None:
    """Raise unless the bit is granted, for an agent that of its autonomy too, and the tier is open to the principal.

    `own` is the node's tenant: there is one switch, and it is every tenant's.
    """
    missing = missing_bits(principal.trust_mask, mask_of(bits_for(principal, bit)))
    if missing:
        raise BitsMissingError(f"expected `{principal.id}` to hold {', '.join(describe(missing))}, got no such grant")
    if principal.action_tier < tier:
        raise TierClosedError(f"expected `{principal.id}` to have tier {tier} or more, got {principal.action_tier}")
    if tier > Tier.READ and not principal.is_person() and _is_fired(tools, own):
        raise TierClosedError(f"the switch of `{tools.delivery.service}` leaves tier {Tier.READ:d}, not {tier}")


def bits_for(principal: Principal, bit: str) -> tuple[str, ...]:
    """The bits that this principal needs for it."""
    return (bit, _AUTONOMY[bit]) if principal.kind is PrincipalKind.AGENT else (bit,)


def _is_fired(tools: Tools, own: TenantId) -> bool:
    service = tools.delivery.service
    return tools.database.read(lambda unit: load_switch(unit.registry, own, service)).is_fired
