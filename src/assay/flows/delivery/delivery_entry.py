"""How delivery is written into the ledger, and the SENSE events that are committed with it (PRAMANA 7.3)."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from assay.delivery.sense import SenseEvent, StandardEvent, render_event
from assay.kernel.canonical import canonicalize
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, Event, draft_entry
from assay.ports.damage import DamagedRecordError

S = TypeVar("S", bound=Struct)
_encoder = msgspec.json.Encoder()


def delivery_entry(
    tenant_id: TenantId,
    kind: EntryKind,
    body: Mapping[str, Any] | Struct,
    *,
    at: Instant,
    events: Iterable[Event] = (),
) -> Draft:
    """Members that do not apply are left out of the body, as they are on the wire."""
    # By way of JSON: what comes back is plain, and plain values are the quick ones to make canonical.
    return draft_entry(tenant_id, kind, msgspec.json.decode(_encoder.encode(body)), at=at, events=events)


def sense(event: StandardEvent | str, subject: str, payload: Mapping[str, Any], *, service: str, at: Instant) -> Event:
    """One event as subscribers read it: type, service, time and payload."""
    told = render_event(SenseEvent(event_type=str(event), service=service, at=at, payload=dict(payload)))
    return Event(type=str(event), subject=subject, body=Raw(canonicalize(told)))


def news(kind: EntryKind, subject: str, payload: Mapping[str, Any]) -> Event:
    """What has no name among the standard events goes by the name of its entry."""
    return Event(type=kind.value, subject=subject, body=Raw(canonicalize(dict(payload))))


def text_of(record: Struct) -> str:
    return _encoder.encode(record).decode()


def read_text(text: str, kind: type[S]) -> S:
    """A record of ours, back from its row."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError as error:
        raise DamagedRecordError(f"expected a {kind.__name__}, got a row that cannot be read: {error}") from error
