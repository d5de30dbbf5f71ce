"""An estimate of uncertainty: 0 is certain, 1 is not at all, whatever the method."""

import re
from math import isfinite

from msgspec import Struct

from assay.claims.bundle import Recommendation, UncertaintyMethod
from assay.claims.errors import ScoresError
from assay.claims.policy import Thresholds
from assay.claims.risk import recommend

__all__ = ["Cost", "Estimate", "is_affirmed", "make_estimate"]

_LONGEST_ANSWER = 1000
_SPECIFIED = Thresholds()
_YES = re.compile(r"\W*yes\b", re.IGNORECASE)


class Cost(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an estimate took: answers of the model, and questions to the judge (each in one direction)."""

    answers: int
    judge_calls: int = 0


class Estimate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`judge` says who decided what means the same, if anybody; `self_reported`: it is the model's own word.

    `answer` is what most of the answers said, in the words of one of them; None where that is not known.
    """

    method: UncertaintyMethod
    value: float
    interpretation: str
    recommendation: Recommendation
    cost: Cost
    judge: str | None = None
    self_reported: bool = False
    answer: str | None = None

    def __post_init__(self) -> None:
        if not isfinite(self.value) or not 0.0 <= self.value <= 1.0:
            raise ScoresError(f"expected an uncertainty of 0 to 1, got `{self.value!r}`")


def make_estimate(
    method: UncertaintyMethod,
    value: float,
    *,
    interpretation: str,
    cost: Cost,
    judge: str | None = None,
    self_reported: bool = False,
    answer: str | None = None,
) -> Estimate:
    """An estimate with what the specification recommends for its value; a gate applies its own policy to the value."""
    return Estimate(
        method=method,
        value=value,
        interpretation=interpretation,
        recommendation=recommend(value, _SPECIFIED),
        cost=cost,
        judge=judge,
        self_reported=self_reported,
        answer=None if answer is None else answer[:_LONGEST_ANSWER],
    )


def is_affirmed(answer: str | None) -> bool:
    """Whether an answer to "is this true?" begins with a yes; nothing said is no yes."""
    return answer is not None and _YES.match(answer) is not None
