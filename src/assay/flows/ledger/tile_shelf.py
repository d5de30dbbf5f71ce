"""Sealed tiles kept between proofs: a full tile never changes, and expanding one costs most of a proof.

borrow (one thread at a time) -> the tenant's cache, reading through the borrower's unit of work -> give back
Only for making proofs: whoever must know what lies in the database now (an audit, a signature) reads it anew.
"""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from assay.kernel.ids import TenantId
from assay.kernel.tile import TileCache
from assay.ports.database import Unit

_TENANTS = 8  # with 1024 full tiles each, about 140 MB when every tenant is large


class _Place:
    """One tenant's cache; its reads go through whichever unit of work has borrowed it."""

    __slots__ = ("cache", "unit")

    def __init__(self, tenant_id: TenantId) -> None:
        self.unit: Unit | None = None
        self.cache = TileCache(lambda *place: self._borrower().ledger.tile(tenant_id, *place))

    def _borrower(self) -> Unit:
        assert self.unit is not None, "a cache reads only while it is borrowed"  # noqa: S101 - by construction
        return self.unit


class TileShelf:
    """The tile caches of one database, a tenant each; those of the tenants asked for least recently go first.

    A shelf belongs to one database: the tiles of another would be taken for its own.
    """

    def __init__(self, tenants: int = _TENANTS) -> None:
        self._tenants = tenants
        self._places: OrderedDict[TenantId, _Place] = OrderedDict()
        # Proofs compute more than they wait, so one at a time costs nothing; the cache itself allows no more.
        self._lock = Lock()

    @contextmanager
    def borrow(self, unit: Unit, tenant_id: TenantId) -> Iterator[TileCache]:
        """The tenant's cache, for this unit of work alone until the block ends."""
        with self._lock:
            place = self._places.setdefault(tenant_id, _Place(tenant_id))
            self._places.move_to_end(tenant_id)
            if len(self._places) > self._tenants:
                self._places.popitem(last=False)
            place.unit = unit
            try:
                yield place.cache
            finally:
                place.unit = None
