"""The one door to the clock and the one to randomness; everything else gets both as arguments."""

import os
from datetime import UTC, datetime

from assay.kernel.instant import Instant

__all__ = ["OsEntropy", "SystemClock"]


class SystemClock:
    """UTC as the operating system tells it; it may step, so nothing orders entries by it."""

    def now(self) -> Instant:
        return Instant(datetime.now(UTC))


class OsEntropy:
    """Unpredictable bytes of the operating system."""

    def token(self, size: int) -> bytes:
        return os.urandom(size)
