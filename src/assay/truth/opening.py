"""Windows that open by the contract's own words: where a state waits for people, and where a final one is disputed."""

from hashlib import sha256

from assay.kernel.instant import Instant
from assay.truth._moment import later, span_of
from assay.truth.contract import Contract
from assay.truth.window import WindowEvent, WindowEventKind

# No person opened it, so that any person may vote in it.
WINDOW_POLICY = "policy:validation_flow"


def open_window(contract: Contract, truthkey: str, *, at: Instant, number: int = 1) -> WindowEvent:
    """From `at` on, as long as the contract's `window`. The key and the number of the round give the event's id."""
    name = truthkey if number == 1 else f"{truthkey} {number}"
    return WindowEvent(
        event_id=f"window.{sha256(name.encode()).hexdigest()}",
        truthkey=truthkey,
        kind=WindowEventKind.OPENED,
        by=WINDOW_POLICY,
        occurred_at=at,
        closes_at=later(at, span_of(contract.validation_flow.window)),
        reason="the state waits for people",
    )


def open_dispute(contract: Contract, truthkey: str, *, by: str, dispute_hash: str, at: Instant) -> WindowEvent:
    """From `at` on, as long as the contract gives a dispute; it names the signal, whose hash gives the event's id."""
    return WindowEvent(
        event_id=f"dispute.{dispute_hash}",
        truthkey=truthkey,
        kind=WindowEventKind.OPENED,
        by=by,
        occurred_at=at,
        closes_at=later(at, span_of(contract.dispute_resolution.timeout)),
        reason="a final state is disputed",
        dispute_hash=dispute_hash,
    )
