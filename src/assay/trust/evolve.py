"""The fold: signals, in the order of the log, into standings, one pass, a constant amount of work for each.

signal -> clock -> what its kind does -> standings, roles, endorsements, probes;  at any point -> checkpoint -> resume
The log's own time is the latest instant in it so far: a signal dated earlier takes effect when it was logged, since
what was frozen in between cannot be taken back. Whoever logs a signal must refuse one dated in the future.
"""

from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Self, TypeVar

from assay.kernel.instant import Instant
from assay.trust._signal_body import (
    AgentRegistered,
    Endorsement,
    ObserverAssigned,
    PenaltyApplied,
    ProbeCreated,
    RoleGranted,
    TruthstateEmitted,
)
from assay.trust.errors import TrustError
from assay.trust.fold_state import Applied, Endorsed, FoldState, Judgement, ProbeState, Taught
from assay.trust.judge import judges, wanted_changes
from assay.trust.learning import AgentLearning, forgotten, taught
from assay.trust.policy import Parameters, TrustPolicy
from assay.trust.signal import SignalKind, TrustSignal
from assay.trust.standing import (
    MICRO,
    AgentStanding,
    Pace,
    StandingChange,
    as_number,
    in_micro,
    moment_of,
    moved,
    pace_of,
    penalised,
    rested,
    taken_back,
)
from assay.truth._moment import later, span_of

_Item = TypeVar("_Item")

# Before any signal.
_BEGINNING = Instant(datetime.min.replace(tzinfo=UTC))
_UNJUDGED = Judgement(_BEGINNING, (), ())
_UNTAUGHT = AgentLearning({})
_NOBODY: Mapping[str, Any] = MappingProxyType({})


