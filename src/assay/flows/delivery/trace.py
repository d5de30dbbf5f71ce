"""The complete history of an answer, found by any id in it: who asked, gates, tickets, reviewers, outcome, root cause.

id -> the answers, bundles, tickets, root causes, records and entries that it leads to -> steps in the order of time
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, Struct

from assay.delivery.conclude import Conclusion
from assay.delivery.outcome import Outcome, Signal
from assay.delivery.rule import RuleId, RuleRef, render_ref
from assay.delivery.tally import Tally, recount
from assay.delivery.trace import (
    Loop,
    Stage,
    Trace,
    check_trace,
    gather_trace,
    loop_at_delivery,
    loop_at_outcome,
    loop_at_query,
    loop_at_root_cause,
)
from assay.delivery.trigger import Move
from assay.delivery.workitem import WorkItem
from assay.facts.delivery import AnswerDelivered, CountedRule, OutcomeReported
from assay.flows.delivery.answer_record import AnswerRecord, get_record
from assay.flows.delivery.delivery_entry import read_text
from assay.flows.errors import NotFoundError
from assay.flows.request import Request
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.digest import Digest
from assay.kernel.entry import parse_entry
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.permits.permit import Permit, PermitId
from assay.ports.database import Unit
from assay.ports.delivery_store import DeliveredAnswer
from assay.ports.ledger_store import StoredEntry
from assay.review.kind import TicketKind

B = TypeVar("B", bound=Struct)
_BUNDLE = "bundle:"
_TRACE_DIGITS = 32
_HIGHEST = 2**53 - 1
# Members of entries that name something of a history.
_NAMES = frozenset(
    {"answer_id", "signal_id", "bundle_hash", "ticket_id", "item_id", "telemetry_id", "permit_id", "about"}
)


class ShowTrace(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=256,
            description="Any id of the history: an answer, bundle, record, ticket, outcome, root cause, training pair, "
            "permit, trace id, or the number of an entry.",
        ),
    ]


class Permission(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who made the request, and what the version of that principal in force at that time permitted."""

    principal_id: PrincipalId
    version: int
    roles: tuple[str, ...]
    action_tier: int
    trust_mask: int
    risk_ceiling: str
    authenticity_level_floor: int


