"""A general language model inside the perimeter: text in, text out, and who wrote it.

prompt + grammar + sampling -> `generate` -> generations, each with its model's identity
Judging verdicts is another call; this one may be sampled at a temperature. There is no default model: with none
configured, whoever needs one reports `model.unavailable`, and the stricter answer follows.

    ModelError
    ├── ModelUnavailableError   model.unavailable     there is no model, or it does not answer
    ├── ModelTimeoutError       model.timeout         no answer in the time that was allowed, queueing included
    ├── ModelReplyError         model.bad_reply       the server answered something that is no generation
    ├── ModelOversizeError      model.oversize        the answer is longer than any that was asked for
    ├── ModelRequestError       model.bad_request     the question is outside the limits
    ├── ModelWeightsError       model.weights         the weights are not those that were pinned
    ├── ModelGrammarError       model.grammar_unbound the server does not bind its output by a grammar
    └── ModelAddressError       model.address         an address outside the perimeter
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from assay.kernel.digest import Digest
from assay.kernel.errors import Blame, Code, Error

# A grammar, as the JSON Schema of what may be written.
JsonSchema = Mapping[str, object]
# Asked again and again while a model works; true means that nobody waits for the answer any more.
Cancelled = Callable[[], bool]


class ModelError(Error):
    """A model gave no answer that can be used."""

    code = "model.refused"
    blame = Blame.ANSWER
    replies = Code("model.replies", "A file of recorded replies cannot be read.", Blame.USAGE)
    busy = Code("model.busy", "As many callers wait for a model as may; ask again later.")
    cancelled = Code("model.cancelled", "The caller gave up before a model answered.")


class ModelUnavailableError(ModelError):
    """There is no model, or it does not answer."""

    code = "model.unavailable"


class ModelTimeoutError(ModelError):
    """A model did not answer in the time that was allowed, waiting in the queue included."""

    code = "model.timeout"


class ModelReplyError(ModelError):
    """A model's server answered something that is no generation."""

    code = "model.bad_reply"
    blame = Blame.INPUT


class ModelOversizeError(ModelError):
    """A model's server sent more than any generation that was asked for could be."""

    code = "model.oversize"
    blame = Blame.INPUT


class ModelRequestError(ModelError):
    """A model was asked in a way that is outside its limits."""

    code = "model.bad_request"
    blame = Blame.USAGE


class ModelWeightsError(ModelError):
    """A weight file is missing, or is not the one that was pinned."""

    code = "model.weights"
    blame = Blame.INPUT


class ModelGrammarError(ModelError):
    """A model's server does not bind its output by the grammar that it is given; strict mode takes no verdict of it."""

    code = "model.grammar_unbound"
    blame = Blame.USAGE


class ModelAddressError(ModelError):
    """A model's address is outside the perimeter."""

    code = "model.address"
    blame = Blame.USAGE


class BackendName(StrEnum):
    """The servers that are spoken to; `llamacpp` runs one of its own when it is given weights and no address."""

    LLAMACPP = "llamacpp"
    OPENAI_COMPATIBLE = "openai-compatible"
    OLLAMA = "ollama"
    VLLM = "vllm"


class FinishReason(StrEnum):
    """Why a text ends where it does; one cut by LENGTH is unfinished, also under a grammar."""

    STOP = "stop"
    LENGTH = "length"


class ModelIdentity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which weights ran in which engine.

    `weight_hash` is taken from the bytes of the weights or is the server's own content digest, never made of a name;
    null says that nobody knows, and then no two generations are known to come from one model.
    """

    backend: str
    engine_version: str
    model: str
    weight_hash: Digest | None


class TokenChance(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One token that could have been written, and the natural logarithm of its probability."""

    token: str
    logprob: float


class TokenLogprob(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A token that was written. Probabilities are the model's own, before a grammar masked any of them."""

    token: str
    logprob: float
    top: tuple[TokenChance, ...] = ()


class Generation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One text of a model; `tokens` is empty where the backend offers no log-probabilities."""

    text: str
    tokens: tuple[TokenLogprob, ...]
    finish: FinishReason
    model: ModelIdentity
    seed: int
    prompt_tokens: int | None
    generated_tokens: int | None
    elapsed_seconds: float


class Model(Protocol):
    """Answers from inside the perimeter or not at all; every failure is a `ModelError`.

    Calls block, so they are never made on the thread of a running event loop. Several threads may call at once, and
    wait their turn.
    """

    def identify(self) -> ModelIdentity:
        """Who would answer now."""
        ...

    def obeys_grammar(self) -> bool:
        """Whether the server binds its output by a grammar: asked once at first, and again after each reconnection."""
        ...

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
        """As many texts as `count`, the first with `seed` and each next with one more.

        The prompt is one message of a user, after one of the system if that is given; the server puts them into the
        form its model was trained on. A grammar is a portable JSON Schema (`model/gbnf`). Under it a text that ends
        with STOP is strict JSON that the schema allows; one cut by LENGTH is only its beginning.
        `top_k` 0 means every token. `logprobs` asks for the log-probabilities of what was written and of that
        many likeliest tokens beside it.
        """
        ...
