"""A request's key and its answer in the very unit of work that has its effect: all of it is durable, or nothing is.

what the request did, and the entry before it -> its answer, rendered -> one row beside the effect
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from assay.flows.answer_once import Reply, kept_answer
from assay.flows.errors import RequestInHandError
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.request_store import KeptRequest


@dataclass(frozen=True, slots=True)
class RequestMark:
    """`begun` as it was found, or as it would begin; `render` makes the answer of what was done."""

    tenant_id: TenantId
    begun: KeptRequest
    is_begun: bool
    render: Callable[[Any], Reply]
    expired_at: Instant

    def verify_free(self, unit: Unit) -> None:
        """Raise `RequestInHandError` where somebody else has used the key since it was looked for."""
        found = unit.requests.find(self.tenant_id, self.begun.principal_id, self.begun.request_key)
        if found != (self.begun if self.is_begun else None):
            raise RequestInHandError(f"`{self.begun.request_key[:80]}` was begun meanwhile: come again for its answer")

    def keep(self, unit: Unit, done: object, *, entry: int) -> None:
        """The key with its answer; `entry` is the ledger's head before what was done."""
        begun = self.begun if self.is_begun else replace(self.begun, entry=entry)
        unit.requests.answer(self.tenant_id, kept_answer(begun, self.render(done)))


def forget_expired(unit: Unit, marks: Sequence[RequestMark]) -> None:
    """Keys that were not found since they are too old must not stand in the way of these."""
    if marks:
        unit.requests.forget(before=max(one.expired_at for one in marks))
