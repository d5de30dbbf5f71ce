"""An answer on the review desk with all that follows: the rooms' own records in its commit, then what it asks to redo.

answer + follow-ups, one commit -> a vote among them: its key is compiled, by itself
"""

from msgspec import Struct

from assay.flows.known import get_ticket
from assay.flows.review.answer_review import Answered, SignedElsewhere, answer_review
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.flows.tools import Tools
from assay.flows.truth.recount import Recount, recount_key
from assay.kernel.ids import TicketId
from assay.kernel.instant import Instant
from assay.ports.signer import Signer
from assay.review.draft import Reply
from assay.review.kind import TicketKind

__all__ = ["DeskAnswer", "answer_desk"]


class DeskAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The recorded answer; `recount` where it is a vote."""

    answered: Answered
    recount: Recount | None = None


def answer_desk(
    tools: Tools,
    ticket_id: TicketId,
    reply: Reply,
    *,
    credential: str,
    signing: Signer | SignedElsewhere | None = None,
    at: Instant,
) -> DeskAnswer:
    """As `answer_review`, by the one table of follow-ups. Whatever is raised here, nothing was recorded.

    What fails after the commit is told in the answer: the next compilation of the key counts the vote.
    """
    answered = answer_review(
        tools, ticket_id, reply, credential=credential, signing=signing, follow_ups=ROOM_FOLLOW_UPS, at=at
    )
    tenant_id = answered.receipt.tenant_id
    ticket = tools.database.read(lambda unit: get_ticket(unit, tenant_id, ticket_id))
    if ticket.kind is not TicketKind.VALIDATION or ticket.about is None:
        return DeskAnswer(answered=answered)
    return DeskAnswer(answered=answered, recount=recount_key(tools, tenant_id, ticket.about, at=at))
