"""The judge as a reasoner: the shipped weights or others of its kind, the same text for the same question, always.

weight file + the hash it must have -> a bench (in a process of its own, or in this one) -> raw reply with every token
"""

from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from assay import __version__
from assay.adapters.reasoning.judge_frames import Question, Reply
from assay.kernel.digest import Digest, digest_of
from assay.kernel.instant import Instant
from assay.model.card import parse_card
from assay.model.errors import WeightFormError
from assay.ports.clock import Clock
from assay.ports.model import ModelError, ModelRequestError, ModelWeightsError
from assay.ports.reasoner import Drawing, ReasonerIdentity
from assay.verdicts.reason import RawReply, ReasonRequest
from assay.verdicts.sovereignty import Place

BACKEND_NAME = "judge"
_ENGINE_VERSION = f"assay-judge-1 {__version__}"
_SHIPPED = "weights/judge.bin"
# Weights of earlier releases: they replay what they decided, and judge at nodes until people put others into use.
_EARLIER = ("weights/judge-1.3.0.bin",)


class JudgeWeights(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A weight file, and the hash that its bytes must have: that of its card, or of the one in use."""

    file: Path
    expected: Digest


class Bench(Protocol):
    """Where the judge sits. Several threads may ask at once."""

    @property
    def place(self) -> Place: ...

    def identify(self) -> Digest:
        """The hash of the weights that answer, or would."""
        ...

    def ask_many(self, questions: Sequence[Question]) -> list[Reply | ModelError]:
        """For each its reply, or why there is none; nothing is raised for a question that fails."""
        ...

    def close(self) -> None: ...


class JudgeReasoner:
    """Implements `ScoringReasoner`, `SamplingReasoner` and `BatchReasoner`; close it, which closes the bench."""

    def __init__(self, bench: Bench, clock: Clock) -> None:
        self._bench = bench
        self._clock = clock

    def close(self) -> None:
        self._bench.close()

    def identify(self) -> ReasonerIdentity:
        return ReasonerIdentity(
            backend_name=BACKEND_NAME,
            model_weight_hash=self._bench.identify(),
            place=self._bench.place,
            engine_version=_ENGINE_VERSION,
            is_exact=True,
        )

    def complete(self, request: ReasonRequest) -> RawReply:
        return _given(self._ask([request], [None])[0])

    def complete_many(self, requests: Sequence[ReasonRequest]) -> list[RawReply | ModelError]:
        return self._ask(requests, [None] * len(requests))

    def score(self, request: ReasonRequest, token_ids: Sequence[int]) -> RawReply:
        return _given(self._ask([request], [tuple(token_ids)])[0])

    def sample(self, request: ReasonRequest, drawings: Sequence[Drawing]) -> list[RawReply]:
        started_at = self._clock.now()
        questions = [
            Question(prompt=request.prompt, grammar=bytes(request.grammar), drawn=(one.seed, one.temperature))
            for one in drawings
        ]
        outcomes = self._bench.ask_many(questions)
        times = (started_at, max(started_at, self._clock.now()))
        return [_given(_outcome(request, found, times)) for found in outcomes]

    def _ask(
        self, requests: Sequence[ReasonRequest], forced: Sequence[tuple[int, ...] | None]
    ) -> list[RawReply | ModelError]:
        started_at = self._clock.now()
        questions = [
            Question(prompt=request.prompt, grammar=bytes(request.grammar), tokens=tokens)
            for request, tokens in zip(requests, forced, strict=True)
        ]
        outcomes = self._bench.ask_many(questions)
        times = (started_at, max(started_at, self._clock.now()))
        return [_outcome(request, found, times) for request, found in zip(requests, outcomes, strict=True)]


def _given(outcome: RawReply | ModelError) -> RawReply:
    if isinstance(outcome, ModelError):
        raise outcome
    return outcome


def _outcome(
    request: ReasonRequest, found: Reply | ModelError, times: tuple[Instant, Instant]
) -> RawReply | ModelError:
    if isinstance(found, ModelError):
        return found
    if found.problem is not None:
        # A case larger than it reads, or a prompt without one: it is never cut, and a person judges.
        return ModelRequestError(found.problem)
    return RawReply(
        text=found.text,
        backend_name=BACKEND_NAME,
        model_weight_hash=found.weight_hash,
        started_at=times[0],
        completed_at=times[1],
        # What the limit would have cut off is not to be used either.
        is_complete=len(found.written) <= request.decoding.max_tokens,
        token_ids=tuple(one.token for one in found.written),
        logprobs=tuple(one.logprob for one in found.written),
        top_scores=tuple(one.best for one in found.written),
        notation=found.notation,
    )


def shipped_weights() -> JudgeWeights:
    """Return the weights of this release, under the hash that their card names."""
    return _packaged(_SHIPPED)


def find_shipped(weight_hash: Digest) -> JudgeWeights | None:
    """Return the weights of this or an earlier release that have this hash."""
    packaged = (shipped_weights(), *(_packaged(name) for name in _EARLIER))
    return next((one for one in packaged if one.expected == weight_hash), None)


def _packaged(name: str) -> JudgeWeights:
    # The package is installed as files; `as_file` only turns its name into a path.
    with as_file(files("assay.model") / name) as file:
        return weights_by_card(file)


def weights_by_card(file: Path) -> JudgeWeights:
    """A weight file with its card beside it, as `judge.bin` has `judge.json`."""
    try:
        card = parse_card(file.with_suffix(".json").read_bytes())
    except OSError as error:
        raise ModelWeightsError(f"expected a card beside `{file.name}`, got {error.strerror}") from error
    except WeightFormError as error:
        raise ModelWeightsError(str(error)) from error
    return JudgeWeights(file=file, expected=card.weight_hash)


def load_weights(weights: JudgeWeights) -> bytes:
    """The file's bytes; refuses those of another file in its place."""
    try:
        content = weights.file.read_bytes()
    except OSError as error:
        raise ModelWeightsError(f"expected weights at `{weights.file.name}`, got {error.strerror}") from error
    found = digest_of(content)
    if found != weights.expected:
        raise ModelWeightsError(f"expected the weights `{weights.expected}`, got `{found}`")
    return content
