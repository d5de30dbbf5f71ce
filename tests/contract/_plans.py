"""How a database would find what is asked of it, and what is wrong about that: it walks more than it must."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from assay.adapters.sql.session import Row, SqlSession
from assay.adapters.sql.table_store import TABLES
from assay.ports.database import Database

__all__ = ["fill", "plans_of", "require_index", "require_narrow"]

# A condition on the tenant and on nothing else.
_TENANT_ALONE = re.compile(r"USING [\w ]+ \(tenant_id=\?\)|Index Cond: \(\(?tenant_id = [^)]*\)(?! AND)")
# PostgreSQL may sort what it takes to be little; how, it decides anew when it has counted.
# A query that only asks others has one row of its own, which no table holds.
_WHOLE_TABLE = re.compile(r"(?m)^SCAN (?!held$|wanted$|asked$|(\d+ )?CONSTANT ROWS?$)|Seq Scan|TEMP B-TREE")


class _PlanReader:
    """A session that asks how before it asks what; only the plans are kept."""

    def __init__(self, session: SqlSession, engine: str) -> None:
        self._session = session
        self._explain, self._column = ("EXPLAIN QUERY PLAN ", 3) if engine == "sqlite" else ("EXPLAIN ", 0)
        self.plans: list[str] = []

    def query(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        rows = self._session.query(self._explain + sql, parameters)
        self.plans.append("\n".join(str(row[self._column]) for row in rows))
        return self._session.query(sql, parameters)

    def stream(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[Row]:
        return iter(self.query(sql, parameters))

    def run(self, sql: str, parameters: Sequence[object] = ()) -> int:
        return self._session.run(sql, parameters)

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        self._session.insert(table, columns, rows)


def plans_of(database: Database, ask: Callable[[SqlSession], object]) -> list[str]:
    """The plan of each query that `ask` makes."""
    engine = database.facts().engine

    def work(unit: object) -> list[str]:
        session = _PlanReader(unit._session, engine)  # type: ignore[attr-defined]  # the unit's own connection
        ask(session)
        return session.plans

    return database.write(work)


def fill(database: Database, rows: Mapping[str, Sequence[Row]]) -> None:
    """Enough for the size alone to say that a tenant has many rows, since there are no statistics."""

    def work(unit: object) -> None:
        for table, many in rows.items():
            unit._session.insert(table, TABLES[table].columns, many)  # type: ignore[attr-defined]  # its connection

    database.write(work)


def require_index(plans: Iterable[str], name: str) -> None:
    """No table is read whole, and nothing is sorted that an index has in order."""
    for plan in plans:
        assert not _WHOLE_TABLE.search(plan), f"{name}:\n{plan}"


def require_narrow(plans: Sequence[str], name: str) -> None:
    """Nor are all rows of a tenant read."""
    require_index(plans, name)
    for plan in plans:
        assert not _TENANT_ALONE.search(plan), f"{name}:\n{plan}"
