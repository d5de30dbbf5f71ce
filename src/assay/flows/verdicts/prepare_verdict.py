"""Everything about a verdict that costs time and needs no writer: ruling, envelope, entry, row and ticket.

judged rules -> is the agreement rate still healthy? -> one `PreparedVerdict` for each
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from msgspec import Raw

from assay.flows.review.open_review import draft_ticket
from assay.flows.review.shown_text import escape_unseen
from assay.flows.tools import Tools
from assay.flows.verdicts.graphs_in_use import UNSIGNED_NOTE
from assay.flows.verdicts.reason import Case, Judged
from assay.flows.verdicts.verdict_entry import PreparedVerdict, verdict_event
from assay.flows.verdicts.verdict_memory import VerdictMemory
from assay.identity.principal import BuiltInRole
from assay.kernel.canonical import canonical_json, canonicalize
from assay.kernel.digest import EMPTY_DIGEST, Digest
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant, render_instant
from assay.kernel.ledger import Event
from assay.review.kind import TicketKind
from assay.review.ticket import Ticket, TicketDraft
from assay.verdicts.agreement import measure_agreement
from assay.verdicts.docket import Docket
from assay.verdicts.envelope import Envelope, Verdict, VerifierStatus, attested_hash
from assay.verdicts.fastpath import pattern_of
from assay.verdicts.govern import Ruling, Standing, govern
from assay.verdicts.graph.edge import EdgeType
from assay.verdicts.graph.node import Citation, RiskTier
from assay.verdicts.predicate import Judgement
from assay.verdicts.record import draft_verdict, seal_envelope
from assay.verdicts.telemetry import Telemetry
from assay.verdicts.unit_note import unit_notes
from assay.verdicts.verify import Divergence, Verification

VERDICT_SERVICE = PrincipalId("service:verdicts")
_LONGEST_TITLE = 300
# Findings that are no disagreement: what could not be determined, and what the model left out although it is met.
_UNCHECKED = (
    f"{Divergence.UNDETERMINED}:",
    f"{Divergence.UNKNOWN_TYPE}:",
    f"{Divergence.UNASSERTED}:",
    f"{Divergence.NOT_FORMAL}:",
    f"{Divergence.PLACE_UNDECLARED}:",
    f"{Divergence.PLACE_UNKNOWN}:",
)


def draft_attestation(
    tools: Tools,
    tenant_id: TenantId,
    docket: Docket,
    telemetry: Telemetry,
    envelope: Envelope,
    verification: Verification,
    *,
    requested_by: PrincipalId,
    at: Instant,
) -> Ticket:
    """The question to people about a held verdict; not to who sent the record. A time-out decides nothing (SKI 5.4)."""
    title = f"attest {envelope.verdict} for {ascii(telemetry.subject)[1:-1]} under {ascii(docket.rule_id)[1:-1]}"
    draft = TicketDraft(
        kind=TicketKind.ATTESTATION,
        title=title[:_LONGEST_TITLE],
        shown=render_held(docket, telemetry, envelope, verification),
        eligible_roles=(BuiltInRole.REVIEWER,),
        opened_by=VERDICT_SERVICE,
        requested_by=requested_by,
        about=f"verdict:{attested_hash(envelope)}",
        due_at=Instant(at + timedelta(seconds=tools.ski.attest_seconds)),
    )
    return draft_ticket(tools, tenant_id, draft, at=at)


def render_held(docket: Docket, telemetry: Telemetry, envelope: Envelope, verification: Verification) -> str:
    """The same for the same verdict; the last line is what an attestation is about."""
    return "\n".join(_lines(docket, telemetry, envelope, verification))


def _lines(docket: Docket, telemetry: Telemetry, envelope: Envelope, verification: Verification) -> Iterator[str]:
    result, provenance = envelope.verifier_result, envelope.model_provenance
    yield "A verdict of high risk is held until a person attests or declines it."
    yield f"subject: {telemetry.subject}"
    yield f"record: {telemetry.telemetry_id} of {render_instant(telemetry.timestamp)}"
    yield f"jurisdiction: {telemetry.jurisdiction or 'none declared'}"
    if docket.part is not None:
        yield f"rule: {docket.part.rule.name or docket.rule_id} ({docket.rule_id})"
    yield f"the model says: {envelope.verdict}"
    yield f"computed from the rule itself: {verification.expected}"
    yield f"the verifier: {result.status}, {result.checked_assertions} assertions checked"
    unchecked = tuple(line for line in result.divergences if line.startswith(_UNCHECKED))
    yield from _section("what it disagrees with", tuple(line for line in result.divergences if line not in unchecked))
    yield from _section("not checked", unchecked)
    yield from _section("obligations", tuple(_obligations(docket, verification)))
    yield f"the model's reasons: {_line(envelope.reasoning) or 'none'}"
    yield f"measured: {escape_unseen(canonical_json(telemetry.document.get('measurement')))}"
    yield f"if you attest: {_consequence(envelope)}"
    yield f"if you decline: {Verdict.DISCRETIONARY}, and a person must decide the case"
    yield f"knowledge graph: {provenance.kg_version_hash}"
    yield f"model weights: {provenance.model_weight_hash}"
    yield f"envelope hash: {attested_hash(envelope)}"


def _consequence(envelope: Envelope) -> str:
    if envelope.verifier_result.status is VerifierStatus.AGREED:
        return f"{envelope.verdict} becomes final"
    return f"{Verdict.DISCRETIONARY}, since the verifier does not agree with the model"


def _section(title: str, lines: tuple[str, ...]) -> Iterator[str]:
    if lines:
        yield f"{title}:"
        yield from (f"  {line}" for line in lines)


def _obligations(docket: Docket, verification: Verification) -> Iterator[str]:
    judged = {one.obligation_id: one for one in verification.judgements}
    for check in docket.checks:
        unit = f" {check.unit}" if check.unit else ""
        window = f" over {check.window_seconds} s" if check.window_seconds is not None else ""
        demand = f"{check.metric} {check.predicate} {canonical_json(check.value)}{unit}{window}"
        name = check.obligation_id
        yield f"{name}: {demand}: {_outcome(judged.get(name))}{_sources(docket, name)}"


def _outcome(judgement: Judgement | None) -> str:
    if judgement is None:
        return "not judged"
    why = f" ({judgement.doubt})" if judgement.doubt is not None else ""
    return f"{judgement.outcome}{why}"


def _sources(docket: Docket, obligation_id: str) -> str:
    """The clauses that the obligation cites."""
    if docket.part is None:
        return ""
    cited = {e.target for e in docket.part.edges if e.type is EdgeType.CITED_BY and e.source == obligation_id}
    told = [_source(one) for one in docket.part.citations if one.id in cited]
    return f" [{'; '.join(told)}]" if told else ""


def _source(citation: Citation) -> str:
    return f"{citation.source_document}, {citation.source_clause}"


def _line(text: str) -> str:
    """A model's words on one line: they must not look like lines of ours, nor turn what is beside them around."""
    return escape_unseen(" ".join(text.split()))


AGREEMENT_DEGRADED = "agreement.degraded"
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
    ticket = _ticket(tools, case, judged, envelope, ruling)
    draft = draft_verdict(
        case.tenant_id,
        docket,
        telemetry,
        envelope,
        ruling,
        verification,
        facts=judged.facts,
        subject=case.subject,
        ticket_id=None if ticket is None else ticket.id,
        at=case.at,
        events=(verdict_event(telemetry, docket, ruling), *_alarm_events(alarm, docket)),
    )
    return PreparedVerdict(
        draft=draft,
        rule_id=docket.rule_id,
        subject=case.subject or telemetry.subject,
        status=verification.result.status,
        path=judged.path,
        ruling=ruling,
        transcript=judged.transcript,
        pattern=_find_pattern(docket, judged),
        ticket=ticket,
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
        requested_by=case.caller.principal.id,
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


def _find_pattern(docket: Docket, judged: Judged) -> Digest | None:
    if docket.tier is not RiskTier.LOW or docket.part is None:
        return None
    return pattern_of(docket, judged.verification.judgements, judged.provenance)
