"""Key endorsements and retirements in SQL."""

from typing import TypeVar

import msgspec

from assay.adapters.sql.record import read_record, write_record
from assay.adapters.sql.session import Row, SqlSession
from assay.kernel.ids import TenantId
from assay.kernel.key import Endorsement, Retirement
from assay.kernel.ledger import Receipt
from assay.ports.damage import DamagedRecordError
from assay.ports.key_store import RecordedKeyFact

T = TypeVar("T", bound=msgspec.Struct)


class SqlKeyStore:
    """Implements `ports.key_store.KeyStore`."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    def add(self, fact: Endorsement | Retirement, receipt: Receipt) -> None:
        kind = "endorsement" if isinstance(fact, Endorsement) else "retirement"
        self._session.run(
            "INSERT INTO key_fact (position, kind, tenant_id, sequence_number, record)"
            " SELECT coalesce(max(position), 0) + 1, ?, ?, ?, ? FROM key_fact",
            (kind, receipt.tenant_id, receipt.sequence_number, write_record(fact)),
        )

    def endorsements(self) -> tuple[Endorsement, ...]:
        return self._all("endorsement", Endorsement)

    def retirements(self) -> tuple[Retirement, ...]:
        return self._all("retirement", Retirement)

    def recorded(self) -> tuple[RecordedKeyFact, ...]:
        rows = self._session.query("SELECT kind, tenant_id, sequence_number, record FROM key_fact ORDER BY position")
        return tuple(_recorded(row) for row in rows)

    def _all(self, kind: str, type_: type[T]) -> tuple[T, ...]:
        rows = self._session.query("SELECT record FROM key_fact WHERE kind = ? ORDER BY position", (kind,))
        return tuple(read_record(record, type_) for (record,) in rows)


def _recorded(row: Row) -> RecordedKeyFact:
    kind, tenant_id, sequence_number, record = row
    if not isinstance(tenant_id, str) or not isinstance(sequence_number, int):
        raise DamagedRecordError(f"the place of a key fact cannot be read: `{row[:3]!r}`")
    fact = read_record(record, Endorsement) if kind == "endorsement" else read_record(record, Retirement)
    return RecordedKeyFact(fact=fact, tenant_id=TenantId(tenant_id), sequence_number=sequence_number)
