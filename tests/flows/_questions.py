"""How many questions a look puts to the database, and how many rows it is given back."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from assay.adapters.sqlite.session import SqliteSession

__all__ = ["questions_of", "rows_of"]


def questions_of(monkeypatch: pytest.MonkeyPatch, look: Callable[[], object]) -> int:
    return len(_answers(monkeypatch, look))


def rows_of(monkeypatch: pytest.MonkeyPatch, look: Callable[[], object]) -> int:
    """However many questions they answer; those that a stream gave and nobody took are not counted."""
    return sum(_answers(monkeypatch, look))


def _answers(monkeypatch: pytest.MonkeyPatch, look: Callable[[], object]) -> list[int]:
    """How many rows each question was answered with."""
    counts: list[int] = []

    def counting(ask: Callable[..., Any]) -> Callable[..., Any]:
        def count(session: SqliteSession, sql: str, parameters: tuple[object, ...] = ()) -> Any:  # noqa: ANN401 - rows
            place, rows = len(counts), ask(session, sql, parameters)
            counts.append(0)
            if not isinstance(rows, list):
                return _counted(rows, counts, place)
            counts[place] = len(rows)
            return rows

        return count

    with monkeypatch.context() as patched:
        for name in ("query", "stream"):
            patched.setattr(SqliteSession, name, counting(getattr(SqliteSession, name)))
        look()
    return counts


def _counted(rows: Iterator[Any], counts: list[int], place: int) -> Iterator[Any]:
    for row in rows:
        counts[place] += 1
        yield row
