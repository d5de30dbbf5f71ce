"""What comes out under a contract: how the claim is derived, how sure it is, when it is contradicted, how it ages."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from enum import StrEnum
from itertools import pairwise
from types import MappingProxyType
from typing import Annotated

from msgspec import Struct

from assay.truth._read import Bound, Complaint, Size
from assay.truth.forms import Duration, Name, PayloadPath, Positive, Share, Signed
from assay.truth.problem import ProblemCode


class ConfidenceSource(StrEnum):
    """What a component measures; each is a number that the compiler has anyway."""

    AI_CONFIDENCE = "ai_confidence"
    CONSENSUS_SCORE = "consensus_score"
    NETWORK_TRUST = "network_trust"
    OBSERVATION_COUNT = "observation_count"
    EVIDENCE_COUNT = "evidence_count"
    AGREEMENT = "agreement"
    FRESHNESS = "freshness"
    AUTHORITY_COUNT = "authority_count"
    POSTERIOR = "posterior"


class NormalisationMethod(StrEnum):
    """Into 0..1: as it is and clamped; a straight line from low to high; x / (x + half); 1 from `high` on, else 0."""

    CLAMP = "clamp"
    LINEAR = "linear"
    SATURATING = "saturating"
    STEP = "step"


class Normalisation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Exactly the parameters of the method, none that it would ignore."""

    method: NormalisationMethod
    low: Annotated[Decimal, Bound(Decimal(-1_000_000), Decimal(1_000_000))] | None = None
    high: Annotated[Decimal, Bound(Decimal(-1_000_000), Decimal(1_000_000))] | None = None
    half: Positive | None = None

    def complaints(self) -> Iterator[Complaint]:
        given = {name for name in ("low", "high", "half") if getattr(self, name) is not None}
        needed = _PARAMETERS[self.method]
        if given != needed:
            shown = ", ".join(sorted(needed)) or "no parameters"
            message = f"expected {shown} with `{self.method}`, got {', '.join(sorted(given)) or 'none'}"
            yield Complaint("method", ProblemCode.AGREEMENT, message)
        if self.low is not None and self.high is not None and self.low >= self.high:
            yield Complaint("high", ProblemCode.ORDER, f"expected more than {self.low}, got {self.high}")
        if self.half == 0:
            yield Complaint("half", ProblemCode.RANGE, "expected more than 0, got 0")


_PARAMETERS = {
    NormalisationMethod.CLAMP: set[str](),
    NormalisationMethod.LINEAR: {"low", "high"},
    NormalisationMethod.SATURATING: {"half"},
    NormalisationMethod.STEP: {"high"},
}


class ConfidenceComponent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    weight: Share
    source: ConfidenceSource
    normalize: Normalisation


class ModifierCondition(StrEnum):
    """When a modifier is added."""

    AUTHORITY_PRESENT = "authority_present"
    CONTRADICTION = "contradiction"
    DUPLICATE_EVIDENCE = "duplicate_evidence"
    HUMAN_VOTED = "human_voted"
    NO_EVIDENCE = "no_evidence"
    SINGLE_REPORTER = "single_reporter"


