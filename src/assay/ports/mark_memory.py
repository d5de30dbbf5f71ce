"""How far an earlier verification got, so that the next one costs only what is new."""

from typing import Protocol

from assay.kernel.ids import TenantId


class MarkMemory(Protocol):
    """Keeps one signed mark per tenant; losing it costs time, never safety."""

    def load(self, tenant_id: TenantId) -> bytes | None: ...

    def store(self, tenant_id: TenantId, content: bytes) -> None: ...

    def can_store(self) -> bool:
        """Whether a mark may be left; not on a read-only medium."""
        ...
