"""Receipts of verdicts (SKI 7.5): exported, shown; and the files that prove a verdict together with its receipt."""

from typing import Annotated

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.flows.errors import NotFoundError
from assay.flows.ledger.check_key_facts import verify_key_facts
from assay.flows.ledger.prove_record import prove_record
from assay.flows.request import Content, Option, Request
from assay.flows.tools import Tools
from assay.flows.verdicts.graphs_in_use import JudgedGraphs, judged_content
from assay.flows.verdicts.read_verdicts import SequenceNumber, ShowRecord, get_transcript, show_verdict
from assay.flows.verdicts.verdict_entry import ReadEntry, get_verdict_entry
from assay.identity.caller import Caller
from assay.kernel.bundle import Attachment, Bundle, render_bundle
from assay.kernel.digest import Digest, digest_of
from assay.kernel.errors import Error
from assay.kernel.ids import KeyId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.kernel.transcript import Transcript
from assay.model.commit import Commitment, TopScores
from assay.model.vocabulary import VOCABULARY
from assay.ports.database import Unit
from assay.verdicts.docket import Docket
from assay.verdicts.envelope import Envelope, VerdictPath, attested_hash, canonical_record
from assay.verdicts.errors import NoReceiptError, ReceiptError
from assay.verdicts.govern import Ruling, govern, settle_held
from assay.verdicts.reason import Interpretation, RawReply, ReasonRequest, build_request, interpret_reply
from assay.verdicts.receipt import ReceiptFile, Replied, metadata_of, question_of, render_receipt, reply_of
from assay.verdicts.record import seal_envelope
from assay.verdicts.reread import reread_docket
from assay.verdicts.slice import slice_graph
from assay.verdicts.telemetry import Telemetry, parse_telemetry
from assay.verdicts.verify import Verification, verify
from assay.verdicts.window_fact import WindowFact


