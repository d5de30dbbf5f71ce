"""Model disagreement: three answers at rising temperatures, and which share of their pairs disagree.

answers at 0.8, 1.0, 1.2 -> clusters -> pairs in different clusters over all pairs
A heuristic: cheaper than semantic entropy, and nothing is guaranteed.
"""

from collections.abc import Sequence

from assay.claims.bundle import UncertaintyMethod
from assay.claims.errors import ClaimsError
from assay.claims.estimate.cluster import cluster_answers
from assay.claims.estimate.equivalence import EquivalenceJudge
from assay.claims.estimate.estimate import Cost, Estimate, dissent_of, make_estimate

TEMPERATURES = (0.8, 1.0, 1.2)
_FEWEST = 2


def pair_disagreement(sizes: Sequence[int]) -> float:
    """Which share of all pairs lies in different clusters."""
    k = sum(sizes)
    if k < _FEWEST:
        raise ClaimsError.sample(f"expected at least {_FEWEST} answers, got {k}")
    together = sum(size * (size - 1) for size in sizes)
    return 1.0 - together / (k * (k - 1))


def estimate_disagreement(question: str, answers: Sequence[str], judge: EquivalenceJudge) -> Estimate:
    """How much a model disagrees with itself; `answers` are one for each of `TEMPERATURES`, in any order."""
    if len(answers) != len(TEMPERATURES):
        raise ClaimsError.sample(f"expected {len(TEMPERATURES)} answers, one for each temperature, got {len(answers)}")
    clusters = cluster_answers(question, answers, judge)
    value = pair_disagreement(clusters.sizes)
    return make_estimate(
        UncertaintyMethod.MODEL_DISAGREEMENT,
        value,
        interpretation=f"{len(clusters.members)} meanings in {len(answers)} answers; a heuristic, not a guarantee",
        cost=Cost(answers=len(answers), judge_calls=len(clusters.asked)),
        judge=judge.name,
        answer=answers[max(clusters.members, key=len)[0]].strip(),
        dissent=dissent_of(clusters.sizes),
    )
