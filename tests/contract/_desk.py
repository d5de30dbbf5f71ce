"""What tests put on the desk beside tickets and answers."""

from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.desk_store import HeldRow, SavedDraft, SavedView, StoredAct, StoredEscalation
from assay.review.act import ActKind
from assay.review.escalate import Stage
from assay.review.lease import Lease
from tests.contract._kit import AT
from tests.contract._records import ACME, ALICE, later, ticket

__all__ = ["TICKET", "act", "draft", "escalation", "fill_desk", "held", "lease", "view"]

TICKET: TicketId = ticket().id


def act(entry: int = 1, by: PrincipalId = ALICE, ticket_id: TicketId = TICKET) -> StoredAct:
    return StoredAct(ticket_id=ticket_id, sequence_number=entry, kind=ActKind.COMMENT, by=by, text='{"é":1}')


def escalation(stage: Stage = Stage.NEAR, entry: int = 1) -> StoredEscalation:
    return StoredEscalation(ticket_id=TICKET, stage=stage, text="{}", sequence_number=entry)


def lease(by: PrincipalId = ALICE, until: Instant = AT, ticket_id: TicketId = TICKET) -> Lease:
    return Lease(ticket_id=ticket_id, by=by, claimed_at=AT, expires_at=until)


def held(by: PrincipalId = ALICE, until: Instant = AT, ticket_id: TicketId = TICKET) -> HeldRow:
    return HeldRow(ticket_id=ticket_id, by=by, takes_effect_at=until, text="{}")


def draft(by: PrincipalId = ALICE, text: str = "{}") -> SavedDraft:
    return SavedDraft(ticket_id=TICKET, by=by, text=text, saved_at=AT)


def view(name: str = "mine", by: PrincipalId = ALICE, *, shared: int = 0, text: str = "{}") -> SavedView:
    return SavedView(by=by, name=name, shared=shared, text=text, saved_at=AT)


def fill_desk(unit: Unit) -> None:
    unit.desk.add_act(ACME, act())
    unit.desk.add_escalation(ACME, escalation())
    unit.desk.put_lease(ACME, lease(until=later(1)))
    unit.desk.hold(ACME, held())
    unit.desk.save_draft(ACME, draft())
    unit.desk.save_view(ACME, view())
