"""A trust policy: every number by which signals become standing, and standing becomes effective trust.

YAML text -> `parse_policy` -> TrustPolicy -> `policy_hash`
No number has a default here: what decides is written in the policy, and so in its hash.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated

from msgspec import Struct
from msgspec.structs import replace

from assay.truth._read import Bound, Complaint
from assay.truth.contract import Standing
from assay.truth.forms import AgentId, Duration, HexHash, Name, Segment, Share, VersionText
from assay.truth.problem import ProblemCode

HIGHEST_STANDING = Decimal(1000)

_Points = Annotated[Decimal, Bound(Decimal(0), HIGHEST_STANDING)]
_Step = Annotated[Decimal, Bound(Decimal("0.000001"), HIGHEST_STANDING)]


class Sigmoid(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """max / (1 + exp(-k (S - midpoint)))."""

    k: Annotated[Decimal, Bound(Decimal("0.000001"), Decimal(1))]
    midpoint: _Points
    max: Annotated[Decimal, Bound(Decimal(1), Decimal(1_000_000))]


class Network(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Each day an endorsement loses `decay_per_day` of what is left of it; endorsers of low standing do not count."""

    bonus_per_weight: Share
    cap: Share
    decay_per_day: Share
    endorser_min_standing: _Points


class ProbeTrust(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An assigned observer gains `bonus`; whoever made the probe keeps only a share of their trust in it."""

    bonus: Share
    self_created_factor: Share


class LowPhase(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """With a standing below this, trust counts by a factor."""

    below: _Points
    factor: Share


class HighPhase(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of a standing above this, only a share of the excess counts."""

    above: _Points
    excess: Share


class Phases(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    low: LowPhase
    high: HighPhase

    def complaints(self) -> Iterator[Complaint]:
        if self.low.below > self.high.above:
            message = f"expected low to end where high begins or before, got {self.low.below} and {self.high.above}"
            yield Complaint("low", ProblemCode.ORDER, message)


class Updates(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Right: + correct x ln(1 + quality). Wrong: - incorrect x ln(1 + quality)."""

    correct: _Points
    incorrect: _Points


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far outcomes may move a standing, up and down apart, in one window and in one day (UTC)."""

    window: Duration
    per_window: _Step
    per_day: _Step


class Decay(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a standing has above the floor halves in each half-life; below the floor nothing is given back."""

    half_life: Duration
    floor: _Points


class SelfDealing(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which share of a gain is kept where an agent deals with itself; 0 keeps nothing. Losses always count."""

    self_endorsement: Share
    self_assignment: Share
    own_probe: Share
    own_observation: Share


class CompetencePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How final states teach about reporters; a policy without this block learns nothing of the kind.

    A state that people settled counts as `by_people` reports, one that follows from the reports themselves as
    `by_reporters`. One agent is taught at most `per_day` reports of a claim type in a day, and of each field `memory`
    reports are remembered. Two agents whose last `recent` reports share `shared_errors` equal errors, at no less than
    `shared_share` of the keys that both reported at, count as one group. Of an endorsement by somebody who is endorsed
    in return, or who reports at the same keys, the share `mutual_endorsement` is kept.
    """

    by_people: Annotated[Decimal, Bound(Decimal(0), Decimal(100))]
    by_reporters: Annotated[Decimal, Bound(Decimal(0), Decimal(100))]
    per_day: Annotated[Decimal, Bound(Decimal("0.1"), Decimal(100_000))]
    memory: Annotated[Decimal, Bound(Decimal(1), Decimal(100_000))]
    recent: Annotated[int, Bound(Decimal(2), Decimal(64))]
    shared_errors: Annotated[int, Bound(Decimal(2), Decimal(64))]
    shared_share: Share
    mutual_endorsement: Share

    def complaints(self) -> Iterator[Complaint]:
        if self.by_people < self.by_reporters:
            message = f"expected at least by_reporters {self.by_reporters}, got {self.by_people}"
            yield Complaint("by_people", ProblemCode.ORDER, message)


class Parameters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a profile may set otherwise for some agents or claim types."""

    initial_standing: _Points
    sigmoid: Sigmoid
    network: Network
    probe: ProbeTrust
    phases: Phases
    updates: Updates
    limits: Limits
    decay: Decay
    theta_min: Share


class Overrides(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whole blocks; one that is left out stays as the policy has it."""

    initial_standing: _Points | None = None
    sigmoid: Sigmoid | None = None
    network: Network | None = None
    probe: ProbeTrust | None = None
    phases: Phases | None = None
    updates: Updates | None = None
    limits: Limits | None = None
    decay: Decay | None = None
    theta_min: Share | None = None


class Profile(Overrides, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For agents `agent_prefix:...`, for claim types that are `claim_type` or begin with it and a dot, or for both."""

    claim_type: Segment | None = None
    agent_prefix: Segment | None = None

    def complaints(self) -> Iterator[Complaint]:
        if self.claim_type is None and self.agent_prefix is None:
            message = "expected `claim_type`, `agent_prefix` or both, got neither"
            yield Complaint("claim_type", ProblemCode.REQUIRED, message)
        if self.claim_type is not None:
            # An agent has one standing: how it starts, decays and is limited cannot depend on what it reports about.
            for name in ("initial_standing", "limits", "decay"):
                if getattr(self, name) is not None:
                    message = "expected only in a profile without `claim_type`, since an agent has one standing"
                    yield Complaint(name, ProblemCode.AGREEMENT, message)

    def applies_to(self, claim_type: str | None, agent_id: str) -> bool:
        if self.claim_type is not None and not f"{claim_type}.".startswith(f"{self.claim_type}."):
            return False
        return self.agent_prefix is None or agent_id.startswith(f"{self.agent_prefix}:")

    @property
    def specificity(self) -> int:
        """A profile for agents goes over one for claim types, one for both over either."""
        return (self.claim_type is not None) + 2 * (self.agent_prefix is not None)


class PolicyFields(Parameters, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A policy as its YAML names it, with what it inherits filled in."""

    id: Segment
    version: VersionText
    standings: dict[Standing, _Points]
    roles: dict[Name, Standing]
    self_dealing: SelfDealing
    revision_window: Duration
    profiles: dict[Name, Profile] = {}
    competence: CompetencePolicy | None = None


class TrustPolicy(PolicyFields, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A policy that was read whole and found sound.

    `document` is the canonical JSON (`kaori-2.1`) of the policy with everything it inherits; reading it again gives
    the same policy, and needs no other.
    """

    document: str
    policy_hash: HexHash

    def parameters_for(self, claim_type: str | None, agent_id: AgentId) -> Parameters:
        """The policy's own, with every profile that applies put over them: the more specific later, then by name."""
        matching = [(p.specificity, name) for name, p in self.profiles.items() if p.applies_to(claim_type, agent_id)]
        merged = Parameters(**{name: getattr(self, name) for name in Parameters.__struct_fields__})
        theta_min = self.theta_min
        for _, name in sorted(matching):
            profile = self.profiles[name]
            merged = replace(merged, **_written(profile))
            theta_min = max(theta_min, merged.theta_min)
        return replace(merged, theta_min=theta_min)  # it may only rise

    def class_of(self, standing: Decimal) -> Standing:
        return max((bound, cls) for cls, bound in self.standings.items() if bound <= standing)[1]


def _written(profile: Profile) -> dict[str, object]:
    blocks = {name: getattr(profile, name) for name in Overrides.__struct_fields__}
    return {name: block for name, block in blocks.items() if block is not None}
