"""Operations about the node itself: events, overview, permissions."""

from assay.flows import tenants
from assay.flows.follow_events import follow_events
from assay.flows.request import SEE_ALL
from assay.identity.principal import BuiltInRole
from assay.operations.access import permitted_operations
from assay.operations.kinds import SIGNED_IN, Listing, Operation, Stream, needs
from assay.operations.shown import node as shown

_SEE = needs("log:read", BuiltInRole.ADMIN, BuiltInRole.AUDITOR, BuiltInRole.OPERATOR)
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
        "anchors.list",
        tenants.anchors,
        "GET /trust-anchors",
        needs=_SEE,
        command="key trust list",
        columns=("key_id", "public_key"),
        nothing="nobody else is trusted",
    ),
    Listing(
        "operations.permitted",
        permitted_operations,
        "GET /operations",
        needs=SIGNED_IN,
        command="permitted",
        columns=("name", "kind", "route", "command", "tool"),
    ),
)
