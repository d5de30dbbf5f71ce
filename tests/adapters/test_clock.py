"""The clock tells UTC, and randomness does not repeat."""

from datetime import UTC, datetime, timedelta

from assay.adapters.clock import OsEntropy, SystemClock
from assay.ports.clock import Clock
from assay.ports.ids import Entropy


def test_the_clock_tells_the_present_in_utc() -> None:
    clock: Clock = SystemClock()
    before = datetime.now(UTC)
    now = clock.now()
    assert now.utcoffset() == timedelta(0)
    assert before - timedelta(minutes=1) <= now <= datetime.now(UTC) + timedelta(minutes=1)


def test_entropy_has_the_size_asked_for_and_does_not_repeat() -> None:
    entropy: Entropy = OsEntropy()
    tokens = {entropy.token(16) for _ in range(100)}
    assert len(tokens) == 100
    assert {len(token) for token in tokens} == {16}
