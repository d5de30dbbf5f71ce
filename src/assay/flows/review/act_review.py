"""A person acts at the desk without answering: authenticated, bound to what the ticket shows, signed and recorded.

credential -> person; ticket + wish -> body -> signature -> entry, row and effect in one commit
"""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from assay.flows.identity.authenticate import authenticate_in, require_session
from assay.flows.known import get_ticket
from assay.flows.review.answer_review import SignedElsewhere, key_for, verify_signing_time
from assay.flows.review.check_answer import desk_key_ring, key_of
from assay.flows.review.desk_entry import act_entry
from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.kernel.digest import Digest
from assay.kernel.ids import TicketId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Receipt
from assay.ports.database import Unit
from assay.ports.desk_store import StoredAct
from assay.ports.signer import Signer
from assay.review.act import Act, ActBody, UnsignedAct, act_message, kind_of, render_act_body, seal_act, verify_act
from assay.review.draft import require_own_key, require_person
from assay.review.errors import MovedError, StaleTicketError
from assay.review.ticket import Ticket

__all__ = ["Acted", "Seat", "Wish", "act_review", "prepare_act"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """Who sits before which ticket, in which unit of work; `acted_at` is the time on the act, `at` our own."""

    unit: Unit
    ticket: Ticket
    person: Principal
    acted_at: Instant
    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the person wants: the body it comes to, or a refusal, and what it changes besides being on record.

    `words` are a comment's own, with the salt of their commitment.
    """

    body: Callable[[Seat], ActBody]
    change: Callable[[Unit, Ticket, Act], None] = lambda _unit, _ticket, _act: None
    words: tuple[str, bytes] | None = None


class Acted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The act as it was signed, and its ledger entry."""

    act: Act
    receipt: Receipt


def act_review(
    tools: Tools,
    ticket_id: TicketId,
    wish: Wish,
    *,
    credential: str,
    signing: Signer | SignedElsewhere | None = None,
    seen: Digest | None = None,
    at: Instant,
) -> Acted:
    """Record one act, or refuse with the first reason why not; who signs is as with answers.

    `seen` is the hash of what was on the screen, refused if the ticket shows something else; the act binds it anyway.
    """
    unsigned = tools.database.read(lambda unit: _draft(unit, tools, ticket_id, wish, credential, signing, seen, at))
    act = seal_act(unsigned, _sign(tools, unsigned, signing))

    def work(unit: Unit) -> Acted:
        authenticate_in(unit, credential, at=max(at, tools.clock.now()))
        if _draft(unit, tools, ticket_id, wish, credential, signing, seen, at) != unsigned:
            raise MovedError(f"something about `{ticket_id}` changed meanwhile, look again")
        return _record(unit, tools, act, wish, at)

    return tools.database.write(work)


def prepare_act(
    tools: Tools, ticket_id: TicketId, wish: Wish, *, credential: str, seen: Digest | None = None, at: Instant
) -> UnsignedAct:
    """What a person with a key of their own has to sign (`act_message` of it); nothing is recorded."""
    elsewhere = SignedElsewhere(signature=b"", answered_at=at)
    return tools.database.read(lambda unit: _draft(unit, tools, ticket_id, wish, credential, elsewhere, seen, at))


def _draft(
    unit: Unit,
    tools: Tools,
    ticket_id: TicketId,
    wish: Wish,
    credential: str,
    signing: Signer | SignedElsewhere | None,
    seen: Digest | None,
    at: Instant,
) -> UnsignedAct:
    proved = authenticate_in(unit, credential, at=at)
    person = proved.principal
    ticket = get_ticket(unit, person.tenant_id, ticket_id)
    require_person(ticket, person, at)
    require_session(proved)
    if seen not in (None, ticket.shown_hash):
        raise StaleTicketError(f"`{ticket.id}` shows {ticket.shown_hash}, got {seen}")
    acted_at = signing.answered_at if isinstance(signing, SignedElsewhere) else at
    verify_signing_time(acted_at, ticket, at)
    body = wish.body(Seat(unit=unit, ticket=ticket, person=person, acted_at=acted_at, at=at))
    signed_with, key_id = key_for(tools, person, signing)
    require_own_key(person, signed_with, key_id)
    return UnsignedAct(
        ticket_id=ticket.id,
        tenant_id=ticket.tenant_id,
        kind=kind_of(body),
        body=render_act_body(body),
        seen_hash=ticket.shown_hash,
        by=person.id,
        acted_at=acted_at,
        signed_with=signed_with,
        signing_key_id=key_id,
    )


def _sign(tools: Tools, unsigned: UnsignedAct, signing: Signer | SignedElsewhere | None) -> bytes:
    if isinstance(signing, SignedElsewhere):
        return signing.signature
    return (signing or tools.review_signer).sign(act_message(unsigned))


def _record(unit: Unit, tools: Tools, act: Act, wish: Wish, at: Instant) -> Acted:
    ticket = get_ticket(unit, act.tenant_id, act.ticket_id)
    verify_act(act, ticket, key_of(unit, act, desk_key_ring(unit, tools.founder), act.acted_at))
    wish.change(unit, ticket, act)
    receipt = unit.ledger.append(act_entry(ticket, act, at=at, words=wish.words))
    row = StoredAct(
        ticket_id=ticket.id,
        sequence_number=receipt.sequence_number,
        kind=act.kind,
        by=act.by,
        text=msgspec.json.encode(act).decode(),
    )
    unit.desk.add_act(ticket.tenant_id, row)
    return Acted(act=act, receipt=receipt)
