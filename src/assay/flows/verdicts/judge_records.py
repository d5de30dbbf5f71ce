"""Telemetry in, verdicts out (SKI 2.2): one path for one record or many, durable when it returns.

1 intake -> 2 slice -> 3 reason -> 4 verify and govern -> 5 record: always all of them, always in this order

Records that come together are judged in rounds: one read, each judged on its own and in order, one unit of work. A
record knows what it would know if those before it were recorded already. Whatever is odd about a record ends the round
before it, so that it and those after it are read again.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

from assay.flows.errors.verdicts import VerdictFlowError
from assay.flows.tools import Tools
from assay.flows.verdicts.graphs_in_use import ready_graph
from assay.flows.verdicts.intake import Arrival, Given, Intake, Submission, intake_records, parse_submission
from assay.flows.verdicts.prepare_verdict import prepare_verdicts
from assay.flows.verdicts.read_verdicts import Decided
from assay.flows.verdicts.reason import Case, Question, Told, ask_ahead, build_questions, reason_and_verify
from assay.flows.verdicts.record_verdicts import JudgedCase, newly_decided, record_verdicts
from assay.flows.verdicts.runtime_v2 import judge_v2
from assay.flows.verdicts.shelves import ReadyGraph
from assay.flows.verdicts.sovereignty import (
    get_reasoner,
    measure_weights,
    note_egress,
    require_no_egress,
    require_sovereign,
)
from assay.flows.verdicts.verdict_memory import Place, VerdictMemory
from assay.identity.caller import Caller
from assay.kernel.digest import Digest
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.ports.reasoner import ReasonerIdentity


def judge_record(tools: Tools, caller: Caller, given: Given) -> Decided:
    """Judge one record, and raise its refusal.

    Refused are a record that is malformed or too far from our clock, another record under a known id, a node without
    a graph or a model, other weights than the named ones, and any attempt to leave the perimeter. A model that does not
    answer gives DISCRETIONARY, with the reason on record.
    """
    [answer] = judge_records(tools, [Submission(given, caller)])
    if isinstance(answer, Error):
        raise answer
    return answer


def judge_records(tools: Tools, submissions: Sequence[Submission]) -> list[Decided | Error]:
    """Judge records in their order; each is answered with its verdicts, or with its own refusal.

    A record that was judged before is answered with what is recorded.
    """
    of_tenant: defaultdict[TenantId, list[Submission]] = defaultdict(list)
    for one in submissions:
        of_tenant[one.caller.tenant_id].append(one)
    answers = {tenant_id: judge_in_order(tools, tenant_id, some) for tenant_id, some in of_tenant.items()}
    return [next(answers[one.caller.tenant_id]) for one in submissions]


def judge_in_order(tools: Tools, tenant_id: TenantId, submissions: Sequence[Submission]) -> Iterator[Decided | Error]:
    """Judge records of one tenant, and yield their answers; a caller who stops leaves the rest not begun."""
    if tools.ski.is_v2:
        yield from (judge_v2(tools, one.caller, one.given) for one in submissions)
        return
    # 1. Telemetry ingestion begins: what the text alone says.
    arrivals = [parse_submission(one) for one in submissions]
    done, is_together, may_be_fast = 0, True, True
    while done < len(arrivals):
        some = _first_of_each_id(arrivals[done:]) if is_together else arrivals[done : done + 1]
        found = _judge_round(tools, tenant_id, some, may_be_fast=may_be_fast)
        yield from found
        done += len(found)
        # Where a round could answer nobody, its first record is judged alone, and all after it one by one. Where even
        # that was in vain, the fast path was in doubt: the record is judged once more, and the model is asked.
        may_be_fast = bool(found) or is_together
        is_together = is_together and bool(found)


def _first_of_each_id(arrivals: Sequence[Arrival | Error]) -> Sequence[Arrival | Error]:
    """Up to an id that comes a second time: that record is answered with what is recorded by then."""
    seen: set[str] = set()
    for number, one in enumerate(arrivals):
        if isinstance(one, Arrival):
            if one.telemetry.telemetry_id in seen:
                return arrivals[:number]
            seen.add(one.telemetry.telemetry_id)
    return arrivals


def _judge_round(
    tools: Tools, tenant_id: TenantId, arrivals: Sequence[Arrival | Error], *, may_be_fast: bool
) -> list[Decided | Error]:
    """Answers from the first record on; none where even that one must be read again."""
    parsed = [one for one in arrivals if isinstance(one, Arrival)]
    # 1. Telemetry ingestion ends: whether the record's id is known, and which graph is in use.
    intake = tools.database.read(lambda unit: intake_records(unit, tools, tenant_id, parsed)) if parsed else Intake(())
    findings, judged = iter(intake.findings), iter(_judge_new(tools, tenant_id, intake, may_be_fast=may_be_fast))
    answers: list[Decided | Error] = []
    for one in arrivals:
        finding = one if isinstance(one, Error) else next(findings)
        answer = next(judged, None) if isinstance(finding, Arrival) else finding
        if answer is None:
            break
        answers.append(answer)
    return answers


def _judge_new(tools: Tools, tenant_id: TenantId, intake: Intake, *, may_be_fast: bool) -> list[Decided | Error]:
    fresh = [one for one in intake.findings if isinstance(one, Arrival)]
    if not fresh or intake.document_hash is None:
        return []
    try:
        return _judge(tools, tenant_id, fresh, intake.document_hash, may_be_fast=may_be_fast)
    except Error as error:
        # Of several it is not known whose it is: then nobody is answered, and the first is judged alone.
        return [error] if len(fresh) == 1 else []
    finally:
        # Also where it was refused for just that: an attempt is recorded before anybody is answered.
        note_egress(tools, tenant_id, at=fresh[-1].caller.at)


def _judge(
    tools: Tools, tenant_id: TenantId, fresh: Sequence[Arrival], document_hash: Digest, *, may_be_fast: bool
) -> list[Decided | Error]:
    """Steps 2 to 5 for new records; fewer answers than records where one was odd."""
    # 2. KG retrieval: the rules that apply to each record, with their slices.
    cases = slice_records(tools, tenant_id, fresh, document_hash)
    # Where a rule looks back, a subject's records are judged one after the other: each sees those before it. Also one
    # that no such rule applies to, in its jurisdiction or at its time: the others look back at it.
    with tools.subjects.hold(tenant_id, [place.subject for _, place in cases if place.looks_back]):
        memory = VerdictMemory.load(tools, tenant_id, [place for _, place in cases], may_be_fast=may_be_fast)
        # 3. KG-grounded LLM evaluation, and 4. symbolic verification and governance, for each rule of each record.
        judged, refusal = _reason(tools, cases, memory)
        # 5. Audit ledger write: all rules of a record in one commit, and nothing is answered before it is durable.
        recorded = record_verdicts(tools, judged) if judged else ()
    answers: list[Decided | Error] = [
        done if isinstance(done, Error) else done.decided or newly_decided(one.case, one.verdicts, done.receipts)
        for one, done in zip(judged, recorded, strict=False)
    ]
    return [*answers, refusal] if refusal is not None and len(answers) == len(judged) else answers


def slice_records(
    tools: Tools, tenant_id: TenantId, fresh: Sequence[Arrival], document_hash: Digest
) -> list[tuple[Case, Place]]:
    """Each record with its subject's own id, and with the rules that apply to it."""
    with _watched(tools):
        identity = get_reasoner(tools).identify()
    require_sovereign(tools, identity)
    weights = _named_weights(identity)
    measured = measure_weights(tools, tenant_id, weights, at=fresh[-1].caller.at)
    graph = ready_graph(tools, tenant_id, document_hash)
    measured_in = None if measured is None else measured.entry_hash
    with _watched(tools):
        return [_slice(one, graph, identity, weights, measured_in) for one in fresh]


