"""Housekeeping of delivery: batches whose window ended, questions to people, jobs of training."""

from collections import deque
from functools import partial

from msgspec import Struct

from assay.delivery.outcome import Outcome, RuleOutcome, Signal
from assay.delivery.rule import RuleId, RuleRef
from assay.delivery.trigger import Batch, BatchRule, Move, TriggerRule, closed_batches, follow_batch
from assay.delivery.workitem import MOST_CONTEXTS, OpeningReason
from assay.flows.delivery.delivery_entry import read_text
from assay.flows.delivery.open_rootcause import Asked, ask_at_once, ask_people, open_rootcause_in
from assay.flows.delivery.outcome_batch import counters_of, load_counters, record_counters, tally_of, watch_of
from assay.flows.delivery.training import trigger_training
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.delivery_store import RuleCounters, RuleSignal
from assay.ports.trainer import TrainingJob


class LookedAt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A batch that was looked at, and the item it opened, if it did."""

    batch: Batch
    item_id: str | None


def check_batches(tools: Tools, tenant_id: TenantId, *, at: Instant) -> tuple[LookedAt, ...]:
    """Look at every window that has ended (PRAMANA 7.4.3); does nothing where batching is off."""
    batching = tools.delivery.trigger.batching
    if batching is None:
        return ()
    names = tools.database.read(lambda unit: unit.delivery.rule_ids(tenant_id))
    found: list[LookedAt] = []
    for rule_id in map(RuleId, names):
        # Looked for by a reader first: a rule of which nothing has ended costs the writer nothing.
        if not tools.database.read(partial(_ended, tenant_id=tenant_id, rule_id=rule_id, batching=batching, at=at)):
            continue
        found += tools.database.write(
            partial(_check_rule, tools=tools, tenant_id=tenant_id, rule_id=rule_id, batching=batching, at=at)
        )
    return tuple(found)


def _check_rule(
    unit: Unit, *, tools: Tools, tenant_id: TenantId, rule_id: RuleId, batching: BatchRule, at: Instant
) -> list[LookedAt]:
    ended = _ended(unit, tenant_id=tenant_id, rule_id=rule_id, batching=batching, at=at)
    return [_look_at(unit, tools, tenant_id, batch, tools.delivery.trigger, at) for batch in ended]


def _ended(unit: Unit, *, tenant_id: TenantId, rule_id: RuleId, batching: BatchRule, at: Instant) -> tuple[Batch, ...]:
    """The batches of a rule that have ended and were not looked at."""
    row = load_counters(unit, tenant_id, rule_id)
    if row.batched_until is None:
        # Nothing has come since batching is on.
        return ()
    signals = unit.delivery.rule_signals(tenant_id, rule_id, since=row.batched_until)
    return closed_batches(map(_outcome, signals), batching, now=at)


def _outcome(one: RuleSignal) -> RuleOutcome:
    return RuleOutcome(
        rule_id=RuleId(one.rule_id),
        rule_version=one.rule_version,
        signal_id=one.signal_id,
        outcome=Outcome(one.outcome),
        session=one.session,
        occurred_at=one.occurred_at,
        received_at=one.received_at,
    )


def _look_at(
    unit: Unit, tools: Tools, tenant_id: TenantId, batch: Batch, trigger: TriggerRule, at: Instant
) -> LookedAt:
    row = load_counters(unit, tenant_id, batch.rule_id)
    followed = follow_batch(watch_of(row), batch, trigger)
    item_id = row.item_id
    if followed.move is Move.OPEN:
        item_id = _open(unit, tools, tenant_id, batch, row, at)
    counters = counters_of(batch.rule_id, tally_of(row), followed.watch, item_id=item_id)
    record_counters(unit, tenant_id, counters, f"{batch.batch_id} has ended", at=at)
    return LookedAt(batch=batch, item_id=item_id if followed.move is Move.OPEN else None)


def _open(unit: Unit, tools: Tools, tenant_id: TenantId, batch: Batch, row: RuleCounters, at: Instant) -> str:
    """People see the failures of the batch itself, under the version that the last of them was about."""
    failures = _failures(unit, tenant_id, batch, since=max(batch.starts_at, row.batched_until or batch.starts_at))
    version = failures[-1].rule_version or unit.delivery.latest_versions(tenant_id, [batch.rule_id]).get(
        batch.rule_id, 1
    )
    item = open_rootcause_in(
        unit,
        tenant_id,
        RuleRef(rule_id=batch.rule_id, version=version),
        _signals(unit, tenant_id, failures),
        reason=OpeningReason.FAILURES,
        tally=tally_of(row),
        service=tools.delivery.service,
        at=at,
        batch_id=batch.batch_id,
    )
    ask_at_once(unit, tools, tenant_id, item, at=at)
    return item.item_id


def _failures(unit: Unit, tenant_id: TenantId, batch: Batch, *, since: Instant) -> list[RuleSignal]:
    """The latest of them, as many as an item shows, oldest first."""
    rows = unit.delivery.rule_signals(tenant_id, batch.rule_id, since=since)
    failed = (one for one in rows if one.received_at < batch.ends_at and one.outcome == Outcome.FAILURE)
    return list(deque(failed, maxlen=MOST_CONTEXTS))


def _signals(unit: Unit, tenant_id: TenantId, rows: list[RuleSignal]) -> tuple[Signal, ...]:
    found = {one.signal_id: one for one in unit.delivery.find_signals(tenant_id, [row.signal_id for row in rows])}
    return tuple(read_text(found[row.signal_id].text, Signal) for row in rows)


class Tended(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one round of housekeeping came to."""

    batches: tuple[LookedAt, ...]
    asked: tuple[Asked, ...]
    triggered: tuple[TrainingJob, ...]


def tend_delivery(tools: Tools, tenant_id: TenantId, *, at: Instant) -> Tended:
    """One round; what a crash left undone is found and done by the next. Jobs are taken by `run_training`."""
    batches = check_batches(tools, tenant_id, at=at)
    asked = ask_people(tools, tenant_id, at=at)
    return Tended(batches=batches, asked=asked, triggered=trigger_training(tools, tenant_id, at=at))
