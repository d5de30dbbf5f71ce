"""Key endorsements and retirements in SQL."""

from typing import TypeVar

import msgspec

from assay.adapters.sql.record import read_record, write_record
from assay.adapters.sql.session import SqlSession
from assay.kernel.key import Endorsement, Retirement

__all__ = ["SqlKeyStore"]

T = TypeVar("T", bound=msgspec.Struct)


class SqlKeyStore:
    """Implements `ports.key_store.KeyStore`."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    def add(self, fact: Endorsement | Retirement) -> None:
        kind = "endorsement" if isinstance(fact, Endorsement) else "retirement"
        self._session.run(
            "INSERT INTO key_fact (position, kind, record) SELECT coalesce(max(position), 0) + 1, ?, ? FROM key_fact",
            (kind, write_record(fact)),
        )

    def endorsements(self) -> tuple[Endorsement, ...]:
        return self._all("endorsement", Endorsement)

    def retirements(self) -> tuple[Retirement, ...]:
        return self._all("retirement", Retirement)

    def _all(self, kind: str, type_: type[T]) -> tuple[T, ...]:
        rows = self._session.query("SELECT record FROM key_fact WHERE kind = ? ORDER BY position", (kind,))
        return tuple(read_record(record, type_) for (record,) in rows)
