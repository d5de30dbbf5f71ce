"""Whether evaluation stays on the operator's own ground (SKI 6): checked, enforced, recorded and signed.

facts of this node -> five findings -> evaluate or not; findings + hashes -> document -> the deployment's key
the guard's count -> an entry of what is new -> refused until an operator clears it in person
weight hash -> register of the TPM -> quote that answers the ledger's head -> `weights.measured`
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from assay import __version__
from assay.delivery.webhook import Webhook, parse_webhook_url
from assay.facts.verdicts import EgressAttempted, EgressCleared, egress_noted
from assay.flows.delivery.webhooks import list_webhooks
from assay.flows.errors import NotFoundError
from assay.flows.errors.verdicts import SovereigntyError, VerdictFlowError
from assay.flows.identity.authenticate import confirm
from assay.flows.request import Content, Option, Request
from assay.flows.tools import Tools
from assay.flows.verdicts.graphs_in_use import find_graph_in_use
from assay.flows.verdicts.shelves import Measured
from assay.identity.caller import Caller
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import EMPTY_DIGEST, ZERO_DIGEST, Digest, raw_digest
from assay.kernel.ids import KeyId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.json_text import parse_json
from assay.kernel.ledger import EntryKind, Receipt, draft_entry
from assay.ports.database import Unit
from assay.ports.egress import EgressRefusedError
from assay.ports.model import ModelError, ModelWeightsError
from assay.ports.reasoner import LocalReasoner, ReasonerIdentity, ScoringReasoner
from assay.review.errors import ReviewError
from assay.verdicts.errors import QuoteError
from assay.verdicts.quote import Quoted, WeightQuote, verify_quote
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


class ShowSovereignty(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing has to be said."""


