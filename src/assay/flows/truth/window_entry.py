"""A window event on its way into the ledger: signed by the node's truth key, and logged as the signal that it is."""

from assay.flows.tools import Tools
from assay.flows.truth.truth_entry import Bronze, EventSignature, draft_bronze
from assay.flows.truth.truth_key import get_truth_signer
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.signature import SignedKind, signing_message
from assay.ports.truth_store import RecordKind
from assay.trust.signal import SignalKind, TrustSignal, WindowEnded, WindowUntil
from assay.truth.window import WindowEvent, render_window_event, window_event_hash


def window_message(event: WindowEvent) -> bytes:
    """What the node signs: it vouches that this event was made by whom it names, who was signed in."""
    return signing_message(SignedKind.WINDOW, render_window_event(event))


def window_bronze(tools: Tools, tenant_id: TenantId, event: WindowEvent, *, submitted_by: str, at: Instant) -> Bronze:
    signer, hash_ = get_truth_signer(tools), window_event_hash(event)
    signature = signer.sign(window_message(event)).hex()
    return draft_bronze(
        tenant_id,
        RecordKind.WINDOW_EVENT,
        render_window_event(event),
        truthkeys=[event.truthkey],
        record_id=event.event_id,
        record_hash=hash_,
        by=event.by,
        occurred_at=event.occurred_at,
        submitted_by=submitted_by,
        signal=_signal(event, hash_, at),
        signature=EventSignature(key_id=signer.key_id, method=signer.method, signature=signature),
        at=at,
    )


def _signal(event: WindowEvent, hash_: str, at: Instant) -> TrustSignal:
    body: WindowUntil | WindowEnded
    if event.closes_at is None:
        body = WindowEnded(truthkey=event.truthkey, reason=event.reason)
    else:
        body = WindowUntil(truthkey=event.truthkey, closes_at=event.closes_at)
    return TrustSignal(
        signal_id=f"window.{hash_}", kind=SignalKind[event.kind.value], agent_id=event.by, occurred_at=at, object=body
    )
