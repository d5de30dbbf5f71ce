"""When a state changes though nobody says anything more: its window ends, a dispute times out, its validity is over."""

from collections.abc import Iterator
from datetime import timedelta

from assay.kernel.instant import Instant
from assay.truth._moment import later, span_of
from assay.truth.admit import bucket_bounds
from assay.truth.contract import Contract
from assay.truth.key import parse_truth_key
from assay.truth.state import TruthState
from assay.truth.status import FINAL_STATUSES, TruthStatus
from assay.truth.window import Window

# Validity includes its last instant.
_AFTER = timedelta(microseconds=1)
_SETTLED = (TruthStatus.EXPIRED, TruthStatus.UNVERIFIED)


def find_due(
    contract: Contract, state: TruthState, window: Window | None, disputed_at: Instant | None
) -> Instant | None:
    """The first instant after the state's own at which time alone may change it; None where it never does.

    `disputed_at` is since when the claim is disputed: the first challenge that stands, or the dispute itself.
    """
    if state.status in _SETTLED:
        return None
    now = state.compile_inputs.compile_time
    return min((at for at in _turns(contract, state, window, disputed_at) if at > now), default=None)


def _turns(
    contract: Contract, state: TruthState, window: Window | None, disputed_at: Instant | None
) -> Iterator[Instant]:
    _, end = bucket_bounds(contract, parse_truth_key(state.truthkey))
    yield later(later(end, span_of(contract.temporal_decay.max_validity)), _AFTER)
    # Also where people have answered: as long as the window is open, they may be contradicted.
    if window is not None and not window.is_aborted:
        yield window.end
    if state.status in FINAL_STATUSES:
        return
    if disputed_at is not None:
        yield later(disputed_at, span_of(contract.dispute_resolution.timeout))
