"""`/metrics`, and the middleware that times every request.

The figures are about the whole node, all tenants together, so only the node's own tenant may look.
Where the database hangs or is away, its own are left out, and those that the process counts are shown all the same.
"""

import asyncio
from collections.abc import Callable
from time import perf_counter

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.types import ASGIApp, Message, Receive, Scope, Send
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from assay.adapters.group_commit import BusyError
from assay.adapters.sql.errors import ConnectionLostError, UnavailableError
from assay.flows.identity.authenticate import Authenticated
from assay.identity.authorise import require_same_tenant
from assay.identity.principal import BuiltInRole
from assay.kernel.ids import parse_tenant_id
from assay.surfaces.http.describe import described, problems
from assay.surfaces.http.desk import Desk, GivenDesk
from assay.surfaces.http.figures import Metrics
from assay.surfaces.http.guard import OPEN, allow

_PATIENCE_SECONDS = 5.0
_RESPONSES = {200: described("figures in the Prometheus text format", media_type="text/plain")}


class StoredFigures:
    """What the database knows, by one look at a time: one that hangs is waited for again and not repeated."""

    def __init__(self) -> None:
        self._look: asyncio.Task[bytes] | None = None

    async def text(self, desk: Desk) -> bytes:
        """Nothing where the database cannot be reached, or gives no answer in time."""
        if self._look is None or self._look.done():
            self._look = asyncio.create_task(desk.probe(lambda: generate_latest(desk.metrics.stored)))
            # Where nobody waits any more when it fails, nobody need be told.
            self._look.add_done_callback(lambda look: look.cancelled() or look.exception())
        done, _ = await asyncio.wait({self._look}, timeout=_PATIENCE_SECONDS)
        try:
            return b"".join([look.result() for look in done])
        except (BusyError, ConnectionLostError, UnavailableError):
            return b""


@get(
    "/metrics",
    opt=allow(scope="metrics:read", roles=[BuiltInRole.AUDITOR, BuiltInRole.OPERATOR]),
    responses={**_RESPONSES, **problems(401, 403, 404)},
    media_type="text/plain",
)
async def show_metrics(
    desk: GivenDesk, caller: NamedDependency[Authenticated], stored: NamedDependency[StoredFigures]
) -> Response[bytes]:
    """Figures for Prometheus, for auditors and operators of the node's own tenant."""
    require_same_tenant(caller.principal, parse_tenant_id(desk.config.node.tenant))
    return await _render(desk, stored)


@get("/metrics", opt=OPEN, security=[{}], responses=_RESPONSES, media_type="text/plain")
async def open_metrics_route(desk: GivenDesk, stored: NamedDependency[StoredFigures]) -> Response[bytes]:
    """The same for everybody, when the operator has configured `http.open_metrics`."""
    return await _render(desk, stored)


def measure_requests(metrics: Metrics) -> Callable[[ASGIApp], ASGIApp]:
    """Litestar's middleware that times each request under its route's template, so that labels stay few."""

    def wrap(app: ASGIApp) -> ASGIApp:
        async def measured(scope: Scope, receive: Receive, send: Send) -> None:
            status, began = "none", perf_counter()

            async def noted(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = str(message["status"])
                await send(message)

            try:
                await app(scope, receive, noted)
            finally:
                route = scope.get("path_template") or "none"
                labels = metrics.requests.labels(method=scope.get("method"), route=route, status=status)
                labels.observe(perf_counter() - began)

        return measured

    return wrap


async def _render(desk: Desk, stored: StoredFigures) -> Response[bytes]:
    text = await stored.text(desk)
    return Response(
        generate_latest(desk.metrics.registry) + text,
        headers={"content-type": CONTENT_TYPE_LATEST, "cache-control": "no-store"},
    )
