"""What each kind of signal says; one frozen struct for each shape."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated

from msgspec import Struct

from assay.kernel.ids import KeyId, TicketId, parse_key_id, parse_ticket_id
from assay.kernel.instant import Instant
from assay.truth._read import Bound, Complaint, Parsed, Size
from assay.truth.contract import VoteType
from assay.truth.forms import AgentId, ClaimTypeId, HexHash, Name, RecordId, Segment, Share, TruthKeyText
from assay.truth.learn import Lesson
from assay.truth.problem import ProblemCode
from assay.truth.status import TruthStatus


class SignalKind(StrEnum):
    """Closed. Standing is changed by TRUTHSTATE_EMITTED and PENALTY_APPLIED, and by nothing else."""

    AGENT_REGISTERED = "AGENT_REGISTERED"
    ROLE_GRANTED = "ROLE_GRANTED"
    MISSION_CREATED = "MISSION_CREATED"
    PROBE_CREATED = "PROBE_CREATED"
    OBSERVER_ASSIGNED = "OBSERVER_ASSIGNED"
    OBSERVATION_SUBMITTED = "OBSERVATION_SUBMITTED"
    VALIDATION_VOTE = "VALIDATION_VOTE"
    TRUTHSTATE_EMITTED = "TRUTHSTATE_EMITTED"
    ENDORSEMENT = "ENDORSEMENT"
    DISPUTE_RAISED = "DISPUTE_RAISED"
    PENALTY_APPLIED = "PENALTY_APPLIED"
    POLICY_REGISTERED = "POLICY_REGISTERED"
    WINDOW_OPENED = "WINDOW_OPENED"
    WINDOW_CLOSED = "WINDOW_CLOSED"
    WINDOW_EXTENDED = "WINDOW_EXTENDED"
    WINDOW_ABORTED = "WINDOW_ABORTED"


class OutcomeRole(StrEnum):
    """What an agent did about the claim."""

    REPORTER = "reporter"
    VOTER = "voter"


class AgentRegistered(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From here on the agent is known, and stands where its policy lets newcomers start."""

    agent_id: AgentId


class RoleGranted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The latest grant of a role is the one that holds; with an instant in `expires_at` it ends there."""

    agent_id: AgentId
    role: Name
    expires_at: Instant | None = None


class MissionCreated(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    mission_id: RecordId


class ProbeCreated(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`theta_min` may ask for more trust than policy and claim type do, never for less."""

    probe_id: RecordId
    created_by: AgentId
    theta_min: Share | None = None
    mission_id: RecordId | None = None


class ObserverAssigned(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    probe_id: RecordId
    agent_id: AgentId


class ObservationSubmitted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    observation_id: RecordId
    observation_hash: HexHash
    truthkey: TruthKeyText
    probe_id: RecordId | None = None


class ValidationVote(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    vote_hash: HexHash
    truthkey: TruthKeyText
    vote_type: VoteType


class Outcome(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether an agent was right about the claim; None where the state does not say so.

    `probe_id` is the probe that the agent's observation was made for. `lessons` are what the state teaches about the
    agent's competence; they are left out of the signal's bytes where there are none.
    """

    agent_id: AgentId
    role: OutcomeRole
    correct: bool | None
    quality: Share
    probe_id: RecordId | None = None
    lessons: tuple[Lesson, ...] = ()


class TruthstateEmitted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A state that was sealed, by its hash; `signed_by` is the key whose signature the submitter verified.

    A state that is not final, or not signed, is logged and changes nothing. `by_people` says that people settled the
    state; it is given exactly where there are lessons.
    """

    truthkey: TruthKeyText
    claim_type: ClaimTypeId
    state_hash: HexHash
    status: TruthStatus
    outcomes: tuple[Outcome, ...]
    signed_by: Annotated[KeyId, Parsed(parse_key_id)] | None = None
    by_people: bool | None = None

    def complaints(self) -> Iterator[Complaint]:
        if len({(outcome.agent_id, outcome.role) for outcome in self.outcomes}) < len(self.outcomes):
            message = "expected each agent once in each role, got one twice"
            yield Complaint("outcomes", ProblemCode.DUPLICATE, message)


class Endorsement(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The signal's agent vouches for another; a later one of the same pair replaces it, and 0 takes it back."""

    endorsed: AgentId
    weight: Share


class DisputeRaised(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    truthkey: TruthKeyText
    state_hash: HexHash
    reason: str = ""


class PenaltyApplied(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What people decided on a ticket of the review desk; `answer_hashes` are the hashes of their signed answers."""

    agent_id: AgentId
    points: Annotated[Decimal, Bound(Decimal("0.000001"), Decimal(1000))]
    ticket_id: Annotated[TicketId, Parsed(parse_ticket_id)]
    answer_hashes: Annotated[tuple[HexHash, ...], Size(1)]
    reason: str = ""


class PolicyRegistered(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    policy_id: Segment
    policy_hash: HexHash


class WindowUntil(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A validation window was opened or extended."""

    truthkey: TruthKeyText
    closes_at: Instant


class WindowEnded(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A validation window was closed or aborted."""

    truthkey: TruthKeyText
    reason: str = ""


SignalBody = (
    AgentRegistered
    | RoleGranted
    | MissionCreated
    | ProbeCreated
    | ObserverAssigned
    | ObservationSubmitted
    | ValidationVote
    | TruthstateEmitted
    | Endorsement
    | DisputeRaised
    | PenaltyApplied
    | PolicyRegistered
    | WindowUntil
    | WindowEnded
)

BODIES: Mapping[SignalKind, type[SignalBody]] = MappingProxyType(
    {
        SignalKind.AGENT_REGISTERED: AgentRegistered,
        SignalKind.ROLE_GRANTED: RoleGranted,
        SignalKind.MISSION_CREATED: MissionCreated,
        SignalKind.PROBE_CREATED: ProbeCreated,
        SignalKind.OBSERVER_ASSIGNED: ObserverAssigned,
        SignalKind.OBSERVATION_SUBMITTED: ObservationSubmitted,
        SignalKind.VALIDATION_VOTE: ValidationVote,
        SignalKind.TRUTHSTATE_EMITTED: TruthstateEmitted,
        SignalKind.ENDORSEMENT: Endorsement,
        SignalKind.DISPUTE_RAISED: DisputeRaised,
        SignalKind.PENALTY_APPLIED: PenaltyApplied,
        SignalKind.POLICY_REGISTERED: PolicyRegistered,
        SignalKind.WINDOW_OPENED: WindowUntil,
        SignalKind.WINDOW_EXTENDED: WindowUntil,
        SignalKind.WINDOW_CLOSED: WindowEnded,
        SignalKind.WINDOW_ABORTED: WindowEnded,
    }
)
