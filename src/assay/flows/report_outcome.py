"""PHALA: what came of an answer reaches the rules that caused it, once, and durably (PRAMANA 7.4).

sender -> signal -> known? -> may this sender? -> counters and threshold of each rule -> entry, rows, events, root cause
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from assay.delivery.attribute import find_same, verify_attribution
from assay.delivery.errors import OutcomeAnswerError, OutcomeSourceError, UnknownRuleError
from assay.delivery.outcome import (
    ReporterGrant,
    RuleOutcome,
    Signal,
    outcomes_of,
    parse_outcome,
    render_phala,
    verify_reporter,
    verify_same,
)
from assay.delivery.rule import RuleId, RuleRef
from assay.delivery.sense import StandardEvent
from assay.delivery.tally import Tally, count, taint
from assay.delivery.trace import loop_at_outcome
from assay.delivery.trigger import Followed, Move, TriggerRule, Watch, batch_id_at, follow, provoke
from assay.delivery.twowrong import Success
from assay.delivery.workitem import OpeningReason, item_id_of
from assay.flows.answer_record import find_record
from assay.flows.authenticate import authenticate, authenticate_in
from assay.flows.delivery_entry import delivery_entry, read_text, sense, text_of
from assay.flows.judge_success import judge_success, may_be_judged
from assay.flows.open_rootcause import ask_at_once, open_rootcause_in, recent_signals
from assay.flows.rule_counters import counters_of, load_counters, tally_of, watch_of
from assay.flows.rule_proofs import find_granted
from assay.flows.sender_shelf import Sender
from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, Event
from assay.ports.database import Unit
from assay.ports.delivery_store import AnswerFinding, RuleSignal, StoredSignal

__all__ = ["Reported", "RuleReport", "report_outcome", "report_outcomes"]


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

    outcome: RuleOutcome
    version: int
    tally: Tally
    watch: Watch
    move: Move
    reason: OpeningReason
    item_id: str | None
    batch_id: str | None


@dataclass(slots=True)
class _Known:
    """What is the same for all signals of one call: the sender's grants, and which version of a rule is in force."""

    grants: Iterable[ReporterGrant]
    versions: dict[RuleId, int] = field(default_factory=dict)

    def in_force(self, unit: Unit, tenant_id: TenantId, rule_id: RuleId) -> int:
        if rule_id not in self.versions:
            version = unit.delivery.latest_version(tenant_id, rule_id)
            if version is None:
                raise UnknownRuleError(f"the registry knows no rule `{rule_id[:80]}`")
            self.versions[rule_id] = version
        return self.versions[rule_id]


def report_outcome(
    tools: Tools, content: bytes, *, credential: str, idempotency_key: str | None = None, at: Instant
) -> Reported:
    """One signal; refused whole without a credential, malformed, or for a rule not granted or not known."""
    [done] = report_outcomes(tools, [(content, idempotency_key)], credential=credential, at=at)
    return done


def report_outcomes(
    tools: Tools, contents: Sequence[tuple[bytes, str | None]], *, credential: str, at: Instant
) -> tuple[Reported, ...]:
    """Many of one sender, each with its idempotency key, in one commit: all of them count, or none."""

    def look() -> Sender:
        found = authenticate(tools, credential, at=at).principal
        return found.tenant_id, found.id

    # Read before the commit, on the caller's own thread; that the sender is who they say is found out in the commit.
    tenant_id, sender_id = tools.delivery.senders.get(credential, look)
    signals = [parse_outcome(content, sender=sender_id, at=at, idempotency_key=key) for content, key in contents]
    if any(map(may_be_judged, signals)):
        # Answering again is work that nobody gets for a credential that was only named.
        look()
    judged = [judge_success(tools, tenant_id, signal) for signal in signals]

    def work(unit: Unit) -> tuple[Reported, ...]:
        # Whoever lost their credential or their grant meanwhile has reported nothing.
        again = authenticate_in(unit, credential, at=at).principal
        if (again.tenant_id, again.id) != (tenant_id, sender_id):
            raise OutcomeSourceError(f"expected the credential of `{sender_id}`, got one of `{again.id}`")
        known = _Known(grants=_grants(unit, again.tenant_id, again.id))
        return tuple(
            _report(unit, tools, again, signal, success, known) for signal, success in zip(signals, judged, strict=True)
        )

    return tools.database.write(work)


