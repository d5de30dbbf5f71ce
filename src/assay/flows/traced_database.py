"""A database for one request: every entry written through it carries the trace id of the request."""

from collections.abc import Callable
from typing import TypeVar

from assay.kernel.ids import TenantId
from assay.kernel.ledger import Draft, Receipt, traced
from assay.kernel.trace import TraceId
from assay.ports.database import Database, DatabaseFacts, Pending, Unit

T = TypeVar("T")


class TracedDatabase:
    """Implements `ports.database.Database`. Writers that share a unit of work write to `inner` (see `SharedUnit`)."""

    def __init__(self, inner: Database, trace: TraceId) -> None:
        self.inner = inner
        self.trace = trace

    def append(self, draft: Draft) -> Receipt:
        return self.inner.append(traced(draft, self.trace))

    def submit(self, draft: Draft) -> Pending[Receipt]:
        return self.inner.submit(traced(draft, self.trace))

    def write(self, work: Callable[[Unit], T]) -> T:
        def under_trace(unit: Unit) -> T:
            with unit.ledger.under(self.trace):
                return work(unit)

        return self.inner.write(under_trace)

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


def trace_of(database: Database) -> TraceId | None:
    """Return the trace id of the request that the database was wrapped for."""
    return database.trace if isinstance(database, TracedDatabase) else None


def untraced(database: Database) -> Database:
    """Return the database that requests share."""
    return database.inner if isinstance(database, TracedDatabase) else database
