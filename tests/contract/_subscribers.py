"""Rows of webhooks and of agreements with others, as a flow would add them."""

from assay.kernel.ids import PrincipalId
from assay.ports.database import Unit
from assay.ports.peer_store import RecordedAgreement
from assay.ports.webhook_store import EndedWebhook, Letter, LetterState, StoredWebhook
from tests.contract._kit import AT
from tests.contract._records import ACME
from tests.contract._unchecked import put

__all__ = ["agreement", "ended", "fill_subscribers", "letter", "webhook"]

OLGA = PrincipalId("user:olga")


def webhook(name: str = "whk_1", *, place: int = 1) -> StoredWebhook:
    return StoredWebhook(webhook_id=name, text="{}", sequence_number=place)


def ended(name: str = "whk_1", *, place: int = 2) -> EndedWebhook:
    return EndedWebhook(webhook_id=name, by=OLGA, ended_at=AT, sequence_number=place)


def letter(position: int = 1, state: LetterState = LetterState.DEAD, name: str = "whk_1") -> Letter:
    return Letter(webhook_id=name, position=position, state=state, attempts=3, problem="away", changed_at=AT)


def agreement(text: str = "{}", peer: str = "harbour", *, place: int = 3) -> RecordedAgreement:
    return RecordedAgreement(peer=peer, text=text, by=OLGA, sequence_number=place)


def fill_subscribers(unit: Unit) -> None:
    """One row at least in every table."""
    put(unit, ACME, webhook())
    put(unit, ACME, ended())
    unit.webhooks.put_letter(ACME, letter())
    put(unit, ACME, agreement())