def _report(
    unit: Unit, tools: Tools, sender: Principal, signal: Signal, success: Success | None, same: _Known
) -> Reported:
    tenant_id = sender.tenant_id
    known = unit.delivery.find_signal(tenant_id, signal.signal_id)
    if known is not None:
        verify_same(read_text(known.text, Signal), signal)
        return Reported(signal_id=signal.signal_id, is_new=False, sequence_number=known.sequence_number)
    verify_reporter(signal, same.grants)
    told = _told_before(unit, tenant_id, signal)
    if told is not None:
        return Reported(signal_id=told.signal_id, is_new=False, sequence_number=told.sequence_number)
    versions = _versions(unit, tenant_id, signal, same)
    # A suspicion is told once for each answer: a second report of the same success finds it there.
    tainting = success is not None and success.finding.is_tainted and not _is_tainted(unit, tenant_id, signal)
    moved = [
        _move(unit, tools.delivery.trigger, tenant_id, one, versions[one.rule_id], signal, tainting=tainting)
        for one in outcomes_of(signal, versions)
    ]
    entry = unit.ledger.append(_entry(tools, tenant_id, signal, moved, tainting=tainting)).sequence_number
    _store(unit, tenant_id, signal, moved, entry)
    if success is not None:
        _store_finding(unit, tenant_id, success, entry)
    for one in moved:
        _follow_up(unit, tools, tenant_id, signal, one, success)
    return Reported(
        signal_id=signal.signal_id,
        is_new=True,
        sequence_number=entry,
        rules=tuple(_told(one, tainting=tainting) for one in moved),
    )


def _grants(unit: Unit, tenant_id: TenantId, sender: PrincipalId) -> Iterable[ReporterGrant]:
    grant = find_granted(unit, tenant_id, sender)
    return () if grant is None else (grant,)


def _versions(unit: Unit, tenant_id: TenantId, signal: Signal, same: _Known) -> Mapping[RuleId, int]:
    """Those that the named answer used, else those in force; a rule or an answer that nobody knows is refused."""
    if signal.answer_id is None:
        return {rule_id: same.in_force(unit, tenant_id, rule_id) for rule_id in signal.rule_ids}
    record = find_record(unit, tenant_id, signal.answer_id)
    if record is None:
        raise OutcomeAnswerError(f"expected an answer of this node, got `{signal.answer_id[:80]}`")
    verify_attribution(signal, record.annotation, withheld=record.withheld)
    used = {ref.rule_id: ref.version for ref in record.annotation.rules}
    return {rule_id: used[rule_id] for rule_id in signal.rule_ids}


def _told_before(unit: Unit, tenant_id: TenantId, signal: Signal) -> StoredSignal | None:
    """The row of the same outcome of the same answer, which this sender told under another key or under none."""
    if signal.answer_id is None:
        return None
    rows = unit.delivery.answer_signals(tenant_id, signal.answer_id)
    found = find_same(signal, [read_text(one.text, Signal) for one in rows])
    return None if found is None else next(one for one in rows if one.signal_id == found.signal_id)


def _is_tainted(unit: Unit, tenant_id: TenantId, signal: Signal) -> bool:
    if signal.answer_id is None:
        return False
    found = unit.delivery.findings(tenant_id, signal.answer_id)
    return bool(found) and read_text(found[-1].text, Success).finding.is_tainted


def _move(
    unit: Unit,
    trigger: TriggerRule,
    tenant_id: TenantId,
    outcome: RuleOutcome,
    version: int,
    signal: Signal,
    *,
    tainting: bool,
) -> _Moved:
    """PRAMANA 7.4.2, steps 1 to 5; with batching the fifth waits for the end of the window."""
    row = load_counters(unit, tenant_id, outcome.rule_id)
    tally, watch = count(tally_of(row), outcome.outcome), watch_of(row)
    batching = trigger.batching
    followed = follow(watch, outcome.outcome, trigger) if batching is None else Followed(watch=watch, move=Move.NONE)
    reason = OpeningReason.FAILURES
    if tainting:
        tally, followed, reason = taint(tally), provoke(followed.watch), OpeningReason.TWO_WRONG
    item_id = item_id_of(outcome.rule_id, signal.signal_id) if followed.move is Move.OPEN else row.item_id
    return _Moved(
        outcome=outcome,
        version=version,
        tally=tally,
        watch=followed.watch,
        move=followed.move,
        reason=reason,
        item_id=item_id,
        batch_id=None if batching is None else batch_id_at(outcome.rule_id, signal.received_at, batching),
    )


