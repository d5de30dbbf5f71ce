"""Numbered SQL migrations with checksums: a database says which of them made it.

Opening one that is newer than this program, or whose migrations were edited since, is a clear error.
"""

from collections.abc import Callable, Sequence
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

from assay.adapters.sql.session import SqlSession
from assay.kernel.errors import StoreError
from assay.kernel.instant import Instant, render_instant


class NewerDatabaseError(StoreError):
    """The database was made by a newer program; this one must not touch it."""

    code = "store.newer_database"


class OutdatedDatabaseError(StoreError):
    """The database lacks migrations; open it once for writing."""

    code = "store.outdated_database"


class MigrationEditedError(StoreError):
    """A migration that made this database no longer has the text it had then."""

    code = "store.migration_edited"


class Migration(NamedTuple):
    version: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return sha256(self.sql.encode()).hexdigest()


def load_migrations(package: str) -> tuple[Migration, ...]:
    """Read `NNNN_name.sql` beside the database's adapter, in order and without gaps."""
    folder = files(package) / "migrations"
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(".sql"))
    found = tuple(
        Migration(int(name[:4]), name.removesuffix(".sql"), (folder / name).read_text(encoding="utf-8"))
        for name in names
    )
    if [migration.version for migration in found] != list(range(1, len(found) + 1)):
        raise MigrationEditedError(f"expected migrations numbered from 1 without gaps, got {names}")
    return found


def migrate(
    session: SqlSession, known: Sequence[Migration], *, at: Instant, run_script: Callable[[str], None]
) -> tuple[Migration, ...]:
    """Apply what is missing, inside the caller's transaction; the answer is what was applied."""
    run_script(_TABLE)
    done = _check_applied(session, known)
    missing = tuple(known[done:])
    for migration in missing:
        run_script(migration.sql)
        session.run(
            "INSERT INTO schema_migration (version, name, checksum, applied_at) VALUES (?, ?, ?, ?)",
            (migration.version, migration.name, migration.checksum, render_instant(at)),
        )
    return missing


def require_current(session: SqlSession, known: Sequence[Migration]) -> None:
    """For those who only read: every migration must have been applied already."""
    done = _check_applied(session, known)
    if done < len(known):
        raise OutdatedDatabaseError(f"expected schema version {len(known)}, got {done}; open it once for writing")


def schema_version(session: SqlSession) -> int:
    ((version,),) = session.query("SELECT coalesce(max(version), 0) FROM schema_migration")
    return int(version)


def _check_applied(session: SqlSession, known: Sequence[Migration]) -> int:
    applied = session.query("SELECT version, name, checksum FROM schema_migration ORDER BY version")
    if len(applied) > len(known):
        raise NewerDatabaseError(
            f"expected schema version {len(known)} at most, got {applied[-1][0]} (`{applied[-1][1]}`)"
        )
    for (version, name, checksum), migration in zip(applied, known, strict=False):
        if (version, name, checksum) != (migration.version, migration.name, migration.checksum):
            raise MigrationEditedError(f"migration `{name}` made this database, but its text has changed since")
    return len(applied)


_TABLE = """
CREATE TABLE IF NOT EXISTS schema_migration (
    version    INTEGER NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    checksum   TEXT    NOT NULL,
    applied_at TEXT    NOT NULL
);
"""
