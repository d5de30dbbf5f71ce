"""Whether every verdict leads to a TPM's word about its weights (SKI 9.3): for whoever has the ledger and one key.

entries in order -> each `weights.measured`: its quote, its nonce, its weights -> each verdict: the entry it names
That the entries are those that were recorded is for `audit_ledger`; this takes them as they are.
"""

from collections.abc import Iterator

import msgspec
from msgspec import Struct, field

from assay.flows.tools import Tools
from assay.flows.verdicts.measure_weights import MeasuredWeights
from assay.flows.verdicts.prepare_verdict import MEASURED_NOTE
from assay.kernel.digest import Digest, raw_digest
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.ledger_store import StoredEntry
from assay.verdicts.quote import verify_quote

_VERDICTS = frozenset({EntryKind.VERDICT, EntryKind.VERDICT_HELD, EntryKind.VERDICT_FINAL})


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


def audit_measurements(tools: Tools, tenant_id: TenantId, *, attestation_key: bytes) -> MeasurementReport:
    """Every verdict and every measurement of the ledger, by the attestation key (PEM) that the operator wrote down."""

    def look(unit: Unit) -> MeasurementReport:
        walk = _Walk(attestation_key=attestation_key)
        problems = tuple(
            MeasurementProblem(sequence_number=row.sequence_number, message=message)
            for row in unit.ledger.entries(tenant_id)
            for message in _examine(unit, tenant_id, walk, row)
        )
        return MeasurementReport(verdicts=walk.verdicts, measurements=walk.measurements, problems=problems)

    return tools.database.read(look)


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
