"""What people do to a ticket besides answering: claim, release, assign, prioritise, comment, undo.

caller -> person; ticket + wish -> body -> signature -> entry, row and effect in one commit
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import asdict

from assay.facts.review import act_entry
from assay.flows.identity.authenticate import confirm
from assay.flows.identity.standing import require_independent
from assay.flows.known import get_ticket
from assay.flows.request import (
    FieldProblem,
    FieldsError,
    Moment,
    Option,
    PrincipalName,
    Request,
)
from assay.flows.review.answer_review import (
    Hex,
    SignedElsewhere,
    key_for,
    read_signature,
    require_reviewing,
    verify_signing_time,
)
from assay.flows.review.check_answer import desk_key_ring, key_of
from assay.flows.review.held_answers import find_held
from assay.flows.review.settle_now import leases_in_force
from assay.flows.review.settle_review import require_unsettled
from assay.flows.tools import Tools
from assay.identity.authorise import has_role
from assay.identity.caller import Caller
from assay.identity.principal import Principal
from assay.kernel.commitment import MIN_SALT_SIZE, commit
from assay.kernel.digest import Digest, parse_digest
from assay.kernel.ids import PrincipalId, TicketId, parse_principal_id, parse_ticket_id
from assay.kernel.instant import Instant, render_instant
from assay.kernel.ledger import Receipt
from assay.ports.database import Unit
from assay.ports.signer import Signer
from assay.review.act import (
    Act,
    ActBody,
    ActKind,
    Assign,
    Claim,
    Comment,
    Prioritise,
    Priority,
    Release,
    Undo,
    UnsignedAct,
    act_message,
    kind_of,
    parse_act_body,
    render_act_body,
    seal_act,
    verify_act,
)
from assay.review.draft import require_not_own, require_own_key, require_person, require_reviewer
from assay.review.errors import MovedError, ReviewError
from assay.review.hold import require_undoable
from assay.review.lease import Lease, lease_until, live_leases, require_claimable, require_unleased
from assay.review.placement import require_assignable
from assay.review.sight import STEWARDS, require_commenter, require_steward
from assay.review.ticket import Ticket

_LONGEST_REASON = 4000
_LONGEST_COMMENT = 4000
_DAY = 86_400
_Seconds = Annotated[int, Meta(ge=1, le=_DAY)]


class ActOnTicket(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every act has; `signature` and `acted_at` come from the prepared message."""

    ticket_id: Annotated[str, Meta(description="The id of the ticket.")]
    seen: Annotated[
        str | None,
        Meta(description="The hash of what the ticket showed; refused where it shows something else."),
        Option(metavar="HASH"),
    ] = None
    signature: Annotated[
        Hex | None, Meta(description="Over the prepared message, by the caller's own key."), Option(hidden=True)
    ] = None
    acted_at: Annotated[
        Moment | None, Meta(description="The `acted_at` of the prepared message."), Option(hidden=True)
    ] = None


class ClaimTicket(ActOnTicket, frozen=True, kw_only=True, forbid_unknown_fields=True):
    seconds: Annotated[
        _Seconds | None,
        Meta(description="How long the claim lasts; without it, as the node is configured."),
        Option(flag="--for", form="span", metavar="SPAN"),
    ] = None


class ReleaseTicket(ActOnTicket, frozen=True, kw_only=True, forbid_unknown_fields=True):
    holder: Annotated[
        PrincipalName | None,
        Meta(description="Whose claim; without it, the caller's. Another's takes an admin or operator."),
    ] = None


class AssignTicket(ActOnTicket, frozen=True, kw_only=True, forbid_unknown_fields=True):
    person: Annotated[
        PrincipalName | None, Meta(description="Assign it to this person."), Option(flag="--to", metavar="PERSON")
    ] = None
    role: Annotated[str | None, Meta(description="Assign it to people with this role.")] = None


class PrioritiseTicket(ActOnTicket, frozen=True, kw_only=True, forbid_unknown_fields=True):
    priority: Annotated[Priority, Meta(description="How urgent it is."), Option(form="argument", metavar="PRIORITY")]


class CommentTicket(ActOnTicket, frozen=True, kw_only=True, forbid_unknown_fields=True):
    text: Annotated[str, Meta(description="The comment."), Option(form="argument", metavar="TEXT")]
    salt: Annotated[Hex | None, Meta(description="The `salt` of the prepared message."), Option(hidden=True)] = None


