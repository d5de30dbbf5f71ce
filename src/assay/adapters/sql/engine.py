"""The writer's engine: one transaction at a time on one connection, on either database.

begin -> run (an append, or a unit of work in a savepoint) -> flush the chains -> commit -> tell subscribers
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from assay.adapters.sql.chains import Chains, Mark
from assay.adapters.sql.errors import TransactionLostError
from assay.adapters.sql.outbox_store import SqlOutboxStore
from assay.adapters.sql.rows import RowCache, Rows
from assay.adapters.sql.session import SqlSession
from assay.adapters.sql.unit import SqlUnit
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.ledger import Prepared, Receipt
from assay.ports.credential_seal import CredentialSeal
from assay.ports.database import Unit
from assay.ports.projection import Projector

Notify = Callable[[TenantId, int], None]


class Transactions(Protocol):
    """How the database begins and ends transactions; `commit` returns when the disk has it."""

    def begin(self) -> None: ...

    def is_open(self) -> bool:
        """Whether statements still run inside the transaction; a database may end it by itself."""
        ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...


class Subscribers:
    """Who wants to know that a tenant has news; they are told a position and fetch the events themselves."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: tuple[Notify, ...] = ()

    def add(self, notify: Notify) -> Callable[[], None]:
        with self._lock:
            self._all = (*self._all, notify)
        return lambda: self._remove(notify)

    def tell(self, news: dict[TenantId, int]) -> None:
        for tenant_id, position in news.items():
            for notify in self._all:
                # What was committed stays committed: a subscriber that fails misses the news, and reads it later.
                with suppress(Exception):
                    notify(tenant_id, position)

    def _remove(self, notify: Notify) -> None:
        with self._lock:
            self._all = tuple(one for one in self._all if one is not notify)


class SqlEngine:
    """Implements `group_commit.Engine`."""

    def __init__(
        self,
        session: SqlSession,
        transactions: Transactions,
        subscribers: Subscribers,
        projector: Projector,
        cache: RowCache,
        *,
        holder: str,
        seal: CredentialSeal | None = None,
    ) -> None:
        self._session = session
        self._transactions = transactions
        self._subscribers = subscribers
        self._projector = projector
        self._chains = Chains(
            holder, lambda one, tenant_id: SqlOutboxStore(Rows(one, projector, cache)).newest(tenant_id)
        )
        self._unit: Unit = SqlUnit(session, self._chains, projector, cache, seal)
        self._news: dict[TenantId, int] = {}
        self._is_broken = False

    def begin(self) -> None:
        self._is_broken = False
        self._transactions.begin()

    def run(self, job: Prepared | Callable[[Unit], Any]) -> Receipt | Any:  # noqa: ANN401 - a unit of work answers what it likes
        if isinstance(job, Prepared):
            draft = job.draft
            if not self._projector.has_rows(draft.kind):
                return self._chains.append(self._session, job)
            return self._run_unit(lambda unit: unit.record(draft))
        return self._run_unit(job)

    def commit(self) -> None:
        self._require_transaction()
        self._news = self._chains.flush(self._session)
        self._transactions.commit()
        self._chains.settle()

    def rollback(self) -> None:
        self._news = {}
        self._chains.forget()
        self._transactions.rollback()

    def announce(self) -> None:
        news, self._news = self._news, {}
        self._subscribers.tell(news)

    def _run_unit(self, work: Callable[[Unit], Any]) -> Any:  # noqa: ANN401 - a unit of work answers what it likes
        self._require_transaction()
        mark = self._chains.mark()
        self._session.run("SAVEPOINT unit")
        try:
            answer = work(self._unit)
        except BaseException:
            self._undo_unit(mark)
            raise
        self._session.run("RELEASE SAVEPOINT unit")
        return answer

    def _undo_unit(self, mark: Mark) -> None:
        self._chains.return_to(mark)
        try:
            self._session.run("ROLLBACK TO SAVEPOINT unit")
            self._session.run("RELEASE SAVEPOINT unit")
        except Error:
            # The unit's own error is the one to tell; what could not be undone must not be committed.
            self._is_broken = True

    def _require_transaction(self) -> None:
        # Without this a statement after a lost transaction would be a commit of its own, with half a batch in it.
        if self._is_broken or not self._transactions.is_open():
            raise TransactionLostError("the database ended the transaction by itself; nothing of it was kept")
