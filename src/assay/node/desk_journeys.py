"""The review desk: questions to people, and their answers."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from assay.flows.review.answer_desk import DeskAnswer, answer_desk
from assay.flows.review.answer_review import SignedElsewhere
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.flows.review.inspect_review import ReviewView, list_reviews
from assay.flows.review.open_approval import ApprovalRequest, open_approval
from assay.flows.review.settle_reviews import Sweep, settle_reviews
from assay.flows.review.show_ticket import show_ticket
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import parse_digest
from assay.kernel.ids import parse_principal_id, parse_ticket_id
from assay.node.review_journeys import ReviewJourneys
from assay.ports.signer import Signer
from assay.review.draft import Reply
from assay.review.settle import Settlement
from assay.review.sight import may_read
from assay.review.ticket import Ticket

__all__ = ["DeskJourneys", "ListedTicket"]


class ListedTicket(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question to people, and how it stands."""

    ticket: Ticket
    settlement: Settlement


class DeskJourneys(ReviewJourneys):
    """Every decision of a person, bound to what that person was shown."""

    def tickets(self, *, settled_too: bool = False, credential: str | None = None) -> tuple[ListedTicket, ...]:
        """The tickets that wait for an answer, in the order they were opened; of those that concern the person."""
        viewer = self._viewer(credential)
        found = list_reviews(self.tools, self.tenant_id, settled_too=settled_too, viewer=viewer, at=self._now())
        return tuple(
            ListedTicket(ticket=ticket, settlement=settlement)
            for ticket, settlement in found
            if viewer is None or may_read(ticket, viewer)
        )

    def ticket(self, ticket_id: str, *, credential: str | None = None) -> ReviewView:
        """What a ticket shows, and every answer with its signature verified."""
        name, viewer = parse_ticket_id(ticket_id), self._viewer(credential)
        return show_ticket(self.tools, self.tenant_id, name, viewer=viewer, at=self._now()).review

    def answer_ticket(
        self,
        ticket_id: str,
        choice: str,
        *,
        seen: str,
        reason: str = "",
        body: Mapping[str, Any] | None = None,
        signing: Signer | SignedElsewhere | None = None,
        credential: str | None = None,
    ) -> DeskAnswer:
        """Answer as the person whose credential it is; `seen` is the hash of what the ticket showed them."""
        reply = Reply(
            choice=choice, seen=parse_digest(seen), reason=reason, body=canonicalize(dict(body or {})).decode()
        )
        return answer_desk(
            self._writing(),
            parse_ticket_id(ticket_id),
            reply,
            credential=self._token(credential),
            signing=signing,
            at=self._now(),
        )

    def open_ticket(
        self,
        title: str,
        shown: object,
        *,
        eligible_roles: Sequence[str],
        requested_by: str | None = None,
        about: str | None = None,
        quorum: int = 1,
        due_at: str | None = None,
        credential: str | None = None,
    ) -> Ticket:
        """Ask people for an approval, as an operator in session; `shown` is a text, or a document shown canonically."""
        request = ApprovalRequest(
            title=title,
            shown=shown,
            eligible_roles=tuple(eligible_roles),
            requested_by=None if requested_by is None else parse_principal_id(requested_by),
            about=about,
            quorum=quorum,
            due_at=due_at,
        )
        ticket, _ = open_approval(self._writing(), request, credential=self._token(credential), at=self._now())
        return ticket

    def settle_tickets(self) -> Sweep:
        """Have held answers count, settle what is due, and tell what soon will be; a server does it by itself."""
        return settle_reviews(self._writing(), self.tenant_id, at=self._now(), follow_ups=ROOM_FOLLOW_UPS)
