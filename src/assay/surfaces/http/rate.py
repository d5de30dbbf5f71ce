"""How often a principal may ask: a bucket of tokens for each, and headers that say how many are left.

guard -> a token, or 429 with `Retry-After`;   every answer -> `RateLimit`, `RateLimit-Policy` (IETF httpapi draft)
Buckets are this process's own: behind several, a principal has as many shares as there are processes.
"""

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from assay.config.http import HttpConfig
from assay.flows.identity.authenticate import Authenticated
from assay.surfaces.http.errors import TooFastError

__all__ = ["RateLimit", "limit_rate", "tell_rate"]

# Buckets that nobody used for long are full, and as good as none.
_MOST_BUCKETS = 100_000
_NAME = "principal"
_STATE = "assay.rate"


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


@dataclass(slots=True)
class RateLimit:
    """`requests` in each `seconds` for each principal; used on the event loop alone, so nothing is locked."""

    requests: int
    seconds: int
    clock: Callable[[], float] = monotonic
    _buckets: OrderedDict[tuple[str, str], _Bucket] = field(default_factory=OrderedDict)

    @classmethod
    def of(cls, config: HttpConfig) -> "RateLimit | None":
        return cls(config.rate_requests, config.rate_seconds) if config.rate_requests else None

    @property
    def policy(self) -> str:
        return f'"{_NAME}";q={self.requests};w={self.seconds}'

    def take(self, who: tuple[str, str]) -> str:
        """One token: the `RateLimit` header of the answer; without one, `http.too_fast`."""
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


async def limit_rate(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
    """Litestar's guard after the one that finds out who asks; open routes are nobody's share."""
    limit: RateLimit | None = connection.app.state.rate
    caller = connection.scope.get("user")
    if limit is None or not isinstance(caller, Authenticated):
        return
    # Also told with the refusal itself.
    connection.scope["state"][_STATE] = f'"{_NAME}";r=0;t={limit.seconds}'
    connection.scope["state"][_STATE] = limit.take((caller.principal.tenant_id, caller.principal.id))


def tell_rate(limit: RateLimit | None) -> Callable[[ASGIApp], ASGIApp]:
    """Litestar's middleware that adds the headers, to streams and refusals too."""

    def wrap(app: ASGIApp) -> ASGIApp:
        if limit is None:
            return app

        async def told(scope: Scope, receive: Receive, send: Send) -> None:
            async def add(message: Message) -> None:
                left = scope.get("state", {}).get(_STATE)
                if message["type"] == "http.response.start" and left is not None:
                    headers = ((b"ratelimit-policy", limit.policy.encode()), (b"ratelimit", left.encode()))
                    message["headers"] = [*message.get("headers", ()), *headers]
                await send(message)

            await app(scope, receive, add)

        return told

    return wrap
