"""Operations about telemetry, verdicts, knowledge graphs, coverage and sovereignty."""

from assay.flows.delivery.answer_finding import answer_record
from assay.flows.request import SEE_ALL
from assay.flows.verdicts import (
    attest_verdict,
    change_graphs,
    coverage,
    evaluate,
    examine_sovereignty,
    explain_verdict,
    graph_impact,
    inspect_graphs,
    read_verdicts,
    receipts,
    replay_verdict,
    runtime_v2,
    sovereignty,
)
from assay.identity.principal import BuiltInRole
from assay.kernel.errors import Blame
from assay.operations.kinds import OPEN, SIGNED_IN, Bulk, Change, Listing, Operation, Read, Shares, needs, no_if
from assay.operations.shown import verdicts as shown

SEE = needs("verdicts:read", *SEE_ALL)
EVALUATE = needs("verdicts:write")
CHANGE_GRAPHS = needs("graphs:write", BuiltInRole.OPERATOR)
ATTEST = needs("review:answer", session=True)
PROVE = needs("log:read", BuiltInRole.AUDITOR, BuiltInRole.OPERATOR)
TELEMETRY_EXAMPLE = {
    "measurement_id": "stack-1-2026-01-07T12:00",
    "timestamp": "2026-01-07T12:00:00Z",
    "subject": "stack-1",
    "measurement": {"so2": {"value": 42.5, "unit": "mg/Nm3"}, "load_percent": 80},
    "jurisdiction": "EU",
}
_GRAPH_EXAMPLE = {
    "metadata": {"version": "1"},
    "rules": [{"id": "r1", "metric": "so2", "predicate": "lte", "value": 50, "unit": "mg/Nm3"}],
    "tag_registry": {"stack-1": "r1"},
}
_SEEN = "sha256:" + "ab" * 32

EVALUATE_RECORD = Change(
    "telemetry.evaluate",
    evaluate.evaluate,
    "POST /telemetry",
    dialects=("POST /api/evaluate",),
    needs=EVALUATE,
    tool="evaluate",
    example=TELEMETRY_EXAMPLE,
    uses=("judge",),
    crew="judge",
    many=evaluate.evaluate_each,
    # Some wait for their commit while others are judged.
    shares=Shares(when=evaluate.may_gather, keys=True, threads=4, most=32),
    may_repeat=True,
)
EVALUATE_LINES = Bulk(
    "telemetry.evaluate_lines",
    evaluate.evaluate_lines,
    "POST /telemetry:bulk",
    command="evaluate",
    needs=EVALUATE,
    method="evaluate_many",
    # A record is answered with whole envelopes, so fewer of them go at once.
    lines_at_once=50,
    example=TELEMETRY_EXAMPLE,
    uses=("judge",),
    crew="judge",
)
LIST_VERDICTS = Listing(
    "verdicts.list",
    read_verdicts.verdicts,
    "GET /verdicts",
    dialects=("GET /api/verdicts",),
    needs=SEE,
    command="verdict list",
    columns=shown.VERDICT_COLUMNS,
    row=shown.verdict_row,
    nothing="no verdict",
)
SHOW_VERDICT = Read("verdict.show", read_verdicts.verdict, "GET /verdicts/{sequence}", needs=SEE, is_immutable=True)
VERDICTS_OF = Read(
    "verdicts.of",
    read_verdicts.verdicts_of,
    "GET /telemetry/{telemetry_id}/verdicts",
    needs=SEE,
    tool="show_verdict",
)
EXPLAIN_VERDICT = Read(
    "verdicts.explain",
    explain_verdict.explain_verdict,
    "GET /telemetry/{telemetry_id}/explanation",
    command="verdict show",
    needs=SEE,
)
ATTEST_VERDICT = Change(
    "verdict.attest",
    attest_verdict.attest,
    "POST /tickets/{ticket_id}/attest",
    command="verdict attest",
    needs=ATTEST,
    example={"choice": "attest", "seen": _SEEN, "reason": "I compared it with the protocol"},
    shows=shown.attested_text,
)
PREPARE_ATTESTATION = Read(
    "verdict.attest.prepare",
    attest_verdict.prepare_attestation,
    "POST /tickets/{ticket_id}/attest/prepare",
    needs=needs("review:read", session=True),
    example={"key_id": "ed25519:" + "ab" * 32},
)
TICKET_VERDICT = Read(
    "ticket.verdict", attest_verdict.ticket_verdict, "GET /tickets/{ticket_id}/verdict", needs=needs("review:read")
)
EXPORT_RECEIPT = Read(
    "receipt.export",
    receipts.receipt,
    "GET /verdicts/{sequence}/receipt",
    command="receipt export",
    needs=SEE,
)
REPLAY = Listing(
    "verdicts.replay", replay_verdict.replay, "GET /replays", command="replay", needs=SEE, uses=("judge",), crew="judge"
)
REPLAY_V2 = Listing("verdicts.replay_v2", runtime_v2.replay_second_runtime, "GET /replays/v2", needs=SEE, crew="judge")

