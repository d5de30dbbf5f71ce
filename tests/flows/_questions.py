"""How often a flow asks the database."""

from collections.abc import Callable

import pytest

from assay.adapters.sqlite.session import SqliteSession

__all__ = ["questions_of"]


def questions_of(monkeypatch: pytest.MonkeyPatch, look: Callable[[], object]) -> int:
    asked: list[str] = []
    query = SqliteSession.query

    def counting(session: SqliteSession, sql: str, parameters: tuple[object, ...] = ()) -> object:
        asked.append(sql)
        return query(session, sql, parameters)

    with monkeypatch.context() as patched:
        patched.setattr(SqliteSession, "query", counting)
        look()
    return len(asked)