class ExportReceipt(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    sequence: Annotated[SequenceNumber, Option(metavar="SEQ")]


def receipt(tools: Tools, caller: Caller, request: ExportReceipt) -> Content:
    """Return the receipt of a verdict as a file for a third party: transcript, grammar, keys that lead to it."""
    body = render_receipt(export_receipt(tools, caller.tenant_id, request.sequence))
    return Content(body=body, filename=f"receipt-{request.sequence}.json")


def export_receipt(tools: Tools, tenant_id: TenantId, sequence_number: int) -> ReceiptFile:
    """The receipt of a verdict, or `receipt.none` with the reason; a held one has that of the entry settling it."""
    read, receipt = tools.database.read(lambda unit: _look(unit, tenant_id, sequence_number))
    return replace(receipt, grammar=_grammar(tools, tenant_id, read))


def _look(unit: Unit, tenant_id: TenantId, sequence_number: int) -> tuple[ReadEntry, ReceiptFile]:
    """The receipt but for its grammar, which is not stored."""
    read = get_verdict_entry(unit, tenant_id, sequence_number)
    _require_served(read)
    transcript = get_transcript(unit, tenant_id, read.envelope.transcript_ref)
    if metadata_of(transcript)[1] is None:
        raise NoReceiptError(f"no receipt offered: {_why_none(transcript)}")
    verify_key_facts(unit)
    keys, retirements = unit.keys.endorsements(), unit.keys.retirements()
    entry = _entry_text(unit, tenant_id, sequence_number)
    return read, ReceiptFile(entry=entry, transcript=transcript, grammar="", keys=keys, retirements=retirements)


def _entry_text(unit: Unit, tenant_id: TenantId, sequence_number: int) -> str:
    row = unit.ledger.find_entry(tenant_id, sequence_number)
    return "" if row is None else row.text.decode()


def _require_served(read: ReadEntry) -> None:
    if read.entry.kind == EntryKind.VERDICT_HELD:
        raise NoReceiptError("no receipt offered: the verdict is held, and its receipt would tell what the model said")
    if read.envelope.verdict_path is VerdictPath.FAST:
        raise NoReceiptError("no receipt offered: the fast path asked no model")


def _why_none(transcript: Transcript) -> str:
    if '"failure":' in transcript.response_canonical:
        return "no model answered"
    return f"the backend `{transcript.backend_name}` cannot read a transcript again"


def _grammar(tools: Tools, tenant_id: TenantId, read: ReadEntry) -> str:
    """From the slice, as it was then: whoever checks compares its hash with the transcript's."""
    graph = JudgedGraphs(tools, tenant_id, in_use=tools.graphs).find(judged_content(read.envelope))
    if graph is None:
        raise NoReceiptError("no receipt offered: the graph that the verdict was reached by is not kept")
    try:
        graph = graph.under(read.body.judged_by)
        telemetry = parse_telemetry(read.body.telemetry)
        found = slice_graph(
            graph.index, telemetry.subject, as_of=telemetry.timestamp, jurisdiction=telemetry.jurisdiction
        )
        docket = next(one for one in graph.dockets_of(found) if one.rule_id == read.entry.rule_id)
    except (Error, StopIteration) as error:
        raise NoReceiptError("no receipt offered: the rule cannot be put together again") from error
    return docket.grammar.canonical.decode()


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
        raise ReceiptError.verdict("expected the record that the model was asked about, got another one in the entry")
    _require_equal("telemetry_id", entry.telemetry_id, telemetry.telemetry_id)
    _require_equal("telemetry_hash", entry.telemetry_hash, telemetry.telemetry_hash)
    _require_equal("rule_id", entry.rule_id, docket.rule_id)
    _require_equal("is_mapped", found.body.is_mapped, docket.is_mapped)
    if found.body.subject not in _subjects(docket, telemetry):
        raise ReceiptError.verdict("expected the subject that the model was asked about, got another one in the entry")


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
        raise ReceiptError.verdict(f"expected the `{name}` that follows from the transcript, got another one")


class ShownToken(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`margin` is by how much its score is above the next best, None where nothing else was open."""

    position: int
    token: int
    word: str
    logprob: float | None
    score: int | None
    margin: int | None


class ShownReceipt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A receipt as it is recorded; nothing of it was checked."""

    transcript_id: Digest
    backend_name: str
    model_weight_hash: Digest
    prompt_template_id: str
    prompt_hash: Digest
    grammar_hash: Digest
    decoder_seed: int
    response_hash: Digest
    scheme: str
    root: Digest
    tolerance: int
    signer: KeyId
    completed_at: Instant
    text: str
    tokens: tuple[ShownToken, ...]


def show_receipt(receipt: ReceiptFile) -> ShownReceipt:
    transcript, asked, replied = receipt.transcript, question_of(receipt), reply_of(receipt)
    weights, recorded = metadata_of(transcript)
    if recorded is None:
        raise NoReceiptError(f"no receipt offered by the backend `{transcript.backend_name}`")
    try:
        commitment = msgspec.json.decode(recorded, type=Commitment)
    except msgspec.DecodeError as error:
        raise ReceiptError.form(f"expected commitments: {error}") from error
    chances = replied.logprobs or (None,) * len(replied.token_ids)
    rows = zip(replied.token_ids, chances, commitment.top, strict=False)
    return ShownReceipt(
        transcript_id=transcript.transcript_id,
        backend_name=transcript.backend_name,
        model_weight_hash=weights,
        prompt_template_id=asked.prompt_template_id,
        prompt_hash=asked.prompt_hash,
        grammar_hash=asked.grammar_hash,
        decoder_seed=asked.decoding.seed,
        response_hash=transcript.response_hash,
        scheme=commitment.scheme,
        root=commitment.root,
        tolerance=commitment.tolerance,
        signer=transcript.signing_key_id,
        completed_at=transcript.completed_at,
        text=replied.text,
        tokens=tuple(_shown(position, token, chance, top) for position, (token, chance, top) in enumerate(rows)),
    )


def _shown(position: int, token: int, logprob: float | None, top: TopScores) -> ShownToken:
    return ShownToken(
        position=position,
        token=token,
        word=VOCABULARY[token] if 0 <= token < len(VOCABULARY) else "?",
        logprob=logprob,
        score=dict(top).get(token),
        margin=top[0][1] - top[1][1] if len(top) > 1 else None,
    )


RECEIPT_ATTACHMENT = "assay-receipt"
_WITH_RECEIPT = frozenset({EntryKind.VERDICT.value, EntryKind.VERDICT_FINAL.value})


def prove_entry(tools: Tools, tenant_id: TenantId, sequence_number: int, *, disclose: bool = False) -> Bundle:
    """The proof bundle of an entry; that of a verdict brings its receipt along."""

    def is_served_verdict(unit: Unit) -> bool:
        row = unit.ledger.find_entry(tenant_id, sequence_number)
        return row is not None and row.kind in _WITH_RECEIPT

    is_verdict = tools.database.read(is_served_verdict)
    attachments = _receipt(tools, tenant_id, sequence_number) if is_verdict else ()
    return prove_record(tools, tenant_id, sequence_number, disclose=disclose, attachments=attachments)


def prove_verdict(tools: Tools, caller: Caller, request: ShowRecord) -> Content:
    """Make the files that prove the verdicts of a record offline: an array, one proof bundle for each rule.

    Each has the receipt of its transcript where the model gave one; that of a held verdict says nothing more.
    """
    decided = show_verdict(tools, caller.tenant_id, request.telemetry_id)
    proofs = [prove_entry(tools, caller.tenant_id, one.sequence_number) for one in decided.verdicts]
    return Content(body=b"[" + b",".join(render_bundle(one).strip() for one in proofs) + b"]")


def _receipt(tools: Tools, tenant_id: TenantId, sequence_number: int) -> tuple[Attachment, ...]:
    try:
        content = render_receipt(export_receipt(tools, tenant_id, sequence_number))
    except (NoReceiptError, NotFoundError):
        # The fast path and runtime 2 asked no model; the entry is proven all the same.
        return ()
    name = f"receipt-{sequence_number:09d}.json"
    return (Attachment(kind=RECEIPT_ATTACHMENT, name=name, sha256=digest_of(content), content=content),)
