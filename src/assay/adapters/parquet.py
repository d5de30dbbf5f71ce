"""Tables as Parquet files, by pyarrow (extra `lake`)."""

from collections.abc import Sequence
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

from assay.kernel.errors import TypeFormError
from assay.kernel.instant import Instant, parse_instant, render_instant
from assay.ports.table_format import Column, ColumnType, LakeError, Row


class ParquetFormat:
    """Columns with their types, compressed with zstd; times are microseconds in UTC."""

    def __init__(self) -> None:
        try:
            import pyarrow as pa  # noqa: PLC0415 - an extra, imported when it is used
            from pyarrow import parquet  # noqa: PLC0415 - the same
        except ImportError as error:
            raise LakeError.reader_missing('pyarrow is missing: pip install "assay[lake]"') from error
        self._arrow: Any = pa
        self._parquet: Any = parquet
        self._types = {
            ColumnType.INTEGER: pa.int64(),
            ColumnType.NUMBER: pa.float64(),
            ColumnType.TEXT: pa.string(),
            ColumnType.INSTANT: pa.timestamp("us", tz="UTC"),
        }

    def write(self, columns: Sequence[Column], rows: Sequence[Row]) -> bytes:
        by_column = list(zip(*rows, strict=True)) or [() for _ in columns]
        arrays = [
            self._arrow.array([_stored(column, value) for value in values], type=self._types[column.type])
            for column, values in zip(columns, by_column, strict=True)
        ]
        written = BytesIO()
        table = self._arrow.Table.from_arrays(arrays, schema=self._schema(columns))
        self._parquet.write_table(table, written, compression="zstd")
        return written.getvalue()

    def read(self, columns: Sequence[Column], content: bytes) -> Sequence[Row]:
        try:
            # As one file: the folder's names are no columns of it.
            table = self._parquet.ParquetFile(BytesIO(content)).read()
        except (self._arrow.ArrowException, OSError, ValueError) as error:
            raise LakeError.file(f"expected a Parquet file, got: {str(error).partition(chr(10))[0]}") from error
        if not table.schema.equals(self._schema(columns)):
            raise LakeError.file(f"expected the columns {[one.name for one in columns]}, got {table.schema.names}")
        values = [[_read(column, value) for value in table.column(at).to_pylist()] for at, column in enumerate(columns)]
        return list(zip(*values, strict=True))

    def _schema(self, columns: Sequence[Column]) -> Any:  # noqa: ANN401 - a type of pyarrow, which has none
        return self._arrow.schema([(column.name, self._types[column.type]) for column in columns])


def _stored(column: Column, value: object) -> object:
    if column.type is not ColumnType.INSTANT or value is None:
        return value
    try:
        return parse_instant(str(value))
    except TypeFormError as error:
        raise LakeError.file(f"expected an instant in `{column.name}`: {error}") from error


def _read(column: Column, value: Any) -> Any:  # noqa: ANN401 - a value of a row
    if column.type is not ColumnType.INSTANT or not isinstance(value, datetime):
        return value
    return render_instant(Instant(value.astimezone(UTC)))
