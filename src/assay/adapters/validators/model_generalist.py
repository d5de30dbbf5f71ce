"""The engine `local-model`: a general language model reads the report and judges the contract's checks.

question -> prompt -> greedy text under a grammar -> judgement
No answer is no score: neither a missing model nor a half-written text is ever turned into a number.
"""

from decimal import Decimal

from msgspec import Struct

from assay.adapters.validators.generalist_prompt import PROMPT_VERSION, answer_grammar, render_prompt
from assay.kernel.errors import JsonError
from assay.kernel.json_text import parse_json
from assay.ports.model import FinishReason, Generation, Model, ModelIdentity
from assay.ports.validator import Judgement, Question, ValidatorError
from assay.truth.number import exact_number, quantised

_MAX_TOKENS = 512
_HASH_DIGITS = 16


class _Answer(Struct, frozen=True):
    score: Decimal
    failed_checks: tuple[str, ...]


class ModelGeneralist:
    """Implements `ports.validator.Validator` under any engine name; `model.*` when there is no answer."""

    version = PROMPT_VERSION

    def __init__(self, model: Model, *, name: str = "local-model", seed: int = 0) -> None:
        self.name = name
        self._model = model
        self._seed = seed

    def validate(self, question: Question) -> Judgement:
        checks = question.stage.checks
        (generation,) = self._model.generate(
            render_prompt(question), grammar=answer_grammar(checks), max_tokens=_MAX_TOKENS, seed=self._seed
        )
        answer = _parse(generation, checks)
        return Judgement(
            score=answer.score,
            # In the contract's order, each once: how often a model repeats itself means nothing.
            failed_checks=tuple(name for name in checks if name in answer.failed_checks),
            engine_version=_engine_version(generation.model),
            note=f"{generation.model.backend} {generation.model.engine_version}: {generation.text}"[:2000],
        )


def _parse(generation: Generation, checks: tuple[str, ...]) -> _Answer:
    """Read again here, whatever the model's adapter promised."""
    if generation.finish is not FinishReason.STOP:
        raise ValidatorError.judgement(
            f"expected a whole answer, got one cut after {generation.generated_tokens} tokens"
        )
    try:
        value = parse_json(generation.text)
    except JsonError as error:
        raise ValidatorError.judgement(f"expected JSON: {error}") from error
    if not isinstance(value, dict) or set(value) != {"score", "failed_checks"}:
        raise ValidatorError.judgement("expected an object of `score` and `failed_checks`, got another value")
    score, failed = value["score"], value["failed_checks"]
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise ValidatorError.judgement("expected a number as `score`, got another value")
    if not isinstance(failed, list) or not all(isinstance(name, str) and name in checks for name in failed):
        raise ValidatorError.judgement("expected checks of the contract as `failed_checks`, got another value")
    return _Answer(quantised(exact_number(score)), tuple(str(name) for name in failed))


def _engine_version(model: ModelIdentity) -> str:
    weights = "unknown" if model.weight_hash is None else model.weight_hash.removeprefix("sha256:")[:_HASH_DIGITS]
    return f"{PROMPT_VERSION}+weights.{weights}"
