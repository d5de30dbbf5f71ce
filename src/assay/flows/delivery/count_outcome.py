"""What a new signal does: counters and threshold of each of its rules, its entry, its rows, its events, a root cause.

signal + versions -> where each rule stands after it -> entry -> rows -> root cause where one opens (PRAMANA 7.4.2)
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from assay.delivery.outcome import Outcome, Signal
from assay.delivery.plain import plain_bytes
from assay.delivery.rule import RuleId, RuleRef
from assay.delivery.tally import Tally, count, taint
from assay.delivery.trigger import (
    Followed,
    Move,
    TriggerRule,
    Watch,
    batch_id_at,
    begin_batching,
    end_batching,
    follow,
    provoke,
)
from assay.delivery.twowrong import Success
from assay.delivery.workitem import OpeningReason, item_id_of
from assay.facts.delivery import CountedRule, hash_of
from assay.flows.delivery.delivery_entry import read_text, text_of
from assay.flows.delivery.open_rootcause import ask_at_once, open_rootcause_in, recent_signals
from assay.flows.delivery.outcome_batch import OutcomeBatch, ReadySignal, Standing, counters_of, generated_event
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.kernel.instant import render_instant
from assay.kernel.ledger import Draft, EntryKind, Event, draft_of
from assay.ports.database import Unit
from assay.ports.delivery_store import AnswerFinding, RuleCounters, RuleSignal, StoredSignal

_COUNTED = CountedRule.__struct_fields__


class RuleReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a signal did to one rule; `rca_triggered` is ours to say."""

    rule_id: RuleId
    rule_version: int
    rca_triggered: bool
    item_id: str | None
    two_wrong: bool
    batch_id: str | None
    tally: Tally


