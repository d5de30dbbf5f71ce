"""A root cause opens: an item on record with the signal that opened it, and a question to people about it.

rule + signals -> WorkItem -> row and entry -> (a plugin in scope is asked first, outside the commit) -> ticket
"""

from typing import NamedTuple

import msgspec
from msgspec import Struct

from assay.delivery.errors import DeliveryError
from assay.delivery.level import rank_of
from assay.delivery.outcome import Signal
from assay.delivery.plugin import CategoryHint, PurvaPaksha, ask_plugin, parse_reply
from assay.delivery.rule import RuleId, RuleRef
from assay.delivery.sense import StandardEvent
from assay.delivery.tally import Tally
from assay.delivery.twowrong import TwoWrong
from assay.delivery.workitem import MOST_CONTEXTS, OpeningReason, WorkItem, draft_ticket, open_item, plugin_request
from assay.facts.delivery import RootCauseAsked, RootCauseOpened, hash_of
from assay.flows.delivery.answer_record import AnswerRecord, find_record
from assay.flows.delivery.categories import suggest_category
from assay.flows.delivery.delivery_entry import delivery_entry, read_text, sense, text_of
from assay.flows.delivery.rule_rows import load_rules
from assay.flows.model.failed_case import find_failed_case
from assay.flows.review.open_review import draft_ticket as draft_desk_ticket
from assay.flows.review.open_review import open_review_in
from assay.flows.time_limit import Late, run_within
from assay.flows.tools import Tools
from assay.identity.authorise import has_role
from assay.identity.principal import BuiltInRole
from assay.kernel.canonical import canonical_json
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.delivery_store import AskedPeople, OpenedItem
from assay.ports.plugin import PluginPost
from assay.review.ticket import Ticket

# Who reads a ticket about a root cause, and the item itself.
_READERS = (BuiltInRole.ADMIN, BuiltInRole.AUDITOR, BuiltInRole.OPERATOR, BuiltInRole.REVIEWER)
_UNKNOWN = "not known: the outcome named no answer of this node"


class _Original(NamedTuple):
    """What was asked and answered, and the case of it where a model judged one."""

    query: str
    response: str
    case: str | None = None


class Asked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An item that is before people now; `plugin_problem` says why a plugin's hypothesis is not with it."""

    item_id: str
    ticket_id: str
    plugin_problem: str | None = None


def recent_signals(unit: Unit, tenant_id: TenantId, rule_id: str, *, at_most: int) -> tuple[Signal, ...]:
    """The latest signals about a rule, oldest of them first."""
    rows = unit.delivery.latest_signals(tenant_id, rule_id, limit=max(1, min(at_most, MOST_CONTEXTS)))
    return tuple(read_text(one.text, Signal) for one in rows)


def open_rootcause_in(
    unit: Unit,
    tenant_id: TenantId,
    rule: RuleRef,
    signals: tuple[Signal, ...],
    *,
    reason: OpeningReason,
    tally: Tally,
    service: str,
    at: Instant,
    batch_id: str | None = None,
    two_wrong: TwoWrong | None = None,
    opened_by: str | None = None,
) -> WorkItem:
    """In the commit of what opened it; `ask_people` puts it before people, after any plugin has had its time."""
    history = load_rules(unit, tenant_id, [rule.rule_id]).get(rule.rule_id)
    content = unit.delivery.rule_versions(tenant_id, rule.rule_id)[rule.version - 1].content
    original = _original(unit, tenant_id, rule.rule_id, signals, at)
    item = open_item(
        rule,
        signals,
        reason=reason,
        rule_content=content,
        rule_history=history.versions,
        tally=tally,
        original_query=original.query,
        original_response=original.response,
        case=original.case,
        at=at,
        batch_id=batch_id,
        two_wrong=two_wrong,
        opened_by=opened_by,
    )
    told = {"item_id": item.item_id, "rule_id": rule.rule_id, "version": rule.version, "reason": str(reason)}
    event = sense(StandardEvent.RCA_TRIGGERED, item.item_id, told, service=service, at=at)
    text = text_of(item)
    body = RootCauseOpened(
        item_id=item.item_id,
        rule_id=rule.rule_id,
        version=rule.version,
        reason=str(reason),
        signals=tuple(one.signal_id for one in signals),
        batch_id=batch_id,
        item_hash=hash_of(text),
    )
    row = OpenedItem(item_id=item.item_id, rule_id=rule.rule_id, text=text, opened_at=at, sequence_number=0, bound=1)
    unit.record(delivery_entry(tenant_id, EntryKind.ROOT_CAUSE_OPENED, body, at=at, events=(event,)), row)
    return item


def ask_people(tools: Tools, tenant_id: TenantId, *, at: Instant) -> tuple[Asked, ...]:
    """Every item that waits: a plugin in its scope is asked, within its time, and then the ticket is opened.

    A plugin that is late, wrong or broken costs the reviewer its hypothesis and nothing else.
    """
    waiting = tools.database.read(lambda unit: unit.delivery.unasked_items(tenant_id))
    return tuple(_ask(tools, tenant_id, read_text(row.text, WorkItem), at) for row in waiting)


def ask_at_once(unit: Unit, tools: Tools, tenant_id: TenantId, item: WorkItem, *, at: Instant) -> None:
    """In the commit that opened the item, where no plugin is to be heard first."""
    if not _is_in_scope(tools.delivery.plugin, tenant_id, item):
        shown = _with_advice(unit, tools, tenant_id, item)
        _record_asked(unit, shown, _ticket(tools, tenant_id, shown, at), by=tools.delivery.principal_id)


