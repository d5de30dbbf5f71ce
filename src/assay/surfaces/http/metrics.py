"""`/metrics`, and the middleware that times every request.

The figures are about the whole node, all tenants together, so only the node's own tenant may look.
"""

from collections.abc import Callable
from time import perf_counter

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.types import ASGIApp, Message, Receive, Scope, Send
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from assay.flows.identity.authenticate import Authenticated
from assay.identity.authorise import require_same_tenant
from assay.identity.principal import BuiltInRole
from assay.kernel.ids import parse_tenant_id
from assay.surfaces.http.describe import described, problems
from assay.surfaces.http.desk import Desk, GivenDesk
from assay.surfaces.http.figures import Metrics
from assay.surfaces.http.guard import OPEN, allow

__all__ = ["measure_requests", "open_metrics_route", "show_metrics"]

_RESPONSES = {200: described("figures in the Prometheus text format", media_type="text/plain")}


@get(
    "/metrics",
    opt=allow(scope="metrics:read", roles=[BuiltInRole.AUDITOR, BuiltInRole.OPERATOR]),
    responses={**_RESPONSES, **problems(401, 403, 404)},
    media_type="text/plain",
)
async def show_metrics(desk: GivenDesk, caller: NamedDependency[Authenticated]) -> Response[bytes]:
    """Figures for Prometheus, for auditors and operators of the node's own tenant."""
    require_same_tenant(caller.principal, parse_tenant_id(desk.config.node.tenant))
    return await _render(desk)


@get("/metrics", opt=OPEN, security=[{}], responses=_RESPONSES, media_type="text/plain")
async def open_metrics_route(desk: GivenDesk) -> Response[bytes]:
    """The same for everybody, when the operator has configured `http.open_metrics`."""
    return await _render(desk)


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


async def _render(desk: Desk) -> Response[bytes]:
    text = await desk.run(lambda: generate_latest(desk.metrics.registry))
    return Response(text, headers={"content-type": CONTENT_TYPE_LATEST, "cache-control": "no-store"})
