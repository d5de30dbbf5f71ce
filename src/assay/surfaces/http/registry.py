"""The node as a registry and as one of its own services: the protocol's endpoints as they are, and their rounds."""

from collections.abc import Callable
from functools import partial
from ipaddress import ip_network

from litestar import asgi
from litestar.handlers import ASGIRouteHandler
from litestar.types import ASGIApp, Receive, Scope, Send

from assay.adapters.outgoing import OutgoingGuard, UnreachableAddressError
from assay.config import Config
from assay.flows.errors.delivery import AnswererError
from assay.flows.identity.authenticate import Authenticated
from assay.flows.tools import Tools
from assay.kernel.ids import parse_tenant_id
from assay.registry.announce import AnnouncePolicy
from assay.registry.manifest import DEFAULT_PREFIX
from assay.surfaces.forja.own import OwnService, open_own
from assay.surfaces.forja.passing import Passing
from assay.surfaces.forja.registry_app import RegistryApp
from assay.surfaces.http.desk import Desk
from assay.surfaces.http.guard import OPEN, asker_of
from assay.surfaces.http.problem import REFUSED_WITH

WATCH_SECONDS = 5
SWITCH_SECONDS = 1
_USUAL_PORT = 4585
# Whether the node is ready is an answer, and 503 an honest one.
_PROBES = frozenset({"/healthz", "/readyz"})


def open_registry(tools: Tools, config: Config) -> RegistryApp:
    """Services announce themselves in the node's own tenant, and the node is one of its own services."""
    tenant_id = parse_tenant_id(config.node.tenant)
    own = open_own(tools, tenant_id, port=config.http.port or _USUAL_PORT)
    heard = config.registry
    return RegistryApp(
        tools=tools,
        tenant_id=tenant_id,
        own=own,
        policy=AnnouncePolicy(max_skew_seconds=heard.max_skew_seconds),
        unsigned_networks=tuple(ip_network(one, strict=False) for one in heard.unsigned_networks),
        find_refusal=partial(_find_refusal, _guard(config)),
    )


def _guard(config: Config) -> OutgoingGuard:
    """Who may announce unsigned is fetched from where it announced, so those networks are listed too."""
    heard = config.registry
    return OutgoingGuard((*heard.service_networks, *heard.unsigned_networks))


def _find_refusal(guard: OutgoingGuard, url: str) -> str | None:
    try:
        guard.find_target(url)
    except UnreachableAddressError as error:
        return str(error)
    return None


def mount_registry(registry: RegistryApp) -> ASGIRouteHandler:
    """Open, as the protocol has it: an announce proves itself by its signature."""

    @asgi(DEFAULT_PREFIX, is_mount=True, opt=OPEN, copy_scope=True)
    async def forja(scope: Scope, receive: Receive, send: Send) -> None:
        await registry(scope, receive, send)  # type: ignore[arg-type]  # Litestar's names for the same three things

    return forja


def mount_own(registry: RegistryApp) -> ASGIRouteHandler:
    """The node's codex.json and agent card, where a crawler looks for them."""

    @asgi(["/codex.json", "/.well-known/agent-card.json"], opt=OPEN, copy_scope=True)
    async def own(scope: Scope, receive: Receive, send: Send) -> None:
        await registry.own(scope, receive, send)  # type: ignore[arg-type]  # the same

    return own


def count_outcomes(own: OwnService) -> Callable[[ASGIApp], ASGIApp]:
    """Litestar's middleware that counts each response and websocket of the node for its SENSE and its switch."""

    def wrap(app: ASGIApp) -> ASGIApp:
        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            passing = Passing(receive, send)  # type: ignore[arg-type]  # Litestar's names for the same two things
            try:
                await app(scope, passing.receive, passing.send)  # type: ignore[arg-type]  # the same
            except Exception:
                passing.broke()
                raise
            finally:
                path, status = _asked_path(scope), passing.status()
                if path not in _PROBES and status is not None:
                    own.observe(status, path, is_agent=_is_agent(scope), asker=_failed_asker(scope))

        return counted

    return wrap


def watch_registry(desk: Desk) -> None:
    """One round: does every service serve what it declares, and who is gone."""
    from assay.adapters.service_client import HttpServiceClient

    if desk.registry is None:
        return
    with HttpServiceClient(guard=_guard(desk.config)) as client:
        desk.registry.watch(client)


def tend_switch(desk: Desk) -> None:
    """One round: a firing of the node's own switch goes on record, and a restore is heard of."""
    if desk.registry is not None:
        desk.registry.own.service.tick()


def _asked_path(scope: Scope) -> str:
    """As it was sent: below a mount, Litestar's own `path` no longer has what it is mounted under."""
    raw = scope.get("raw_path") or scope["path"].encode()
    return raw.split(b"?")[0].decode("latin-1")


def _is_agent(scope: Scope) -> bool:
    caller = scope.get("user")
    return isinstance(caller, Authenticated) and not caller.principal.is_person()


def _failed_asker(scope: Scope) -> str | None:
    """Whose question an answerer failed on: what was asked may be why."""
    caller = scope.get("user")
    is_asked = scope.get("state", {}).get(REFUSED_WITH) == AnswererError.code
    return asker_of(caller.principal) if is_asked and isinstance(caller, Authenticated) else None
