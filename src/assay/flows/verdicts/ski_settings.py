"""What an operator decides about verdicts; wiring reads it from the configuration, flows only use it."""

from decimal import Decimal

from msgspec import Struct

from assay.kernel.digest import Digest
from assay.kernel.json_text import JsonValue
from assay.verdicts.agreement import DEFAULT_THRESHOLD, DEFAULT_WINDOW
from assay.verdicts.fastpath import DEFAULT_STABLE
from assay.verdicts.graph.open import SovereigntyMode
from assay.verdicts.sovereignty import Place
from assay.verdicts.telemetry import SkewLimits

UNKNOWN_COMMIT = "unknown"
_DAY = 24 * 60 * 60


class SkiSettings(Struct, frozen=True, kw_only=True):
    """The defaults are the strict choice.

    `is_v2` selects the runtime of SKI 2, which asks no model (SKI 11.4).
    `fast_path_n` is after how many equal evaluations a low rule's model may be left out (SKI 5.6), 0 for never.
    `keep_seconds` is how long records stay in the buffer that windows look back at. `attest_seconds` is when a held
    verdict is due, and `token_seconds` how long an attestation may be used. `require_review` lets only a graph into
    use that people here accepted; an operator whose graphs are reviewed elsewhere says so by switching it off.
    `weights` is the local registry of weight hashes, `is_backend_tagged` the operator's word for a backend that SKI 6.2
    does not name. `egress_channels` are all ways out of the deployment, none of them on the evaluation path.
    `requires_receipt` refuses a verdict that no receipt can be had for (SKI 9.3).
    `build_provenance` is the statement that the build made, None where the running code was not built.
    """

    mode: SovereigntyMode = SovereigntyMode.STRICT
    is_v2: bool = False
    requires_receipt: bool = False
    fast_path_n: int = DEFAULT_STABLE
    agreement_window: int = DEFAULT_WINDOW
    agreement_threshold: Decimal = DEFAULT_THRESHOLD
    keep_seconds: int = 30 * _DAY
    skew: SkewLimits = SkewLimits()
    decoder_seed: int = 0
    max_tokens: int = 2048
    attest_seconds: int = 7 * _DAY
    token_seconds: int = _DAY
    require_review: bool = True
    weights: tuple[Digest, ...] = ()
    is_backend_tagged: bool = False
    ledger_place: Place | None = None
    evaluation_egress: tuple[str, ...] = ()
    deployment_local: tuple[str, ...] = ()
    egress_channels: tuple[str, ...] = ()
    codebase_commit: str = UNKNOWN_COMMIT
    build_provenance: JsonValue = None

    @property
    def is_strict(self) -> bool:
        return self.mode is SovereigntyMode.STRICT
