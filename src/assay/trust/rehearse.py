"""A rehearsal: reports on many keys through the real compiler, and what final states teach through the real fold.

contract + policy + agents -> each key: snapshot -> compile -> outcomes and lessons -> fold -> the next key's snapshot
Nothing is signed or stored. The same reports give the same states, as they would on a node.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from typing import NamedTuple

from assay.kernel.ids import KeyId
from assay.kernel.instant import Instant
from assay.trust._signal_body import (
    AgentRegistered,
    Outcome,
    OutcomeRole,
    RoleGranted,
    SignalBody,
    SignalKind,
    TruthstateEmitted,
)
from assay.trust.evolve import Fold
from assay.trust.freeze import freeze_trust
from assay.trust.policy import TrustPolicy
from assay.trust.signal import TrustSignal
from assay.truth._moment import later, span_of
from assay.truth.address import address_observation
from assay.truth.bucket import bucket_datetime, parse_bucket_duration
from assay.truth.compile import compile_truth_state
from assay.truth.contract import Contract, DerivationStrategy, Standing
from assay.truth.evidence import EvidenceRef
from assay.truth.gather import Gathered, gather_observations
from assay.truth.key import SpatialSystem, TruthKey
from assay.truth.learn import is_by_people, lessons_of
from assay.truth.observation import Observation, ReporterContext, hash_observation
from assay.truth.opening import open_window
from assay.truth.place import Artefact, Location
from assay.truth.reading import value_text
from assay.truth.snapshot import TrustSnapshot
from assay.truth.state import TruthState, state_hash
from assay.truth.status import FINAL_STATUSES, TruthStatus

_START = datetime(2026, 1, 1, tzinfo=UTC)
_NODE = "service:rehearsal"
_KEY = KeyId("sha256:" + "0" * 64)
_COMPILER = "rehearsal"
_MINUTE = timedelta(minutes=1)
_ONE_ANSWER = (DerivationStrategy.WEIGHTED_MODE, DerivationStrategy.BOOLEAN_MAJORITY)


class Rehearsed(NamedTuple):
    """One key: what was given and what was compiled from it."""

    key: TruthKey
    said: Gathered
    compile_time: Instant
    state: TruthState


class Rehearsal:
    """A fold in progress and the states so far, for one thread."""

    def __init__(self, contract: Contract, policy: TrustPolicy, agents: Iterable[str]) -> None:
        self.contract, self.fold, self.states = contract, Fold(policy), list[Rehearsed]()
        bucket, window = parse_bucket_duration(contract.truthkey.time_bucket), span_of(contract.validation_flow.window)
        # A key is final before the next one begins, so that it can teach.
        self._bucket, self._step = bucket, bucket * (2 + window // bucket)
        self._start = bucket_datetime(_START, contract.truthkey.time_bucket)
        self.register(agents)

    def register(self, agents: Iterable[str]) -> None:
        for agent in agents:
            self.add(_NODE, SignalKind.AGENT_REGISTERED, AgentRegistered(agent_id=agent))

    @property
    def now(self) -> Instant:
        """When the next key begins."""
        return Instant(self._start + len(self.states) * self._step)

    def add(self, by: str, kind: SignalKind, body: SignalBody) -> None:
        signal_id = f"signal-{self.fold.signals}"
        self.fold.add(
            TrustSignal(
                signal_id=signal_id, kind=kind, agent_id=by, occurred_at=max(self.now, self.fold.clock), object=body
            )
        )

    def grant(self, agent: str, role: str) -> None:
        self.add(_NODE, SignalKind.ROLE_GRANTED, RoleGranted(agent_id=agent, role=role))

    def report(self, payloads: Mapping[str, dict[str, object]], evidence: Mapping[str, str] | None = None) -> Rehearsed:
        """Compile the next key from what each agent says, at the end of its window, and learn from the state.

        `evidence` names the piece that an agent shows, where it is not one of its own.
        """
        number, begin = len(self.states), self.now
        snapshot = self.freeze(payloads)
        observations = [
            self._observation(number, place, agent, payload, (evidence or {}).get(agent))
            for place, (agent, payload) in enumerate(payloads.items())
        ]
        hashed = [hash_observation(one, one.reported_at) for one in observations]
        said = gather_observations(self.contract, hashed)
        key = address_observation(self.contract, observations[0])
        end = later(Instant(begin + self._bucket), span_of(self.contract.validation_flow.window))
        state = self.compile(key, said, snapshot, end)
        done = Rehearsed(key, said, end, state)
        self.states.append(done)
        self._learn(done, observations, snapshot)
        return done

    def freeze(self, agents: Collection[str]) -> TrustSnapshot:
        at = max(self.now, self.fold.clock)
        return freeze_trust(self.fold, agents, claim_type=self.contract.id, at=at)

    def compile(self, key: TruthKey, said: Gathered, snapshot: TrustSnapshot, at: Instant) -> TruthState:
        """As at the end of a window that nobody voted in."""
        opened = open_window(
            self.contract, said.key, at=Instant(at - span_of(self.contract.validation_flow.window)), number=1
        )
        return compile_truth_state(
            self.contract,
            key,
            said,
            snapshot,
            window_events=[opened],
            policy_version=self.contract.policy_version,
            compiler_version=_COMPILER,
            compile_time=at,
        )

    def compile_again(self) -> list[TruthState]:
        """Every key once more, with what is known by now about everybody."""
        snapshot = self.freeze(self.fold.agent_ids())
        return [self.compile(one.key, one.said, snapshot, one.compile_time) for one in self.states]

    def _learn(self, done: Rehearsed, observations: Iterable[Observation], snapshot: TrustSnapshot) -> None:
        state = done.state
        if state.status not in FINAL_STATUSES:
            return
        lessons = lessons_of(self.contract, state, observations, snapshot)
        outcomes = tuple(
            Outcome(
                agent_id=one.reporter_id,
                role=OutcomeRole.REPORTER,
                correct=_is_right(self.contract, state, one),
                quality=state.confidence,
                lessons=lessons.get(one.reporter_id, ()),
            )
            for one in observations
            if one.observation_id in state.observation_ids
        )
        body = TruthstateEmitted(
            truthkey=state.truthkey,
            claim_type=state.claim_type,
            state_hash=state_hash(state),
            status=state.status,
            outcomes=outcomes,
            signed_by=_KEY,
            by_people=is_by_people(state) if lessons else None,
        )
        self.add(_NODE, SignalKind.TRUTHSTATE_EMITTED, body)

    def _observation(
        self, number: int, place: int, agent: str, payload: dict[str, object], evidence: str | None
    ) -> Observation:
        """Each from its own minute, with a piece of its own unless another is named."""
        minutes = self._bucket // _MINUTE
        content = sha256((evidence or f"{number} {agent}").encode()).hexdigest()
        is_meta = self.contract.truthkey.spatial_system is SpatialSystem.META
        policy = self.contract.evidence
        scheme = "gs" if policy.storage is None else policy.storage.uri_schemes[0]
        kind = policy.types[0]
        piece = EvidenceRef(
            uri=f"{scheme}://rehearsal/{content}",
            sha256=content,
            mime_type=kind if "/" in kind else f"{kind}/x-rehearsed",
        )
        name = sha256(f"key {number}".encode()).hexdigest()
        return Observation(
            observation_id=f"obs-{number}-{place}",
            claim_type=self.contract.id,
            reported_at=Instant(self.now + place % minutes * _MINUTE),
            reporter_id=agent,
            reporter_context=ReporterContext(standing=Standing.BRONZE, trust_score=Decimal(0), source_type="rehearsed"),
            geo=None if is_meta else Location(lat=4.175, lon=73.509),
            payload=payload,
            evidence_refs=(piece,) if policy.max_count else (),
            artifact=Artefact(content_hash=name, provided_id=f"key-{number}") if is_meta else None,
        )


def _is_right(contract: Contract, state: TruthState, observation: Observation) -> bool | None:
    """Whether a report says what a verified claim says, at every mode and majority; None where nothing is verified."""
    if state.status is not TruthStatus.VERIFIED_TRUE:
        return None
    answers = [
        value_text(observation.payload[rule.path]) == value_text(state.claim[name])
        for name, rule in contract.claim_derivation.items()
        if rule.strategy in _ONE_ANSWER and name in state.claim and rule.path in observation.payload
    ]
    return all(answers) if answers else None
