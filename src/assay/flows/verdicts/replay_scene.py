"""What was judged and by what, put together again (SKI 8.1, steps 1 and 3): record, rule, window facts, question.

entry + the graph it names -> the record's slice -> the rule's docket -> the request, byte for byte
"""

from dataclasses import dataclass

from assay.flows.verdicts.graph_shelf import ReadyGraph
from assay.flows.verdicts.judged_graph import judged_content
from assay.flows.verdicts.stored_verdict import StoredVerdict
from assay.kernel.digest import EMPTY_DIGEST, ZERO_DIGEST, Digest
from assay.kernel.errors import Error
from assay.kernel.json_text import parse_json
from assay.kernel.transcript import Transcript
from assay.verdicts.docket import Docket
from assay.verdicts.envelope import Envelope
from assay.verdicts.errors import TemplateError
from assay.verdicts.reason import MAX_TOKENS, ReasonRequest, build_request
from assay.verdicts.slice import slice_graph
from assay.verdicts.telemetry import Telemetry, parse_telemetry
from assay.verdicts.window_fact import WindowFact


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