class Fold:
    """A fold in progress, for one thread: adding a signal changes it, asking it a question does not.

    INVARIANT: adding a and b gives the same checkpoint as resuming from the checkpoint after a and adding b.
    """

    def __init__(self, policy: TrustPolicy) -> None:
        self.policy = policy
        self.clock = _BEGINNING
        self.signals = 0
        self._agents: dict[str, AgentStanding] = {}
        self._roles: dict[str, dict[str, Instant | None]] = {}
        self._endorsements: dict[str, dict[str, Endorsed]] = {}
        self._probes: dict[str, ProbeState] = {}
        self._observers: dict[str, dict[str, bool]] = {}
        self._tickets: set[str] = set()
        self._judged: dict[str, Judgement] = {}
        self._settled: set[str] = set()
        self._learning: dict[str, dict[str, AgentLearning]] = {}
        # Keys with a judgement that is still open, in the order of their `judged_at`.
        self._open: deque[str] = deque()
        self._moment = moment_of(_BEGINNING)
        self._parameters: dict[tuple[str | None, str], Parameters] = {}
        self._paces: dict[str, Pace] = {}
        self._revision_window = span_of(policy.revision_window)
        self._steps: Mapping[SignalKind, Callable[[TrustSignal, Any], tuple[StandingChange, ...]]] = {
            SignalKind.AGENT_REGISTERED: self._register,
            SignalKind.ROLE_GRANTED: self._grant,
            SignalKind.PROBE_CREATED: self._create_probe,
            SignalKind.OBSERVER_ASSIGNED: self._assign,
            SignalKind.ENDORSEMENT: self._endorse,
            SignalKind.TRUTHSTATE_EMITTED: self._judge,
            SignalKind.PENALTY_APPLIED: self._penalise,
        }

    @classmethod
    def resume(cls, policy: TrustPolicy, state: FoldState) -> Self:
        """Where a fold under this very policy had arrived; a checkpoint under another is refused."""
        if state.policy_hash != policy.policy_hash:
            raise TrustError.policy_mismatch(
                f"expected a checkpoint under {policy.policy_hash}, got {state.policy_hash}"
            )
        fold = cls(policy)
        fold.signals = state.signals
        fold._agents = dict(state.agents)
        fold._roles = _copied(state.roles)
        fold._endorsements = _copied(state.endorsements)
        fold._probes = dict(state.probes)
        fold._observers = _copied(state.observers)
        fold._tickets = set(state.tickets)
        fold._judged = dict(state.judged)
        fold._settled = set(state.settled)
        fold._learning = _copied(state.learning)
        fold._open = deque(sorted(state.judged, key=lambda key: state.judged[key].judged_at))
        fold._advance(state.clock)
        return fold

    def checkpoint(self) -> FoldState:
        return FoldState(
            policy_hash=self.policy.policy_hash,
            signals=self.signals,
            clock=self.clock,
            agents=dict(self._agents),
            roles=_copied(self._roles),
            endorsements=_copied(self._endorsements),
            probes=dict(self._probes),
            observers=_copied(self._observers),
            tickets=tuple(sorted(self._tickets)),
            judged=dict(self._judged),
            settled=tuple(sorted(self._settled)),
            learning=_copied(self._learning),
        )

    def add(self, signal: TrustSignal) -> tuple[StandingChange, ...]:
        """The next signal of the log; what it did to standings."""
        self.signals += 1
        if signal.occurred_at > self.clock:
            self._advance(signal.occurred_at)
        step = self._steps.get(signal.kind)
        return () if step is None else step(signal, signal.object)

    def agent_ids(self) -> tuple[str, ...]:
        return tuple(sorted(self._agents))

    def find_standing(self, agent_id: str, at: Instant) -> Decimal | None:
        """None for an agent that no signal registered; `at` is not before the fold's clock."""
        standing = self.find_micro(agent_id, moment_of(at).day)
        return None if standing is None else as_number(standing)

    def get_standing(self, agent_id: str, at: Instant) -> Decimal:
        found = self.find_standing(agent_id, at)
        if found is None:
            raise TrustError.unknown_agent(f"expected an agent that a signal registered, got `{agent_id[:80]}`")
        return found

    def find_micro(self, agent_id: str, day: int) -> int | None:
        """The same in millionths, on a day counted from the year 1."""
        known = self._agents.get(agent_id)
        return None if known is None else rested(known, day, self._pace(agent_id))

    def find_probe(self, probe_id: str) -> ProbeState | None:
        return self._probes.get(probe_id)

    def observers_of(self, probe_id: str) -> Mapping[str, bool]:
        """The agents assigned to a probe, each with whether another assigned it."""
        return self._observers.get(probe_id, _NOBODY)

    def roles_of(self, agent_id: str) -> Mapping[str, Instant | None]:
        """Each role with the instant it ends at, if any."""
        return self._roles.get(agent_id, _NOBODY)

    def endorsements_of(self, agent_id: str) -> Mapping[str, Endorsed]:
        """By whom the agent is endorsed."""
        return self._endorsements.get(agent_id, _NOBODY)

    def learning_of(self, agent_id: str, claim_type: str) -> AgentLearning | None:
        """What final states taught about the agent's reports of a claim type; None where they taught nothing."""
        return self._learning.get(agent_id, _NOBODY).get(claim_type)

    def parameters_of(self, claim_type: str | None, agent_id: str) -> Parameters:
        """The parameters of an agent, remembered: they depend on nothing of an agent but its prefix."""
        place = (claim_type, agent_id.partition(":")[0] if ":" in agent_id else "")
        found = self._parameters.get(place)
        if found is None:
            found = self._parameters[place] = self.policy.parameters_for(claim_type, agent_id)
        return found

    def _pace(self, agent_id: str) -> Pace:
        prefix = agent_id.partition(":")[0] if ":" in agent_id else ""
        found = self._paces.get(prefix)
        if found is None:
            found = self._paces[prefix] = pace_of(self.parameters_of(None, agent_id))
        return found

    def _advance(self, clock: Instant) -> None:
        """To a later instant; judgements whose time for revision is over by then are settled."""
        self.clock, self._moment = clock, moment_of(clock)
        while self._open and later(self._judged[self._open[0]].judged_at, self._revision_window) < clock:
            key = self._open.popleft()
            del self._judged[key]
            self._settled.add(key)

    def _register(self, _signal: TrustSignal, body: AgentRegistered) -> tuple[()]:
        if body.agent_id not in self._agents:
            initial = in_micro(self.parameters_of(None, body.agent_id).initial_standing)
            self._agents[body.agent_id] = AgentStanding(initial, self._moment.day)
        return ()

    def _grant(self, signal: TrustSignal, body: RoleGranted) -> tuple[()]:
        # Nobody grants a role to themselves.
        if body.agent_id in self._agents and body.agent_id != signal.agent_id:
            self._roles.setdefault(body.agent_id, {})[body.role] = body.expires_at
        return ()

    def _create_probe(self, _signal: TrustSignal, body: ProbeCreated) -> tuple[()]:
        if body.probe_id not in self._probes:
            theta_min = None if body.theta_min is None else in_micro(body.theta_min)
            self._probes[body.probe_id] = ProbeState(created_by=body.created_by, theta_min=theta_min)
            self._observers[body.probe_id] = {}
        return ()

    def _assign(self, signal: TrustSignal, body: ObserverAssigned) -> tuple[()]:
        observers = self._observers.get(body.probe_id)
        if observers is not None:
            by_another = signal.agent_id != body.agent_id
            observers[body.agent_id] = by_another or observers.get(body.agent_id, False)
        return ()

    def _endorse(self, signal: TrustSignal, body: Endorsement) -> tuple[()]:
        if body.endorsed not in self._agents or signal.agent_id not in self._agents:
            return ()
        weight = in_micro(body.weight)
        if body.endorsed == signal.agent_id:
            weight = weight * in_micro(self.policy.self_dealing.self_endorsement) // MICRO
        if weight:
            given = self._endorsements.setdefault(body.endorsed, {})
            given[signal.agent_id] = Endorsed(weight, self._moment.day)
        else:
            self._endorsements.get(body.endorsed, {}).pop(signal.agent_id, None)
        return ()

    def _penalise(self, _signal: TrustSignal, body: PenaltyApplied) -> tuple[StandingChange, ...]:
        known = self._agents.get(body.agent_id)
        if known is None or body.ticket_id in self._tickets:
            return ()
        self._tickets.add(body.ticket_id)
        after = penalised(known, in_micro(body.points), self._moment, self._pace(body.agent_id))
        return self._set(body.agent_id, after)

    def _judge(self, _signal: TrustSignal, body: TruthstateEmitted) -> tuple[StandingChange, ...]:
        """A key's first final state applies what it says; a later one, in time, puts what it says in its place."""
        earlier = self._judged.get(body.truthkey, _UNJUDGED)
        if not judges(body) or body.truthkey in self._settled or body.state_hash in earlier.state_hashes:
            return ()
        wanted = self._wanted(body)
        old = {share.agent_id: share for share in earlier.shares}
        shares: list[Applied] = []
        changes: list[StandingChange] = []
        for agent_id in sorted(wanted.keys() | old.keys()):
            share = old.get(agent_id)
            if share is None or share.wanted != wanted.get(agent_id, 0):
                share, told = self._revise(agent_id, share, wanted.get(agent_id, 0))
                changes.extend(told)
            if share.wanted:
                shares.append(share)
        self._keep(body, earlier, tuple(shares), self._teach(body, earlier))
        return tuple(changes)

    def _teach(self, body: TruthstateEmitted, earlier: Judgement) -> tuple[Taught, ...]:
        """What an earlier state of the key taught is taken back; then the new one teaches as if it were the first."""
        policy = self.policy.competence
        if policy is None:
            return ()
        for old in earlier.taught:
            known = self._learning.get(old.agent_id, {})
            if body.claim_type in known:
                known[body.claim_type] = forgotten(known[body.claim_type], old.lessons, old.factor)
        wanted = policy.by_people if body.by_people else policy.by_reporters
        given = []
        for outcome in body.outcomes:
            if not outcome.lessons or outcome.agent_id not in self._agents:
                continue
            own = self._learning.setdefault(outcome.agent_id, {})
            known_now = own.get(body.claim_type, _UNTAUGHT)
            own[body.claim_type], factor = taught(
                known_now,
                outcome.lessons,
                truthkey=body.truthkey,
                wanted=wanted,
                day=self._moment.day,
                policy=policy,
            )
            given.append(Taught(outcome.agent_id, factor, outcome.lessons))
        return tuple(given)

    def _wanted(self, body: TruthstateEmitted) -> dict[str, int]:
        """For agents that are known; nobody else has a standing to change."""
        wanted = wanted_changes(
            body,
            self.policy.self_dealing,
            updates_of=lambda agent_id: self.parameters_of(body.claim_type, agent_id).updates,
            maker_of=self._maker_of,
        )
        return {agent_id: change for agent_id, change in wanted.items() if agent_id in self._agents}

    def _maker_of(self, probe_id: str) -> str | None:
        probe = self._probes.get(probe_id)
        return None if probe is None else probe.created_by

    def _revise(self, agent_id: str, share: Applied | None, wanted: int) -> tuple[Applied, tuple[StandingChange, ...]]:
        """Exactly what was applied is taken back, then the new change is made as if it were the first."""
        moment, pace, now = self._moment, self._pace(agent_id), self._agents[agent_id]
        if share is not None:
            now = taken_back(now, share.applied, day=share.day, window=share.window, moment=moment, pace=pace)
        now, applied = moved(now, wanted, moment, pace)
        return Applied(agent_id, wanted, applied, now.day, now.window), self._set(agent_id, now)

    def _set(self, agent_id: str, after: AgentStanding) -> tuple[StandingChange, ...]:
        before = rested(self._agents[agent_id], self._moment.day, self._pace(agent_id))
        self._agents[agent_id] = after
        return () if before == after.standing else (StandingChange(agent_id, before, after.standing),)

    def _keep(
        self, body: TruthstateEmitted, earlier: Judgement, shares: tuple[Applied, ...], lessons: tuple[Taught, ...]
    ) -> None:
        if earlier is _UNJUDGED:
            self._open.append(body.truthkey)
        judged_at = self.clock if earlier is _UNJUDGED else earlier.judged_at
        hashes = (*earlier.state_hashes, body.state_hash)
        self._judged[body.truthkey] = Judgement(judged_at, hashes, shares, lessons)


def _copied(nested: Mapping[str, Mapping[str, _Item]]) -> dict[str, dict[str, _Item]]:
    return {name: dict(items) for name, items in nested.items()}
