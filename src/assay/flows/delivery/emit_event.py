"""SENSE of another service: an event under its own name, on record and told to whoever subscribed (PRAMANA 7.3)."""

from typing import Annotated, Any

from msgspec import Meta, Raw, Struct

from assay.delivery.sense import SenseEvent, StandardEvent, parse_event, render_event
from assay.flows.delivery.delivery_entry import delivery_entry, sense
from assay.flows.errors.delivery import DeliveryFlowError
from assay.flows.identity.authenticate import confirm
from assay.flows.request import Document, Request
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.principal import Principal
from assay.kernel.canonical import canonicalize
from assay.kernel.cloudevent import CloudEvent, cloud_event
from assay.kernel.digest import digest_of
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.events import OutboxEvent

_STANDARD = frozenset(StandardEvent)
# What the node tells goes by the name of its entry, and nobody else tells it: subscribers act on such names.
_OWN = frozenset(map(str, EntryKind)) - frozenset(map(str, StandardEvent))
# Emitted events carry this before the emitter's name as their subject; the node's own never do.
_BY = "emitter:"


class Emitted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An event that is on disk."""

    event_type: str
    service: str
    sequence_number: int


class SenseSignal(Struct, frozen=True, kw_only=True):
    """The members of PRAMANA 7.3; `type` and `event` are read for `event_type`."""

    event_type: str
    service: str
    timestamp: str
    payload: dict[str, Any]


class EmitEvent(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    event: Annotated[bytes, Meta(description="The SENSE event."), Document(kind=SenseSignal, metavar="FILE|-")]


def emit_event(tools: Tools, caller: Caller, request: EmitEvent) -> Emitted:
    """Emit a SENSE event (PRAMANA 7.3); its `service` must be the name of the caller's principal."""
    event, at = parse_event(request.event), caller.at

    def work(unit: Unit) -> Emitted:
        sender = confirm(unit, caller).principal
        _verify_emitter(tools, sender, event)
        told = sense(event.event_type, f"{_BY}{sender.id}", event.payload, service=event.service, at=event.at)
        # The event itself is in the outbox; the entry binds it by its hash.
        body = {
            "event_type": event.event_type,
            "service": event.service,
            "event_hash": digest_of(canonicalize(render_event(event))),
            "emitted_by": sender.id,
        }
        draft = delivery_entry(sender.tenant_id, EntryKind.SENSE_EMITTED, body, at=at, events=(told,))
        number = unit.record(draft).sequence_number
        return Emitted(event_type=event.event_type, service=event.service, sequence_number=number)

    return tools.database.write(work)


def is_emitted(event: OutboxEvent) -> bool:
    """Whether another service told it, in its own words: whatever it is called, it is none of the node's."""
    return event.subject.startswith(_BY)


def is_sense(event: OutboxEvent) -> bool:
    """Whether its body has the members of PRAMANA 7.3: the standard events, and what services emit."""
    return event.type in _STANDARD or is_emitted(event)


def outbox_cloud_event(source: str, event: OutboxEvent) -> CloudEvent:
    return cloud_event(
        source=source,
        position=event.position,
        type_=event.type,
        subject=event.subject,
        at=event.occurred_at,
        ledger_sequence=event.ledger_sequence,
        body=Raw(event.body),
    )


def _verify_emitter(tools: Tools, sender: Principal, event: SenseEvent) -> None:
    own = sender.id.partition(":")[2]
    if event.service != own or event.service == tools.delivery.service:
        raise DeliveryFlowError.emitter(f"expected an event of `{own}`, got one of `{event.service[:80]}`")
    if event.event_type in _OWN:
        raise DeliveryFlowError.emitter(
            f"expected a name of your own, got `{event.event_type}`, which the node tells itself"
        )
