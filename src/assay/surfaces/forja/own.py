"""The node as a service among services: the same endpoints, the same switch, documents from its own stores.

requests of the node -> outcomes -> switch;   stores -> codex.json -> manifest, read anew when it is a second old
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from assay.flows.registry.node_memory import NodeMemory
from assay.flows.registry.own_service import Drift, own_codex, own_drift, own_proof
from assay.flows.registry.service_desk import NodeDesk
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.registry.health import classify
from assay.registry.open_manifest import open_manifest
from assay.surfaces.forja.act import Gate
from assay.surfaces.forja.app import ForjaApp
from assay.surfaces.forja.reply import Receive, Scope, Send
from assay.surfaces.forja.service import Service

_FRESH_SECONDS = 1.0


@dataclass(slots=True, eq=False)
class OwnService:
    """INVARIANT: manifest and drift, by which requests are answered, are at most a second older than the stores."""

    service: Service
    forja: ForjaApp
    load_codex: Callable[[], bytes]
    load_drift: Callable[[], Drift]
    drift: Drift = field(default=Drift(0, 0), init=False)
    _loaded: float = field(default_factory=time.monotonic, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.forja(scope, receive, send)

    def codex(self) -> bytes:
        content, self.drift = self.load_codex(), self.load_drift()
        self.service.manifest = open_manifest(content).manifest
        self._loaded = time.monotonic()
        return content

    def keep_fresh(self) -> None:
        with self._lock:
            if time.monotonic() - self._loaded > _FRESH_SECONDS:
                self.codex()

    def observe(self, status: int, path: str, *, is_agent: bool, asker: str | None = None) -> None:
        """Count one response of the node; never waits for storage. `asker` is as in `Service.observe`."""
        outcome = classify(status, path)
        if outcome is not None:
            self.service.observe(outcome, is_agent=is_agent, asker=asker)

    def tier_left(self, asker: str) -> int:
        """What the switch leaves to this one: whoever fails alone fires it for nobody else."""
        tier = self.service.power().active_tier
        return min(tier, self.service.rule.switch.fallback_tier) if self.service.fails_alone(asker) else tier


def open_own(tools: Tools, tenant_id: TenantId, *, port: int) -> OwnService:
    """The node's own service, on its own database and desk."""

    def load_codex() -> bytes:
        return own_codex(tools, tenant_id, port=port)

    service = Service(
        manifest=open_manifest(load_codex()).manifest,
        memory=NodeMemory(database=tools.database, clock=tools.clock),
        desk=NodeDesk(tools=tools, tenant_id=tenant_id),
        clock=tools.clock,
        entropy=tools.entropy,
        tenant_id=tenant_id,
        is_alone=True,
        latch=tools.latch,
        find_drift=lambda: own.drift,
    )
    forja = ForjaApp(
        Gate(service),
        lambda: own.codex(),  # noqa: PLW0108 - `own` is made below
        find_proof=lambda: own_proof(tools, tenant_id),
        refresh=lambda: own.keep_fresh(),  # noqa: PLW0108 - the same
    )
    own = OwnService(
        service=service, forja=forja, load_codex=load_codex, load_drift=lambda: own_drift(tools, tenant_id)
    )
    return own
