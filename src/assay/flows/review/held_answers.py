"""Answers that do not count yet, to the store and back."""

import msgspec

from assay.facts.review import held_entry
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Receipt
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.desk_store import HeldRow
from assay.review.answer import Answer
from assay.review.hold import HeldAnswer, answer_hash
from assay.review.ticket import Ticket


def hold_answer_in(unit: Unit, ticket: Ticket, answer: Answer, takes_effect_at: Instant, *, at: Instant) -> Receipt:
    """Put an answer on hold and on record, in this unit of work."""
    held = HeldAnswer(
        ticket_id=ticket.id, answer=answer, answer_hash=answer_hash(answer), takes_effect_at=takes_effect_at
    )
    row = HeldRow(
        ticket_id=ticket.id,
        by=answer.by,
        takes_effect_at=takes_effect_at,
        text=msgspec.json.encode(held).decode(),
    )
    unit.desk.hold(ticket.tenant_id, row)
    end_lease(unit, ticket, answer)
    return unit.record(held_entry(ticket, held, at=at))


def end_lease(unit: Unit, ticket: Ticket, answer: Answer) -> None:
    """Whoever has answered no longer works on the ticket.

    But where several must agree and one rejection decides, the lease is left to run out: ending it early while the
    ticket stays open would show everybody that this person approved.
    """
    if ticket.quorum == 1 or not ticket.rule.veto:
        unit.desk.drop_lease(ticket.tenant_id, ticket.id, answer.by)


def find_held(unit: Unit, ticket: Ticket, by: PrincipalId) -> HeldAnswer | None:
    row = unit.desk.find_held(ticket.tenant_id, ticket.id, by)
    return None if row is None else parse_held(row)


def parse_held(row: HeldRow) -> HeldAnswer:
    try:
        return msgspec.json.decode(row.text, type=HeldAnswer)
    except msgspec.MsgspecError as error:
        raise DamagedRecordError(f"the held answer to `{row.ticket_id}` cannot be read: {error}") from error
