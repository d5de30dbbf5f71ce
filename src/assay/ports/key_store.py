"""The node's own keys: endorsements and retirements, as facts that only grow."""

from dataclasses import dataclass
from typing import Protocol

from msgspec import Struct

from assay.kernel.ids import TenantId
from assay.kernel.key import Endorsement, Retirement
from assay.kernel.ledger import Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedKeyFact:
    """A fact, and the ledger entry that it says records it."""

    fact: Endorsement | Retirement
    tenant_id: TenantId
    sequence_number: int


class KeyFactRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of `key_fact` without its position: `record` is the JSON of the fact."""

    kind: str
    sequence_number: int
    record: str


class KeyStore(Protocol):
    """In the order they were added."""

    def add(self, fact: Endorsement | Retirement, receipt: Receipt) -> None:
        """Keep a fact beside the receipt of the entry that records it, in the same unit of work."""
        ...

    def endorsements(self) -> tuple[Endorsement, ...]: ...

    def retirements(self) -> tuple[Retirement, ...]: ...

    def recorded(self) -> tuple[RecordedKeyFact, ...]:
        """Every fact with its place in the ledger, for an audit to compare."""
        ...
