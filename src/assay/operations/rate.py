"""How often a principal may ask: a bucket of tokens for each.

Buckets belong to one process: behind several processes a principal has one bucket in each.
"""

import math
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from assay.flows.errors import FlowError

# Buckets that nobody used for long are full, and as good as none.
_MOST_BUCKETS = 100_000
_NAME = "principal"


class TooFastError(FlowError):
    """The principal has used up its requests for now; `seconds` says when to try again."""

    code = "http.too_fast"

    def __init__(self, message: str, *, seconds: int) -> None:
        super().__init__(message)
        self.seconds = seconds


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


@dataclass(slots=True)
class RateLimit:
    """`requests` in each `seconds` for each principal."""

    requests: int
    seconds: int
    clock: Callable[[], float] = monotonic
    _buckets: OrderedDict[tuple[str, str], _Bucket] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def policy(self) -> str:
        """The `RateLimit-Policy` header (IETF httpapi draft)."""
        return f'"{_NAME}";q={self.requests};w={self.seconds}'

    @property
    def exhausted(self) -> str:
        """The `RateLimit` header of a refusal."""
        return f'"{_NAME}";r=0;t={self.seconds}'

    def take(self, who: tuple[str, str]) -> str:
        """Take one token and return the `RateLimit` header of the answer; `http.too_fast` where none is left."""
        with self._lock:
            bucket, rate = self._filled(who), self.requests / self.seconds
            if bucket.tokens < 1:
                wait = math.ceil((1 - bucket.tokens) / rate)
                raise TooFastError(f"expected at most {self.requests} requests in {self.seconds} s", seconds=wait)
            bucket.tokens -= 1
            full_in = math.ceil((self.requests - bucket.tokens) / rate)
            return f'"{_NAME}";r={int(bucket.tokens)};t={full_in}'

    def _filled(self, who: tuple[str, str]) -> _Bucket:
        now = self.clock()
        bucket = self._buckets.pop(who, None) or _Bucket(self.requests, now)
        bucket.tokens = min(self.requests, bucket.tokens + (now - bucket.at) * self.requests / self.seconds)
        bucket.at = now
        self._buckets[who] = bucket
        while len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)
        return bucket
