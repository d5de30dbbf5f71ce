"""A simulation: honest, lazy, spamming, colluding and sybil agents over many days, through the real fold.

policy + crowd + seed -> each day: reports -> a decision weighed by frozen trust -> signals -> fold -> standings
No generator is kept: every choice is the hash of the seed and of what is being chosen, so that a run repeats exactly.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import sha256

from msgspec import Struct

from assay.kernel.ids import KeyId
from assay.kernel.instant import Instant
from assay.trust._crowd import HABITS, Behaviour, Crowd, SimulatedAgent, drawn, people
from assay.trust.errors import TrustError
from assay.trust.evolve import Fold
from assay.trust.freeze import weigh_trust
from assay.trust.network import network_bonus
from assay.trust.policy import TrustPolicy
from assay.trust.signal import (
    AgentRegistered,
    Endorsement,
    Outcome,
    OutcomeRole,
    SignalBody,
    SignalKind,
    TrustSignal,
    TruthstateEmitted,
)
from assay.trust.standing import moment_of
from assay.truth.number import ARITHMETIC, exact_number, plain_number
from assay.truth.snapshot import AgentTrust
from assay.truth.status import TruthStatus

__all__ = ["AgentRun", "Behaviour", "Crowd", "Simulation", "simulate"]

_START = datetime(2026, 1, 1, tzinfo=UTC)
_CLAIM_TYPE = "meta.simulation.v1"
_NODE = "service:simulation"
_KEY = KeyId("sha256:" + "0" * 64)
_KEYS_A_DAY = 4
# Of a hundred keys, once colluders have begun.
_ATTACKS = 33
_MOST_ROUNDS = 10_000
_ZERO = Decimal(0)


class AgentRun(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One agent's way: standing and trust score at the end of each day, from the day it came."""

    agent_id: str
    behaviour: Behaviour
    first_round: int
    standings: tuple[Decimal, ...]
    trust_scores: tuple[Decimal, ...]
    admissible: bool
    network_bonus: Decimal


