"""Do a piece of work to its end and then not at all: what it would answer, and every reason it would be refused for."""

from collections.abc import Callable
from typing import Any, TypeVar

from assay.ports.database import Database, Unit

T = TypeVar("T")


class _Rehearsed(Exception):  # noqa: N818 - no error: it carries the answer out of a unit of work that must not commit
    def __init__(self, answer: Any) -> None:  # noqa: ANN401 - whatever the work answers
        super().__init__()
        self.answer = answer


def rehearse(database: Database, work: Callable[[Unit], T]) -> T:
    """Run a unit of work as `database.write` would, and undo it when it has said what it would do."""

    def undone(unit: Unit) -> None:
        raise _Rehearsed(work(unit))

    try:
        database.write(undone)
    except _Rehearsed as done:
        answer: T = done.answer
        return answer
    raise AssertionError("a rehearsal ends by its own exception")  # pragma: no cover
