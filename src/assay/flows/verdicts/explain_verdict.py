"""A verdict in the words of its rule: what was asked, what was measured, where it stands written, what followed.

entries of a record -> the graph they name -> each obligation with its limit, observation, outcome and clauses
Everything comes from the entry and the graph of its hash; a held verdict is told without what it came to.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from assay.flows.errors import NotFoundError
from assay.flows.request import Option
from assay.flows.tools import Tools
from assay.flows.verdicts.graphs_in_use import JudgedGraphs, judged_content
from assay.flows.verdicts.read_verdicts import Decided, RuleVerdict, ShowRecord, find_transcript, show_verdict
from assay.flows.verdicts.verdict_entry import ReadBody, V2Body, read_entry
from assay.identity.caller import Caller
from assay.kernel.digest import Digest, digest_of
from assay.kernel.entry import parse_entry
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind
from assay.kernel.read_back import read_back
from assay.kernel.transcript import Transcript
from assay.ports.damage import DamagedRecordError
from assay.ports.ledger_store import StoredEntry
from assay.verdicts.comparison import PlainOperand, shown_fraction
from assay.verdicts.docket import Docket
from assay.verdicts.govern import Ruling, Standing
from assay.verdicts.graph.edge import EdgeType
from assay.verdicts.graph.node import Citation
from assay.verdicts.predicate import Check, Doubt, Judgement, Outcome, converted_value
from assay.verdicts.rulings import Rulings
from assay.verdicts.slice import RuleSlice, slice_graph
from assay.verdicts.telemetry import Scalar, Telemetry, find_reading, parse_telemetry
from assay.verdicts.window_fact import WindowFact, WindowKind
from assay.verdicts.window_plan import WindowPlan

_OWN_UNIT = frozenset({WindowKind.AGE, WindowKind.RUN, WindowKind.COUNT})


class Clause(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a requirement stands written."""

    source_document: str
    source_clause: str
    url: str | None = None


