"""How often a principal may ask: a bucket of tokens for each, and headers that say how many are left.

guard -> a token, or 429 with `Retry-After`;   every answer -> `RateLimit`, `RateLimit-Policy` (IETF httpapi draft),
and the `traceparent` of the request
Buckets are this process's own: behind several, a principal has as many shares as there are processes.
"""

from collections.abc import Callable
from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from assay.config.http import HttpConfig
from assay.flows.identity.authenticate import Authenticated
from assay.kernel.trace import SPAN_BYTES, TraceId, render_traceparent
from assay.operations.rate import RateLimit

_STATE = "assay.rate"
# Where a request's own state has its trace id.
TRACE_STATE = "assay.trace"


def rate_of(config: HttpConfig) -> RateLimit | None:
    return RateLimit(config.rate_requests, config.rate_seconds) if config.rate_requests else None


async def limit_rate(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
    """Litestar's guard after the one that finds out who asks; open routes are nobody's share."""
    limit: RateLimit | None = connection.app.state.rate
    caller = connection.scope.get("user")
    if limit is None or not isinstance(caller, Authenticated):
        return
    # Also told with the refusal itself.
    connection.scope["state"][_STATE] = limit.exhausted
    connection.scope["state"][_STATE] = limit.take((caller.principal.tenant_id, caller.principal.id))


def add_headers(limit: RateLimit | None) -> Callable[[ASGIApp], ASGIApp]:
    """Litestar's middleware that adds rate and trace to every answer, to streams and refusals too."""
    policy = b"" if limit is None else limit.policy.encode()

    def wrap(app: ASGIApp) -> ASGIApp:
        async def told(scope: Scope, receive: Receive, send: Send) -> None:
            async def add(message: Message) -> None:
                if message["type"] == "http.response.start":
                    state = scope.get("state", {})
                    headers = list(message.get("headers", ()))
                    if (left := state.get(_STATE)) is not None:
                        headers += (b"ratelimit-policy", policy), (b"ratelimit", left.encode())
                    if (trace := state.get(TRACE_STATE)) is not None:
                        headers.append((b"traceparent", trace_header(trace).encode()))
                    message["headers"] = headers
                await send(message)

            await app(scope, receive, add)

        return told

    return wrap


def trace_header(trace: TraceId) -> str:
    """The `traceparent` of an answer; the node has one span for each trace, named by the first half of its id."""
    first, second = bytes.fromhex(trace)[:SPAN_BYTES], bytes.fromhex(trace)[SPAN_BYTES:]
    return render_traceparent(trace, first if any(first) else second)
