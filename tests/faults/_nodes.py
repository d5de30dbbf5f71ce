"""Nodes to damage: made on either database, copied with their database, opened when their writer's place is free."""

import re
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Protocol

import psycopg

from assay.adapters.clock import SystemClock
from assay.adapters.postgres.provision import provision
from assay.adapters.sql.errors import WriterHeldError
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.ledger.audit_mark import AuditReport
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind, draft_entry
from assay.wiring import CONFIG_FILE, init_node, open_node
from tests.faults._children import wait_until
from tests.postgres_cluster import PostgresCluster

__all__ = ["TENANT", "Place", "PostgresPlace", "SqlitePlace", "append_notes", "audit", "entry_hashes", "open_when_free"]

TENANT = TenantId("default")
_APP_ROLE = "assay_app"
_FREE_SECONDS = 30.0
_TABLES = ("ledger", "chain", "subtree", "tile", "checkpoint", "key_fact", "transcript")


class Place(Protocol):
    """Where nodes of one kind of database live."""

    def found(self) -> Path:
        """A new node; the answer is its folder."""
        ...

    def copy(self, node: Path) -> Path:
        """Another node with the same content, to be used until the next copy; nobody may be writing to the first."""
        ...

    def tamper(self, node: Path, *statements: str) -> None:
        """Run statements with every right there is, after switching the triggers off."""
        ...


class SqlitePlace:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count(1)

    def found(self) -> Path:
        node = self._next()
        init_node(node)
        return node

    def copy(self, node: Path) -> Path:
        return Path(shutil.copytree(node, self._next()))

    def tamper(self, node: Path, *statements: str) -> None:
        connection = sqlite3.connect(node / "assay.db", isolation_level=None)
        connection.execute("BEGIN")
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        connection.execute("COMMIT")
        connection.close()

    def _next(self) -> Path:
        return self._folder / f"node-{next(self._numbers)}"


class PostgresPlace:
    """Copies share one database: making the next one ends the one before. A database for each would take minutes."""

    def __init__(self, folder: Path, cluster: PostgresCluster) -> None:
        self._folder = folder
        self._cluster = cluster
        self._numbers = count(1)
        self._copies: dict[Path, dict[str, bytes]] = {}
        self._shared: str | None = None

    def found(self) -> Path:
        node = self._next()
        init_node(node, database=self._cluster.dsn(self._provision(), _APP_ROLE))
        return node

    def copy(self, node: Path) -> Path:
        content = self._copies.get(node) or self._read(self.database(node))
        self._shared = self._shared or self._provision()
        self._write(self._shared, content)
        copied = Path(shutil.copytree(node, self._next()))
        config = copied / CONFIG_FILE
        config.write_text(config.read_text().replace(self.database(node), self._shared))
        self._copies[copied] = content
        return copied

    def tamper(self, node: Path, *statements: str) -> None:
        with self._connect(self.database(node)) as connection, connection.transaction():
            _switch_triggers(connection, "DISABLE")
            for statement in statements:
                connection.execute(statement.encode())

    @staticmethod
    def database(node: Path) -> str:
        found = re.search(r'url = "[^"]*/([^/"]+)"', (node / CONFIG_FILE).read_text())
        assert found is not None
        return found[1]

    def _provision(self) -> str:
        database = self._cluster.create_database()
        provision(self._cluster.dsn(database), at=SystemClock().now(), app_role=_APP_ROLE)
        return database

    def _connect(self, database: str) -> "psycopg.Connection[tuple[object, ...]]":
        return psycopg.connect(self._cluster.dsn(database), autocommit=True, options="-c search_path=assay")

    def _read(self, database: str) -> dict[str, bytes]:
        content = {}
        with self._connect(database) as connection:
            for table in _TABLES:
                with connection.cursor().copy(f"COPY {table} TO STDOUT (FORMAT binary)".encode()) as copy:
                    content[table] = b"".join(bytes(part) for part in copy)
        return content

    def _write(self, database: str, content: dict[str, bytes]) -> None:
        with self._connect(database) as connection:
            wait_until(lambda: connection.execute(_OTHERS.encode()).fetchone() == (0,), "the copy before was let go")
            with connection.transaction():
                self._replace(connection, content)

    @staticmethod
    def _replace(connection: "psycopg.Connection[tuple[object, ...]]", content: dict[str, bytes]) -> None:
        _switch_triggers(connection, "DISABLE")
        connection.execute(f"TRUNCATE {', '.join(_TABLES)}".encode())
        for table, rows in content.items():
            with connection.cursor().copy(f"COPY {table} FROM STDIN (FORMAT binary)".encode()) as copy:
                copy.write(rows)
        _switch_triggers(connection, "ENABLE ALWAYS")

    def _next(self) -> Path:
        return self._folder / f"node-{next(self._numbers)}"


def _switch_triggers(connection: "psycopg.Connection[tuple[object, ...]]", how: str) -> None:
    for table, trigger in connection.execute(_TRIGGERS.encode()).fetchall():
        connection.execute(f"ALTER TABLE {table} {how} TRIGGER {trigger}".encode())


_TRIGGERS = "SELECT tgrelid::regclass::text, tgname FROM pg_trigger WHERE NOT tgisinternal"
_OTHERS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


@contextmanager
def open_when_free(node: Path) -> Iterator[Tools]:
    """Open as the writer; a server needs a moment to notice that the writer before was killed."""
    deadline = time.monotonic() + _FREE_SECONDS
    with ExitStack() as stack:
        while (tools := _try_to_open(stack, node)) is None:
            assert time.monotonic() < deadline, "the writer's place was never freed"
            time.sleep(0.01)
        yield tools


def _try_to_open(stack: ExitStack, node: Path) -> Tools | None:
    try:
        tools, _ = stack.enter_context(open_node(node))
    except WriterHeldError:
        return None
    return tools


def entry_hashes(tools: Tools) -> dict[int, str]:
    return tools.database.read(
        lambda unit: {row.sequence_number: row.entry_hash for row in unit.ledger.entries(TENANT)}
    )


def audit(node: Path, *, full: bool = True) -> AuditReport:
    """As an auditor does: without writing, and without start-up's own comparison."""
    with open_node(node, writable=False) as (tools, _):
        return audit_ledger(tools, TENANT, full=full)


def append_notes(tools: Tools, *, up_to: int) -> None:
    """Entries until the ledger has so many, through one commit or a few."""
    size = tools.database.read(lambda unit: unit.ledger.head(TENANT).sequence_number)
    drafts = [
        draft_entry(TENANT, EntryKind.NOTE, {"number": number}, at=tools.clock.now())
        for number in range(size + 1, up_to + 1)
    ]
    waiting = [tools.database.submit(draft) for draft in drafts]
    for one in waiting:
        one.result()
