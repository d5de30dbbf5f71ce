"""Health: outcomes of requests, counted over the last 60 seconds at a fixed cost for each.

outcome -> OutcomeWindow.observe -> totals -> (trip) judge
Time is cut into seconds: an outcome counts for at least 59 and at most 60 seconds. Every worker keeps its own
window, and `merge_buckets` adds up what several of them saw.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum

from msgspec import Struct

from assay.kernel.instant import Instant
from assay.registry.errors import RegistryError

WINDOW_SECONDS = 60
_EPOCH = Instant(datetime(1970, 1, 1, tzinfo=UTC))
_FIRST_SERVER_ERROR = 500
_PROTOCOL = "/api/v2/forja"


class Outcome(StrEnum):
    """A refused request (4xx) is the caller's mistake and counts as served."""

    SERVED = "served"
    FAILED = "failed"


class Bucket(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What happened in one second since 1970."""

    second: int
    requests: int
    errors: int

    def __post_init__(self) -> None:
        if not 0 <= self.errors <= self.requests:
            raise RegistryError.window(f"expected 0 to {self.requests} errors, got {self.errors}")


class Totals(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a window holds at one instant."""

    requests: int = 0
    errors: int = 0

    @property
    def error_rate(self) -> float:
        """For people to read; the switch itself compares whole numbers."""
        return self.errors / self.requests if self.requests else 0.0


class OutcomeWindow:
    """The counts of one worker; it owns them, and what leaves it is a value.

    An outcome that arrives late takes its place in time; one older than the window, or from before `since`,
    changes nothing. A step costs the same however many outcomes there were.
    """

    __slots__ = ("_errors", "_newest", "_oldest", "_requests", "_total_errors", "_total_requests")

    def __init__(self, buckets: Iterable[Bucket] = (), *, since: Instant | None = None) -> None:
        self._requests = [0] * WINDOW_SECONDS
        self._errors = [0] * WINDOW_SECONDS
        self._total_requests = self._total_errors = 0
        self._oldest = 0 if since is None else _second(since)
        self._newest = max(self._oldest, WINDOW_SECONDS - 1)
        for bucket in sorted(buckets, key=lambda one: one.second):
            self._add(bucket.second, bucket.requests, bucket.errors)

    def observe(self, outcome: Outcome, at: Instant) -> None:
        self._add(_second(at), 1, 1 if outcome is Outcome.FAILED else 0)

    def totals(self, at: Instant) -> Totals:
        """What counts at `at`; asking moves the window on, and a question about the past is answered as of now."""
        self._advance(_second(at))
        return Totals(requests=self._total_requests, errors=self._total_errors)

    def buckets(self) -> tuple[Bucket, ...]:
        """The seconds in which something happened, oldest first: what other workers and a restart need."""
        first = self._newest - WINDOW_SECONDS + 1
        slots = ((second, second % WINDOW_SECONDS) for second in range(first, self._newest + 1))
        return tuple(
            Bucket(second=second, requests=self._requests[slot], errors=self._errors[slot])
            for second, slot in slots
            if self._requests[slot]
        )

    def is_beyond(self, at: Instant) -> bool:
        """Whether this instant lies before all that the window can hold."""
        return _second(at) <= self._newest - WINDOW_SECONDS

    def after(self, restored_at: Instant) -> "OutcomeWindow":
        """What came after a restore, from the next second on: what was before must not fire the switch once more.

        What comes in the rest of that second counts again.
        """
        second = _second(restored_at)
        return OutcomeWindow((one for one in self.buckets() if one.second > second), since=restored_at)

    def _add(self, second: int, requests: int, errors: int) -> None:
        if second > self._newest:
            self._advance(second)
        elif second <= self._newest - WINDOW_SECONDS or second < self._oldest:
            return
        slot = second % WINDOW_SECONDS
        self._requests[slot] += requests
        self._errors[slot] += errors
        self._total_requests += requests
        self._total_errors += errors

    def _advance(self, second: int) -> None:
        # At most one round of the ring, however long nothing happened.
        for passed in range(max(self._newest, second - WINDOW_SECONDS) + 1, second + 1):
            slot = passed % WINDOW_SECONDS
            self._total_requests -= self._requests[slot]
            self._total_errors -= self._errors[slot]
            self._requests[slot] = self._errors[slot] = 0
        self._newest = max(self._newest, second)


class AskerFailures:
    """Failures that whoever asked may have brought about by what they asked, by asker, over the same 60 seconds.

    A single one of them must not be able to take everybody's power away.
    """

    __slots__ = ("_seconds",)

    def __init__(self) -> None:
        self._seconds: dict[int, Counter[str]] = {}

    @property
    def is_empty(self) -> bool:
        return not self._seconds

    def observe(self, asker: str, at: Instant) -> None:
        self._seconds.setdefault(_second(at), Counter())[asker] += 1

    def most(self, at: Instant) -> tuple[str | None, int]:
        """Who failed most often, and how often; nobody where nothing of this kind failed."""
        newest = _second(at)
        self._seconds = {one: found for one, found in self._seconds.items() if newest - WINDOW_SECONDS < one <= newest}
        found = sum(self._seconds.values(), Counter[str]()).most_common(1)
        return found[0] if found else (None, 0)

    def forget(self, restored_at: Instant) -> None:
        """What was before a restore, as the window of outcomes does."""
        self._seconds = {one: found for one, found in self._seconds.items() if one > _second(restored_at)}


def classify(status: int, path: str) -> Outcome | None:
    """The outcome of one response; None for the protocol's own endpoints, which are not counted at all."""
    if path == _PROTOCOL or path.startswith(_PROTOCOL + "/"):
        return None
    return outcome_of(status)


def outcome_of(status: int) -> Outcome:
    return Outcome.FAILED if status >= _FIRST_SERVER_ERROR else Outcome.SERVED


def merge_buckets(workers: Iterable[Sequence[Bucket]]) -> tuple[Bucket, ...]:
    """What all workers of a service saw together, oldest first."""
    seconds: dict[int, tuple[int, int]] = {}
    for buckets in workers:
        for bucket in buckets:
            requests, errors = seconds.get(bucket.second, (0, 0))
            seconds[bucket.second] = (requests + bucket.requests, errors + bucket.errors)
    return tuple(Bucket(second=at, requests=seconds[at][0], errors=seconds[at][1]) for at in sorted(seconds))


def total_of(buckets: Iterable[Bucket], at: Instant) -> Totals:
    """What `OutcomeWindow.totals` would say of these buckets; nothing after `at` counts."""
    newest = _second(at)
    inside = [bucket for bucket in buckets if newest - WINDOW_SECONDS < bucket.second <= newest]
    return Totals(requests=sum(one.requests for one in inside), errors=sum(one.errors for one in inside))


def _second(at: Instant) -> int:
    length = at - _EPOCH
    return length.days * 86_400 + length.seconds