_VERDICTS: tuple[Operation, ...] = (
    EVALUATE_RECORD,
    EVALUATE_LINES,
    Change(
        "telemetry.answer",
        answer_record,
        "POST /telemetry/answers",
        needs=EVALUATE,
        example=TELEMETRY_EXAMPLE,
        uses=("judge", "answerers", "estimator"),
        crew="judge",
        by_floor=True,
    ),
    VERDICTS_OF,
    EXPLAIN_VERDICT,
    Read(
        "verdicts.prove",
        receipts.prove_verdict,
        "GET /telemetry/{telemetry_id}/proof",
        needs=PROVE,
        command="verdict prove",
        remedies={"proof.no_checkpoint": ("checkpoint.sign",)},
    ),
    LIST_VERDICTS,
    SHOW_VERDICT,
    Listing(
        "verdicts.held",
        read_verdicts.held,
        "GET /held-verdicts",
        needs=SEE,
        command="verdict hold-list",
        columns=shown.HELD_COLUMNS,
        row=shown.held_row,
        nothing="no verdict is held",
    ),
    ATTEST_VERDICT,
    PREPARE_ATTESTATION,
    TICKET_VERDICT,
    Read(
        "transcript.show",
        read_verdicts.transcript,
        "GET /transcripts/{transcript_ref}",
        needs=SEE,
        is_immutable=True,
    ),
    EXPORT_RECEIPT,
    REPLAY,
    REPLAY_V2,
    Listing(
        "telemetry.buffers",
        coverage.telemetry_buffers,
        "GET /telemetry-buffers",
        needs=SEE,
        command="telemetry show",
        columns=shown.BUFFER_COLUMNS,
        nothing="nothing is kept",
    ),
)

SHOW_ACTIVE_GRAPH = Read("graph.active", inspect_graphs.active_graph, "GET /graphs/active", needs=SEE)
GRAPH_DOCUMENT = Read("graph.document", inspect_graphs.graph_document, "GET /graphs/{graph}", needs=SEE)
SHOW_GRAPH = Read("graph.show", inspect_graphs.graph, "GET /graphs/{graph}/summary", command="graph show", needs=SEE)
LOAD_GRAPH = Change(
    "graph.load",
    change_graphs.load_graph,
    "POST /graphs",
    dialects=("POST /api/kg/load",),
    needs=CHANGE_GRAPHS,
    command="graph load",
    example=_GRAPH_EXAMPLE,
    shows=shown.loaded_text,
    notes=shown.loaded_notes,
    may_repeat=True,
)
RELEASE_GRAPH = Change(
    "graph.release",
    change_graphs.release_graph,
    "POST /graphs/{content_hash}/release",
    command="graph sign",
    needs=CHANGE_GRAPHS,
    prepared_by=("graph.release.prepare", {}),
    may_repeat=True,
)

