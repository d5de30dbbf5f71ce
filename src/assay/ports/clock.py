"""The one place where time comes from."""

from typing import Protocol

from assay.kernel.instant import Instant


class Clock(Protocol):
    """Tells the time in UTC; only flows and surfaces ask, and pass the answer on as an argument."""

    def now(self) -> Instant: ...
