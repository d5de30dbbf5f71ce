"""Draft an answer: every reason why this person may not answer this ticket now, checked in one fixed order."""

from collections.abc import Iterable

from msgspec import Struct

from assay.identity.authorise import has_role, require_active, require_same_tenant
from assay.identity.principal import Principal
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest
from assay.kernel.errors import Error
from assay.kernel.ids import KeyId
from assay.kernel.instant import Instant, render_instant
from assay.kernel.json_text import parse_json
from assay.kernel.key import key_id_of
from assay.review.answer import Answer, SignedWith, UnsignedAnswer
from assay.review.errors import ReviewError
from assay.review.settle import SettlementState, settle
from assay.review.ticket import Ticket

_LONGEST_REASON = 4000
_NO_BODY = "{}"


class Reply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person sends: the choice, and the hash of what was on the screen."""

    choice: str
    seen: Digest
    reason: str = ""
    body: str = "{}"


def draft_answer(
    ticket: Ticket,
    principal: Principal,
    reply: Reply,
    *,
    at: Instant,
    earlier: Iterable[Answer],
    signed_with: SignedWith,
    signing_key_id: KeyId,
) -> UnsignedAnswer:
    """The answer to sign, or the first reason why not.

    The caller has authenticated the principal, and appends the sealed answer only if no other came in between.
    """
    require_reviewer(ticket, principal, at)
    require_own_key(principal, signed_with, signing_key_id)
    _require_reply(ticket, reply)
    _require_open(ticket, principal, tuple(earlier), at)
    return UnsignedAnswer(
        ticket_id=ticket.id,
        tenant_id=ticket.tenant_id,
        choice=reply.choice,
        body=reply.body,
        seen_hash=reply.seen,
        by=principal.id,
        answered_at=at,
        reason=reply.reason,
        signed_with=signed_with,
        signing_key_id=signing_key_id,
    )


def require_reviewer(ticket: Ticket, principal: Principal, at: Instant) -> None:
    """Raise unless this is a person who may answer this ticket, whatever has been answered to it."""
    require_person(ticket, principal, at)
    require_not_own(ticket, principal)
    require_eligible(ticket, principal)


def require_person(ticket: Ticket, principal: Principal, at: Instant) -> None:
    # The tenant comes first: whoever is of another one learns nothing about the ticket.
    require_same_tenant(principal, ticket.tenant_id)
    require_active(principal, at)
    if not principal.is_person():
        raise ReviewError.machine(f"expected a person, got {principal.kind} `{principal.id}`")


def require_not_own(ticket: Ticket, principal: Principal) -> None:
    if principal.id in (ticket.opened_by, ticket.requested_by):
        raise ReviewError.own_request(f"`{principal.id}` opened `{ticket.id}` or asked for what it is about")


def require_eligible(ticket: Ticket, principal: Principal) -> None:
    if not has_role(principal, ticket.eligible_roles):
        raise ReviewError.not_eligible(
            f"expected one of `{', '.join(ticket.eligible_roles)}`, got `{', '.join(principal.roles) or 'no role'}`"
        )


def require_own_key(principal: Principal, signed_with: SignedWith, key_id: KeyId) -> None:
    """Whoever registered a key signs with it; the node vouches only for those who did not."""
    if principal.public_key is None:
        if signed_with is not SignedWith.NODE_REVIEW_KEY:
            raise ReviewError.reviewer_key(f"`{principal.id}` has registered no key, expected the node's review key")
        return
    expected = key_id_of(bytes.fromhex(principal.public_key))
    if signed_with is not SignedWith.REVIEWER_KEY or key_id != expected:
        raise ReviewError.reviewer_key(
            f"expected the registered key {expected} of `{principal.id}`, got {signed_with} {key_id}"
        )


def _require_reply(ticket: Ticket, reply: Reply) -> None:
    if reply.seen != ticket.shown_hash:
        raise ReviewError.stale_ticket(f"`{ticket.id}` shows {ticket.shown_hash}, got {reply.seen[:80]}")
    if reply.choice not in ticket.choices:
        raise ReviewError.unknown_choice(f"expected one of `{', '.join(ticket.choices)}`, got `{reply.choice[:80]}`")
    if reply.choice in ticket.rejecting and not _has_words(reply.reason):
        raise ReviewError.reason_missing(f"expected a reason for `{reply.choice}`, got none")
    if len(reply.reason) > _LONGEST_REASON:
        raise ReviewError.body(f"expected a reason of at most {_LONGEST_REASON} characters, got {len(reply.reason)}")
    _require_canonical(reply.body)
    may_edit = ticket.rule.edits and reply.choice in ticket.rejecting
    if not (ticket.rule.has_body or may_edit) and reply.body != _NO_BODY:
        raise ReviewError.body(
            f"expected no body with `{reply.choice}`, which nothing of `{ticket.kind}` reads, got `{reply.body[:80]}`"
        )


def _has_words(text: str) -> bool:
    """Whether anybody could read something there: not only spaces, nor what has no shape of its own."""
    return any(one.isprintable() and not one.isspace() for one in text)


def _require_canonical(body: str) -> None:
    try:
        canonical = canonicalize(parse_json(body)).decode()
    except Error as error:
        raise ReviewError.body(f"the body is not canonical JSON text: {error}") from error
    if canonical != body:
        raise ReviewError.body(f"expected canonical JSON text `{canonical[:80]}`, got `{body[:80]}`")


def _require_open(ticket: Ticket, principal: Principal, earlier: tuple[Answer, ...], at: Instant) -> None:
    if at < ticket.opened_at:
        raise ReviewError.too_early(
            f"`{ticket.id}` opens at {render_instant(ticket.opened_at)}, got {render_instant(at)}"
        )
    if any(answer.by == principal.id for answer in earlier):
        raise ReviewError.already_answered(f"`{principal.id}` has answered `{ticket.id}`")
    standing = settle(ticket, earlier, at=at)
    if standing.state is SettlementState.EXPIRED:
        raise ReviewError.expired(f"`{ticket.id}` was due: {standing.reason}")
    if standing.state is SettlementState.SETTLED:
        raise ReviewError.settled(f"`{ticket.id}` is settled: {standing.reason}")
