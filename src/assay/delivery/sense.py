"""SENSE: the seven standard events of PRAMANA 7.3, and how an event is read and written."""

from enum import StrEnum
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from assay.delivery._read import is_text, read_object, shape
from assay.delivery.errors import DeliveryError
from assay.kernel.errors import TypeFormError
from assay.kernel.instant import Instant, parse_foreign_instant, render_instant
from assay.kernel.json_text import JsonValue

_LONGEST_NAME = 200


class StandardEvent(StrEnum):
    QUERY_RECEIVED = "query.received"
    QUERY_ANSWERED = "query.answered"
    PHALA_GENERATED = "phala.generated"
    RCA_TRIGGERED = "rca.triggered"
    RCA_CLOSED = "rca.closed"
    TRAINING_PAIR_CAPTURED = "slm.training_pair_captured"
    FINETUNING_TRIGGERED = "slm.finetuning_triggered"


class SenseEvent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One event; types besides the seven are allowed, and mean what their emitter says."""

    event_type: str
    service: str
    at: Instant
    payload: dict[str, Any]


class _Wire(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    event_type: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    event: str | UnsetType = UNSET
    service: str
    timestamp: str
    payload: dict[str, Any]


def parse_event(content: bytes | str) -> SenseEvent:
    """Read strictly; the type may be called `type` or `event`, and where it has several names they must agree."""
    wire = shape(read_object(content, DeliveryError.event), _Wire, DeliveryError.event)
    names = {one for one in (wire.event_type, wire.type, wire.event) if one is not UNSET}
    if len(names) != 1:
        raise DeliveryError.event(f"expected one event type, got {len(names)}")
    [name] = names
    for text in (name, wire.service):
        if not is_text(text, _LONGEST_NAME):
            raise DeliveryError.event(f"expected type and service of 1 to {_LONGEST_NAME} printable characters")
    try:
        at = parse_foreign_instant(wire.timestamp)
    except TypeFormError as error:
        raise DeliveryError.event(str(error)) from error
    return SenseEvent(event_type=name, service=wire.service, at=at, payload=wire.payload)


def render_event(event: SenseEvent) -> dict[str, JsonValue]:
    """The event as JSON, with the members of PRAMANA 7.3."""
    return {
        "event_type": event.event_type,
        "service": event.service,
        "timestamp": render_instant(event.at),
        "payload": event.payload,
    }