class ShowHealth(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing has to be said."""


class JudgeHealth(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`degraded`: the node works, and evaluates nothing; `problems` says why. It cannot work at all: 503."""

    status: Literal["ok", "degraded"]
    version: str
    specification: Literal["SKI 3.0"] = "SKI 3.0"
    runtime: Literal["v3", "v2"] = "v3"
    sovereignty: str
    problems: tuple[str, ...] = ()


class ClearEgress(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    reason: Annotated[
        str, Meta(min_length=1, max_length=2000, description="What the attempts were, and why evaluation may go on.")
    ]


class QuoteWeights(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    nonce: Annotated[
        str,
        Meta(pattern="^([0-9a-fA-F]{2}){1,32}$", description="What the person who asks made up: 1 to 32 bytes in hex."),
        Option(metavar="HEX"),
    ]


def health(tools: Tools, caller: Caller, request: ShowHealth) -> JudgeHealth:  # noqa: ARG001 - of every tenant alike
    """Show whether the node can judge records; open to everybody, so it says nothing of a tenant."""
    found = []
    if tools.reasoner is None and not tools.ski.is_v2:
        found.append("verdict.no_model")
    if is_egress_open(tools):
        found.append("sovereignty.egress")
    return JudgeHealth(
        status="degraded" if found else "ok",
        version=__version__,
        runtime="v2" if tools.ski.is_v2 else "v3",
        sovereignty=tools.ski.mode,
        problems=tuple(found),
    )


def note_egress(tools: Tools, tenant_id: TenantId, *, at: Instant) -> None:
    """Write down what the guard counted since the last time, whatever the mode; mostly that is nothing."""
    guard, shelf = tools.guard, tools.egress
    if guard is None or shelf.unrecorded(guard) <= 0:
        return
    with shelf.writing:
        attempts = shelf.unrecorded(guard)
        if attempts <= 0:
            return
        body = EgressAttempted(attempts=attempts, places=guard.last_attempts[-attempts:])
        tools.database.write(lambda unit: unit.record(egress_noted(tenant_id, body, at=at)))
        shelf.note_recorded(guard, attempts)


def count_egress(tools: Tools) -> int:
    """`ski_egress_attempts_total` of the node, over all its processes and restarts."""
    noted = tools.database.read(lambda unit: unit.verdicts.egress_notes())
    recorded = sum(note.attempts for notes in noted for note in notes)
    return recorded + max(0, tools.egress.unrecorded(tools.guard))


def is_egress_open(tools: Tools) -> bool:
    """Whether there is an attempt that nobody has looked into, of this process or of one before it."""
    if tools.egress.uncleared(tools.guard) > 0:
        return True
    return tools.database.read(_has_open_egress)


def _has_open_egress(unit: Unit) -> bool:
    """Whether a tenant has attempts that nobody looked into since: none at all says that a person did."""
    return any(notes[-1].attempts > 0 for notes in unit.verdicts.egress_notes())


def require_no_egress(tools: Tools) -> None:
    """Fail closed: in strict mode one attempt in this process is enough."""
    guard = tools.guard
    if tools.ski.is_strict and guard is not None and tools.egress.uncleared(guard) > 0:
        last = ", ".join(guard.last_attempts[-1:])
        raise EgressRefusedError(f"expected no attempt to leave the perimeter, got {guard.attempts}: {last[:80]}")


def require_cleared(unit: Unit, tools: Tools) -> None:
    """The same of attempts that are on record, by whichever process, until a person has looked into them."""
    if tools.ski.is_strict and _has_open_egress(unit):
        raise EgressRefusedError(
            "expected no attempt to leave the perimeter, got some on record that nobody has cleared"
        )


def clear_egress(tools: Tools, caller: Caller, request: ClearEgress) -> Receipt:
    """Record that an operator looked into all attempts to leave the perimeter so far; strict evaluation goes on.

    A process that made such an attempt itself must be started again as well.
    """
    if not request.reason.strip():
        raise ReviewError.reason_missing("expected what the attempts were, got no reason")

    def work(unit: Unit) -> Receipt:
        by = confirm(unit, caller).principal
        if not _has_open_egress(unit):
            raise NotFoundError("expected attempts that wait to be looked into, got none")
        body = EgressCleared(cleared_by=by.id, reason=request.reason.strip())
        return unit.record(egress_noted(caller.tenant_id, body, at=caller.at))

    with tools.egress.writing:
        receipt = tools.database.write(work)
        tools.egress.note_cleared(tools.guard)
    return receipt


_UNKNOWN = Place(kind=PlaceKind.REMOTE, address="unknown")


class SignedAttestation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The document of SKI 6.4 and the signature of the node's ledger key over its canonical bytes."""

    document: Attestation
    key_id: KeyId
    signature_hex: str


def get_reasoner(tools: Tools) -> LocalReasoner:
    if tools.reasoner is None:
        raise VerdictFlowError.no_model(
            "expected a language model under `[ski]`, got none: no verdict is reached without one"
        )
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


def sovereignty(tools: Tools, caller: Caller, request: ShowSovereignty) -> Content:  # noqa: ARG001 - nothing is asked
    """Show what evaluates here and whether it stays on the operator's ground, signed by the node's ledger key."""
    signed = attest_sovereignty(tools, caller.tenant_id, at=caller.at)
    return Content(body=canonicalize(sovereignty_value(signed)))


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


class MeasuredWeights(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `weights.measured` entry; the quote's nonce is `after_hash`."""

    quote: WeightQuote
    after_sequence: int
    after_hash: Digest


def measure_weights(tools: Tools, tenant_id: TenantId, weights: Digest, *, at: Instant) -> Measured | None:
    """The measurement of these weights, made now where there is none yet; None on a node without a TPM.

    Refused are other weights than those that were measured since the machine started, and a TPM that does not answer.
    """
    if tools.boot is None:
        return None
    found = tools.measured.find(tenant_id, weights)
    if found is not None:
        return found
    with tools.measured.turn:
        return tools.measured.find(tenant_id, weights) or _measure(tools, tenant_id, weights, at)


def _measure(tools: Tools, tenant_id: TenantId, weights: Digest, at: Instant) -> Measured | None:
    if tools.boot is None:
        return None
    tools.boot.measure(weights)
    head = tools.database.read(lambda unit: unit.ledger.head(tenant_id))
    quote = tools.boot.quote(weights, raw_digest(head.entry_hash))
    body = MeasuredWeights(quote=quote, after_sequence=head.sequence_number, after_hash=head.entry_hash)
    draft = draft_entry(tenant_id, EntryKind.WEIGHTS_MEASURED, body, at=at)
    receipt = tools.database.write(lambda unit: unit.record(draft))
    measured = Measured(model_weight_hash=weights, entry_hash=receipt.entry_hash)
    tools.measured.put(tenant_id, measured)
    return measured


def quote_weights(tools: Tools, caller: Caller, request: QuoteWeights) -> WeightQuote:  # noqa: ARG001 - of the node
    """Have the TPM state under its own key which weights were measured; the nonce shows that the answer is new.

    Refused where the node has no TPM, no weights, or where these are not the ones that were measured.
    """
    if tools.boot is None:
        raise NotFoundError("this node has no TPM: name one under `[ski] tpm`")
    identity = get_reasoner(tools).identify()
    if identity.model_weight_hash is None:
        raise VerdictFlowError.sovereignty_weights(f"expected `{identity.backend_name}` to name its weights, got none")
    return tools.boot.quote(identity.model_weight_hash, bytes.fromhex(request.nonce))


def examine_quote(
    text: bytes, *, attestation_key: bytes, weights: Digest | None = None, nonce: bytes | None = None
) -> Quoted:
    """Raise unless the text is a quote that `verify_quote` accepts."""
    try:
        quote = msgspec.convert(parse_json(text), WeightQuote)
    except msgspec.ValidationError as error:
        raise QuoteError.malformed(f"expected a quote as `assay sovereignty quote` prints it: {error}") from error
    return verify_quote(quote, attestation_key=attestation_key, weights=weights, nonce=nonce)
