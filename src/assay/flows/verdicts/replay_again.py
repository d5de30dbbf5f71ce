"""The steps of a recorded verdict, done again (SKI 8.1, 8.2): question, answer, verifier, governor."""

import re
from dataclasses import dataclass

import msgspec

from assay.flows.tools import Tools
from assay.flows.verdicts.graphs_in_use import judged_content
from assay.flows.verdicts.shelves import ReadyGraph
from assay.flows.verdicts.stored_verdict import StoredVerdict
from assay.kernel.digest import EMPTY_DIGEST, ZERO_DIGEST, Digest
from assay.kernel.errors import Error
from assay.kernel.json_text import parse_json
from assay.kernel.ledger import EntryKind
from assay.kernel.transcript import Transcript
from assay.model.commit import Commitment, Likeness, compare
from assay.ports.model import ModelError, ModelWeightsError
from assay.ports.reasoner import LocalReasoner, ScoringReasoner
from assay.verdicts.docket import Docket
from assay.verdicts.envelope import Envelope, VerifierResult, VerifierStatus
from assay.verdicts.errors import ReceiptError, TemplateError
from assay.verdicts.fastpath import FastAnswer, Stability, fast_answer, may_skip_model, pattern_of
from assay.verdicts.govern import govern, settle_held
from assay.verdicts.predicate import Judgement
from assay.verdicts.reason import (
    MAX_TOKENS,
    Interpretation,
    RawReply,
    ReasonRequest,
    build_request,
    interpret_failure,
    interpret_reply,
)
from assay.verdicts.receipt import Replied, metadata_of
from assay.verdicts.record import recorded_response, seal_envelope
from assay.verdicts.slice import slice_graph
from assay.verdicts.telemetry import Telemetry, parse_telemetry
from assay.verdicts.verify import Verification, judge_all, verify
from assay.verdicts.window_fact import WindowFact


def is_within_tolerance(reasoner: LocalReasoner, request: ReasonRequest, transcript: Transcript) -> bool:
    """Whether the weights could have written the recorded tokens too, as near as the signed receipt allows.

    False where there is no receipt, none with a tolerance, or nobody who can read a transcript again: then two texts
    that differ have diverged. The caller has checked the transcript's signature.
    """
    if not isinstance(reasoner, ScoringReasoner):
        return False
    try:
        commitment = _commitment(transcript)
        if commitment is None or commitment.tolerance == 0:
            return False
        replied = msgspec.json.decode(transcript.response_canonical, type=Replied)
        again = reasoner.score(request, replied.token_ids)
    except (ModelError, ReceiptError, msgspec.DecodeError):
        return False
    likeness = compare(commitment, replied.token_ids, again.top_scores or ()).likeness
    return again.text == replied.text and likeness is not Likeness.DIVERGED


