"""Telemetry in, verdicts out (SKI 2.2): always all five steps, always in this order, durable before they are told.

1 ingest -> 2 retrieve the slices -> 3 ask the model -> 4 verify and govern -> 5 record, one entry for each rule

Records that are there together go their way in rounds: one look at the database, each judged on its own and in order,
one unit of work. What a record may know is what it would know if those before it were on record already. Whatever is
odd about a record ends the round before it, so that it and those after it are looked at anew.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import NamedTuple

from assay.flows.errors.verdicts import SubstitutedWeightsError
from assay.flows.request_mark import RequestMark
from assay.flows.tools import Tools
from assay.flows.traced_database import trace_of
from assay.flows.verdicts.graphs_in_use import ready_graph
from assay.flows.verdicts.ingest_record import Arrival, Fresh, Ingested, Known, ingest_records, require_runtime
from assay.flows.verdicts.judge_record import Case, Question, Told, ask_ahead, judge_record, question_record
from assay.flows.verdicts.prepare_verdict import prepare_verdicts
from assay.flows.verdicts.read_verdicts import Decided, decided_of
from assay.flows.verdicts.record_verdicts import JudgedCase, newly_decided, record_verdicts
from assay.flows.verdicts.shelves import ReadyGraph
from assay.flows.verdicts.sovereignty import (
    get_reasoner,
    measure_weights,
    note_egress,
    require_no_egress,
    require_sovereign,
)
from assay.flows.verdicts.verdict_entry import buffered_text
from assay.flows.verdicts.verdict_memory import Place, VerdictMemory
from assay.kernel.digest import Digest
from assay.kernel.errors import Error
from assay.kernel.instant import Instant
from assay.kernel.trace import TraceId
from assay.ports.reasoner import ReasonerIdentity
from assay.verdicts.telemetry import parse_telemetry


class Asked(NamedTuple):
    """A record as it was given, when, and by which credential; with the mark of its request where that has a key.

    `trace` is the trace id of its request, where several callers share the tools.
    """

    given: bytes | str | Mapping[str, object]
    at: Instant
    credential: str
    mark: RequestMark | None = None
    trace: TraceId | None = None


def decide_many(tools: Tools, asked: Iterable[Asked]) -> Iterator[Decided | Error]:
    """For each record its verdicts or its refusal; in order, and when they are durable.

    All who send them are of one tenant: that of the first whose credential is good. Whoever stops asking leaves nothing
    half done: what was begun is recorded or not, the rest was not begun.
    """
    require_runtime(tools, is_v2=False)
    trace = trace_of(tools.database)
    arrivals = [_arrive(one, one.trace or trace) for one in asked]
    done, is_together, may_be_fast = 0, True, True
    while done < len(arrivals):
        some = _first_of_each_id(arrivals[done:]) if is_together else arrivals[done : done + 1]
        answers = _decide_round(tools, some, may_be_fast=may_be_fast)
        yield from answers
        done += len(answers)
        # Where a round could answer nobody, its first record is judged alone, and all after it one by one. Where even
        # that was in vain, the fast path was in doubt: the record is judged once more, and the model is asked.
        may_be_fast = bool(answers) or is_together
        is_together = is_together and bool(answers)


def _arrive(asked: Asked, trace: TraceId | None) -> Arrival | Error:
    # 1. Telemetry ingestion begins: what the text alone can tell.
    try:
        return Arrival(parse_telemetry(asked.given), asked.at, asked.credential, asked.mark, trace)
    except Error as refusal:
        return refusal


def _first_of_each_id(arrivals: Sequence[Arrival | Error]) -> Sequence[Arrival | Error]:
    """Up to an id that comes a second time: that record is answered with what is on record by then."""
    seen: set[str] = set()
    for number, one in enumerate(arrivals):
        if isinstance(one, Arrival):
            if one.telemetry.telemetry_id in seen:
                return arrivals[:number]
            seen.add(one.telemetry.telemetry_id)
    return arrivals


def _decide_round(tools: Tools, arrivals: Sequence[Arrival | Error], *, may_be_fast: bool) -> list[Decided | Error]:
    """Answers from the first record on; none where even that one must be looked at again."""
    read = [one for one in arrivals if isinstance(one, Arrival)]
    if not read:
        return [one for one in arrivals if isinstance(one, Error)]
    # 1. Telemetry ingestion ends: who sent it, when, and whether its id is known.
    ingested = tools.database.read(lambda unit: ingest_records(unit, tools, read))
    findings, decided = iter(ingested.findings), iter(_decide_fresh(tools, ingested, may_be_fast=may_be_fast))
    answers: list[Decided | Error] = []
    for one in arrivals:
        finding = one if isinstance(one, Error) else next(findings)
        answer = next(decided, None) if isinstance(finding, Fresh) else _answer(tools, finding)
        if answer is None:
            break
        answers.append(answer)
    return answers


def _answer(tools: Tools, finding: Known | Error) -> Decided | Error:
    if isinstance(finding, Error):
        return finding
    try:
        # Somebody's earlier verdicts, read back from the ledger.
        return tools.database.read(lambda unit: decided_of(unit, finding.tenant_id, finding.telemetry_id))
    except Error as error:
        return error


def _decide_fresh(tools: Tools, ingested: Ingested, *, may_be_fast: bool) -> list[Decided | Error]:
    fresh = [one for one in ingested.findings if isinstance(one, Fresh)]
    if not fresh or ingested.document_hash is None:
        return []
    try:
        return _decide(tools, fresh, ingested.document_hash, may_be_fast=may_be_fast)
    except Error as error:
        # Of several it is not known whose it is: then nobody is told, and the first is looked at alone.
        return [error] if len(fresh) == 1 else []
    finally:
        # Also where it was refused for just that: an attempt is on record before anybody is told.
        note_egress(tools, fresh[0].sender.tenant_id, at=fresh[-1].at)


def _decide(tools: Tools, fresh: Sequence[Fresh], document_hash: Digest, *, may_be_fast: bool) -> list[Decided | Error]:
    """Steps 2 to 5 for records that nobody has sent before; fewer answers than records where one was odd."""
    # 2. KG retrieval: the rules that apply to each record, with their slices.
    found = _open_cases(tools, fresh, document_hash)
    tenant_id = fresh[0].sender.tenant_id
    # Where a rule looks back, a subject's records are judged one after the other: each sees those before it. Also one
    # that no such rule applies to, in its jurisdiction or at its time: the others look back at it.
    with tools.subjects.hold(tenant_id, [place.subject for _, place in found if place.looks_back]):
        memory = VerdictMemory.load(tools, tenant_id, [place for _, place in found], may_be_fast=may_be_fast)
        # 3. KG-grounded LLM evaluation, and 4. symbolic verification, for each rule of each record.
        judged, refusal = _judge_all(tools, found, memory)
        marked = [replace(one, mark=sent.mark) for one, sent in zip(judged, fresh, strict=False)]
        # 5. Audit ledger write: all rules of a record in one commit, and nothing is said before it is durable.
        recorded = record_verdicts(tools, marked) if marked else ()
        _vouch(tools, [one.case for one in judged[: len(recorded)]])
    told: list[Decided | Error] = [
        done.decided or newly_decided(one.case.telemetry, one.verdicts, done.receipts)
        for one, done in zip(judged, recorded, strict=False)
    ]
    return [*told, refusal] if refusal is not None and len(told) == len(judged) else told


def _open_cases(tools: Tools, fresh: Sequence[Fresh], document_hash: Digest) -> list[tuple[Case, Place]]:
    """Each record with its subject's own id, and with the rules that apply to it."""
    with _watched(tools):
        identity = get_reasoner(tools).identify()
    require_sovereign(tools, identity)
    tenant_id, weights = fresh[0].sender.tenant_id, _named_weights(identity)
    measured = measure_weights(tools, tenant_id, weights, at=fresh[-1].at)
    graph = ready_graph(tools, tenant_id, document_hash)
    measured_in = None if measured is None else measured.entry_hash
    with _watched(tools):
        return [_open_case(one, graph, identity, weights, measured_in) for one in fresh]


