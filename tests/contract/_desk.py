"""What tests put on the desk beside tickets and answers."""

import msgspec

from assay.facts.review import act_entry, escalation_entry
from assay.kernel.ids import KeyId, PrincipalId, TicketId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.desk_store import HeldRow, PendingPower, SavedDraft, SavedView, StoredAct, StoredEscalation
from assay.review.act import Act, ActBody, Release, kind_of, render_act_body
from assay.review.answer import SignedWith
from assay.review.escalate import Escalation, Stage
from assay.review.lease import Lease
from tests.contract._kit import AT
from tests.contract._records import ACME, ALICE, later, ticket

__all__ = ["TICKET", "draft", "fill_desk", "held", "lease", "record_act", "record_escalation", "view"]

TICKET: TicketId = ticket().id
_RELEASE = Release(holder=ALICE)


def record_act(unit: Unit, by: PrincipalId = ALICE, number: int = 1, body: ActBody = _RELEASE) -> StoredAct:
    """Record an act on ticket `number`; the answer is the row that it must have."""
    about = ticket(number)
    act = Act(
        ticket_id=about.id,
        tenant_id=ACME,
        kind=kind_of(body),
        body=render_act_body(body),
        seen_hash=about.shown_hash,
        by=by,
        acted_at=AT,
        signed_with=SignedWith.NODE_REVIEW_KEY,
        signing_key_id=KeyId("0" * 64),
        signature="é" * 128,
    )
    receipt = unit.record(act_entry(about, act, at=AT))
    text = msgspec.json.encode(act).decode()
    return StoredAct(ticket_id=about.id, sequence_number=receipt.sequence_number, kind=act.kind, by=by, text=text)


def record_escalation(unit: Unit, stage: Stage = Stage.NEAR) -> StoredEscalation:
    """As `record_act`."""
    due = Escalation(ticket_id=TICKET, stage=stage, due_at=AT, roles=("admin",), persons=(), escalated_at=AT)
    receipt = unit.record(escalation_entry(ticket(), due))
    text = msgspec.json.encode(due).decode()
    return StoredEscalation(ticket_id=TICKET, stage=stage, text=text, sequence_number=receipt.sequence_number)


def lease(by: PrincipalId = ALICE, until: Instant = AT, ticket_id: TicketId = TICKET) -> Lease:
    return Lease(ticket_id=ticket_id, by=by, claimed_at=AT, expires_at=until)


def held(by: PrincipalId = ALICE, until: Instant = AT, ticket_id: TicketId = TICKET) -> HeldRow:
    return HeldRow(ticket_id=ticket_id, by=by, takes_effect_at=until, text="{}")


def draft(by: PrincipalId = ALICE, text: str = "{}") -> SavedDraft:
    return SavedDraft(ticket_id=TICKET, by=by, text=text, saved_at=AT)


def view(name: str = "mine", by: PrincipalId = ALICE, *, shared: int = 0, text: str = "{}") -> SavedView:
    return SavedView(by=by, name=name, shared=shared, text=text, saved_at=AT)


def fill_desk(unit: Unit) -> None:
    record_act(unit)
    record_escalation(unit)
    unit.desk.put_lease(ACME, lease(until=later(1)))
    unit.desk.hold(ACME, held())
    unit.desk.save_draft(ACME, draft())
    unit.desk.save_view(ACME, view())
    unit.desk.add_pending(ACME, PendingPower(ticket_id=draft().ticket_id, text="{}"))
