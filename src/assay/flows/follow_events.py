"""Follow the tenant's events: what the outbox has after a position, as CloudEvents."""

from collections.abc import Callable, Iterable
from typing import Annotated

from msgspec import Meta

from assay.flows.delivery.emit_event import outbox_cloud_event
from assay.flows.identity.authenticate import confirm
from assay.flows.request import Request, StreamPart
from assay.flows.review.tell_events import tell_events
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.cloudevent import CloudEvent
from assay.ports.database import Unit
from assay.ports.events import OutboxEvent

_AT_ONCE = 64
_HIGHEST = 2**53 - 1


_Position = Annotated[
    int,
    Meta(ge=0, le=_HIGHEST, description="Begin after this position, 0 for the first event; else with new events."),
]


class FollowEvents(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    after: _Position | None = None
    types: Annotated[tuple[str, ...], Meta(description="Only events of these types.")] = ()


def follow_events(tools: Tools, caller: Caller, request: FollowEvents) -> StreamPart[CloudEvent]:
    """Follow the tenant's events: at least once, in order, after a position or from now on."""
    is_chosen = chooses(request.types)

    def look(unit: Unit) -> StreamPart[OutboxEvent]:
        current = confirm(unit, caller)
        if request.after is None:
            return StreamPart(items=(), after=unit.outbox.newest(caller.tenant_id))
        found = unit.outbox.events(caller.tenant_id, after=request.after, limit=_AT_ONCE)
        told = found if current.viewer is None else tell_events(unit, found, current.viewer)
        return StreamPart(items=tuple(told), after=found[-1].position if found else request.after)

    part, source = tools.database.read(look), tools.origin_of(caller.tenant_id)
    return StreamPart(
        items=tuple(outbox_cloud_event(source, event) for event in part.items if is_chosen(event)), after=part.after
    )


def chooses(types: Iterable[str]) -> Callable[[OutboxEvent], bool]:
    """Whether an event is of one of these types; several may be in one text with commas between them."""
    chosen = frozenset(name for text in types for name in text.split(","))
    return lambda event: not chosen or event.type in chosen
