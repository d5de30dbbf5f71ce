"""The application: every route, one guard, one form of refusal, one description of it all.

create_app(tools, config) -> Litestar; the caller opens the node before and closes it after
"""

from dataclasses import replace
from typing import Any

from litestar import Litestar, Request, Router, get
from litestar.config.cors import CORSConfig
from litestar.connection import ASGIConnection
from litestar.datastructures import State
from litestar.di import Provide
from litestar.handlers import BaseRouteHandler
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.spec import Components, SecurityScheme
from litestar.response import Redirect, Response
from litestar.types import ControllerRouterHandler

from assay import __version__
from assay.adapters.learn_types import learn_types
from assay.config import Config
from assay.flows.tools import Tools
from assay.operations.table import TABLE
from assay.ports.validator import Engines
from assay.surfaces.console.app import mount_console
from assay.surfaces.console.session import PREFIX
from assay.surfaces.http import (
    auth,
    auth_oidc,
    events,
    health,
    kaori,
    log,
    metrics,
    pramana,
    ski,
)
from assay.surfaces.http.desk import Desk, open_desk
from assay.surfaces.http.document import render_document
from assay.surfaces.http.errors import ContentEncodingError
from assay.surfaces.http.guard import OPEN, guard, provide_caller, provide_credential
from assay.surfaces.http.methods import NodeApp
from assay.surfaces.http.problem import answer_problem
from assay.surfaces.http.rate import add_headers, limit_rate
from assay.surfaces.http.registry import count_outcomes, mount_own, mount_registry, open_registry
from assay.surfaces.http.v1.derive import derive_routes


def require_plain_body(connection: ASGIConnection[Any, Any, Any, Any]) -> None:
    """`http.content_encoding` for a body that was packed, before any of it is read."""
    given = connection.headers.get("content-encoding", "identity")
    if given.strip().lower() != "identity":
        raise ContentEncodingError(f"expected a body without `Content-Encoding`, got `{given[:80]}`")


class _NoPages(Router):
    """Litestar would add pages of its own, which load scripts from elsewhere; we serve the one document."""

    def register(self, value: ControllerRouterHandler) -> list[Any]:  # noqa: ARG002 - taken and left out
        return []


@get("/", opt=OPEN, include_in_schema=False, status_code=307)
async def lead_to_console() -> Redirect:
    """Whoever opens the node's address in a browser is led to its pages."""
    return Redirect(f"{PREFIX}/", status_code=307)


@get("/openapi.json", opt=OPEN, include_in_schema=False)
async def show_openapi(request: Request[Any, Any, Any]) -> Response[bytes]:
    """The description of this interface, OpenAPI 3.1."""
    return Response(render_document(request.app), media_type="application/json")


def create_app(tools: Tools, config: Config, engines: Engines | None = None) -> Litestar:
    """The HTTP interface of an open node; nothing is started and nothing is closed by it."""
    tools = replace(tools, engines=engines)
    registry = open_registry(tools, config)
    desk = open_desk(tools, config, engines=engines, registry=registry)
    readiness, stored, rate = health.Readiness(tools), metrics.StoredFigures(), desk.dispatch.rate

    async def provide_desk() -> Desk:
        return desk

    async def provide_readiness() -> health.Readiness:
        return readiness

    async def provide_stored() -> metrics.StoredFigures:
        return stored

    app = NodeApp(
        route_handlers=[
            *every_route(open_metrics=config.http.open_metrics, open_sovereignty=config.http.open_sovereignty),
            mount_registry(registry),
            mount_own(registry),
            mount_console(desk),
        ],
        state=State({"desk": desk, "rate": rate}),
        dependencies={
            "desk": Provide(provide_desk),
            "readiness": Provide(provide_readiness),
            "stored": Provide(provide_stored),
            "caller": Provide(provide_caller),
            "credential": Provide(provide_credential),
        },
        guards=[_let_in],
        middleware=[metrics.measure_requests(desk.metrics), count_outcomes(registry.own), add_headers(rate)],
        cors_config=_cors(config),
        exception_handlers={Exception: answer_problem},
        openapi_config=_openapi(),
        request_max_body_size=config.http.max_body_bytes,
        logging_config=None,
        debug=False,
    )
    # Last, since the framework makes types of its own for each route.
    learn_types()
    return app


