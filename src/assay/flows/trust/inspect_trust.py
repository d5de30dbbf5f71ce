"""Look at trust: where agents stand, what would be frozen of them, and what another policy would make of it."""

from collections.abc import Iterable
from decimal import Decimal

from msgspec import Struct

from assay.flows.tools import Tools
from assay.flows.trust.fold_shelf import Folded
from assay.flows.trust.fold_trust import borrow_trust, get_policy_in_force, read_policy
from assay.flows.trust.take_snapshot import snapshot_of
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.trust.counterfactual import Counterfactual, replay_under
from assay.trust.parse_policy import parse_policy
from assay.trust.signal import parse_signal
from assay.truth.contract import Standing
from assay.truth.snapshot import TrustSnapshot

# Standings of no claim type in particular: no profile for one applies.
_ANY_CLAIM_TYPE = "any.any.v1"


class AgentView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An agent at an instant: the stored standing, and what is made of it."""

    agent_id: str
    standing: Decimal
    standing_class: Standing
    trust_score: Decimal
    is_admissible: bool
    roles: tuple[str, ...]
    endorsed_by: tuple[str, ...]


class Standings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Under which policy, after how many signals, up to which entry; agents sorted by id."""

    policy_id: str
    policy_hash: str
    signals: int
    through: int
    at: Instant
    agents: tuple[AgentView, ...]


def list_standings(
    tools: Tools,
    tenant_id: TenantId,
    *,
    at: Instant,
    agents: Iterable[str] | None = None,
    claim_type: str | None = None,
    policy_hash: str | None = None,
) -> Standings:
    """All known agents, or those asked for that are known; for one claim type, or for none in particular."""

    def told(unit: Unit, folded: Folded) -> Standings:
        fold, moment = folded.fold, max(at, folded.fold.clock)
        chosen = fold.agent_ids() if agents is None else tuple(agents)
        snapshot = snapshot_of(unit, tenant_id, fold, chosen, claim_type or _ANY_CLAIM_TYPE, at=moment)
        views = tuple(
            AgentView(
                agent_id=agent_id,
                standing=fold.find_standing(agent_id, moment) or Decimal(0),
                standing_class=trust.standing,
                trust_score=trust.trust_score,
                is_admissible=trust.admissible,
                roles=tuple(sorted(fold.roles_of(agent_id))),
                endorsed_by=tuple(sorted(fold.endorsements_of(agent_id))),
            )
            for agent_id, trust in sorted(snapshot.agent_trusts.items())
        )
        policy = fold.policy
        return Standings(
            policy_id=policy.id,
            policy_hash=policy.policy_hash,
            signals=fold.signals,
            through=folded.through,
            at=moment,
            agents=views,
        )

    def work(unit: Unit) -> Standings:
        with borrow_trust(unit, tools, tenant_id, policy_hash=policy_hash) as folded:
            return told(unit, folded)

    return tools.database.read(work)


def freeze_agents(
    tools: Tools,
    tenant_id: TenantId,
    *,
    claim_type: str,
    at: Instant,
    agents: Iterable[str] | None = None,
    probe: str | None = None,
) -> TrustSnapshot:
    """The snapshot that a compilation now would take of these agents; nothing is recorded."""

    def work(unit: Unit) -> TrustSnapshot:
        with borrow_trust(unit, tools, tenant_id) as kept:
            chosen = kept.fold.agent_ids() if agents is None else tuple(agents)
            return snapshot_of(unit, tenant_id, kept.fold, chosen, claim_type, at=at, probe=probe)

    return tools.database.read(work)


def compare_policies(tools: Tools, tenant_id: TenantId, other: str, *, claim_type: str, at: Instant) -> Counterfactual:
    """The whole log under the policy in force and under another, given as text; nothing is registered."""

    def work(unit: Unit) -> Counterfactual:
        parents = {one.policy_id: one.document for one in unit.trust.policies(tenant_id)}
        policy = read_policy(get_policy_in_force(unit, tools, tenant_id).document)
        signals = (parse_signal(one.text) for one in unit.trust.signals(tenant_id))
        return replay_under(signals, policy, parse_policy(other, parents=parents), claim_type=claim_type, at=at)

    return tools.database.read(work)
