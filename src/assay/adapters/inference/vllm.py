"""vLLM: the OpenAI-compatible server with every sampling setting said, since it takes defaults from the model's folder.

Its log-probabilities are those before penalties and grammar unless the operator starts it with another
`--logprobs-mode`.
"""

from collections.abc import Mapping

from assay.adapters.inference.backend import Request
from assay.adapters.inference.exchange import Exchange
from assay.adapters.inference.openai_compatible import Dialect, OpenAiCompatible
from assay.kernel.digest import Digest


def _sampling(request: Request) -> Mapping[str, object]:
    return {
        "temperature": request.temperature,
        "top_p": request.top_p,
        # -1 is every token in all its versions; 0 only in the later ones.
        "top_k": request.top_k or -1,
        "min_p": 0,
        "repetition_penalty": 1,
        "presence_penalty": 0,
        "frequency_penalty": 0,
    }


_DIALECT = Dialect(backend="vllm", sampling=_sampling, version_path="/version")


def open_vllm(exchange: Exchange, *, model: str, weight_hash: Digest | None = None) -> OpenAiCompatible:
    return OpenAiCompatible(exchange, model=model, weight_hash=weight_hash, dialect=_DIALECT)
