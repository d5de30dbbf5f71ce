"""What must be true of a server and a role before we write there."""

from hashlib import sha256
from time import sleep

from assay.adapters.postgres.connection import Connection
from assay.adapters.postgres.session import PostgresSession
from assay.adapters.sql.errors import (
    CannotOpenError,
    StatementError,
    StrongRoleError,
    UnsafeServerError,
    WriterHeldError,
)
from assay.adapters.sql.migrate import Migration, require_current

# Advisory locks are numbers in the scope of one database; this one is ours.
_WRITER_LOCK = int.from_bytes(sha256(b"assay: the writer of this database").digest()[:8], "big", signed=True)
_LOCK_ATTEMPTS = 20
_LOCK_PAUSE_SECONDS = 0.025
_DURABILITY = ("fsync", "full_page_writes", "synchronous_commit")

# Whoever owns a table, may become its owner, or holds more than SELECT and INSERT on the ledger could rewrite it.
_ROLE = """
SELECT
    (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user),
    coalesce(bool_or(pg_catalog.pg_has_role(current_user, c.relowner, 'MEMBER')), false),
    pg_catalog.has_table_privilege('assay.ledger', 'UPDATE, DELETE, TRUNCATE, TRIGGER')
FROM pg_catalog.pg_class AS c
WHERE c.relnamespace = 'assay'::pg_catalog.regnamespace AND c.relkind IN ('r', 'p')
"""


def durability(session: PostgresSession) -> dict[str, str]:
    """The server's settings that decide whether a commit outlives a crash."""
    return {name: str(session.query(f"SHOW {name}")[0][0]) for name in _DURABILITY}


def pin_durability(session: PostgresSession, *, unsafe_durability_off: bool) -> None:
    """Refuse a server that acknowledges before it flushes; then nobody can change the setting for this session."""
    if unsafe_durability_off:
        session.run("SET synchronous_commit = off")
        return
    found = durability(session)
    for name in _DURABILITY:
        if found[name] == "off":
            raise UnsafeServerError(f"expected a server with {name}=on, got {name}=off")
    session.run(f"SET synchronous_commit = {found['synchronous_commit']}")


def verify_schema(session: PostgresSession, known: tuple[Migration, ...]) -> None:
    try:
        require_current(session, known)
    except StatementError as error:
        raise CannotOpenError(f"this is not one of our databases; provision it first ({error})") from error


def verify_role(session: PostgresSession) -> None:
    """Raise when this role could disable what makes the tables append-only."""
    ((is_superuser, is_owner, may_change),) = session.query(_ROLE)
    for found, words in (
        (is_superuser, "is a superuser"),
        (is_owner, "may act as the owner of the tables"),
        (may_change, "may change the ledger"),
    ):
        if found:
            raise StrongRoleError(
                f"expected a role with nothing but SELECT and INSERT on the ledger, got one that {words}"
            )


def take_writer_lock(connection: Connection) -> None:
    """The fence: the server frees it when this connection ends, however it ends."""
    # A writer that has just closed is gone for its own process a little before it is gone for the server.
    for _ in range(_LOCK_ATTEMPTS):
        row = connection.execute("SELECT pg_catalog.pg_try_advisory_lock(%s)", (_WRITER_LOCK,)).fetchone()
        if row is not None and row[0]:
            return
        sleep(_LOCK_PAUSE_SECONDS)
    raise WriterHeldError("another process is writing to this database; stop it, or open for reading only")
