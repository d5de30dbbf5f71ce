"""PHALA: count what came of an answer for the rules that caused it, once, and durably (PRAMANA 7.4).

caller -> signal, completed from its answer where it may be -> known? -> may this sender? -> `count_outcome` -> store
Reports that arrive at the same time share a commit: each is counted after the one before it, or refused whole.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, NamedTuple

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from assay.delivery.annotate import Annotation
from assay.delivery.attribute import find_same, verify_attribution
from assay.delivery.complete import complete_outcome, find_incomplete, names_rules
from assay.delivery.errors import DeliveryError, OutcomeConflictError
from assay.delivery.outcome import Outcome, ReporterGrant, Signal, parse_outcome, verify_same
from assay.delivery.rule import RuleId
from assay.delivery.twowrong import Success
from assay.flows.answer_once import KeyedRequest
from assay.flows.delivery.answer_record import find_record, get_record
from assay.flows.delivery.count_outcome import Reported, count_outcome
from assay.flows.delivery.delivery_entry import read_text
from assay.flows.delivery.judge_success import judge_success, judged_now, may_be_judged
from assay.flows.delivery.outcome_batch import OutcomeBatch, ReadySignal, make_ready
from assay.flows.delivery.rule_rows import find_granted
from assay.flows.identity.authenticate import confirm, require_credential
from assay.flows.request import KEY_HEADER, BulkLine, Document, Done, Header, Option, Request
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.principal import Principal
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.json_text import JsonValue
from assay.ports.database import Unit


class Post(NamedTuple):
    """What one call brings: signals of one sender, of which all count, or none.

    `judged` has what was found about each signal that may be judged, by its id; where none may be, it is empty.
    """

    tools: Tools
    caller: Caller
    signals: Sequence[ReadySignal]
    judged: Mapping[str, Success | None] = MappingProxyType({})


class _Step(NamedTuple):
    """A signal of a post: with the versions it is about if it is new, else known as `told`."""

    ready: ReadySignal
    success: Success | None = None
    versions: Mapping[RuleId, int] | None = None
    told: str | None = None


def report_posts(unit: Unit, posts: Sequence[Post]) -> list[tuple[Reported, ...] | Error]:
    """Each post after the one before it: a refused one has changed nothing, and is told so."""
    batch = OutcomeBatch(unit)
    told: defaultdict[TenantId, list[Signal]] = defaultdict(list)
    for post in posts:
        told[post.caller.tenant_id].extend(ready.signal for ready in post.signals)
    for tenant_id, signals in told.items():
        batch.look(tenant_id, (signal.signal_id for signal in signals))
        batch.look_at_rules(tenant_id, (rule_id for signal in signals for rule_id in signal.rule_ids))
    # A credential is confirmed once, at the latest of the instants: it must have been good for all.
    latest = max(post.caller.at for post in posts)
    answers = [_report(batch, post, at=latest) for post in posts]
    batch.store()
    return answers


def _report(batch: OutcomeBatch, post: Post, *, at: Instant) -> tuple[Reported, ...] | Error:
    if any(ready.signal.answer_id is not None for ready in post.signals):
        # What was told of the same answer is looked for in the table.
        batch.store()
    try:
        steps = _examine(batch, post, at=at)
    except Error as refusal:
        # INVARIANT: nothing has been counted or written for this post, so the others may go on.
        return refusal
    with batch.unit.ledger.under(post.caller.trace):
        return tuple(_take(batch, post, step) for step in steps)


def _take(batch: OutcomeBatch, post: Post, step: _Step) -> Reported:
    tenant_id = post.caller.tenant_id
    if step.versions is not None:
        return count_outcome(batch, post.tools, tenant_id, step.ready, step.success, step.versions)
    told = step.told or step.ready.signal.signal_id
    known = batch.find(tenant_id, told)
    if known is None:
        [row] = batch.unit.delivery.find_signals(tenant_id, [told])
        return Reported(signal_id=told, is_new=False, sequence_number=row.sequence_number)
    return Reported(signal_id=told, is_new=False, sequence_number=known[1])


def _examine(batch: OutcomeBatch, post: Post, *, at: Instant) -> list[_Step]:
    """Everything that can refuse a post, before any of it counts."""
    sender = batch.sender(post.caller, at=at)
    new: dict[str, Signal] = {}
    steps: list[_Step] = []
    for ready in post.signals:
        signal = ready.signal
        known = new.get(signal.signal_id) or _known(batch, sender.tenant_id, signal)
        if known is not None:
            verify_same(known, signal)
            steps.append(_Step(ready=ready))
            continue
        batch.verify_reporter(sender, signal)
        told = _told_before(batch, sender.tenant_id, signal, new.values())
        if told is not None:
            steps.append(_Step(ready=ready, told=told))
            continue
        versions = _versions(batch, sender.tenant_id, signal)
        steps.append(_Step(ready=ready, success=_judged(batch, post, signal), versions=versions))
        new[signal.signal_id] = signal
    return steps


def _judged(batch: OutcomeBatch, post: Post, signal: Signal) -> Success | None:
    found = post.judged.get(signal.signal_id)
    return None if found is None else judged_now(batch.unit, post.caller.tenant_id, found)


def _known(batch: OutcomeBatch, tenant_id: TenantId, signal: Signal) -> Signal | None:
    found = batch.find(tenant_id, signal.signal_id)
    return None if found is None else found[0]


def _versions(batch: OutcomeBatch, tenant_id: TenantId, signal: Signal) -> Mapping[RuleId, int]:
    """Those that the named answer used, else those in force; a rule or an answer that nobody knows is refused."""
    if signal.answer_id is None:
        return {rule_id: batch.in_force(tenant_id, rule_id) for rule_id in signal.rule_ids}
    record = find_record(batch.unit, tenant_id, signal.answer_id)
    if record is None:
        raise DeliveryError.outcome_answer(f"expected an answer of this node, got `{signal.answer_id[:80]}`")
    verify_attribution(signal, record.annotation, withheld=record.withheld)
    used = {ref.rule_id: ref.version for ref in record.annotation.rules}
    return {rule_id: used[rule_id] for rule_id in signal.rule_ids}


def _told_before(batch: OutcomeBatch, tenant_id: TenantId, signal: Signal, new: Iterable[Signal]) -> str | None:
    """The id of the same outcome of the same answer, which this sender told under another key or under none."""
    if signal.answer_id is None:
        return None
    rows = batch.unit.delivery.answer_signals(tenant_id, signal.answer_id)
    earlier = (one for one in new if one.answer_id == signal.answer_id)
    found = find_same(signal, [*(read_text(one.text, Signal) for one in rows), *earlier])
    return None if found is None else found.signal_id


LINES = "application/x-ndjson"


class OutcomeReport(Struct, frozen=True, kw_only=True):
    """The members of PRAMANA 7.4.1. With `answer_id` of an answer of this node, all but `outcome` may be left out and
    is then what the answer says of itself; without it, they are all needed as there.
    """

    outcome: Outcome
    answer_id: str | UnsetType = UNSET
    signal_type: str | UnsetType = UNSET
    rule_id: str | UnsetType = UNSET
    rule_ids: tuple[str, ...] | UnsetType = UNSET
    applied_by: str | UnsetType = UNSET
    query_context: str | UnsetType = UNSET
    strands_available: tuple[str, ...] | UnsetType = UNSET
    strand_missing: tuple[str, ...] | UnsetType = UNSET
    authenticity_level: str | UnsetType = UNSET
    rca_triggered: bool | UnsetType = UNSET
    two_wrong_flag: bool | UnsetType = UNSET
    timestamp: str | UnsetType = UNSET
    session_id: str | UnsetType = UNSET
    batch_id: str | UnsetType = UNSET


class PhalaSignal(Struct, frozen=True, kw_only=True):
    """The members of PRAMANA 7.4.1, and `answer_id` of an answer of this node; `rca_triggered` is read and ignored."""

    signal_type: str
    applied_by: str
    outcome: Outcome
    strands_available: tuple[str, ...]
    authenticity_level: str
    timestamp: str
    rule_id: str | UnsetType = UNSET
    rule_ids: tuple[str, ...] | UnsetType = UNSET
    query_context: str | UnsetType = UNSET
    strand_missing: tuple[str, ...] | UnsetType = UNSET
    rca_triggered: bool | UnsetType = UNSET
    two_wrong_flag: bool | UnsetType = UNSET
    session_id: str | UnsetType = UNSET
    batch_id: str | UnsetType = UNSET
    answer_id: str | UnsetType = UNSET


SignalKey = Annotated[
    str | None,
    Meta(description="Your own name of the signal: sent again under it, it counts once."),
    Header(KEY_HEADER),
]


class ReportOutcome(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    signal: Annotated[bytes, Meta(description="The PHALA signal."), Document(kind=OutcomeReport, metavar="FILE|-")]
    whole: Annotated[
        bool, Meta(description="Refuse a signal that leaves out what its answer says."), Option(hidden=True)
    ] = False
    idempotency_key: SignalKey = None


class ReportOutcomes(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    signals: Annotated[
        bytes,
        Meta(description="One whole PHALA signal in each line."),
        Document(kind=PhalaSignal, media_type=LINES, metavar="FILE|-"),
    ]


def outcome(tools: Tools, caller: Caller, request: ReportOutcome) -> Done[Reported]:
    """Report what came of an answer to the rules that caused it; the same signal again counts once.

    Of an answer of this node, `answer_id` and `outcome` are enough: the rest is what the answer says of itself, and the
    whole signal is recorded. What is told besides must agree with the answer.
    """
    require_credential(caller)
    told = None if request.whole else find_incomplete(request.signal)

    def report() -> Reported:
        whole = request.signal
        if told is not None:
            whole = tools.database.read(lambda unit: _complete(unit, told, confirm(unit, caller)))
        return report_signal(tools, caller, whole, request.idempotency_key)

    try:
        return _done(report())
    except OutcomeConflictError:
        if told is None or "timestamp" in told:
            raise
        # Sent twice at once, each had a time of its own; that of the first is known by now. Any other outcome of the
        # same answer is refused again.
        return _done(report())


def report_outcomes(tools: Tools, caller: Caller, request: ReportOutcomes) -> tuple[BulkLine, ...]:
    """Report outcomes in lines, in one commit; each line is counted or refused by itself, in order.

    The same signal counts once, so lines that got no answer may be sent again.
    """
    require_credential(caller)
    lines = [line for line in request.signals.splitlines() if line.strip()]
    done: Sequence[Reported | Error]
    try:
        done = _write(tools, [_read_judged(tools, caller, line) for line in lines])
    except Error as refusal:
        # The unit of work as a whole, as where the database stayed busy: nothing of it was counted.
        done = [refusal] * len(lines)
    return tuple(_line(number, one) for number, one in enumerate(done, 1))


def report_each(
    tools: Tools, jobs: Sequence[tuple[Caller, ReportOutcome]], _keyed: Sequence[KeyedRequest | None] = ()
) -> list[Done[Reported] | Error | None]:
    """Report signals of any senders that came at the same time: each is counted or refused by itself, in one commit.

    None for a signal that has to be completed or whose answer may be computed again: it is reported by itself.
    """
    posts = [_read_quick(tools, caller, request) for caller, request in jobs]
    done = iter(_write(tools, [post for post in posts if post is not None]))
    return [None if post is None else _told(next(done)) for post in posts]


def report_signal(tools: Tools, caller: Caller, content: bytes, key: str | None = None) -> Reported:
    """Report one whole signal; refused if malformed, or for a rule not granted or not known."""
    post = _judge(tools, _read(tools, caller, content, key))
    [done] = tools.delivery.reports.write(tools.database, post, report_posts, weight=len(post.signals))
    return done


def _done(reported: Reported) -> Done[Reported]:
    return Done(value=reported, is_new=reported.is_new)


def _told(done: Reported | Error) -> Done[Reported] | Error:
    return done if isinstance(done, Error) else _done(done)


def _complete(unit: Unit, told: Mapping[str, JsonValue], caller: Caller) -> bytes:
    sender, answer_id = caller.principal, str(told["answer_id"])
    grant = find_granted(unit, sender.tenant_id, sender.id)
    if grant is None or not grant.rules:
        raise DeliveryError.outcome_source(f"`{sender.id}` may not report outcomes of any rule")
    if unit.delivery.find_answer(sender.tenant_id, answer_id) is None:
        raise DeliveryError.outcome_answer(f"expected an answer of this node, got `{answer_id[:80]}`")
    # What is written into the ledger in the sender's place is what the ledger binds, not what a row says.
    annotation = get_record(unit, sender.tenant_id, answer_id).annotation
    if not names_rules(told):
        _require_all(sender, grant, annotation)
    whole = complete_outcome(told, annotation, occurred_at=caller.at)
    known = _find_told(unit, sender, parse_outcome(whole, sender=sender.id, at=caller.at))
    return whole if known is None else complete_outcome(told, annotation, occurred_at=known.occurred_at)


def _require_all(sender: Principal, grant: ReporterGrant, annotation: Annotation) -> None:
    """No rule is named: a sender without a grant for one of them need not learn that it is behind the answer."""
    if not all(grant.covers(ref.rule_id) for ref in annotation.rules):
        raise DeliveryError.outcome_source(
            f"`{sender.id}` may not report outcomes of every rule behind `{annotation.answer_id}`"
        )


def _find_told(unit: Unit, sender: Principal, signal: Signal) -> Signal | None:
    """What this sender told of the same answer and rules: without a time, the same outcome again is that one."""
    rows = unit.delivery.answer_signals(sender.tenant_id, str(signal.answer_id))
    told = (read_text(row.text, Signal) for row in rows)
    return next((one for one in told if one.sender == sender.id and set(one.rule_ids) & set(signal.rule_ids)), None)


def _write(tools: Tools, posts: Sequence[Post | Error]) -> list[Reported | Error]:
    good = [post for post in posts if isinstance(post, Post)]
    if not good:
        return [post for post in posts if isinstance(post, Error)]
    done = iter(tools.delivery.reports.write_all(tools.database, good, report_posts, weight=len(good)))
    return [post if isinstance(post, Error) else _only(next(done)) for post in posts]


def _only(done: tuple[Reported, ...] | Error) -> Reported | Error:
    return done if isinstance(done, Error) else done[0]


def _read_quick(tools: Tools, caller: Caller, request: ReportOutcome) -> Post | Error | None:
    try:
        require_credential(caller)
        if not request.whole and find_incomplete(request.signal) is not None:
            return None
        post = _read(tools, caller, request.signal, request.idempotency_key)
    except Error as refusal:
        return refusal
    return None if _has_success(post) else post


def _read_judged(tools: Tools, caller: Caller, content: bytes) -> Post | Error:
    try:
        return _judge(tools, _read(tools, caller, content))
    except Error as refusal:
        return refusal


def _read(tools: Tools, caller: Caller, content: bytes, key: str | None = None) -> Post:
    signal = parse_outcome(content, sender=caller.principal.id, at=caller.at, idempotency_key=key)
    return Post(tools=tools, caller=caller, signals=[make_ready(signal, service=tools.delivery.service)])


def _judge(tools: Tools, post: Post) -> Post:
    """The post with what is found about each success of an answer of ours; replays run here, outside any commit."""
    if not _has_success(post):
        return post
    tenant_id = post.caller.tenant_id
    judged = {one.signal.signal_id: judge_success(tools, tenant_id, one.signal) for one in post.signals}
    return post._replace(judged=judged)


def _has_success(post: Post) -> bool:
    """Whether a signal tells of a success, as it seems, of an answer of ours."""
    return any(may_be_judged(ready.signal) for ready in post.signals)


def _line(number: int, done: Reported | Error) -> BulkLine:
    if not isinstance(done, Error):
        return BulkLine(line=number, status="recorded" if done.is_new else "known", receipt=msgspec.to_builtins(done))
    if done.blame is Blame.OURS:
        raise done
    return BulkLine(line=number, status="refused", code=done.code, problem=str(done))
