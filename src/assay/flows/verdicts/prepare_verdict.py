"""Everything about a verdict that costs time and needs no writer: ruling, envelope, entry, row and ticket.

judged rules -> is the agreement rate still healthy? -> one `PreparedVerdict` for each
"""

from collections.abc import Sequence

from msgspec import Raw

from assay.flows.tools import Tools
from assay.flows.verdicts.attestation_ticket import draft_attestation
from assay.flows.verdicts.judge_record import Case, Judged
from assay.flows.verdicts.verdict_entry import PreparedVerdict, row_of, verdict_event
from assay.flows.verdicts.verdict_memory import VerdictMemory
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import EMPTY_DIGEST
from assay.kernel.ledger import Event
from assay.ports.verdict_store import StableRule
from assay.review.ticket import Ticket
from assay.verdicts.agreement import measure_agreement
from assay.verdicts.docket import Docket
from assay.verdicts.envelope import Envelope, VerifierStatus
from assay.verdicts.fastpath import pattern_of
from assay.verdicts.govern import Ruling, Standing, govern
from assay.verdicts.graph.node import RiskTier
from assay.verdicts.record import draft_verdict, seal_envelope
from assay.verdicts.telemetry import Telemetry
from assay.verdicts.unit_note import unit_notes

AGREEMENT_DEGRADED = "agreement.degraded"
UNSIGNED_NOTE = "graph.unsigned: content "
MEASURED_NOTE = "weights.measured: entry "
DISPLACED_NOTE = "jurisdiction.unknown: "
_DISAGREES = frozenset({VerifierStatus.LLM_CONTRADICTION, VerifierStatus.NEURO_SYMBOLIC_DIVERGENCE})


def prepare_verdicts(
    tools: Tools, case: Case, judged: Sequence[Judged], memory: VerdictMemory
) -> tuple[PreparedVerdict, ...]:
    """One for each rule of the record, in their order."""
    alarm = _alarm(tools, judged, memory)
    return tuple([_prepare(tools, case, one, alarm) for one in judged])


def _alarm(tools: Tools, judged: Sequence[Judged], memory: VerdictMemory) -> str | None:
    """A disagreement that leaves the agreement rate below its threshold is told with the verdict, and announced."""
    statuses = [one.verification.result.status for one in judged if one.path is None]
    if not _DISAGREES.intersection(statuses):
        return None
    canary = measure_agreement(
        [*memory.statuses(), *statuses],
        window_size=tools.ski.agreement_window,
        threshold=tools.ski.agreement_threshold,
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
        notes=(*_notes(case), *unit_notes(docket, telemetry), *([] if alarm is None else [alarm])),
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
    return PreparedVerdict(
        draft=draft,
        row=row_of(telemetry, docket, envelope, ruling, subject=case.subject, at=case.at),
        ruling=ruling,
        transcript=judged.transcript,
        stable=_stable(docket, judged),
        is_mapped=docket.is_mapped,
        ticket=_ticket(tools, case, judged, envelope, ruling),
    )


def _ticket(tools: Tools, case: Case, judged: Judged, envelope: Envelope, ruling: Ruling) -> Ticket | None:
    """The question to a person, where the verdict is held until one has answered."""
    if ruling.standing is not Standing.HELD:
        return None
    return draft_attestation(
        tools,
        case.tenant_id,
        judged.docket,
        case.telemetry,
        envelope,
        judged.verification,
        requested_by=case.principal.id,
        at=case.at,
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
