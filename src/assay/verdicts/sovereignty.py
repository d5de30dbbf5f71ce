"""Sovereignty (SKI 6): whether evaluation stays on the operator's own ground, as findings over stated facts.

facts -> check_sovereignty -> five findings -> may_start; facts -> attestation document -> (a signer)
Adapters say where things are; nothing here looks anything up.
"""

from enum import StrEnum

from msgspec import UNSET, Struct, UnsetType

from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest
from assay.kernel.ids import KeyId
from assay.kernel.instant import Instant
from assay.kernel.json_text import JsonValue
from assay.kernel.signature import SignedKind, signing_message
from assay.verdicts.graph.open import SovereigntyMode

# SKI 6.2 names the first three; the judge runs in this process or a child of it. Any other one the operator must tag.
SOVEREIGN_BACKENDS = frozenset({"ollama", "vllm", "llama.cpp", "judge"})


class PlaceKind(StrEnum):
    IN_PROCESS = "in_process"
    CHILD_PROCESS = "child_process"  # reached by pipes alone
    LOCAL_FILE = "local_file"
    UNIX_SOCKET = "unix_socket"
    LOOPBACK = "loopback"
    REMOTE = "remote"


class AnchorSource(StrEnum):
    OPERATOR = "operator"
    VENDOR = "vendor"


class SovereigntyCheck(StrEnum):
    """SKI 6.2, in its order."""

    BACKEND = "1 backend"
    WEIGHTS = "2 weights"
    ANCHOR = "3 anchor"
    LEDGER = "4 ledger"
    EGRESS = "5 egress"


class Place(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where something is; `address` is as the operator wrote it."""

    kind: PlaceKind
    address: str = ""


class TrustAnchor(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    key_id: KeyId
    source: AnchorSource


class SovereigntyFacts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the start-up found. `deployment_local` are addresses that the operator tagged, each one exactly."""

    backend_name: str
    backend_place: Place
    is_backend_tagged: bool
    model_weight_hash: Digest | None
    weight_registry: tuple[Digest, ...]
    anchors: tuple[TrustAnchor, ...]
    ledger_place: Place
    evaluation_egress: tuple[str, ...] = ()
    deployment_local: tuple[str, ...] = ()


class SovereigntyFinding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    check: SovereigntyCheck
    is_met: bool
    detail: str


class Attestation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`GET /api/sovereignty` (SKI 6.4), before its signature.

    `egress_channels` are all the ways out that the operator configured, none of them on the evaluation path.
    `measured_entry` is the ledger's entry with the TPM's word about the weights, None where there is none (SKI 9.3).
    `receipts` says whether every verdict has one, and where not, that Level 3 is not claimed; 0.1.0 did not say it.
    """

    model_weight_hash: Digest
    kg_version_hash: Digest
    codebase_commit_hash: str
    build_provenance_attestation: JsonValue
    signed_at: Instant
    mode: SovereigntyMode
    findings: tuple[SovereigntyFinding, ...]
    egress_channels: tuple[str, ...] = ()
    egress_attempts_total: int = 0
    deployment_local: tuple[str, ...] = ()
    measured_entry: Digest | None = None
    receipts: str | UnsetType = UNSET


def check_sovereignty(facts: SovereigntyFacts) -> tuple[SovereigntyFinding, ...]:
    """All five, met or not, so that a report names every failure."""
    return (_backend(facts), _weights(facts), _anchor(facts), _ledger(facts), _egress(facts))


def may_start(findings: tuple[SovereigntyFinding, ...], mode: SovereigntyMode) -> bool:
    """Strict refuses on any failure; advisory starts, and the caller logs each failure as a warning (SKI 6.1)."""
    return mode is SovereigntyMode.ADVISORY or all(finding.is_met for finding in findings)


def is_local(place: Place, deployment_local: tuple[str, ...]) -> bool:
    """A place elsewhere counts as local only when the operator tagged exactly that address."""
    return place.kind is not PlaceKind.REMOTE or place.address in deployment_local


def sovereignty_message(document: Attestation) -> bytes:
    """The bytes that the deployment's key signs."""
    return signing_message(SignedKind.SOVEREIGNTY, canonicalize(document))


def _backend(facts: SovereigntyFacts) -> SovereigntyFinding:
    name = f"`{facts.backend_name}`"
    if facts.backend_name not in SOVEREIGN_BACKENDS and not facts.is_backend_tagged:
        return _finding(SovereigntyCheck.BACKEND, f"{name} is no sovereign backend, and not tagged by the operator")
    if not is_local(facts.backend_place, facts.deployment_local):
        return _finding(SovereigntyCheck.BACKEND, f"{name} is at `{facts.backend_place.address}`, outside")
    return _finding(SovereigntyCheck.BACKEND, f"{name}, {facts.backend_place.kind}", is_met=True)


def _weights(facts: SovereigntyFacts) -> SovereigntyFinding:
    if facts.model_weight_hash is None:
        return _finding(SovereigntyCheck.WEIGHTS, "the backend reports no weight hash")
    if facts.model_weight_hash not in facts.weight_registry:
        return _finding(SovereigntyCheck.WEIGHTS, f"`{facts.model_weight_hash}` is not in the weight registry")
    return _finding(SovereigntyCheck.WEIGHTS, f"`{facts.model_weight_hash}` is registered", is_met=True)


def _anchor(facts: SovereigntyFacts) -> SovereigntyFinding:
    if not facts.anchors:
        return _finding(SovereigntyCheck.ANCHOR, "no trust anchor is configured")
    foreign = [anchor.key_id for anchor in facts.anchors if anchor.source is not AnchorSource.OPERATOR]
    if foreign:
        return _finding(SovereigntyCheck.ANCHOR, f"`{', '.join(foreign)}` does not come from the operator")
    return _finding(SovereigntyCheck.ANCHOR, f"{len(facts.anchors)} from the operator", is_met=True)


def _ledger(facts: SovereigntyFacts) -> SovereigntyFinding:
    if not is_local(facts.ledger_place, facts.deployment_local):
        return _finding(SovereigntyCheck.LEDGER, f"the ledger is at `{facts.ledger_place.address}`, outside")
    return _finding(SovereigntyCheck.LEDGER, f"{facts.ledger_place.kind}", is_met=True)


def _egress(facts: SovereigntyFacts) -> SovereigntyFinding:
    if facts.evaluation_egress:
        listed = ", ".join(facts.evaluation_egress)
        return _finding(SovereigntyCheck.EGRESS, f"the evaluation path may reach `{listed}`")
    return _finding(SovereigntyCheck.EGRESS, "the evaluation path may reach nothing", is_met=True)


def _finding(check: SovereigntyCheck, detail: str, *, is_met: bool = False) -> SovereigntyFinding:
    return SovereigntyFinding(check=check, is_met=is_met, detail=detail)
