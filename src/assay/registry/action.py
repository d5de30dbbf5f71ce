"""Actions a service declares, what an agent was issued, and what it asks for: the inputs of every ruling."""

import re
from collections.abc import Iterable, Mapping
from enum import IntEnum, StrEnum
from types import MappingProxyType

from msgspec import Struct

from assay.identity.mask import MASK_MAX
from assay.identity.principal import Principal
from assay.identity.problem import shortened
from assay.kernel.ids import PrincipalId
from assay.registry.errors import RegistryError

# `MOVEMENT_AUTHORITY`, `vessel.ukc-status`: what codex.json calls its actions and queries.
ACTION_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}", re.ASCII)
_LONGEST_TEXT = 500
_LEAST_SIGNED = -(1 << 31)


class Tier(IntEnum):
    """How much power an action needs; tier 0 is off for everyone."""

    OFF = 0
    READ = 1
    LOW_RISK_WRITE = 2
    FULL = 3


class ActionType(StrEnum):
    """READ answers a question, WRITE changes something, ADMIN changes what may be done."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


class RollbackMethod(StrEnum):
    """How an action is undone: by another action, from a kept copy, or by a person following a text."""

    INVERSE_ACTION = "inverse_action"
    RESTORE_COPY = "restore_copy"
    MANUAL = "manual"


class RollbackDescriptor(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person needs to know to undo an action (FRJ-008)."""

    method: RollbackMethod
    description: str
    action_id: str | None = None

    def __post_init__(self) -> None:
        _require(isinstance(self.method, RollbackMethod), "method", "a rollback method", self.method)
        _require(_is_text(self.description), "description", f"1 to {_LONGEST_TEXT} characters", self.description)
        names_one = self.action_id is not None
        inverse = self.method is RollbackMethod.INVERSE_ACTION
        _require(
            names_one == inverse, "action_id", "an action exactly where the method is inverse_action", self.action_id
        )


class Action(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One declared action or query. `restricted` is the reason why no agent ever may; the default tier is off."""

    id: str
    type: ActionType
    tier: int = Tier.OFF
    needs: int = 0
    description: str | None = None
    rollback: RollbackDescriptor | None = None
    restricted: str | None = None

    def __post_init__(self) -> None:
        _require(ACTION_FORM.fullmatch(self.id) is not None, "id", f"`{ACTION_FORM.pattern}`", self.id)
        _require(is_tier(self.tier), "tier", "a whole number of 0 to 3", self.tier)
        _require(_is_bits(self.needs), "needs", "a mask in its unsigned form", self.needs)


class Grant(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a principal was issued; only a person changes it, and no request ever does."""

    principal_id: PrincipalId
    trust_mask: int
    action_tier: int

    def __post_init__(self) -> None:
        _require(_is_bits(self.trust_mask), "trust_mask", "a mask in its unsigned form", self.trust_mask)
        _require(is_tier(self.action_tier), "action_tier", "a whole number of 0 to 3", self.action_tier)


class ActionRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an agent asks for. A tier or mask within its grant narrows this request; one beyond it is an escalation."""

    action_id: str
    requested_tier: int | None = None
    requested_mask: int | None = None

    def __post_init__(self) -> None:
        tier, mask = self.requested_tier, self.requested_mask
        _require(tier is None or _is_bits(tier), "requested_tier", "a whole number from 0", tier)
        _require(mask is None or _is_bits(mask), "requested_mask", "a mask in its unsigned form", mask)


class ServicePower(Struct, frozen=True, kw_only=True):
    """What a service declares and where it stands now: `active_tier` is what its kill switch leaves."""

    service_id: str
    capability_mask: int
    active_tier: int
    actions: Mapping[str, Action]

    def __post_init__(self) -> None:
        _require(_is_bits(self.capability_mask), "capability_mask", "a mask in its unsigned form", self.capability_mask)
        _require(is_tier(self.active_tier), "active_tier", "a whole number of 0 to 3", self.active_tier)


def grant_of(principal: Principal) -> Grant:
    return Grant(principal_id=principal.id, trust_mask=principal.trust_mask, action_tier=principal.action_tier)


def request_of(action_id: str, *, tier: int | None = None, mask: int | None = None) -> ActionRequest:
    """The request as it came; a mask that another language wrote as a signed number is read as the same 32 bits."""
    if mask is not None and _LEAST_SIGNED <= mask < 0:
        mask &= MASK_MAX
    return ActionRequest(action_id=action_id, requested_tier=tier, requested_mask=mask)


def index_actions(actions: Iterable[Action]) -> Mapping[str, Action]:
    """The actions by id, read-only; an id that is declared twice is refused."""
    table: dict[str, Action] = {}
    for action in actions:
        _require(action.id not in table, "actions", "each id once", action.id)
        table[action.id] = action
    return MappingProxyType(table)


def is_tier(value: object) -> bool:
    return _is_bits(value) and value in (0, 1, 2, 3)


def _is_bits(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= _LONGEST_TEXT


def _require(holds: bool, field: str, expected: str, got: object) -> None:  # noqa: FBT001  a condition, read as a sentence
    if not holds:
        raise RegistryError.invalid_rule(f"{field}: expected {expected}, got `{shortened(got)}`")