class UndoAnswer(ActOnTicket, frozen=True, kw_only=True, forbid_unknown_fields=True):
    reason: Annotated[str, Meta(description="Why; it is recorded in the ledger.")] = ""


class PrepareAct(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An act and its own fields."""

    ticket_id: Annotated[str, Meta(description="The id of the ticket.")]
    act: Annotated[ActKind, Meta(description="What is to be done.")]
    seen: Annotated[str | None, Meta(description="The hash of what the ticket showed.")] = None
    seconds: Annotated[_Seconds | None, Meta(description="With `claim`: how long it lasts.")] = None
    holder: Annotated[PrincipalName | None, Meta(description="With `release`: whose claim.")] = None
    person: Annotated[PrincipalName | None, Meta(description="With `assign`: to this person.")] = None
    role: Annotated[str | None, Meta(description="With `assign`: to people with this role.")] = None
    priority: Annotated[Priority | None, Meta(description="With `prioritise`: how urgent it is.")] = None
    text: Annotated[str | None, Meta(description="With `comment`: the comment.")] = None
    reason: Annotated[str, Meta(description="With `undo`: why.")] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A person before a ticket, in one unit of work; `acted_at` is the time on the act, `at` our own."""

    unit: Unit
    ticket: Ticket
    person: Principal
    acted_at: Instant
    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the person wants: the body that it becomes, or a refusal, and what it changes besides being recorded.

    `words` are the text of a comment, with the salt of their commitment.
    """

    body: Callable[[Seat], ActBody]
    change: Callable[[Unit, Ticket, Act], None] = lambda _unit, _ticket, _act: None
    words: tuple[str, bytes] | None = None


class Acted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The act as it was signed, and its ledger entry."""

    act: Act
    receipt: Receipt


class PreparedAct(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sign the bytes of `message` (hex) with the registered key; send the act with `signature` and these fields."""

    message: str
    acted_at: str
    salt: str | None
    act: dict[str, Any]


def claim_ticket(tools: Tools, caller: Caller, request: ClaimTicket) -> Acted:
    """Claim a ticket for a while: others cannot answer it until then. Claiming again moves the end.

    A claim gives no right to answer, and answering needs no claim.
    """
    return _act(tools, caller, request, claim_wish(tools, _span(request.seconds)))


def release_ticket(tools: Tools, caller: Caller, request: ReleaseTicket) -> Acted:
    """Release a claimed ticket before the claim ends; admins and operators may release another person's claim."""
    return _act(tools, caller, request, release_wish(_principal(request.holder)))


def assign_ticket(tools: Tools, caller: Caller, request: AssignTicket) -> Acted:
    """Assign a ticket to a person or a role that may answer it; with neither, to nobody in particular.

    It orders the queue; everybody who may answer still may.
    """
    return _act(tools, caller, request, assign_wish(person=_principal(request.person), role=request.role))


def prioritise_ticket(tools: Tools, caller: Caller, request: PrioritiseTicket) -> Acted:
    """Set the priority of a ticket."""
    return _act(tools, caller, request, priority_wish(request.priority))


def comment_ticket(tools: Tools, caller: Caller, request: CommentTicket) -> Acted:
    """Comment on a ticket, signed; the words can be erased later, and the proof of the entry still holds."""
    # A salt counts with a signature alone: where the node signs, it draws one.
    salt = bytes.fromhex(request.salt) if request.salt is not None and request.signature is not None else None
    return _act(tools, caller, request, comment_wish(tools, request.text, salt=salt))


def undo_answer(tools: Tools, caller: Caller, request: UndoAnswer) -> Acted:
    """Undo the caller's own answer before it takes effect; the ledger keeps the answer and the undoing."""
    return _act(tools, caller, request, undo_wish(request.reason))


def prepare_act(tools: Tools, caller: Caller, request: PrepareAct) -> PreparedAct:
    """Return the message that a person with a key of their own signs for an act; nothing is recorded."""
    salt = tools.entropy.token(MIN_SALT_SIZE) if request.act is ActKind.COMMENT else None
    wish, seen = _wish(tools, request, salt), _digest(request.seen)
    elsewhere = SignedElsewhere(signature=b"", answered_at=caller.at)
    ticket_id = parse_ticket_id(request.ticket_id)
    unsigned = tools.database.read(lambda unit: _draft(unit, tools, caller, ticket_id, wish, elsewhere, seen))
    return PreparedAct(
        message=act_message(unsigned).hex(),
        acted_at=render_instant(caller.at),
        salt=None if salt is None else salt.hex(),
        act=asdict(unsigned),
    )


def act_review(
    tools: Tools,
    caller: Caller,
    ticket_id: TicketId,
    wish: Wish,
    *,
    signing: Signer | SignedElsewhere | None = None,
    seen: Digest | None = None,
) -> Acted:
    """Record one act of a person in session, or refuse it with the first reason; keys sign as with answers.

    `seen` is the hash of what was on the screen, refused if the ticket shows something else; the act binds it anyway.
    """
    unsigned = tools.database.read(lambda unit: _draft(unit, tools, caller, ticket_id, wish, signing, seen))
    act = seal_act(unsigned, _sign(tools, unsigned, signing))

    def work(unit: Unit) -> Acted:
        confirm(unit, caller.as_of(max(caller.at, tools.clock.now())))
        if _draft(unit, tools, caller, ticket_id, wish, signing, seen) != unsigned:
            raise MovedError(f"something about `{ticket_id}` changed meanwhile, look again")
        return _record(unit, tools, act, wish, caller.at)

    return tools.database.write(work)


def claim_wish(tools: Tools, span: timedelta | None = None) -> Wish:
    """To claim a ticket; a person who could not answer it cannot claim it."""
    wanted = tools.desk.lease if span is None else span

    def body(seat: Seat) -> Claim:
        ticket, person = seat.ticket, seat.person
        require_reviewer(ticket, person, seat.at)
        require_independent(seat.unit, ticket, person, seat.at)
        require_claimable(ticket)
        require_unsettled(seat.unit, ticket)
        _require_unanswered(seat)
        require_unleased(ticket, person.id, leases_in_force(seat.unit, ticket, seat.at), seat.at)
        return Claim(until=lease_until(seat.acted_at, wanted, tools.desk.longest_lease))

    return Wish(body=body, change=_lease)


def release_wish(holder: PrincipalId | None = None) -> Wish:
    """To end one's own claim; stewards may end another's, unless the ticket is about their own request."""

    def body(seat: Seat) -> Release:
        whose = holder or seat.person.id
        leases = live_leases(seat.unit.desk.leases(seat.ticket.tenant_id, seat.ticket.id), seat.at)
        mine = [lease for lease in leases if lease.by == whose]
        if not mine or (whose != seat.person.id and not has_role(seat.person, STEWARDS)):
            raise ReviewError.not_leased(f"expected a lease of `{whose}` that `{seat.person.id}` may end, got none")
        if whose != seat.person.id:
            # The requester does not choose who judges the request.
            require_not_own(seat.ticket, seat.person)
        return Release(holder=whose)

    return Wish(body=body, change=_release)


def assign_wish(*, person: PrincipalId | None = None, role: str | None = None) -> Wish:
    """For a person or a role that may answer it; for neither, it is everybody's again."""
    wanted = Assign(person=person, role=role)

    def body(seat: Seat) -> Assign:
        require_steward(seat.ticket, seat.person, seat.at)
        require_unsettled(seat.unit, seat.ticket)
        named = None if person is None else seat.unit.identity.find_principal(seat.ticket.tenant_id, person)
        require_assignable(seat.ticket, wanted, named, seat.at)
        return wanted

    return Wish(body=body)


def priority_wish(priority: Priority) -> Wish:
    """To set the priority, and with it the place in the queue."""

    def body(seat: Seat) -> Prioritise:
        require_steward(seat.ticket, seat.person, seat.at)
        require_unsettled(seat.unit, seat.ticket)
        return Prioritise(priority=priority)

    def change(unit: Unit, ticket: Ticket, _act: Act) -> None:
        unit.review.prioritise(ticket, priority)

    return Wish(body=body, change=change)


def comment_wish(tools: Tools, text: str, *, salt: bytes | None = None) -> Wish:
    """To comment on a ticket that concerns the person. A salt is given where the comment was signed elsewhere."""
    if not text.strip() or len(text) > _LONGEST_COMMENT:
        raise ReviewError.comment(f"expected 1 to {_LONGEST_COMMENT} characters, got {len(text)}")
    drawn = tools.entropy.token(MIN_SALT_SIZE) if salt is None else salt
    said = Comment(text_commitment=commit(text, drawn))

    def body(seat: Seat) -> Comment:
        require_commenter(seat.ticket, seat.person, seat.at)
        return said

    return Wish(body=body, words=(text, drawn))


def undo_wish(reason: str = "") -> Wish:
    """To undo one's own answer while it does not count; the person may answer again."""
    if len(reason) > _LONGEST_REASON:
        raise ReviewError.body(f"expected a reason of at most {_LONGEST_REASON} characters, got {len(reason)}")

    def body(seat: Seat) -> Undo:
        answers = seat.unit.review.answers(seat.ticket.tenant_id, seat.ticket.id)
        if any(answer.by == seat.person.id for answer in answers):
            raise ReviewError.took_effect(f"the answer of `{seat.person.id}` to `{seat.ticket.id}` counts")
        held = require_undoable(seat.ticket, find_held(seat.unit, seat.ticket, seat.person.id), seat.at)
        return Undo(answer_hash=held.answer_hash, reason=reason)

    return Wish(body=body, change=_drop)


def _act(tools: Tools, caller: Caller, request: ActOnTicket, wish: Wish) -> Acted:
    signing, seen = read_signature(request.signature, request.acted_at), _digest(request.seen)
    return act_review(tools, caller, parse_ticket_id(request.ticket_id), wish, signing=signing, seen=seen)


def _wish(tools: Tools, wanted: PrepareAct, salt: bytes | None) -> Wish:
    """The wish of a request that names its act; a field that the act needs and does not have is named."""
    match wanted.act:
        case ActKind.CLAIM:
            return claim_wish(tools, _span(wanted.seconds))
        case ActKind.RELEASE:
            return release_wish(_principal(wanted.holder))
        case ActKind.ASSIGN:
            return assign_wish(person=_principal(wanted.person), role=wanted.role)
        case ActKind.UNDO:
            return undo_wish(wanted.reason)
        case ActKind.PRIORITISE if wanted.priority is not None:
            return priority_wish(wanted.priority)
        case ActKind.COMMENT if wanted.text is not None:
            return comment_wish(tools, wanted.text, salt=salt)
    field = "priority" if wanted.act is ActKind.PRIORITISE else "text"
    raise FieldsError([FieldProblem(field=field, message=f"expected this field with `{wanted.act}`, got none")])


def _draft(
    unit: Unit,
    tools: Tools,
    caller: Caller,
    ticket_id: TicketId,
    wish: Wish,
    signing: Signer | SignedElsewhere | None,
    seen: Digest | None,
) -> UnsignedAct:
    person, at = confirm(unit, caller).principal, caller.at
    ticket = get_ticket(unit, caller.tenant_id, ticket_id)
    require_reviewing(caller)
    require_person(ticket, person, at)
    if seen not in (None, ticket.shown_hash):
        raise ReviewError.stale_ticket(f"`{ticket.id}` shows {ticket.shown_hash}, got {seen}")
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
    receipt = unit.record(act_entry(ticket, act, at=at, words=wish.words))
    return Acted(act=act, receipt=receipt)


def _require_unanswered(seat: Seat) -> None:
    tenant_id, ticket_id, person = seat.ticket.tenant_id, seat.ticket.id, seat.person.id
    answered = any(answer.by == person for answer in seat.unit.review.answers(tenant_id, ticket_id))
    if answered or seat.unit.desk.find_held(tenant_id, ticket_id, person) is not None:
        raise ReviewError.already_answered(f"`{person}` has answered `{ticket_id}`")


def _lease(unit: Unit, ticket: Ticket, act: Act) -> None:
    body = parse_act_body(act)
    assert isinstance(body, Claim)  # noqa: S101 - it was made above
    lease = Lease(ticket_id=ticket.id, by=act.by, claimed_at=act.acted_at, expires_at=body.until)
    unit.desk.put_lease(ticket.tenant_id, lease)


def _release(unit: Unit, ticket: Ticket, act: Act) -> None:
    body = parse_act_body(act)
    assert isinstance(body, Release)  # noqa: S101 - it was made above
    unit.desk.drop_lease(ticket.tenant_id, ticket.id, body.holder)


def _drop(unit: Unit, ticket: Ticket, act: Act) -> None:
    unit.desk.drop_held(ticket.tenant_id, ticket.id, act.by)


def _span(seconds: int | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)


def _principal(text: str | None) -> PrincipalId | None:
    return None if text is None else parse_principal_id(text)


def _digest(text: str | None) -> Digest | None:
    return None if text is None else parse_digest(text)
