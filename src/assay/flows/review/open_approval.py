"""An operator asks people for an approval that no room asks for."""

from typing import Annotated, Any

from msgspec import Meta

from assay.flows.identity.authenticate import confirm
from assay.flows.request import Done, Moment, Option, PrincipalName, Request, parse_moment
from assay.flows.review.answer_review import require_reviewing
from assay.flows.review.open_review import draft_ticket, open_review_in
from assay.flows.tools import Tools
from assay.identity.authorise import require_role
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole
from assay.kernel.canonical import canonicalize
from assay.kernel.ids import parse_principal_id
from assay.kernel.ledger import Receipt
from assay.ports.database import Unit
from assay.review.kind import TicketKind
from assay.review.ticket import Ticket, TicketDraft


class OpenTicket(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    title: Annotated[str, Meta(description="The question in one line."), Option(form="argument")]
    shown: Annotated[
        Any,
        Meta(description="The text that people are shown, or a JSON document, shown canonically."),
        Option(form="argument"),
    ]
    eligible_roles: Annotated[tuple[str, ...], Meta(description="The roles that may answer.")]
    requested_by: Annotated[
        PrincipalName | None, Meta(description="The principal whose request it is; they cannot answer it.")
    ] = None
    about: Annotated[str | None, Meta(description="The subject, by which the ticket is found again.")] = None
    quorum: Annotated[int, Meta(description="How many people must agree.")] = 1
    due_at: Annotated[Moment | None, Meta(description="When it is denied if nobody has answered.")] = None


def open_ticket(tools: Tools, caller: Caller, request: OpenTicket) -> Done[Ticket]:
    """Open a ticket for an approval, as an operator in session; the person who opens it cannot answer it."""
    require_reviewing(caller)
    require_role(caller.principal, [BuiltInRole.OPERATOR])
    shown = request.shown if isinstance(request.shown, str) else canonicalize(request.shown).decode()
    draft = TicketDraft(
        kind=TicketKind.APPROVAL,
        title=request.title,
        shown=shown,
        eligible_roles=request.eligible_roles,
        opened_by=caller.principal.id,
        requested_by=None if request.requested_by is None else parse_principal_id(request.requested_by),
        about=request.about,
        quorum=request.quorum,
        due_at=parse_moment(request.due_at),
    )
    ticket = draft_ticket(tools, caller.tenant_id, draft, at=caller.at)

    def work(unit: Unit) -> Receipt:
        confirm(unit, caller)
        return open_review_in(unit, ticket)

    return Done(value=ticket, receipt=tools.database.write(work))
