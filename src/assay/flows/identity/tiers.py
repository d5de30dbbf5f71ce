"""The tier of a principal changes: one person asks, an admin who is neither of the two authorises (FRJ-015).

request -> TIER_CHANGE ticket -> answer `authorise` -> `TierChange` and the next version, in one commit
"""

from datetime import timedelta
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from assay.facts.identity import NAME_POINTER, principal_recorded
from assay.flows.identity.api_keys import MAY_LOOK
from assay.flows.identity.authenticate import confirm
from assay.flows.identity.standing import stands_for
from assay.flows.known import get_principal
from assay.flows.registry.registry_entry import tier_entry
from assay.flows.request import (
    Done,
    Option,
    Page,
    Paged,
    PrincipalName,
    Request,
    cut_named,
)
from assay.flows.review.open_review import draft_ticket, open_review_in
from assay.flows.tools import Tools
from assay.identity.authorise import require_role
from assay.identity.caller import Caller
from assay.identity.power import gained
from assay.identity.principal import BuiltInRole, Granted, Principal, PrincipalChange
from assay.identity.principal import amend_principal as next_version
from assay.kernel.canonical import canonical_json
from assay.kernel.ids import PrincipalId, TenantId, parse_principal_id
from assay.kernel.instant import Instant
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.registry_store import ChangedTier
from assay.registry.errors import DeniedError
from assay.registry.tier_change import TierChange, TierOrder, change_tier
from assay.review.answer import Answer
from assay.review.errors import ReviewError
from assay.review.kind import TicketKind
from assay.review.settle import Settlement
from assay.review.ticket import Ticket, TicketDraft

DECIDE_WITHIN = timedelta(days=7)
_AUTHORISE = "authorise"
_PathId = Annotated[PrincipalName, Meta(description="The principal."), Option(metavar="ID")]


