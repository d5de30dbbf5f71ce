"""An estimate of uncertainty: 0 is certain, 1 is not at all, whatever the method."""

import re
from collections.abc import Sequence
from functools import lru_cache
from math import isfinite

from msgspec import UNSET, Struct, UnsetType

from assay.claims.bundle import Recommendation, UncertaintyMethod
from assay.claims.errors import ClaimsError
from assay.claims.estimate._beta import clopper_pearson
from assay.claims.policy import DEFER_SHARE, Thresholds
from assay.claims.risk import recommend, recommend_share, strictest_recommendation

_LONGEST_ANSWER = 1000
_SPECIFIED = Thresholds()
# The interval of a share of answers misses the true one at most this often.
_MISS = 0.05
_YES = re.compile(r"\W*yes\b", re.IGNORECASE)


class Cost(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an estimate took: answers of the model, and questions to the judge (each in one direction)."""

    answers: int
    judge_calls: int = 0


class Dissent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many of the sampled answers lie outside the largest meaning; `low` and `high` are the exact 95 % interval
    of the share that they estimate, which is wide for few answers.
    """

    answers: int
    outside: int
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.outside / self.answers

    def __post_init__(self) -> None:
        if not 0 <= self.outside < self.answers or not 0.0 <= self.low <= self.high <= 1.0:
            raise ClaimsError.scores(
                f"expected fewer answers outside than there are, got {self.outside} of {self.answers}"
            )


class Estimate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`judge` says who decided what means the same, if anybody; `self_reported`: it is the model's own word.

    `answer` is what most of the answers said, in the words of one of them; None where that is not known. `dissent` is
    there where answers were sampled and grouped by meaning.
    """

    method: UncertaintyMethod
    value: float
    interpretation: str
    recommendation: Recommendation
    cost: Cost
    judge: str | None = None
    self_reported: bool = False
    answer: str | None = None
    dissent: Dissent | UnsetType = UNSET

    def __post_init__(self) -> None:
        if not isfinite(self.value) or not 0.0 <= self.value <= 1.0:
            raise ClaimsError.scores(f"expected an uncertainty of 0 to 1, got `{self.value!r}`")


def make_estimate(
    method: UncertaintyMethod,
    value: float,
    *,
    interpretation: str,
    cost: Cost,
    judge: str | None = None,
    self_reported: bool = False,
    answer: str | None = None,
    dissent: Dissent | UnsetType = UNSET,
) -> Estimate:
    """An estimate with what the specification recommends for its value; a gate applies its own policy to the value."""
    shares = () if dissent is UNSET else (recommend_share(dissent.share, DEFER_SHARE),)
    return Estimate(
        method=method,
        value=value,
        interpretation=interpretation,
        recommendation=strictest_recommendation((recommend(value, _SPECIFIED), *shares)),
        cost=cost,
        judge=judge,
        self_reported=self_reported,
        answer=None if answer is None else answer[:_LONGEST_ANSWER],
        dissent=dissent,
    )


@lru_cache(maxsize=256)
def _interval(outside: int, answers: int) -> tuple[float, float]:
    return clopper_pearson(outside, answers, _MISS)


def dissent_of(sizes: Sequence[int]) -> Dissent:
    """The answers outside the largest of the groups, with the interval of their share."""
    answers = sum(sizes)
    outside = answers - max(sizes)
    low, high = _interval(outside, answers)
    return Dissent(answers=answers, outside=outside, low=low, high=high)


def is_affirmed(answer: str | None) -> bool:
    """Whether an answer to "is this true?" begins with a yes; nothing said is no yes."""
    return answer is not None and _YES.match(answer) is not None
