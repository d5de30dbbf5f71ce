"""What the node stores of webhooks: subscriptions, their ends, and attempts at the event that is being posted.

Subscriptions and their ends are added and never changed. A letter is an event that waits apart from its subscription's
order: dead until somebody asks for it again, then due, and gone when it was delivered. Letters are read from the
ledger. An event that is still tried in its order has a row with its attempts, so that they count on after a restart.
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


class WebhookAttempts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often an event was posted in vain, and when last; `mac` is made by the store."""

    webhook_id: str
    position: int
    attempts: int
    changed_at: Instant
    mac: str = ""


class WebhookStore(Protocol):
    def find_webhook(self, tenant_id: TenantId, webhook_id: str) -> StoredWebhook | None:
        """Also one that has ended."""
        ...

    def is_ended(self, tenant_id: TenantId, webhook_id: str) -> bool: ...

    def webhooks(self, tenant_id: TenantId) -> tuple[StoredWebhook, ...]:
        """Those that have not ended, the oldest first."""
        ...

    def put_attempts(self, tenant_id: TenantId, attempts: WebhookAttempts) -> None:
        """Replaces what was known of any event of that webhook."""
        ...

    def find_attempts(self, tenant_id: TenantId, webhook_id: str, position: int) -> WebhookAttempts | None:
        """None where there are none, or their MAC does not hold."""
        ...

    def drop_attempts(self, tenant_id: TenantId, webhook_id: str) -> None: ...
