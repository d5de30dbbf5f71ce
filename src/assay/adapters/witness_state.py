"""A witness's memory in one SQLite file: its name, the logs it knows, the latest checkpoint of each.

Every change is one immediate transaction with a full sync, so two requests at once, even to two processes, are judged
one after the other, and what was accepted survives a crash.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from assay.kernel.errors import Blame, Code, Error
from assay.kernel.note import VerifierKey, parse_verifier_key, render_verifier_key
from assay.kernel.witness import Known, Verdict
from assay.ports.witness_memory import Judge, LogKeys

T = TypeVar("T")

_BUSY_SECONDS = 10.0
# STRICT tables refuse a value of another type; the triggers refuse what would let a log be rolled back.
_SCHEMA = (
    "CREATE TABLE witness (one INTEGER PRIMARY KEY CHECK (one = 1), name TEXT NOT NULL) STRICT",
    "CREATE TABLE log_key (origin TEXT NOT NULL, vkey TEXT NOT NULL, PRIMARY KEY (origin, vkey)) STRICT",
    "CREATE TABLE cosigned (origin TEXT PRIMARY KEY, size INTEGER NOT NULL, root BLOB NOT NULL) STRICT",
    """CREATE TRIGGER cosigned_grows BEFORE UPDATE ON cosigned
    WHEN NEW.origin <> OLD.origin OR NEW.size < OLD.size OR (NEW.size = OLD.size AND NEW.root <> OLD.root)
    BEGIN SELECT RAISE(ABORT, 'a cosigned log never shrinks'); END""",
    """CREATE TRIGGER cosigned_stays BEFORE DELETE ON cosigned
    BEGIN SELECT RAISE(ABORT, 'what was cosigned is never forgotten'); END""",
)


class WitnessStateError(Error):
    """The witness's memory cannot be read or written; nothing is cosigned."""

    code = "witness.state"
    no_state = Code("witness.no_state", "A folder holds no witness.", Blame.USAGE)
    exists = Code(
        "witness.exists", "A witness is made once: a new memory would cosign what the old one refuses.", Blame.USAGE
    )


class WitnessLog(Struct, frozen=True, kw_only=True):
    """A log this witness knows, with its keys and what was cosigned last."""

    origin: str
    keys: tuple[VerifierKey, ...]
    known: Known | None


class WitnessState:
    """Implements `ports.witness_memory.WitnessMemory`; may be shared between threads."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise WitnessStateError.no_state(
                f"`{path.parent}` holds no witness: make one with `assay witness init {path.parent}`"
            )
        self._lock = threading.Lock()
        self._connection = _connect(path)
        self.name: str = self._run(lambda: self._connection.execute("SELECT name FROM witness").fetchone()[0])

    @classmethod
    def create(cls, path: Path, *, name: str) -> "WitnessState":
        if path.exists():
            raise WitnessStateError.exists(f"`{path}` exists already")
        connection = _connect(path)
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            for statement in _SCHEMA:
                connection.execute(statement)
            connection.execute("INSERT INTO witness (one, name) VALUES (1, ?)", (name,))
        connection.close()
        return cls(path)

    def trust(self, origin: str, key: VerifierKey) -> None:
        """Know a log by this key too; a log may have several while it rotates."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO log_key (origin, vkey) VALUES (?, ?) ON CONFLICT DO NOTHING",
                (origin, render_verifier_key(key)),
            )

    def logs(self) -> tuple[WitnessLog, ...]:
        with self._transaction() as connection:
            return tuple(
                WitnessLog(origin=origin, keys=keys, known=_known(connection, origin))
                for origin, keys in _log_keys(connection).items()
            )

    def advance(self, origin: str, judge: Judge) -> Verdict:
        with self._transaction() as connection:
            verdict = judge(_known(connection, origin), _log_keys(connection, origin))
            if verdict.accepted is not None:
                connection.execute(
                    "INSERT INTO cosigned (origin, size, root) VALUES (?, ?, ?)"
                    " ON CONFLICT (origin) DO UPDATE SET size = excluded.size, root = excluded.root",
                    (origin, verdict.accepted.size, verdict.accepted.root),
                )
        return verdict

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Immediate: whoever judges holds the file's write lock from before the look until after the sync."""
        with self._lock:
            self._run(lambda: self._connection.execute("BEGIN IMMEDIATE"))
            try:
                yield self._connection
            except BaseException as error:
                self._connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise WitnessStateError(f"the memory refused: {error}") from error
                raise
            self._run(lambda: self._connection.execute("COMMIT"))

    def _run(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise WitnessStateError(f"the memory cannot be used: {error}") from error


def _connect(path: Path) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(path, isolation_level=None, timeout=_BUSY_SECONDS, check_same_thread=False)
        path.chmod(0o600)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
    except (sqlite3.Error, OSError) as error:
        raise WitnessStateError(f"`{path}` cannot be opened: {error}") from error
    return connection


def _known(connection: sqlite3.Connection, origin: str) -> Known | None:
    row = connection.execute("SELECT size, root FROM cosigned WHERE origin = ?", (origin,)).fetchone()
    return None if row is None else Known(size=row[0], root=row[1])


def _log_keys(connection: sqlite3.Connection, origin: str | None = None) -> LogKeys:
    rows = connection.execute(
        "SELECT origin, vkey FROM log_key WHERE ?1 IS NULL OR origin = ?1 ORDER BY origin, vkey", (origin,)
    )
    keys: dict[str, tuple[VerifierKey, ...]] = {}
    for name, vkey in rows:
        keys[name] = (*keys.get(name, ()), parse_verifier_key(vkey))
    return keys
