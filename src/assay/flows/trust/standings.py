"""Standings of agents, the snapshot that would be frozen of them, credits, and what another policy would change."""

from collections.abc import Iterable
from decimal import Decimal
from itertools import takewhile
from typing import Annotated

from msgspec import Meta, Struct

from assay.flows.errors import NotFoundError
from assay.flows.errors.truth import TruthFlowError
from assay.flows.request import Content, Moment, Option, Page, Paged, Request, cut_named, parse_moment, whose
from assay.flows.tools import Tools
from assay.flows.trust.fold_shelf import Folded
from assay.flows.trust.fold_trust import borrow_trust, get_policy_in_force, read_policy
from assay.flows.trust.take_snapshot import snapshot_of
from assay.flows.truth.contracts import get_contract
from assay.flows.truth.load_truth import read_released
from assay.identity.caller import Caller
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, render_instant
from assay.ports.database import Unit
from assay.trust.counterfactual import Counterfactual, replay_under
from assay.trust.credit import credits_of
from assay.trust.evolve import Fold
from assay.trust.judge import judges
from assay.trust.parse_policy import parse_policy
from assay.trust.policy import TrustPolicy
from assay.trust.signal import SignalKind, TruthstateEmitted, parse_signal, read_stored_signal
from assay.truth.contract import Contract, Standing
from assay.truth.number import ARITHMETIC
from assay.truth.snapshot import TrustSnapshot, render_snapshot

# Standings of no claim type in particular: no profile for one applies.
ANY_CLAIM_TYPE = "any.any.v1"
ForClaimType = Annotated[
    str | None,
    Meta(description="For this claim type; else for none in particular, without its profiles."),
    Option(metavar="ID"),
]


