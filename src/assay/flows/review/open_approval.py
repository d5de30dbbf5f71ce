"""An operator asks people for an approval that no room asks for."""

from msgspec import Struct

from assay.flows.identity.authenticate import authenticate, require_session
from assay.flows.review.open_review import open_review
from assay.flows.tools import Tools
from assay.identity.authorise import require_role
from assay.identity.principal import BuiltInRole
from assay.kernel.canonical import canonicalize
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant, parse_instant
from assay.kernel.ledger import Receipt
from assay.review.kind import TicketKind
from assay.review.ticket import Ticket, TicketDraft

__all__ = ["ApprovalRequest", "open_approval"]


class ApprovalRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`shown` is the text that people will see, or a JSON document, shown canonically."""

    title: str
    shown: object
    eligible_roles: tuple[str, ...]
    requested_by: PrincipalId | None = None
    about: str | None = None
    quorum: int = 1
    due_at: str | None = None


def open_approval(tools: Tools, request: ApprovalRequest, *, credential: str, at: Instant) -> tuple[Ticket, Receipt]:
    """Open the ticket in an operator's own session; whoever opens it does not answer it."""
    proved = authenticate(tools, credential, at=at)
    require_session(proved)
    person = proved.principal
    require_role(person, [BuiltInRole.OPERATOR])
    return open_review(tools, person.tenant_id, _draft(request, person.id), at=at)


def _draft(request: ApprovalRequest, opened_by: PrincipalId) -> TicketDraft:
    shown = request.shown if isinstance(request.shown, str) else canonicalize(request.shown).decode()
    return TicketDraft(
        kind=TicketKind.APPROVAL,
        title=request.title,
        shown=shown,
        eligible_roles=request.eligible_roles,
        opened_by=opened_by,
        requested_by=request.requested_by,
        about=request.about,
        quorum=request.quorum,
        due_at=None if request.due_at is None else parse_instant(request.due_at),
    )
