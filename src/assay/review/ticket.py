"""A ticket: one question to people, with exactly what they are shown."""

from base64 import b32encode

from msgspec import Struct

from assay.identity.errors import IdentityError
from assay.identity.problem import Problem, names_problems, parse_problems, shortened, when
from assay.kernel.digest import Digest, digest_of
from assay.kernel.ids import (
    PrincipalId,
    TenantId,
    TicketId,
    parse_principal_id,
    parse_tenant_id,
    parse_ticket_id,
)
from assay.kernel.instant import Instant
from assay.review.errors import InvalidTicketError
from assay.review.kind import KIND_RULES, KindRule, OnExpiry, TicketKind

TICKET_ENTROPY_BYTES = 16
# What one person can be asked to look at; larger things are shown as a summary with their hashes.
LONGEST_SHOWN = 1 << 20
_LONGEST_TITLE = 300
_LONGEST_ABOUT = 500


class TicketDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a room asks for; whatever is left out is as its kind says.

    `requested_by` is the principal whose request the ticket is about, `about` a reference by which the asking room
    finds its ticket again (a truth key, a bundle hash, a rule id).
    """

    kind: TicketKind
    title: str
    shown: str
    eligible_roles: tuple[str, ...]
    opened_by: PrincipalId
    requested_by: PrincipalId | None = None
    about: str | None = None
    quorum: int = 1
    choices: tuple[str, ...] | None = None
    rejecting: tuple[str, ...] | None = None
    due_at: Instant | None = None
    on_expiry: OnExpiry | None = None
    default_choice: str | None = None


class Ticket(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question as it was asked, well formed or refused with every problem named; it is never edited.

    INVARIANT: `shown_hash` is the digest of exactly the UTF-8 bytes of `shown`.
    """

    id: TicketId
    tenant_id: TenantId
    kind: TicketKind
    title: str
    shown: str
    shown_hash: Digest
    choices: tuple[str, ...]
    rejecting: tuple[str, ...]
    eligible_roles: tuple[str, ...]
    quorum: int
    opened_by: PrincipalId
    requested_by: PrincipalId | None
    about: str | None
    opened_at: Instant
    due_at: Instant | None
    on_expiry: OnExpiry
    default_choice: str | None

    def __post_init__(self) -> None:
        problems = _problems(self)
        if problems:
            raise InvalidTicketError(problems)

    @property
    def rule(self) -> KindRule:
        return KIND_RULES[self.kind]


