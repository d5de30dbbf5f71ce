"""Any server that speaks OpenAI's chat completions, at an address inside the perimeter.

What is standard is sent, and what a dialect adds; what neither can express is refused rather than dropped.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct

from assay.adapters.inference.backend import Completion, Patience, Request
from assay.adapters.inference.exchange import Exchange
from assay.adapters.inference.wire import WireToken, decode_reply, finish_of, most_bytes_of, token_logprobs
from assay.kernel.digest import Digest
from assay.ports.model import ModelIdentity, ModelReplyError, ModelRequestError, ModelUnavailableError


class Dialect(Struct, frozen=True, kw_only=True):
    """How one kind of server differs: how it samples, and where it says its version."""

    backend: str
    sampling: Callable[[Request], Mapping[str, object]]
    version_path: str | None = None


class _Message(Struct, frozen=True):
    content: str | None = None


class _Logprobs(Struct, frozen=True):
    content: tuple[WireToken, ...] | None = None


class _Choice(Struct, frozen=True):
    message: _Message
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Usage(Struct, frozen=True):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Reply(Struct, frozen=True):
    choices: tuple[_Choice, ...]
    usage: _Usage | None = None


class _Listed(Struct, frozen=True):
    id: str


class _Models(Struct, frozen=True):
    data: tuple[_Listed, ...]


class _Version(Struct, frozen=True):
    version: str


def standard_sampling(request: Request) -> Mapping[str, object]:
    """The standard has no `top_k`: the likeliest token alone is temperature 0, every token is its default."""
    if request.top_k not in (0, 1):
        raise ModelRequestError(f"expected a top_k of 0 or 1 for this backend, got {request.top_k}")
    return {"temperature": 0 if request.top_k == 1 else request.temperature, "top_p": request.top_p}


_STANDARD = Dialect(backend="openai-compatible", sampling=standard_sampling)


class OpenAiCompatible:
    """Implements `Backend`. The weight hash is what the operator's own copy of the weights gives, or unknown."""

    connection = 0

    def __init__(
        self, exchange: Exchange, *, model: str, weight_hash: Digest | None = None, dialect: Dialect = _STANDARD
    ) -> None:
        self._exchange = exchange
        self._model = model
        self._weight_hash = weight_hash
        self._dialect = dialect

    def identify(self, patience: Patience) -> ModelIdentity:
        """A server that does not list the model would answer with another, or not at all."""
        listed = decode_reply(self._exchange.get("/v1/models", patience), _Models)
        if self._model not in {one.id for one in listed.data}:
            raise ModelUnavailableError(f"expected a server that lists `{self._model}`, got {len(listed.data)} others")
        return ModelIdentity(
            backend=self._dialect.backend,
            engine_version=self._version(patience),
            model=self._model,
            weight_hash=self._weight_hash,
        )

    def complete(self, request: Request, patience: Patience) -> Completion:
        body = self._body(request)
        content = self._exchange.post("/v1/chat/completions", body, patience, most_bytes=most_bytes_of(request))
        reply = decode_reply(content, _Reply)
        if len(reply.choices) != 1 or reply.choices[0].message.content is None:
            raise ModelReplyError(f"expected one choice with a text, got {len(reply.choices)} choices")
        choice, usage = reply.choices[0], reply.usage or _Usage()
        tokens = (choice.logprobs.content if choice.logprobs else None) or ()
        return Completion(
            text=choice.message.content or "",
            finish=finish_of(choice.finish_reason),
            tokens=token_logprobs(tokens) if request.logprobs else (),
            prompt_tokens=usage.prompt_tokens,
            generated_tokens=usage.completion_tokens,
        )

    def close(self) -> None:
        """The server is somebody else's."""

    def _version(self, patience: Patience) -> str:
        if self._dialect.version_path is None:
            return "unknown"
        return decode_reply(self._exchange.get(self._dialect.version_path, patience), _Version).version

    def _body(self, request: Request) -> dict[str, object]:
        body: dict[str, object] = {
            "model": self._model,
            "messages": request.messages,
            "max_tokens": request.max_tokens,
            "seed": request.seed,
            "n": 1,
            "stream": False,
            **self._dialect.sampling(request),
        }
        if request.logprobs:
            body |= {"logprobs": True, "top_logprobs": request.logprobs}
        if request.grammar is not None:
            schema = {"name": "answer", "strict": True, "schema": request.grammar}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body
