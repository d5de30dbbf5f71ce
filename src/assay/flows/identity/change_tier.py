"""The tier of a principal changes: a person asks, an admin who is neither of the two authorises (FRJ-015).

request -> TIER_CHANGE ticket -> answer `authorise` -> `TierChange` and the principal's next version, in one commit
"""

from datetime import timedelta

import msgspec
from msgspec import Struct

from assay.flows.identity.authenticate import authenticate_in, require_session
from assay.flows.identity.identity_entry import NAME_POINTER, principal_recorded_again
from assay.flows.known import get_principal
from assay.flows.registry.registry_entry import tier_entry
from assay.flows.review.open_review import draft_ticket, open_review_in
from assay.flows.tools import Tools
from assay.identity.authorise import require_role
from assay.identity.principal import BuiltInRole, Principal, PrincipalChange
from assay.identity.principal import amend_principal as next_version
from assay.kernel.canonical import canonical_json
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.registry_store import ChangedTier
from assay.registry.errors import TierChangeError
from assay.registry.tier_change import TierChange, TierOrder, change_tier
from assay.review.answer import Answer
from assay.review.errors import OwnRequestError
from assay.review.kind import TicketKind
from assay.review.settle import Settlement
from assay.review.ticket import Ticket, TicketDraft

__all__ = [
    "DECIDE_WITHIN",
    "TierAsked",
    "apply_tier",
    "list_tier_changes",
    "load_tier_changes",
    "refuse_own_tier",
    "request_tier",
]

DECIDE_WITHIN = timedelta(days=7)
_MAY_ASK = (BuiltInRole.ADMIN, BuiltInRole.OPERATOR)
_AUTHORISE = "authorise"


class TierAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the person who decides is shown, as canonical JSON."""

    subject: str
    from_tier: int
    to_tier: int
    reason: str


def request_tier(
    tools: Tools, subject: PrincipalId, to_tier: int, *, reason: str, credential: str, at: Instant
) -> Ticket:
    """Ask for another tier for somebody else, as an admin or operator in session; a second person must agree first."""
    order = TierOrder(subject=subject, to_tier=to_tier, reason=reason)

    def work(unit: Unit) -> Ticket:
        proved = authenticate_in(unit, credential, at=at)
        require_session(proved)
        require_role(proved.principal, _MAY_ASK)
        asker = proved.principal
        principal = get_principal(unit, asker.tenant_id, subject)
        _require_question(asker, principal, order)
        ticket = draft_ticket(tools, asker.tenant_id, _draft(asker, principal, order, at), at=at)
        for known in unit.review.open_tickets_about(asker.tenant_id, TicketKind.TIER_CHANGE, ticket.about or ""):
            raise TierChangeError(f"`{known.id}` already asks about the tier of `{subject}`")
        open_review_in(unit, ticket)
        return ticket

    return tools.database.write(work)


def refuse_own_tier(_unit: Unit, ticket: Ticket, answer: Answer, _at: Instant) -> None:
    """The follow-up of each answer: nobody decides on their own tier."""
    if answer.by == _asked(ticket).subject:
        raise OwnRequestError(f"`{ticket.id}` is about `{answer.by}`")


def apply_tier(unit: Unit, ticket: Ticket, settlement: Settlement, answers: tuple[Answer, ...], at: Instant) -> None:
    """The follow-up of a decision: change and next version in the commit that records it, or nothing."""
    if settlement.denied or settlement.choice != _AUTHORISE:
        return
    asked, tenant_id = _asked(ticket), ticket.tenant_id
    principal = get_principal(unit, tenant_id, PrincipalId(asked.subject))
    if principal.action_tier != asked.from_tier:
        raise TierChangeError(
            f"`{principal.id}` has tier {principal.action_tier}; `{ticket.id}` showed {asked.from_tier}"
        )
    by = get_principal(unit, tenant_id, next(one.by for one in answers if one.choice == _AUTHORISE))
    order = TierOrder(subject=asked.subject, to_tier=asked.to_tier, reason=asked.reason, ticket_id=ticket.id)
    history = load_tier_changes(unit, tenant_id, asked.subject)
    change = change_tier(history, order, issued=principal.action_tier, by=by, at=at)
    if change.from_tier != principal.action_tier:
        # The version in force is what rulings go by; an amendment since the last change is where this one begins.
        change = msgspec.structs.replace(change, from_tier=principal.action_tier)
    _record(unit, tenant_id, principal, change)


def list_tier_changes(tools: Tools, tenant_id: TenantId, subject: PrincipalId) -> tuple[TierChange, ...]:
    """Every change of a principal's tier that people authorised, oldest first."""

    def work(unit: Unit) -> tuple[TierChange, ...]:
        get_principal(unit, tenant_id, subject)
        return load_tier_changes(unit, tenant_id, subject)

    return tools.database.read(work)


def load_tier_changes(unit: Unit, tenant_id: TenantId, subject: str) -> tuple[TierChange, ...]:
    return tuple(_parsed(row) for row in unit.registry.tier_changes(tenant_id, subject))


def _require_question(asker: Principal, principal: Principal, order: TierOrder) -> None:
    if asker.id == principal.id:
        raise TierChangeError(f"`{asker.id}` asked to change their own tier")
    if principal.action_tier == order.to_tier:
        raise TierChangeError(f"`{principal.id}` has tier {order.to_tier} already")


def _draft(asker: Principal, principal: Principal, order: TierOrder, at: Instant) -> TicketDraft:
    asked = TierAsked(subject=principal.id, from_tier=principal.action_tier, to_tier=order.to_tier, reason=order.reason)
    return TicketDraft(
        kind=TicketKind.TIER_CHANGE,
        title=f"change the tier of {principal.id} from {asked.from_tier} to {asked.to_tier}",
        shown=canonical_json(asked),
        eligible_roles=(BuiltInRole.ADMIN,),
        opened_by=asker.id,
        requested_by=asker.id,
        about=f"tier:{principal.id}",
        due_at=Instant(at + DECIDE_WITHIN),
    )


def _record(unit: Unit, tenant_id: TenantId, principal: Principal, change: TierChange) -> None:
    text = canonical_json(change)
    row = ChangedTier(subject=change.subject, version=change.version, text=text, changed_at=change.changed_at)
    unit.registry.add_tier_change(tenant_id, row)
    unit.ledger.append(tier_entry(tenant_id, change))
    wanted = PrincipalChange(action_tier=change.to_tier)
    following = next_version(principal, wanted, at=change.changed_at, by=change.changed_by)
    logged = unit.ledger.append(principal_recorded_again(following, _salt_of(unit, principal)))
    unit.identity.add_principal(following, logged.sequence_number)


def _salt_of(unit: Unit, principal: Principal) -> bytes | None:
    """The salt of the name as it was last recorded; a name that was erased has none."""
    if principal.name is None:
        return None
    number = unit.identity.named_in(principal.tenant_id, principal.id)[-1]
    found = unit.ledger.disclosures(principal.tenant_id, number)
    return next(bytes.fromhex(one.salt) for one in found if one.pointer == NAME_POINTER)


def _asked(ticket: Ticket) -> TierAsked:
    return msgspec.json.decode(ticket.shown, type=TierAsked)


def _parsed(row: ChangedTier) -> TierChange:
    try:
        return msgspec.json.decode(row.text, type=TierChange)
    except msgspec.DecodeError as error:
        raise DamagedRecordError(f"change {row.version} of the tier of `{row.subject}` cannot be read") from error
