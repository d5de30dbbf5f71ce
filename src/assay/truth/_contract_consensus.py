"""How people decide under a contract: votes, implicit consensus, lanes, disputes."""

from collections.abc import Callable, Collection, Iterator, Mapping
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated

from msgspec import Struct

from assay.truth._contract_subject import Standing, VoteType
from assay.truth._read import Bound, Complaint, Size
from assay.truth.forms import Count, Duration, Positive, Share
from assay.truth.problem import ProblemCode

__all__ = [
    "AuthorityEscalation",
    "ConsensusModel",
    "ConsensusType",
    "CriticalLane",
    "DisputeResolution",
    "FlowMode",
    "ImplicitConsensus",
    "MonitorLane",
    "StateVerificationPolicy",
    "TimeoutAction",
    "ValidationFlow",
]

_AtLeastOne = Annotated[int, Bound(Decimal(1), Decimal(10_000))]
_Score = Annotated[Decimal, Bound(Decimal(-1_000_000), Decimal(1_000_000))]
_VoteValue = Annotated[Decimal, Bound(Decimal(-10), Decimal(10))]


# A vote that is worth the opposite of its name would deceive whoever casts it.
_SIGNS: Mapping[VoteType, tuple[str, Callable[[Decimal], bool]]] = MappingProxyType(
    {
        VoteType.RATIFY: ("above 0", lambda value: value > 0),
        VoteType.REJECT: ("below 0", lambda value: value < 0),
        VoteType.CHALLENGE: ("not above 0", lambda value: value <= 0),
        VoteType.OVERRIDE: ("above 0", lambda value: value > 0),
        VoteType.ABSTAIN: ("0", lambda value: value == 0),
    }
)


class FlowMode(StrEnum):
    """Who validates first."""

    AUTO = "auto"
    HUMAN_PEER = "human_peer"
    HUMAN_EXPERT = "human_expert"
    AUTHORITY_GATE = "authority_gate"


class ConsensusType(StrEnum):
    WEIGHTED_THRESHOLD = "weighted_threshold"


class TimeoutAction(StrEnum):
    """What becomes of a dispute that nobody settled in time."""

    INCONCLUSIVE = "inconclusive"
    EXPIRE = "expire"
    REJECT = "reject"
    ESCALATE = "escalate"
    STAY_OPEN = "stay_open"


class ValidationFlow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`window` is how long votes are taken once a window opens, `max_extensions` how often that may be prolonged."""

    mode: FlowMode
    window: Duration
    max_extensions: Count


class ConsensusModel(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """score = sum of weight(standing) x value(vote) (Kaori 13).

    At `finalize_threshold` and above the claim is true, at `reject_threshold` and below it is false. An OVERRIDE counts
    only from `override_allowed_roles`, and then decides alone. Whoever reported does not vote on it, unless
    `reporters_may_vote`.
    """

    type: ConsensusType
    finalize_threshold: _Score
    reject_threshold: _Score
    weighted_roles: dict[Standing, Positive]
    override_allowed_roles: tuple[Standing, ...]
    vote_types: dict[VoteType, _VoteValue]
    reporters_may_vote: bool = False

    def complaints(self) -> Iterator[Complaint]:
        if not self.reject_threshold < 0 < self.finalize_threshold:
            message = (
                f"expected reject below 0 and finalize above, got {self.reject_threshold}, {self.finalize_threshold}"
            )
            yield Complaint("finalize_threshold", ProblemCode.ORDER, message)
        yield from _incomplete("weighted_roles", Standing, self.weighted_roles)
        yield from _incomplete("vote_types", VoteType, self.vote_types)
        for vote_type, (expected, holds) in _SIGNS.items():
            value = self.vote_types.get(vote_type)
            if value is not None and not holds(value):
                message = f"expected {vote_type} {expected}, got {value}"
                yield Complaint(f"vote_types.{vote_type}", ProblemCode.ORDER, message)
        if not any(self.weighted_roles.values()):
            yield Complaint("weighted_roles", ProblemCode.RANGE, "expected a weight above 0 for some role, got none")


class ImplicitConsensus(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Enough agreeing observations from trusted agents verify without votes; authorities present may set it aside."""

    enabled: bool
    min_observations: _AtLeastOne
    min_network_trust: Positive
    min_ai_confidence: Share
    max_ai_variance: Share
    override_if_authority_present: bool
    override_min_authority_count: _AtLeastOne


class AuthorityEscalation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who is asked when the lane has not decided after a while, and how many must answer."""

    roles: Annotated[tuple[Standing, ...], Size(1)]
    after: Duration
    min_votes: _AtLeastOne


class MonitorLane(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Optimistic (Kaori 15.1): machines may verify alone if the composite confidence reaches this."""

    allow_ai_verification: bool
    min_confidence: Share


class CriticalLane(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Strict (Kaori 15.2): people decide, and somebody is named for when they do not."""

    require_human_consensus: bool
    min_human_votes: _AtLeastOne
    min_confidence: Share
    authority_escalation: AuthorityEscalation | None = None


class StateVerificationPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The two lanes; a contract defines at least the one its risk profile takes."""

    monitor_lane: MonitorLane | None = None
    critical_lane: CriticalLane | None = None


class DisputeResolution(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A challenged claim needs `quorum` votes within `timeout`, else the default action is taken."""

    quorum: _AtLeastOne
    timeout: Duration
    default_action_on_timeout: TimeoutAction


def _incomplete(field: str, names: type[StrEnum], given: Collection[str]) -> Iterator[Complaint]:
    missing = [name for name in names if name not in given]
    if missing:
        # A weight nobody wrote would be one that nobody decided.
        message = f"expected a number for each of {', '.join(names)}, got none for {', '.join(missing)}"
        yield Complaint(field, ProblemCode.REQUIRED, message)
