"""A backend: one way to reach a model. It asks once and is told how long that may take; limits are kept above it."""

from typing import Protocol

from msgspec import Struct

from assay.ports.model import Cancelled, FinishReason, JsonSchema, ModelIdentity, TokenLogprob


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question, within the limits; `top_k` 0 means every token, an empty `system` no message of the system."""

    prompt: str
    grammar: JsonSchema | None
    max_tokens: int
    temperature: float
    top_p: float
    top_k: int
    seed: int
    logprobs: int
    system: str = ""

    @property
    def messages(self) -> list[dict[str, str]]:
        """The conversation as chat interfaces take it."""
        user = {"role": "user", "content": self.prompt}
        return [{"role": "system", "content": self.system}, user] if self.system else [user]


class Patience(Struct, frozen=True, kw_only=True):
    """How long is waited for an answer, and who may end it sooner."""

    seconds: float
    cancelled: Cancelled | None = None


class Completion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a backend says: a generation without its measures."""

    text: str
    finish: FinishReason
    tokens: tuple[TokenLogprob, ...] = ()
    prompt_tokens: int | None = None
    generated_tokens: int | None = None


class Backend(Protocol):
    """Raises `ModelError` and nothing else; may be used by several threads at once.

    `connection` is another number whenever a server of our own was started anew.
    """

    @property
    def connection(self) -> int: ...

    def identify(self, patience: Patience) -> ModelIdentity: ...

    def complete(self, request: Request, patience: Patience) -> Completion: ...

    def close(self) -> None: ...
