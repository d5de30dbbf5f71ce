"""What this process has verified and need not verify again: signatures of votes, states and buffered records."""

from collections import OrderedDict
from collections.abc import Iterable
from threading import Lock

from msgspec import Struct

from assay.kernel.ids import TenantId

_REMEMBERED = 1 << 17


class VouchedRows:
    """Which rows were verified in this process; the least recently used are dropped first.

    By a hash that nobody who writes to the database can aim at, since every process has its own.
    """

    def __init__(self, most: int = _REMEMBERED) -> None:
        self._most = most
        self._seen: OrderedDict[tuple[TenantId, int], None] = OrderedDict()
        self._lock = Lock()

    def unseen(self, tenant_id: TenantId, rows: Iterable[Struct]) -> list[Struct]:
        with self._lock:
            return [row for row in rows if not self._is_seen((tenant_id, hash(row)))]

    def add(self, tenant_id: TenantId, rows: Iterable[Struct]) -> None:
        with self._lock:
            self._seen.update(((tenant_id, hash(row)), None) for row in rows)
            while len(self._seen) > self._most:
                self._seen.popitem(last=False)

    def _is_seen(self, place: tuple[TenantId, int]) -> bool:
        if place not in self._seen:
            return False
        self._seen.move_to_end(place)
        return True
