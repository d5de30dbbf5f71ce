"""Verdicts: who judges telemetry, how strictly, and what is kept for how long."""

from enum import StrEnum

from msgspec import Struct

from assay.identity.problem import Problem, parse_problems, when
from assay.kernel.digest import parse_digest
from assay.verdicts.graph.open import SovereigntyMode

# Nothing but a new boot resets these, and the firmware leaves them alone.
_FIRST_REGISTER, _LAST_REGISTER = 8, 15
_DEFAULT_LEVEL, _RECEIPTS_LEVEL = 2, 3
_SKI_LEAST = {
    "fast_path_n": 0,
    "agreement_window": 1,
    "retention_seconds": 1,
    "ahead_seconds": 0,
    "behind_seconds": 0,
    "decoder_seed": 0,
    "max_tokens": 1,
    "attest_seconds": 1,
    "token_seconds": 1,
}


class ReasonerName(StrEnum):
    """Who judges telemetry: the judge that comes with the package, the general model, replies that were recorded
    before (for demonstrations), or nobody.
    """

    JUDGE = "judge"
    GENERAL = "general"
    SCRIPTED = "scripted"
    NONE = "none"


class RuntimeVersion(StrEnum):
    """`SKI_RUNTIME_VERSION` (SKI 11.4)."""

    V2 = "v2"
    V3 = "v3"


class SkiConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Verdicts (SKI). With the `reasoner` `none` nothing is evaluated; the defaults are the strict choice.

    `weights` is the local registry of weight hashes (SKI 6.2): where it is empty and the judge was chosen, the weights
    that people put into use, else `node.judge`; and exactly what it lists where it lists any. `custom_backend` is the
    operator's tag for a backend that the specification does not name, `replies` the file of a scripted reasoner.
    `fast_path_n` 0 switches the fast path off. `retention_seconds` is how long windows can look back, `ahead_seconds`
    and `behind_seconds` how far a record's clock may be from ours. `evaluation_egress` must be empty in strict mode.
    `deployment_local` are addresses (`host:port` of a database) off this machine that belong to the deployment. `tpm`
    is where a TPM is (a TCTI, such as `device:/dev/tpmrm0`): then the weights are measured into its `tpm_register`
    before they judge. `level` 3 holds the node to SKI 9.3: strict, the judge, no fast path, and no verdict that has no
    receipt; a record that none can be had for is refused.
    """

    level: int = 2
    sovereignty: SovereigntyMode = SovereigntyMode.STRICT
    runtime_version: RuntimeVersion = RuntimeVersion.V3
    reasoner: ReasonerName = ReasonerName.JUDGE
    replies: str | None = None
    weights: tuple[str, ...] = ()
    custom_backend: bool = False
    exact_model: bool = False
    require_review: bool = True
    fast_path_n: int = 1000
    agreement_window: int = 1000
    agreement_threshold: float = 0.995
    retention_seconds: int = 2_592_000
    ahead_seconds: int = 300
    behind_seconds: int | None = None
    decoder_seed: int = 0
    max_tokens: int = 2048
    attest_seconds: int = 604_800
    token_seconds: int = 86_400
    evaluation_egress: tuple[str, ...] = ()
    deployment_local: tuple[str, ...] = ()
    tpm: str | None = None
    tpm_register: int = 13


def ski_problems(ski: SkiConfig, *, has_model: bool) -> tuple[Problem, ...]:
    is_general, is_scripted = ski.reasoner is ReasonerName.GENERAL, ski.reasoner is ReasonerName.SCRIPTED
    problems = when(is_general and not has_model, "ski.reasoner", "expected a model under `[models.general]`")
    problems += when(is_scripted and ski.replies is None, "ski.replies", "expected a file of recorded replies")
    problems += when(
        not 0 <= ski.agreement_threshold <= 1,
        "ski.agreement_threshold",
        f"expected 0 to 1, got {ski.agreement_threshold}",
    )
    for name, least in _SKI_LEAST.items():
        count: int | None = getattr(ski, name)
        wrong = count is not None and count < least
        problems += when(wrong, f"ski.{name}", f"expected {least} or more, got {count}")
    problems += _level_problems(ski)
    wrong = not _FIRST_REGISTER <= ski.tpm_register <= _LAST_REGISTER
    expected = f"expected {_FIRST_REGISTER} to {_LAST_REGISTER}, which only a restart resets"
    problems += when(wrong, "ski.tpm_register", f"{expected}, got {ski.tpm_register}")
    for number, weight in enumerate(ski.weights):
        problems += parse_problems(f"ski.weights[{number}]", parse_digest, weight)
    return problems


def _level_problems(ski: SkiConfig) -> tuple[Problem, ...]:
    if ski.level != _RECEIPTS_LEVEL:
        return when(ski.level != _DEFAULT_LEVEL, "ski.level", f"expected 2 or 3, got {ski.level}")
    problems = when(ski.reasoner is not ReasonerName.JUDGE, "ski.reasoner", "expected the judge at level 3")
    problems += when(ski.runtime_version is not RuntimeVersion.V3, "ski.runtime_version", "expected v3 at level 3")
    is_strict = ski.sovereignty is SovereigntyMode.STRICT
    return problems + when(not is_strict, "ski.sovereignty", "expected strict at level 3")
