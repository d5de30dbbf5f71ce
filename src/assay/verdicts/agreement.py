"""The neuro-symbolic agreement rate (SKI 9.2, 12): how often the verifier agreed, over the latest verdicts.

statuses of the latest verdicts -> agreement -> Canary
Only verdicts with something to agree about count: an UNVERIFIABLE one is neither for nor against.
"""

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from enum import StrEnum

from msgspec import Struct

from assay.verdicts.envelope import VerifierStatus
from assay.verdicts.errors import VerdictsError

DEFAULT_THRESHOLD = Decimal("0.995")
DEFAULT_WINDOW = 1000


class CanaryStatus(StrEnum):
    HEALTHY = "healthy"
    DEGRADED = "degraded"
    NO_DATA = "no_data"  # not healthy: nothing was compared yet


class Canary(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`GET /api/canary`. `observed` counts the verdicts looked at; the rate is None where none could be compared."""

    window_size: int
    threshold: float
    observed: int
    counts: dict[str, int]
    agreement_rate: float | None
    is_healthy: bool
    status: CanaryStatus


def measure_agreement(
    statuses: Sequence[VerifierStatus],
    *,
    window_size: int = DEFAULT_WINDOW,
    threshold: Decimal = DEFAULT_THRESHOLD,
) -> Canary:
    """How often model and verifier agreed in the window: the latest of `statuses`, which are in the ledger's order.

    The rate must be above the threshold, or equal to it where it cannot be above.
    """
    if window_size < 1 or not 0 <= threshold <= 1:
        raise VerdictsError.agreement_setting(
            f"expected a window of at least 1 and a threshold of 0 to 1, got {window_size} and {threshold}"
        )
    latest = statuses[-window_size:]
    counts = Counter(latest)
    agreed = counts[VerifierStatus.AGREED]
    compared = len(latest) - counts[VerifierStatus.UNVERIFIABLE]
    # Without dividing, so that a rate of exactly the threshold is not above it by rounding.
    is_healthy = compared > 0 and (agreed > threshold * compared or agreed == compared)
    return Canary(
        window_size=window_size,
        threshold=float(threshold),
        observed=len(latest),
        counts={status.value: counts[status] for status in VerifierStatus},
        agreement_rate=agreed / compared if compared else None,
        is_healthy=is_healthy,
        status=_status(compared, is_healthy=is_healthy),
    )


def _status(compared: int, *, is_healthy: bool) -> CanaryStatus:
    if not compared:
        return CanaryStatus.NO_DATA
    return CanaryStatus.HEALTHY if is_healthy else CanaryStatus.DEGRADED
