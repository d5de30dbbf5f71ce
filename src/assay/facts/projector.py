"""The projector: rows from entries, by the declarations. One for the process, since it holds no state."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from assay.facts.kinds import Fact, Projected, Table
from assay.facts.ledger import event_rows
from assay.kernel.entry import Entry
from assay.kernel.errors import Error
from assay.kernel.ledger import EntryKind
from assay.ports.damage import DamagedRecordError
from assay.ports.projection import Shape

_VIEW = Shape("", (), "", is_checked=True, seal=None)


class UndeclaredRowError(Error):
    """A row type that no table declares; a mistake of the program."""

    code = "store.undeclared_row"


class DeclaredProjector:
    """Implements `ports.projection.Projector`."""

    def __init__(self, facts: Iterable[Fact], tables: Iterable[Table], views: Iterable[type[Struct]] = ()) -> None:
        declared = tuple(tables)
        self.facts: Mapping[EntryKind, Fact] = {fact.kind: fact for fact in facts}
        self.tables: Mapping[str, Table] = {table.name: table for table in declared}
        self._shapes = {row: _shape(table) for table in declared if (row := row_of(table)) is not None}
        self._shapes.update(dict.fromkeys(views, _VIEW))
        self._seals = {
            row: getattr(table.form, "seal", None) for table in declared if (row := row_of(table)) is not None
        }
        self._decoders = {kind: msgspec.json.Decoder(fact.body) for kind, fact in self.facts.items()}

    def shape_of(self, row: type[Struct]) -> Shape:
        shape = self._shapes.get(row)
        if shape is None:
            raise UndeclaredRowError(f"expected a row type of `assay.facts.table`, got `{row.__name__}`")
        return shape

    def seal_of(self, row: type[Struct]) -> Callable[[Any], Struct] | None:
        return self._seals.get(row)

    def has_rows(self, kind: EntryKind) -> bool:
        return kind in self.facts

    def project(self, entry: Entry) -> tuple[Struct, ...]:
        fact = self.facts.get(entry.kind)
        if fact is None:
            return ()
        try:
            return tuple(fact.rows(entry, self._decoders[entry.kind].decode(entry.body)))
        except (msgspec.MsgspecError, Error) as error:
            what = f"entry {entry.sequence_number} (`{entry.kind}`)"
            raise DamagedRecordError(f"{what} gives no rows: {error}") from error

    def events(self, entry: Entry) -> tuple[Struct, ...]:
        return tuple(event_rows(entry))


def row_of(table: Table) -> type[Struct] | None:
    """Return the row type of a table; None where its form has none."""
    return getattr(table.form, "row", None)


def _shape(table: Table) -> Shape:
    form = table.form
    is_checked = isinstance(form, Projected) and not table.pending
    seal = form.seal if isinstance(form, Projected) and is_checked else None
    return Shape(table.name, table.keys, table.taken or f"a row of `{table.name}`", is_checked, seal, table.replaces)
