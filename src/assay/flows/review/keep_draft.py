"""Drafts of answers: private, and gone when their writer answers or the ticket is settled.

It is in no ledger, not even as a commitment: nothing was decided, and a record of when somebody hesitated would tell
others what the person chose not to say.
"""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from assay.flows.identity.authenticate import confirm
from assay.flows.known import get_ticket
from assay.flows.request import Request
from assay.flows.review.answer_review import require_reviewing
from assay.flows.review.keep_view import Dropped
from assay.flows.review.settle_review import require_unsettled
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.ids import PrincipalId, parse_ticket_id
from assay.kernel.instant import Instant
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.desk_store import SavedDraft
from assay.review.draft import require_reviewer
from assay.review.errors import ReviewError
from assay.review.ticket import Ticket

_LONGEST = 16_000
_TicketName = Annotated[str, Meta(description="The id of the ticket.")]


class KeepDraft(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    ticket_id: _TicketName
    choice: Annotated[str | None, Meta(description="The choice so far.")] = None
    reason: Annotated[str, Meta(description="The reason so far.")] = ""
    body: Annotated[str, Meta(description="The text of the body so far.")] = ""


class DropDraft(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    ticket_id: _TicketName


class DraftedReply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An unfinished answer; the body may be any text."""

    choice: str | None = None
    reason: str = ""
    body: str = ""


class KeptDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    reply: DraftedReply
    saved_at: Instant


def keep_draft(tools: Tools, caller: Caller, request: KeepDraft) -> KeptDraft:
    """Save a draft of the caller's answer in place of the one before; nobody else sees it."""
    reply = DraftedReply(choice=request.choice, reason=request.reason, body=request.body)
    text = msgspec.json.encode(reply).decode()
    if len(text) > _LONGEST:
        raise ReviewError.body(f"expected a draft of at most {_LONGEST} characters, got {len(text)}")

    def work(unit: Unit) -> KeptDraft:
        ticket, by = _writer(unit, caller, request.ticket_id)
        if any(answer.by == by for answer in unit.review.answers(ticket.tenant_id, ticket.id)):
            raise ReviewError.already_answered(f"`{by}` has answered `{ticket.id}`")
        if reply.choice is not None and reply.choice not in ticket.choices:
            raise ReviewError.unknown_choice(
                f"expected one of `{', '.join(ticket.choices)}`, got `{reply.choice[:80]}`"
            )
        unit.desk.save_draft(ticket.tenant_id, SavedDraft(ticket_id=ticket.id, by=by, text=text, saved_at=caller.at))
        return KeptDraft(reply=reply, saved_at=caller.at)

    return tools.database.write(work)


def drop_draft(tools: Tools, caller: Caller, request: DropDraft) -> Dropped:
    """Delete the caller's draft of an answer, whether or not there was one."""

    def work(unit: Unit) -> Dropped:
        ticket, by = _writer(unit, caller, request.ticket_id)
        unit.desk.drop_draft(ticket.tenant_id, ticket.id, by)
        return Dropped()

    return tools.database.write(work)


def find_draft(unit: Unit, ticket: Ticket, by: PrincipalId) -> KeptDraft | None:
    row = unit.desk.find_draft(ticket.tenant_id, ticket.id, by)
    if row is None:
        return None
    try:
        return KeptDraft(reply=msgspec.json.decode(row.text, type=DraftedReply), saved_at=row.saved_at)
    except msgspec.MsgspecError as error:
        raise DamagedRecordError(f"the draft of `{by}` about `{ticket.id}` cannot be read: {error}") from error


def _writer(unit: Unit, caller: Caller, ticket_id: str) -> tuple[Ticket, PrincipalId]:
    person = confirm(unit, caller).principal
    ticket = get_ticket(unit, caller.tenant_id, parse_ticket_id(ticket_id))
    require_reviewing(caller)
    require_reviewer(ticket, person, caller.at)
    require_unsettled(unit, ticket)
    return ticket, person.id
