"""The table of powers: which change gives a principal more power than before, and who gave it.

version before + version after -> names of the powers gained; a change that gains none takes effect at once
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec import UNSET

from assay.identity.principal import LOCAL_OPERATOR, BuiltInRole, Granted, Principal, PrincipalKind
from assay.identity.risk import RiskTier
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant

# Roles that neither answer tickets nor administer. Every other role does, also those of an operator's own: tickets may
# ask for any.
POWERLESS_ROLES = frozenset({str(BuiltInRole.AUDITOR), str(BuiltInRole.RELAY)})
PASSWORD, API_KEY, SIGNING_KEY, REVIEW_KEY, ENABLED = "password", "api_key", "signing_key", "public_key", "enabled"
# Whoever makes one of these for another principal can act in its place.
CREDENTIALS = frozenset({PASSWORD, API_KEY, SIGNING_KEY, REVIEW_KEY, ENABLED})


def role_power(role: str) -> str:
    return f"role:{role}"


def _roles(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(role_power(role) for role in after if role not in {*before, *POWERLESS_ROLES})


def _mask(before: int, after: int) -> tuple[str, ...]:
    gained = after & ~before
    return (f"trust_mask:{gained:#x}",) if gained else ()


def _tier(before: int, after: int) -> tuple[str, ...]:
    return (f"action_tier:{after}",) if after > before else ()


def _ceiling(before: RiskTier, after: RiskTier) -> tuple[str, ...]:
    return (f"risk_ceiling:{after.name}",) if after.rank > before.rank else ()


def _floor(before: int, after: int) -> tuple[str, ...]:
    return (f"level_floor:{after}",) if after < before else ()


def _key(before: str | None, after: str | None) -> tuple[str, ...]:
    """Taking a key away is a power, too: without one the node signs for whoever has a session of this person."""
    return (REVIEW_KEY,) if before != after else ()


def _enabled(before: Instant | None, after: Instant | None) -> tuple[str, ...]:
    is_longer = before is not None and (after is None or after > before)
    return (ENABLED,) if is_longer else ()


# INVARIANT: every field that a change may set is in this table, or in `NO_POWER`.
POWERS: Mapping[str, Callable[[Any, Any], tuple[str, ...]]] = MappingProxyType(
    {
        "roles": _roles,
        "trust_mask": _mask,
        "action_tier": _tier,
        "risk_ceiling": _ceiling,
        "authenticity_level_floor": _floor,
        "public_key": _key,
        "disabled_at": _enabled,
    }
)
NO_POWER = frozenset({"name"})


def gained(before: Principal | None, after: Principal) -> tuple[str, ...]:
    """Name the powers that a version has beyond the one before; a new principal has had none."""
    found: list[str] = []
    for field, compare in POWERS.items():
        was = _NOTHING[field] if before is None else getattr(before, field)
        found += compare(was, getattr(after, field))
    return tuple(found)


# The floor of a new principal is the one that every new principal has.
_NOTHING: Mapping[str, Any] = {
    "roles": (),
    "trust_mask": 0,
    "action_tier": 0,
    "risk_ceiling": RiskTier.READ_ONLY,
    "authenticity_level_floor": 0,
    "public_key": None,
    "disabled_at": None,
}


def has_power(principal: Principal) -> bool:
    """Whether the principal may do more than a new one that was granted nothing."""
    return bool(gained(None, principal))


def held_since(history: Sequence[Principal], role: str) -> Instant | None:
    """The instant since when the role is held without a break; None where the version in force has no such role."""
    run = _run(history, role)
    return run[0].recorded_at if run else None


def role_granted(history: Sequence[Principal], role: str) -> Granted | None:
    """Who granted a role that is held now, as the newest grant of it says; None where no grant was recorded."""
    found = (one.granted for one in reversed(_run(history, role)))
    return next((one for one in found if one is not UNSET and role_power(role) in one.powers), None)


def _run(history: Sequence[Principal], role: str) -> list[Principal]:
    run: list[Principal] = []
    for version in reversed(history):
        if role not in version.roles:
            break
        run.insert(0, version)
    return run


def solo_granters(history: Sequence[Principal], roles: Iterable[str]) -> frozenset[PrincipalId]:
    """The administrators who alone granted one of these roles; the operator of the folder is not among them."""
    grants = (role_granted(history, role) for role in roles)
    return frozenset(one.asked_by for one in grants if one is not None and one.solo) - {LOCAL_OPERATOR}


def is_administrator(principal: Principal, at: Instant) -> bool:
    is_person = principal.kind is PrincipalKind.PERSON
    return is_person and principal.is_active(at) and str(BuiltInRole.ADMIN) in principal.roles
