"""Lists that are read page by page, the newest first; each page begins before the entry that the last ended with."""

from typing import Protocol

from assay.kernel.ids import PrincipalId, TenantId
from assay.ports.claims_store import ReceivedBundle
from assay.ports.delivery_store import DeliveredAnswer, OpenedItem, StoredSignal


class PageStore(Protocol):
    """It only reads. `before` is an entry's number; None is the beginning of the list."""

    def answers(
        self, tenant_id: TenantId, *, asked_by: PrincipalId | None = None, before: int | None = None, limit: int
    ) -> tuple[DeliveredAnswer, ...]: ...

    def outcomes(
        self, tenant_id: TenantId, *, answer_id: str | None = None, before: int | None = None, limit: int
    ) -> tuple[StoredSignal, ...]: ...

    def bundles(
        self,
        tenant_id: TenantId,
        *,
        submitted_by: PrincipalId | None = None,
        tier: str | None = None,
        bundle_id: str | None = None,
        decisions: tuple[str, ...] = (),
        before: int | None = None,
        limit: int,
    ) -> tuple[ReceivedBundle, ...]:
        """Bundles of one principal, of one tier, with one id, or whose latest decision is one of these."""
        ...

    def root_causes(
        self, tenant_id: TenantId, *, open_only: bool = False, before: int | None = None, limit: int
    ) -> tuple[OpenedItem, ...]:
        """With `open_only`, those that nobody concluded yet."""
        ...
