"""Which weights this process has measured, and the entry of each tenant's ledger that says so."""

from threading import Lock

from msgspec import Struct

from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId


class Measured(Struct, frozen=True, kw_only=True):
    model_weight_hash: Digest
    entry_hash: Digest


class MeasuredShelf:
    """`turn` is held while something is measured, so that it is done once."""

    def __init__(self) -> None:
        self.turn = Lock()
        self._measured: dict[TenantId, Measured] = {}

    def find(self, tenant_id: TenantId, weights: Digest) -> Measured | None:
        found = self._measured.get(tenant_id)
        return found if found is not None and found.model_weight_hash == weights else None

    def find_any(self, tenant_id: TenantId) -> Measured | None:
        return self._measured.get(tenant_id)

    def put(self, tenant_id: TenantId, measured: Measured) -> None:
        self._measured[tenant_id] = measured
