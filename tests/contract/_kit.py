"""A fresh database of either engine, and hands that reach behind the adapter."""

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import psycopg
import pytest

from assay.adapters.postgres.database import PostgresDatabase
from assay.adapters.postgres.provision import provision
from assay.adapters.sqlite.database import SqliteDatabase
from assay.facts.table import PROJECTOR
from assay.kernel.errors import Error
from assay.kernel.instant import parse_instant
from assay.ports.credential_seal import CredentialSeal
from assay.ports.database import Database
from assay.ports.projection import Projector
from tests.postgres_cluster import PostgresCluster

__all__ = ["AT", "Kit", "PostgresKit", "SqliteKit", "refused"]

AT = parse_instant("2026-01-07T12:00:00.25Z")
_ROOT = Path(__file__).parent.parent.parent
_ELSEWHERE = """
import sys
sys.path[:0] = {path!r}
from pathlib import Path
from assay.facts.table import PROJECTOR
from assay.kernel.errors import Error
from assay.kernel.instant import parse_instant
{imports}
try:
    database = {opening}
except Error as error:
    print(error.code)
else:
    print(database.read(lambda unit: len(unit.ledger.tenants())))
    database.close()
"""


@contextmanager
def refused(*codes: str) -> Iterator[None]:
    """What is done inside must be refused with one of these codes."""
    with pytest.raises(Error) as caught:
        yield
    assert caught.value.code in codes


class Kit(Protocol):
    """What the suite needs to know about an engine."""

    engine: str
    # An ordinary writer may not even try to change a row: the role is refused before the trigger.
    writer_may_try: bool

    def open(
        self, *, writable: bool = True, projector: Projector = PROJECTOR, seal: CredentialSeal | None = None
    ) -> Database: ...

    def open_elsewhere(self, *, writable: bool = True) -> str:
        """Open in another process; the answer is the code of its refusal, or the number of tenants it read."""
        ...

    def force(self, *statements: str) -> list[tuple[object, ...]]:
        """Run statements with the strongest hands there are, all protection left on; the last one's rows."""
        ...


class SqliteKit:
    """One file; whoever can write the file is as strong as it gets."""

    engine = "sqlite"
    writer_may_try = True

    def __init__(self, path: Path, *, like: Path | None = None) -> None:
        self.path = path
        if like is None:
            self.open().close()
        else:
            shutil.copyfile(like, path)

    def open(
        self, *, writable: bool = True, projector: Projector = PROJECTOR, seal: CredentialSeal | None = None
    ) -> Database:
        return SqliteDatabase(self.path, projector, at=AT, writable=writable, seal=seal)

    def open_elsewhere(self, *, writable: bool = True) -> str:
        return _run(
            "from assay.adapters.sqlite.database import SqliteDatabase",
            f"SqliteDatabase(Path({str(self.path)!r}), PROJECTOR, at=parse_instant('2026-01-07T12:00:00Z'),"
            f" writable={writable})",
        )

    def force(self, *statements: str) -> list[tuple[object, ...]]:
        # A connection of somebody else: none of the settings that ours are opened with.
        connection = sqlite3.connect(self.path)
        try:
            with connection:
                return [connection.execute(statement).fetchall() for statement in statements][-1]
        finally:
            connection.close()


class PostgresKit:
    """One database of the cluster; the superuser is as strong as it gets."""

    engine = "postgresql"
    writer_may_try = False

    def __init__(self, cluster: PostgresCluster, *, like: str | None = None) -> None:
        self.cluster = cluster
        self.name = cluster.create_database(like=like)
        if like is None:
            provision(cluster.dsn(self.name), at=AT)
        else:
            # The one thing of `provision` that belongs to the database itself and is not copied with what is in it.
            cluster.execute(self.name, f'REVOKE CREATE, TEMPORARY ON DATABASE "{self.name}" FROM PUBLIC')
        self.dsn = cluster.dsn(self.name, "assay_app")

    def open(
        self, *, writable: bool = True, projector: Projector = PROJECTOR, seal: CredentialSeal | None = None
    ) -> Database:
        return PostgresDatabase(self.dsn, projector, at=AT, writable=writable, seal=seal)

    def open_elsewhere(self, *, writable: bool = True) -> str:
        return _run(
            "from assay.adapters.postgres.database import PostgresDatabase",
            f"PostgresDatabase({self.dsn!r}, PROJECTOR, writable={writable})",
        )

    def force(self, *statements: str) -> list[tuple[object, ...]]:
        rows: list[tuple[object, ...]] = []
        with psycopg.connect(self.cluster.dsn(self.name), options="-c search_path=assay") as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
                rows = cursor.fetchall() if cursor.description else []
        return rows


def _run(imports: str, opening: str) -> str:
    script = _ELSEWHERE.format(path=[str(_ROOT), str(_ROOT / "src")], imports=imports, opening=opening)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def tamper(kit: Kit, *statements: str) -> None:
    """Run statements with full rights: no trigger and no foreign key is in the way."""
    if isinstance(kit, SqliteKit):
        names = kit.force("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        kit.force(*(f"DROP TRIGGER {name}" for (name,) in names), *statements)
        return
    tables = kit.force("SELECT DISTINCT event_object_table FROM information_schema.triggers")
    kit.force(*(f"ALTER TABLE {name} DISABLE TRIGGER ALL" for (name,) in tables), *statements)
