"""Tiers: may this agent do this, here and now. Deny by default; every no has a code and a reason.

grant + power + request -> decide -> ruling;   from tier 2 on: log_action -> check_execution -> run -> check_rollback
"""

from collections.abc import Callable
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct

from assay.identity.access import RequirementName
from assay.identity.finding import CredentialFinding
from assay.identity.principal import Principal
from assay.identity.problem import shortened
from assay.kernel.canonical import canonical_digest
from assay.kernel.digest import Digest
from assay.kernel.errors import Code
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.registry.action import Action, ActionRequest, Grant, RollbackDescriptor, ServicePower, Tier
from assay.registry.errors import BitsMissingError, DeniedError, TierClosedError
from assay.registry.permission import missing_bits

_LOGGED_FROM = Tier.LOW_RISK_WRITE
_BY_METHOD = MappingProxyType(
    {
        "GET": Tier.READ,
        "HEAD": Tier.READ,
        "OPTIONS": Tier.READ,
        "POST": Tier.LOW_RISK_WRITE,
        "PUT": Tier.LOW_RISK_WRITE,
        "PATCH": Tier.LOW_RISK_WRITE,
    }
)


class Refusal(StrEnum):
    """Why not: the protocol's own codes where it has one. Each is the code of one error of this room."""

    BITS_MISSING = "registry.bits_missing"
    RESTRICTED = "registry.restricted"
    TIER_CLOSED = "registry.tier_closed"
    UNDECLARED = "FRJ-005"
    NOT_LOGGED = "FRJ-007"
    NO_ROLLBACK = "FRJ-008"
    ROLLBACK_TOKEN = "FRJ-009"  # noqa: S105  the name of a rule
    SELF_ESCALATION = "FRJ-011"
    TIER_CHANGE = "FRJ-015"


_ERRORS: MappingProxyType[Refusal, Code | type[DeniedError]] = MappingProxyType(
    {
        Refusal.BITS_MISSING: BitsMissingError,
        Refusal.RESTRICTED: DeniedError.restricted,
        Refusal.TIER_CLOSED: TierClosedError,
        Refusal.UNDECLARED: DeniedError.undeclared,
        Refusal.NOT_LOGGED: DeniedError.not_logged,
        Refusal.NO_ROLLBACK: DeniedError.no_rollback,
        Refusal.ROLLBACK_TOKEN: DeniedError.rollback_token,
        Refusal.SELF_ESCALATION: DeniedError.self_escalation,
        Refusal.TIER_CHANGE: DeniedError.tier_change,
    }
)