class TicketSubject(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a ticket about an output is about: the bundle of claims, and the answer that waits for it."""

    bundle_hash: Digest
    answer_id: str | None = None


def ticket_id_from(entropy: bytes) -> TicketId:
    if len(entropy) != TICKET_ENTROPY_BYTES:
        raise IdentityError.entropy(f"expected {TICKET_ENTROPY_BYTES} random bytes, got {len(entropy)}")
    return TicketId("tkt_" + b32encode(entropy).decode().lower().rstrip("="))


def open_ticket(draft: TicketDraft, *, id: TicketId, tenant_id: TenantId, at: Instant) -> Ticket:  # noqa: A002  the field's own name
    """Fill in what the kind says, hash what is shown, and refuse with every problem at once."""
    rule = KIND_RULES[draft.kind]
    choices = rule.choices if draft.choices is None else draft.choices
    usual = tuple(choice for choice in rule.rejecting if choice in choices)
    return Ticket(
        id=id,
        tenant_id=tenant_id,
        kind=draft.kind,
        title=draft.title,
        shown=draft.shown,
        # A lone surrogate has no UTF-8; it is replaced here only so that the ticket itself can refuse it below.
        shown_hash=digest_of(draft.shown.encode(errors="replace")),
        choices=choices,
        rejecting=usual if draft.rejecting is None else draft.rejecting,
        eligible_roles=tuple(sorted(set(draft.eligible_roles))),
        quorum=draft.quorum,
        opened_by=draft.opened_by,
        requested_by=draft.requested_by,
        about=draft.about,
        opened_at=at,
        due_at=draft.due_at,
        on_expiry=rule.on_expiry if draft.on_expiry is None else draft.on_expiry,
        default_choice=draft.default_choice,
    )


def _problems(ticket: Ticket) -> tuple[Problem, ...]:
    return (
        parse_problems("id", parse_ticket_id, ticket.id)
        + parse_problems("tenant_id", parse_tenant_id, ticket.tenant_id)
        + parse_problems("opened_by", parse_principal_id, ticket.opened_by)
        + _requester_problems(ticket.requested_by)
        + _text_problems(ticket)
        + _shown_problems(ticket)
        + _choice_problems(ticket)
        + names_problems("eligible_roles", ticket.eligible_roles)
        + when(not ticket.eligible_roles, "eligible_roles", "expected at least one role, got none")
        + when(
            type(ticket.quorum) is not int or ticket.quorum < 1,
            "quorum",
            f"expected 1 or more, got {shortened(ticket.quorum)}",
        )
        + _expiry_problems(ticket)
    )


def _requester_problems(requester: PrincipalId | None) -> tuple[Problem, ...]:
    return () if requester is None else parse_problems("requested_by", parse_principal_id, requester)


def _text_problems(ticket: Ticket) -> tuple[Problem, ...]:
    title, about = ticket.title, ticket.about
    bad_title = not 1 <= len(title) <= _LONGEST_TITLE or not title.isprintable() or not title.strip()
    bad_about = about is not None and (not 1 <= len(about) <= _LONGEST_ABOUT or not about.isprintable())
    return when(
        bad_title, "title", f"expected one line of 1 to {_LONGEST_TITLE} characters, got {title[:80]!r}"
    ) + when(bad_about, "about", f"expected one line of 1 to {_LONGEST_ABOUT} characters")


def _shown_problems(ticket: Ticket) -> tuple[Problem, ...]:
    try:
        shown = ticket.shown.encode()
    except UnicodeEncodeError:
        return when(True, "shown", "expected text without lone surrogates")
    return when(
        not 1 <= len(shown) <= LONGEST_SHOWN, "shown", f"expected 1 to {LONGEST_SHOWN} bytes, got {len(shown)}"
    ) + when(
        digest_of(shown) != ticket.shown_hash, "shown_hash", f"expected {digest_of(shown)}, got {ticket.shown_hash}"
    )


def _choice_problems(ticket: Ticket) -> tuple[Problem, ...]:
    choices, rejecting = ticket.choices, ticket.rejecting
    accepting = set(choices) - set(rejecting)
    one_sided = ticket.rule.veto and not (rejecting and accepting)
    return (
        # Choices keep the order in which they are shown, so each is checked alone and the list only for repeats.
        tuple(problem for choice in choices for problem in names_problems("choices", (choice,)))
        + when(len(set(choices)) != len(choices), "choices", f"expected each once, got `{', '.join(choices)[:80]}`")
        + when(not choices, "choices", "expected at least one choice, got none")
        + when(not set(rejecting) <= set(choices), "rejecting", f"expected choices, got `{', '.join(rejecting)[:80]}`")
        + when(len(set(rejecting)) != len(rejecting), "rejecting", "expected each once")
        + when(one_sided, "choices", f"expected a way to accept and a way to reject, since this is `{ticket.kind}`")
    )


def _expiry_problems(ticket: Ticket) -> tuple[Problem, ...]:
    rule, default = ticket.rule, ticket.default_choice
    by_default = ticket.on_expiry is OnExpiry.DEFAULT_CHOICE
    allowed = ", ".join(rule.expiries)
    return (
        when(ticket.on_expiry not in rule.expiries, "on_expiry", f"expected {allowed}, got {ticket.on_expiry}")
        + when(by_default != (default is not None), "default_choice", "expected with on_expiry default_choice only")
        + when(default is not None and default not in ticket.choices, "default_choice", "expected one of the choices")
        + when(by_default and ticket.due_at is None, "due_at", "expected an instant, since a default needs a time-out")
        + when(
            ticket.due_at is not None and ticket.due_at <= ticket.opened_at,
            "due_at",
            "expected an instant after opened_at",
        )
    )