class Simulation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`attacks` are the keys at which colluders lied together, `outvoted` those of them that were decided their way."""

    policy_hash: str
    seed: str
    rounds: int
    signals: int
    keys: int
    decided_wrong: int
    attacks: int
    outvoted: int
    runs: tuple[AgentRun, ...]


def simulate(policy: TrustPolicy, *, seed: str = "assay", rounds: int = 90, crowd: Crowd | None = None) -> Simulation:
    """The same policy, seed, rounds and crowd give the same bytes; each round is one day.

    Sybils come after a third of the days, colluders begin to lie after half of them.
    """
    agents = people(crowd or Crowd())
    if not agents or not 1 <= rounds <= _MOST_ROUNDS:
        raise TrustError.simulation(f"expected agents and 1 to {_MOST_ROUNDS} rounds, got {len(agents)} and {rounds}")
    world = _World(policy, seed, rounds, agents)
    for number in range(rounds):
        world.live(number)
    return world.told()


class _World:
    """The fold, and what is noted beside it."""

    def __init__(self, policy: TrustPolicy, seed: str, rounds: int, agents: Sequence[SimulatedAgent]) -> None:
        self.fold, self.seed, self.rounds, self.agents = Fold(policy), seed, rounds, agents
        self.keys = self.decided_wrong = self.attacks = self.outvoted = 0
        self.standings: dict[str, list[Decimal]] = {agent.agent_id: [] for agent in agents}
        self.scores: dict[str, list[Decimal]] = {agent.agent_id: [] for agent in agents}
        self.last: dict[str, AgentTrust] = {}

    def live(self, number: int) -> None:
        """One day: who is new is registered, friends endorse each other, some keys are decided, standings are noted."""
        here = [agent for agent in self.agents if number >= self._first_round(agent)]
        for agent in here:
            if number == self._first_round(agent):
                body = AgentRegistered(agent_id=agent.agent_id)
                self._add(number, 0, SignalKind.AGENT_REGISTERED, body)
        for friend, other in _friendships(here):
            self._add(number, 1, SignalKind.ENDORSEMENT, Endorsement(endorsed=other, weight=Decimal(1)), by=friend)
        for key in range(_KEYS_A_DAY):
            self._decide(number, key, here)
        self._note(number, here)

    def told(self) -> Simulation:
        return Simulation(
            policy_hash=self.fold.policy.policy_hash,
            seed=self.seed,
            rounds=self.rounds,
            signals=self.fold.signals,
            keys=self.keys,
            decided_wrong=self.decided_wrong,
            attacks=self.attacks,
            outvoted=self.outvoted,
            runs=tuple(self._run(agent) for agent in self.agents if self.standings[agent.agent_id]),
        )

    def _first_round(self, agent: SimulatedAgent) -> int:
        return self.rounds // 3 if agent.behaviour is Behaviour.SYBIL else 0

    def _decide(self, number: int, key: int, here: Sequence[SimulatedAgent]) -> None:
        """What agents say is weighed by their frozen trust; who was right is judged by the decision, not by the truth.

        The truth is always `yes`: nothing but the agents' own choices depends on it.
        """
        is_attack = number >= self.rounds // 2 and drawn(self.seed, "attack", number, key) < _ATTACKS
        said = dict(self._reports(number, key, here, is_attack=is_attack))
        at = _instant(number, 2 + key)
        decision = _weighed(said, weigh_trust(self.fold, said, claim_type=_CLAIM_TYPE, at=at))
        self._add(number, 2 + key, SignalKind.TRUTHSTATE_EMITTED, _state(number, key, said, decision=decision))
        self.keys += 1
        self.attacks += is_attack
        self.decided_wrong += decision is False
        self.outvoted += is_attack and decision is False

    def _reports(
        self, number: int, key: int, here: Sequence[SimulatedAgent], *, is_attack: bool
    ) -> Iterator[tuple[str, tuple[bool, Decimal]]]:
        for agent in here:
            habit, hand = HABITS[agent.behaviour], agent.agent_id
            if is_attack and agent.behaviour is Behaviour.COLLUDER:
                yield agent.agent_id, (False, habit.quality)
                continue
            if drawn(self.seed, "reports", agent.agent_id, number, key) >= habit.reports:
                continue
            if agent.behaviour is Behaviour.SYBIL:
                hand = Behaviour.SYBIL.value
            is_right = drawn(self.seed, "right", hand, number, key) < habit.right
            yield agent.agent_id, (is_right, habit.quality)

    def _add(self, number: int, hour: int, kind: SignalKind, body: SignalBody, *, by: str = _NODE) -> None:
        self.fold.add(
            TrustSignal(
                signal_id=f"sim-{self.fold.signals}",
                kind=kind,
                agent_id=by,
                occurred_at=_instant(number, hour),
                object=body,
            )
        )

    def _note(self, number: int, here: Sequence[SimulatedAgent]) -> None:
        at = _instant(number, 23)
        self.last = weigh_trust(self.fold, [agent.agent_id for agent in here], claim_type=_CLAIM_TYPE, at=at)
        for agent_id, trust in self.last.items():
            self.standings[agent_id].append(self.fold.get_standing(agent_id, at))
            # As a snapshot would say it, without zeros at its end.
            self.scores[agent_id].append(exact_number(plain_number(trust.trust_score)))

    def _run(self, agent: SimulatedAgent) -> AgentRun:
        agent_id, day = agent.agent_id, moment_of(_instant(self.rounds - 1, 23)).day
        network = self.fold.parameters_of(_CLAIM_TYPE, agent_id).network
        return AgentRun(
            agent_id=agent_id,
            behaviour=agent.behaviour,
            first_round=self._first_round(agent),
            standings=tuple(self.standings[agent_id]),
            trust_scores=tuple(self.scores[agent_id]),
            admissible=self.last[agent_id].admissible,
            network_bonus=network_bonus(
                self.fold.endorsements_of(agent_id),
                network,
                day=day,
                standing_of=lambda endorser: self.fold.find_micro(endorser, day) or 0,
            ),
        )


def _instant(number: int, hour: int) -> Instant:
    return Instant(_START + timedelta(days=number, hours=hour))


def _friendships(here: Sequence[SimulatedAgent]) -> Iterator[tuple[str, str]]:
    """Colluders and sybils endorse each other, every day; the others have no such friends."""
    for behaviour in (Behaviour.COLLUDER, Behaviour.SYBIL):
        friends = [agent.agent_id for agent in here if agent.behaviour is behaviour]
        yield from ((friend, other) for friend in friends for other in friends if friend != other)


def _weighed(said: dict[str, tuple[bool, Decimal]], trusts: Mapping[str, AgentTrust]) -> bool | None:
    """Yes, no, or None where both weigh the same; who is not admissible is not heard."""
    balance = _ZERO
    for agent_id, (says, _) in said.items():
        trust = trusts[agent_id]
        weight = trust.trust_score if trust.admissible else _ZERO
        balance = ARITHMETIC.add(balance, weight if says else -weight)
    return None if not balance else balance > 0


def _state(number: int, key: int, said: dict[str, tuple[bool, Decimal]], *, decision: bool | None) -> TruthstateEmitted:
    truthkey = f"meta:simulation:meta:key-{key}:none:{_instant(number, 0):%Y-%m-%dT%H:%MZ}"
    statuses = {True: TruthStatus.VERIFIED_TRUE, False: TruthStatus.VERIFIED_FALSE, None: TruthStatus.INCONCLUSIVE}
    return TruthstateEmitted(
        truthkey=truthkey,
        claim_type=_CLAIM_TYPE,
        state_hash=sha256(truthkey.encode()).hexdigest(),
        status=statuses[decision],
        signed_by=_KEY,
        outcomes=tuple(
            Outcome(
                agent_id=agent_id,
                role=OutcomeRole.REPORTER,
                correct=None if decision is None else says is decision,
                quality=quality,
            )
            for agent_id, (says, quality) in said.items()
        ),
    )