class HistoryStep(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that happened; `id` names it, `sequence_number` is its entry where it has one of its own."""

    stage: str
    at: Instant
    text: str
    by: str | None = None
    id: str | None = None
    sequence_number: int | None = None
    trace_id: str | None = None


class ShownTrace(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A history. `trace` are the mini-loops of the answer (PRAMANA 9); `problems` are stages that were skipped.

    The members about an answer are null where the id leads to no answer of this node.
    """

    answer_id: str | None
    query_type: str | None
    level: str | None
    permission: Permission | None
    steps: tuple[HistoryStep, ...]
    trace: Trace | None
    problems: tuple[str, ...]


class _Found(NamedTuple):
    """What an id leads to, by kind."""

    answers: set[str]
    bundles: set[str]
    tickets: set[str]
    items: set[str]
    records: set[str]
    signals: set[str]
    permits: set[str]
    entries: set[int]

    def __bool__(self) -> bool:
        return any(self)


def trace(tools: Tools, caller: Caller, request: ShowTrace) -> ShownTrace:
    """Show the complete history of an answer, bundle, record, ticket, permit or outcome, found by any id in it.

    It names who asked, what the gates decided and why, tickets and their reviewers, deliveries, permits and their
    effects, outcomes, the root cause and the training pair. What reviewers said about an open ticket is left out.
    """
    return tools.database.read(lambda unit: _trace(unit, caller.tenant_id, request.id))


def _trace(unit: Unit, tenant_id: TenantId, name: str) -> ShownTrace:
    found = _resolve(unit, tenant_id, name)
    if not found:
        raise NotFoundError(f"tenant `{tenant_id}` has nothing under the id `{name[:80]}`")
    answer_id = min(found.answers, default=None)
    if answer_id is None:
        steps = _in_order(unit, tenant_id, _other_steps(unit, tenant_id, found))
        permission = _sender(unit, tenant_id, found)
        return ShownTrace(
            answer_id=None, query_type=None, level=None, permission=permission, steps=steps, trace=None, problems=()
        )
    record = get_record(unit, tenant_id, answer_id)
    loops = gather_trace(answer_id, _loops(unit, tenant_id, answer_id, record))
    last = max((one.stage for one in loops.loops), key=list(Stage).index, default=Stage.DELIVERY)
    return ShownTrace(
        answer_id=answer_id,
        query_type=record.annotation.query_type,
        level=record.annotation.authenticity_level,
        permission=_permission(unit, tenant_id, record.question.asked_by, record.question.asked_at),
        steps=_in_order(unit, tenant_id, _answer_steps(unit, tenant_id, answer_id, record, found)),
        trace=loops,
        problems=check_trace(loops, until=last),
    )


def _loops(unit: Unit, tenant_id: TenantId, answer_id: str, record: AnswerRecord) -> Iterator[Loop]:
    """The mini-loops of an answer, from its deliveries, its outcomes and the root causes that it was part of."""
    row = unit.delivery.find_answer(tenant_id, answer_id)
    assert row is not None  # noqa: S101 - its record was read before
    state = f"{record.annotation.service} before entry {row.sequence_number}"
    yield loop_at_query(record.annotation, record.strands, state=state)
    for entry in _deliveries(unit, tenant_id, row, record):
        told, at = _body(entry, AnswerDelivered), parse_entry(entry.text).timestamp
        place = f"entry {entry.sequence_number}"
        yield loop_at_delivery(told.delivered, receiver=row.asked_by, event_id=place, at=at)
    signals = unit.delivery.answer_signals(tenant_id, answer_id)
    entries = unit.ledger.find_entries(tenant_id, [one.sequence_number for one in signals])
    for stored in signals:
        number = stored.sequence_number
        signal, body = read_text(stored.text, Signal), _body(entries[number], OutcomeReported)
        counters = {one.rule_id: one for one in body.counters}
        for moved in body.rules:
            rule = RuleRef(rule_id=RuleId(moved.rule_id), version=moved.version)
            # Entries of 0.1.0 have no counters; what they led to is counted from the history.
            after = counters.get(moved.rule_id) or _counted_at(unit, tenant_id, moved.rule_id, number)
            tally = Tally(**{name: getattr(after, name) for name in Tally.__struct_fields__})
            move, item_id = Move(moved.move), after.item_id
            yield loop_at_outcome(signal, rule, tally, move, answer_id=answer_id, item_id=item_id)
    rules = {ref.rule_id for ref in record.annotation.rules}
    items = {row.item_id for row in unit.delivery.items(tenant_id) if row.rule_id in rules} if signals else set()
    asked = {one.item_id: read_text(one.text, WorkItem) for one in unit.delivery.asked_on(tenant_id, items)}
    for concluded in unit.delivery.conclusions_on(tenant_id, asked):
        item = asked[concluded.item_id]
        if any(one.answer_id == answer_id for one in item.contexts):
            conclusion = read_text(concluded.text, Conclusion)
            yield loop_at_root_cause(item, conclusion, answer_id=answer_id, pair_id=concluded.pair_id)


def _deliveries(unit: Unit, tenant_id: TenantId, row: DeliveredAnswer, record: AnswerRecord) -> Iterator[StoredEntry]:
    """The entry of the answer; for one that the gates held back also those of its later deliveries."""
    first = unit.ledger.find_entry(tenant_id, row.sequence_number)
    yield from [] if first is None else [first]
    gate = record.annotation.gate
    if gate and gate.bundle_hash is not None:
        name = row.answer_id.encode()
        later = unit.ledger.entries(tenant_id, first=row.sequence_number + 1, kinds=(EntryKind.ANSWER_DELIVERED,))
        yield from [
            one
            for one in later
            if name in one.text and _body(one, AnswerDelivered).delivered.answer_id == row.answer_id
        ]


def _counted_at(unit: Unit, tenant_id: TenantId, rule_id: str, through: int) -> CountedRule:
    rows = unit.delivery.rule_signals(tenant_id, rule_id)
    told = recount([Outcome(row.outcome) for row in rows if row.sequence_number <= through])
    return CountedRule(rule_id=rule_id, **{name: getattr(told, name) for name in Tally.__struct_fields__})


def _body(entry: StoredEntry, kind: type[B]) -> B:
    return read_text(bytes(parse_entry(entry.text).body).decode(), kind)


def _resolve(unit: Unit, tenant_id: TenantId, name: str) -> _Found:
    """Follow one id to everything that names it: first what it is, then what that is about."""
    found = _Found(set(), set(), set(), set(), set(), set(), set(), set())
    _add(unit, tenant_id, found, name)
    if len(name) == _TRACE_DIGITS:
        _add_entries(unit, tenant_id, found, unit.ledger.entries_of_trace(tenant_id, name))
    elif name.isdecimal() and 0 < int(name) <= _HIGHEST:
        entry = unit.ledger.find_entry(tenant_id, int(name))
        _add_entries(unit, tenant_id, found, [] if entry is None else [entry])
    return found


def _add_entries(unit: Unit, tenant_id: TenantId, found: _Found, entries: Iterable[StoredEntry]) -> None:
    for entry in entries:
        found.entries.add(entry.sequence_number)
        if entry.telemetry_id is not None:
            found.records.add(entry.telemetry_id)
        for named in set(_named(json.loads(bytes(parse_entry(entry.text).body)))):
            _add(unit, tenant_id, found, named)


def _add(unit: Unit, tenant_id: TenantId, found: _Found, name: str) -> None:
    delivery = unit.delivery
    if name in found.answers | found.bundles | found.tickets | found.items | found.permits:
        return
    if delivery.find_answer(tenant_id, name) is not None:
        found.answers.add(name)
        return
    for signal in delivery.find_signals(tenant_id, [name]):
        found.signals.add(signal.signal_id)
        found.answers.update([] if signal.answer_id is None else [signal.answer_id])
    if name.startswith("tkt_") and (ticket := unit.review.find_ticket(tenant_id, TicketId(name))) is not None:
        found.tickets.add(name)
        verdict = unit.verdicts.find_by_ticket(tenant_id, name)
        found.records.update([] if verdict is None else [verdict.telemetry_id])
        if ticket.about is not None:
            _add(unit, tenant_id, found, ticket.about)
    if name.startswith("pmt_") and (issued := unit.permits.find(tenant_id, PermitId(name))) is not None:
        found.permits.add(name)
        _add(unit, tenant_id, found, issued.bundle_hash)
    _add_cause(unit, tenant_id, found, name)
    bundle = unit.claims.find_bundle(tenant_id, Digest(name.removeprefix(_BUNDLE)))
    if bundle is not None:
        found.bundles.add(bundle.bundle_hash)
        found.permits.update(one.permit_id for one in unit.permits.of_bundle(tenant_id, bundle.bundle_hash))
        waiting = json.loads(bundle.context).get("answer_id")
        found.answers.update([waiting] if isinstance(waiting, str) else [])
    if unit.verdicts.of_telemetry(tenant_id, name):
        found.records.add(name)


def _add_cause(unit: Unit, tenant_id: TenantId, found: _Found, name: str) -> None:
    """A root cause, or the one that a training pair was captured from, and the answers that failed."""
    pair = unit.delivery.find_pair(tenant_id, name)
    item = unit.delivery.find_item(tenant_id, name if pair is None else pair.item_id)
    if item is not None:
        found.items.add(item.item_id)
        contexts = read_text(item.text, WorkItem).contexts
        found.answers.update(one.answer_id for one in contexts if one.answer_id is not None)


def _named(value: Any, name: str = "") -> Iterator[str]:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        for member, inner in value.items():
            yield from _named(inner, member)
    elif isinstance(value, list):
        for inner in value:
            yield from _named(inner, name)
    elif isinstance(value, str) and name in _NAMES:
        yield value


def _sender(unit: Unit, tenant_id: TenantId, found: _Found) -> Permission | None:
    """The permission of the principal that submitted the first of the bundles."""
    named = (unit.claims.find_bundle(tenant_id, Digest(name)) for name in found.bundles)
    bundle = min((one for one in named if one is not None), key=lambda one: one.sequence_number, default=None)
    return None if bundle is None else _permission(unit, tenant_id, bundle.submitted_by, bundle.received_at)


def _permission(unit: Unit, tenant_id: TenantId, principal_id: PrincipalId, at: Instant) -> Permission | None:
    history = unit.identity.principal_history(tenant_id, principal_id)
    known = max((one for one in history if one.recorded_at <= at), key=lambda one: one.version, default=None)
    if known is None:
        return None
    return Permission(
        principal_id=known.id,
        version=known.version,
        roles=known.roles,
        action_tier=known.action_tier,
        trust_mask=known.trust_mask,
        risk_ceiling=str(known.risk_ceiling),
        authenticity_level_floor=known.authenticity_level_floor,
    )


def _answer_steps(
    unit: Unit, tenant_id: TenantId, answer_id: str, record: AnswerRecord, found: _Found
) -> Iterator[HistoryStep]:
    asked, gate = record.question, record.annotation.gate
    row = unit.delivery.find_answer(tenant_id, answer_id)
    number = None if row is None else row.sequence_number
    yield HistoryStep(stage="question", at=asked.asked_at, by=asked.asked_by, text=f"asked {asked.query_type}")
    if gate:
        words = f"gates decided {gate.decision}: {gate.reason}"
        yield HistoryStep(stage="gate", at=asked.asked_at, text=words, id=gate.bundle_hash, sequence_number=number)
        if gate.bundle_hash is not None:
            found.bundles.add(gate.bundle_hash)
    rules = ", ".join(map(render_ref, record.annotation.rules))
    given = "withheld" if record.withheld else "delivered"
    words = f"{given} at {record.annotation.authenticity_level} on {rules}"
    yield HistoryStep(stage="answer", at=asked.asked_at, text=words, id=answer_id, sequence_number=number)
    for stored in unit.delivery.answer_signals(tenant_id, answer_id):
        found.signals.add(stored.signal_id)
    _add_causes_of(unit, tenant_id, answer_id, record, found)
    yield from _other_steps(unit, tenant_id, found)


def _add_causes_of(unit: Unit, tenant_id: TenantId, answer_id: str, record: AnswerRecord, found: _Found) -> None:
    rules = {ref.rule_id for ref in record.annotation.rules}
    for row in unit.delivery.items(tenant_id) if found.signals else ():
        if row.rule_id in rules and any(one.answer_id == answer_id for one in read_text(row.text, WorkItem).contexts):
            found.items.add(row.item_id)


def _other_steps(unit: Unit, tenant_id: TenantId, found: _Found) -> Iterator[HistoryStep]:
    for bundle_hash in sorted(found.bundles):
        yield from _bundle_steps(unit, tenant_id, Digest(bundle_hash), found)
    for row in unit.delivery.find_signals(tenant_id, found.signals):
        told = read_text(row.text, Signal)
        yield HistoryStep(
            stage="outcome",
            at=row.received_at,
            by=told.sender,
            text=f"{told.outcome} of {', '.join(told.rule_ids)}",
            id=row.signal_id,
            sequence_number=row.sequence_number,
        )
    for telemetry_id in sorted(found.records):
        for verdict in unit.verdicts.of_telemetry(tenant_id, telemetry_id):
            found.tickets.update([] if verdict.ticket_id is None else [verdict.ticket_id])
            words = f"{verdict.rule_id}: {verdict.verdict}, {verdict.standing}"
            number = verdict.sequence_number
            yield HistoryStep(stage="verdict", at=verdict.as_of, text=words, id=telemetry_id, sequence_number=number)
    for item_id in sorted(found.items):
        yield from _cause_steps(unit, tenant_id, item_id, found)
    yield from _permit_steps(unit, tenant_id, [PermitId(name) for name in sorted(found.permits)], found)
    for ticket_id in sorted(found.tickets):
        yield from _ticket_steps(unit, tenant_id, TicketId(ticket_id))


def _bundle_steps(unit: Unit, tenant_id: TenantId, bundle_hash: Digest, found: _Found) -> Iterator[HistoryStep]:
    bundle = unit.claims.find_bundle(tenant_id, bundle_hash)
    if bundle is not None:
        at, number = bundle.received_at, bundle.sequence_number
        words = f"submitted a bundle of tier {bundle.tier}"
        yield HistoryStep(
            stage="claim", at=at, by=bundle.submitted_by, text=words, id=bundle_hash, sequence_number=number
        )
    decisions = unit.claims.decisions(tenant_id, bundle_hash)
    entries = unit.ledger.find_entries(tenant_id, [one.sequence_number for one in decisions])
    for entry in entries.values():
        names = _named(json.loads(bytes(parse_entry(entry.text).body)))
        found.tickets.update(name for name in names if name.startswith("tkt_"))
    for one in decisions:
        words = f"gates decided {one.decision}: {one.reason}"
        number = one.sequence_number
        yield HistoryStep(stage="gate", at=one.decided_at, text=words, id=bundle_hash, sequence_number=number)


def _permit_steps(unit: Unit, tenant_id: TenantId, names: Sequence[PermitId], found: _Found) -> Iterator[HistoryStep]:
    """What became of each permit: issued, claimed, the effect that was reported, and how it ended."""
    tickets = (unit.review.open_tickets_about(tenant_id, TicketKind.EFFECT, name) for name in names)
    found.tickets.update(ticket.id for asked in tickets for ticket in asked)
    for name in names:
        issued = unit.permits.find(tenant_id, name)
        if issued is not None:
            stated = msgspec.json.decode(issued.text, type=Permit)
            words, number = f"permitted {stated.tool} at {stated.audience}", issued.sequence_number
            at, by = stated.issued_at, stated.issuer
            yield HistoryStep(stage="permit", at=at, by=by, text=words, id=name, sequence_number=number)
    for claim in unit.permits.claims(tenant_id, names):
        at, by, number = claim.claimed_at, claim.claimed_by, claim.sequence_number
        yield HistoryStep(stage="permit", at=at, by=by, text="claimed", id=claim.permit_id, sequence_number=number)
    for report in unit.permits.reports(tenant_id, names):
        words = f"reported {report.effect}{', too late' if report.is_late else ''}"
        at, number = report.reported_at, report.sequence_number
        yield HistoryStep(stage="effect", at=at, text=words, id=report.permit_id, sequence_number=number)
    for end in unit.permits.ends(tenant_id, names):
        found.tickets.update([] if end.ticket_id is None else [end.ticket_id])
        words, number = f"{end.how}: {end.reason}" if end.reason else end.how, end.sequence_number
        at, by = end.ended_at, end.by
        yield HistoryStep(stage="effect", at=at, by=by, text=words, id=end.permit_id, sequence_number=number)


def _cause_steps(unit: Unit, tenant_id: TenantId, item_id: str, found: _Found) -> Iterator[HistoryStep]:
    row, asked = unit.delivery.find_item(tenant_id, item_id), unit.delivery.find_asked(tenant_id, item_id)
    if row is not None:
        words, number = f"root cause of {row.rule_id} opened", row.sequence_number
        yield HistoryStep(stage="root cause", at=row.opened_at, text=words, id=item_id, sequence_number=number)
    found.tickets.update([] if asked is None else [asked.ticket_id])
    for concluded in unit.delivery.conclusions_on(tenant_id, [item_id]):
        told = read_text(concluded.text, Conclusion)
        words = f"category {told.failure_category}: {told.siddhanta}"
        at, number = told.concluded_at, concluded.sequence_number
        yield HistoryStep(
            stage="conclusion", at=at, by=told.concluded_by, text=words, id=item_id, sequence_number=number
        )
        yield HistoryStep(stage="training pair", at=at, text="captured", id=concluded.pair_id, sequence_number=number)


def _ticket_steps(unit: Unit, tenant_id: TenantId, ticket_id: TicketId) -> Iterator[HistoryStep]:
    """An open ticket shows no answers: reviewers do not influence each other."""
    ticket = unit.review.find_ticket(tenant_id, ticket_id)
    if ticket is None:
        return
    yield HistoryStep(stage="ticket", at=ticket.opened_at, by=ticket.opened_by, text=ticket.title, id=ticket_id)
    settled = unit.review.find_settlement(tenant_id, ticket_id)
    if settled is None or settled.settled_at is None:
        return
    for answer in unit.review.answers(tenant_id, ticket_id):
        words = f"{answer.choice}: {answer.reason}" if answer.reason else answer.choice
        yield HistoryStep(stage="review", at=answer.answered_at, by=answer.by, text=words, id=ticket_id)
    yield HistoryStep(stage="decision", at=settled.settled_at, text=settled.reason, id=ticket_id)


def _in_order(unit: Unit, tenant_id: TenantId, steps: Iterable[HistoryStep]) -> tuple[HistoryStep, ...]:
    """By time, each with the trace id of its entry."""
    known = sorted(steps, key=lambda step: step.at)
    numbers = {step.sequence_number for step in known if step.sequence_number is not None}
    entries = unit.ledger.find_entries(tenant_id, numbers)
    return tuple(_traced(step, entries) for step in known)


def _traced(step: HistoryStep, entries: dict[int, StoredEntry]) -> HistoryStep:
    entry = None if step.sequence_number is None else entries.get(step.sequence_number)
    if entry is None or entry.trace_id is None:
        return step
    return HistoryStep(
        stage=step.stage,
        at=step.at,
        text=step.text,
        by=step.by,
        id=step.id,
        sequence_number=step.sequence_number,
        trace_id=entry.trace_id,
    )
