"""What was agreed with other organisations (PRAMANA 13): whose rule is which of ours, and which strands both know."""

from typing import Protocol

from msgspec import Struct

from assay.kernel.ids import PrincipalId, TenantId


class RecordedAgreement(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`text` is the `Agreement`; a later one of the same peer takes its place. `bound` is as in `delivery_store`."""

    peer: str
    text: str
    by: PrincipalId
    sequence_number: int
    bound: int | None = None


class PeerStore(Protocol):
    def find_agreement(self, tenant_id: TenantId, peer: str) -> RecordedAgreement | None:
        """The one in force, which is the latest."""
        ...

    def agreements(self, tenant_id: TenantId, *, after: str, limit: int) -> tuple[RecordedAgreement, ...]:
        """The one in force with each peer whose name follows `after`, sorted by name."""
        ...
