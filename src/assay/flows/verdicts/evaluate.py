"""Evaluate telemetry: one record, records of several callers at the same time, or lines of records.

request -> Submission -> `judge_records` -> Decided;  with an idempotency key, its answer is kept in the same commit
"""

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from itertools import islice
from time import monotonic
from typing import Annotated, Any

import msgspec
import orjson
from msgspec import Meta, Struct
from msgspec.structs import replace

from assay.flows.answer_once import KEPT, KeyedRequest, Reply, begin_request, find_kept
from assay.flows.identity.authenticate import require_credential
from assay.flows.request import BulkLine, Document, Done, Moment, Option, Request, encode_result
from assay.flows.request_mark import RequestMark, forget_expired
from assay.flows.tools import Tools
from assay.flows.verdicts.explain_verdict import VerdictExplainer
from assay.flows.verdicts.graphs_in_use import get_activation, ready_graph
from assay.flows.verdicts.intake import Submission
from assay.flows.verdicts.judge_records import judge_in_order, judge_record, judge_records
from assay.flows.verdicts.read_verdicts import Decided, RuleVerdict
from assay.identity.caller import Caller
from assay.identity.errors import OtherTenantError
from assay.kernel.errors import CanonicalError, Error, JsonError
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntrySizeError, NulCharacterError
from assay.ports.database import Unit
from assay.ports.reasoner import BatchReasoner
from assay.ports.request_store import KeptRequest
from assay.verdicts.comparison import nfc
from assay.verdicts.envelope import Envelope
from assay.verdicts.errors import GraphError, VerdictsError
from assay.verdicts.govern import Standing
from assay.verdicts.graph.index import GraphIndex

LINES = "application/x-ndjson"
_WAITING_EACH = 4
# More in one unit of work save little, and the reader of the answers waits for all of them.
_MOST_TOGETHER = 64
_WORKERS = 8
_BRIEF_SECONDS = 0.25
_OF_RECORDS = (VerdictsError, JsonError, CanonicalError, OtherTenantError, EntrySizeError, NulCharacterError)
_CREATED, _OK = 201, 200


class TelemetryRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One record, with one of the three ids; a measurement is a scalar, `{"value", "unit"}`, or an object of such."""

    timestamp: Moment
    subject: str
    measurement: dict[str, Any]
    measurement_id: str | None = None
    telemetry_id: str | None = None
    id: str | None = None
    jurisdiction: str | None = None
    tenant_id: str | None = None


class EvaluateRecord(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    record: Annotated[
        bytes, Meta(description="The telemetry record."), Document(kind=TelemetryRecord, metavar="FILE|-")
    ]


class EvaluateRecords(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    records: Annotated[
        bytes,
        Meta(description="One telemetry record in each line."),
        Document(kind=TelemetryRecord, media_type=LINES, metavar="FILE|-"),
    ]
    explain: Annotated[
        bool, Meta(description="Return each rule's limits, observations and clauses too."), Option(hidden=True)
    ] = False


class Evaluated(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line: what was decided, or the code and the message of its refusal."""

    line: int
    decided: Decided | None = None
    code: str | None = None
    message: str | None = None


def evaluate(tools: Tools, caller: Caller, request: EvaluateRecord) -> Done[Decided]:
    """Judge one telemetry record by every rule of the knowledge graph in use, and return all of its verdicts.

    A verdict of high risk is held until a person attests it: it has neither verdict nor envelope, only its ticket. The
    same record again is answered with what is recorded.
    """
    require_credential(caller)
    return _done(judge_record(tools, caller, request.record))


def evaluate_lines(tools: Tools, caller: Caller, request: EvaluateRecords) -> tuple[BulkLine, ...]:
    """Judge records in lines, each by every rule; those of one subject in their order.

    The same record again is answered with what is recorded, so lines that got no answer may be sent again.
    """
    require_credential(caller)
    lines = [line for line in request.records.splitlines() if line.strip()]
    explainer = VerdictExplainer(tools, caller.tenant_id) if request.explain else None
    return tuple([_bulk_line(one, explainer) for one in evaluate_all(tools, caller, lines)])


def may_gather(tools: Tools) -> bool:
    """Whether records of several requests are better judged together: the model is asked about all of them at once.

    Other models take their time for each question, and are asked by several threads.
    """
    return not tools.ski.is_v2 and isinstance(tools.reasoner, BatchReasoner)


