"""What one unit of work makes of the posts that share it: each is counted after the one before it, or refused whole.

posts -> one look for all -> examine (everything that can refuse a post) -> `count_outcome` of each signal -> store
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from assay.delivery.attribute import find_same, verify_attribution
from assay.delivery.errors import OutcomeAnswerError
from assay.delivery.outcome import Signal, verify_same
from assay.delivery.rule import RuleId
from assay.delivery.twowrong import Success
from assay.flows.delivery.answer_record import find_record
from assay.flows.delivery.count_outcome import Reported, count_outcome
from assay.flows.delivery.delivery_entry import read_text
from assay.flows.delivery.judge_success import judged_now
from assay.flows.delivery.outcome_batch import OutcomeBatch
from assay.flows.delivery.ready_signal import ReadySignal
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
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
        raise OutcomeAnswerError(f"expected an answer of this node, got `{signal.answer_id[:80]}`")
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
