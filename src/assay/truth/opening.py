"""A window that opens by the contract's own words, where a state waits for people and nobody opened one."""

from hashlib import sha256

from assay.kernel.instant import Instant
from assay.truth._moment import later, span_of
from assay.truth.contract import Contract
from assay.truth.window import WindowEvent, WindowEventKind

__all__ = ["WINDOW_POLICY", "open_window"]

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