def evaluate_each(
    tools: Tools, jobs: Sequence[tuple[Caller, EvaluateRecord]], keyed: Sequence[KeyedRequest | None]
) -> list[Done[Decided] | Reply | Error]:
    """Judge records of requests that came at the same time; each is answered, and under a key once.

    INVARIANT: no verdict is durable without the key of its request and the answer to it, which are in its own commit.
    """
    marks = _look_up(tools, jobs, keyed)
    submissions = [
        Submission(request.record, caller, mark)
        for (caller, request), mark in zip(jobs, marks, strict=True)
        if not isinstance(mark, Reply | Error)
    ]
    judged = iter(judge_records(tools, submissions)) if submissions else iter(())
    answers = [one if isinstance(one, Reply | Error) else next(judged) for one in marks]
    _keep_repeated(tools, marks, answers)
    return [_done(one) if isinstance(one, Decided) else one for one in answers]


def _done(decided: Decided) -> Done[Decided]:
    return Done(value=decided, is_new=decided.is_new)


def _render(decided: Decided) -> Reply:
    return Reply(status=_CREATED if decided.is_new else _OK, body=encode_result(decided))


def _look_up(
    tools: Tools, jobs: Sequence[tuple[Caller, EvaluateRecord]], keyed: Sequence[KeyedRequest | None]
) -> list[Reply | RequestMark | Error | None]:
    """The mark that each keyed request leaves in its commit, or the answer that is kept under its key."""
    signed = [_find_stranger(caller) for caller, _ in jobs]
    if all(one is None for one in keyed):
        return list(signed)
    return tools.database.read(
        lambda unit: [
            refusal or _look(unit, request, caller.at)
            for refusal, request, (caller, _) in zip(signed, keyed, jobs, strict=True)
        ]
    )


def _find_stranger(caller: Caller) -> Error | None:
    try:
        require_credential(caller)
    except Error as refusal:
        return refusal
    return None


def _look(unit: Unit, request: KeyedRequest | None, at: Instant) -> Reply | RequestMark | Error | None:
    if request is None:
        return None
    try:
        found = find_kept(unit, request, at=at)
    except Error as refusal:
        return refusal
    if isinstance(found, Reply):
        return found
    begun = found if isinstance(found, KeptRequest) else begin_request(request, at=at)
    return RequestMark(request.tenant_id, begun, found is not None, _render, expired_at=Instant(at - KEPT))


def _keep_repeated(
    tools: Tools, marks: Sequence[Reply | RequestMark | Error | None], answers: Sequence[Reply | Decided | Error]
) -> None:
    """Keep the answers of records whose commit has no mark: those recorded before, and those of runtime v2."""
    unmarked = [
        (mark, answer)
        for mark, answer in zip(marks, answers, strict=True)
        if isinstance(mark, RequestMark) and isinstance(answer, Decided) and (tools.ski.is_v2 or not answer.is_new)
    ]

    def keep(unit: Unit) -> None:
        forget_expired(unit, [mark for mark, _ in unmarked])
        for mark, decided in unmarked:
            mark.keep(unit, decided, entry=decided.verdicts[0].sequence_number - 1)

    if unmarked:
        tools.database.write(keep)


def evaluate_stream(
    tools: Tools, caller: Caller, lines: Iterable[bytes | str], *, workers: int = 1, together: int = 1
) -> Generator[Evaluated]:
    """Judge lines as they come, and yield an answer for each, in order.

    A record that is refused does not stop the others; what would refuse every record is raised. With one worker each
    line is answered before the next is read; `together` is how many may be read before the first is answered. A caller
    who stops early leaves nothing half done, and may run the same lines again.
    """
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    if workers <= 1:
        yield from _evaluate_in_order(tools, caller, numbered, together)
        return
    index = _index(tools, caller)
    with ExitStack() as stack:
        pools = [stack.enter_context(ThreadPoolExecutor(1)) for _ in range(workers)]
        waiting: deque[Future[Evaluated]] = deque()
        # Before the pools are left, which would otherwise wait for everything that is still queued.
        stack.callback(lambda: [one.cancel() for one in waiting])
        for number, line in numbered:
            pool = pools[hash(_subject(line, index)) % len(pools)]
            waiting.append(pool.submit(_evaluate_line, tools, caller, number, line))
            while waiting and (waiting[0].done() or len(waiting) >= len(pools) * _WAITING_EACH):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def evaluate_all(tools: Tools, caller: Caller, lines: Sequence[bytes | str]) -> Generator[Evaluated]:
    """Judge lines that are all there already, as `evaluate_stream` does.

    A model that is asked many questions at once gets them from one thread; others are asked by several.
    """
    if may_gather(tools):
        return evaluate_stream(tools, caller, lines, together=_MOST_TOGETHER)
    return evaluate_stream(tools, caller, lines, workers=min(_WORKERS, len(lines)), together=_MOST_TOGETHER)


