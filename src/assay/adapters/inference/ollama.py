"""Ollama: its own interface, since that one gives the content digest of the model and every sampling setting."""

from msgspec import Struct

from assay.adapters.inference.backend import Completion, Patience, Request
from assay.adapters.inference.exchange import Exchange
from assay.adapters.inference.weights import require_pinned
from assay.adapters.inference.wire import WireToken, decode_reply, finish_of, most_bytes_of, token_logprobs
from assay.kernel.digest import Digest, MalformedDigestError, parse_digest
from assay.ports.model import ModelIdentity, ModelReplyError, ModelRequestError, ModelUnavailableError


class _Message(Struct, frozen=True):
    content: str


class _Reply(Struct, frozen=True):
    message: _Message
    done: bool
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    logprobs: tuple[WireToken, ...] | None = None


class _Listed(Struct, frozen=True):
    name: str
    digest: str


class _Tags(Struct, frozen=True):
    models: tuple[_Listed, ...]


class _Version(Struct, frozen=True):
    version: str


class Ollama:
    """Implements `Backend`. A prompt that does not fit is refused: left alone, the server would cut it silently."""

    connection = 0

    def __init__(
        self, exchange: Exchange, *, model: str, context_tokens: int, pinned_hash: Digest | None = None
    ) -> None:
        self._exchange = exchange
        # What Ollama means by a name without a tag.
        self._model = model if ":" in model else f"{model}:latest"
        self._context_tokens = context_tokens
        self._pinned_hash = pinned_hash

    def identify(self, patience: Patience) -> ModelIdentity:
        tags = decode_reply(self._exchange.get("/api/tags", patience), _Tags)
        found = {one.name: one.digest for one in tags.models}.get(self._model)
        if found is None:
            raise ModelUnavailableError(f"expected a server that has `{self._model}`, got {len(tags.models)} others")
        weight_hash = _digest(found)
        require_pinned(weight_hash, self._pinned_hash)
        version = decode_reply(self._exchange.get("/api/version", patience), _Version).version
        return ModelIdentity(backend="ollama", engine_version=version, model=self._model, weight_hash=weight_hash)

    def complete(self, request: Request, patience: Patience) -> Completion:
        content = self._exchange.post("/api/chat", self._body(request), patience, most_bytes=most_bytes_of(request))
        reply = decode_reply(content, _Reply)
        if not reply.done:
            raise ModelReplyError("expected one whole answer, got a part of one")
        used = (reply.prompt_eval_count or 0) + (reply.eval_count or 0)
        if used >= self._context_tokens:
            raise ModelRequestError(f"expected less than {self._context_tokens} tokens in all, got {used}")
        return Completion(
            text=reply.message.content,
            finish=finish_of(reply.done_reason),
            tokens=token_logprobs(reply.logprobs or ()) if request.logprobs else (),
            prompt_tokens=reply.prompt_eval_count,
            generated_tokens=reply.eval_count,
        )

    def close(self) -> None:
        """The server is somebody else's."""

    def _body(self, request: Request) -> dict[str, object]:
        body: dict[str, object] = {
            "model": self._model,
            "messages": request.messages,
            "stream": False,
            # What a model thinks aloud would stand before its JSON.
            "think": False,
            "truncate": False,
            "shift": False,
            "options": {
                "num_ctx": self._context_tokens,
                "num_predict": request.max_tokens,
                "temperature": request.temperature,
                "top_p": request.top_p,
                "top_k": request.top_k,
                "min_p": 0,
                "repeat_penalty": 1,
                "seed": request.seed,
            },
        }
        if request.grammar is not None:
            body["format"] = request.grammar
        if request.logprobs:
            body |= {"logprobs": True, "top_logprobs": request.logprobs}
        return body


def _digest(text: str) -> Digest:
    try:
        return parse_digest(f"sha256:{text.removeprefix('sha256:')}")
    except MalformedDigestError as error:
        raise ModelReplyError("expected the SHA-256 of the model's content, got something else") from error
