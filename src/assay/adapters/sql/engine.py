"""The writer's engine: one transaction at a time on one connection, on either database.

begin -> run (an append, or a unit of work in a savepoint) -> flush the chains -> commit -> tell subscribers
"""

import threading
from collections.abc import Callable
from typing import Any, Protocol

from assay.adapters.sql.chains import Chains
from assay.adapters.sql.session import SqlSession
from assay.adapters.sql.unit import SqlUnit
from assay.kernel.ids import TenantId
from assay.kernel.ledger import Prepared, Receipt
from assay.ports.database import Unit

__all__ = ["Notify", "SqlEngine", "Subscribers", "Transactions"]

Notify = Callable[[TenantId, int], None]


class Transactions(Protocol):
    """How the database begins and ends transactions; `commit` returns when the disk has it."""

    def begin(self) -> None: ...

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
                notify(tenant_id, position)

    def _remove(self, notify: Notify) -> None:
        with self._lock:
            self._all = tuple(one for one in self._all if one is not notify)


class SqlEngine:
    """Implements `group_commit.Engine`."""

    def __init__(
        self, session: SqlSession, transactions: Transactions, subscribers: Subscribers, *, holder: str
    ) -> None:
        self._session = session
        self._transactions = transactions
        self._subscribers = subscribers
        self._chains = Chains(holder)
        self._unit: Unit = SqlUnit(session, self._chains)
        self._news: dict[TenantId, int] = {}

    def begin(self) -> None:
        self._transactions.begin()

    def run(self, job: Prepared | Callable[[Unit], Any]) -> Receipt | Any:  # noqa: ANN401 - a unit of work answers what it likes
        if isinstance(job, Prepared):
            return self._chains.append(self._session, job)
        return self._run_unit(job)

    def commit(self) -> None:
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
        mark = self._chains.mark()
        self._session.run("SAVEPOINT unit")
        try:
            answer = work(self._unit)
        except BaseException:
            self._session.run("ROLLBACK TO SAVEPOINT unit")
            self._session.run("RELEASE SAVEPOINT unit")
            self._chains.return_to(mark)
            raise
        self._session.run("RELEASE SAVEPOINT unit")
        return answer