def _named_weights(identity: ReasonerIdentity) -> Digest:
    if identity.model_weight_hash is None:
        raise VerdictFlowError.sovereignty_weights(f"expected `{identity.backend_name}` to name its weights, got none")
    return identity.model_weight_hash


def _slice(
    one: Arrival, graph: ReadyGraph, identity: ReasonerIdentity, weights: Digest, measured_in: Digest | None
) -> tuple[Case, Place]:
    telemetry = one.telemetry
    found, dockets = graph.dockets.find(
        telemetry.subject, as_of=telemetry.timestamp, jurisdiction=telemetry.jurisdiction
    )
    subject = found.subject_id
    case = Case(
        caller=one.caller,
        telemetry=telemetry,
        subject=subject,
        graph=graph,
        identity=identity,
        weight_hash=weights,
        measured_in=measured_in,
        is_displaced=found.is_displaced,
        mark=one.mark,
    )
    return case, Place(subject, telemetry, dockets, looks_back=graph.looks_back(subject))


def _reason(
    tools: Tools, cases: Sequence[tuple[Case, Place]], memory: VerdictMemory
) -> tuple[list[JudgedCase], Error | None]:
    """Judged records from the first one on, and the refusal of the one after them, where it has one."""
    asked: list[tuple[Case, list[Question]]] = []
    for case, place in cases:
        if not memory.knows(place):
            break
        asked.append((case, build_questions(tools, case, place.dockets, memory.of(place))))
        memory.expect(place)
    with _watched(tools):
        told = ask_ahead(tools, [questions for _, questions in asked], memory.stable)
    judged: list[JudgedCase] = []
    for (case, questions), replies in zip(asked, told, strict=True):
        try:
            judged.append(_govern(tools, case, questions, replies, memory))
        except Error as refusal:
            return judged, refusal
    return judged, None


def _govern(
    tools: Tools, case: Case, questions: Sequence[Question], told: Sequence[Told | None], memory: VerdictMemory
) -> JudgedCase:
    with _watched(tools):
        judged = reason_and_verify(tools, case, questions, told, memory.stable)
    require_no_egress(tools)
    verdicts = prepare_verdicts(tools, case, judged, memory)
    memory.note(verdicts)
    return JudgedCase(case, verdicts)


def _watched(tools: Tools) -> AbstractContextManager[None]:
    return nullcontext() if tools.guard is None else tools.guard.watching()