def _ask(tools: Tools, tenant_id: TenantId, item: WorkItem, at: Instant) -> Asked:
    item = tools.database.read(lambda unit: _with_advice(unit, tools, tenant_id, item))
    thought, problem = _hypothesis(tools.delivery.plugin, tenant_id, item)
    if thought is not None and tools.delivery.plugin is not None:
        plugin_id = tools.delivery.plugin.card.plugin_id
        item = msgspec.structs.replace(item, plugin_id=plugin_id, purva_paksha=thought)
    ticket = _ticket(tools, tenant_id, item, at)

    def work(unit: Unit) -> Asked:
        known = unit.delivery.find_asked(tenant_id, item.item_id)
        if known is not None:
            return Asked(item_id=item.item_id, ticket_id=known.ticket_id)
        _record_asked(unit, item, ticket, by=tools.delivery.principal_id)
        return Asked(item_id=item.item_id, ticket_id=ticket.id, plugin_problem=problem)

    return tools.database.write(work)


def _with_advice(unit: Unit, tools: Tools, tenant_id: TenantId, item: WorkItem) -> WorkItem:
    """What earlier conclusions make likely, for the reviewer to see; it decides nothing (PRAMANA 10.2).

    And the sub-categories of now: a conclusion is held to those that its ticket shows, whatever is listed later.
    """
    listed = tools.delivery.sub_categories
    guess = suggest_category(tools.delivery.categories, unit, tenant_id, item)
    return msgspec.structs.replace(item, suggestion=guess, sub_categories=None if listed is None else dict(listed))


def _ticket(tools: Tools, tenant_id: TenantId, item: WorkItem, at: Instant) -> Ticket:
    draft = draft_ticket(item, opened_by=tools.delivery.principal_id)
    return draft_desk_ticket(tools, tenant_id, draft, at=max(at, item.opened_at))


def _record_asked(unit: Unit, item: WorkItem, ticket: Ticket, *, by: PrincipalId) -> None:
    tenant_id = ticket.tenant_id
    open_review_in(unit, ticket)
    text = text_of(item)
    body = RootCauseAsked(
        item_id=item.item_id, ticket_id=ticket.id, plugin_id=item.plugin_id, asked_by=by, item_hash=hash_of(text)
    )
    row = AskedPeople(item_id=item.item_id, ticket_id=ticket.id, text=text, sequence_number=0, bound=1)
    unit.record(delivery_entry(tenant_id, EntryKind.ROOT_CAUSE_ASKED, body, at=ticket.opened_at), row)


def _hypothesis(post: PluginPost | None, tenant_id: TenantId, item: WorkItem) -> tuple[PurvaPaksha | None, str | None]:
    """What the plugin thinks, or why it does not say; a rule out of its scope is never told to it (PRAMANA 14.4)."""
    if post is None or not _is_in_scope(post, tenant_id, item):
        return None, None
    hint = CategoryHint.UNKNOWN if item.suggestion is None else CategoryHint(item.suggestion.ranking[0].value)
    request = ask_plugin(post.card, plugin_request(item, hint))
    owner = f"plugin {post.card.plugin_id}"
    plugin = post.plugin_of(tenant_id)
    # Its reply is read there, too: whatever a plugin gives back, people are asked.
    said = run_within(post.seconds, {owner: lambda: parse_reply(plugin.infer(request), request)})[owner]
    if isinstance(said, Late):
        return None, f"plugin `{post.card.plugin_id}` said nothing in {post.seconds:g} s"
    if isinstance(said, DeliveryError):
        return None, str(said)
    if isinstance(said, Exception):
        return None, f"plugin `{post.card.plugin_id}` failed: {type(said).__name__}"
    return said, None


def _is_in_scope(post: PluginPost | None, tenant_id: TenantId, item: WorkItem) -> bool:
    if post is None or (post.tenants is not None and tenant_id not in post.tenants):
        return False
    return item.rule.rule_id in post.card.rule_ids


def _original(unit: Unit, tenant_id: TenantId, rule_id: RuleId, signals: tuple[Signal, ...], at: Instant) -> _Original:
    """Question and answer behind the latest signal that names an answer of ours."""
    for signal in reversed(signals):
        record = None if signal.answer_id is None else find_record(unit, tenant_id, signal.answer_id)
        if record is not None:
            return _answered(unit, tenant_id, rule_id, record, at)
    context = next((one.query_context for one in reversed(signals) if one.query_context), None)
    return _Original(context or _UNKNOWN, _UNKNOWN)


def _answered(unit: Unit, tenant_id: TenantId, rule_id: RuleId, record: AnswerRecord, at: Instant) -> _Original:
    """What was answered, unless it was withheld, or would be from one of those who are asked: all read one ticket.

    Its hash is not shown either, since it would let a reader confirm a guess; nor is a case, from which it follows.
    """
    question = canonical_json(record.question.question)
    rank = rank_of(record.annotation.authenticity_level)
    known = unit.identity.principals_with(tenant_id, _READERS)
    readers = (one for one in known if has_role(one, _READERS) and one.is_active(at))
    if record.withheld or any(one.authenticity_level_floor > rank for one in readers):
        level = record.annotation.authenticity_level
        told = f"withheld: the output of `{record.annotation.answer_id}` at {level} is below a floor, or held by a gate"
        return _Original(question, told)
    case = find_failed_case(unit, tenant_id, record, rule_id)
    return _Original(question, canonical_json(record.output), case)
