"""A model that says what it was told to: for tests and demonstrations, and never chosen by a configuration."""

from collections.abc import Callable

from assay.adapters.inference.backend import Completion, Patience, Request
from assay.kernel.digest import Digest, digest_of
from assay.ports.model import FinishReason, ModelIdentity


class ScriptedBackend:
    """Implements `Backend` by a function of the request; it may raise a `ModelError` as a real one would."""

    connection = 0

    def __init__(self, script: Callable[[Request], str], *, weight_hash: Digest | None = None) -> None:
        self._script = script
        self._weight_hash = weight_hash or digest_of(b"scripted")
        self.is_closed = False

    def identify(self, patience: Patience) -> ModelIdentity:  # noqa: ARG002 - a script needs no time
        return ModelIdentity(backend="scripted", engine_version="1", model="scripted", weight_hash=self._weight_hash)

    def complete(self, request: Request, patience: Patience) -> Completion:  # noqa: ARG002 - a script needs no time
        words = self._script(request).split(" ")
        kept = words[: request.max_tokens]
        finish = FinishReason.STOP if len(kept) == len(words) else FinishReason.LENGTH
        return Completion(text=" ".join(kept), finish=finish, generated_tokens=len(kept))

    def close(self) -> None:
        self.is_closed = True