class ExplainedNode(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A definition, exemption, precedent or jurisdiction that the rule's slice held, with its own words."""

    node_id: str
    text: str
    clauses: tuple[Clause, ...] = ()


class ExplainedObligation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One obligation against one record.

    `observed` is what the record says, or what the window came to; None where it says nothing. Of a window, predicate
    and limit are those of the number it comes to, which for AGE and RUN is in seconds. `outcome` is the verifier's own,
    and None while the verdict is held.
    """

    obligation_id: str
    summary: str | None
    metric: str
    predicate: str
    limit: PlainOperand
    unit: str | None
    window_seconds: int | float | None
    window_kind: WindowKind | None
    observed: Scalar
    observed_unit: str | None
    converted: Scalar = None
    outcome: Outcome | None
    doubt: Doubt | None
    exemption_id: str | None
    clauses: tuple[Clause, ...]


class ExplainedRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule's verdict on a record; without obligations where none applies, or the graph is not kept any more."""

    rule_id: str
    rule_name: str | None
    sequence_number: int
    is_graph_kept: bool
    obligations: tuple[ExplainedObligation, ...] = ()
    considered: tuple[ExplainedNode, ...] = ()
    window_facts: tuple[WindowFact, ...] = ()
    ruling: Ruling | None = None


class _Read(Struct, frozen=True, kw_only=True):
    """What an entry of either runtime says that an explanation needs."""

    telemetry: Mapping[str, Any]
    content_hash: Digest | None
    judgements: tuple[Judgement, ...]
    window_facts: tuple[WindowFact, ...]
    ruling: Ruling | None
    rulings: Rulings = Rulings.FIRST


class ExplainVerdict(ShowRecord, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rule_id: Annotated[str | None, Meta(description="Of this rule alone."), Option(flag="--rule", metavar="ID")] = None


class ShownVerdict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`transcripts` are what a model was asked and answered, by their id; none of a held verdict."""

    decided: Decided
    explained: tuple[ExplainedRule, ...]
    transcripts: dict[str, Transcript]


def explain_verdict(tools: Tools, caller: Caller, request: ExplainVerdict) -> ShownVerdict:
    """Explain the verdicts on a record: obligations and clauses, model, verifier, governor, provenance.

    A held verdict is not shown, only its ticket.
    """
    tenant_id = caller.tenant_id
    decided = show_verdict(tools, tenant_id, request.telemetry_id)
    if request.rule_id is not None:
        kept = tuple(one for one in decided.verdicts if one.rule_id == request.rule_id)
        if not kept:
            raise NotFoundError(
                f"expected a rule that judged `{decided.telemetry_id[:80]}`, got `{request.rule_id[:80]}`"
            )
        decided = replace(decided, verdicts=kept)
    refs = {one.envelope.transcript_ref for one in decided.verdicts if one.envelope is not None}
    return ShownVerdict(
        decided=decided,
        explained=VerdictExplainer(tools, tenant_id).explain(decided),
        transcripts={ref: find_transcript(tools, tenant_id, ref) for ref in sorted(refs)},
    )


class VerdictExplainer:
    """Explains any number of records of a tenant; each graph is opened once."""

    def __init__(self, tools: Tools, tenant_id: TenantId) -> None:
        self._tools = tools
        self._tenant_id = tenant_id
        self._graphs = JudgedGraphs(tools, tenant_id, in_use=tools.graphs)

    def explain(self, decided: Decided) -> tuple[ExplainedRule, ...]:
        """One for each verdict, in their order."""
        numbers = [one.sequence_number for one in decided.verdicts]
        rows = self._tools.database.read(
            lambda unit: [unit.ledger.find_entry(self._tenant_id, number) for number in numbers]
        )
        return tuple(
            self._explained(one, _read_row(row, one.sequence_number))
            for one, row in zip(decided.verdicts, rows, strict=True)
        )

    def _explained(self, verdict: RuleVerdict, read: _Read) -> ExplainedRule:
        telemetry = parse_telemetry(read.telemetry)
        docket, is_kept = self._docket(read, telemetry, verdict.rule_id)
        is_held = verdict.standing is Standing.HELD
        part = None if docket is None else docket.part
        return ExplainedRule(
            rule_id=verdict.rule_id,
            rule_name=None if part is None else part.rule.name,
            sequence_number=verdict.sequence_number,
            is_graph_kept=is_kept,
            obligations=() if docket is None else tuple(_obligations(docket, telemetry, read, is_held=is_held)),
            considered=() if part is None else tuple(_considered(part)),
            window_facts=read.window_facts,
            ruling=None if is_held else read.ruling,
        )

    def _docket(self, read: _Read, telemetry: Telemetry, rule_id: str) -> tuple[Docket | None, bool]:
        graph = self._graphs.find(read.content_hash)
        if graph is None:
            return None, False
        graph = graph.under(read.rulings)
        found = slice_graph(
            graph.index, telemetry.subject, as_of=telemetry.timestamp, jurisdiction=telemetry.jurisdiction
        )
        return next((one for one in graph.dockets_of(found) if one.rule_id == rule_id), None), True


def _read_row(row: StoredEntry | None, number: int) -> _Read:
    if row is None:
        raise NotFoundError(f"expected a verdict in entry {number}, got no entry")
    if digest_of(row.text) != row.entry_hash:
        raise DamagedRecordError(f"expected entry {number} to hash to {row.entry_hash}, got another text")
    return _read_v2(row.text, number) if row.kind == EntryKind.VERDICT_V2 else _read_v3(row.text)


def _read_v3(text: bytes) -> _Read:
    read = read_entry(text)
    body: ReadBody = read.body
    return _Read(
        telemetry=body.telemetry,
        content_hash=judged_content(read.envelope),
        judgements=body.judgements,
        window_facts=body.window_facts,
        ruling=body.ruling,
        rulings=body.judged_by,
    )


def _read_v2(text: bytes, number: int) -> _Read:
    try:
        body = read_back(parse_entry(text).body, V2Body)
    except (Error, msgspec.MsgspecError) as error:
        raise DamagedRecordError(f"expected a verdict in entry {number}: {error}") from error
    return _Read(
        telemetry=body.telemetry,
        content_hash=body.content_hash,
        judgements=body.judgements,
        window_facts=body.window_facts,
        ruling=None,
    )


def _obligations(docket: Docket, telemetry: Telemetry, read: _Read, *, is_held: bool) -> Iterator[ExplainedObligation]:
    judged = {} if is_held else {one.obligation_id: one for one in read.judgements}
    facts = {one.obligation_id: one for one in read.window_facts}
    part = docket.part
    summaries: dict[str, str | None] = {} if part is None else {str(one.id): one.summary for one in part.obligations}
    for check in docket.checks:
        name, plan = check.obligation_id, check.plan
        judgement = judged.get(name)
        observed, unit = _observed(check, telemetry, facts.get(name))
        yield ExplainedObligation(
            obligation_id=name,
            summary=summaries.get(name),
            metric=check.metric,
            predicate=check.predicate if plan is None else plan.demand,
            limit=check.value if plan is None else plan.operand,
            unit=check.unit if plan is None else _unit(plan),
            window_seconds=check.window_seconds if plan is None else plan.seconds,
            window_kind=None if plan is None else plan.kind,
            observed=observed,
            observed_unit=unit,
            converted=_converted(check, telemetry),
            outcome=None if judgement is None else judgement.outcome,
            doubt=None if judgement is None else judgement.doubt,
            exemption_id=None if judgement is None else judgement.exemption_id,
            clauses=_clauses(part, name),
        )


def _observed(check: Check, telemetry: Telemetry, fact: WindowFact | None) -> tuple[Scalar, str | None]:
    """What was observed, in the record's own unit; of a window, the number that decided."""
    if fact is not None:
        return fact.shown, None if check.plan is None else _unit(check.plan)
    reading = find_reading(telemetry.readings, check.metric)
    return (None, None) if reading is None else (reading.value, reading.unit)


def _converted(check: Check, telemetry: Telemetry) -> Scalar:
    """The same number in the obligation's unit, where the graph declares how."""
    reading = find_reading(telemetry.readings, check.metric) if check.conversions else None
    exact = None if reading is None else converted_value(check, reading)
    return None if exact is None else shown_fraction(exact)


def _unit(plan: WindowPlan) -> str | None:
    """The unit of a window's number: seconds and counts are not in the unit of what is measured."""
    return None if plan.kind in _OWN_UNIT else plan.unit


def _clauses(part: RuleSlice | None, node_id: str) -> tuple[Clause, ...]:
    if part is None:
        return ()
    cited = {edge.target for edge in part.edges if edge.type is EdgeType.CITED_BY and edge.source == node_id}
    return tuple(_clause(one) for one in part.citations if one.id in cited)


def _clause(citation: Citation) -> Clause:
    return Clause(source_document=citation.source_document, source_clause=citation.source_clause, url=citation.url)


def _considered(part: RuleSlice) -> Iterator[ExplainedNode]:
    texts = [(one.id, f"{one.term}: {one.definition_text}") for one in part.definitions]
    texts += [(one.id, one.description or one.condition) for one in part.exemptions]
    texts += [(one.id, one.summary) for one in part.precedents]
    texts += [(one.id, one.name or one.id) for one in part.jurisdictions]
    return (ExplainedNode(node_id=name, text=text, clauses=_clauses(part, name)) for name, text in texts)
