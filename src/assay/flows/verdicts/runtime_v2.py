"""The runtime of SKI 2 (SKI 11.4): rules judged symbolically, no model, entries of schema 2.1.0, a replay of its own.

record -> slice -> every obligation judged -> `verdict.v2`;   entry -> judged again by its graph -> the same or not
It is kept beside version 3 for one minor version, and only runs where the operator selected it.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Annotated

from msgspec import Meta, Raw, Struct

from assay.flows.identity.authenticate import confirm
from assay.flows.request import Option, Page, Paged, cut, read_number
from assay.flows.tools import Tools
from assay.flows.verdicts.graphs_in_use import ready_graph, stored_document
from assay.flows.verdicts.intake import Arrival, Given, intake_records
from assay.flows.verdicts.read_verdicts import Decided, decided_of
from assay.flows.verdicts.shelves import GraphShelf, ReadyGraph
from assay.flows.verdicts.verdict_entry import V2Body, drop_old, read_v2_entry
from assay.flows.verdicts.verdict_memory import Place, VerdictMemory, ends_with
from assay.identity.caller import Caller
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import digest_of
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, Event, draft_entry
from assay.ports.database import Unit
from assay.verdicts.docket import Docket
from assay.verdicts.envelope import Verdict, plain_record
from assay.verdicts.graph.open import SovereigntyMode, open_graph
from assay.verdicts.rulings import Rulings
from assay.verdicts.slice import Slice, slice_graph
from assay.verdicts.telemetry import Telemetry, is_repeat, parse_telemetry
from assay.verdicts.verify import expected_verdict, judge_all
from assay.verdicts.window import window_facts
from assay.verdicts.window_fact import WindowFact


class V2Replay(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry judged again; None where its graph is not there any more."""

    sequence_number: int
    is_match: bool | None
    detail: str = ""


def judge_v2(tools: Tools, caller: Caller, given: Given) -> Decided | Error:
    """Judge one record without a model: what the rules come to is the verdict, whatever the tier."""
    try:
        return _judge(tools, caller, given)
    except Error as refusal:
        return refusal


def _judge(tools: Tools, caller: Caller, given: Given) -> Decided:
    telemetry, tenant_id, at = parse_telemetry(given), caller.tenant_id, caller.at
    arrival = Arrival(telemetry, caller, None)
    intake = tools.database.read(lambda unit: intake_records(unit, tools, tenant_id, [arrival]))
    [finding] = intake.findings
    if isinstance(finding, Error):
        raise finding
    if isinstance(finding, Decided) or intake.document_hash is None:
        return tools.database.read(lambda unit: decided_of(unit, tenant_id, telemetry.telemetry_id))
    graph = ready_graph(tools, tenant_id, intake.document_hash).under(Rulings.FIRST)
    found = _slice(graph, telemetry)
    subject, dockets = found.subject_id, graph.dockets_of(found)
    with tools.subjects.hold(tenant_id, [subject]):
        place = Place(subject, telemetry, dockets, looks_back=True)
        memory = VerdictMemory.load(tools, tenant_id, [place], may_be_fast=False).of(place)
        drafts = [
            _draft(
                tenant_id,
                graph,
                docket,
                telemetry,
                subject,
                window_facts(docket.plans, telemetry, memory.earlier, dropped_until=memory.dropped_until),
                at,
            )
            for docket in dockets
        ]
        is_new = tools.database.write(lambda unit: _record(unit, tools, caller, telemetry, subject, drafts))
    return tools.database.read(lambda unit: decided_of(unit, tenant_id, telemetry.telemetry_id, is_new=is_new))


class ReplayV2(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    first: Annotated[int, Meta(ge=1, description="From this entry on."), Option(flag="--from", metavar="SEQ")] = 1
    last: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="Up to this entry."), Option(flag="--to", metavar="SEQ")
    ] = None


def replay_second_runtime(tools: Tools, caller: Caller, request: ReplayV2) -> Page[V2Replay]:
    """Judge the entries of runtime 2 again, by the graph that each names (SKI 11.4): no model, no steps."""
    first = max(request.first, read_number("replay_v2", request.cursor) + 1)
    found = list(islice(replay_v2(tools, caller.tenant_id, first=first, last=request.last), request.limit + 1))
    return cut("replay_v2", found, request.limit, lambda one: one.sequence_number)


