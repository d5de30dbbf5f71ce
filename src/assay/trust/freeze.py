"""Freezing: how far each agent is trusted at one instant, for one claim type and probe, as data for truth (Kaori 9).

fold + agents -> effective trust: sigmoid of the standing, network and probe bonus, own probe, phases
             -> share of the highest, standing class, admissible -> TrustSnapshot
"""

from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from functools import lru_cache

from assay.kernel.canonical import Profile, canonical_hash
from assay.kernel.instant import Instant, instant_of, render_instant
from assay.trust.errors import TrustError
from assay.trust.evolve import Fold
from assay.trust.fold_state import ProbeState
from assay.trust.kin import find_kin, report_together
from assay.trust.learning import competence_at
from assay.trust.network import network_bonus
from assay.trust.policy import Parameters, Sigmoid
from assay.trust.standing import MICRO, as_number, in_micro, moment_of
from assay.truth.competence import Competence
from assay.truth.contract import Standing
from assay.truth.number import ARITHMETIC, quantised
from assay.truth.snapshot import AgentTrust, TrustSnapshot, freeze_snapshot, snapshot_hash

_RANK = {standing: rank for rank, standing in enumerate(Standing)}
_ONE, _NOTHING = Decimal(1), Decimal(0)


def freeze_trust(
    fold: Fold,
    agents: Iterable[str],
    *,
    claim_type: str,
    at: Instant,
    probe: str | None = None,
    probes: Mapping[str, str] | None = None,
    disabled: Collection[str] = (),
) -> TrustSnapshot:
    """What the signals folded so far say about these agents at an instant that is not before any of them.

    An agent that no signal registered is left out: it weighs nothing. One that is disabled is known and inadmissible.
    `probe` is the probe that all of them observe for, `probes` those that single agents do, by agent; of these, one
    that no signal created is ignored.
    The cost depends on how many agents are asked for, and not on how many there are.
    """
    moment = instant_of(at)
    if moment < fold.clock:
        raise TrustError.snapshot_instant(
            f"expected an instant from {render_instant(fold.clock)} on, got {render_instant(moment)}"
        )
    if probe is not None and fold.find_probe(probe) is None:
        raise TrustError.unknown_probe(f"expected a probe that a signal created, got `{probe[:80]}`")
    known_probes = {agent: name for agent, name in (probes or {}).items() if fold.find_probe(name) is not None}
    context = _Asked(fold, claim_type, probe, known_probes, moment)
    trusts = _trusts(context, agents, disabled)
    return freeze_snapshot(_snapshot_id(context, trusts), moment, trusts)


def weigh_trust(fold: Fold, agents: Iterable[str], *, claim_type: str, at: Instant) -> dict[str, AgentTrust]:
    """What `freeze_trust` would freeze, as plain values for whoever needs no snapshot of it: nothing is hashed.

    The instant is not before any signal that was folded.
    """
    return _trusts(_Asked(fold, claim_type, None, {}, at), agents, ())


def _trusts(context: "_Asked", agents: Iterable[str], disabled: Collection[str]) -> dict[str, AgentTrust]:
    known = [agent for agent in sorted(set(agents)) if context.fold.find_micro(agent, context.day) is not None]
    kin = context.kin_of(known)
    return {agent: context.trust_of(agent, is_disabled=agent in disabled, kin=kin.get(agent)) for agent in known}


