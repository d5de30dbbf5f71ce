"""What comes out under a contract: how the claim is derived, how sure it is, when it is contradicted, how it ages."""

from collections.abc import Iterator
from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from assay.truth._read import Bound, Complaint, Size
from assay.truth.forms import Duration, Name, PayloadPath, Positive, Share, Signed
from assay.truth.problem import ProblemCode

__all__ = [
    "ConfidenceComponent",
    "ConfidenceModel",
    "ConfidenceModifier",
    "ConfidenceSource",
    "ConfidenceThresholds",
    "ContradictionAction",
    "ContradictionComparison",
    "ContradictionRule",
    "CreditReason",
    "Derivation",
    "DerivationStrategy",
    "ModifierCondition",
    "Normalisation",
    "NormalisationMethod",
    "TemporalDecay",
]


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


class ConfidenceModel(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """confidence = clamp(sum of weight x value + sum of modifiers, 0, 1) (Kaori 14)."""

    components: Annotated[dict[Name, ConfidenceComponent], Size(1)]
    modifiers: dict[Name, ConfidenceModifier]
    thresholds: ConfidenceThresholds


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
    """

    strategy: DerivationStrategy
    path: PayloadPath
    places: Annotated[int, Bound(Decimal(0), Decimal(6))] | None = None
    prefer: tuple[object, ...] = ()
    equals: object = None
    default: object = None

    def complaints(self) -> Iterator[Complaint]:
        used = {
            "places": self.places is not None,
            "prefer": bool(self.prefer),
            "equals": self.equals is not None,
        }
        for name, is_given in used.items():
            if is_given and self.strategy not in _OPTIONS[name]:
                message = f"expected it with {', '.join(_OPTIONS[name])} only, got `{self.strategy}`"
                yield Complaint(name, ProblemCode.DERIVATION, message)
        if self.strategy in _OPTIONS["places"] and self.places is None:
            yield Complaint("places", ProblemCode.REQUIRED, f"expected `places` with `{self.strategy}`, got nothing")


_OPTIONS = {
    "places": (DerivationStrategy.WEIGHTED_MEAN, DerivationStrategy.MEDIAN),
    "prefer": (DerivationStrategy.WEIGHTED_MODE,),
    "equals": (DerivationStrategy.COUNT,),
}