class RequestTier(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    principal_id: _PathId
    to_tier: Annotated[
        int, Meta(ge=0, le=3, description="The tier asked for."), Option(form="argument", metavar="TIER")
    ]
    reason: Annotated[
        str, Meta(min_length=1, max_length=500, description="Why; the person who decides sees it, and it is recorded.")
    ]


class ListTierChanges(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    principal_id: _PathId


class TierAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the person who decides is shown, as canonical JSON."""

    subject: str
    from_tier: int
    to_tier: int
    reason: str


def request_tier(tools: Tools, caller: Caller, request: RequestTier) -> Done[Ticket]:
    """Ask for another tier of a principal: a ticket for an admin who is neither asker nor principal (FRJ-015)."""
    subject = parse_principal_id(request.principal_id)
    order = TierOrder(subject=subject, to_tier=request.to_tier, reason=request.reason)

    def work(unit: Unit) -> Ticket:
        asker = confirm(unit, caller).principal
        known = get_principal(unit, caller.tenant_id, subject)
        _require_question(asker, known, order)
        ticket = draft_ticket(tools, caller.tenant_id, _draft(asker, known, order, caller.at), at=caller.at)
        for earlier in unit.review.open_tickets_about(caller.tenant_id, TicketKind.TIER_CHANGE, ticket.about or ""):
            raise DeniedError.tier_change(f"`{earlier.id}` already asks about the tier of `{subject}`")
        open_review_in(unit, ticket)
        return ticket

    return Done(value=tools.database.write(work))


def tier_changes(tools: Tools, caller: Caller, request: ListTierChanges) -> Page[TierChange]:
    """List the changes of a principal's tier that people authorised, oldest first."""
    subject = parse_principal_id(request.principal_id)
    if subject != caller.principal.id:
        require_role(caller.principal, MAY_LOOK)

    def read(unit: Unit) -> tuple[TierChange, ...]:
        get_principal(unit, caller.tenant_id, subject)
        return load_tier_changes(unit, caller.tenant_id, subject)

    found = tools.database.read(read)
    return cut_named("tier_changes", found, request.cursor, request.limit, lambda one: f"{one.version:012d}")


def refuse_own_tier(unit: Unit, ticket: Ticket, answer: Answer, _at: Instant) -> None:
    """The follow-up of each answer: nobody decides on their own tier, under whatever name."""
    person = get_principal(unit, ticket.tenant_id, answer.by)
    if _asked(ticket).subject in stands_for(unit, person, ticket.eligible_roles):
        raise ReviewError.own_request(f"`{ticket.id}` is about `{answer.by}`")


def apply_tier(unit: Unit, ticket: Ticket, settlement: Settlement, answers: tuple[Answer, ...], at: Instant) -> None:
    """The follow-up of a decision: change and next version in the commit that records it, or nothing."""
    if settlement.denied or settlement.choice != _AUTHORISE:
        return
    asked, tenant_id = _asked(ticket), ticket.tenant_id
    known = get_principal(unit, tenant_id, PrincipalId(asked.subject))
    if known.action_tier != asked.from_tier:
        raise DeniedError.tier_change(
            f"`{known.id}` has tier {known.action_tier}; `{ticket.id}` showed {asked.from_tier}"
        )
    by = get_principal(unit, tenant_id, next(one.by for one in answers if one.choice == _AUTHORISE))
    order = TierOrder(subject=asked.subject, to_tier=asked.to_tier, reason=asked.reason, ticket_id=ticket.id)
    history = load_tier_changes(unit, tenant_id, asked.subject)
    change = change_tier(history, order, issued=known.action_tier, by=by, at=at)
    if change.from_tier != known.action_tier:
        # The version in force is what rulings go by; an amendment since the last change is where this one begins.
        change = msgspec.structs.replace(change, from_tier=known.action_tier)
    _record_tier(unit, ticket, known, change)


def load_tier_changes(unit: Unit, tenant_id: TenantId, subject: str) -> tuple[TierChange, ...]:
    return tuple(_parsed(row) for row in unit.registry.tier_changes(tenant_id, subject))


def _require_question(asker: Principal, known: Principal, order: TierOrder) -> None:
    if asker.id == known.id:
        raise DeniedError.tier_change(f"`{asker.id}` asked to change their own tier")
    if known.action_tier == order.to_tier:
        raise DeniedError.tier_change(f"`{known.id}` has tier {order.to_tier} already")


def _draft(asker: Principal, known: Principal, order: TierOrder, at: Instant) -> TicketDraft:
    asked = TierAsked(subject=known.id, from_tier=known.action_tier, to_tier=order.to_tier, reason=order.reason)
    return TicketDraft(
        kind=TicketKind.TIER_CHANGE,
        title=f"change the tier of {known.id} from {asked.from_tier} to {asked.to_tier}",
        shown=canonical_json(asked),
        eligible_roles=(BuiltInRole.ADMIN,),
        opened_by=asker.id,
        requested_by=asker.id,
        about=f"tier:{known.id}",
        due_at=Instant(at + DECIDE_WITHIN),
    )


def _record_tier(unit: Unit, ticket: Ticket, known: Principal, change: TierChange) -> None:
    tenant_id, ticket_id, asked_by = ticket.tenant_id, ticket.id, ticket.requested_by or ticket.opened_by
    unit.record(tier_entry(tenant_id, change))
    wanted = PrincipalChange(action_tier=change.to_tier)
    following = next_version(known, wanted, at=change.changed_at, by=change.changed_by)
    powers = gained(known, following)
    if powers:
        granted = Granted(
            powers=powers, asked_by=asked_by, approved_by=(change.changed_by,), ticket_id=ticket_id, solo=False
        )
        following = msgspec.structs.replace(following, granted=granted)
    unit.record(principal_recorded(following, _salt_of(unit, known)))


def _salt_of(unit: Unit, known: Principal) -> bytes | None:
    """The salt of the name as it was last recorded; a name that was erased has none."""
    if known.name is None:
        return None
    number = unit.identity.named_in(known.tenant_id, known.id)[-1]
    found = unit.ledger.disclosures(known.tenant_id, number)
    return next(bytes.fromhex(one.salt) for one in found if one.pointer == NAME_POINTER)


def _asked(ticket: Ticket) -> TierAsked:
    return msgspec.json.decode(ticket.shown, type=TierAsked)


def _parsed(row: ChangedTier) -> TierChange:
    try:
        return msgspec.json.decode(row.text, type=TierChange)
    except msgspec.DecodeError as error:
        raise DamagedRecordError(f"change {row.version} of the tier of `{row.subject}` cannot be read") from error
