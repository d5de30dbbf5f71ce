"""Check what a deployment says of itself: its build, its signed document, and its TPM's word about the weights."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field

from assay.flows.errors.verdicts import VerdictFlowError
from assay.flows.request import Option, Request
from assay.flows.tools import Tools
from assay.flows.verdicts.prepare_verdict import MEASURED_NOTE
from assay.flows.verdicts.sovereignty import MeasuredWeights
from assay.identity.caller import Caller
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest, raw_digest
from assay.kernel.dsse import parse_envelope
from assay.kernel.errors import Error
from assay.kernel.ids import KeyId, TenantId
from assay.kernel.intoto import MalformedStatementError
from assay.kernel.json_text import parse_json
from assay.kernel.key import key_id_of
from assay.kernel.ledger import EntryKind
from assay.kernel.signature import SignedKind, parse_signature_hex, signing_message, verify_ed25519
from assay.ports.database import Unit
from assay.ports.ledger_store import StoredEntry
from assay.verdicts.build import BuildFinding, BuildReport, check_build, check_vouched, open_provenance
from assay.verdicts.graph.open import SovereigntyMode
from assay.verdicts.quote import verify_quote
from assay.verdicts.sovereignty import SovereigntyFinding


class _BuildFacts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    commit: str
    provenance: dict[str, object]


def examine_build(
    found: Mapping[str, str],
    *,
    builder_keys: Iterable[bytes],
    build_facts: bytes | None,
    statement: bytes | None = None,
    bytecode: Iterable[str] = (),
) -> BuildReport:
    """Every check, met or not. Refused is a statement that cannot be read, or that none of the builder keys signed.

    `build_facts` is the package's `_build.json`, None where it has none; a release statement takes the place of the
    one in it, and covers that file too.
    """
    facts = None if build_facts is None else _parse_facts(build_facts)
    text = statement if statement is not None or facts is None else canonicalize(facts.provenance)
    claim = None if text is None else open_provenance(parse_envelope(text), builder_keys)
    return check_build(claim, found, commit=None if facts is None else facts.commit, bytecode=bytecode)


def _parse_facts(text: bytes) -> _BuildFacts:
    try:
        return msgspec.convert(parse_json(text), _BuildFacts)
    except msgspec.ValidationError as error:
        raise MalformedStatementError(f"expected a commit and its provenance in `_build.json`: {error}") from error


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
        raise VerdictFlowError.sovereignty_document(
            "expected an object with the fields of `/api/sovereignty`, got something else"
        )
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
        raise VerdictFlowError.sovereignty_document(f"expected the fields of `/api/sovereignty`: {error}") from error


def _build(document: _Document, builder_keys: Iterable[bytes]) -> tuple[BuildFinding, ...]:
    provenance = document.build_provenance_attestation
    if provenance is None:
        return ()
    claim = open_provenance(parse_envelope(canonicalize(provenance)), builder_keys)
    return check_vouched(claim, document.codebase_commit_hash)


_VERDICTS = frozenset({EntryKind.VERDICT, EntryKind.VERDICT_HELD, EntryKind.VERDICT_FINAL})


class AuditMeasurements(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    attestation_key: Annotated[
        str, Meta(description="The TPM's attestation key in PEM."), Option(form="text", metavar="FILE")
    ]


class MeasurementProblem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry that does not lead to a measurement, or a measurement that proves nothing."""

    sequence_number: int
    message: str


class MeasurementReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    verdicts: int
    measurements: int
    problems: tuple[MeasurementProblem, ...]

    @property
    def holds(self) -> bool:
        """A ledger without a verdict shows nothing, so it is not clean either."""
        return self.verdicts > 0 and not self.problems


class _Provenance(Struct, frozen=True):
    model_weight_hash: Digest


class _Envelope(Struct, frozen=True):
    model_provenance: _Provenance
    notes: tuple[str, ...] = ()


class _VerdictEntry(Struct, frozen=True):
    llm_transcript: _Envelope


class _MeasuredEntry(Struct, frozen=True):
    body: MeasuredWeights


class _Walk(Struct):
    """What was seen so far; `known` are the weights of each measurement that holds, by its entry."""

    attestation_key: bytes
    known: dict[Digest, Digest] = field(default_factory=dict)
    verdicts: int = 0
    measurements: int = 0


def audit_measurements(tools: Tools, caller: Caller, request: AuditMeasurements) -> MeasurementReport:
    """Follow every verdict of the ledger to the TPM's word about its weights.

    The ledger is taken as it is: `assay ledger verify` checks whether it is what was recorded.
    """
    tenant_id = caller.tenant_id

    def work(unit: Unit) -> MeasurementReport:
        walk = _Walk(attestation_key=request.attestation_key.encode())
        problems = tuple(
            MeasurementProblem(sequence_number=row.sequence_number, message=message)
            for row in unit.ledger.entries(tenant_id)
            for message in _examine(unit, tenant_id, walk, row)
        )
        return MeasurementReport(verdicts=walk.verdicts, measurements=walk.measurements, problems=problems)

    return tools.database.read(work)


def _examine(unit: Unit, tenant_id: TenantId, walk: _Walk, row: StoredEntry) -> Iterator[str]:
    if row.kind == EntryKind.WEIGHTS_MEASURED:
        walk.measurements += 1
        yield from _measurement_problems(unit, tenant_id, walk, row)
    elif row.kind in _VERDICTS:
        walk.verdicts += 1
        yield from _verdict_problems(walk, row)


def _measurement_problems(unit: Unit, tenant_id: TenantId, walk: _Walk, row: StoredEntry) -> Iterator[str]:
    try:
        body = msgspec.json.decode(row.text, type=_MeasuredEntry).body
        verify_quote(body.quote, attestation_key=walk.attestation_key, nonce=raw_digest(body.after_hash))
    except (msgspec.MsgspecError, Error) as error:
        yield f"the measurement proves nothing: {error}"
        return
    if not body.quote.boot:
        yield "the quote tells of no measured boot that the weights chain to"
        return
    before = unit.ledger.find_entry(tenant_id, body.after_sequence)
    if before is None or body.after_sequence >= row.sequence_number or before.entry_hash != body.after_hash:
        yield f"the quote answers `{body.after_hash}`, which is not entry {body.after_sequence} before it"
        return
    walk.known[Digest(row.entry_hash)] = body.quote.model_weight_hash


def _verdict_problems(walk: _Walk, row: StoredEntry) -> Iterator[str]:
    envelope = msgspec.json.decode(row.text, type=_VerdictEntry).llm_transcript
    named = [note.removeprefix(MEASURED_NOTE) for note in envelope.notes if note.startswith(MEASURED_NOTE)]
    weights = envelope.model_provenance.model_weight_hash
    if len(named) != 1:
        yield f"expected one measurement to be named, got {len(named)}"
    elif walk.known.get(Digest(named[0])) is None:
        yield f"expected a measurement before it that holds, got `{named[0][:80]}`"
    elif walk.known[Digest(named[0])] != weights:
        yield f"expected the weights that were measured, {walk.known[Digest(named[0])]}, got `{weights}`"