class ShowAgent(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    agent_id: Annotated[str, Meta(description="The agent."), Option(metavar="AGENT")]
    claim_type: ForClaimType = None


class ListAgents(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    claim_type: ForClaimType = None
    policy_hash: Annotated[
        str | None,
        Meta(description="Under this registered policy; else the one in force."),
        Option(flag="--policy", metavar="HASH"),
    ] = None


class TakeSnapshot(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    claim_type: Annotated[str, Meta(description="The claim type to be compiled."), Option(metavar="ID")] = (
        ANY_CLAIM_TYPE
    )
    agents: Annotated[
        tuple[str, ...], Meta(description="Only these agents; else all."), Option(flag="--agent", metavar="AGENT")
    ] = ()
    at: Annotated[
        Moment | None,
        Meta(description="As it was, or will have decayed, then; else now."),
        Option(metavar="TIME"),
    ] = None
    probe: Annotated[
        str | None, Meta(description="In this probe, with its bonus and its own least trust."), Option(metavar="ID")
    ] = None


class ComparePolicy(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    document: Annotated[
        str, Meta(description="Another policy, as YAML or JSON text."), Option(form="text_argument", metavar="POLICY")
    ]
    claim_type: Annotated[str, Meta(description="Profiles for this claim type apply."), Option(metavar="ID")] = (
        ANY_CLAIM_TYPE
    )


class ListCredits(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    agents: Annotated[
        tuple[str, ...], Meta(description="Only these agents."), Option(form="argument", metavar="[AGENT]...")
    ] = ()


class AgentItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An agent as the log of signals has it now, under a policy."""

    agent_id: str
    standing: float
    standing_class: str
    trust_score: float
    is_admissible: bool
    roles: tuple[str, ...]
    endorsed_by: tuple[str, ...]
    policy_id: str
    at: Instant


def agent(tools: Tools, caller: Caller, request: ShowAgent) -> AgentItem:
    """Show the standing and trust of an agent, and who endorses it; another's only for roles that see all."""
    whose(caller, request.agent_id)
    found = list_standings(
        tools, caller.tenant_id, at=caller.at, agents=[request.agent_id], claim_type=request.claim_type
    )
    if not found.agents:
        raise NotFoundError(f"tenant `{caller.tenant_id}` knows no agent `{request.agent_id[:80]}`")
    return _items(found)[0]


def agents(tools: Tools, caller: Caller, request: ListAgents) -> Page[AgentItem]:
    """List all known agents with their standings, by id, under the policy in force."""
    found = list_standings(
        tools, caller.tenant_id, at=caller.at, claim_type=request.claim_type, policy_hash=request.policy_hash
    )
    return cut_named("agents", _items(found), request.cursor, request.limit, lambda one: one.agent_id)


def trust_snapshot(tools: Tools, caller: Caller, request: TakeSnapshot) -> Content:
    """Return the frozen trust that a compilation would take now, or would have taken then; nothing is recorded."""
    at, chosen = parse_moment(request.at), request.agents or None
    if at is not None:
        snapshot = recall_trust(
            tools, caller.tenant_id, claim_type=request.claim_type, at=at, agents=chosen, probe=request.probe
        )
    else:
        snapshot = freeze_agents(
            tools,
            caller.tenant_id,
            claim_type=request.claim_type,
            at=caller.at,
            agents=chosen,
            probe=request.probe,
        )
    return Content(body=render_snapshot(snapshot), etag=snapshot.snapshot_hash)


def compare_policy(tools: Tools, caller: Caller, request: ComparePolicy) -> Counterfactual:
    """Fold the log of signals under another policy too, and list whom it would change; nothing is registered."""
    return compare_policies(tools, caller.tenant_id, request.document, claim_type=request.claim_type, at=caller.at)


def credits(tools: Tools, caller: Caller, request: ListCredits) -> Page["EarnedCredits"]:  # noqa: A001 - Kaori's word
    """List what agents have earned by the credits of contracts, by the last final state of each key.

    Credits move no standing.
    """
    found = tally_credits(tools, caller.tenant_id, agents=request.agents or None)
    return cut_named("credits", found.agents, request.cursor, request.limit, lambda one: one.agent_id)


def _items(found: "Standings") -> list[AgentItem]:
    return [
        AgentItem(
            agent_id=view.agent_id,
            standing=float(view.standing),
            standing_class=view.standing_class,
            trust_score=float(view.trust_score),
            is_admissible=view.is_admissible,
            roles=view.roles,
            endorsed_by=view.endorsed_by,
            policy_id=found.policy_id,
            at=found.at,
        )
        for view in found.agents
    ]


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
        snapshot = snapshot_of(unit, tenant_id, fold, chosen, claim_type or ANY_CLAIM_TYPE, at=moment)
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
        policy = read_policy(get_policy_in_force(unit, tenant_id).document)
        signals = (parse_signal(one.text) for one in unit.trust.signals(tenant_id))
        return replay_under(signals, policy, parse_policy(other, parents=parents), claim_type=claim_type, at=at)

    return tools.database.read(work)


def recall_trust(
    tools: Tools,
    tenant_id: TenantId,
    *,
    claim_type: str,
    at: Instant,
    agents: Iterable[str] | None = None,
    probe: str | None = None,
) -> TrustSnapshot:
    """What a compilation at that instant would have frozen of these agents, or of all that were known then.

    Folds from the beginning, since marks are of now. A signal that was logged later counts as later, however it is
    dated: what was frozen in between did not know it.
    """

    def work(unit: Unit) -> TrustSnapshot:
        fold = Fold(_policy(unit, tenant_id, at))
        for logged in takewhile(lambda one: one.occurred_at <= at, unit.trust.signals(tenant_id)):
            fold.add(parse_signal(logged.text))
        chosen = fold.agent_ids() if agents is None else tuple(agents)
        return snapshot_of(unit, tenant_id, fold, chosen, claim_type, at=at, probe=probe)

    return tools.database.read(work)


def _policy(unit: Unit, tenant_id: TenantId, at: Instant) -> TrustPolicy:
    known = [one for one in unit.trust.policies(tenant_id) if one.registered_at <= at]
    if not known:
        raise TruthFlowError.trust_no_policy(f"tenant `{tenant_id}` had no trust policy at {render_instant(at)}")
    return read_policy(known[-1].document)


class EarnedCredits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`keys` is at how many keys they were earned."""

    agent_id: str
    credits: Decimal
    keys: int


class Credits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Those who earned something, sorted by id; `through` is the entry of the newest state that paid."""

    through: int
    agents: tuple[EarnedCredits, ...]


def tally_credits(tools: Tools, tenant_id: TenantId, *, agents: Iterable[str] | None = None) -> Credits:
    """The credits of all agents, or of some. Reads the whole log: a key's later final state replaces the earlier."""
    chosen = None if agents is None else frozenset(agents)

    def work(unit: Unit) -> Credits:
        through, last = _last_states(unit, tenant_id)
        contracts: dict[str, Contract] = {}
        earned: dict[str, tuple[Decimal, int]] = {}
        for emitted in last.values():
            contract = _contract(unit, tools, tenant_id, contracts, emitted.claim_type)
            for agent_id, points in credits_of(contract.credits, emitted).items():
                if chosen is None or agent_id in chosen:
                    total, keys = earned.get(agent_id, (Decimal(0), 0))
                    earned[agent_id] = ARITHMETIC.add(total, points), keys + 1
        told = [EarnedCredits(agent_id=name, credits=total, keys=keys) for name, (total, keys) in earned.items()]
        return Credits(through=through, agents=tuple(sorted(told, key=lambda one: one.agent_id)))

    return tools.database.read(work)


def _last_states(unit: Unit, tenant_id: TenantId) -> tuple[int, dict[str, TruthstateEmitted]]:
    through, last = 0, dict[str, TruthstateEmitted]()
    for row in unit.trust.signals(tenant_id):
        if row.kind != SignalKind.TRUTHSTATE_EMITTED:
            continue
        emitted = read_stored_signal(row.kind, row.text).object
        # One that only says that a claim grew old takes nothing back.
        if isinstance(emitted, TruthstateEmitted) and judges(emitted):
            through, last[emitted.truthkey] = row.sequence_number, emitted
    return through, last


def _contract(unit: Unit, tools: Tools, tenant_id: TenantId, known: dict[str, Contract], claim_type: str) -> Contract:
    if claim_type not in known:
        known[claim_type] = read_released(tools, get_contract(unit, tenant_id, claim_type))
    return known[claim_type]