class _Asked:
    """One question to the fold: about which claim type, which probe, when."""

    def __init__(self, fold: Fold, claim_type: str, probe: str | None, probes: Mapping[str, str], at: Instant) -> None:
        self.fold, self.claim_type, self.probe, self.probes, self.at = fold, claim_type, probe, probes, at
        self.day = moment_of(at).day

    def kin_of(self, agents: Collection[str]) -> dict[str, str]:
        policy = self.fold.policy.competence
        if policy is None:
            return {}
        found = ((agent, self.fold.learning_of(agent, self.claim_type)) for agent in agents)
        learnings = {agent: known for agent, known in found if known is not None}
        return find_kin(policy, learnings, agents, self.fold.endorsements_of)

    def _competence(self, agent_id: str, kin: str | None) -> Competence | None:
        if self.fold.policy.competence is None:
            return None
        known = self.fold.learning_of(agent_id, self.claim_type)
        fields = {} if known is None else {name: competence_at(one) for name, one in sorted(known.fields.items())}
        return Competence(fields=fields, kin=kin) if fields or kin is not None else None

    def trust_of(self, agent_id: str, *, is_disabled: bool, kin: str | None) -> AgentTrust:
        standing = as_number(self.standing_of(agent_id))
        parameters = self.fold.parameters_of(self.claim_type, agent_id)
        score = self._effective(agent_id, standing, parameters)
        return AgentTrust(
            standing=self._class_of(agent_id, standing),
            trust_score=score,
            admissible=not is_disabled and score >= self._theta_min(agent_id, parameters),
            competence=self._competence(agent_id, kin),
        )

    def standing_of(self, agent_id: str) -> int:
        """In millionths; an agent that is not known stands below everybody."""
        found = self.fold.find_micro(agent_id, self.day)
        return -1 if found is None else found

    def _effective(self, agent_id: str, standing: Decimal, parameters: Parameters) -> Decimal:
        bonus = ARITHMETIC.add(self._network(agent_id, parameters), self._probe_bonus(agent_id, parameters))
        return effective_share(standing, parameters, bonus=bonus, in_own_probe=self._maker(agent_id) == agent_id)

    def _network(self, agent_id: str, parameters: Parameters) -> Decimal:
        return network_bonus(
            self.fold.endorsements_of(agent_id),
            parameters.network,
            day=self.day,
            standing_of=self.standing_of,
            kept_of=lambda endorser: self._kept_of(agent_id, endorser),
        )

    def _kept_of(self, agent_id: str, endorser: str) -> int:
        """The share of an endorsement that counts: less where the endorser is endorsed in return or reports along."""
        policy = self.fold.policy.competence
        if policy is None:
            return MICRO
        learnings = (self.fold.learning_of(name, self.claim_type) for name in (agent_id, endorser))
        is_mutual = agent_id in self.fold.endorsements_of(endorser) or report_together(policy, *learnings)
        return in_micro(policy.mutual_endorsement) if is_mutual else MICRO

    def _probe_bonus(self, agent_id: str, parameters: Parameters) -> Decimal:
        """For the probe's assigned observers; of what one gave oneself only the policy's share is kept."""
        probe = self.probe_of(agent_id)
        by_another = None if probe is None else self.fold.observers_of(probe).get(agent_id)
        if by_another is None:
            return _NOTHING
        dealing, kept = self.fold.policy.self_dealing, _ONE
        if not by_another:
            kept = dealing.self_assignment
        if self._maker(agent_id) == agent_id:
            kept = min(kept, dealing.own_probe)
        return ARITHMETIC.multiply(parameters.probe.bonus, kept)

    def probe_of(self, agent_id: str) -> str | None:
        return self.probes.get(agent_id, self.probe)

    def _probe(self, agent_id: str) -> ProbeState | None:
        name = self.probe_of(agent_id)
        return None if name is None else self.fold.find_probe(name)

    def _maker(self, agent_id: str) -> str | None:
        probe = self._probe(agent_id)
        return None if probe is None else probe.created_by

    def _theta_min(self, agent_id: str, parameters: Parameters) -> Decimal:
        """Policy, then claim type, then probe: each may ask for more, none for less."""
        probe = self._probe(agent_id)
        own = None if probe is None else probe.theta_min
        return parameters.theta_min if own is None else max(parameters.theta_min, as_number(own))

    def _class_of(self, agent_id: str, standing: Decimal) -> Standing:
        """The class of an agent, by its standing or by a role that grants at least a class and has not ended."""
        policy = self.fold.policy
        granted = [
            policy.roles[role]
            for role, expires_at in self.fold.roles_of(agent_id).items()
            if role in policy.roles and (expires_at is None or self.at < expires_at)
        ]
        return max([policy.class_of(standing), *granted], key=_RANK.__getitem__)


def effective_share(
    standing: Decimal, parameters: Parameters, *, bonus: Decimal = _NOTHING, in_own_probe: bool = False
) -> Decimal:
    """Effective trust as a share of the highest, at six places; it never falls when standing or bonus rises."""
    counted = _logistic(parameters.sigmoid, _counted(standing, parameters))
    value = ARITHMETIC.multiply(counted, ARITHMETIC.add(_ONE, bonus))
    if in_own_probe:
        value = ARITHMETIC.multiply(value, parameters.probe.self_created_factor)
    if standing < parameters.phases.low.below:
        value = ARITHMETIC.multiply(value, parameters.phases.low.factor)
    return quantised(min(_ONE, ARITHMETIC.divide(value, parameters.sigmoid.max)))


def _counted(standing: Decimal, parameters: Parameters) -> Decimal:
    """The standing that counts: above the high phase only a share of it does."""
    high = parameters.phases.high
    if standing <= high.above:
        return standing
    return ARITHMETIC.add(high.above, ARITHMETIC.multiply(high.excess, ARITHMETIC.subtract(standing, high.above)))


@lru_cache(maxsize=1 << 14)
def _logistic(sigmoid: Sigmoid, standing: Decimal) -> Decimal:
    distance = ARITHMETIC.subtract(sigmoid.midpoint, standing)
    falling = ARITHMETIC.exp(ARITHMETIC.multiply(sigmoid.k, distance))
    return ARITHMETIC.divide(sigmoid.max, ARITHMETIC.add(_ONE, falling))


def _snapshot_id(asked: _Asked, trusts: dict[str, AgentTrust]) -> str:
    """From what was asked and answered: the same question to the same fold has the same name."""
    named = {
        "policy_hash": asked.fold.policy.policy_hash,
        "claim_type": asked.claim_type,
        "probe": asked.probe,
        **({"probes": dict(asked.probes)} if asked.probes else {}),
        "at": render_instant(asked.at),
        "snapshot_hash": snapshot_hash(trusts),
    }
    return f"trust-{canonical_hash(named, Profile.KAORI)[:32]}"