async def _let_in(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """One guard that asks all: for each, Litestar would make a copy of the whole route."""
    await guard(connection, handler)
    await limit_rate(connection, handler)
    require_plain_body(connection)


# What each room answers; the order is that of the description.
_IDENTITY: tuple[ControllerRouterHandler, ...] = (
    auth.start_session,
    auth.show_session,
    auth.end_session,
    auth_oidc.start_login,
    auth_oidc.finish_login,
)


_LEDGER: tuple[ControllerRouterHandler, ...] = (
    health.is_alive,
    health.is_ready,
    lead_to_console,
    show_openapi,
    auth.show_who,
    log.show_checkpoint,
    log.show_tile,
)


_TRUTH: tuple[ControllerRouterHandler, ...] = (
    kaori.list_observations,
    kaori.record_observations,
    kaori.show_state,
    kaori.show_state_history,
    kaori.verify_state,
    kaori.record_vote,
    kaori.show_snapshot,
    kaori.show_agent,
    kaori.list_signals,
    kaori.record_new_signal,
)


_VERDICTS: tuple[ControllerRouterHandler, ...] = (
    ski.show_judge_health,
    ski.show_canary,
    ski.load_knowledge_graph,
    ski.evaluate_telemetry,
    ski.list_recorded_verdicts,
)


_DELIVERY: tuple[ControllerRouterHandler, ...] = (
    pramana.show_pramana_state,
    pramana.show_entity_state,
    pramana.show_user_trust,
    pramana.answer_question,
    pramana.resume_held_answer,
    pramana.record_phala,
    pramana.show_pairs,
    pramana.forward_foreign_phala,
    events.stream_events,
    events.stream_sense,
    pramana.emit_sense,
)


def every_route(*, open_metrics: bool = False, open_sovereignty: bool = False) -> list[ControllerRouterHandler]:
    """In the order of the description; what is mounted beside them describes itself."""
    shown = metrics.open_metrics_route if open_metrics else metrics.show_metrics
    attested = ski.open_sovereignty_route if open_sovereignty else ski.show_sovereignty
    return [
        shown,
        attested,
        *_LEDGER,
        *_IDENTITY,
        *_TRUTH,
        *_VERDICTS,
        *_DELIVERY,
        *derive_routes(TABLE),
    ]


# What a page of another origin may read of an answer besides its body.
_EXPOSED = (
    "assay-confidence-now",
    "assay-entry-hash",
    "assay-is-expired",
    "assay-is-kept",
    "assay-is-new",
    "assay-is-stale",
    "assay-sequence-number",
    "assay-tickets",
    "assay-version",
    "etag",
    "link",
    "location",
    "ratelimit",
    "ratelimit-policy",
    "retry-after",
)


def _cors(config: Config) -> CORSConfig | None:
    """Closed unless the operator names origins; a credential is a header that a page has to set itself."""
    if not config.http.cors_origins:
        return None
    return CORSConfig(
        allow_origins=list(config.http.cors_origins),
        allow_methods=["GET", "HEAD", "POST", "PUT", "DELETE"],
        allow_headers=["authorization", "content-type", "idempotency-key", "if-match", "if-none-match", "x-api-key"],
        expose_headers=[*_EXPOSED],
        allow_credentials=False,
        max_age=600,
    )


def _openapi() -> OpenAPIConfig:
    return OpenAPIConfig(
        title="Assay",
        version=__version__,
        use_handler_docstrings=True,
        openapi_router=_NoPages("/openapi", route_handlers=[]),
        security=[{"bearer": []}, {"api_key": []}],
        components=Components(
            security_schemes={
                "bearer": SecurityScheme(type="http", scheme="bearer", description="an API key or a session token"),
                "api_key": SecurityScheme(type="apiKey", name="x-api-key", security_scheme_in="header"),
            }
        ),
    )