class ConfidenceModifier(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    when: ModifierCondition
    add: Signed


class ConfidenceThresholds(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A claim is verified only from `verify` on; below `review` people are asked; between them it leans."""

    verify: Share
    review: Share

    def complaints(self) -> Iterator[Complaint]:
        if self.review > self.verify:
            yield Complaint("review", ProblemCode.ORDER, f"expected at most verify {self.verify}, got {self.review}")


class CalibrationKnot(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A confidence of `at` turned out to mean `value`; between two knots the line is straight."""

    at: Share
    value: Share


class ConfidenceModel(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """confidence = clamp(sum of weight x value + sum of modifiers, 0, 1) (Kaori 14), then by the knots, if any.

    The knots are what `calibrate` fitted to known cases; they rise, so that no order of confidences changes.
    """

    components: Annotated[dict[Name, ConfidenceComponent], Size(1)]
    modifiers: dict[Name, ConfidenceModifier]
    thresholds: ConfidenceThresholds
    calibration: tuple[CalibrationKnot, ...] = ()

    def complaints(self) -> Iterator[Complaint]:
        pairs = [(knot.at, knot.value) for knot in self.calibration]
        rising = all(one[0] < other[0] and one[1] <= other[1] for one, other in pairwise(pairs))
        if not rising:
            yield Complaint("calibration", ProblemCode.ORDER, "expected knots that rise, each `at` once, got others")


class TemporalDecay(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Confidence halves every `half_life` after the bucket's end; past `max_validity` the state has EXPIRED."""

    half_life: Duration
    max_validity: Duration


class ContradictionComparison(StrEnum):
    """`distinct`: more than one value is reported. `spread`: highest and lowest differ by more than the tolerance."""

    DISTINCT = "distinct"
    SPREAD = "spread"


class CreditReason(StrEnum):
    """The names in `credits` that are paid; another name promises nothing."""

    OBSERVATION = "observation"
    VERIFIED_OBSERVATION = "verified_observation"
    VOTE = "vote"
    VERIFIED_VOTE = "verified_vote"


class ContradictionAction(StrEnum):
    FLAG = "flag"
    UNDECIDED = "undecided"
    HUMAN_REVIEW = "human_review"


class ContradictionRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Observations contradict each other at `path` if those in the minority hold at least `min_share` of the weight."""

    id: Name
    path: PayloadPath
    compare: ContradictionComparison
    min_share: Share
    action: ContradictionAction
    tolerance: Positive | None = None

    def complaints(self) -> Iterator[Complaint]:
        if (self.tolerance is None) is (self.compare is ContradictionComparison.SPREAD):
            message = f"expected a tolerance with `spread` and with nothing else, got `{self.tolerance}`"
            yield Complaint("tolerance", ProblemCode.AGREEMENT, message)


class DerivationStrategy(StrEnum):
    """How one field of the claim follows from what was observed; weights are those of the snapshot."""

    WEIGHTED_MODE = "weighted_mode"
    WEIGHTED_MEAN = "weighted_mean"
    MEDIAN = "median"
    WEIGHTED_MEDIAN = "weighted_median"
    TRIMMED_MEAN = "trimmed_mean"
    HUBER = "huber"
    INTERVAL = "interval"
    LATEST = "latest"
    FIRST = "first"
    ALL_OF = "all_of"
    ANY_OF = "any_of"
    BOOLEAN_MAJORITY = "boolean_majority"
    MIN = "min"
    MAX = "max"
    COUNT = "count"


class Derivation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`path` leads into the payloads; observations without it do not speak about this field.

    `places` rounds a mean or a median, half away from zero. `prefer` breaks a tie of modes: the earliest named wins,
    then the smallest canonical text. `equals` makes COUNT count only that value. `default` stands when nobody spoke.
    `tolerance` is the distance from the centre at which a report of a number is as much against it as for it; `trim` is
    the share of the weight that TRIMMED_MEAN leaves out at each end, `level` the confidence level of an INTERVAL.
    """

    strategy: DerivationStrategy
    path: PayloadPath
    places: Annotated[int, Bound(Decimal(0), Decimal(6))] | None = None
    prefer: tuple[object, ...] = ()
    equals: object = None
    default: object = None
    tolerance: Annotated[Decimal, Bound(Decimal("0.000001"), Decimal(1_000_000))] | None = None
    trim: Annotated[Decimal, Bound(Decimal(0), Decimal("0.49"))] | None = None
    level: Share | None = None

    def complaints(self) -> Iterator[Complaint]:
        used = {
            "places": self.places is not None,
            "prefer": bool(self.prefer),
            "equals": self.equals is not None,
            "tolerance": self.tolerance is not None,
            "trim": self.trim is not None,
            "level": self.level is not None,
        }
        for name, is_given in used.items():
            if is_given and self.strategy not in _OPTIONS[name]:
                message = f"expected it with {', '.join(_OPTIONS[name])} only, got `{self.strategy}`"
                yield Complaint(name, ProblemCode.DERIVATION, message)
        for name in ("places", "trim", "level"):
            if self.strategy in _OPTIONS[name] and not used[name]:
                yield Complaint(name, ProblemCode.REQUIRED, f"expected `{name}` with `{self.strategy}`, got nothing")
        if self.strategy in (DerivationStrategy.HUBER, DerivationStrategy.INTERVAL) and self.tolerance is None:
            message = f"expected `tolerance` with `{self.strategy}`, got nothing"
            yield Complaint("tolerance", ProblemCode.REQUIRED, message)
        if self.level is not None and self.level not in LEVELS:
            message = f"expected one of {', '.join(map(str, LEVELS))}, got {self.level}"
            yield Complaint("level", ProblemCode.CHOICE, message)


# Centres that a few far-off reports cannot move.
ROBUST = (DerivationStrategy.WEIGHTED_MEDIAN, DerivationStrategy.TRIMMED_MEAN, DerivationStrategy.HUBER)
# Every strategy whose value is one number that all reports are near to.
CENTRES = (DerivationStrategy.WEIGHTED_MEAN, DerivationStrategy.MEDIAN, *ROBUST)
# Levels of an interval, each with the normal quantile of its half width.
LEVELS: Mapping[Decimal, Decimal] = MappingProxyType(
    {
        Decimal("0.8"): Decimal("1.281552"),
        Decimal("0.9"): Decimal("1.644854"),
        Decimal("0.95"): Decimal("1.959964"),
        Decimal("0.99"): Decimal("2.575829"),
    }
)
_OPTIONS = {
    "places": (*CENTRES, DerivationStrategy.INTERVAL),
    "prefer": (DerivationStrategy.WEIGHTED_MODE,),
    "equals": (DerivationStrategy.COUNT,),
    "tolerance": (*CENTRES, DerivationStrategy.INTERVAL),
    "trim": (DerivationStrategy.TRIMMED_MEAN,),
    "level": (DerivationStrategy.INTERVAL,),
}
