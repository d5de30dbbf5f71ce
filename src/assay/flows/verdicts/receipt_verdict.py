"""Whether a verdict's entry follows from the transcript that its receipt is for, by the signed texts alone.

prompt -> the rule; rule + record of the entry -> this prompt; reply, read again -> verifier -> governor -> the entry
The prompt shows the rule as the graph had it; that the graph with this `kg_version_hash` has it so is for a replay.
"""

from assay.flows.verdicts.verdict_text import ReadEntry
from assay.kernel.ledger import EntryKind
from assay.kernel.transcript import Transcript
from assay.verdicts.docket import Docket
from assay.verdicts.envelope import Envelope, attested_hash, canonical_record
from assay.verdicts.errors import ReceiptVerdictError
from assay.verdicts.govern import Ruling, govern, settle_held
from assay.verdicts.reason import Interpretation, RawReply, ReasonRequest, build_request, interpret_reply
from assay.verdicts.receipt import Replied
from assay.verdicts.record import seal_envelope
from assay.verdicts.reread import reread_docket
from assay.verdicts.telemetry import Telemetry, parse_telemetry
from assay.verdicts.verify import Verification, verify
from assay.verdicts.window_fact import WindowFact


def require_follows(found: ReadEntry, asked: ReasonRequest, replied: Replied, transcript: Transcript) -> None:
    """Raise `receipt.verdict` unless everything that the entry says of its verdict comes out of the transcript again.

    The caller has checked the transcript's signature, and that the envelope names it, its weights and its prompt.
    """
    docket = reread_docket(asked.prompt, rulings=found.body.judged_by)
    telemetry = parse_telemetry(found.body.telemetry)
    facts = {fact.obligation_id: fact for fact in found.body.window_facts}
    _require_record(found, asked, docket, telemetry, facts)
    said = _said(replied, transcript, found.envelope, docket)
    verification = verify(docket, telemetry, facts, said.answer, error=said.error)
    _require_equal("judgements", found.body.judgements, verification.judgements)
    ruling = _ruled(found, docket, said, verification)
    _require_equal("ruling", found.body.ruling, ruling)
    _require_envelope(found, docket, said, verification, ruling)
    _require_columns(found, verification, ruling)


def _require_record(
    found: ReadEntry, asked: ReasonRequest, docket: Docket, telemetry: Telemetry, facts: dict[str, WindowFact]
) -> None:
    decoding, entry = asked.decoding, found.entry
    again = build_request(
        docket,
        telemetry,
        facts,
        seed=decoding.seed,
        max_tokens=decoding.max_tokens,
        template_id=asked.prompt_template_id,
    )
    if again != asked:
        raise ReceiptVerdictError("expected the record that the model was asked about, got another one in the entry")
    _require_equal("telemetry_id", entry.telemetry_id, telemetry.telemetry_id)
    _require_equal("telemetry_hash", entry.telemetry_hash, telemetry.telemetry_hash)
    _require_equal("rule_id", entry.rule_id, docket.rule_id)
    _require_equal("is_mapped", found.body.is_mapped, docket.is_mapped)
    if found.body.subject not in _subjects(docket, telemetry):
        raise ReceiptVerdictError("expected the subject that the model was asked about, got another one in the entry")


def _subjects(docket: Docket, telemetry: Telemetry) -> set[str]:
    """A record may name its subject otherwise than the graph does, whose edge to it is in the prompt."""
    edges = () if docket.part is None else docket.part.edges
    return {telemetry.subject, *(str(edge.target) for edge in edges if edge.source == docket.rule_id)}


def _said(replied: Replied, transcript: Transcript, envelope: Envelope, docket: Docket) -> Interpretation:
    reply = RawReply(
        text=replied.text,
        backend_name=transcript.backend_name,
        model_weight_hash=envelope.model_provenance.model_weight_hash,
        started_at=transcript.started_at,
        completed_at=transcript.completed_at,
        is_complete=replied.is_complete,
    )
    return interpret_reply(reply, docket)


def _ruled(found: ReadEntry, docket: Docket, said: Interpretation, verification: Verification) -> Ruling:
    status, token = verification.result.status, found.envelope.human_attestation
    ruling = govern(said.answer.verdict, status, docket.tier)
    if found.entry.kind is not EntryKind.VERDICT_FINAL:
        return ruling
    settled = settle_held(ruling, status, is_attested=token is not None)
    if token is not None and settled.is_honoured:
        _require_equal("human_attestation", token.envelope_hash, attested_hash(found.envelope))
    return settled


def _require_envelope(
    found: ReadEntry, docket: Docket, said: Interpretation, verification: Verification, ruling: Ruling
) -> None:
    """Notes tell what a node knows besides; none of them changes a verdict."""
    envelope = found.envelope
    again = seal_envelope(
        docket,
        said.answer,
        verification,
        ruling,
        provenance=envelope.model_provenance,
        transcript_ref=envelope.transcript_ref,
        attestation=envelope.human_attestation,
        path=None,
    )
    for name in Envelope.__struct_fields__:
        if name != "notes":
            _require_equal(name, getattr(envelope, name), getattr(again, name))


def _require_columns(found: ReadEntry, verification: Verification, ruling: Ruling) -> None:
    entry, provenance = found.entry, found.envelope.model_provenance
    _require_equal("verdict", entry.verdict, ruling.verdict.value)
    _require_equal("kg_version_hash", entry.kg_version_hash, provenance.kg_version_hash)
    _require_equal("model_weight_hash", entry.model_weight_hash, provenance.model_weight_hash)
    recorded = canonical_record(verification.result, is_simple=True)
    _require_equal("verifier_result", bytes(entry.verifier_result), recorded)


def _require_equal(name: str, got: object, expected: object) -> None:
    if got != expected:
        raise ReceiptVerdictError(f"expected the `{name}` that follows from the transcript, got another one")