class Reported(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signal is on disk and counted; `is_new` is false where it was before, and then nothing moved."""

    signal_id: str
    is_new: bool
    sequence_number: int
    rules: tuple[RuleReport, ...] = ()


class _Moved(Struct, frozen=True, kw_only=True):
    """Where one rule stands after the signal."""

    rule_id: RuleId
    version: int
    tally: Tally
    watch: Watch
    move: Move
    reason: OpeningReason
    item_id: str | None
    batch_id: str | None


def count_outcome(
    batch: OutcomeBatch,
    tools: Tools,
    tenant_id: TenantId,
    ready: ReadySignal,
    success: Success | None,
    versions: Mapping[RuleId, int],
) -> Reported:
    """Count a signal that nobody has counted; whatever is raised here, the unit of work must not be kept."""
    unit, signal = batch.unit, ready.signal
    tainting = success is not None and success.finding.is_tainted
    amended = frozenset() if success is None else _amend_earlier(batch, tenant_id, success)
    finding = None if success is None else _new_finding(unit, tenant_id, success)
    # Every report of such a success counts as one; people are asked once for each answer and rule.
    asked = _tainted_rules(unit, tenant_id, success) if success is not None and tainting else frozenset()
    moved = [
        _move(
            batch,
            tools.delivery.trigger,
            tenant_id,
            RuleRef(rule_id=rule_id, version=versions[rule_id]),
            signal,
            tainting=tainting,
            asking=tainting and rule_id not in asked,
        )
        for rule_id in signal.rule_ids
    ]
    # Rows are added by the batch, all at once, and are those that the fact of the entry gives.
    others = amended.difference(signal.rule_ids)
    counters = [counters_of(one.rule_id, one.tally, one.watch, item_id=one.item_id) for one in moved]
    counters += [_counters(batch, tenant_id, rule_id) for rule_id in sorted(others)]
    draft = _entry(tools, tenant_id, ready, moved, counters, finding, tainting=tainting)
    entry, session = unit.append(draft).sequence_number, signal.session
    rows = [_rule_row(signal, session, one, entry) for one in moved]
    batch.add(tenant_id, signal, _row(ready, session, entry), rows, others)
    if finding is not None and success is not None:
        row = AnswerFinding(answer_id=success.answer_id, text=finding, sequence_number=entry)
        unit.delivery.add_findings(tenant_id, [row])
    for one in moved:
        if one.move is Move.OPEN:
            _open(batch, tools, tenant_id, signal, one, success)
    return Reported(
        signal_id=signal.signal_id,
        is_new=True,
        sequence_number=entry,
        rules=tuple(_told(one, tainting=tainting) for one in moved),
    )


def _counters(batch: OutcomeBatch, tenant_id: TenantId, rule_id: RuleId) -> RuleCounters:
    tally, watch, item_id = batch.standing(tenant_id, rule_id)
    return counters_of(rule_id, tally, watch, item_id=item_id)


def _amend_earlier(batch: OutcomeBatch, tenant_id: TenantId, success: Success) -> frozenset[RuleId]:
    """Earlier reports of the same success follow the finding of now: what is cleared taints no rule any more.

    Returns the rules whose counters it changed.
    """
    is_tainted = success.finding.is_tainted
    if is_tainted == _was_tainted(batch.unit, tenant_id, success.answer_id):
        return frozenset()
    # Those of this unit are looked for in the table, too.
    batch.store()
    told_rules = Counter(_told_rules(batch.unit, tenant_id, success.answer_id))
    for rule_id, told in told_rules.items():
        tally = batch.standing(tenant_id, rule_id).tally
        change = min(told, tally.success - tally.tainted_success) if is_tainted else -min(told, tally.tainted_success)
        batch.amend(tenant_id, rule_id, taint(tally, change))
    return frozenset(told_rules)


def _tainted_rules(unit: Unit, tenant_id: TenantId, success: Success) -> frozenset[RuleId]:
    """The rules for which this success was told before, and known to be one by two wrong steps."""
    if not _was_tainted(unit, tenant_id, success.answer_id):
        return frozenset()
    return frozenset(_told_rules(unit, tenant_id, success.answer_id))


def _was_tainted(unit: Unit, tenant_id: TenantId, answer_id: str) -> bool:
    found = unit.delivery.findings(tenant_id, answer_id)
    return bool(found) and read_text(found[-1].text, Success).finding.is_tainted


def _told_rules(unit: Unit, tenant_id: TenantId, answer_id: str) -> Iterator[RuleId]:
    """The rules of each report of this success, as often as they were told."""
    told = (read_text(row.text, Signal) for row in unit.delivery.answer_signals(tenant_id, answer_id))
    return (rule_id for one in told if one.outcome is Outcome.SUCCESS for rule_id in one.rule_ids)


def _move(
    batch: OutcomeBatch,
    trigger: TriggerRule,
    tenant_id: TenantId,
    rule: RuleRef,
    signal: Signal,
    *,
    tainting: bool,
    asking: bool,
) -> _Moved:
    """PRAMANA 7.4.2: where a rule stands after a signal. `tainting`: the success was one by two wrong steps; `asking`:
    people were not asked about that yet.
    """
    before, watch, open_item = batch.standing(tenant_id, rule.rule_id)
    # 1. The total, 2. the outcome's own counter, and 3. the run of failures; 4. the confidence follows from these.
    tally, batching = count(before, signal.outcome), trigger.batching
    # 5. The threshold of a root cause; with batching (7.4.3) it is looked at when the window ends.
    if batching is None:
        followed = follow(end_batching(watch), signal.outcome, trigger)
    else:
        followed = Followed(watch=begin_batching(watch, signal.received_at, batching), move=Move.NONE)
    reason = OpeningReason.FAILURES
    if tainting:
        tally, reason = taint(tally), OpeningReason.TWO_WRONG
    # An open item has taken the signal in already.
    if asking and followed.move is not Move.ABSORB:
        followed = provoke(followed.watch)
    item_id = item_id_of(rule.rule_id, signal.signal_id) if followed.move is Move.OPEN else open_item
    return _Moved(
        rule_id=rule.rule_id,
        version=rule.version,
        tally=tally,
        watch=followed.watch,
        move=followed.move,
        reason=reason,
        item_id=item_id,
        batch_id=None if batching is None else batch_id_at(rule.rule_id, signal.received_at, batching),
    )


def _entry(
    tools: Tools,
    tenant_id: TenantId,
    ready: ReadySignal,
    moved: Sequence[_Moved],
    counters: Sequence[RuleCounters],
    finding: str | None,
    *,
    tainting: bool,
) -> Draft:
    """The signal with what it did, and one `phala.generated` for each rule."""
    signal = ready.signal
    events = [_generated(ready, one, tools.delivery.service, tainting=tainting) for one in moved]
    # What was received is bound by its hash; the row beside the entry holds all of it.
    body: dict[str, Any] = {
        "signal_id": signal.signal_id,
        "content_hash": signal.content_hash,
        "sender": signal.sender,
        "outcome": signal.outcome,
        "answer_id": signal.answer_id,
        "two_wrong": tainting,
        "rules": [{"rule_id": one.rule_id, "version": one.version, "move": one.move} for one in moved],
        "record_hash": hash_of(ready.text),
        "session": signal.session,
        "occurred_at": render_instant(signal.occurred_at),
        "counters": [_counted(row) for row in counters],
    }
    if finding is not None:
        body["finding_hash"] = hash_of(finding)
    return draft_of(tenant_id, EntryKind.OUTCOME_REPORTED, plain_bytes(body), at=signal.received_at, events=events)


def _counted(row: RuleCounters) -> dict[str, object]:
    """As `CountedRule`: what is nothing is left out."""
    told = {name: value for name in _COUNTED if (value := getattr(row, name))}
    if row.batched_until is not None:
        told["batched_until"] = render_instant(row.batched_until)
    return told


def _generated(ready: ReadySignal, one: _Moved, service: str, *, tainting: bool) -> Event:
    is_opening = one.move is Move.OPEN
    if ready.usual is not None and not is_opening and not tainting and one.batch_id is None:
        return ready.usual
    return generated_event(
        ready.signal,
        one.rule_id,
        service=service,
        rca_triggered=is_opening,
        two_wrong=tainting,
        batch_id=one.batch_id,
    )


def _row(ready: ReadySignal, session: str, entry: int) -> StoredSignal:
    signal = ready.signal
    return StoredSignal(
        signal_id=signal.signal_id,
        content_hash=signal.content_hash,
        session=session,
        answer_id=signal.answer_id,
        text=ready.text,
        received_at=signal.received_at,
        sequence_number=entry,
        bound=1,
    )


def _rule_row(signal: Signal, session: str, one: _Moved, entry: int) -> tuple[RuleSignal, Standing]:
    row = RuleSignal(
        rule_id=one.rule_id,
        sequence_number=entry,
        rule_version=one.version,
        signal_id=signal.signal_id,
        outcome=signal.outcome,
        session=session,
        occurred_at=signal.occurred_at,
        received_at=signal.received_at,
        bound=1,
    )
    return row, Standing(one.tally, one.watch, one.item_id)


def _new_finding(unit: Unit, tenant_id: TenantId, success: Success) -> str | None:
    """The text of a finding; None for one that says nothing new."""
    known = unit.delivery.findings(tenant_id, success.answer_id)
    if known and read_text(known[-1].text, Success).finding == success.finding:
        return None
    return text_of(success)


def _open(
    batch: OutcomeBatch, tools: Tools, tenant_id: TenantId, signal: Signal, one: _Moved, success: Success | None
) -> None:
    unit, rule = batch.unit, RuleRef(rule_id=one.rule_id, version=one.version)
    is_two_wrong = one.reason is OpeningReason.TWO_WRONG
    # The item shows the signals that opened it, and reads them from their table.
    batch.store()
    item = open_rootcause_in(
        unit,
        tenant_id,
        rule,
        recent_signals(unit, tenant_id, rule.rule_id, at_most=1 if is_two_wrong else one.watch.streak),
        reason=one.reason,
        tally=one.tally,
        service=tools.delivery.service,
        at=signal.received_at,
        two_wrong=success.finding if is_two_wrong and success is not None else None,
    )
    ask_at_once(unit, tools, tenant_id, item, at=signal.received_at)


def _told(one: _Moved, *, tainting: bool) -> RuleReport:
    return RuleReport(
        rule_id=one.rule_id,
        rule_version=one.version,
        rca_triggered=one.move is Move.OPEN,
        item_id=one.item_id,
        two_wrong=tainting,
        batch_id=one.batch_id,
        tally=one.tally,
    )
