"""The backend that an operator chose, opened."""

from collections.abc import Collection
from pathlib import Path

from msgspec import Struct

from assay.adapters.inference.address import parse_address
from assay.adapters.inference.backend import Backend
from assay.adapters.inference.bounded import BoundedModel, Bounds
from assay.adapters.inference.exchange import Exchange
from assay.adapters.inference.llamacpp import LlamaCpp
from assay.adapters.inference.llamacpp_process import LlamaCppProcess, LlamaCppWeights
from assay.adapters.inference.ollama import Ollama
from assay.adapters.inference.openai_compatible import OpenAiCompatible
from assay.adapters.inference.vllm import open_vllm
from assay.adapters.inference.weights import hash_weights, require_pinned
from assay.kernel.digest import Digest
from assay.ports.model import BackendName, ModelRequestError, ModelWeightsError


class ModelChoice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an operator says of a model; `token` is a secret of the server, `deployment_local` trusted addresses."""

    backend: BackendName
    model: str | None = None
    url: str | None = None
    weights: Path | None = None
    weights_hash: Digest | None = None
    context_tokens: int = 4096
    threads: int = 0
    timeout_seconds: int = 120
    queue: int = 16
    deployment_local: Collection[str] = ()
    token: str | None = None

    def __repr__(self) -> str:
        """Without the token."""
        return f"ModelChoice(backend={self.backend.value!r}, model={self.model!r})"


def open_model(choice: ModelChoice) -> BoundedModel:
    """Nothing is asked or loaded yet, but weights of somebody else's server are hashed; close it when done."""
    return BoundedModel(_backend(choice), Bounds(timeout_seconds=choice.timeout_seconds, queue=choice.queue))


def _backend(choice: ModelChoice) -> Backend:
    if choice.url is None:
        return _own_server(choice)
    exchange = Exchange(parse_address(choice.url, deployment_local=choice.deployment_local), token=choice.token)
    if choice.model is None:
        raise ModelRequestError("expected the name of the model that the server has, got none")
    if choice.backend is BackendName.OLLAMA:
        return Ollama(
            exchange, model=choice.model, context_tokens=choice.context_tokens, pinned_hash=choice.weights_hash
        )
    weight_hash = _copy_hash(choice)
    if choice.backend is BackendName.LLAMACPP:
        return LlamaCpp(exchange, model=choice.model, weight_hash=weight_hash)
    if choice.backend is BackendName.VLLM:
        return open_vllm(exchange, model=choice.model, weight_hash=weight_hash)
    return OpenAiCompatible(exchange, model=choice.model, weight_hash=weight_hash)


def _own_server(choice: ModelChoice) -> LlamaCppProcess:
    if choice.backend is not BackendName.LLAMACPP or choice.weights is None:
        raise ModelRequestError("expected an address, or weights for a llama.cpp server of our own, got neither")
    return LlamaCppProcess(
        LlamaCppWeights(
            file=choice.weights,
            pinned_hash=choice.weights_hash,
            context_tokens=choice.context_tokens,
            threads=choice.threads,
        )
    )


def _copy_hash(choice: ModelChoice) -> Digest | None:
    """Of the weights that the operator says the server has; these servers give no digest of their own."""
    if choice.weights is None:
        if choice.weights_hash is not None:
            raise ModelWeightsError("expected weights to compare with the pinned hash, got none")
        return None
    weight_hash = hash_weights(choice.weights)
    require_pinned(weight_hash, choice.weights_hash)
    return weight_hash
