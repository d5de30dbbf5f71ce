"""What people look at: rules with their counters, answers, sessions, root causes, this node's STATE and TRUST."""

from collections.abc import Sequence
from datetime import timedelta

from msgspec import Struct

from assay import __version__
from assay.delivery.conclude import Conclusion
from assay.delivery.outcome import Outcome, Signal
from assay.delivery.propose import Proposal
from assay.delivery.rule import Certification, RuleVersion, parse_rule_id
from assay.delivery.state import PramanaState, ServiceStatus, state_of
from assay.delivery.tally import Alert, AlertRule, Point, Tally, check_alert, series
from assay.delivery.workitem import WorkItem
from assay.flows.delivery.answer_sources import answered_here
from assay.flows.delivery.deliver_answer import can_query
from assay.flows.delivery.delivery_entry import read_text
from assay.flows.delivery.item_sight import hidden_items, without_output
from assay.flows.delivery.register_query import load_queries
from assay.flows.delivery.rule_counters import load_counters, tally_of
from assay.flows.delivery.rule_rows import load_registry, load_rules
from assay.flows.errors import NotFoundError
from assay.flows.registry.own_actions import OWN_ACTIONS, can_execute
from assay.flows.registry.switch_facts import load_switch
from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.delivery_store import ConcludedItem, OpenedItem, ProposedRule
from assay.review.ticket import Ticket

__all__ = [
    "RuleLine",
    "ShownItem",
    "ShownRuleRecord",
    "ShownTrust",
    "list_items",
    "list_rules",
    "page_items",
    "show_item",
    "show_rule",
    "show_session",
    "show_state",
    "show_trust",
]

_MOST_SIGNALS = 1000
_DAY = timedelta(days=1)


class RuleLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule in a list; `alert` where its outcomes are worth a look."""

    rule_id: str
    version: int
    source: str
    domains: tuple[str, ...]
    is_certified: bool
    tally: Tally
    confidence: float | None
    item_id: str | None
    alert: Alert | None


class ShownRuleRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything about one rule: its versions, who stands by which, its counters, and those by time."""

    rule_id: str
    versions: tuple[RuleVersion, ...]
    certifications: tuple[Certification, ...]
    is_certified: bool
    content: str
    tally: Tally
    confidence: float | None
    decided_confidence: float | None
    adjusted_confidence: float | None
    item_id: str | None
    series: tuple[Point, ...]


class ShownItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A root cause: what it shows people, the ticket that asks them, and what came of it."""

    item: WorkItem
    ticket: Ticket | None
    conclusion: Conclusion | None
    pair_id: str | None
    proposal: Proposal | None
    proposal_ticket_id: str | None

    @property
    def is_open(self) -> bool:
        return self.conclusion is None


class ShownTrust(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A principal, the kinds of question they may ask, and the actions they may have done."""

    principal: Principal
    can_query: tuple[str, ...]
    can_execute: tuple[str, ...]


def list_rules(tools: Tools, tenant_id: TenantId) -> tuple[RuleLine, ...]:
    """Every rule with its counters and alerts, sorted by id."""

    def work(unit: Unit) -> tuple[RuleLine, ...]:
        registry = load_registry(unit, tenant_id)
        counters = {one.rule_id: one for one in unit.delivery.counters(tenant_id)}
        lines = []
        for name, rule in sorted(registry.rules.items()):
            row = counters.get(name)
            tally = Tally() if row is None else tally_of(row)
            lines.append(
                RuleLine(
                    rule_id=name,
                    version=rule.latest.version,
                    source=rule.latest.source,
                    domains=rule.latest.domains,
                    is_certified=rule.is_certified,
                    tally=tally,
                    confidence=tally.confidence,
                    item_id=None if row is None else row.item_id,
                    alert=check_alert(name, tally, AlertRule()),
                )
            )
        return tuple(lines)

    return tools.database.read(work)


def show_rule(tools: Tools, tenant_id: TenantId, rule_id: str) -> ShownRuleRecord:
    name = parse_rule_id(rule_id)

    def work(unit: Unit) -> ShownRuleRecord:
        rule = load_rules(unit, tenant_id, [name]).get(name)
        row = load_counters(unit, tenant_id, name)
        tally = tally_of(row)
        history = ((one.received_at, Outcome(one.outcome)) for one in unit.delivery.rule_history(tenant_id, name))
        return ShownRuleRecord(
            rule_id=name,
            versions=rule.versions,
            certifications=rule.certifications,
            is_certified=rule.is_certified,
            content=unit.delivery.rule_versions(tenant_id, name)[-1].content,
            tally=tally,
            confidence=tally.confidence,
            decided_confidence=tally.decided_confidence,
            adjusted_confidence=tally.adjusted_confidence,
            item_id=row.item_id,
            series=series(history, bucket=_DAY),
        )

    return tools.database.read(work)


def show_session(tools: Tools, tenant_id: TenantId, session: str) -> tuple[Signal, ...]:
    """The first signals, a thousand at most, of a session (`session:ID`) or of a sender without one (`sender:ID`)."""
    rows = tools.database.read(lambda unit: unit.delivery.session_signals(tenant_id, session, limit=_MOST_SIGNALS))
    if not rows:
        raise NotFoundError(f"tenant `{tenant_id}` has no session `{session[:80]}` that told an outcome")
    return tuple(read_text(one.text, Signal) for one in rows)