def _commitment(transcript: Transcript) -> Commitment | None:
    _, recorded = metadata_of(transcript)
    return None if recorded is None else msgspec.json.decode(recorded, type=Commitment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Everything that the steps of a verdict had before them; the facts are those of the entry."""

    telemetry: Telemetry
    docket: Docket
    facts: dict[str, WindowFact]
    request: ReasonRequest


def find_scene(stored: StoredVerdict, graph: ReadyGraph | None) -> Scene | None:
    """None where there is no graph, or where the record or the rule cannot be put together again."""
    if graph is None:
        return None
    try:
        telemetry = parse_telemetry(stored.body.telemetry)
        docket = _docket(graph.under(stored.body.judged_by), telemetry, stored.read.entry.rule_id)
    except Error:
        return None
    if docket is None or telemetry.telemetry_hash != stored.read.entry.telemetry_hash:
        return None
    facts = {fact.obligation_id: fact for fact in stored.body.window_facts}
    provenance = stored.envelope.model_provenance
    seed, template_id, limit = provenance.decoder_seed, provenance.prompt_template_id, _max_tokens(stored.transcript)
    try:
        request = build_request(docket, telemetry, facts, seed=seed, max_tokens=limit, template_id=template_id)
    except TemplateError:
        return None
    return Scene(telemetry=telemetry, docket=docket, facts=facts, request=request)


def version_hash_of(graph: ReadyGraph | None, envelope: Envelope) -> Digest | None:
    """The hash of the document's own content, computed again when it was opened."""
    if graph is None:
        return None
    is_unsigned = envelope.model_provenance.kg_version_hash == EMPTY_DIGEST
    is_same = graph.opened.content_hash == judged_content(envelope)
    return EMPTY_DIGEST if is_unsigned and is_same else graph.opened.content_hash


def prompt_hash_of(graph: ReadyGraph | None, scene: Scene | None) -> Digest | None:
    """ZERO where the recorded rule is not in the graph's slice, which no recorded hash is."""
    if graph is None:
        return None
    return ZERO_DIGEST if scene is None else scene.request.prompt_hash


def _docket(graph: ReadyGraph, telemetry: Telemetry, rule_id: str | None) -> Docket | None:
    found = slice_graph(graph.index, telemetry.subject, as_of=telemetry.timestamp, jurisdiction=telemetry.jurisdiction)
    return next((one for one in graph.dockets_of(found) if one.rule_id == rule_id), None)


def _max_tokens(transcript: Transcript | None) -> int:
    """How long an answer could be at that time: the operator's setting, which only the transcript keeps."""
    asked = None if transcript is None else parse_json(transcript.request_canonical)
    decoding = asked.get("decoding") if isinstance(asked, dict) else None
    limit = decoding.get("max_tokens") if isinstance(decoding, dict) else None
    return limit if isinstance(limit, int) else MAX_TOKENS


_COUNT = re.compile(r"after (\d{1,15}) equal evaluations", re.ASCII)


def recall_answer(stored: StoredVerdict, scene: Scene) -> Interpretation | None:
    """What the governor was given: the model's answer, or that of the fast path; None where nothing is kept of it."""
    if stored.is_fast:
        judgements = judge_all(scene.docket, scene.telemetry, scene.facts)
        return Interpretation(answer=fast_again(stored, scene, judgements).answer)
    if stored.reply.failure is not None:
        return Interpretation(answer=interpret_failure("reply.unavailable", "").answer, error=stored.reply.failure)
    if stored.transcript is None or stored.reply.text is None:
        return None
    if stored.reply.characters != len(stored.reply.text):
        return _too_long(stored)
    return interpret_reply(_raw_reply(stored, stored.transcript, stored.reply.text), scene.docket)


def fast_again(stored: StoredVerdict, scene: Scene, judgements: tuple[Judgement, ...]) -> FastAnswer:
    """What the fast path says where everything is as it was; how often that was, the entry claims."""
    count = claimed_count(stored)
    stability = Stability(rule_id=scene.docket.rule_id, pattern=ZERO_DIGEST, count=count)
    return fast_answer(
        scene.docket, scene.telemetry, scene.facts, judgements, stability=stability, pattern=stability.pattern
    )


def claimed_count(stored: StoredVerdict) -> int:
    """After how many equal evaluations the model was left out, as the entry has it."""
    found = _COUNT.search(stored.envelope.reasoning)
    return 0 if found is None else int(found[1])


def ask_again(reasoner: LocalReasoner | None, stored: StoredVerdict, scene: Scene | None) -> str | None:
    """What these weights say to the same question now; None where they cannot be asked, or were not at the time."""
    if scene is None or reasoner is None or stored.reply.text is None or stored.is_fast:
        return None
    try:
        return str(recorded_response(reasoner.complete(scene.request))["text"])
    except ModelError:
        return None


def is_tolerated(
    reasoner: LocalReasoner | None, stored: StoredVerdict, scene: Scene | None, again: str | None
) -> bool | None:
    """Asked only where the model wrote something else, which one that is not exact may (SKI 8.2)."""
    if reasoner is None or scene is None or stored.transcript is None or again is None or again == stored.reply.text:
        return None
    return is_within_tolerance(reasoner, scene.request, stored.transcript)


def weights_of(reasoner: LocalReasoner | None) -> Digest | None:
    try:
        return None if reasoner is None else reasoner.identify().model_weight_hash
    except ModelError:
        return None


def find_substitute(tools: Tools, weight_hash: Digest) -> str | None:
    """What is kept in the place of these weights, in words with both hashes; None where nothing is."""
    try:
        if tools.reasoner is not None:
            tools.reasoner.identify()
    except ModelWeightsError as error:
        if weight_hash in str(error):
            return f"{error.code}: {error}"
    except ModelError:
        pass  # a model that cannot be asked now; its weights were not looked at
    try:
        if tools.weights is not None:
            tools.weights.find(weight_hash)
    except ModelWeightsError as error:
        return f"{error.code}: {error}"
    return None


def _too_long(stored: StoredVerdict) -> Interpretation | None:
    """A text longer than is kept: that it could not be read is all that is left of it."""
    why = next((one for one in stored.envelope.verifier_result.divergences if one.startswith("reply.")), None)
    return None if why is None else Interpretation(answer=interpret_failure("reply.unparsed", "").answer, error=why)


def _raw_reply(stored: StoredVerdict, transcript: Transcript, text: str) -> RawReply:
    return RawReply(
        text=text,
        backend_name=transcript.backend_name,
        model_weight_hash=stored.envelope.model_provenance.model_weight_hash,
        started_at=transcript.started_at,
        completed_at=transcript.completed_at,
        is_complete=stored.reply.is_complete,
        is_bound=stored.reply.is_bound,
    )


# A result that no verifier gives, so that it equals none that was recorded.
_NOBODY = VerifierResult(status=VerifierStatus.UNVERIFIABLE, checked_assertions=-1)


def verify_again(stored: StoredVerdict, scene: Scene, said: Interpretation | None) -> VerifierResult | None:
    """The verifier on the recorded assertions, which must be those of the recorded answer."""
    if said is None:
        return None
    if said.answer.formalizable_assertions != stored.envelope.formalizable_assertions:
        return _NOBODY
    return verify(scene.docket, scene.telemetry, scene.facts, said.answer, error=said.error, notice=said.notice).result


def verify_fast_again(stored: StoredVerdict, scene: Scene, stability: Stability | None) -> VerifierResult:
    """The verifier alone once more, where the ledger's earlier verdicts were as stable as the entry says."""
    judgements = judge_all(scene.docket, scene.telemetry, scene.facts)
    claimed, recorded = claimed_count(stored), stored.envelope
    pattern = pattern_of(scene.docket, judgements, recorded.model_provenance)
    is_stable = stability is not None and stability.pattern == pattern and 1 <= claimed <= stability.count
    if not is_stable or not may_skip_model(scene.docket, judgements, stability, stable=claimed):
        return _NOBODY
    again = fast_again(stored, scene, judgements)
    is_same = again.answer.formalizable_assertions == recorded.formalizable_assertions
    return again.verification.result if is_same and judgements == stored.body.judgements else _NOBODY


def check_ruling(stored: StoredVerdict, scene: Scene, said: Interpretation | None) -> str | None:
    """The governor follows from tier and verifier: a verdict that does not follow is a divergence."""
    if said is None:
        return None
    envelope, recorded = stored.envelope, stored.body.ruling
    ruling = govern(said.answer.verdict, envelope.verifier_result.status, scene.docket.tier)
    if stored.row.kind == EntryKind.VERDICT_FINAL:
        is_attested = envelope.human_attestation is not None
        ruling = settle_held(ruling, envelope.verifier_result.status, is_attested=is_attested)
    if ruling == recorded and stored.row.verdict == ruling.verdict:
        return None
    return f"governor: expected {ruling.verdict}, got {recorded.verdict}"


def check_wording(stored: StoredVerdict, scene: Scene, said: Interpretation | None) -> str | None:
    """The envelope's own words and citations: those of the answer, and no others."""
    if said is None:
        return None
    envelope, body = stored.envelope, stored.body
    verification = Verification(result=envelope.verifier_result, judgements=body.judgements, expected=envelope.verdict)
    sealed = seal_envelope(
        scene.docket,
        said.answer,
        verification,
        body.ruling,
        provenance=envelope.model_provenance,
        transcript_ref=envelope.transcript_ref,
    )
    if (sealed.reasoning, sealed.kg_citations) == (envelope.reasoning, envelope.kg_citations):
        return None
    return "envelope: its reasoning or its citations are not those of the answer"
