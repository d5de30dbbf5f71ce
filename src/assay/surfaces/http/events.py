"""Events over HTTP: the tenant's whole stream as CloudEvents, and SENSE as PRAMANA 7.3 has it.

GET /api/v1/events                   CloudEvents 1.0 over server-sent events, `Last-Event-ID` honoured
GET /api/v2/pramana/sense/events     the same places, SENSE events alone, with exactly their four members
"""

from typing import Any

from litestar import Request, get
from litestar.di import NamedDependency
from msgspec import Struct

from assay.flows.delivery.emit_event import SenseSignal, is_sense, outbox_cloud_event
from assay.flows.identity.authenticate import Authenticated
from assay.kernel.cloudevent import CloudEvent, render_cloud_event
from assay.ports.events import OutboxEvent
from assay.surfaces.http.describe import asks, described, problems
from assay.surfaces.http.desk import Desk, GivenDesk
from assay.surfaces.http.event_stream import EVENT_STREAM, PatientStream, Reader, Render, follow, last_event_id
from assay.surfaces.http.guard import SEE_ALL, allow
from assay.surfaces.http.pramana import PREFIX
from assay.surfaces.http.query import Place, parse_query

_READ = allow(scope="events:read", roles=SEE_ALL)


class EventsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`after` is a place to begin after, 0 for the first event; without it, what comes from now on.

    `types` are names of events with commas between them; without it, all.
    """

    after: Place | None = None
    types: str | None = None


@get(
    "/api/v1/events",
    opt=_READ,
    operation_class=asks(EventsQuery),
    responses={
        200: described("CloudEvents 1.0, one in each `data`", kind=CloudEvent, media_type=EVENT_STREAM),
        **problems(400, 401, 403),
    },
)
async def stream_events(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> PatientStream:
    """Follow the tenant's events: at least once, in order, from `Last-Event-ID` on where it is given."""
    source = desk.tools.origin_of(caller.principal.tenant_id)

    def render(event: OutboxEvent) -> bytes:
        return render_cloud_event(outbox_cloud_event(source, event))

    return await _stream(request, desk, caller, credential, render)


@get(
    f"{PREFIX}/sense/events",
    opt=_READ,
    operation_class=asks(EventsQuery),
    responses={
        200: described("SENSE events, one in each `data`", kind=SenseSignal, media_type=EVENT_STREAM),
        **problems(400, 401, 403),
    },
)
async def stream_sense(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> PatientStream:
    """Subscribe to SENSE without polling (PRAMANA 12.10); ids are those of `/api/v1/events`."""
    return await _stream(request, desk, caller, credential, lambda one: bytes(one.body) if is_sense(one) else None)


async def _stream(
    request: Request[Any, Any, Any], desk: Desk, caller: Authenticated, credential: str, render: Render
) -> PatientStream:
    wanted = parse_query(EventsQuery, request)
    viewer = caller.principal
    place = await desk.fanout.admit(viewer.tenant_id, last_event_id(request, wanted.after), desk.run)
    chosen = None if wanted.types is None else frozenset(wanted.types.split(","))

    def chosen_only(event: OutboxEvent) -> bytes | None:
        return render(event) if chosen is None or event.type in chosen else None

    reader = Reader(viewer=viewer, credential=credential, roles=SEE_ALL, place=place, render=chosen_only)
    return follow(desk, desk.fanout, reader)
