"""A model with limits: what may be asked, how many may wait, how long it may take.

question -> within the limits? -> a turn -> backend, once per text -> generations
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from time import monotonic, perf_counter
from types import TracebackType
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from assay.adapters.clock import OsEntropy
from assay.adapters.inference.backend import Backend, Patience, Request
from assay.adapters.inference.canary import draw_canary
from assay.adapters.inference.grammar import require_by_grammar, require_grammar
from assay.ports.ids import Entropy
from assay.ports.model import (
    Cancelled,
    FinishReason,
    Generation,
    JsonSchema,
    ModelError,
    ModelIdentity,
    ModelOversizeError,
    ModelReplyError,
    ModelRequestError,
    ModelTimeoutError,
    ModelUnavailableError,
)

# How often a caller that waits for its turn looks whether it still wants it.
_GLANCE_SECONDS = 0.05
_HIGHEST_SEED = 2**31 - 1


class Bounds(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`parallel` callers are served at once and `queue` more may wait; a call may take `timeout_seconds` in all."""

    timeout_seconds: float = 120.0
    parallel: int = 1
    queue: int = 16
    prompt_chars: int = 200_000
    max_tokens: int = 4096
    count: int = 64
    logprobs: int = 20
    highest_temperature: float = 2.0


class BoundedModel:
    """Implements `ports.model.Model`; use it in a `with`, which closes the backend."""

    def __init__(self, backend: Backend, bounds: Bounds | None = None, *, entropy: Entropy | None = None) -> None:
        self._backend = backend
        self._bounds = bounds or Bounds()
        self._turns = threading.Semaphore(self._bounds.parallel)
        self._lock = threading.Lock()
        self._present = 0
        self._entropy = entropy or OsEntropy()
        self._bound: tuple[ModelIdentity, int, bool] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._backend.close()

    def identify(self) -> ModelIdentity:
        return self._backend.identify(Patience(seconds=self._bounds.timeout_seconds))

    def obeys_grammar(self) -> bool:
        deadline = monotonic() + self._bounds.timeout_seconds
        with self._turn(deadline, None), self._watched():
            identity = self._backend.identify(_patience(deadline, None))
            known = self._bound
            if known is not None and known[:2] == (identity, self._backend.connection):
                return known[2]
            is_bound = self._sings(deadline)
            self._bound = (identity, self._backend.connection, is_bound)
            return is_bound

    def _sings(self, deadline: float) -> bool:
        canary = draw_canary(self._entropy)
        try:
            completion = self._backend.complete(canary.request, _patience(deadline, None))
        except (ModelRequestError, ModelReplyError, ModelOversizeError):
            # It refuses the grammar, or answers something that is no text: it is not bound by it.
            return False
        return completion.finish is FinishReason.STOP and canary.is_obeyed(completion.text)

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """After a server could not be reached, whoever answers next has to show again that it obeys."""
        try:
            yield
        except (ModelUnavailableError, ModelTimeoutError):
            self._bound = None
            raise

    def generate(
        self,
        prompt: str,
        *,
        system: str = "",
        grammar: JsonSchema | None = None,
        max_tokens: int,
        temperature: float = 0.0,
        top_p: float = 1.0,
        top_k: int = 1,
        seed: int = 0,
        count: int = 1,
        logprobs: int = 0,
        cancelled: Cancelled | None = None,
    ) -> tuple[Generation, ...]:
        first = Request(
            prompt=prompt,
            system=system,
            grammar=grammar,
            max_tokens=max_tokens,
            temperature=temperature,
            top_p=top_p,
            top_k=top_k,
            seed=seed,
            logprobs=logprobs,
        )
        _require_within(first, count, self._bounds)
        deadline = monotonic() + self._bounds.timeout_seconds
        with self._turn(deadline, cancelled), self._watched():
            identity = self._backend.identify(_patience(deadline, cancelled))
            return tuple(self._once(first, seed + step, identity, deadline, cancelled) for step in range(count))

    def _once(
        self, first: Request, seed: int, identity: ModelIdentity, deadline: float, cancelled: Cancelled | None
    ) -> Generation:
        started = perf_counter()
        completion = self._backend.complete(replace(first, seed=seed), _patience(deadline, cancelled))
        # One that was cut by its length is no JSON yet, and its end says so.
        if first.grammar is not None and completion.finish is FinishReason.STOP:
            require_by_grammar(completion.text, first.grammar)
        return Generation(
            text=completion.text,
            tokens=completion.tokens,
            finish=completion.finish,
            model=identity,
            seed=seed,
            prompt_tokens=completion.prompt_tokens,
            generated_tokens=completion.generated_tokens,
            elapsed_seconds=perf_counter() - started,
        )

    @contextmanager
    def _turn(self, deadline: float, cancelled: Cancelled | None) -> Iterator[None]:
        with self._lock:
            if self._present >= self._bounds.parallel + self._bounds.queue:
                raise ModelError.busy(f"expected at most {self._bounds.queue} waiting callers, got one more")
            self._present += 1
        try:
            while not self._turns.acquire(timeout=_GLANCE_SECONDS):
                _patience(deadline, cancelled)
            try:
                yield
            finally:
                self._turns.release()
        finally:
            with self._lock:
                self._present -= 1


def _patience(deadline: float, cancelled: Cancelled | None) -> Patience:
    """What is left of the time; raises when nothing is, or nobody waits any more."""
    if cancelled is not None and cancelled():
        raise ModelError.cancelled("the caller gave up before the model answered")
    left = deadline - monotonic()
    if left <= 0:
        raise ModelTimeoutError("the time allowed was over before the model answered")
    return Patience(seconds=left, cancelled=cancelled)


def _require_within(request: Request, count: int, bounds: Bounds) -> None:
    chars = len(request.prompt) + len(request.system)
    _require(len(request.prompt) >= 1, "a prompt", 0)
    _require(1 <= chars <= bounds.prompt_chars, f"a prompt of 1 to {bounds.prompt_chars} characters", chars)
    _require(1 <= request.max_tokens <= bounds.max_tokens, f"1 to {bounds.max_tokens} tokens", request.max_tokens)
    _require(1 <= count <= bounds.count, f"1 to {bounds.count} texts", count)
    _require(0 <= request.logprobs <= bounds.logprobs, f"0 to {bounds.logprobs} log-probabilities", request.logprobs)
    heat, share = request.temperature, request.top_p
    is_heat = isfinite(heat) and 0 <= heat <= bounds.highest_temperature
    _require(is_heat, f"a temperature of 0 to {bounds.highest_temperature}", heat)
    _require(isfinite(share) and 0 < share <= 1, "a top_p above 0 and up to 1", share)
    _require(request.top_k >= 0, "a top_k of 0 or more", request.top_k)
    _require(0 <= request.seed <= _HIGHEST_SEED - count, f"a seed of 0 to {_HIGHEST_SEED - count}", request.seed)
    if request.grammar is not None:
        require_grammar(request.grammar)


def _require(holds: bool, expected: str, got: float) -> None:  # noqa: FBT001 - the condition is the whole point
    if not holds:
        raise ModelRequestError(f"expected {expected}, got {got}")
