"""How people decide under a contract: votes, implicit consensus, lanes, disputes."""

from collections.abc import Callable, Collection, Iterator, Mapping
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated

from msgspec import Struct

from assay.truth._contract_subject import Standing, VoteType
from assay.truth._read import Bound, Complaint, Size
from assay.truth.forms import Count, Duration, PayloadPath, Positive, Share
from assay.truth.problem import ProblemCode

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
    """`posterior`: the reports are weighed by the reporters' competence; people's votes count the same in both."""

    WEIGHTED_THRESHOLD = "weighted_threshold"
    POSTERIOR = "posterior"


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


class PosteriorDependence(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The share of its weight that each further report keeps where several reporters of one value are not independent.

    `evidence`: they show the same or nearly the same evidence. `kin`: the snapshot names them as one group. `moment`:
    they report in the same minute from the same spot.
    """

    evidence: Share
    kin: Share
    moment: Share


class PosteriorRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How competence becomes a probability.

    An agent without a record counts as one that was right in `prior_correct` of `prior_reports` reports. Its record as
    a whole stands in for `value_reports` reports about each single value. `cap` is the highest accuracy that any agent
    is given. `priors` are the shares of values before anybody reports, by field; without them all are equally likely.
    """

    prior_reports: Annotated[Decimal, Bound(Decimal("0.1"), Decimal(1000))]
    prior_correct: Annotated[Decimal, Bound(Decimal("0.01"), Decimal("0.99"))]
    value_reports: Annotated[Decimal, Bound(Decimal("0.1"), Decimal(1000))]
    cap: Annotated[Decimal, Bound(Decimal("0.5"), Decimal("0.999"))]
    dependence: PosteriorDependence
    priors: dict[PayloadPath, dict[str, Share]] = {}

    def complaints(self) -> Iterator[Complaint]:
        for field, shares in self.priors.items():
            total = sum(shares.values(), Decimal(0))
            if total > 1:
                yield Complaint(f"priors.{field}", ProblemCode.RANGE, f"expected at most 1 together, got {total}")


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
    posterior: PosteriorRule | None = None

    def complaints(self) -> Iterator[Complaint]:
        if not self.reject_threshold < 0 < self.finalize_threshold:
            message = (
                f"expected reject below 0 and finalize above, got {self.reject_threshold}, {self.finalize_threshold}"
            )
            yield Complaint("finalize_threshold", ProblemCode.ORDER, message)
        if (self.posterior is None) is (self.type is ConsensusType.POSTERIOR):
            message = "expected the block `posterior` with the type `posterior` and with no other"
            yield Complaint("posterior", ProblemCode.AGREEMENT, message)
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


class Comparison(StrEnum):
    """How a field of the claim is compared with a value."""

    ABOVE = "above"
    AT_LEAST = "at_least"
    BELOW = "below"
    AT_MOST = "at_most"
    EQUALS = "equals"
    DIFFERS = "differs"


_ORDERED = (Comparison.ABOVE, Comparison.AT_LEAST, Comparison.BELOW, Comparison.AT_MOST)


class CriticalCondition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A field that the claim does not have meets no condition; order is that of numbers alone."""

    field: PayloadPath
    op: Comparison
    value: object

    def complaints(self) -> Iterator[Complaint]:
        if self.op in _ORDERED and type(self.value) not in (int, float):
            yield Complaint("value", ProblemCode.TYPE, f"expected a number with `{self.op}`, got another value")


class CriticalCase(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of its conditions hold; one case is enough to make a claim critical."""

    all: Annotated[tuple[CriticalCondition, ...], Size(1)]


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
