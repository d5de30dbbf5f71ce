"""How often a flow asks the database."""

from collections.abc import Callable

import pytest

from assay.adapters.sqlite.session import SqliteSession

__all__ = ["questions_of"]


def questions_of(monkeypatch: pytest.MonkeyPatch, look: Callable[[], object]) -> int:
    asked: list[str] = []

    def counting(ask: Callable[..., object]) -> Callable[..., object]:
        def count(session: SqliteSession, sql: str, parameters: tuple[object, ...] = ()) -> object:
            asked.append(sql)
            return ask(session, sql, parameters)

        return count

    with monkeypatch.context() as patched:
        for name in ("query", "stream"):
            patched.setattr(SqliteSession, name, counting(getattr(SqliteSession, name)))
        look()
    return len(asked)
