"""How uncertain this node's own model is about a question: answers drawn, compared by a judge, and told as one number.

question -> cache | budget of the tenant -> answers of the general model -> judge -> Estimate(value, cost, judge)
A model that does not answer gives no estimate: nothing is made up in its place.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from assay.claims.bundle import ClaimBundle, UncertaintyMethod
from assay.claims.errors import ClaimsError
from assay.claims.estimate.cluster import SampledAnswer
from assay.claims.estimate.disagree import TEMPERATURES, estimate_disagreement
from assay.claims.estimate.entropy import GATING_ANSWERS, Correction, Weighting, estimate_entropy
from assay.claims.estimate.equivalence import EquivalenceJudge
from assay.claims.estimate.estimate import Estimate
from assay.claims.estimate.stated import Calibrator, estimate_stated
from assay.claims.policy import ClaimsPolicy
from assay.facts.claims import BundleContext
from assay.flows.errors.claims import ClaimsFlowError
from assay.flows.request import Option, Request
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.model import Generation, Model

_ENTROPY_TEMPERATURE = 1.0
_MAX_TOKENS = 256
_MOST_CACHED = 1024
_GREEDY_ANSWERS = 1
# Each is several answers of a model.
_MOST_QUESTIONS = 20


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


class Estimator(Protocol):
    """Asks this node's own model; `tenant_id` is who pays for the answers."""

    def __call__(
        self,
        tenant_id: TenantId,
        question: str,
        method: UncertaintyMethod = UncertaintyMethod.SEMANTIC_ENTROPY,
        *,
        at: Instant,
        sampling: Sampling = _AS_GATES_DO,
        calibrator: Calibrator | None = None,
    ) -> Estimate: ...


def _parse_calibrator(text: str) -> object:
    """The calibrator of a file: itself, or the result of `assay claims calibrate --json` that has it."""
    try:
        found = msgspec.json.decode(text)
    except msgspec.MsgspecError as error:
        raise ClaimsError.calibration_setting(f"expected a calibrator, got: {error}") from error
    return found["calibrator"] if isinstance(found, dict) and "calibrator" in found else found


