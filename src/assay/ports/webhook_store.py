"""What the node remembers of webhooks: subscriptions, their ends, and events that could not be delivered.

Subscriptions and their ends are added and never changed. A letter is an event that waits apart from its subscription's
order: dead until somebody asks for it again, then due, and gone when it was delivered. One that is still tried in its
order has its attempts so far in a letter too, so that they count on after a restart.
"""

from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant


class StoredWebhook(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`text` is the `Webhook`."""

    webhook_id: str
    text: str
    sequence_number: int


class EndedWebhook(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From here on nothing is posted there."""

    webhook_id: str
    by: PrincipalId
    ended_at: Instant
    sequence_number: int


class LetterState(StrEnum):
    DEAD = "dead"
    DUE = "due"


class Letter(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An event, by its position, that was given up after so many attempts, and why; or that is to be tried again."""

    webhook_id: str
    position: int
    state: LetterState
    attempts: int
    problem: str
    changed_at: Instant


class WebhookStore(Protocol):
    def find_webhook(self, tenant_id: TenantId, webhook_id: str) -> StoredWebhook | None:
        """Also one that has ended."""
        ...

    def is_ended(self, tenant_id: TenantId, webhook_id: str) -> bool: ...

    def webhooks(self, tenant_id: TenantId) -> tuple[StoredWebhook, ...]:
        """Those that have not ended, the oldest first."""
        ...

    def put_letter(self, tenant_id: TenantId, letter: Letter) -> None:
        """Replaces what was known of that event and that webhook."""
        ...

    def find_letter(self, tenant_id: TenantId, webhook_id: str, position: int) -> Letter | None: ...

    def drop_letter(self, tenant_id: TenantId, webhook_id: str, position: int) -> None: ...

    def letters(
        self, tenant_id: TenantId, webhook_id: str, *, state: LetterState, limit: int = 1000
    ) -> tuple[Letter, ...]:
        """A webhook's letters in this state, by position."""
        ...
