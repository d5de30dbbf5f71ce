"""The general language model, and the names under which contracts ask it."""

from msgspec import Struct

from assay.identity.problem import Problem, parse_problems, when
from assay.kernel.digest import parse_digest
from assay.ports.model import BackendName


class GeneralModelConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A general language model: weights for a llama.cpp server of our own, or a server's `url` and its `model`.

    `weights` is a file, or a folder for another's server (relative to the node's folder); `weights_hash` pins them.
    """

    backend: BackendName
    model: str | None = None
    url: str | None = None
    weights: str | None = None
    weights_hash: str | None = None
    context_tokens: int = 4096
    threads: int = 0
    timeout_seconds: int = 120
    queue: int = 16


class ModelsConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """None unless the operator names one. `engines` are the names in contracts under which the general model judges.

    `deployment_local` are addresses off this machine that belong to the deployment, each exactly as `url` says it.
    """

    general: GeneralModelConfig | None = None
    engines: tuple[str, ...] = ("local-model",)
    deployment_local: tuple[str, ...] = ()


def model_problems(models: ModelsConfig) -> tuple[Problem, ...]:
    repeated = len(set(models.engines)) < len(models.engines) or "rules" in models.engines
    problems = when(repeated, "models.engines", "expected each name once, and `rules` for the rules alone")
    one = models.general
    if one is None:
        return problems
    problems += _weight_problems(one)
    least_of = {"context_tokens": 128, "timeout_seconds": 1, "threads": 0, "queue": 0}
    for name, least in least_of.items():
        count: int = getattr(one, name)
        problems += when(count < least, f"models.general.{name}", f"expected {least} or more, got {count}")
    return problems


def _weight_problems(one: GeneralModelConfig) -> tuple[Problem, ...]:
    is_own = one.backend is BackendName.LLAMACPP and one.url is None
    problems = when(
        is_own and one.weights is None, "models.general.weights", "expected a weight file or a `url`, got neither"
    )
    problems += when(not is_own and one.url is None, "models.general.url", "expected the server's address, got none")
    problems += when(
        one.url is not None and one.model is None, "models.general.model", "expected the server's name for it, got none"
    )
    # Ollama gives a digest of its own; of the others nothing could be compared.
    is_blind = one.weights is None and one.backend is not BackendName.OLLAMA
    problems += when(
        one.weights_hash is not None and is_blind,
        "models.general.weights_hash",
        "expected `weights` beside it, got none",
    )
    if one.weights_hash is None:
        return problems
    return problems + parse_problems("models.general.weights_hash", parse_digest, one.weights_hash)
