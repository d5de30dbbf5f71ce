"""Rows of webhooks and of agreements with others, as a flow would add them."""

from assay.kernel.ids import PrincipalId
from assay.ports.database import Unit
from assay.ports.peer_store import RecordedAgreement
from assay.ports.webhook_store import EndedWebhook, StoredWebhook, WebhookAttempts
from tests.contract._kit import AT
from tests.contract._records import ACME
from tests.contract._unchecked import put

__all__ = ["agreement", "attempts", "ended", "fill_subscribers", "webhook"]

OLGA = PrincipalId("user:olga")


def webhook(name: str = "whk_1", *, place: int = 1) -> StoredWebhook:
    return StoredWebhook(webhook_id=name, text="{}", sequence_number=place)


def ended(name: str = "whk_1", *, place: int = 2) -> EndedWebhook:
    return EndedWebhook(webhook_id=name, by=OLGA, ended_at=AT, sequence_number=place)


def attempts(position: int = 1, count: int = 3, name: str = "whk_1") -> WebhookAttempts:
    return WebhookAttempts(webhook_id=name, position=position, attempts=count, changed_at=AT)


def agreement(text: str = "{}", peer: str = "harbour", *, place: int = 3) -> RecordedAgreement:
    return RecordedAgreement(peer=peer, text=text, by=OLGA, sequence_number=place)


def fill_subscribers(unit: Unit) -> None:
    """One row at least in every table."""
    put(unit, ACME, webhook())
    put(unit, ACME, ended())
    unit.webhooks.put_attempts(ACME, attempts())
    put(unit, ACME, agreement())
