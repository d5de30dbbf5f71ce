"""The last signed checkpoint, remembered outside the database it speaks of."""

from typing import Protocol

from assay.kernel.ids import TenantId


class CheckpointMemory(Protocol):
    """Survives a database that was rolled back, cut short or replaced: that is what it is for."""

    def tenants(self) -> tuple[TenantId, ...]: ...

    def load(self, tenant_id: TenantId) -> bytes | None: ...

    def store(self, tenant_id: TenantId, content: bytes) -> None:
        """Replace the note durably, all or nothing; one over fewer entries is refused with `checkpoint.shrinks`."""
        ...
