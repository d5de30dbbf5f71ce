"""Tickets, reviewers and signed answers for tests."""

from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from assay.identity.principal import Principal, PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.instant import Instant
from assay.kernel.key import key_id_of
from assay.review.answer import Answer, SignedWith, UnsignedAnswer, answer_message, seal_answer
from assay.review.draft import Reply, draft_answer
from assay.review.kind import TicketKind
from assay.review.ticket import Ticket, TicketDraft, open_ticket, ticket_id_from
from tests.identity.people import NOON, TENANT, later, make_principal

__all__ = [
    "NODE_KEY", "NODE_KEY_ID", "NODE_PUBLIC", "REQUESTER", "TICKET_ID", "draft_by", "make_answer", "make_ticket",
    "reviewer", "sealed",
]  # fmt: skip

NODE_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
NODE_PUBLIC = NODE_KEY.public_key().public_bytes_raw()
NODE_KEY_ID = key_id_of(NODE_PUBLIC)
TICKET_ID: TicketId = ticket_id_from(bytes(16))
REQUESTER = PrincipalId("ai:planner")
_DRAFT = TicketDraft(
    kind=TicketKind.APPROVAL,
    title="delete 40 records",
    shown='{"records":40}',
    eligible_roles=("ops_team",),
    opened_by=PrincipalId("service:node"),
    requested_by=REQUESTER,
    due_at=later(hours=1),
)


def make_ticket(**changes: Any) -> Ticket:  # noqa: ANN401  any field of a draft
    return open_ticket(replace(_DRAFT, **changes), id=TICKET_ID, tenant_id=TENANT, at=NOON)


def reviewer(name: str = "user:amira", **changes: Any) -> Principal:  # noqa: ANN401  any field of a change
    kind = changes.pop("kind", PrincipalKind.PERSON)
    tenant = changes.pop("tenant", TENANT)
    change = PrincipalChange(**{"roles": ("ops_team",), **changes})
    return make_principal(name, kind=kind, tenant=tenant, change=change)


def draft_by(
    principal: Principal,
    ticket: Ticket,
    choice: str = "approve",
    *,
    at: Instant = NOON,
    earlier: tuple[Answer, ...] = (),
    **reply: str,
) -> UnsignedAnswer:
    said = Reply(**{"choice": choice, "seen": ticket.shown_hash, **reply})  # type: ignore[arg-type]  # a digest as text
    return draft_answer(
        ticket,
        principal,
        said,
        at=at,
        earlier=earlier,
        signed_with=SignedWith.NODE_REVIEW_KEY,
        signing_key_id=NODE_KEY_ID,
    )


def sealed(unsigned: UnsignedAnswer, key: Ed25519PrivateKey = NODE_KEY) -> Answer:
    return seal_answer(unsigned, key.sign(answer_message(unsigned)))


def make_answer(ticket: Ticket, by: str, choice: str, at: Instant = NOON) -> UnsignedAnswer:
    """An answer as a store might hold it, made without asking whether it was allowed."""
    return UnsignedAnswer(
        ticket_id=ticket.id,
        tenant_id=ticket.tenant_id,
        choice=choice,
        body="{}",
        seen_hash=ticket.shown_hash,
        by=PrincipalId(by),
        answered_at=at,
        reason="because",
        signed_with=SignedWith.NODE_REVIEW_KEY,
        signing_key_id=NODE_KEY_ID,
    )