def _entry(tools: Tools, tenant_id: TenantId, signal: Signal, moved: Sequence[_Moved], *, tainting: bool) -> Draft:
    """The signal with what it did, and one `phala.generated` for each rule."""
    events: list[Event] = []
    for one in moved:
        told = render_phala(
            signal,
            one.outcome.rule_id,
            rca_triggered=one.move is Move.OPEN,
            two_wrong=tainting,
            batch_id=one.batch_id,
        )
        event = StandardEvent.PHALA_GENERATED
        events.append(sense(event, one.outcome.rule_id, told, service=tools.delivery.service, at=signal.received_at))
    # What was received is bound by its hash; the row beside the entry holds all of it.
    body = {
        "signal_id": signal.signal_id,
        "content_hash": signal.content_hash,
        "sender": signal.sender,
        "outcome": signal.outcome.value,
        "answer_id": signal.answer_id,
        "two_wrong": tainting,
        "rules": [{"rule_id": one.outcome.rule_id, "version": one.version, "move": one.move.value} for one in moved],
    }
    return delivery_entry(tenant_id, EntryKind.OUTCOME_REPORTED, body, at=signal.received_at, events=events)


def _store(unit: Unit, tenant_id: TenantId, signal: Signal, moved: Sequence[_Moved], entry: int) -> None:
    unit.delivery.add_signal(
        tenant_id,
        StoredSignal(
            signal_id=signal.signal_id,
            content_hash=signal.content_hash,
            session=signal.session,
            answer_id=signal.answer_id,
            text=text_of(signal),
            received_at=signal.received_at,
            sequence_number=entry,
        ),
    )
    for one in moved:
        outcome = one.outcome
        unit.delivery.add_rule_signal(
            tenant_id,
            RuleSignal(
                rule_id=outcome.rule_id,
                sequence_number=entry,
                rule_version=one.version,
                signal_id=outcome.signal_id,
                outcome=outcome.outcome,
                session=outcome.session,
                occurred_at=outcome.occurred_at,
                received_at=outcome.received_at,
            ),
        )
        row = counters_of(outcome.rule_id, one.tally, one.watch, item_id=one.item_id)
        unit.delivery.put_counters(tenant_id, row)


def _store_finding(unit: Unit, tenant_id: TenantId, success: Success, entry: int) -> None:
    """Each finding stands beside the earlier ones; one that says nothing new is left out."""
    known = unit.delivery.findings(tenant_id, success.answer_id)
    if known and read_text(known[-1].text, Success).finding == success.finding:
        return
    row = AnswerFinding(
        answer_id=success.answer_id, position=len(known) + 1, text=text_of(success), sequence_number=entry
    )
    unit.delivery.add_finding(tenant_id, row)


def _follow_up(
    unit: Unit, tools: Tools, tenant_id: TenantId, signal: Signal, one: _Moved, success: Success | None
) -> None:
    """What comes after the count: the root cause, and the turn of the loop where the answer is ours."""
    rule = RuleRef(rule_id=one.outcome.rule_id, version=one.version)
    if one.move is Move.OPEN:
        is_two_wrong = one.reason is OpeningReason.TWO_WRONG
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
    if signal.answer_id is not None and unit.delivery.find_answer(tenant_id, signal.answer_id) is not None:
        loop = loop_at_outcome(signal, rule, one.tally, one.move, answer_id=signal.answer_id, item_id=one.item_id)
        unit.delivery.add_loop(tenant_id, signal.answer_id, text_of(loop))


def _told(one: _Moved, *, tainting: bool) -> RuleReport:
    return RuleReport(
        rule_id=one.outcome.rule_id,
        rule_version=one.version,
        rca_triggered=one.move is Move.OPEN,
        item_id=one.item_id,
        two_wrong=tainting,
        batch_id=one.batch_id,
        tally=one.tally,
    )
