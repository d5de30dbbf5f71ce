"""Agents, services and people for tests of the registry."""

from typing import Any

from msgspec.structs import replace

from assay.identity.principal import Principal, PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.registry.action import (
    Action,
    ActionRequest,
    ActionType,
    Grant,
    RollbackDescriptor,
    RollbackMethod,
    ServicePower,
    index_actions,
)
from assay.registry.bits import BL_ISSUE, BOOK, MANIFEST, READ
from assay.registry.trip import Fired, restore_ticket
from assay.review.answer import UnsignedAnswer
from assay.review.settle import Settlement, settle
from assay.review.ticket import Ticket, open_ticket, ticket_id_from
from tests.identity.people import NOON, TENANT, make_principal
from tests.review.desk import make_answer

__all__ = [
    "AGENT", "BOOKING", "ISSUE", "LOOK", "UNDO", "admin", "ask",
    "make_grant", "make_power", "settled", "ticket_for",
]  # fmt: skip

AGENT = PrincipalId("ai:planner")
UNDO = RollbackDescriptor(
    method=RollbackMethod.INVERSE_ACTION, description="cancels the booking", action_id="BOOKING_CANCEL"
)
LOOK = Action(id="vessel.ukc-status", type=ActionType.READ, tier=1, needs=READ)
BOOKING = Action(id="BOOKING_CREATE", type=ActionType.WRITE, tier=2, needs=BOOK, rollback=UNDO)
ISSUE = Action(id="BL_ISSUE", type=ActionType.WRITE, tier=3, needs=MANIFEST | BL_ISSUE, rollback=UNDO)
_POWER = ServicePower(
    service_id="mari8x-backend",
    capability_mask=READ | BOOK | MANIFEST | BL_ISSUE,
    active_tier=3,
    actions=index_actions([LOOK, BOOKING, ISSUE]),
)


def make_power(**changes: Any) -> ServicePower:  # noqa: ANN401  any field
    if "extra" in changes:
        changes["actions"] = index_actions([*_POWER.actions.values(), *changes.pop("extra")])
    return replace(_POWER, **changes)


def make_grant(mask: int = READ | BOOK, tier: int = 2) -> Grant:
    return Grant(principal_id=AGENT, trust_mask=mask, action_tier=tier)


def ask(action: str = BOOKING.id, /, **wishes: Any) -> ActionRequest:  # noqa: ANN401  any field
    return ActionRequest(action_id=action, **wishes)


def admin(name: str = "user:root", kind: PrincipalKind = PrincipalKind.PERSON, **change: Any) -> Principal:  # noqa: ANN401  any field
    return make_principal(name, kind=kind, change=PrincipalChange(**{"roles": ("admin",), **change}))


def ticket_for(fired: Fired, *, quorum: int = 1, seed: int = 0) -> Ticket:
    draft = restore_ticket(fired, eligible_roles=("ops_team",), opened_by=PrincipalId("service:node"), quorum=quorum)
    return open_ticket(draft, id=ticket_id_from(bytes([seed] * 16)), tenant_id=TENANT, at=fired.fired_at)


def settled(ticket: Ticket, *answers: tuple[str, str], at: Instant = NOON) -> Settlement:
    """The ticket after these `(person, choice)` answers."""
    given: list[UnsignedAnswer] = [make_answer(ticket, by, choice, at) for by, choice in answers]
    return settle(ticket, given, at=at)
