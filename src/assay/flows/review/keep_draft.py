"""A person keeps a draft of an answer: private, and gone when they answer or the ticket is decided.

It is in no ledger, not even as a commitment: nothing was decided, and a record of when somebody hesitated would tell
others what the person chose not to say.
"""

import msgspec
from msgspec import Struct

from assay.flows.identity.authenticate import authenticate_in, require_session
from assay.flows.known import get_ticket
from assay.flows.review.settle_review import require_unsettled
from assay.flows.tools import Tools
from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.instant import Instant
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.desk_store import SavedDraft
from assay.review.draft import require_reviewer
from assay.review.errors import AlreadyAnsweredError, BodyError, UnknownChoiceError
from assay.review.ticket import Ticket

__all__ = ["DraftedReply", "KeptDraft", "drop_draft", "find_draft", "keep_draft"]

_LONGEST = 16_000


class DraftedReply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """As much of a reply as there is yet; the body is whatever text the person has so far."""

    choice: str | None = None
    reason: str = ""
    body: str = ""


class KeptDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    reply: DraftedReply
    saved_at: Instant


def keep_draft(tools: Tools, ticket_id: TicketId, reply: DraftedReply, *, credential: str, at: Instant) -> KeptDraft:
    """In place of the one before, for whoever may answer the ticket and has not."""
    text = msgspec.json.encode(reply).decode()
    if len(text) > _LONGEST:
        raise BodyError(f"expected a draft of at most {_LONGEST} characters, got {len(text)}")

    def work(unit: Unit) -> KeptDraft:
        ticket, by = _writer(unit, ticket_id, credential, at)
        if any(answer.by == by for answer in unit.review.answers(ticket.tenant_id, ticket.id)):
            raise AlreadyAnsweredError(f"`{by}` has answered `{ticket.id}`")
        if reply.choice is not None and reply.choice not in ticket.choices:
            raise UnknownChoiceError(f"expected one of `{', '.join(ticket.choices)}`, got `{reply.choice[:80]}`")
        unit.desk.save_draft(ticket.tenant_id, SavedDraft(ticket_id=ticket.id, by=by, text=text, saved_at=at))
        return KeptDraft(reply=reply, saved_at=at)

    return tools.database.write(work)


def drop_draft(tools: Tools, ticket_id: TicketId, *, credential: str, at: Instant) -> None:
    """Whether or not there was one."""

    def work(unit: Unit) -> None:
        ticket, by = _writer(unit, ticket_id, credential, at)
        unit.desk.drop_draft(ticket.tenant_id, ticket.id, by)

    tools.database.write(work)


def find_draft(unit: Unit, ticket: Ticket, by: PrincipalId) -> KeptDraft | None:
    row = unit.desk.find_draft(ticket.tenant_id, ticket.id, by)
    if row is None:
        return None
    try:
        return KeptDraft(reply=msgspec.json.decode(row.text, type=DraftedReply), saved_at=row.saved_at)
    except msgspec.MsgspecError as error:
        raise DamagedRecordError(f"the draft of `{by}` about `{ticket.id}` cannot be read: {error}") from error


def _writer(unit: Unit, ticket_id: TicketId, credential: str, at: Instant) -> tuple[Ticket, PrincipalId]:
    proved = authenticate_in(unit, credential, at=at)
    ticket = get_ticket(unit, proved.principal.tenant_id, ticket_id)
    require_reviewer(ticket, proved.principal, at)
    require_session(proved)
    require_unsettled(unit, ticket)
    return ticket, proved.principal.id
