"""A llama.cpp server: its own interface, since that one keeps the grammar exact and the log-probabilities unmasked.

prompt -> `/apply-template` (the model's own form) -> `/completion`
"""

from msgspec import Struct

from assay.adapters.inference.backend import Completion, Patience, Request
from assay.adapters.inference.exchange import SMALL_REPLY, Exchange
from assay.adapters.inference.wire import WireToken, decode_reply, most_bytes_of, token_logprobs
from assay.kernel.digest import Digest
from assay.model.gbnf import render_gbnf
from assay.ports.model import FinishReason, ModelIdentity, ModelReplyError, ModelRequestError

_FINISHES = {"eos": FinishReason.STOP, "word": FinishReason.STOP, "limit": FinishReason.LENGTH}
# The answer would otherwise repeat the prompt and every setting.
_FIELDS = ("content", "stop_type", "truncated", "tokens_evaluated", "tokens_predicted", "completion_probabilities")


class _Rendered(Struct, frozen=True):
    prompt: str


class _Reply(Struct, frozen=True):
    content: str
    stop_type: str
    truncated: bool
    tokens_evaluated: int
    tokens_predicted: int
    completion_probabilities: tuple[WireToken, ...] = ()


class _Props(Struct, frozen=True):
    build_info: str = "unknown"


class LlamaCpp:
    """Implements `Backend` for a server that runs already; without an `engine_version` the server is asked for it."""

    connection = 0

    def __init__(
        self, exchange: Exchange, *, model: str, weight_hash: Digest | None = None, engine_version: str | None = None
    ) -> None:
        self._exchange = exchange
        self._model = model
        self._weight_hash = weight_hash
        self._engine_version = engine_version

    def identify(self, patience: Patience) -> ModelIdentity:
        version = self._engine_version or decode_reply(self._exchange.get("/props", patience), _Props).build_info
        return ModelIdentity(
            backend="llama.cpp", engine_version=version, model=self._model, weight_hash=self._weight_hash
        )

    def complete(self, request: Request, patience: Patience) -> Completion:
        asked = {"messages": request.messages}
        rendered = self._exchange.post(
            "/apply-template", asked, patience, most_bytes=SMALL_REPLY + 8 * (len(request.prompt) + len(request.system))
        )
        body = _body(request, decode_reply(rendered, _Rendered).prompt)
        content = self._exchange.post("/completion", body, patience, most_bytes=most_bytes_of(request))
        reply = decode_reply(content, _Reply)
        if reply.truncated:
            raise ModelRequestError("expected a prompt that fits the model's context, got a longer one")
        if reply.stop_type not in _FINISHES:
            raise ModelReplyError(f"expected an end of text or of tokens, got `{reply.stop_type[:80]}`")
        return Completion(
            text=reply.content,
            finish=_FINISHES[reply.stop_type],
            tokens=token_logprobs(reply.completion_probabilities) if request.logprobs else (),
            prompt_tokens=reply.tokens_evaluated,
            generated_tokens=reply.tokens_predicted,
        )

    def close(self) -> None:
        """Whoever started the server stops it."""


def _body(request: Request, prompt: str) -> dict[str, object]:
    body: dict[str, object] = {
        "prompt": prompt,
        "n_predict": request.max_tokens,
        "temperature": request.temperature,
        "top_k": request.top_k,
        "top_p": request.top_p,
        "min_p": 0,
        "seed": request.seed,
        # Nothing else touches the distribution.
        "samplers": ["top_k", "top_p", "temperature"],
        # A reused prefix changes the last bits of log-probabilities, and with them sometimes a token.
        "cache_prompt": False,
        "n_probs": request.logprobs,
        "post_sampling_probs": False,
        "response_fields": _FIELDS,
        "stream": False,
    }
    if request.grammar is not None:
        body["grammar"] = render_gbnf(request.grammar)
    return body
