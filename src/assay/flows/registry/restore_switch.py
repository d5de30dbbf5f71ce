"""A person restores a fired switch: by their own live session, through a ticket that shows the firing.

session -> person; firing -> ticket -> signed answer -> settlement -> `Restored`, in the commit that records it
"""

import msgspec

from assay.flows.identity.authenticate import require_session
from assay.flows.known import get_principal
from assay.flows.registry.fire_switch import RESTORE_ROLES, fire_switch
from assay.flows.registry.registry_entry import switch_entry
from assay.flows.registry.switch_facts import is_new, load_facts, load_switch
from assay.flows.review.answer_review import answer_review
from assay.flows.review.settle_review import FollowUps
from assay.flows.tools import Tools
from assay.identity.authorise import has_role
from assay.identity.caller import Caller
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.registry.errors import RegistryError
from assay.registry.trip import Fired, Restored, restore
from assay.review.answer import Answer
from assay.review.draft import Reply
from assay.review.errors import ReviewError
from assay.review.settle import Settlement
from assay.review.ticket import Ticket

_RESTORE = "restore"


def restore_switch(tools: Tools, proved: Caller, fired: Fired, *, follow_ups: FollowUps) -> Restored:
    """The fact that opens the latch. All but the session of a person who may is refused before anything is recorded."""
    require_session(proved)
    at = proved.at
    if not proved.principal.is_person():
        raise ReviewError.machine(f"expected a person, got {proved.principal.kind} `{proved.principal.id}`")
    if not has_role(proved.principal, RESTORE_ROLES):
        # Before anything is recorded: a firing that only this person tells of would stand, whatever the answer.
        raise ReviewError.not_eligible(
            f"expected one of `{', '.join(RESTORE_ROLES)}`, got `{', '.join(proved.principal.roles)}`"
        )
    tenant_id = proved.principal.tenant_id
    known = tools.database.read(lambda unit: find_restored(unit, tenant_id, fired))
    if known is not None:
        return known
    ticket = fire_switch(tools, tenant_id, fired, at=at)
    reply = Reply(choice=_RESTORE, seen=ticket.shown_hash, reason="", body="{}")
    answered = answer_review(tools, proved, ticket.id, reply, follow_ups=follow_ups)
    restored = tools.database.read(lambda unit: find_restored(unit, tenant_id, fired))
    if restored is None:
        raise RegistryError.restore(
            f"the answer to `{ticket.id}` is recorded, and not enough: {answered.settlement.reason}"
        )
    return restored


def find_restored(unit: Unit, tenant_id: TenantId, fired: Fired) -> Restored | None:
    """Whether people have restored exactly this firing, here or at the desk."""
    facts = load_facts(unit.registry, tenant_id, fired.service_id)
    if fired not in facts:
        return None
    return next((one for one in facts if isinstance(one, Restored) and one.episode == fired.episode), None)


def open_latch(unit: Unit, ticket: Ticket, settlement: Settlement, answers: tuple[Answer, ...], at: Instant) -> None:
    """The follow-up of a RESTORE ticket: the fact in the commit that records the decision, or nothing."""
    if settlement.denied or settlement.choice != _RESTORE:
        return
    tenant_id = ticket.tenant_id
    fired = msgspec.json.decode(ticket.shown, type=Fired)
    by = next(one.by for one in answers if one.choice == _RESTORE)
    switch = load_switch(unit.registry, tenant_id, fired.service_id)
    restored = restore(switch, ticket, settlement, get_principal(unit, tenant_id, by), at=at)
    if is_new(unit.registry, tenant_id, restored):
        unit.record(switch_entry(tenant_id, restored, at=at))
