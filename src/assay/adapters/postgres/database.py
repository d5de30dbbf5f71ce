"""The PostgreSQL database: one writer thread with group commit, a pool of readers, and a lock that fences others."""

import os
import platform
from collections.abc import Callable
from typing import TypeVar

from assay.adapters.group_commit import ClosedError, GroupCommit
from assay.adapters.postgres._driver import psycopg
from assay.adapters.postgres.connection import Connection, open_connection, verify_address
from assay.adapters.postgres.readers import Readers
from assay.adapters.postgres.server import (
    durability,
    pin_durability,
    take_writer_lock,
    verify_role,
    verify_schema,
)
from assay.adapters.postgres.session import PostgresSession
from assay.adapters.sql.engine import Notify, SqlEngine, Subscribers
from assay.adapters.sql.errors import TransactionLostError
from assay.adapters.sql.ledger_store import ReadOnlyError
from assay.adapters.sql.migrate import load_migrations, schema_version
from assay.adapters.sql.rows import RowCache
from assay.adapters.sql.storable import verify_storable
from assay.adapters.sql.unit import SqlUnit
from assay.adapters.waiting import Waiting
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, Receipt, prepare, size_of
from assay.ports.credential_seal import CredentialSeal
from assay.ports.database import DatabaseFacts, Unit
from assay.ports.projection import Projector

T = TypeVar("T")
PACKAGE = "assay.adapters.postgres"


class PostgresDatabase:
    """Implements `ports.database.Database` on a database that `provision` has prepared."""

    def __init__(
        self,
        dsn: str,
        projector: Projector,
        *,
        at: Instant | None = None,  # noqa: ARG002 - every database is opened alike; here `provision` dates the schema
        writable: bool = True,
        seal: CredentialSeal | None = None,
        unsafe_durability_off: bool = False,
        unsafe_strong_role: bool = False,
    ) -> None:
        """Open, check version, settings and role, and when writable fence others and start the writer.

        `projector` says which rows follow from which entries, `seal` makes and checks the MACs of credentials.

        `unsafe_durability_off` gives up durability, `unsafe_strong_role` the promise that this process cannot rewrite
        the ledger; neither belongs in production.
        """
        self._projector = projector
        self._seal = seal
        self._cache = RowCache()
        self._subscribers = Subscribers()
        self._readers = Readers(dsn)
        self._commits: GroupCommit | None = None
        self._connection: Connection | None = None
        self._closed = False
        self._location = _location(dsn)
        try:
            self._readers.use(lambda session: verify_schema(session, load_migrations(PACKAGE)))
            if writable:
                self._start_writer(
                    dsn, unsafe_durability_off=unsafe_durability_off, unsafe_strong_role=unsafe_strong_role
                )
        except BaseException:
            self.close()
            raise

    def append(self, draft: Draft) -> Receipt:
        return self.submit(draft).result()

    def submit(self, draft: Draft) -> Waiting[Receipt]:
        verify_storable(draft)
        return self._writer().submit(prepare(draft), size=size_of(draft))

    def write(self, work: Callable[[Unit], T]) -> T:
        waiting: Waiting[T] = self._writer().submit(work)
        return waiting.result()

    def read(self, work: Callable[[Unit], T]) -> T:
        self._require_open()
        return self._readers.use(lambda session: work(SqlUnit(session, None, self._projector, self._cache, self._seal)))

    def subscribe(self, notify: Notify) -> Callable[[], None]:
        return self._subscribers.add(notify)

    def scrub(self) -> bool:
        """Never done at once: the schema has the server's autovacuum remove erased rows at its next round.

        The write-ahead log, its archive and backups keep them until they are recycled; that is the administrator's.
        """
        return False

    def facts(self) -> DatabaseFacts:
        self._require_open()
        commits = self._commits
        version, server, settings = self._readers.use(_look)
        return DatabaseFacts(
            engine="postgresql",
            engine_version=server,
            schema_version=version,
            location=self._location,
            writable=commits is not None,
            queue_length=commits.queue_length if commits else 0,
            commits=commits.commits if commits else 0,
            writes=commits.writes if commits else 0,
            settings=settings,
        )

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._commits is not None:
            self._commits.close()
        if self._connection is not None:
            self._connection.close()
        self._readers.close()

    def _start_writer(self, dsn: str, *, unsafe_durability_off: bool, unsafe_strong_role: bool) -> None:
        connection = self._connection = open_connection(dsn, application_name="assay writer")
        session = PostgresSession(connection)
        if not unsafe_strong_role:
            verify_role(session)
        pin_durability(session, unsafe_durability_off=unsafe_durability_off)
        take_writer_lock(connection)
        engine = SqlEngine(
            session,
            _PostgresTransactions(connection),
            self._subscribers,
            self._projector,
            self._cache,
            seal=self._seal,
            holder=f"{platform.node()} pid {os.getpid()}",
        )
        self._commits = GroupCommit(engine)

    def _writer(self) -> GroupCommit:
        if self._commits is None:
            self._require_open()
            raise ReadOnlyError(f"`{self._location}` was opened for reading only")
        return self._commits

    def _require_open(self) -> None:
        if self._closed:
            raise ClosedError("the database was closed")


class _PostgresTransactions:
    """Implements `engine.Transactions`: COMMIT returns after the flush, since synchronous_commit is on.

    The driver's errors are left as they are: group commit turns them into `store.commit_failed` and stops.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def begin(self) -> None:
        self._connection.execute("BEGIN")

    def is_open(self) -> bool:
        return self._connection.pgconn.transaction_status == psycopg.pq.TransactionStatus.INTRANS

    def commit(self) -> None:
        # The server answers COMMIT of a failed transaction with ROLLBACK and no error.
        if self._connection.execute("COMMIT").statusmessage != "COMMIT":
            raise TransactionLostError("expected the server to commit, got a rollback")

    def rollback(self) -> None:
        self._connection.execute("ROLLBACK")


def _look(session: PostgresSession) -> tuple[int, str, dict[str, str]]:
    ((server,),) = session.query("SHOW server_version")
    return schema_version(session), str(server), durability(session)


def _location(dsn: str) -> str:
    """Where the database is, without what opens it."""
    verify_address(dsn)
    known = psycopg.conninfo.conninfo_to_dict(dsn)
    host, port = known.get("host") or "local", known.get("port") or "5432"
    return f"postgresql://{host}:{port}/{known.get('dbname') or ''}"
