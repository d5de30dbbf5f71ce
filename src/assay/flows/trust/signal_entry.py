"""A trust signal that is no other record: an entry of its own, and the row that the fold reads."""

from typing import Any

from msgspec import Struct

from assay.flows.truth.truth_entry import json_of, logged_signal, news_of
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, Receipt, draft_entry
from assay.ports.database import Unit
from assay.trust.signal import TrustSignal, render_signal, signal_hash


class SignalBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `trust.signal` entry; `ticket_id` is that of the decision behind it, where there is one."""

    signal: dict[str, Any]
    signal_hash: str
    submitted_by: str
    ticket_id: str | None = None


def signal_entry(
    tenant_id: TenantId, signal: TrustSignal, *, submitted_by: str, ticket_id: str | None = None, at: Instant
) -> Draft:
    body = SignalBody(
        signal=json_of(render_signal(signal)),
        signal_hash=signal_hash(signal),
        submitted_by=submitted_by,
        ticket_id=ticket_id,
    )
    news = {"signal_id": signal.signal_id, "kind": signal.kind.value, "agent_id": signal.agent_id}
    event = news_of(EntryKind.TRUST_SIGNAL, signal.signal_id, news)
    return draft_entry(tenant_id, EntryKind.TRUST_SIGNAL, body, at=at, events=(event,))


def append_signal(unit: Unit, tenant_id: TenantId, signal: TrustSignal, entry: Draft) -> Receipt:
    receipt = unit.record(entry)
    unit.trust.add_signal(tenant_id, logged_signal(signal, sequence_number=receipt.sequence_number))
    return receipt
