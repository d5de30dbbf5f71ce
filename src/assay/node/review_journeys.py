"""Working at the review desk: what waits, who works on it, what was said, and how it all went."""

from collections.abc import Mapping
from datetime import timedelta

from assay.flows.identity.authenticate import authenticate
from assay.flows.review.act_review import Acted, Wish, act_review
from assay.flows.review.answer_bulk import BulkReport, Pick, answer_bulk, plan_bulk
from assay.flows.review.answer_review import SignedElsewhere
from assay.flows.review.claim_review import claim_wish, release_wish
from assay.flows.review.comment_review import comment_wish
from assay.flows.review.keep_draft import DraftedReply, KeptDraft, drop_draft, keep_draft
from assay.flows.review.keep_view import KeptView, drop_view, keep_view, list_views
from assay.flows.review.place_review import assign_wish, priority_wish
from assay.flows.review.show_progress import show_progress
from assay.flows.review.show_queue import QueuePage, show_queue
from assay.flows.review.show_ticket import DeskTicket, show_ticket
from assay.flows.review.show_timeline import TimelineEntry, show_timeline
from assay.flows.review.undo_answer import undo_wish
from assay.kernel.digest import parse_digest
from assay.kernel.ids import parse_principal_id, parse_ticket_id
from assay.node.ledger_journeys import LedgerJourneys
from assay.ports.signer import Signer
from assay.review.act import Priority
from assay.review.progress import Progress
from assay.review.queue import QueueFilter

__all__ = ["ReviewJourneys"]


