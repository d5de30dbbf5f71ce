"""Language model transcripts, apart from the ledger's own table (SKI 7.4)."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from assay.kernel.ids import TenantId
from assay.kernel.transcript import Transcript


class TranscriptStore(Protocol):
    """Append-only; a transcript is found by the id that its content gives it."""

    def add(self, tenant_id: TenantId, transcript: Transcript) -> None: ...

    def add_many(self, tenant_id: TenantId, transcripts: Sequence[Transcript]) -> None:
        """Many at once; where one is refused, the unit of work is over."""
        ...

    def find(self, tenant_id: TenantId, transcript_id: str) -> Transcript | None: ...

    def all(self, tenant_id: TenantId) -> Iterator[Transcript]: ...
