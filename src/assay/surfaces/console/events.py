"""What just happened, as a stream: enough for an open page to know that it is out of date."""

from typing import Any

import msgspec
from litestar import Request, get

from assay.operations.node import EVENTS_FOLLOW
from assay.ports.events import OutboxEvent
from assay.surfaces.console.session import GivenVisit, needs
from assay.surfaces.http.event_stream import PatientStream, Reader, follow, last_event_id


@get("/events", opt=needs("events.follow"))
async def stream_changes(request: Request[Any, Any, Any], visit: GivenVisit) -> PatientStream:
    """Names and places alone; what is behind them is on the pages, for whoever may open those."""
    fanout = visit.desk.fanout
    place = await fanout.admit(visit.tenant_id, last_event_id(request, None), visit.desk.run)
    reader = Reader(caller=visit.permitted(EVENTS_FOLLOW.name), place=place, render=_told)
    return follow(visit.desk, fanout, reader)


def _told(event: OutboxEvent) -> bytes:
    return msgspec.json.encode({"type": event.type, "entry": event.ledger_sequence})
