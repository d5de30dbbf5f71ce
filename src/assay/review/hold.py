"""A held answer: given and signed, and not in force before an instant. Until then whoever gave it may undo it."""

from datetime import timedelta

from msgspec import Struct
from msgspec.structs import asdict

from assay.kernel.canonical import canonical_digest
from assay.kernel.digest import Digest
from assay.kernel.ids import TicketId
from assay.kernel.instant import Instant, render_instant
from assay.review.answer import Answer
from assay.review.errors import ReviewError
from assay.review.ticket import Ticket


class HeldAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `ticket.answer_held` entry: the answer as it was signed, and from when on it counts."""

    ticket_id: TicketId
    answer: Answer
    answer_hash: Digest
    takes_effect_at: Instant


class AnswerLapsed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `ticket.answer_lapsed` entry: what came in between, so that the answer never counted.

    `answer_hash` is None where the answer itself could not be read any more.
    """

    ticket_id: TicketId
    answer_hash: Digest | None
    code: str
    problem: str


def answer_hash(answer: Answer) -> Digest:
    """The digest of the canonical bytes of the answer, signature and all."""
    return canonical_digest(asdict(answer))


def takes_effect_at(ticket: Ticket, answered_at: Instant, grace: timedelta) -> Instant | None:
    """None is at once. What was given in time counts in time, so no answer waits past the ticket's own end."""
    if grace <= timedelta(0) or not ticket.rule.undoable:
        return None
    wanted = Instant(answered_at + grace)
    if ticket.due_at is None or ticket.due_at <= answered_at:
        return wanted
    return min(wanted, ticket.due_at)


def require_undoable(ticket: Ticket, held: HeldAnswer | None, at: Instant) -> HeldAnswer:
    if held is None:
        raise ReviewError.not_held(f"expected an answer to `{ticket.id}` that does not count yet, got none")
    if at >= held.takes_effect_at:
        raise ReviewError.took_effect(
            f"the answer to `{ticket.id}` took effect at {render_instant(held.takes_effect_at)}"
        )
    return held
