"""Telemetry in, a verdict out (SKI 2.2): always all five steps, always in this order, durable before it is returned.

1 ingest -> 2 retrieve the slice -> 3 ask the model -> 4 verify and govern -> 5 record, one entry for each rule
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace

import msgspec
from msgspec import Raw

from assay.flows.active_graph import get_activation, ready_graph
from assay.flows.admit_principal import admit_principal
from assay.flows.attest_sovereignty import get_reasoner, require_sovereign
from assay.flows.attestation_ticket import draft_attestation
from assay.flows.errors import OtherRuntimeError, SubstitutedWeightsError
from assay.flows.judge_record import Case, Judged, Memory, judge_record
from assay.flows.measure_weights import measure_weights
from assay.flows.new_verdict import newly_decided
from assay.flows.note_egress import note_egress, require_cleared, require_no_egress
from assay.flows.read_verdict import Decided, decided_of
from assay.flows.tools import Tools
from assay.flows.verdict_entry import (
    PreparedVerdict,
    add_verdicts,
    buffered_text,
    is_still_stable,
    note_record,
    row_of,
    stability_of,
    verdict_event,
)
from assay.flows.verdict_row import find_known_record
from assay.flows.vouch_buffer import vouch_buffer
from assay.identity.authorise import require_same_tenant
from assay.identity.principal import Principal
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import EMPTY_DIGEST, Digest
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, instant_before
from assay.kernel.ledger import Event, Receipt
from assay.ports.database import Unit
from assay.ports.reasoner import ReasonerIdentity
from assay.ports.verdict_store import StableRule
from assay.verdicts.agreement import measure_agreement
from assay.verdicts.docket import Docket
from assay.verdicts.envelope import VerifierStatus
from assay.verdicts.fastpath import pattern_of
from assay.verdicts.govern import Standing, govern
from assay.verdicts.graph.node import RiskTier
from assay.verdicts.record import draft_verdict, seal_envelope
from assay.verdicts.telemetry import Telemetry, check_skew, is_repeat, parse_telemetry
from assay.verdicts.window import BufferedRecord, WindowKind

__all__ = [
    "AGREEMENT_DEGRADED",
    "DISPLACED_NOTE",
    "MEASURED_NOTE",
    "UNSIGNED_NOTE",
    "decide_verdict",
    "ingest_record",
    "remember",
    "require_runtime",
]

AGREEMENT_DEGRADED = "agreement.degraded"
UNSIGNED_NOTE = "graph.unsigned: content "
MEASURED_NOTE = "weights.measured: entry "
DISPLACED_NOTE = "jurisdiction.unknown: "
_DISAGREES = frozenset({VerifierStatus.LLM_CONTRADICTION, VerifierStatus.NEURO_SYMBOLIC_DIVERGENCE})
# These look back until they find something, however long ago.
_UNBOUNDED = frozenset({WindowKind.AGE, WindowKind.RUN})


def decide_verdict(tools: Tools, given: bytes | str | Mapping[str, object], *, credential: str, at: Instant) -> Decided:
    """The verdicts of one record; the same record again is answered with what is recorded.

    Refused are a record that is not well formed or too far from our clock, another under a known id, a node without
    a graph or a model, weights that are not those that were named, and any attempt to leave the perimeter. A model
    that does not answer is DISCRETIONARY, with the reason on record.
    """
    require_runtime(tools, is_v2=False)
    # 1. Telemetry ingestion.
    telemetry = parse_telemetry(given)
    principal, document_hash = tools.database.read(lambda unit: ingest_record(unit, tools, telemetry, credential, at))
    if document_hash is None:
        return _recorded(tools, principal.tenant_id, telemetry)
    try:
        return _decide(tools, principal, telemetry, document_hash, at)
    finally:
        # Also where it was refused for just that: an attempt is on record before anybody is told.
        note_egress(tools, principal.tenant_id, at=at)


def _decide(tools: Tools, principal: Principal, telemetry: Telemetry, document_hash: Digest, at: Instant) -> Decided:
    case = _open_case(tools, principal, telemetry, document_hash, at)
    with _watched(tools):
        # 2. KG retrieval.
        found, dockets = case.graph.dockets.find(
            telemetry.subject, as_of=telemetry.timestamp, jurisdiction=telemetry.jurisdiction
        )
    case = replace(case, subject=found.subject_id, is_displaced=found.is_displaced)
    with _turn(tools, case):
        memory = remember(tools, case.tenant_id, case.subject, telemetry.timestamp, dockets)
        decided = _judge(tools, case, dockets, memory) or _judge(tools, case, dockets, replace(memory, stable={}))
    return decided or _recorded(tools, case.tenant_id, telemetry)


def _judge(tools: Tools, case: Case, dockets: tuple[Docket, ...], memory: Memory) -> Decided | None:
    """What is on record now; None where a rule was not stable any more, and its model must be asked."""
    # 3. KG-grounded LLM evaluation, and 4. symbolic verification, for each rule.
    with _watched(tools):
        judged = judge_record(tools, case, dockets, memory)
    require_no_egress(tools)
    # 5. Audit ledger write: all rules of the record in one commit, and nothing is said before it is durable.
    alarm = _alarm(tools, case, judged)
    prepared = tuple(_prepare(tools, case, one, alarm) for one in judged)
    receipts = tools.database.write(lambda unit: _record(unit, tools, case, prepared))
    if not receipts:
        return None if receipts is None else _recorded(tools, case.tenant_id, case.telemetry)
    if case.graph.looks_back(case.subject):
        # Row and entry were written here, in one commit: the next window need not compare them.
        tools.vouched.add(case.tenant_id, [buffered_text(case.telemetry, case.subject)])
    return newly_decided(case.telemetry, prepared, receipts)


def require_runtime(tools: Tools, *, is_v2: bool) -> None:
    if tools.ski.is_v2 is not is_v2:
        raise OtherRuntimeError(f"expected the runtime {'v2' if is_v2 else 'v3'} to be selected, got the other one")


def _watched(tools: Tools) -> AbstractContextManager[None]:
    return nullcontext() if tools.guard is None else tools.guard.watching()


def ingest_record(
    unit: Unit, tools: Tools, telemetry: Telemetry, credential: str, at: Instant
) -> tuple[Principal, Digest | None]:
    """Who sends it, and by which graph it is judged; None where it has its verdicts already."""
    principal = admit_principal(unit, credential, at=at)
    if telemetry.tenant_id is not None:
        require_same_tenant(principal, telemetry.tenant_id)
    if _is_known(unit, principal.tenant_id, telemetry):
        return principal, None
    require_cleared(unit, tools)
    check_skew(telemetry, at, tools.ski.skew)
    return principal, get_activation(unit, principal.tenant_id).document_hash


def _open_case(tools: Tools, principal: Principal, telemetry: Telemetry, document_hash: Digest, at: Instant) -> Case:
    with _watched(tools):
        identity = get_reasoner(tools).identify()
    require_sovereign(tools, identity)
    weights = _named_weights(identity)
    measured = measure_weights(tools, principal.tenant_id, weights, at=at)
    return Case(
        principal=principal,
        telemetry=telemetry,
        subject=telemetry.subject,
        graph=ready_graph(tools, principal.tenant_id, document_hash),
        identity=identity,
        weight_hash=weights,
        at=at,
        measured_in=None if measured is None else measured.entry_hash,
    )


def _named_weights(identity: ReasonerIdentity) -> Digest:
    if identity.model_weight_hash is None:
        raise SubstitutedWeightsError(f"expected `{identity.backend_name}` to name its weights, got none")
    return identity.model_weight_hash


def _is_known(unit: Unit, tenant_id: TenantId, telemetry: Telemetry) -> bool:
    known = find_known_record(unit, tenant_id, telemetry.telemetry_id)
    return is_repeat(telemetry, None if known is None else known.telemetry_hash)


@contextmanager
def _turn(tools: Tools, case: Case) -> Iterator[None]:
    """Where a rule looks back, a subject's records are judged one after the other: each sees those before it.

    Also one that no such rule applies to, in its jurisdiction or at its time: the others look back at it.
    """
    if not case.graph.looks_back(case.subject):
        yield
        return
    with tools.subjects.hold(case.tenant_id, case.subject):
        yield


def remember(tools: Tools, tenant_id: TenantId, subject: str, as_of: Instant, dockets: tuple[Docket, ...]) -> Memory:
    """Only what these rules need: earlier records where one looks back, counts where the fast path is open.

    `subject` is its id in the graph: one that a record names otherwise has the same past.
    """
    plans = [plan for docket in dockets for plan in docket.plans]
    low = [docket.rule_id for docket in dockets if docket.tier is RiskTier.LOW and tools.ski.fast_path_n > 0]
    if not plans and not low:
        return Memory(stable={})
    reach = [None if plan.kind in _UNBOUNDED else plan.seconds for plan in plans]
    since = None if None in reach else max((float(one) for one in reach if one is not None), default=0.0)

    def look(unit: Unit) -> Memory:
        known = [unit.verdicts.find_stability(tenant_id, rule_id) for rule_id in low]
        stable = {one.rule_id: stability_of(one) for one in known if one is not None}
        if not plans:
            return Memory(stable=stable)
        start = None if since is None else instant_before(as_of, since)
        rows = unit.telemetry.buffered(tenant_id, subject, since=start, until=as_of)
        vouch_buffer(unit, tools, tenant_id, rows)
        return Memory(
            earlier=tuple(msgspec.json.decode(row.text, type=BufferedRecord) for row in rows),
            dropped_until=unit.telemetry.dropped_until(tenant_id, subject),
            stable=stable,
        )

    return tools.database.read(look)


def _alarm(tools: Tools, case: Case, judged: Sequence[Judged]) -> str | None:
    """A disagreement that leaves the agreement rate below its threshold is told with the verdict, and announced."""
    statuses = [one.verification.result.status for one in judged if one.path is None]
    if not _DISAGREES.intersection(statuses):
        return None
    window = tools.ski.agreement_window
    before = tools.database.read(lambda unit: unit.verdicts.statuses(case.tenant_id, window))
    canary = measure_agreement(
        [*map(VerifierStatus, before), *statuses], window_size=window, threshold=tools.ski.agreement_threshold
    )
    if canary.is_healthy:
        return None
    return (
        f"{AGREEMENT_DEGRADED}: {canary.agreement_rate} of the latest {canary.observed}, not above {canary.threshold}"
    )


def _prepare(tools: Tools, case: Case, judged: Judged, alarm: str | None) -> PreparedVerdict:
    docket, telemetry, verification = judged.docket, case.telemetry, judged.verification
    ruling = govern(judged.answer.verdict, verification.result.status, docket.tier)
    envelope = seal_envelope(
        docket,
        judged.answer,
        verification,
        ruling,
        provenance=judged.provenance,
        transcript_ref=judged.transcript.transcript_id,
        notes=(*_notes(case), *([] if alarm is None else [alarm])),
        path=judged.path,
    )
    draft = draft_verdict(
        case.tenant_id,
        docket,
        telemetry,
        envelope,
        ruling,
        verification,
        facts=judged.facts,
        subject=case.subject,
        at=case.at,
        events=(verdict_event(telemetry, docket, ruling), *_alarm_events(alarm, docket)),
    )
    ticket = None
    if ruling.standing is Standing.HELD:
        asker = case.principal.id
        ticket = draft_attestation(
            tools, case.tenant_id, docket, telemetry, envelope, verification, requested_by=asker, at=case.at
        )
    return PreparedVerdict(
        draft=draft,
        row=row_of(telemetry, docket, envelope, ruling, subject=case.subject, at=case.at),
        ruling=ruling,
        transcript=judged.transcript,
        stable=_stable(docket, judged),
        is_mapped=docket.is_mapped,
        ticket=ticket,
    )


def _alarm_events(alarm: str | None, docket: Docket) -> tuple[Event, ...]:
    if alarm is None:
        return ()
    return (Event(type=AGREEMENT_DEGRADED, subject=docket.rule_id or "none", body=Raw(canonicalize({"told": alarm}))),)


def _notes(case: Case) -> tuple[str, ...]:
    """An unsigned graph is recorded as the empty hash (SKI 3.5); which one it was is said here, for a replay.

    Where a TPM vouches for the weights, its word is in the entry that is named here (SKI 9.3). A jurisdiction that the
    graph does not know leaves every scoped obligation out (SKI 3.4): whoever reads CLEAR must be told.
    """
    opened = case.graph.opened
    unsigned = (f"{UNSIGNED_NOTE}{opened.content_hash}",) if opened.kg_version_hash == EMPTY_DIGEST else ()
    measured = () if case.measured_in is None else (f"{MEASURED_NOTE}{case.measured_in}",)
    return (*unsigned, *measured, *([_displaced(case.telemetry)] if case.is_displaced else []))


def _displaced(telemetry: Telemetry) -> str:
    named = ascii(telemetry.jurisdiction)[1:-1][:80]
    return f"{DISPLACED_NOTE}`{named}` is not in the graph, so only obligations without a scope were applied"


def _stable(docket: Docket, judged: Judged) -> StableRule | None:
    if docket.tier is not RiskTier.LOW or docket.part is None:
        return None
    pattern = pattern_of(docket, judged.verification.judgements, judged.provenance)
    return StableRule(rule_id=docket.rule_id, pattern=pattern, count=0)


def _record(unit: Unit, tools: Tools, case: Case, prepared: tuple[PreparedVerdict, ...]) -> tuple[Receipt, ...] | None:
    """Empty where somebody else recorded the same record meanwhile: then this judgement was in vain."""
    if _is_known(unit, case.tenant_id, case.telemetry):
        return ()
    if not all(is_still_stable(unit, case.tenant_id, one) for one in prepared):
        return None
    receipts = add_verdicts(unit, case.tenant_id, prepared)
    note_record(
        unit,
        case.tenant_id,
        case.telemetry,
        subject=case.subject,
        first=receipts[0].sequence_number,
        keep_seconds=tools.ski.keep_seconds,
        is_mapped=prepared[0].is_mapped,
        at=case.at,
    )
    return receipts


def _recorded(tools: Tools, tenant_id: TenantId, telemetry: Telemetry) -> Decided:
    """Somebody's earlier verdicts, read back from the ledger."""
    return tools.database.read(lambda unit: decided_of(unit, tenant_id, telemetry.telemetry_id))
