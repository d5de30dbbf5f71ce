"""The clock tells UTC, and randomness does not repeat."""

from datetime import UTC, datetime, timedelta, tzinfo

import pytest

from assay.adapters import clock as clock_module
from assay.adapters.clock import OsEntropy, SystemClock
from assay.ports.clock import Clock
from assay.ports.ids import Entropy


def test_the_clock_tells_the_present_in_utc() -> None:
    clock: Clock = SystemClock()
    before = datetime.now(UTC)
    now = clock.now()
    assert now.utcoffset() == timedelta(0)
    assert before - timedelta(minutes=1) <= now <= datetime.now(UTC) + timedelta(minutes=1)


class _Told(datetime):
    """What the operating system says next."""

    next = datetime(2026, 1, 7, 12, tzinfo=UTC)

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]  # no time of this class is needed
        assert tz is UTC
        return cls.next


def test_a_small_step_back_is_waited_out_and_a_long_one_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who was given a session a moment ago is not told that it has not begun."""
    monkeypatch.setattr(clock_module, "datetime", _Told)
    clock, noon = SystemClock(), _Told.next
    told = []
    for seconds in (0, 5, 4.5, -4.9, 5, 6, -4.1, 1):
        _Told.next = noon + timedelta(seconds=seconds)
        told.append(clock.now().timestamp() - noon.timestamp())
    assert told == pytest.approx([0, 5, 5, 5, 5, 6, -4.1, 1])


def test_entropy_has_the_size_asked_for_and_does_not_repeat() -> None:
    entropy: Entropy = OsEntropy()
    tokens = {entropy.token(16) for _ in range(100)}
    assert len(tokens) == 100
    assert {len(token) for token in tokens} == {16}
