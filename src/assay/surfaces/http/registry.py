"""The node as a registry: the protocol's own endpoints, mounted as they are, and the round that looks at services."""

from litestar import asgi
from litestar.handlers import ASGIRouteHandler
from litestar.types import Receive, Scope, Send

from assay.config import Config
from assay.flows.tools import Tools
from assay.kernel.ids import parse_tenant_id
from assay.registry.manifest import DEFAULT_PREFIX
from assay.surfaces.forja.registry_app import RegistryApp
from assay.surfaces.http.desk import Desk
from assay.surfaces.http.guard import OPEN

__all__ = ["WATCH_SECONDS", "mount_registry", "open_registry", "watch_registry"]

WATCH_SECONDS = 5


def open_registry(tools: Tools, config: Config) -> RegistryApp:
    """Services announce themselves in the node's own tenant."""
    return RegistryApp(tools=tools, tenant_id=parse_tenant_id(config.node.tenant))


def mount_registry(registry: RegistryApp) -> ASGIRouteHandler:
    """Open, as the protocol has it: an announce proves itself by its signature."""

    @asgi(DEFAULT_PREFIX, is_mount=True, opt=OPEN, copy_scope=True)
    async def forja(scope: Scope, receive: Receive, send: Send) -> None:
        await registry(scope, receive, send)  # type: ignore[arg-type]  # Litestar's names for the same three things

    return forja


def watch_registry(desk: Desk) -> None:
    """One round: does every service serve what it declares, and who is gone."""
    from assay.adapters.service_client import HttpServiceClient

    if desk.registry is None:
        return
    with HttpServiceClient() as client:
        desk.registry.watch(client)
