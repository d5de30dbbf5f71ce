"""A portable archive of a node, and the rows that go into it and come out of it."""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from msgspec import Struct

from assay.kernel.errors import Blame, Error
from assay.kernel.ids import TenantId


class BackupError(Error):
    """A backup cannot be made, or must not be believed."""

    code = "backup.refused"
    blame = Blame.INPUT


class TableStore(Protocol):
    """Every table of the database, row by row, in a form that any of our databases can load."""

    def names(self) -> tuple[str, ...]:
        """All tables, in the order in which they can be loaded."""
        ...

    def is_empty(self, table: str) -> bool: ...

    def dump(self, table: str) -> Iterator[bytes]:
        """One JSON line for each row, in the order of the table's key, streamed."""
        ...

    def encode(self, row: Struct) -> bytes:
        """Return the columns of a row, sealed, as bytes: equal rows give equal bytes, on both databases."""
        ...

    def stored(self, row: type[Struct], tenant_id: TenantId, *, last: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Stream a tenant's rows of a type as they are stored: the number of the entry, and what `encode` gives.

        With `last`, those of entries up to it. Nothing is compared here; a row that cannot be read gives other bytes.
        A type without `sequence_number` has 0 for it. Rows come in the order of their entries.
        """
        ...

    def sample(self, row: type[Struct], tenant_id: TenantId, *, after: int, count: int) -> Iterable[tuple[int, bytes]]:
        """Return rows as `stored` does, the first ones after an entry; where there are fewer, from the start on."""
        ...

    def find_stray(self, table: str, tenants: Iterable[TenantId]) -> str | None:
        """Return the tenant of a row that belongs to none of these tenants; None if there is no such row."""
        ...

    def count(self, table: str, tenant_id: TenantId) -> int:
        """Return how many rows of a table a tenant has."""
        ...

    def load(self, table: str, lines: Iterable[bytes]) -> int:
        """Add rows as `dump` wrote them, never all in memory at once; the answer counts them."""
        ...


class ArchiveWriter(Protocol):
    """Named members, each written once; nothing is there under the archive's name until it is whole."""

    def member(self, name: str) -> AbstractContextManager[Callable[[bytes], object]]: ...


class ArchiveReader(Protocol):
    """Named members as they are found; nothing about them is believed yet."""

    def names(self) -> tuple[str, ...]:
        """As listed, a repeated name twice."""
        ...

    def chunks(self, name: str) -> Generator[bytes, None, None]:
        """Close what is not read to its end."""
        ...

    def lines(self, name: str) -> Generator[bytes, None, None]:
        """Close what is not read to its end."""
        ...
