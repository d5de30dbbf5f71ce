"""Every table of both databases is declared, column for column, with what proves its rows."""

from pathlib import Path

import pytest

from assay.adapters.sql.row import columns_of
from assay.facts.kinds import Folded, Projected, Table, Transient
from assay.facts.projector import row_of
from assay.facts.table import FACTS, PROJECTOR, TABLES
from assay.ports.events import OutboxRow
from tests.contract._kit import Kit, PostgresKit, SqliteKit
from tests.postgres_cluster import PostgresCluster

# Tables whose projection is not written yet. A room that is moved takes its tables off; nothing is added.
PENDING: frozenset[str] = frozenset()


@pytest.fixture(params=["sqlite", "postgresql"])
def kit(request: pytest.FixtureRequest, tmp_path: Path, postgres_cluster: PostgresCluster) -> Kit:
    return SqliteKit(tmp_path / "a.db") if request.param == "sqlite" else PostgresKit(postgres_cluster)


def test_every_table_and_column_of_the_database_is_declared(kit: Kit) -> None:
    assert _catalogue(kit) == {table.name: frozenset(_columns(table)) for table in TABLES}


def test_tables_that_are_not_compared_yet_are_listed() -> None:
    assert frozenset(table.name for table in TABLES if table.pending) == PENDING


def test_a_name_is_declared_once() -> None:
    assert len({table.name for table in TABLES}) == len(TABLES)
    assert len({fact.kind for fact in FACTS}) == len(FACTS)
    rows = [row for table in TABLES if (row := row_of(table)) is not None]
    assert len(set(rows)) == len(rows)


@pytest.mark.parametrize("table", [table for table in TABLES if not table.pending], ids=lambda table: table.name)
def test_a_table_has_what_its_form_needs(table: Table) -> None:
    """Projected rows come from a fact and name their entry; a fold is a function; a transient table has a reason."""
    # Entries of every kind record their events.
    given = {row for fact in FACTS for row in fact.into} | {OutboxRow}
    if isinstance(table.form, Projected):
        assert table.form.row is not None
        assert table.form.row in given
        assert "sequence_number" in table.form.row.__struct_fields__
        assert "tenant_id" in _columns(table)
    if isinstance(table.form, Folded):
        assert table.form.fold is not None
    if isinstance(table.form, Transient):
        assert len(table.form.gains.split()) >= 5


def test_facts_give_rows_of_tables_that_are_compared() -> None:
    assert all(PROJECTOR.shape_of(row).is_checked for fact in FACTS for row in fact.into)


def _columns(table: Table) -> tuple[str, ...]:
    row = row_of(table)
    return table.columns if row is None else table.columns or ("tenant_id", *columns_of(row))


def _catalogue(kit: Kit) -> dict[str, frozenset[str]]:
    if isinstance(kit, SqliteKit):
        rows = kit.force(
            "SELECT m.name, c.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c WHERE m.type = 'table'"
            " AND m.name NOT LIKE 'sqlite_%'"
        )
    else:
        rows = kit.force(
            "SELECT c.table_name, c.column_name FROM information_schema.columns AS c"
            " JOIN information_schema.tables AS t USING (table_schema, table_name)"
            " WHERE c.table_schema = 'assay' AND t.table_type = 'BASE TABLE'"
        )
    found: dict[str, set[str]] = {}
    for table, column in rows:
        found.setdefault(str(table), set()).add(str(column))
    return {table: frozenset(columns) for table, columns in found.items()}
