"""Whether evaluation stays on the operator's own ground (SKI 6): found out, enforced, and said under a signature.

facts of this node -> five findings -> evaluate or not; findings + hashes -> document -> the deployment's key
"""

from typing import Any

from msgspec import Struct

from assay.delivery.webhook import Webhook, parse_webhook_url
from assay.flows.delivery.keep_webhooks import list_webhooks
from assay.flows.errors.verdicts import NoReasonerError, SovereigntyError
from assay.flows.tools import Tools
from assay.flows.verdicts.active_graph import find_graph_in_use
from assay.flows.verdicts.note_egress import count_egress, require_no_egress
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import EMPTY_DIGEST, ZERO_DIGEST
from assay.kernel.ids import KeyId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.json_text import parse_json
from assay.ports.egress import EgressRefusedError
from assay.ports.model import ModelError, ModelWeightsError
from assay.ports.reasoner import LocalReasoner, ReasonerIdentity, ScoringReasoner
from assay.verdicts.sovereignty import (
    AnchorSource,
    Attestation,
    Place,
    PlaceKind,
    SovereigntyFacts,
    SovereigntyFinding,
    TrustAnchor,
    check_sovereignty,
    may_start,
    sovereignty_message,
)

_UNKNOWN = Place(kind=PlaceKind.REMOTE, address="unknown")


class SignedAttestation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The document of SKI 6.4 and the signature of the node's ledger key over its canonical bytes."""

    document: Attestation
    key_id: KeyId
    signature_hex: str


def get_reasoner(tools: Tools) -> LocalReasoner:
    if tools.reasoner is None:
        raise NoReasonerError("expected a language model under `[ski]`, got none: no verdict is reached without one")
    return tools.reasoner


def check_node_sovereignty(tools: Tools) -> tuple[SovereigntyFinding, ...]:
    """All five checks of SKI 6.2, met or not: the start-up's report. Never raises for a no."""
    try:
        identity = None if tools.reasoner is None else tools.reasoner.identify()
    except ModelError:
        identity = None
    return check_sovereignty(_facts(tools, identity))


def require_own_weights(tools: Tools) -> None:
    """Raise `model.weights` where other bytes are in the place of the weights: this is no mere check that is unmet.

    A model that cannot be reached now is none of this: the checks tell of it.
    """
    try:
        get_reasoner(tools).identify()
    except ModelWeightsError:
        raise
    except ModelError:
        return


def require_sovereign(tools: Tools, identity: ReasonerIdentity) -> None:
    """In strict mode: all five checks are met, a guard is in place, and nothing tried to leave (SKI 6.1, 6.3)."""
    findings = check_sovereignty(_facts(tools, identity))
    if not may_start(findings, tools.ski.mode):
        raise SovereigntyError(findings)
    if tools.ski.is_strict and tools.guard is None:
        raise EgressRefusedError("expected an egress guard around evaluation, got none")
    require_no_egress(tools)


def attest_sovereignty(tools: Tools, tenant_id: TenantId, *, at: Instant) -> SignedAttestation:
    """What is so now, also where it is not as it should be: `findings` says which."""
    identity = None if tools.reasoner is None else tools.reasoner.identify()
    active = tools.database.read(lambda unit: find_graph_in_use(unit, tools, tenant_id))
    webhooks = tuple(_channel(one.webhook) for one in list_webhooks(tools, tenant_id))
    settings, measured = tools.ski, tools.measured.find_any(tenant_id)
    document = Attestation(
        # No model at all is the zero digest, which is the hash of nothing that exists.
        model_weight_hash=(identity and identity.model_weight_hash) or ZERO_DIGEST,
        kg_version_hash=EMPTY_DIGEST if active is None else active.kg_version_hash,
        codebase_commit_hash=settings.codebase_commit,
        build_provenance_attestation=settings.build_provenance,
        signed_at=at,
        mode=settings.mode,
        findings=check_sovereignty(_facts(tools, identity)),
        egress_channels=(*settings.egress_channels, *webhooks),
        egress_attempts_total=count_egress(tools),
        deployment_local=settings.deployment_local,
        measured_entry=None if measured is None else measured.entry_hash,
        receipts=_receipts(tools, identity),
    )
    signature = tools.ledger_signer.sign(sovereignty_message(document))
    return SignedAttestation(document=document, key_id=tools.ledger_signer.key_id, signature_hex=signature.hex())


def _receipts(tools: Tools, identity: ReasonerIdentity | None) -> str:
    """SKI 9.3 takes a receipt for every verdict: whether the model can give them, and the node insists on them."""
    if identity is None:
        return "Level 3 is not claimed: there is no model"
    if not isinstance(tools.reasoner, ScoringReasoner):
        return f"Level 3 is not claimed: the backend `{identity.backend_name}` gives no receipts"
    if not tools.ski.requires_receipt:
        return "Level 3 is not claimed: verdicts have receipts, and `[ski] level` does not insist on them"
    return "every verdict has a receipt"


def _channel(webhook: Webhook) -> str:
    """Where its events go; a path may hold a secret of whoever listens there."""
    place = parse_webhook_url(webhook.url)
    return f"webhook {webhook.webhook_id} {place.scheme}://{place.host}:{place.port}"


def sovereignty_value(signed: SignedAttestation) -> dict[str, Any]:
    """The document with `key_id` and `signature_hex` beside its fields; the signature covers it without these two."""
    value: Any = parse_json(canonicalize(signed.document))
    return {**value, "key_id": signed.key_id, "signature_hex": signed.signature_hex}


def _facts(tools: Tools, identity: ReasonerIdentity | None) -> SovereigntyFacts:
    settings = tools.ski
    anchors = sorted(tools.anchors.all_key_ids)
    return SovereigntyFacts(
        backend_name="none" if identity is None else identity.backend_name,
        backend_place=_UNKNOWN if identity is None else identity.place,
        is_backend_tagged=settings.is_backend_tagged and identity is not None,
        model_weight_hash=None if identity is None else identity.model_weight_hash,
        weight_registry=settings.weights,
        # We ship no anchor, so each one that is there came from the operator.
        anchors=tuple(TrustAnchor(key_id=key_id, source=AnchorSource.OPERATOR) for key_id in anchors),
        ledger_place=settings.ledger_place or _UNKNOWN,
        evaluation_egress=settings.evaluation_egress,
        deployment_local=settings.deployment_local,
    )
