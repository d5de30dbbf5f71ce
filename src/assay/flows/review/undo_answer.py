"""A person takes an answer back before it counts; the ledger keeps both the answer and the undoing."""

from assay.flows.review.act_review import Seat, Wish
from assay.flows.review.held_answers import find_held
from assay.ports.database import Unit
from assay.review.act import Act, Undo
from assay.review.errors import BodyError, TookEffectError
from assay.review.hold import require_undoable
from assay.review.ticket import Ticket

__all__ = ["undo_wish"]

_LONGEST_REASON = 4000


def undo_wish(reason: str = "") -> Wish:
    """Only one's own, and only while it does not count; the person may answer again."""
    if len(reason) > _LONGEST_REASON:
        raise BodyError(f"expected a reason of at most {_LONGEST_REASON} characters, got {len(reason)}")

    def body(seat: Seat) -> Undo:
        answers = seat.unit.review.answers(seat.ticket.tenant_id, seat.ticket.id)
        if any(answer.by == seat.person.id for answer in answers):
            raise TookEffectError(f"the answer of `{seat.person.id}` to `{seat.ticket.id}` counts")
        held = require_undoable(seat.ticket, find_held(seat.unit, seat.ticket, seat.person.id), seat.at)
        return Undo(answer_hash=held.answer_hash, reason=reason)

    return Wish(body=body, change=_drop)


def _drop(unit: Unit, ticket: Ticket, act: Act) -> None:
    unit.desk.drop_held(ticket.tenant_id, ticket.id, act.by)
