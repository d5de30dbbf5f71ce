"""The language model that judges: asked by the rooms' own `Reasoner`, and able to say who it is (SKI 2.1.3, 4.6).

Failures are `ports.model.ModelError`s. A time-out, a full queue or a broken reply is an answer of its own to the flow;
weights that are not those that were named are not.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Protocol, runtime_checkable

from msgspec import Struct

from assay.kernel.digest import Digest
from assay.ports.model import ModelError
from assay.verdicts.reason import RawReply, Reasoner, ReasonRequest
from assay.verdicts.sovereignty import Place


class ReasonerIdentity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who would answer now. `backend_name` is as SKI 6.2 says it where it does (`ollama`, `vllm`, `llama.cpp`).

    `model_weight_hash` is of the weights themselves, None where nobody knows. `is_exact` says that the same question
    always gets the same text, so that a replay tolerates no difference. `score_tolerance` says of one that is not by
    how much a quantised score may differ from one run to the next (SKI 8.2).
    """

    backend_name: str
    model_weight_hash: Digest | None
    place: Place
    engine_version: str = ""
    is_exact: bool = False
    score_tolerance: int = 0


class Drawing(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one reply is drawn by; the same seed and temperature draw the same one again."""

    seed: int
    temperature: Decimal


class LocalReasoner(Reasoner, Protocol):
    """Several threads may ask at once; it bounds how long an answer takes and how many wait."""

    def identify(self) -> ReasonerIdentity: ...


class KeptReasoners(Protocol):
    """Who judged before: models whose weights are kept, by their hash (SKI 8.1, step 2)."""

    def find(self, weight_hash: Digest) -> LocalReasoner | None:
        """None where no such weights are kept; bytes that do not have that hash any more are no such weights."""
        ...


@runtime_checkable
class BatchReasoner(LocalReasoner, Protocol):
    """One that answers several questions for less than one after the other, and each as it would alone."""

    def complete_many(self, requests: Sequence[ReasonRequest]) -> list[RawReply | ModelError]:
        """For each its reply, or why there is none; nothing is raised for a question that fails."""
        ...


@runtime_checkable
class ScoringReasoner(LocalReasoner, Protocol):
    """One that can read a transcript again instead of writing one, and so offers receipts (SKI 7.5)."""

    def score(self, request: ReasonRequest, token_ids: Sequence[int]) -> RawReply:
        """The reply that consists of these tokens, in one forced pass, with the scores that each of them has.

        Whether the model would have chosen them is for the caller to see. Raises `ModelRequestError` for tokens of
        which no reply to this can consist.
        """
        ...


@runtime_checkable
class SamplingReasoner(LocalReasoner, Protocol):
    """One that can draw replies instead of writing its best one: to ask how sure it is, never to judge."""

    def sample(self, request: ReasonRequest, drawings: Sequence[Drawing]) -> list[RawReply]:
        """A reply for each drawing, bound to the request's grammar, exact by seed; raises if any of them fails."""
        ...