def _named_weights(identity: ReasonerIdentity) -> Digest:
    if identity.model_weight_hash is None:
        raise SubstitutedWeightsError(f"expected `{identity.backend_name}` to name its weights, got none")
    return identity.model_weight_hash


def _open_case(
    one: Fresh, graph: ReadyGraph, identity: ReasonerIdentity, weights: Digest, measured_in: Digest | None
) -> tuple[Case, Place]:
    telemetry = one.telemetry
    found, dockets = graph.dockets.find(
        telemetry.subject, as_of=telemetry.timestamp, jurisdiction=telemetry.jurisdiction
    )
    subject = found.subject_id
    case = Case(
        principal=one.sender,
        telemetry=telemetry,
        subject=subject,
        graph=graph,
        identity=identity,
        weight_hash=weights,
        at=one.at,
        measured_in=measured_in,
        is_displaced=found.is_displaced,
        trace=one.trace,
    )
    return case, Place(subject, telemetry, dockets, looks_back=graph.looks_back(subject))


def _judge_all(
    tools: Tools, found: Sequence[tuple[Case, Place]], memory: VerdictMemory
) -> tuple[list[JudgedCase], Error | None]:
    """Judged records from the first one on, and the refusal of the one after them, where it has one."""
    asked: list[tuple[Case, list[Question]]] = []
    for case, place in found:
        if not memory.knows(place):
            break
        asked.append((case, question_record(tools, case, place.dockets, memory.of(place))))
        memory.expect(place)
    with _watched(tools):
        told = ask_ahead(tools, [questions for _, questions in asked], memory.stable)
    judged: list[JudgedCase] = []
    for (case, questions), replies in zip(asked, told, strict=True):
        try:
            judged.append(_judge(tools, case, questions, replies, memory))
        except Error as refusal:
            return judged, refusal
    return judged, None


def _judge(
    tools: Tools, case: Case, questions: Sequence[Question], told: Sequence[Told | None], memory: VerdictMemory
) -> JudgedCase:
    with _watched(tools):
        judged = judge_record(tools, case, questions, told, memory.stable)
    require_no_egress(tools)
    verdicts = prepare_verdicts(tools, case, judged, memory)
    memory.note(verdicts)
    return JudgedCase(case, verdicts)


def _vouch(tools: Tools, cases: Sequence[Case]) -> None:
    """Rows and entries were written here, in one commit: the next window need not compare them."""
    looked_at = [case for case in cases if case.graph.looks_back(case.subject)]
    if looked_at:
        rows = [buffered_text(case.telemetry, case.subject) for case in looked_at]
        tools.vouched.add(looked_at[0].tenant_id, rows)


def _watched(tools: Tools) -> AbstractContextManager[None]:
    return nullcontext() if tools.guard is None else tools.guard.watching()
