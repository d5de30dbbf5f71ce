"""The review desk, and the people who sit at it."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from msgspec import Struct

from assay.flows.identity.add_principal import add_principal
from assay.flows.identity.amend_principal import amend_principal
from assay.flows.identity.issue_api_key import issue_api_key
from assay.flows.identity.log_in import log_in
from assay.flows.review.answer_desk import DeskAnswer, answer_desk
from assay.flows.review.answer_review import SignedElsewhere
from assay.flows.review.inspect_review import ReviewView, inspect_review, list_reviews
from assay.identity.principal import LOCAL_OPERATOR, Principal, PrincipalChange, PrincipalKind
from assay.identity.session import DEFAULT_SESSION_LIFETIME
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import parse_digest
from assay.kernel.ids import parse_principal_id, parse_ticket_id
from assay.node.review_journeys import ReviewJourneys
from assay.ports.signer import Signer
from assay.review.draft import Reply
from assay.review.settle import Settlement
from assay.review.ticket import Ticket

__all__ = ["DeskJourneys", "ListedTicket"]


class ListedTicket(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question to people, and how it stands."""

    ticket: Ticket
    settlement: Settlement


class DeskJourneys(ReviewJourneys):
    """Every decision of a person, bound to what that person was shown."""

    def tickets(self, *, settled_too: bool = False) -> tuple[ListedTicket, ...]:
        """The tickets that wait for an answer."""
        viewer = self._viewer(None)
        found = list_reviews(self.tools, self.tenant_id, settled_too=settled_too, viewer=viewer, at=self._now())
        return tuple(ListedTicket(ticket=ticket, settlement=settlement) for ticket, settlement in found)

    def ticket(self, ticket_id: str) -> ReviewView:
        """What a ticket shows, and every answer with its signature verified."""
        name, viewer = parse_ticket_id(ticket_id), self._viewer(None)
        return inspect_review(self.tools, self.tenant_id, name, viewer=viewer, at=self._now())

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

    def add_principal(
        self,
        principal_id: str,
        *,
        kind: PrincipalKind | str = PrincipalKind.PERSON,
        name: str = "",
        password: str | None = None,
        granted: PrincipalChange | None = None,
    ) -> Principal:
        """A person, agent or service joins, by the operator of this folder."""
        return add_principal(
            self._writing(),
            self.tenant_id,
            parse_principal_id(principal_id),
            kind=PrincipalKind(kind),
            name=name or principal_id,
            granted=granted,
            password=password,
            by=LOCAL_OPERATOR,
            at=self._now(),
        )

    def amend_principal(self, principal_id: str, change: PrincipalChange) -> Principal:
        """Other roles, bits, tiers or names, by the operator of this folder."""
        return amend_principal(
            self._writing(),
            self.tenant_id,
            parse_principal_id(principal_id),
            change,
            by=LOCAL_OPERATOR,
            at=self._now(),
        )

    def issue_key(self, principal_id: str) -> str:
        """An API key, shown once and kept nowhere."""
        text, _ = issue_api_key(
            self._writing(), self.tenant_id, parse_principal_id(principal_id), by=LOCAL_OPERATOR, at=self._now()
        )
        return text

    def log_in(self, principal_id: str, password: str, *, lifetime: timedelta = DEFAULT_SESSION_LIFETIME) -> str:
        """A person's session token."""
        token, _ = log_in(
            self._writing(),
            self.tenant_id,
            parse_principal_id(principal_id),
            password,
            lifetime=lifetime,
            at=self._now(),
        )
        return token
