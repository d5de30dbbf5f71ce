"""Operations about the node itself: events, overview, permissions."""

from assay.flows.follow_events import follow_events
from assay.flows.request import SEE_ALL
from assay.operations.access import permitted_operations
from assay.operations.kinds import SIGNED_IN, Listing, Operation, Stream, needs
from assay.operations.shown import node as shown

EVENTS_FOLLOW = Stream(
    "events.follow",
    follow_events,
    "GET /events",
    dialects=("GET /api/v2/pramana/sense/events",),
    needs=needs("events:read", *SEE_ALL),
    command="watch",
    method="events",
    shows=shown.event_line,
)

OPERATIONS: tuple[Operation, ...] = (
    EVENTS_FOLLOW,
    Listing(
        "operations.permitted",
        permitted_operations,
        "GET /operations",
        needs=SIGNED_IN,
        command="permitted",
        columns=("name", "kind", "route", "command", "tool"),
    ),
)
