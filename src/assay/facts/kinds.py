"""The declarations: a fact for each kind of entry that has rows, and one form for each table of the database."""

from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from msgspec import Struct

from assay.kernel.entry import Entry
from assay.kernel.ledger import EntryKind

# The rows of one entry. Pure: the same entry gives the same rows on every machine, in every release.
Rows: TypeAlias = Callable[[Entry, Any], Iterable[Struct]]
# Change the rows of a table, by their key, as one entry does; entries come in order.
Fold: TypeAlias = Callable[[MutableMapping[Any, Any], Entry], None]


@dataclass(frozen=True, slots=True)
class Fact:
    """An entry of this kind: the type of its body, and the rows that follow from it.

    `into` lists the types of these rows. A view is a row without a table, which is read from the entry itself; a room
    lists such types in `VIEWS`. `affects` names the caches that such an entry makes stale.
    """

    kind: EntryKind
    body: Any
    rows: Rows
    into: tuple[type[Struct], ...]
    affects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Projected:
    """Each row equals the projection of the entry that its `sequence_number` names.

    Content that an entry only commits to (a document by its hash) is replaced by `seal` before rows are compared; the
    fact then gives sealed rows, and `unit.record` is handed the whole ones. Where rows are deleted or replaced by
    later entries, `fold` says which remain, given entries of the kinds `folds` (all kinds where it is empty).
    """

    row: type[Struct] | None
    seal: Callable[[Any], Struct] | None = None
    fold: Fold | None = None
    folds: tuple[EntryKind, ...] = ()


@dataclass(frozen=True, slots=True)
class Folded:
    """The table equals what `fold` makes of all entries; None while `pending`.

    A row of it is not compared when it is read, so no decision and no door may depend on it alone.
    """

    row: type[Struct] | None
    fold: Fold | None = None
    folds: tuple[EntryKind, ...] = ()
    seal: Callable[[Any], Struct] | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes that are hashed again: `committed` says which hash commits to them.

    `seal` replaces the bytes by their hash, and `fold` says which sealed rows there are; an entry about an erasure
    takes them away. Without a fold the audit of the chain reads the content itself.
    """

    committed: str
    row: type[Struct] | None = None
    fold: Fold | None = None
    folds: tuple[EntryKind, ...] = ()
    seal: Callable[[Any], Struct] | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """Part of the ledger itself, verified by the audit of the chain."""

    verified: str


@dataclass(frozen=True, slots=True)
class Transient:
    """No entry is behind it. `gains` says what an attacker gains by changing it, which is nothing, and why."""

    gains: str
    row: type[Struct] | None = None


Form: TypeAlias = Projected | Folded | Content | Chain | Transient


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the database: its form, its text columns that are indexed, and how a row is named in a conflict.

    `columns` are given where the form has no row type; `tenant_id` comes first, if the table has it.
    `replaces` are the columns of the key under which the row of a later entry replaces that of an earlier one.
    `pending` marks a table whose projection or fold is not written yet: its rows are not compared.
    """

    name: str
    form: Form
    columns: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    taken: str = ""
    replaces: tuple[str, ...] = ()
    pending: bool = False
