"""How rows follow from ledger entries: implemented by `assay.facts`, handed to the databases by the wiring."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from assay.kernel.entry import Entry
from assay.kernel.ledger import EntryKind


class Shape(NamedTuple):
    """Where rows of one type are stored, and how a stored row is compared with its entry.

    `keys` are the text columns of indexes, which have to be short. `taken` names a row whose place is taken, with the
    row's fields in braces. Where a row holds content that its entry only commits to, `seal` replaces the content by
    its hash; sealed rows are compared. A row type that is not `is_checked` is returned as it was read. A view has no
    table (`table` is empty): it is read from the entry itself. A row with the same values of the columns `replaces` is
    replaced, where there are such columns.
    """

    table: str
    keys: tuple[str, ...]
    taken: str
    is_checked: bool
    seal: Callable[[Any], Struct] | None
    replaces: tuple[str, ...] = ()


class Projector(Protocol):
    """The declarations of `assay.facts`; pure, so that every thread may use it."""

    def shape_of(self, row: type[Struct]) -> Shape: ...

    def seal_of(self, row: type[Struct]) -> Callable[[Any], Struct] | None:
        """Return what replaces content by its hash, also for tables that are only compared in an audit."""
        ...

    def has_rows(self, kind: EntryKind) -> bool:
        """Whether entries of this kind have rows."""
        ...

    def project(self, entry: Entry) -> tuple[Struct, ...]:
        """Return the rows of an entry, sealed where they hold content; none for a kind without rows.

        Raises `store.damaged_record` where the body is not one that its kind can have.
        """
        ...

    def events(self, entry: Entry) -> tuple[Struct, ...]:
        """Return the sealed rows of the events that an entry records; the writer stores them with the entry."""
        ...
