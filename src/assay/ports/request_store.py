"""Requests that were given a key by whoever sent them: each takes effect once, and is answered the same again."""

from typing import Protocol

from msgspec import Struct

from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant


class KeptRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What took effect under a key. `status` is None until the answer is known.

    `entry` is the ledger's head before its effect: what it appended comes after. `mac` is the store's own.
    """

    principal_id: PrincipalId
    request_key: str
    fingerprint: Digest
    entry: int
    begun_at: Instant
    status: int | None = None
    headers: str = "{}"
    body: str = ""
    mac: str | None = None


class RequestStore(Protocol):
    """Kept for a while: this is no record of decisions, and old rows are deleted."""

    def begin(self, tenant_id: TenantId, request: KeptRequest) -> None:
        """Refused with `store.conflict` where the principal has used this key."""
        ...

    def find(self, tenant_id: TenantId, principal_id: PrincipalId, request_key: str) -> KeptRequest | None:
        """Return what is kept; without its answer where the MAC of the row does not hold."""
        ...

    def answer(self, tenant_id: TenantId, request: KeptRequest) -> None:
        """Add how it was answered to what was begun, or all of it where nothing was."""
        ...

    def drop(self, tenant_id: TenantId, principal_id: PrincipalId, request_key: str) -> None:
        """Let go of a key that has no answer; one that has keeps it."""
        ...

    def clear_answers(self, tenant_id: TenantId) -> int:
        """Remove every kept answer of a tenant and keep its keys, so that no request takes effect twice; the answer
        counts them.
        """
        ...

    def forget(self, *, before: Instant) -> int:
        """Delete what was begun earlier, of every tenant; the answer counts it."""
        ...
