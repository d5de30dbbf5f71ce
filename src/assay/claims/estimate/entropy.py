"""Semantic entropy: how much the meanings of sampled answers scatter, from 0 (all one) to 1 (all different).

k answers -> clusters -> Shannon entropy over clusters -> small-sample correction -> divided by ln k
By counts, or by likelihood where the model gives log-probabilities. One answer alone says nothing, and is refused.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from math import exp, isfinite, log

from assay.claims.bundle import UncertaintyMethod
from assay.claims.errors import ClaimsError
from assay.claims.estimate.cluster import Clusters, Grouping, SampledAnswer
from assay.claims.estimate.equivalence import EquivalenceJudge
from assay.claims.estimate.estimate import Cost, Estimate, dissent_of, make_estimate

GATING_ANSWERS = 5
_FEWEST = 2


class Weighting(StrEnum):
    COUNTS = "counts"
    LIKELIHOOD = "likelihood"


class Correction(StrEnum):
    """MILLER_MADOW adds (clusters - 1) / 2k to the entropy: a small sample shows less scatter than there is."""

    NONE = "none"
    MILLER_MADOW = "miller_madow"


def normalised_entropy(sizes: Sequence[int], *, correction: Correction = Correction.NONE) -> float:
    """The entropy of a partition over ln k, in [0, 1]."""
    k = sum(sizes)
    if k < _FEWEST:
        raise ClaimsError.sample(f"expected at least {_FEWEST} answers, got {k}")
    # Sorted, so that the last bit does not depend on the order of the clusters.
    entropy = -sum(size / k * log(size / k) for size in sorted(sizes))
    if correction is Correction.MILLER_MADOW:
        entropy += (len(sizes) - 1) / (2 * k)
    # Of one cluster it is minus nothing, which is nothing.
    return min(max(entropy / log(k), 0.0), 1.0) + 0.0


def likelihood_entropy(clusters: Clusters, answers: Sequence[SampledAnswer]) -> float:
    """The entropy over the likelihoods of the clusters (Rao-Blackwell), over ln k.

    Each different text counts once, with its likelihood, so that a text the model repeats is not counted twice.
    """
    if len(answers) < _FEWEST:
        raise ClaimsError.sample(f"expected at least {_FEWEST} answers, got {len(answers)}")
    logprobs = [_logprob(answer) for answer in answers]
    highest = max(logprobs)
    masses = []
    for places in clusters.members:
        by_text: dict[str, float] = {}
        for place in places:
            text = answers[place].text.strip()
            by_text[text] = max(by_text.get(text, 0.0), exp(logprobs[place] - highest))
        masses.append(sum(sorted(by_text.values())))
    total = sum(sorted(masses))
    entropy = -sum(mass / total * log(mass / total) for mass in sorted(masses) if mass > 0.0)
    return min(max(entropy / log(len(answers)), 0.0), 1.0) + 0.0


def estimate_entropy(
    question: str,
    answers: Iterable[SampledAnswer],
    judge: EquivalenceJudge,
    *,
    weighting: Weighting = Weighting.COUNTS,
    correction: Correction = Correction.NONE,
    stop_after: int | None = None,
) -> Estimate:
    """The semantic entropy of the answers, drawn one by one.

    With `stop_after`, no more answers are drawn once so many, and all of them, mean the same: cheaper, and it can only
    miss scatter that would have come later. The estimate says so.
    """
    if stop_after is not None and stop_after < _FEWEST:
        raise ClaimsError.sample(f"expected to stop after {_FEWEST} answers or more, got {stop_after}")
    grouping = Grouping(question, judge)
    drawn: list[SampledAnswer] = []
    stopped = False
    for answer in answers:
        drawn.append(answer)
        grouping.add(answer.text.strip())
        if stop_after is not None and len(drawn) >= stop_after and grouping.is_one:
            stopped = True
            break
    clusters = grouping.clusters()
    value = _value(clusters, drawn, weighting, correction)
    return make_estimate(
        UncertaintyMethod.SEMANTIC_ENTROPY,
        value,
        interpretation=_interpretation(clusters, len(drawn), weighting, correction, stopped=stopped),
        cost=Cost(answers=len(drawn), judge_calls=len(clusters.asked)),
        judge=judge.name,
        answer=drawn[max(clusters.members, key=len)[0]].text.strip(),
        dissent=dissent_of(clusters.sizes),
    )


def _value(clusters: Clusters, drawn: Sequence[SampledAnswer], weighting: Weighting, correction: Correction) -> float:
    if weighting is Weighting.LIKELIHOOD:
        return likelihood_entropy(clusters, drawn)
    return normalised_entropy(clusters.sizes, correction=correction)


def _logprob(answer: SampledAnswer) -> float:
    if answer.logprob is None or not isfinite(answer.logprob) or answer.logprob > 0.0:
        raise ClaimsError.sample(f"expected a log-probability of at most 0 for each answer, got {answer.logprob!r}")
    return answer.logprob


def _interpretation(clusters: Clusters, k: int, weighting: Weighting, correction: Correction, *, stopped: bool) -> str:
    told = f"{len(clusters.members)} meanings in {k} answers, the largest of {max(clusters.sizes)}; by {weighting}"
    if weighting is Weighting.COUNTS and correction is not Correction.NONE:
        told += f", corrected by {correction}"
    if clusters.deciders:
        told += f"; decided by {clusters.deciders}"
    return f"{told}; stopped early, since all agreed" if stopped else told
