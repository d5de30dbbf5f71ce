"""What the shared stores need of a database connection. Parameters are written `?` on every database."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

Row = tuple[Any, ...]


class SqlSession(Protocol):
    """One connection inside one transaction."""

    def query(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]: ...

    def stream(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[Row]:
        """Like `query`, without holding all rows at once."""
        ...

    def run(self, sql: str, parameters: Sequence[object] = ()) -> int:
        """Change something; the answer counts the rows."""
        ...

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Add many rows in the quickest way the database has."""
        ...
