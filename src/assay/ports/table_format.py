"""How a table becomes the bytes of a file and comes back."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from assay.kernel.errors import Blame, Code, Error

Value = str | float | int | bool | None
Row = tuple[Value, ...]


class ColumnType(StrEnum):
    """How a column is stored; `instant` is a time in UTC, as its text."""

    INTEGER = "integer"
    NUMBER = "number"
    TEXT = "text"
    INSTANT = "instant"


class Column(NamedTuple):
    """A column, and the members that lead to it in the entry's JSON; what is no single value is given as JSON text."""

    name: str
    type: ColumnType
    path: tuple[str, ...]


class LakeError(Error):
    """The lake cannot be written or read."""

    blame = Blame.INPUT
    manifest = Code("lake.manifest", "A manifest of the lake cannot be read, or another place's was put there.")
    file = Code("lake.file", "A file of the lake is no table, or has other columns than its table.")
    reader_missing = Code("lake.reader_missing", "The lake needs a package that is not installed.", Blame.USAGE)
    other_lake = Code(
        "lake.other", "The place holds the lake of another node, or a later state than the node has.", Blame.INPUT
    )


class TableFormat(Protocol):
    """How a table becomes bytes and comes back."""

    def write(self, columns: Sequence[Column], rows: Sequence[Row]) -> bytes: ...

    def read(self, columns: Sequence[Column], content: bytes) -> Sequence[Row]:
        """Every row, in order; raises `lake.file` where the bytes are no table with these columns."""
        ...
