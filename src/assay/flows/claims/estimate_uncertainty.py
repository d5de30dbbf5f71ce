"""How uncertain this node's own model is about a question: answers drawn, compared by a judge, and told as one number.

question -> answers of the general model -> judge -> Estimate(value, method, interpretation, cost, judge)
A model that does not answer gives no estimate: nothing is made up in its place.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from assay.claims.bundle import UncertaintyMethod
from assay.claims.errors import SampleError
from assay.claims.estimate.cluster import SampledAnswer
from assay.claims.estimate.disagree import TEMPERATURES, estimate_disagreement
from assay.claims.estimate.entropy import GATING_ANSWERS, Correction, Weighting, estimate_entropy
from assay.claims.estimate.equivalence import EquivalenceJudge
from assay.claims.estimate.estimate import Estimate
from assay.claims.estimate.stated import Calibrator, estimate_stated
from assay.ports.model import Generation, Model

_ENTROPY_TEMPERATURE = 1.0
_MAX_TOKENS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How answers are drawn: the same seed draws the same ones again, where the model's server keeps its word.

    `stop_after` ends the drawing once so many, and all of them, mean the same; None draws `answers` always.
    """

    answers: int = GATING_ANSWERS
    stop_after: int | None = None
    weighting: Weighting = Weighting.COUNTS
    correction: Correction = Correction.NONE
    max_tokens: int = _MAX_TOKENS
    seed: int = 0


_AS_GATES_DO = Sampling()


def estimate_uncertainty(
    model: Model,
    question: str,
    method: UncertaintyMethod,
    *,
    judge: EquivalenceJudge,
    sampling: Sampling = _AS_GATES_DO,
    calibrator: Calibrator | None = None,
) -> Estimate:
    """How uncertain a model is about a question, by one of three methods; every failure of the model is raised.

    A conformal set needs a calibration over a known list of answers, and is made where that list is.
    """
    if method is UncertaintyMethod.SEMANTIC_ENTROPY:
        return estimate_entropy(
            question,
            _drawn(model, question, sampling),
            judge,
            weighting=sampling.weighting,
            correction=sampling.correction,
            stop_after=sampling.stop_after,
        )
    if method is UncertaintyMethod.MODEL_DISAGREEMENT:
        texts = [_one(model, question, sampling, heat, sampling.seed).text for heat in TEMPERATURES]
        return estimate_disagreement(question, texts, judge)
    if method is UncertaintyMethod.CONFIDENCE_SCORE:
        greedy = _one(model, question, sampling, 0.0, sampling.seed)
        return estimate_stated([token.logprob for token in greedy.tokens], calibrator)
    raise SampleError(f"expected a method that draws answers, got `{method}`")


def _drawn(model: Model, question: str, sampling: Sampling) -> Iterator[SampledAnswer]:
    """One by one, so that an early stop spares the rest."""
    for number in range(sampling.answers):
        made = _one(model, question, sampling, _ENTROPY_TEMPERATURE, sampling.seed + number)
        logprob = sum(token.logprob for token in made.tokens) if made.tokens else None
        yield SampledAnswer(text=made.text, logprob=logprob)


def _one(model: Model, question: str, sampling: Sampling, temperature: float, seed: int) -> Generation:
    (made,) = model.generate(
        question,
        max_tokens=sampling.max_tokens,
        temperature=temperature,
        # Every token may be drawn: what the model leaves out by itself is its certainty.
        top_k=0 if temperature > 0.0 else 1,
        seed=seed,
        logprobs=1,
    )
    return made