class ReviewJourneys(LedgerJourneys):
    """With a credential one sees what that person sees; without one, everything, as the operator of the folder."""

    def queue(
        self,
        wanted: QueueFilter | None = None,
        *,
        after: str | None = None,
        limit: int = 100,
        credential: str | None = None,
    ) -> QueuePage:
        """The tickets that wait, the most urgent first, a page at a time."""
        return show_queue(
            self.tools,
            self.tenant_id,
            wanted or QueueFilter(),
            viewer=self._viewer(credential),
            after=None if after is None else parse_ticket_id(after),
            limit=limit,
            at=self._now(),
        )

    def desk_ticket(self, ticket_id: str, *, credential: str | None = None) -> DeskTicket:
        """A ticket with who works on it, whose it is, and what was said; others' words not before one's own."""
        name, viewer = parse_ticket_id(ticket_id), self._viewer(credential)
        return show_ticket(self.tools, self.tenant_id, name, viewer=viewer, at=self._now())

    def timeline(self, ticket_id: str, *, credential: str | None = None) -> tuple[TimelineEntry, ...]:
        """Everything that happened to a ticket, each step with its entry and the hash of that."""
        name = parse_ticket_id(ticket_id)
        return show_timeline(self.tools, self.tenant_id, name, viewer=self._viewer(credential))

    def progress(self, *, credential: str | None = None) -> tuple[Progress, ...]:
        """How reviewers get on."""
        return show_progress(self.tools, self.tenant_id, viewer=self._viewer(credential), at=self._now())

    def claim_ticket(
        self,
        ticket_id: str,
        *,
        span: timedelta | None = None,
        signing: Signer | SignedElsewhere | None = None,
        credential: str | None = None,
    ) -> Acted:
        """Work on a ticket for a while; it is no right to answer, and answering needs no claim."""
        return self._act(ticket_id, claim_wish(self.tools, span), signing, credential)

    def release_ticket(
        self,
        ticket_id: str,
        *,
        holder: str | None = None,
        signing: Signer | SignedElsewhere | None = None,
        credential: str | None = None,
    ) -> Acted:
        """Give a ticket back; another's claim takes an admin or operator."""
        whose = None if holder is None else parse_principal_id(holder)
        return self._act(ticket_id, release_wish(whose), signing, credential)

    def assign_ticket(
        self,
        ticket_id: str,
        *,
        person: str | None = None,
        role: str | None = None,
        signing: Signer | SignedElsewhere | None = None,
        credential: str | None = None,
    ) -> Acted:
        """Say whose a ticket is; whoever may answer it still may."""
        named = None if person is None else parse_principal_id(person)
        return self._act(ticket_id, assign_wish(person=named, role=role), signing, credential)

    def prioritise_ticket(
        self,
        ticket_id: str,
        priority: Priority | str,
        *,
        signing: Signer | SignedElsewhere | None = None,
        credential: str | None = None,
    ) -> Acted:
        """Say how soon a ticket should be looked at."""
        return self._act(ticket_id, priority_wish(Priority(priority)), signing, credential)

    def comment_ticket(
        self,
        ticket_id: str,
        text: str,
        *,
        signing: Signer | SignedElsewhere | None = None,
        credential: str | None = None,
    ) -> Acted:
        """Add words, signed; they can be erased from the entry, and its proof stays."""
        return self._act(ticket_id, comment_wish(self.tools, text), signing, credential)

    def undo_answer(
        self,
        ticket_id: str,
        *,
        reason: str = "",
        signing: Signer | SignedElsewhere | None = None,
        credential: str | None = None,
    ) -> Acted:
        """Take an answer back that does not count yet."""
        return self._act(ticket_id, undo_wish(reason), signing, credential)

    def keep_draft(self, ticket_id: str, reply: DraftedReply, *, credential: str | None = None) -> KeptDraft:
        """Keep a draft of an answer; nobody else sees it, and it is in no ledger."""
        token = self._token(credential)
        return keep_draft(self._writing(), parse_ticket_id(ticket_id), reply, credential=token, at=self._now())

    def drop_draft(self, ticket_id: str, *, credential: str | None = None) -> None:
        """Throw one's draft away, whether or not there was one."""
        token = self._token(credential)
        drop_draft(self._writing(), parse_ticket_id(ticket_id), credential=token, at=self._now())

    def plan_answers(
        self, wanted: QueueFilter, choice: str, *, reason: str = "", credential: str | None = None
    ) -> BulkReport:
        """A dry run over every ticket of the filter; nothing is recorded."""
        token = self._token(credential)
        return plan_bulk(self._writing(), wanted, choice, reason=reason, credential=token, at=self._now())

    def answer_tickets(
        self,
        seen: Mapping[str, str],
        choice: str,
        *,
        reason: str = "",
        signing: Signer | None = None,
        credential: str | None = None,
    ) -> BulkReport:
        """Answer many tickets, each by itself; `seen` is the hash of what each of them showed."""
        picks = [Pick(ticket_id=parse_ticket_id(name), seen=parse_digest(shown)) for name, shown in seen.items()]
        return answer_bulk(
            self._writing(),
            picks,
            choice,
            reason=reason,
            credential=self._token(credential),
            signing=signing,
            at=self._now(),
        )

    def keep_view(
        self, name: str, wanted: QueueFilter, *, shared: bool = False, credential: str | None = None
    ) -> KeptView:
        """Keep a filter under a name."""
        token = self._token(credential)
        return keep_view(self._writing(), name, wanted, shared=shared, credential=token, at=self._now())

    def drop_view(self, name: str, *, credential: str | None = None) -> None:
        """Forget a view of one's own."""
        drop_view(self._writing(), name, credential=self._token(credential), at=self._now())

    def views(self, *, credential: str | None = None) -> tuple[KeptView, ...]:
        """One's own views, and those that others share."""
        person = authenticate(self.tools, self._token(credential), at=self._now()).principal
        return list_views(self.tools, person.tenant_id, person.id)

    def _act(
        self, ticket_id: str, wish: Wish, signing: Signer | SignedElsewhere | None, credential: str | None
    ) -> Acted:
        return act_review(
            self._writing(),
            parse_ticket_id(ticket_id),
            wish,
            credential=self._token(credential),
            signing=signing,
            at=self._now(),
        )
