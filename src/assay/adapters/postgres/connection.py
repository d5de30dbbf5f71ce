"""How a connection is opened: pinned settings, two column types read our way, the driver's errors in our words."""

import json
import re
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from struct import Struct
from typing import Any

from assay.adapters.postgres._driver import psycopg
from assay.adapters.sql.errors import (
    AppendOnlyError,
    BrokenLinkError,
    CannotOpenError,
    ConnectionLostError,
    NotPermittedError,
    RowRefusedError,
    StatementError,
    UnavailableError,
)
from assay.adapters.sql.ledger_store import ReadOnlyError
from assay.adapters.sql.record import ConflictError
from assay.kernel.canonical import canonicalize
from assay.kernel.errors import CanonicalError, Error
from assay.ports.damage import DamagedFileError

Connection = psycopg.Connection[tuple[Any, ...]]

# Temporary objects come last, so that none can stand before a table of ours; UTC and ISO are what the loaders read.
_SETTINGS = (
    "SET search_path = assay, pg_temp; SET TIME ZONE 'UTC'; SET DateStyle = 'ISO, YMD'; SET bytea_output = 'hex';"
    " SET standard_conforming_strings = on; SET statement_timeout = 0; SET lock_timeout = 0;"
    " SET idle_in_transaction_session_timeout = 0; SET default_transaction_isolation = 'read committed';"
    # A plan is kept for as long as a connection lives. One that was made while a table was empty would read all of it
    # for as long as nobody counts its rows again, so tables are read along an index wherever there is one.
    " SET enable_seqscan = off; SET jit = off"
)
# A host that vanished without a word is noticed within half a minute, and not when the kernel gives up after 15; an
# address that says otherwise is obeyed.
_PATIENCE = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_URL = re.compile("postgres(?:ql)?://")
_AUTHORITY = re.compile("^postgres(?:ql)?://[^/?#]*")
_UNREADABLE = (
    "expected an address such as `postgresql://user:password@host:5432/name`, its parts percent-encoded,"
    " got one that cannot be read"
)
_SAFE_DIGITS = 15
_SERVER_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_INT8 = Struct(">q")

_BY_STATE: dict[str, type[Error]] = {
    "ZA001": AppendOnlyError,
    "ZA002": BrokenLinkError,
    "23505": ConflictError,
    "25006": ReadOnlyError,
    "42501": NotPermittedError,
    "XX001": DamagedFileError,
    "XX002": DamagedFileError,
}
# Data exception, integrity constraint violation, program limit exceeded: it was the values, not the server.
_VALUE_CLASSES = ("22", "23", "54")


def open_connection(dsn: str, *, application_name: str) -> Connection:
    """Connect with the settings that reading and writing rest on; transactions are begun and ended by hand."""
    password, given = verify_address(dsn), psycopg.conninfo.conninfo_to_dict(dsn)
    patience: dict[str, Any] = {name: value for name, value in _PATIENCE.items() if name not in given}
    try:
        connection: Connection = psycopg.connect(
            dsn, autocommit=True, client_encoding="utf8", application_name=application_name, **patience
        )
        connection.execute(_SETTINGS)
    except psycopg.Error as error:
        said = _one_line(error).replace(password, "…") if password else _one_line(error)
        raise UnavailableError(f"the server cannot be reached as asked: {said}") from error
    connection.adapters.register_loader("timestamptz", _InstantLoader)
    connection.adapters.register_loader("jsonb", _DocumentLoader)
    # Found by the column's type in a binary COPY; no value is ever of these marker classes.
    connection.adapters.register_dumper(_InstantText, _InstantDumper)
    connection.adapters.register_dumper(_DocumentText, _DocumentDumper)
    # The last one registered for a column of bytes is the one taken: this one is compiled.
    connection.adapters.register_dumper(bytes, psycopg.types.string.BytesBinaryDumper)
    return connection


