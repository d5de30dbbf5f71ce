"""CloudEvents 1.0 in their JSON format: how an event of a ledger is told to whoever reads that format.

`id` is the event's place in its tenant's order, which with `source` is unique; `ledgersequence` is an extension
attribute that names the entry the event was committed with.
"""

import msgspec
from msgspec import Raw, Struct

from assay.kernel.instant import Instant, render_instant


class CloudEvent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The attributes that are ours, by the names of the specification."""

    specversion: str = "1.0"
    id: str
    source: str
    type: str
    subject: str
    time: str
    datacontenttype: str = "application/json"
    ledgersequence: int
    data: Raw


def cloud_event(
    *, source: str, position: int, type_: str, subject: str, at: Instant, ledger_sequence: int, body: Raw
) -> CloudEvent:
    return CloudEvent(
        id=str(position),
        source=source,
        type=type_,
        subject=subject,
        time=render_instant(at),
        ledgersequence=ledger_sequence,
        data=body,
    )


def render_cloud_event(event: CloudEvent) -> bytes:
    """One line of JSON: no break can be in it, since JSON writes each as an escape."""
    return msgspec.json.encode(event)
