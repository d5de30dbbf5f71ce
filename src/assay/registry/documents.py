"""The documents of the protocol, as they travel: STATE in two shapes, TRUST, SENSE and PROOF.

manifest (+ what is known of now) -> state_of | codex_state_of | trust_of | sense_of -> JSON
Unknown members are refused in both directions, so one type is what we serve and what we read of others.
"""

from typing import TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from assay.identity.mask import MASK_MAX
from assay.identity.principal import Principal
from assay.kernel.errors import Error
from assay.kernel.instant import Instant
from assay.registry.action import Action, ActionRequest, RollbackDescriptor, Tier, grant_of
from assay.registry.health import Totals
from assay.registry.manifest import Knowledge, Manifest, power_of
from assay.registry.tier import decide
from assay.registry.trip import Switch, SwitchRule, SwitchState, figures_of, judge
from assay.registry.trip import active_tier as tier_left

_Document = TypeVar("_Document", bound=Struct)


class Identity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    name: str
    version: str
    domain: str
    owner: str | None = None


class Capability(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    name: str
    type: str
    description: str = ""


class Dependency(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    service_id: str
    health_impact: str = "degraded"


class Queryable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    description: str = ""


class Actionable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    trust_tier_required: int
    description: str | UnsetType = UNSET


class Restricted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    reason: str


class AiSurface(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What agents may ask, may do, and may not."""

    queryable: tuple[Queryable, ...] = ()
    actionable: tuple[Actionable, ...] = ()
    restricted: tuple[Restricted, ...] = ()


class StateDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """STATE in the contract's shape."""

    forja_version: str
    identity: Identity
    capabilities: tuple[Capability, ...]
    knowledge: Knowledge
    dependencies: tuple[Dependency, ...]
    ai_surface: AiSurface


class CodexState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """STATE in the shape of `codex.json`: the lists as the service wrote them."""

    service: str
    version: str
    domain: str
    status: str
    can_answer: tuple[str, ...]
    can_do: tuple[str, ...]
    emits: tuple[str, ...]
    knowledge: Knowledge
    dependencies: tuple[str, ...]
    trust_mask: int | str
    forja_version: str


class ActionTier(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    action_id: str
    action_type: str
    tier: int
    description: str | UnsetType = UNSET
    rollback_descriptor: RollbackDescriptor | UnsetType = UNSET


class KillSwitch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    enabled: bool
    error_rate_threshold: float
    fallback_tier: int


class Escalation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    enabled: bool = True
    rejection_code: str = "FRJ-011"


class TrustDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """TRUST: which tier each action needs; what is not listed has the default tier, which is off."""

    forja_version: str
    service_id: str
    default_tier: int
    action_tiers: tuple[ActionTier, ...]
    kill_switch: KillSwitch
    self_escalation_prevention: Escalation
    authorized_agents: tuple[str, ...] | UnsetType = UNSET
    trust_mask: int | str | UnsetType = UNSET


class UserTrust(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """TRUST of one principal, in the other dialect: what they may ask and do here and now."""

    user_id: str
    role: str
    trust_mask: int | str
    can_query: tuple[str, ...]
    can_execute: tuple[str, ...]
    authenticity_level_floor: int


class Health(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    score: float
    status: str
    error_rate: float
    uptime_seconds: float


class Velocity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    requests_per_minute: float
    ai_agent_traffic_pct: float
    total_requests: int


class Security(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    current_trust_tier: int
    kill_switch_active: bool
    self_escalation_attempt_count: int


class Drift(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far the rules have moved from what was certified: 0 is not at all, 1 is all of them."""

    stale_rules: int = 0
    last_rule_update: str | None = None
    conflict_count: int = 0
    drift_score: float = 0.0


class SenseDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """SENSE: open to everyone, served also when the switch fired (FRJ-013)."""

    forja_version: str
    service_id: str
    timestamp: Instant
    health: Health
    velocity: Velocity
    security: Security
    knowledge_drift: Drift


class ProofRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rule_id: str
    certified: bool
    annotations: tuple[str, ...]


class ProofDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """PROOF: how many certified rules some code says it implements."""

    rules_total: int
    rules_certified: int
    rules_with_code: int
    coverage_pct: float
    passing: bool
    threshold_pct: float
    matrix: tuple[ProofRow, ...]
    unimplemented_rules: tuple[str, ...]
    orphan_annotations: tuple[str, ...]
    capabilities_without_rules: tuple[str, ...]


class ServiceFigures(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a running service knows of itself and a manifest cannot say."""

    totals: Totals
    total_requests: int
    agent_requests: int
    uptime_seconds: float
    self_escalation_attempts: int
    stale_rules: int = 0
    conflicts: int = 0


def state_of(manifest: Manifest) -> StateDocument:
    return StateDocument(
        forja_version=manifest.forja_version,
        identity=Identity(
            id=manifest.service,
            name=manifest.name,
            version=manifest.version,
            domain=manifest.domain,
            owner=manifest.owner,
        ),
        capabilities=tuple(
            Capability(id=action.id, name=action.id, type=action.type, description=action.description or "")
            for action in manifest.actions
        ),
        knowledge=manifest.knowledge,
        dependencies=tuple(Dependency(service_id=name) for name in manifest.depends_on),
        ai_surface=_surface(manifest),
    )


def codex_state_of(manifest: Manifest, *, status: str = "online") -> CodexState:
    return CodexState(
        service=manifest.service,
        version=manifest.version,
        domain=manifest.domain,
        status=status,
        can_answer=manifest.can_answer,
        can_do=manifest.can_do,
        emits=manifest.emits,
        knowledge=manifest.knowledge,
        dependencies=manifest.depends_on,
        trust_mask=_told_mask(manifest.capability_mask),
        forja_version=manifest.forja_version,
    )


def trust_of(
    manifest: Manifest, rule: SwitchRule, *, authorized_agents: tuple[str, ...] | None = None
) -> TrustDocument:
    return TrustDocument(
        forja_version=manifest.forja_version,
        service_id=manifest.service,
        default_tier=Tier.OFF,
        action_tiers=tuple(map(_action_tier, manifest.actions)),
        kill_switch=KillSwitch(
            enabled=rule.enabled,
            error_rate_threshold=float(rule.error_rate_threshold),
            fallback_tier=rule.fallback_tier,
        ),
        self_escalation_prevention=Escalation(),
        authorized_agents=UNSET if authorized_agents is None else authorized_agents,
        trust_mask=_told_mask(manifest.capability_mask),
    )


def user_trust_of(manifest: Manifest, principal: Principal, *, active_tier: int) -> UserTrust:
    """What a principal may do, by the same rulings that every request gets; `active_tier` is what the switch leaves."""
    power, grant = power_of(manifest, active_tier=active_tier), grant_of(principal)
    allowed = {name for name in power.actions if decide(grant, power, ActionRequest(action_id=name)).allowed}
    return UserTrust(
        user_id=principal.id,
        role=", ".join(principal.roles) or principal.kind,
        trust_mask=principal.trust_mask,
        can_query=tuple(name for name in manifest.can_answer if name in allowed),
        can_execute=tuple(name for name in manifest.can_do if name in allowed),
        authenticity_level_floor=principal.authenticity_level_floor,
    )


def sense_of(
    manifest: Manifest, rule: SwitchRule, switch: Switch, figures: ServiceFigures, *, configured_tier: int, at: Instant
) -> SenseDocument:
    """The figures as of `at`; total: there is a document in every state of the service."""
    rate = figures.totals.error_rate
    state, _ = judge(switch, rule, figures_of(figures.totals, active_tier=configured_tier), at=at)
    status = "fired" if switch.is_fired else "healthy" if state is SwitchState.ARMED else "degraded"
    rules = manifest.knowledge.rule_count
    drift = min(1.0, (figures.stale_rules + figures.conflicts) / rules) if rules else 0.0
    share = figures.agent_requests / figures.total_requests if figures.total_requests else 0.0
    return SenseDocument(
        forja_version=manifest.forja_version,
        service_id=manifest.service,
        timestamp=at,
        health=Health(
            score=round(1.0 - rate, 6), status=status, error_rate=rate, uptime_seconds=figures.uptime_seconds
        ),
        velocity=Velocity(
            requests_per_minute=float(figures.totals.requests),
            ai_agent_traffic_pct=round(100 * share, 2),
            total_requests=figures.total_requests,
        ),
        security=Security(
            current_trust_tier=tier_left(switch, rule, configured_tier),
            kill_switch_active=switch.is_fired,
            self_escalation_attempt_count=figures.self_escalation_attempts,
        ),
        knowledge_drift=Drift(
            stale_rules=figures.stale_rules,
            last_rule_update=manifest.knowledge.last_updated,
            conflict_count=figures.conflicts,
            drift_score=round(drift, 6),
        ),
    )


def render_document(document: Struct) -> bytes:
    """Compact JSON in the order of the fields; members that were left out stay out."""
    return msgspec.json.encode(document)


def parse_document(content: bytes, shape: type[_Document]) -> _Document:
    """A document of another service, strictly; raises `msgspec.DecodeError` alone, which says what is wrong."""
    try:
        return msgspec.json.decode(content, type=shape)
    except Error as error:
        # What a type of ours refuses inside of a document is a fault of that document like any other.
        raise msgspec.ValidationError(str(error)) from error


def _told_mask(mask: int) -> int | str:
    """A number up to 32 bits; `0x…` text beyond, since readers of JSON lose digits beyond 2^53."""
    return mask if mask <= MASK_MAX else f"0x{mask:x}"


def _surface(manifest: Manifest) -> AiSurface:
    """An action that no agent may ever run is shown as restricted, since a required tier of 0 would read as none."""
    shut = {action.id: _why_shut(action) for action in manifest.actions}
    queries, actions = frozenset(manifest.can_answer), frozenset(manifest.can_do)
    asked = [action for action in manifest.actions if action.id in queries]
    done = [action for action in manifest.actions if action.id in actions and shut[action.id] is None]
    return AiSurface(
        queryable=tuple(Queryable(id=action.id, description=action.description or "") for action in asked),
        actionable=tuple(
            Actionable(id=action.id, trust_tier_required=action.tier, description=action.description or UNSET)
            for action in done
        ),
        restricted=tuple(Restricted(id=name, reason=reason) for name, reason in shut.items() if reason is not None),
    )


def _why_shut(action: Action) -> str | None:
    return action.restricted or ("tier 0: off for everyone (FRJ-005)" if action.tier == Tier.OFF else None)


def _action_tier(action: Action) -> ActionTier:
    return ActionTier(
        action_id=action.id,
        action_type=action.type,
        tier=action.tier if action.restricted is None else Tier.OFF,
        description=action.description or UNSET,
        rollback_descriptor=action.rollback or UNSET,
    )