def verify_address(dsn: str) -> str | None:
    """The password in it, if any; an address that can be read in two ways is refused, in words that repeat none of it.

    A password with a sign that is not percent-encoded would be taken for a host, a port or a name, and be shown as one.
    """
    if _URL.match(dsn) is not None and (dsn.count("@") > 1 or "@" in _AUTHORITY.sub("", dsn)):
        raise CannotOpenError(_UNREADABLE)
    try:
        known = psycopg.conninfo.conninfo_to_dict(dsn)
    except psycopg.Error:
        # Without its cause: the library repeats the part that it could not read, and that may be the password.
        raise CannotOpenError(_UNREADABLE) from None
    if any(not port.isdigit() for port in str(known.get("port") or "5432").split(",") if port):
        raise CannotOpenError(_UNREADABLE)
    return str(known["password"]) if known.get("password") else None


def translate_error(error: psycopg.Error, connection: Connection) -> Error:
    """The driver's error in our words; whoever raises it names the original as its cause."""
    known = _BY_STATE.get(error.sqlstate or "")
    if known is not None:
        return known(_one_line(error))
    if connection.closed or connection.broken:
        return ConnectionLostError(f"the connection to the server is gone: {_one_line(error)}")
    # The driver refuses some values by itself, and then there is no state.
    if (error.sqlstate or "")[:2] in _VALUE_CLASSES or (
        error.sqlstate is None and isinstance(error, psycopg.DataError)
    ):
        return RowRefusedError(f"the database does not take these values: {_one_line(error)}")
    return StatementError(f"the database refused a statement: {_one_line(error)}")


class _InstantText:
    """Stands for the text of an instant in the driver's table of types."""


class _DocumentText:
    """Stands for JSON text in the driver's table of types."""


class _InstantLoader(psycopg.adapt.Loader):
    """`2026-01-07 12:00:00.25+00` as `2026-01-07T12:00:00.25Z`: the server trims the fraction as we do."""

    def load(self, data: psycopg.abc.Buffer) -> str:
        text = bytes(data).decode()
        if not text.endswith("+00"):
            return text
        return f"{text[:10]}T{text[11:-3]}Z"


class _DocumentLoader(psycopg.adapt.Loader):
    """A JSON column as the canonical text of its value, which is what was stored and what can be compared."""

    def load(self, data: psycopg.abc.Buffer) -> str:
        text = bytes(data).decode()
        try:
            return canonicalize(_read_document(text)).decode()
        except (ValueError, CanonicalError):
            # Not what we stored: shown as it is, so that the auditor finds the difference.
            return text


class _InstantDumper(psycopg.adapt.Dumper):
    """Our text of an instant as the server's own: microseconds since the year 2000."""

    oid = psycopg.adapters.types["timestamptz"].oid
    format = psycopg.pq.Format.BINARY

    def dump(self, obj: str) -> bytes:
        try:
            since = datetime.fromisoformat(obj) - _SERVER_EPOCH
        except (TypeError, ValueError) as error:
            raise psycopg.DataError(f"expected an instant with an offset, got `{obj!s:.80}`") from error
        return _INT8.pack((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)


class _DocumentDumper(psycopg.adapt.Dumper):
    """JSON text as it is, behind the number of the format."""

    oid = psycopg.adapters.types["jsonb"].oid
    format = psycopg.pq.Format.BINARY

    def dump(self, obj: str) -> bytes:
        return b"\x01" + obj.encode()


def _read_number(token: str) -> float | int:
    """The server spells numbers out in full; any that is not exactly one of ours makes the text differ."""
    if len(token) <= _SAFE_DIGITS and token.lstrip("-").isdigit():
        return int(token)
    value = float(token)
    if Decimal(repr(value)) != Decimal(token):
        raise ValueError(token)
    return value


_read_document = partial(json.loads, parse_int=_read_number, parse_float=_read_number)


def _one_line(error: psycopg.Error) -> str:
    return " ".join((error.diag.message_primary or str(error)).split()) or type(error).__name__
