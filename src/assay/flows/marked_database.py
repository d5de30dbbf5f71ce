"""A database whose first write also notes under which key of a request it was made: both are durable, or neither."""

import threading
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from assay.flows.errors import RequestInHandError
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, Receipt
from assay.ports.database import Database, DatabaseFacts, Unit
from assay.ports.request_store import KeptRequest

T = TypeVar("T")


class MarkedDatabase:
    """Implements `ports.database.Database` for one request; `is_marked` once its key is durable."""

    def __init__(self, inner: Database, tenant_id: TenantId, begun: KeptRequest, *, expired_at: Instant) -> None:
        self.inner = inner
        self.tenant_id = tenant_id
        self.begun = begun
        self.is_marked = False
        self._expired_at = expired_at
        # Journeys may write from several threads; only one of them is the first.
        self._lock = threading.Lock()

    def append(self, draft: Draft) -> Receipt:
        return self.write(lambda unit: unit.record(draft))

    def submit(self, draft: Draft) -> "_Done[Receipt]":
        """Waits already: whoever asked holds a thread for the whole request."""
        return _Done(self.append(draft))

    def write(self, work: Callable[[Unit], T]) -> T:
        with self._lock:
            if not self.is_marked:
                return self._first(work)
        return self.inner.write(work)

    def _first(self, work: Callable[[Unit], T]) -> T:
        def marked(unit: Unit) -> T:
            self._mark(unit)
            return work(unit)

        done = self.inner.write(marked)
        self.is_marked = True
        return done

    def _mark(self, unit: Unit) -> None:
        """Where a twin in another process was first, nothing of this one is written."""
        unit.requests.forget(before=self._expired_at)
        if unit.requests.find(self.tenant_id, self.begun.principal_id, self.begun.request_key) is not None:
            raise RequestInHandError(f"`{self.begun.request_key[:80]}` was begun meanwhile: come again for its answer")
        self.begun = replace(self.begun, entry=unit.ledger.head(self.tenant_id).sequence_number)
        unit.requests.begin(self.tenant_id, self.begun)

    def read(self, work: Callable[[Unit], T]) -> T:
        return self.inner.read(work)

    def subscribe(self, notify: Callable[[TenantId, int], None]) -> Callable[[], None]:
        return self.inner.subscribe(notify)

    def scrub(self) -> bool:
        return self.inner.scrub()

    def facts(self) -> DatabaseFacts:
        return self.inner.facts()

    def close(self) -> None:
        self.inner.close()


class _Done(Generic[T]):
    """Implements `ports.database.Pending` of what is durable already."""

    def __init__(self, value: T) -> None:
        self._value = value

    def result(self, timeout: float | None = None) -> T:  # noqa: ARG002 - nothing is waited for
        return self._value

    def __await__(self) -> Generator[Any, None, T]:
        yield from ()
        return self._value

    def add_done_callback(self, callback: Callable[[], None]) -> None:
        callback()
