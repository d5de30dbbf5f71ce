"""The one door to the clock and the one to randomness; everything else gets both as arguments."""

import os
from datetime import UTC, datetime, timedelta

from assay.kernel.instant import Instant

# What a time server may take back at once; a clock that was further ahead was wrong, and is believed now.
_STEP = timedelta(seconds=10)


class SystemClock:
    """UTC as the operating system tells it; it may step, so nothing orders entries by it.

    After a small step back it stands still until the time is there again: who logged in a moment ago is not too early.
    """

    def __init__(self) -> None:
        self._last = datetime.min.replace(tzinfo=UTC)

    def now(self) -> Instant:
        now, last = datetime.now(UTC), self._last
        if now < last <= now + _STEP:
            return Instant(last)
        self._last = now
        return Instant(now)


class OsEntropy:
    """Unpredictable bytes of the operating system."""

    def token(self, size: int) -> bytes:
        return os.urandom(size)
