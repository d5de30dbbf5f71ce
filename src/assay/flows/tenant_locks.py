"""One lock for each tenant: what must not happen twice at once for the same ledger."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from assay.kernel.ids import TenantId


class TenantLocks:
    """Locks made when first asked for; tenants are few, so none is ever dropped."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._locks: dict[TenantId, Lock] = {}

    @contextmanager
    def hold(self, tenant_id: TenantId) -> Iterator[None]:
        """Wait until nobody else holds this tenant's lock, in this process."""
        with self._guard:
            lock = self._locks.setdefault(tenant_id, Lock())
        with lock:
            yield