def replay_v2(tools: Tools, tenant_id: TenantId, *, first: int = 1, last: int | None = None) -> Iterator[V2Replay]:
    """Every `verdict.v2` entry of the range, judged again by the graph it names."""
    rows = tools.database.read(
        lambda unit: [
            row for row in unit.ledger.entries(tenant_id, first=first, last=last) if row.kind == EntryKind.VERDICT_V2
        ]
    )
    shelf = GraphShelf()
    for row in rows:
        if digest_of(row.text) != row.entry_hash:
            yield V2Replay(sequence_number=row.sequence_number, is_match=False, detail="the entry was changed")
            continue
        yield _replayed(tools, tenant_id, row.sequence_number, row.text, shelf)


def _slice(graph: ReadyGraph, telemetry: Telemetry) -> Slice:
    return slice_graph(graph.index, telemetry.subject, as_of=telemetry.timestamp, jurisdiction=telemetry.jurisdiction)


def _draft(
    tenant_id: TenantId,
    graph: ReadyGraph,
    docket: Docket,
    telemetry: Telemetry,
    subject: str,
    facts: Mapping[str, WindowFact],
    at: Instant,
) -> Draft:
    judgements = judge_all(docket, telemetry, facts)
    verdict = expected_verdict(judgements, is_mapped=docket.is_mapped)
    body = V2Body(
        telemetry=telemetry.document,
        telemetry_id=telemetry.telemetry_id,
        telemetry_hash=telemetry.telemetry_hash,
        subject=subject,
        rule_id=docket.rule_id,
        content_hash=graph.opened.content_hash,
        kg_version_hash=graph.opened.kg_version_hash,
        verdict=verdict,
        judgements=judgements,
        window_facts=tuple(facts[name] for name in sorted(facts)),
        tier=docket.tier,
    )
    news = {"telemetry_id": body.telemetry_id, "rule_id": body.rule_id, "verdict": verdict.value}
    event = Event(type=EntryKind.VERDICT_V2.value, subject=body.telemetry_id, body=Raw(canonicalize(news)))
    return draft_entry(tenant_id, EntryKind.VERDICT_V2, plain_record(body), at=at, events=(event,))


def _record(
    unit: Unit, tools: Tools, caller: Caller, telemetry: Telemetry, subject: str, drafts: Sequence[Draft]
) -> bool:
    tenant_id, keep_seconds = confirm(unit, caller).tenant_id, tools.ski.keep_seconds
    known = unit.telemetry.find_known(tenant_id, telemetry.telemetry_id)
    if is_repeat(telemetry, None if known is None else known.telemetry_hash):
        return False
    ends = unit.telemetry.find_ends(tenant_id, [subject])[subject]
    for draft in drafts:
        unit.record(draft)
    if ends_with(ends, telemetry.timestamp, keep_seconds)[1]:
        drop_old(unit, tenant_id, subject, keep_seconds, arrived=telemetry.timestamp, at=caller.at)
    return True


def _replayed(tools: Tools, tenant_id: TenantId, number: int, text: bytes, shelf: GraphShelf) -> V2Replay:
    try:
        _, body = read_v2_entry(text)
        version = tools.database.read(lambda unit: unit.graphs.find_content(tenant_id, body.content_hash))
        if version is None:
            return V2Replay(sequence_number=number, is_match=None, detail="its graph is not kept")
        document = stored_document(version)
        graph = shelf.get(
            tenant_id,
            version.document_hash,
            lambda: open_graph(document, tools.anchors, mode=SovereigntyMode.ADVISORY),
        ).under(Rulings.FIRST)
        again = _judged_again(graph, body)
    except Error as error:
        return V2Replay(sequence_number=number, is_match=False, detail=str(error)[:200])
    detail = "" if again is body.verdict else f"expected {again or 'no such rule'}, got {body.verdict}"
    return V2Replay(sequence_number=number, is_match=again is body.verdict, detail=detail)


def _judged_again(graph: ReadyGraph, body: V2Body) -> Verdict | None:
    telemetry = parse_telemetry(body.telemetry)
    docket = next((one for one in graph.dockets_of(_slice(graph, telemetry)) if one.rule_id == body.rule_id), None)
    if docket is None or telemetry.telemetry_hash != body.telemetry_hash:
        return None
    facts = {fact.obligation_id: fact for fact in body.window_facts}
    return expected_verdict(judge_all(docket, telemetry, facts), is_mapped=docket.is_mapped)
