"""Two wrongs that look right (PRAMANA 12.4): examine the steps of a success and replay repaired ones.

Also later: when a rule is concluded to be wrong, earlier successes of that version are examined again.
"""

from collections.abc import Callable

from msgspec.structs import replace

from assay.delivery.answerer import Answerer
from assay.delivery.conclude import Conclusion
from assay.delivery.outcome import Outcome, Signal
from assay.delivery.plugin import Category
from assay.delivery.rule import RuleRef, render_ref
from assay.delivery.tally import taint
from assay.delivery.trigger import Move, provoke
from assay.delivery.twowrong import (
    Remark,
    Replay,
    Step,
    StepKind,
    StepVerdict,
    Success,
    confirm,
    remark,
    replays_needed,
    suspect,
)
from assay.delivery.workitem import OpeningReason
from assay.flows.delivery.answer_record import AnswerRecord, find_record
from assay.flows.delivery.delivery_entry import delivery_entry, news, read_text, text_of
from assay.flows.delivery.open_rootcause import open_rootcause_in
from assay.flows.delivery.outcome_batch import counters_of, load_counters, record_counters, tally_of, watch_of
from assay.flows.time_limit import Late, run_within
from assay.flows.tools import Tools
from assay.kernel.canonical import canonicalize
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.delivery_store import AnswerFinding


def judge_success(tools: Tools, tenant_id: TenantId, signal: Signal) -> Success | None:
    """The finding about a success of an answer of ours; None for any other signal. Replays run here, in no commit."""
    if not may_be_judged(signal) or signal.answer_id is None:
        return None
    answer_id = signal.answer_id
    record, steps = tools.database.read(lambda unit: _look(unit, tenant_id, answer_id))
    if record is None:
        return None
    finding = suspect(Outcome.SUCCESS, steps)
    needed = replays_needed(finding)
    answerer = tools.delivery.answerers_of(tenant_id).get(record.answerer)
    if needed and answerer is not None:
        finding = confirm(finding, _replays(tools, answerer, record, needed))
    return Success(answer_id=answer_id, steps=steps, finding=finding)


def judged_now(unit: Unit, tenant_id: TenantId, success: Success) -> Success:
    """The same in the commit: a rule may have been concluded to be wrong while the success was looked at.

    A new suspicion has no replay; it stands until somebody looks.
    """
    steps = wrong_rules(unit, tenant_id, success.steps)
    if steps == success.steps:
        return success
    return replace(success, steps=steps, finding=suspect(Outcome.SUCCESS, steps))


def may_be_judged(signal: Signal) -> bool:
    return signal.outcome is Outcome.SUCCESS and signal.answer_id is not None