class Ruling(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Yes, or no with its code. `log_first` says that the action must be logged, durably, before it runs (FRJ-007).

    `missing` are the bits that would have been needed; `counted` says that SENSE counts this attempt (FRJ-011).
    """

    reason: str
    refusal: Refusal | None = None
    missing: int = 0
    log_first: bool = False

    @property
    def allowed(self) -> bool:
        return self.refusal is None

    @property
    def counted(self) -> bool:
        return self.refusal is Refusal.SELF_ESCALATION


class ActionLog(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Written before an action of tier 2 or above runs: who, what exactly, and how it is undone."""

    service_id: str
    action_id: str
    principal_id: PrincipalId
    tier: int
    parameters_hash: Digest
    rollback: RollbackDescriptor
    logged_at: Instant


class RollbackLog(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Written before an action is undone, and once more where undoing it failed: who, and which logged action."""

    log_id: str
    service_id: str
    action_id: str
    tier: int
    undone_by: PrincipalId
    has_failed: bool
    logged_at: Instant


def decide(grant: Grant, power: ServicePower, request: ActionRequest) -> Ruling:
    """Needed bits within capability and trust, 1 <= action tier <= active tier, not restricted; else the first no.

    An escalation is found before anything else, so that no other no hides the attempt. What an agent asks for below
    its grant narrows this one request and changes nothing else.
    """
    escalation = _escalation(grant, request)
    if escalation is not None:
        return escalation
    action = power.actions.get(request.action_id)
    if action is None:
        return _no(Refusal.UNDECLARED, f"`{request.action_id[:80]}` is not declared by `{power.service_id}`")
    for _, ask in _QUESTIONS:
        refusal = ask(action, grant, power, request)
        if refusal is not None:
            return refusal
    return Ruling(reason=f"`{action.id}` of tier {action.tier} is allowed", log_first=action.tier >= _LOGGED_FROM)


def weigh(grant: Grant, power: ServicePower, request: ActionRequest) -> tuple[tuple[RequirementName, Ruling], ...]:
    """Every question that `decide` asks about an action, each with its own ruling; the first no is that of `decide`."""
    action = power.actions.get(request.action_id)
    if action is None:
        return ((RequirementName.DECLARED, decide(grant, power, request)),)
    told = Ruling(reason=f"`{action.id}` needs tier {action.tier} and bits {hex(action.needs)}")
    return tuple((name, ask(action, grant, power, request) or told) for name, ask in _QUESTIONS)


def require(ruling: Ruling) -> None:
    """Raise the refusal as the error of its code, for surfaces that speak in problem details."""
    if ruling.refusal is not None:
        raise _ERRORS[ruling.refusal](ruling.reason)


def log_action(
    grant: Grant, power: ServicePower, request: ActionRequest, *, parameters: object, at: Instant
) -> ActionLog:
    """The entry to store before the action runs; refuses what `decide` refuses, and what cannot be undone (FRJ-008)."""
    require(decide(grant, power, request))
    action = power.actions[request.action_id]
    if action.rollback is None:
        raise DeniedError.no_rollback(f"`{action.id}` of tier {action.tier} has no rollback descriptor")
    return ActionLog(
        service_id=power.service_id,
        action_id=action.id,
        principal_id=grant.principal_id,
        tier=action.tier,
        parameters_hash=canonical_digest(parameters),
        rollback=action.rollback,
        logged_at=at,
    )


def check_execution(
    action: Action, log: ActionLog | None, *, by: PrincipalId, parameters: object, at: Instant
) -> Ruling:
    """The last question before an action runs: is exactly this, by exactly this principal, in the log already."""
    if action.tier < _LOGGED_FROM:
        return Ruling(reason=f"`{action.id}` of tier {action.tier} needs no log")
    if action.rollback is None:
        return _no(Refusal.NO_ROLLBACK, f"`{action.id}` of tier {action.tier} has no rollback descriptor")
    if log is None:
        return _no(Refusal.NOT_LOGGED, f"`{action.id}` of tier {action.tier} was not logged")
    if log.logged_at > at:
        return _no(Refusal.NOT_LOGGED, f"`{action.id}` was logged after it was to run")
    if (log.action_id, log.principal_id, log.parameters_hash) != (action.id, by, canonical_digest(parameters)):
        return _no(Refusal.NOT_LOGGED, f"the log is about another request than this one for `{action.id}`")
    return Ruling(reason=f"`{action.id}` was logged before it runs", log_first=True)


def check_rollback(action_id: str, *, by: Principal | None, token: CredentialFinding | None, at: Instant) -> Ruling:
    """Only a person whose session token was accepted undoes an action (FRJ-009); an agent never does."""
    if by is None or token is None or not token.accepted:
        reason = f"expected a person's session token to undo `{action_id}`, got none valid"
        return _no(Refusal.ROLLBACK_TOKEN, reason)
    if not by.is_person() or not by.is_active(at):
        return _no(Refusal.ROLLBACK_TOKEN, f"expected an active person to undo `{action_id}`, got `{by.id}`")
    return Ruling(reason=f"`{by.id}` may undo `{action_id}`")


def default_tier(method: str, path: str) -> Tier:
    """The tier of a route that declares none: by its method, off below `/admin/`, and off for every other method."""
    if "admin" in path.lower().split("/"):
        return Tier.OFF
    return _BY_METHOD.get(method.upper(), Tier.OFF)


def _escalation(grant: Grant, request: ActionRequest) -> Ruling | None:
    tier, mask = request.requested_tier, request.requested_mask
    if tier is not None and tier > grant.action_tier:
        asked = f"tier {shortened(tier)}, issued {grant.action_tier}"
        return _no(Refusal.SELF_ESCALATION, f"`{grant.principal_id}` asked for {asked}")
    more = 0 if mask is None else missing_bits(grant.trust_mask, mask)
    if more:
        asked = f"bits {shortened(hex(more))} beyond its grant"
        return _no(Refusal.SELF_ESCALATION, f"`{grant.principal_id}` asked for {asked}", missing=more)
    return None


def _switched_off(action: Action, _grant: Grant, _power: ServicePower, _request: ActionRequest) -> Ruling | None:
    if action.tier == Tier.OFF:
        return _no(Refusal.UNDECLARED, f"`{action.id}` has tier 0, which is off for everyone")
    return None


def _restricted(action: Action, _grant: Grant, _power: ServicePower, _request: ActionRequest) -> Ruling | None:
    if action.restricted is not None:
        return _no(Refusal.RESTRICTED, f"`{action.id}` is restricted: {action.restricted}")
    return None


def _lacking_bits(action: Action, grant: Grant, power: ServicePower, request: ActionRequest) -> Ruling | None:
    held = grant.trust_mask if request.requested_mask is None else request.requested_mask
    missing = missing_bits(power.capability_mask & held, action.needs)
    if not missing:
        return None
    lacking = [
        who
        for who, mask in ((f"`{power.service_id}`", power.capability_mask), (f"`{grant.principal_id}`", held))
        if missing_bits(mask, missing)
    ]
    return _no(
        Refusal.BITS_MISSING,
        f"`{action.id}` needs bits {hex(missing)} that {' and '.join(lacking)} lack",
        missing=missing,
    )


def _above_tier(action: Action, grant: Grant, power: ServicePower, request: ActionRequest) -> Ruling | None:
    active = min(power.active_tier, grant.action_tier)
    if request.requested_tier is not None:
        active = min(active, request.requested_tier)
    if action.tier <= active:
        return None
    return _no(Refusal.TIER_CLOSED, f"`{action.id}` needs tier {action.tier}, active is {active}")


# In the order of asking; a question answers with a no, or not at all.
_QUESTIONS: tuple[
    tuple[RequirementName, Callable[[Action, Grant, ServicePower, ActionRequest], Ruling | None]], ...
] = (
    (RequirementName.DECLARED, _switched_off),
    (RequirementName.RESTRICTED, _restricted),
    (RequirementName.MASK, _lacking_bits),
    (RequirementName.ACTION_TIER, _above_tier),
)


def _no(refusal: Refusal, reason: str, *, missing: int = 0) -> Ruling:
    return Ruling(reason=reason, refusal=refusal, missing=missing)
