"""Whether a document of `/api/sovereignty` is what it says: for whoever received one, with no node at hand (SKI 6.4).

text -> signature against the deployment's key -> its build statement against the builder's keys -> report
"""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from assay.flows.errors.verdicts import AttestationDocumentError
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest
from assay.kernel.dsse import parse_envelope
from assay.kernel.ids import KeyId
from assay.kernel.json_text import parse_json
from assay.kernel.key import key_id_of
from assay.kernel.signature import SignedKind, parse_signature_hex, signing_message, verify_ed25519
from assay.verdicts.build import BuildFinding, check_vouched, open_provenance
from assay.verdicts.graph.open import SovereigntyMode
from assay.verdicts.sovereignty import SovereigntyFinding

_OUTSIDE = ("key_id", "signature_hex")


class AttestationReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a deployment said under its signature, and whether somebody vouches for its build.

    `build` is empty where it names none. That the files which run are those of the build only it can see itself.
    """

    key_id: KeyId
    signed_at: str
    mode: SovereigntyMode
    model_weight_hash: Digest
    kg_version_hash: Digest
    codebase_commit_hash: str
    egress_attempts_total: int
    findings: tuple[SovereigntyFinding, ...]
    build: tuple[BuildFinding, ...]

    @property
    def holds(self) -> bool:
        """Strict, every check met, nothing tried to leave, and the build vouched for."""
        met = all(one.is_met for one in self.findings) and all(one.is_met for one in self.build)
        return bool(met and self.build and self.mode is SovereigntyMode.STRICT and not self.egress_attempts_total)


class _Document(Struct, frozen=True, kw_only=True):
    """The fields that are reported; the rest is covered by the signature and shown by whoever prints the text."""

    signed_at: str
    mode: SovereigntyMode
    model_weight_hash: Digest
    kg_version_hash: Digest
    codebase_commit_hash: str
    egress_attempts_total: int
    findings: tuple[SovereigntyFinding, ...]
    build_provenance_attestation: dict[str, Any] | None


def examine_attestation(text: bytes, *, deployment_key: bytes, builder_keys: Iterable[bytes]) -> AttestationReport:
    """Refused is a text that is no such document, one by another key, and a statement by none of the builder keys."""
    value = parse_json(text)
    if not isinstance(value, dict):
        raise AttestationDocumentError("expected an object with the fields of `/api/sovereignty`, got something else")
    signature = parse_signature_hex(str(value.get("signature_hex", "")))
    signed = {name: part for name, part in value.items() if name not in _OUTSIDE}
    verify_ed25519(deployment_key, signing_message(SignedKind.SOVEREIGNTY, canonicalize(signed)), signature)
    document = _read(signed)
    return AttestationReport(
        key_id=key_id_of(deployment_key),
        signed_at=document.signed_at,
        mode=document.mode,
        model_weight_hash=document.model_weight_hash,
        kg_version_hash=document.kg_version_hash,
        codebase_commit_hash=document.codebase_commit_hash,
        egress_attempts_total=document.egress_attempts_total,
        findings=document.findings,
        build=_build(document, builder_keys),
    )


def _read(value: dict[str, Any]) -> _Document:
    try:
        return msgspec.convert(value, _Document)
    except msgspec.ValidationError as error:
        raise AttestationDocumentError(f"expected the fields of `/api/sovereignty`: {error}") from error


def _build(document: _Document, builder_keys: Iterable[bytes]) -> tuple[BuildFinding, ...]:
    provenance = document.build_provenance_attestation
    if provenance is None:
        return ()
    claim = open_provenance(parse_envelope(canonicalize(provenance)), builder_keys)
    return check_vouched(claim, document.codebase_commit_hash)
