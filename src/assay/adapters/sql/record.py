"""Records as JSON text in a column, and the refusal of a place that is already taken."""

from typing import TypeVar

import msgspec

from assay.adapters.sql.session import SqlSession
from assay.kernel.errors import Blame, StoreError
from assay.ports.damage import DamagedRecordError

T = TypeVar("T", bound=msgspec.Struct)


class ConflictError(StoreError):
    """Somebody else was first: that place is taken, or is not the next one."""

    code = "store.conflict"
    blame = Blame.ANSWER


def write_record(record: msgspec.Struct) -> str:
    return msgspec.json.encode(record).decode()


def read_record(text: str, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, TypeError) as error:
        # TypeError: a damaged database can also hold a number where a text was.
        raise DamagedRecordError(f"expected a {kind.__name__}, got a record that cannot be read: {error}") from error


def require_free(session: SqlSession, sql: str, parameters: tuple[object, ...], what: str) -> None:
    if session.query(sql, parameters):
        raise ConflictError(f"{what} is already there")