_GRAPHS: tuple[Operation, ...] = (
    Listing(
        "graphs.list",
        inspect_graphs.graphs,
        "GET /graphs",
        needs=SEE,
        command="graph list",
        columns=shown.GRAPH_COLUMNS,
        row=shown.graph_row,
        nothing="no graph is kept",
    ),
    SHOW_ACTIVE_GRAPH,
    Listing(
        "graphs.history",
        inspect_graphs.graph_history,
        "GET /graphs/history",
        needs=SEE,
        command="graph history",
        columns=shown.HISTORY_COLUMNS,
        row=shown.history_row,
        nothing="no graph is kept",
    ),
    GRAPH_DOCUMENT,
    SHOW_GRAPH,
    Read(
        "graph.diff",
        inspect_graphs.graph_diff,
        "GET /graphs/{before}/diff/{after}",
        needs=SEE,
        command="graph diff",
    ),
    Listing(
        "graph.reviews",
        inspect_graphs.graph_reviews,
        "GET /graphs/{content_hash}/reviews",
        needs=SEE,
        command="graph reviews",
        columns=("by", "choice", "reviewed_at", "ticket_id", "note"),
        nothing="nobody has reviewed this content",
    ),
    Change(
        "graph.review",
        change_graphs.review_graph,
        "POST /graphs/reviews",
        needs=CHANGE_GRAPHS,
        command="graph review",
        example=_GRAPH_EXAMPLE,
        shows=shown.in_review_text,
    ),
    RELEASE_GRAPH,
    Read(
        "graph.release.prepare",
        change_graphs.prepare_release,
        "POST /graphs/{content_hash}/release/prepare",
        needs=CHANGE_GRAPHS,
    ),
    LOAD_GRAPH,
    Read(
        "graph.impact",
        graph_impact.graph_impact,
        "POST /graphs/impact",
        needs=SEE,
        command="graph impact",
        example=_GRAPH_EXAMPLE,
        crew="report",
        shows=shown.impact_text,
        blames=shown.impact_blame,
    ),
)

AGREEMENT = Read(
    "agreement.show",
    coverage.agreement,
    "GET /agreement",
    dialects=("GET /api/canary",),
    needs=needs("verdicts:read"),
    command="agreement",
    shows=shown.agreement_text,
    blames=lambda canary: None if canary.is_healthy else Blame.ANSWER,
)
COVERAGE = Listing(
    "coverage.list",
    coverage.coverage,
    "GET /coverage",
    needs=SEE,
    command="coverage",
    tool="coverage",
    columns=shown.COVERAGE_COLUMNS,
    nothing="every subject so far has a rule",
)
HEALTH = Read(
    "judge.health",
    sovereignty.health,
    "GET /health",
    needs=OPEN,
    dialects=("GET /api/health",),
    command="health",
    uses=("any_judge",),
    blames=no_if(lambda found: found.status != "ok"),
)
SOVEREIGNTY = Read(
    "sovereignty.show",
    sovereignty.sovereignty,
    "GET /sovereignty",
    command="sovereignty show",
    dialects=("GET /api/sovereignty",),
    needs=SIGNED_IN,
    uses=("any_judge",),
)

_NODE: tuple[Operation, ...] = (
    COVERAGE,
    AGREEMENT,
    HEALTH,
    SOVEREIGNTY,
    Read(
        "sovereignty.quote",
        sovereignty.quote_weights,
        "POST /sovereignty/quote",
        needs=needs("verdicts:read", BuiltInRole.AUDITOR, BuiltInRole.OPERATOR),
        command="sovereignty quote",
        example={"nonce": "5ca1ab1e"},
        uses=("any_judge",),
        crew="judge",
        shows=shown.quote_text,
    ),
    Read(
        "sovereignty.audit",
        examine_sovereignty.audit_measurements,
        "POST /sovereignty/audit",
        needs=needs("verdicts:read", BuiltInRole.AUDITOR, BuiltInRole.OPERATOR),
        command="sovereignty audit",
        example={"attestation_key": "-----BEGIN PUBLIC KEY-----..."},
        crew="report",
        shows=shown.audit_text,
        blames=lambda report: None if report.holds else Blame.ANSWER,
    ),
    Change(
        "sovereignty.clear",
        sovereignty.clear_egress,
        "POST /sovereignty/clear",
        needs=needs("verdicts:write", BuiltInRole.OPERATOR, session=True),
        command="sovereignty clear",
        example={"reason": "a look-up of the package index, blocked"},
        says="cleared, entry {sequence_number}",
    ),
)

OPERATIONS: tuple[Operation, ...] = (*_VERDICTS, *_GRAPHS, *_NODE)