def wrong_rules(unit: Unit, tenant_id: TenantId, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps as they are judged now: a version of a rule of which a person concluded category C is wrong."""
    return tuple(_judged(unit, tenant_id, step) for step in steps)


def _look(unit: Unit, tenant_id: TenantId, answer_id: str) -> tuple[AnswerRecord | None, tuple[Step, ...]]:
    record = find_record(unit, tenant_id, answer_id)
    return record, () if record is None else wrong_rules(unit, tenant_id, record.steps)


def _judged(unit: Unit, tenant_id: TenantId, step: Step) -> Step:
    rule_id, _, version = step.ref.rpartition("@")
    if step.kind is not StepKind.RULE or step.verdict is StepVerdict.WRONG or not version.isdecimal():
        return step
    if not unit.delivery.has_conclusion(tenant_id, rule_id, int(version), Category.RULE):
        return step
    return replace(step, verdict=StepVerdict.WRONG, evidence="a person concluded that this version is wrong")


def _replays(
    tools: Tools, answerer: Answerer, record: AnswerRecord, needed: tuple[tuple[str, ...], ...]
) -> list[Replay]:
    """The first output succeeded, so a replay that says the same is a success, and one that says otherwise is not."""
    works = {repaired: _work(answerer, record, repaired) for repaired in needed}
    found = run_within(tools.delivery.answer_seconds, works, owner=lambda _: f"replay {record.answerer}")
    first = canonicalize(record.output)
    return [
        Replay(repaired=repaired, outcome=Outcome.SUCCESS if output == first else Outcome.FAILURE)
        for repaired, output in found.items()
        if not isinstance(output, Exception | Late)
    ]


def _work(answerer: Answerer, record: AnswerRecord, repaired: tuple[str, ...]) -> Callable[[], bytes]:
    def again() -> bytes:
        return canonicalize(answerer.replay(record.question, repaired))

    return again


def remark_answers(unit: Unit, tenant_id: TenantId, conclusion: Conclusion, *, service: str) -> tuple[Remark, ...]:
    """In the commit of the conclusion. The specified counters stay as they are; `tainted_success` may grow."""
    rule, at = conclusion.rule, conclusion.concluded_at
    answers = unit.delivery.answers_with(tenant_id, rule.rule_id, rule.version, Outcome.SUCCESS)
    records = {one: record for one in answers if (record := find_record(unit, tenant_id, one)) is not None}
    successes = [_known(unit, tenant_id, answer_id, record) for answer_id, record in records.items()]
    found = remark(rule, successes, evidence=f"root cause {conclusion.item_id} was concluded as category C")
    for one in found:
        _add_finding(unit, tenant_id, one, conclusion, at=at)
        if one.is_newly_tainted:
            for ref in records[one.answer_id].annotation.rules:
                _taint(unit, tenant_id, ref, one, conclusion, service=service)
    return found


def _succeeded(unit: Unit, tenant_id: TenantId, answer_id: str, rule_id: str) -> tuple[Signal, ...]:
    """The signals by which this success was counted for a rule, oldest first."""
    signals = [read_text(row.text, Signal) for row in unit.delivery.answer_signals(tenant_id, answer_id)]
    return tuple(one for one in signals if one.outcome is Outcome.SUCCESS and rule_id in one.rule_ids)


def _known(unit: Unit, tenant_id: TenantId, answer_id: str, record: AnswerRecord) -> Success:
    findings = unit.delivery.findings(tenant_id, answer_id)
    if findings:
        return read_text(findings[-1].text, Success)
    return Success(answer_id=answer_id, steps=record.steps, finding=suspect(Outcome.SUCCESS, record.steps))


def _add_finding(unit: Unit, tenant_id: TenantId, one: Remark, conclusion: Conclusion, *, at: Instant) -> None:
    told = {"answer_id": one.answer_id, "standing": str(one.after.standing), "item_id": conclusion.item_id}
    event = news(EntryKind.ANSWER_REMARKED, one.answer_id, told)
    draft = delivery_entry(tenant_id, EntryKind.ANSWER_REMARKED, one, at=at, events=(event,))
    success = Success(answer_id=one.answer_id, steps=one.steps, finding=one.after)
    unit.record(draft, AnswerFinding(answer_id=one.answer_id, text=text_of(success), sequence_number=0))


def _taint(
    unit: Unit, tenant_id: TenantId, rule: RuleRef, one: Remark, conclusion: Conclusion, *, service: str
) -> None:
    """Nothing about a rule for which nobody told this success: it has none to be tainted.

    A rule that a person called wrong, now or before, has its answer; another wrong one gets a root cause of its own.
    """
    row, signals = (
        load_counters(unit, tenant_id, rule.rule_id),
        _succeeded(unit, tenant_id, one.answer_id, rule.rule_id),
    )
    lucky = min(len(signals), row.success - row.tainted_success)
    if not lucky:
        return
    tally, watch, item_id = taint(tally_of(row), lucky), watch_of(row), row.item_id
    is_concluded = unit.delivery.has_conclusion(tenant_id, rule.rule_id, rule.version, Category.RULE)
    if render_ref(rule) in one.after.wrong and not is_concluded:
        followed = provoke(watch)
        watch = followed.watch
        if followed.move is Move.OPEN:
            item_id = _open(unit, tenant_id, rule, signals, one, conclusion, service=service)
    counters = counters_of(rule.rule_id, tally, watch, item_id=item_id)
    reason = f"answer {one.answer_id} rests on a rule that was concluded to be wrong"
    record_counters(unit, tenant_id, counters, reason, at=conclusion.concluded_at)


def _open(
    unit: Unit,
    tenant_id: TenantId,
    rule: RuleRef,
    signals: tuple[Signal, ...],
    one: Remark,
    conclusion: Conclusion,
    *,
    service: str,
) -> str:
    """By the answer and the conclusion, once: a signal of it may have opened an item that people have closed since."""
    item = open_rootcause_in(
        unit,
        tenant_id,
        rule,
        signals,
        reason=OpeningReason.TWO_WRONG,
        tally=tally_of(load_counters(unit, tenant_id, rule.rule_id)),
        service=service,
        at=conclusion.concluded_at,
        two_wrong=one.after,
        opened_by=f"{one.answer_id} {conclusion.item_id}",
    )
    return item.item_id