class EstimateQuestion(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    question: Annotated[str, Meta(min_length=1, max_length=16384, description="The question."), Option(form="argument")]
    method: Annotated[
        UncertaintyMethod, Meta(description="How it is estimated; docs/claims.md says which to choose when.")
    ] = UncertaintyMethod.SEMANTIC_ENTROPY
    answers: Annotated[int, Meta(ge=2, le=100, description="How many answers are drawn.")] = GATING_ANSWERS
    stop_after: Annotated[
        Annotated[int, Meta(ge=2, le=100)] | None, Meta(description="Draw no more once so many all mean the same.")
    ] = None
    weighting: Annotated[
        Weighting, Meta(description="Of semantic entropy: each answer once, or by its likelihood.")
    ] = Weighting.COUNTS
    correction: Annotated[
        Correction, Meta(description="Of semantic entropy by counts: add what a small sample hides.")
    ] = Correction.NONE
    seed: Annotated[int, Meta(ge=0, description="Another seed is another sample.")] = 0
    calibrator: Annotated[
        Calibrator | None,
        Meta(description="Of the confidence score: as `assay claims calibrate --json` has it."),
        Option(form="text", metavar="FILE", read=_parse_calibrator),
    ] = None


def estimate(tools: Tools, caller: Caller, request: EstimateQuestion) -> Estimate:
    """Ask the node's own model a question several times, and tell how uncertain it is; nothing is recorded.

    The model is `[models.general]`, the judge `[claims] judge`. The answers count against the tenant's budget.
    """
    if tools.estimator is None:
        raise ClaimsFlowError.no_estimator("expected a model under `[models.general]`, got none")
    sampling = Sampling(
        answers=request.answers,
        stop_after=request.stop_after,
        weighting=request.weighting,
        correction=request.correction,
        seed=request.seed,
    )
    found: Estimate = tools.estimator(
        caller.tenant_id,
        request.question,
        request.method,
        at=caller.at,
        sampling=sampling,
        calibrator=request.calibrator,
    )
    return found


def estimated_context(
    tools: Tools,
    tenant_id: TenantId,
    policy: ClaimsPolicy,
    bundle: ClaimBundle,
    context: BundleContext,
    questions: Mapping[str, str] = MappingProxyType({}),
    *,
    at: Instant,
) -> BundleContext:
    """The context of a bundle with what the node's own model says, where the policy or the agent asks for it.

    A check that was asked for and cannot be made gives the stricter answer.
    """
    estimator = tools.estimator
    asked = _questions(policy, bundle, questions, is_able=estimator is not None)
    problem = _question_problem(bundle, asked)
    if asked and problem is None and estimator is None:
        problem = "expected a model that draws answers, got none"
    if not asked or problem is not None or estimator is None:
        return replace(context, estimate_problem=problem)
    try:
        found = {name: _made(estimator(tenant_id, text, at=at)) for name, text in sorted(asked.items())}
    except Error as error:
        return replace(context, estimate_problem=f"{error.code}: {error}")
    except Exception as error:  # noqa: BLE001  whatever broke in a judge, the bundle is on record and goes no further
        return replace(context, estimate_problem=f"fault: {type(error).__name__}")
    return replace(context, estimates=found, questions=dict(asked))


def _questions(
    policy: ClaimsPolicy, bundle: ClaimBundle, questions: Mapping[str, str], *, is_able: bool
) -> Mapping[str, str]:
    """The policy's own question about every claim where it requires a computed uncertainty, else the agent's."""
    if policy.uncertainty.require_computed and is_able:
        return {claim.id: policy.uncertainty.question_for(claim.statement) for claim in bundle.claims}
    return questions


def _question_problem(bundle: ClaimBundle, asked: Mapping[str, str]) -> str | None:
    unknown = sorted(asked.keys() - {claim.id for claim in bundle.claims})
    if unknown:
        return f"expected questions for claims of the bundle, got `{unknown[0][:80]}`"
    if len(asked) > _MOST_QUESTIONS:
        return f"expected at most {_MOST_QUESTIONS} claims to ask a model about, got {len(asked)}"
    return None


def _made(found: object) -> Estimate:
    """Whatever an operator's estimator returns, only an estimate goes on record as one."""
    if not isinstance(found, Estimate):
        raise TypeError(type(found).__name__)
    return found


class ModelEstimator:
    """An estimator with a cache by question and model, and a budget of answers for each tenant and day.

    Safe for threads. The same question to the same model, drawn and judged alike, is answered from the cache and costs
    nothing. The budget is counted in this process: it bounds cost, and is no security control.
    """

    def __init__(self, model: Model, judge: EquivalenceJudge, *, name: str, answers_per_day: int | None = None) -> None:
        self._model = model
        self._judge = judge
        self._name = name
        self._per_day = answers_per_day
        self._cached: OrderedDict[tuple[object, ...], Estimate] = OrderedDict()
        self._spent: dict[TenantId, tuple[date, int]] = {}
        self._lock = threading.Lock()

    def __call__(
        self,
        tenant_id: TenantId,
        question: str,
        method: UncertaintyMethod = UncertaintyMethod.SEMANTIC_ENTROPY,
        *,
        at: Instant,
        sampling: Sampling = _AS_GATES_DO,
        calibrator: Calibrator | None = None,
    ) -> Estimate:
        key = (self._name, question, method, sampling, calibrator)
        with self._lock:
            found = self._cached.get(key)
            if found is not None:
                self._cached.move_to_end(key)
                return found
            self._spend(tenant_id, _cost_of(method, sampling), at)
        made = estimate_uncertainty(
            self._model, question, method, judge=self._judge, sampling=sampling, calibrator=calibrator
        )
        with self._lock:
            self._cached[key] = made
            if len(self._cached) > _MOST_CACHED:
                self._cached.popitem(last=False)
        return made

    def _spend(self, tenant_id: TenantId, answers: int, at: Instant) -> None:
        if self._per_day is None:
            return
        day, spent = self._spent.get(tenant_id, (at.date(), 0))
        spent = spent if day == at.date() else 0
        if spent + answers > self._per_day:
            told = f"expected at most {self._per_day} answers of the model for `{tenant_id}` today"
            raise ClaimsFlowError.estimate_budget(
                f"{told}, got {spent} and {answers} more: raise `claims.answers_per_day`, or wait"
            )
        self._spent[tenant_id] = (at.date(), spent + answers)


def _cost_of(method: UncertaintyMethod, sampling: Sampling) -> int:
    """The most answers that an estimate draws."""
    if method is UncertaintyMethod.MODEL_DISAGREEMENT:
        return len(TEMPERATURES)
    return sampling.answers if method is UncertaintyMethod.SEMANTIC_ENTROPY else _GREEDY_ANSWERS


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
    raise ClaimsError.sample(f"expected a method that draws answers, got `{method}`")


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
