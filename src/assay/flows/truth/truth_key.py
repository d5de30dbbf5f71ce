"""The key that truth states are signed with: put on record before its first use, and asked for by all who sign."""

from assay.facts.truth import EventSignature, record_entry
from assay.flows.errors.truth import TruthFlowError
from assay.flows.ledger.found_node import endorse, record_key
from assay.flows.ledger.own_keys import has_key_for, own_key_ring_in
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.key import KeyPurpose
from assay.kernel.ledger import Draft
from assay.kernel.signature import SignedKind, signing_message
from assay.ports.database import Unit
from assay.ports.signer import Signer
from assay.ports.truth_store import RecordKind
from assay.trust.signal import SignalKind, TrustSignal, WindowEnded, WindowUntil
from assay.truth.window import WindowEvent, render_window_event, window_event_hash


def get_truth_signer(tools: Tools) -> Signer:
    if tools.truth_signer is None:
        raise TruthFlowError.key_no_truth_key(
            "expected a truth key in assay.toml, got none: make one with `assay key rotate truth`"
        )
    return tools.truth_signer


def introduce_truth_key(tools: Tools, tenant_id: TenantId, *, at: Instant) -> None:
    """The ledger key vouches for the truth key, once: a node that compiles nothing has none on record."""
    signer = get_truth_signer(tools)
    if tools.database.read(lambda unit: _is_recorded(unit, tools)):
        return
    # Valid for what the caller is about to sign, and now: callers read the clock before they come here.
    since = min(at, tools.clock.now())
    endorsement = endorse(tools, signer, KeyPurpose.TRUTH, since)

    def work(unit: Unit) -> None:
        if not _is_recorded(unit, tools):
            record_key(unit, tenant_id, endorsement, at=since)

    tools.database.write(work)


def _is_recorded(unit: Unit, tools: Tools) -> bool:
    return has_key_for(own_key_ring_in(unit, tools.founder), KeyPurpose.TRUTH)


def window_message(event: WindowEvent) -> bytes:
    """What the node signs: it vouches that this event was made by whom it names, who was signed in."""
    return signing_message(SignedKind.WINDOW, render_window_event(event))


def window_entry(tools: Tools, tenant_id: TenantId, event: WindowEvent, *, submitted_by: str, at: Instant) -> Draft:
    signer, hash_ = get_truth_signer(tools), window_event_hash(event)
    signature = signer.sign(window_message(event)).hex()
    return record_entry(
        tenant_id,
        RecordKind.WINDOW_EVENT,
        render_window_event(event),
        truthkeys=[event.truthkey],
        record_id=event.event_id,
        record_hash=hash_,
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