def list_items(
    tools: Tools, tenant_id: TenantId, *, open_only: bool = False, viewer: Principal | None = None
) -> tuple[ShownItem, ...]:
    """Root causes, as the viewer may see them; no viewer is the operator of the node's folder, who sees all."""

    def work(unit: Unit) -> tuple[ShownItem, ...]:
        return _shown(unit, tenant_id, unit.delivery.items(tenant_id, open_only=open_only), viewer)

    return tools.database.read(work)


def page_items(
    tools: Tools,
    tenant_id: TenantId,
    *,
    viewer: Principal,
    open_only: bool = False,
    before: int | None = None,
    limit: int = 100,
) -> tuple[tuple[ShownItem, ...], int | None]:
    """The newest first, from before an entry's number on, and the number at which the next page begins, if any."""

    def work(unit: Unit) -> tuple[tuple[ShownItem, ...], int | None]:
        rows = unit.pages.root_causes(tenant_id, open_only=open_only, before=before, limit=limit + 1)
        page = rows[:limit]
        following = page[-1].sequence_number if len(rows) > limit else None
        return _shown(unit, tenant_id, page, viewer), following

    return tools.database.read(work)


def show_item(tools: Tools, tenant_id: TenantId, item_id: str, *, viewer: Principal | None = None) -> ShownItem:
    """A root cause, as the viewer may see it: without an output below their floor, or the ticket that shows it."""

    def work(unit: Unit) -> ShownItem:
        row = unit.delivery.find_item(tenant_id, item_id)
        if row is None:
            raise NotFoundError(f"tenant `{tenant_id}` has no root cause `{item_id[:80]}`")
        (shown,) = _shown(unit, tenant_id, (row,), viewer)
        return shown

    return tools.database.read(work)


def _shown(
    unit: Unit, tenant_id: TenantId, rows: Sequence[OpenedItem], viewer: Principal | None
) -> tuple[ShownItem, ...]:
    """What is about all of them is read at once, since a list may be long."""
    ids = [row.item_id for row in rows]
    asked = {one.item_id: one for one in unit.delivery.asked_on(tenant_id, ids)}
    concluded = {one.item_id: one for one in unit.delivery.conclusions_on(tenant_id, ids)}
    proposed = {one.item_id: one for one in unit.delivery.proposals_on(tenant_id, ids)}
    named = {one.item_id: TicketId(one.ticket_id) for one in asked.values()}
    tickets = {one.id: one for one in unit.review.find_tickets(tenant_id, named.values())}
    items = {row.item_id: read_text(asked.get(row.item_id, row).text, WorkItem) for row in rows}
    hidden = hidden_items(unit, tenant_id, tuple(items.values()), viewer)
    return tuple(
        _line(
            item,
            tickets.get(named[item_id]) if item_id in named else None,
            concluded.get(item_id),
            proposed.get(item_id),
            hidden=item.item_id in hidden,
        )
        for item_id, item in items.items()
    )


def _line(
    item: WorkItem,
    ticket: Ticket | None,
    concluded: ConcludedItem | None,
    proposed: ProposedRule | None,
    *,
    hidden: bool,
) -> ShownItem:
    return ShownItem(
        item=without_output(item) if hidden else item,
        ticket=None if hidden else ticket,
        conclusion=None if concluded is None else read_text(concluded.text, Conclusion),
        pair_id=None if concluded is None else concluded.pair_id,
        proposal=None if proposed is None else read_text(proposed.text, Proposal),
        proposal_ticket_id=None if proposed is None else proposed.ticket_id,
    )


def show_state(tools: Tools, tenant_id: TenantId) -> PramanaState:
    """STATE (PRAMANA 7.1); degraded while a fired switch keeps this service to reading."""

    def work(unit: Unit) -> PramanaState:
        fired = load_switch(unit.registry, tenant_id, tools.delivery.service).is_fired
        return state_of(
            answered_here(tools, load_queries(unit, tenant_id)),
            service=tools.delivery.service,
            version=__version__,
            status=ServiceStatus.DEGRADED if fired else ServiceStatus.ONLINE,
            can_do=tuple(sorted(OWN_ACTIONS)),
            registry=tools.delivery.strands,
        )

    return tools.database.read(work)


def _can_answer(tools: Tools, unit: Unit, tenant_id: TenantId) -> tuple[str, ...]:
    return answered_here(tools, load_queries(unit, tenant_id)).can_answer()


def show_trust(tools: Tools, tenant_id: TenantId, user_id: str, *, at: Instant) -> ShownTrust:
    """TRUST (PRAMANA 7.2) of one principal, by the rules that every request meets; a disabled one may do nothing."""

    def work(unit: Unit) -> ShownTrust:
        principal = unit.identity.find_principal(tenant_id, PrincipalId(user_id))
        if principal is None:
            raise NotFoundError(f"tenant `{tenant_id}` has no principal `{user_id[:80]}`")
        may_ask = can_query(principal) and principal.is_active(at)
        return ShownTrust(
            principal=principal,
            can_query=_can_answer(tools, unit, tenant_id) if may_ask else (),
            can_execute=can_execute(unit, tools, principal, at=at),
        )

    return tools.database.read(work)
