"""Events over HTTP: the operation `events.follow` as server-sent events, `Last-Event-ID` honoured.

GET /api/v1/events                   CloudEvents 1.0, one in each `data`
GET /api/v2/pramana/sense/events     the same positions, SENSE events alone, with their four members (PRAMANA 7.3)
"""

from typing import Any

from litestar import Request, get

from assay.flows.delivery.emit_event import SenseSignal, is_sense, outbox_cloud_event
from assay.flows.follow_events import FollowEvents, chooses
from assay.identity.caller import Caller
from assay.kernel.cloudevent import CloudEvent, render_cloud_event
from assay.operations.node import EVENTS_FOLLOW
from assay.ports.events import OutboxEvent
from assay.surfaces.http.describe import asks, described, problems
from assay.surfaces.http.desk import Desk, GivenDesk
from assay.surfaces.http.event_stream import EVENT_STREAM, PatientStream, Reader, Render, follow, last_event_id
from assay.surfaces.http.pramana import PREFIX
from assay.surfaces.http.query import parse_query
from assay.surfaces.http.v1.derive import opt_of

_READ = opt_of(EVENTS_FOLLOW)


@get(
    f"/api/v1{EVENTS_FOLLOW.path}",
    opt=_READ,
    operation_id=EVENTS_FOLLOW.name,
    operation_class=asks(FollowEvents),
    responses={
        200: described("CloudEvents 1.0, one in each `data`", kind=CloudEvent, media_type=EVENT_STREAM),
        **problems(400, 401, 403),
    },
)
async def stream_events(request: Request[Any, Any, Any], desk: GivenDesk) -> PatientStream:
    """Follow the tenant's events: at least once, in order, after `Last-Event-ID` where it is given."""
    source = desk.tools.origin_of(request.scope["user"].tenant_id)

    def render(event: OutboxEvent) -> bytes:
        return render_cloud_event(outbox_cloud_event(source, event))

    return await _stream(request, desk, render)


@get(
    f"{PREFIX}/sense/events",
    opt=_READ,
    operation_class=asks(FollowEvents),
    responses={
        200: described("SENSE events, one in each `data`", kind=SenseSignal, media_type=EVENT_STREAM),
        **problems(400, 401, 403),
    },
)
async def stream_sense(request: Request[Any, Any, Any], desk: GivenDesk) -> PatientStream:
    """Subscribe to SENSE without polling (PRAMANA 12.10); ids are those of `/api/v1/events`."""
    return await _stream(request, desk, lambda event: bytes(event.body) if is_sense(event) else None)


async def _stream(request: Request[Any, Any, Any], desk: Desk, render: Render) -> PatientStream:
    wanted, caller = parse_query(FollowEvents, request), request.scope["user"]
    assert isinstance(caller, Caller)  # noqa: S101 - the guard has set it
    place = await desk.fanout.admit(caller.tenant_id, last_event_id(request, wanted.after), desk.run)
    is_chosen = chooses(wanted.types)

    def chosen_only(event: OutboxEvent) -> bytes | None:
        return render(event) if is_chosen(event) else None

    return follow(desk, desk.fanout, Reader(caller=caller, place=place, render=chosen_only))
