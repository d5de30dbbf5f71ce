"""An answer on the review desk with everything that follows: the rooms' records in its commit, then a recount.

answer + follow-ups, one commit -> the key of a vote is compiled, a bundle of claims gated again, in a commit of its own
"""

from typing import Annotated, Any

from msgspec import Meta, Struct, field
from msgspec.structs import asdict

from assay.flows.claims.approve_claims import Regated, gate_again
from assay.flows.known import get_ticket
from assay.flows.request import Header, Moment, Option, Request, require_match
from assay.flows.review.answer_review import (
    Answered,
    Hex,
    SignedElsewhere,
    answer_review,
    draft_unsigned,
    read_signature,
)
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.flows.review.show_ticket import get_readable, view_review
from assay.flows.tools import Tools
from assay.flows.truth.compile_truth import Recount, recount_key
from assay.identity.caller import Caller
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import parse_digest
from assay.kernel.ids import TicketId, parse_ticket_id
from assay.kernel.instant import render_instant
from assay.ports.database import Unit
from assay.ports.signer import Signer
from assay.review.answer import answer_message
from assay.review.draft import Reply
from assay.review.kind import TicketKind
from assay.review.ticket import Ticket


class PrepareAnswer(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    ticket_id: Annotated[str, Meta(description="The id of the ticket.")]
    choice: Annotated[str, Meta(description="One of the ticket's choices."), Option(form="argument", metavar="CHOICE")]
    seen: Annotated[
        str, Meta(description="The hash of what the ticket showed; the answer binds it."), Option(metavar="HASH")
    ]
    reason: Annotated[str, Meta(description="Why; a rejection must have a reason.")] = ""
    body: Annotated[
        dict[str, Any], Meta(description="What the ticket's kind asks for besides the choice."), Option(metavar="JSON")
    ] = field(default_factory=dict)


class AnswerTicket(PrepareAnswer, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person's answer; with a key of one's own also the signature over the prepared message, and its time."""

    signature: Annotated[
        Hex | None, Meta(description="Over the prepared message, by the caller's own key."), Option(hidden=True)
    ] = None
    answered_at: Annotated[
        Moment | None, Meta(description="The `answered_at` of the prepared message."), Option(hidden=True)
    ] = None
    if_match: Annotated[
        str | None,
        Meta(description="The ETag of the ticket as it was read: 412 where it changed since."),
        Header("If-Match"),
    ] = None


class DeskAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The recorded answer; `recount` where it is a vote, `regated` where it is about a bundle of claims."""

    answered: Answered
    recount: Recount | None = None
    regated: Regated | None = None


class PreparedAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sign the bytes of `message` (hex) with the registered key; send the answer with `signature` and `answered_at`."""

    message: str
    answered_at: str
    answer: dict[str, Any]


def answer_ticket(tools: Tools, caller: Caller, request: AnswerTicket) -> DeskAnswer:
    """Answer a ticket as a person in their own session; `seen` binds the answer to what the ticket showed.

    An answer to a validation ticket is a vote, and its key is compiled with it; a bundle of claims is gated again. A
    held verdict is attested by
    `assay verdict attest`, which makes the signed token that an attestation is.
    """
    signing = read_signature(request.signature, request.answered_at)
    return answer_desk(
        tools,
        caller,
        parse_ticket_id(request.ticket_id),
        _reply(request),
        signing=signing,
        if_match=request.if_match,
    )


def prepare_answer(tools: Tools, caller: Caller, request: PrepareAnswer) -> PreparedAnswer:
    """Return the message that a person with a key of their own signs to answer a ticket; nothing is recorded."""
    unsigned = draft_unsigned(tools, caller, parse_ticket_id(request.ticket_id), _reply(request))
    return PreparedAnswer(
        message=answer_message(unsigned).hex(), answered_at=render_instant(caller.at), answer=asdict(unsigned)
    )


def answer_desk(
    tools: Tools,
    caller: Caller,
    ticket_id: TicketId,
    reply: Reply,
    *,
    signing: Signer | SignedElsewhere | None = None,
    if_match: str | None = None,
) -> DeskAnswer:
    """Answer by the one table of follow-ups. Where this raises, nothing was recorded.

    A failure after the commit is reported in the result: the next compilation of the key counts the vote, and the next
    `resume` of a bundle the approval.
    """

    def only_if(unit: Unit, ticket: Ticket) -> None:
        if if_match is not None:
            seen = get_readable(unit, caller.tenant_id, ticket.id, caller.viewer)
            require_match(if_match, view_review(unit, tools, caller, seen)[0])

    answered = answer_review(
        tools, caller, ticket_id, reply, signing=signing, follow_ups=ROOM_FOLLOW_UPS, only_if=only_if
    )
    ticket = tools.database.read(lambda unit: get_ticket(unit, caller.tenant_id, ticket_id))
    if ticket.kind is not TicketKind.VALIDATION or ticket.about is None:
        return DeskAnswer(answered=answered, regated=gate_again(tools, caller, ticket))
    return DeskAnswer(answered=answered, recount=recount_key(tools, caller.tenant_id, ticket.about, at=caller.at))


def _reply(request: PrepareAnswer) -> Reply:
    return Reply(
        choice=request.choice,
        seen=parse_digest(request.seen),
        reason=request.reason,
        body=canonicalize(request.body).decode(),
    )
