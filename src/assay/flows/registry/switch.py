"""The kill switch of a service, as the node recorded it: show, report a firing, restore.

service -> firing -> entry and RESTORE ticket;   person in a session -> answer -> `Restored`
"""

from typing import Annotated

from msgspec import Meta, Struct

from assay.flows.registry.fire_switch import fire_switch
from assay.flows.registry.restore_switch import restore_switch
from assay.flows.registry.switch_facts import load_facts, load_switch
from assay.flows.request import Option, Request
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.ids import TicketId
from assay.ports.database import Unit
from assay.registry.errors import RegistryError
from assay.registry.trip import Fired, Restored

_Service = Annotated[str, Meta(max_length=200, description="The id of a service."), Option(metavar="SERVICE")]


class ShowSwitch(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    service_id: _Service


class ReportFiring(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    service_id: _Service
    fired: Annotated[Fired, Meta(description="The firing, with the figures it follows from.")]


class RestoreSwitch(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    service_id: _Service
    fired: Annotated[
        Fired | None, Meta(description="The firing to restore, where the service has not reported it yet.")
    ] = None


class SwitchEvent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A firing, or what restored one."""

    fired: Fired | None = None
    restored: Restored | None = None


class SwitchView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The switch of a service; `history` is every firing and restore on record, the oldest first."""

    service_id: str
    is_fired: bool
    episode: int
    history: tuple[SwitchEvent, ...]


class PeopleAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ticket by which people are asked about the switch of a service."""

    ticket_id: TicketId


def switch(tools: Tools, caller: Caller, request: ShowSwitch) -> SwitchView:
    """Show the kill switch of a service: whether it is fired, and every firing and restore on record."""

    def look(unit: Unit) -> SwitchView:
        found = load_switch(unit.registry, caller.tenant_id, request.service_id)
        facts = load_facts(unit.registry, caller.tenant_id, request.service_id)
        history = tuple(
            SwitchEvent(fired=one) if isinstance(one, Fired) else SwitchEvent(restored=one) for one in facts
        )
        return SwitchView(
            service_id=request.service_id, is_fired=found.is_fired, episode=found.episode, history=history
        )

    return tools.database.read(look)


def report_firing(tools: Tools, caller: Caller, request: ReportFiring) -> PeopleAsked:
    """Report that one's own switch fired; people are asked to restore it. The same firing again changes nothing."""
    service = request.fired.service_id
    if caller.principal.id != f"service:{service}" or request.service_id != service:
        raise RegistryError.forja_not_yours(f"`{caller.principal.id}` does not speak for `{service[:80]}`")
    return PeopleAsked(ticket_id=fire_switch(tools, caller.tenant_id, request.fired, at=caller.at).id)


def restore(tools: Tools, caller: Caller, request: RestoreSwitch) -> Restored:
    """Restore the fired switch of a service, as a person in a session; it is an answer to the ticket about it."""
    known = tools.database.read(lambda unit: load_switch(unit.registry, caller.tenant_id, request.service_id)).fired
    fired = request.fired or known
    if fired is None or fired.service_id != request.service_id:
        raise RegistryError.restore(f"the switch of `{request.service_id[:80]}` is not fired")
    return restore_switch(tools, caller, fired, follow_ups=ROOM_FOLLOW_UPS)