def _evaluate_in_order(
    tools: Tools, caller: Caller, numbered: Iterator[tuple[int, bytes | str]], together: int
) -> Generator[Evaluated]:
    """In blocks that grow while a block takes little time: with a slow model every record is answered by itself."""
    size = 1
    while block := list(islice(numbered, size)):
        seconds, now = 0.0, caller.as_of(tools.clock.now())
        answers = judge_in_order(tools, caller.tenant_id, [Submission(line, now) for _, line in block])
        for number, _ in block:
            began = monotonic()
            answer = next(answers)
            seconds += monotonic() - began
            yield _evaluated(number, answer)
        size = min(2 * size, together) if seconds < _BRIEF_SECONDS else max(size // 2, 1)


def _evaluate_line(tools: Tools, caller: Caller, number: int, line: bytes | str) -> Evaluated:
    [answer] = judge_records(tools, [Submission(line, caller.as_of(tools.clock.now()))])
    return _evaluated(number, answer)


def _evaluated(number: int, answer: Decided | Error) -> Evaluated:
    if not isinstance(answer, Error):
        return Evaluated(line=number, decided=answer)
    # A graph that cannot be opened, a model that is another one or a full disk would refuse every record.
    if not isinstance(answer, _OF_RECORDS) or isinstance(answer, GraphError):
        raise answer
    return Evaluated(line=number, code=answer.code, message=str(answer))


def _bulk_line(one: Evaluated, explainer: VerdictExplainer | None) -> BulkLine:
    if one.decided is None:
        return BulkLine(line=one.line, status="refused", code=one.code, problem=one.message)
    receipt = msgspec.to_builtins(one.decided)
    if explainer is not None:
        receipt["explained"] = msgspec.to_builtins(explainer.explain(one.decided))
    return BulkLine(line=one.line, status="recorded" if one.decided.is_new else "known", receipt=receipt)


def _index(tools: Tools, caller: Caller) -> GraphIndex:
    """The index of the graph in use, by which two names are one subject's. What refuses every record is raised here."""
    active = tools.database.read(lambda unit: get_activation(unit, tools, caller.tenant_id))
    return ready_graph(tools, caller.tenant_id, active.document_hash).index


def _subject(line: bytes | str, index: GraphIndex) -> object:
    """Only to keep a subject's records in one row; the strict reader decides what it is."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    given = value.get("subject") if isinstance(value, dict) else None
    # Only a text names a subject; turning a deeply nested value into text would run out of stack.
    named = nfc(given) if isinstance(given, str) else None
    found = None if named is None else index.find_subject(named)
    return named if found is None else found.id


def strictest_verdict(decided: Decided) -> RuleVerdict | None:
    """The rule whose verdict is the record's; None while a held one could still be stricter."""
    if decided.overall.standing is Standing.HELD:
        return None
    return next((one for one in decided.verdicts if one.verdict is decided.overall.verdict), None)


def strictest_envelope(decided: Decided) -> Envelope | None:
    """The envelope of that rule, with `notes` that name its entry and the result of every other rule.

    None while the record is held, and for the second runtime, which has no envelopes. The envelope as it is hashed
    is in the entry: only the notes differ.
    """
    chosen = strictest_verdict(decided)
    if chosen is None or chosen.envelope is None:
        return None
    return replace(chosen.envelope, notes=(*chosen.envelope.notes, *verdict_notes(decided, chosen)))


def verdict_notes(decided: Decided, chosen: RuleVerdict) -> Iterator[str]:
    """One line for the rule itself, and one for each other; a held one names its ticket and no verdict."""
    yield f"rule: {chosen.rule_id or 'none'} entry {chosen.sequence_number} {chosen.entry_hash}"
    for one in decided.verdicts:
        if one is not chosen:
            said = f"held, ticket {one.ticket_id}" if one.verdict is None else f"{one.verdict} ({one.reason})"
            yield f"other rule: {one.rule_id or 'none'} entry {one.sequence_number} {said}"
