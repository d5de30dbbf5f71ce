"""A node's folder as the desk of a service on the same machine: read beside a running server, written in turns.

Whoever restores through here takes the node's writer's place for that moment; where a server holds it, people answer
at the server's own desk, and the service sees their answer.
"""

from contextlib import ExitStack
from pathlib import Path
from threading import Lock

from assay.flows.service_desk import NodeDesk
from assay.identity.principal import Principal
from assay.kernel.ids import TenantId, parse_tenant_id
from assay.kernel.instant import Instant
from assay.ports.service_desk import Caller
from assay.registry.trip import Fired, Restored
from assay.wiring import open_node

__all__ = ["FolderDesk"]


class FolderDesk:
    """Implements `ports.service_desk.ServiceDesk`; `close` it."""

    def __init__(self, folder: Path, *, tenant: str | None = None) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._writing = Lock()
        tools, config = self._stack.enter_context(open_node(folder, writable=False))
        self._tenant: TenantId = parse_tenant_id(tenant or config.node.tenant)
        self._reading = NodeDesk(tools=tools, tenant_id=self._tenant)

    def close(self) -> None:
        self._stack.close()

    def find_caller(self, credential: str, *, at: Instant) -> Caller | None:
        return self._reading.find_caller(credential, at=at)

    def find_principal(self, principal_id: str, *, asked_by: Caller) -> Principal | None:
        return self._reading.find_principal(principal_id, asked_by=asked_by)

    def tell_fired(self, fired: Fired, *, at: Instant) -> None:
        with self._writing, open_node(self._folder) as (tools, _):
            NodeDesk(tools=tools, tenant_id=self._tenant).tell_fired(fired, at=at)

    def find_restored(self, fired: Fired) -> Restored | None:
        return self._reading.find_restored(fired)

    def restore(self, fired: Fired, *, credential: str, at: Instant) -> Restored:
        with self._writing, open_node(self._folder) as (tools, _):
            return NodeDesk(tools=tools, tenant_id=self._tenant).restore(fired, credential=credential, at=at)
