"""The rule registry: list, show and record rules, say who may report about them, and find those whose outcomes are bad.

caller (confirmed in the commit) -> version or grant + entry in one commit;   counters + registry -> lines for people
"""

from datetime import timedelta
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from assay.delivery.outcome import Outcome, ReporterGrant
from assay.delivery.rule import (
    Certification,
    RuleId,
    RuleRef,
    RuleSource,
    RuleVersion,
    next_version,
    parse_rule_id,
    render_ref,
    verify_author,
)
from assay.delivery.tally import Alert, AlertRule, Point, Tally, check_alert, series
from assay.facts.delivery import ReporterGranted
from assay.flows.delivery.delivery_entry import delivery_entry, news
from assay.flows.delivery.outcome_batch import load_all_counters, load_counters, tally_of
from assay.flows.delivery.rule_rows import add_version, content_of, find_granted, load_rules
from assay.flows.delivery.settle_rootcause import CERTIFY, ShownRule
from assay.flows.identity.authenticate import confirm, require_session
from assay.flows.known import get_principal
from assay.flows.request import (
    Option,
    Page,
    Paged,
    PrincipalName,
    Request,
    cut,
    next_cursor,
    read_number,
    read_text,
)
from assay.flows.review.answer_desk import DeskAnswer, answer_desk
from assay.flows.review.answer_review import SignedElsewhere
from assay.flows.review.open_review import draft_ticket, open_review_in
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole
from assay.kernel.digest import digest_of, parse_digest
from assay.kernel.ids import TenantId, parse_principal_id
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.delivery_store import RuleCounters
from assay.ports.signer import Signer
from assay.review.draft import Reply
from assay.review.kind import TicketKind
from assay.review.ticket import Ticket, TicketDraft

# Where the text of a registered rule is kept: nowhere else.
_REGISTRY = "registry"
_DAY = timedelta(days=1)
_DEFAULT_ALERT = AlertRule()
RuleName = Annotated[str, Meta(description="The id of a rule, such as `MAR-YK-007`.")]


class ListRules(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which page of the rules."""


class ShowRule(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rule_id: RuleName


class RegisterRule(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rule_id: Annotated[RuleName, Option(form="argument", metavar="RULE")]
    content: Annotated[str, Meta(description="The text of the rule."), Option(form="text_argument", metavar="FILE")]
    domains: Annotated[
        tuple[str, ...], Meta(description="What the rule is authoritative for."), Option(flag="--domain")
    ] = ()
    capabilities: Annotated[
        tuple[str, ...], Meta(description="The query types that the rule stands behind."), Option(flag="--capability")
    ] = ()
    source: Annotated[
        Literal["text", "code"], Meta(description="`code` for a rule in code that is annotated with its id.")
    ] = "text"


class ListAlerts(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    min_total: Annotated[int, Meta(ge=1, le=2**53 - 1, description="Only rules with at least so many outcomes.")] = (
        _DEFAULT_ALERT.min_total
    )
    min_confidence: Annotated[float, Meta(ge=0, le=1, description="Only rules with a confidence below this.")] = (
        _DEFAULT_ALERT.min_confidence
    )


class ListReporters(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class GrantReporter(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    principal_id: Annotated[
        PrincipalName, Meta(description="The principal that may report outcomes."), Option(metavar="PRINCIPAL")
    ]
    rules: Annotated[
        tuple[str, ...],
        Meta(description="Rule ids, or a prefix and `*`."),
        Option(form="argument", metavar="RULE..."),
    ] = ()
    replace: Annotated[bool, Meta(description="Replace the earlier grant; without rules, take all of it away.")] = False


class RuleLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule in a list; `alert` where its outcomes are bad."""

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
    """Everything about one rule: its versions, their certifications, its counters, and the counters by day."""

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


class RuleAlert(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule whose outcomes are bad; `item_id` where a root cause about it is open."""

    alert: Alert
    item_id: str | None


def rules(tools: Tools, caller: Caller, request: ListRules) -> Page[RuleLine]:
    """List rules by id, with their counters and whether a person certified the version in force."""
    after, tenant_id = read_text("rules", request.cursor), caller.tenant_id

    def work(unit: Unit) -> Page[RuleLine]:
        names = cut(
            "rules",
            unit.delivery.rule_ids(tenant_id, after=after or "", limit=request.limit + 1),
            request.limit,
            lambda name: name,
        )
        return Page(items=_lines(unit, tenant_id, names.items), next=names.next)

    return tools.database.read(work)


def rule(tools: Tools, caller: Caller, request: ShowRule) -> ShownRuleRecord:
    """Show a rule: its text, versions, certifications, counters, and the counters by day."""
    name, tenant_id = parse_rule_id(request.rule_id), caller.tenant_id

    def work(unit: Unit) -> ShownRuleRecord:
        known = load_rules(unit, tenant_id, [name]).get(name)
        row = load_counters(unit, tenant_id, name)
        tally = tally_of(row)
        history = ((one.received_at, Outcome(one.outcome)) for one in unit.delivery.rule_signals(tenant_id, name))
        return ShownRuleRecord(
            rule_id=name,
            versions=known.versions,
            certifications=known.certifications,
            is_certified=known.is_certified,
            content=unit.delivery.rule_versions(tenant_id, name)[-1].content,
            tally=tally,
            confidence=tally.confidence,
            decided_confidence=tally.decided_confidence,
            adjusted_confidence=tally.adjusted_confidence,
            item_id=row.item_id,
            series=series(history, bucket=_DAY),
        )

    return tools.database.read(work)


def register_rule(tools: Tools, caller: Caller, request: RegisterRule) -> RuleRef:
    """Record a text as the next version of a rule; the same text again adds nothing.

    The version is in force from now on, and not certified until a person has certified it.
    """
    name, tenant_id = parse_rule_id(request.rule_id), caller.tenant_id

    def work(unit: Unit) -> RuleRef:
        author = confirm(unit, caller).principal
        verify_author(author, at=caller.at)
        registry = load_rules(unit, tenant_id, [name])
        version = next_version(
            registry,
            name,
            content_hash=digest_of(request.content.encode()),
            source=RuleSource(request.source),
            source_ref=_REGISTRY,
            capabilities=request.capabilities,
            domains=request.domains,
            at=caller.at,
            by=author.id,
        )
        if version is None:
            return registry.get(name).ref
        add_version(unit, tenant_id, version, request.content)
        return RuleRef(rule_id=name, version=version.version)

    return tools.database.write(work)


def alerts(tools: Tools, caller: Caller, request: ListAlerts) -> Page[RuleAlert]:
    """List rules whose outcomes are bad over time, the least confidence first, also without an open root cause."""
    wanted = AlertRule(min_total=request.min_total, min_confidence=request.min_confidence)

    def work(unit: Unit) -> list[RuleAlert]:
        found = []
        names = unit.delivery.rule_ids(caller.tenant_id)
        for row in load_all_counters(unit, caller.tenant_id, names).values():
            alert = check_alert(RuleId(row.rule_id), tally_of(row), wanted)
            if alert is not None:
                found.append(RuleAlert(alert=alert, item_id=row.item_id))
        return found

    # The order is that of figures which change, so a page begins at a place in it.
    start = read_number("alerts", request.cursor)
    found = sorted(tools.database.read(work), key=lambda one: (one.alert.confidence, one.alert.rule_id))
    end = start + request.limit
    return Page(items=tuple(found[start:end]), next=next_cursor("alerts", end) if len(found) > end else None)


def reporters(tools: Tools, caller: Caller, request: ListReporters) -> Page[ReporterGrant]:
    """List the principals that may report outcomes, with the rules that each may report about."""
    after = read_text("reporters", request.cursor) or ""
    found = tools.database.read(
        lambda unit: unit.delivery.grants(caller.tenant_id, after=after, limit=request.limit + 1)
    )
    granted = [msgspec.json.decode(row.text, type=ReporterGrant) for row in found]
    return cut("reporters", granted, request.limit, lambda one: one.principal_id)


def grant_reporter(tools: Tools, caller: Caller, request: GrantReporter) -> ReporterGrant:
    """Let a principal report outcomes of more rules (PRAMANA 14.2); by default nobody may report.

    The rules are added to those granted before. With `replace` they take the place of the earlier grant, and without
    rules the whole grant is taken away.
    """
    principal_id, tenant_id = parse_principal_id(request.principal_id), caller.tenant_id

    def work(unit: Unit) -> ReporterGrant:
        by = confirm(unit, caller).principal
        get_principal(unit, tenant_id, principal_id)
        known = None if request.replace else find_granted(unit, tenant_id, principal_id)
        names = (*(() if known is None else known.rules), *request.rules)
        grant = ReporterGrant(principal_id=principal_id, rules=tuple(dict.fromkeys(names)))
        if known is not None and grant == known:
            return known
        told = {"principal_id": principal_id, "rules": list(grant.rules)}
        draft = delivery_entry(
            tenant_id,
            EntryKind.REPORTER_GRANTED,
            ReporterGranted(principal_id=principal_id, rules=grant.rules, granted_by=by.id),
            at=caller.at,
            events=(news(EntryKind.REPORTER_GRANTED, principal_id, told),),
        )
        unit.record(draft)
        return grant

    return tools.database.write(work)


def _lines(unit: Unit, tenant_id: TenantId, names: tuple[str, ...]) -> tuple[RuleLine, ...]:
    registry = load_rules(unit, tenant_id, names)
    counters = load_all_counters(unit, tenant_id, names)
    return tuple(
        _line(registry.get(RuleId(name)).latest, registry.get(RuleId(name)).is_certified, counters.get(name))
        for name in names
    )


def _line(latest: RuleVersion, is_certified: bool, row: RuleCounters | None) -> RuleLine:  # noqa: FBT001 - a fact
    tally = Tally() if row is None else tally_of(row)
    return RuleLine(
        rule_id=latest.rule_id,
        version=latest.version,
        source=latest.source,
        domains=latest.domains,
        is_certified=is_certified,
        tally=tally,
        confidence=tally.confidence,
        item_id=None if row is None else row.item_id,
        alert=check_alert(latest.rule_id, tally, _DEFAULT_ALERT),
    )


class RequestCertification(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rule_id: RuleName


class CertifyRule(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rule_id: RuleName
    seen: Annotated[str, Meta(description="The hash of what you were shown."), Option(metavar="HASH")]
    reason: Annotated[str, Meta(max_length=2000, description="Why; it is recorded with the answer.")] = ""


def ask_certification(tools: Tools, caller: Caller, request: RequestCertification) -> Ticket:
    """Ask people to certify the version of a rule in force; the same open question is returned again."""
    name, tenant_id = parse_rule_id(request.rule_id), caller.tenant_id

    def work(unit: Unit) -> Ticket:
        confirm(unit, caller)
        known = load_rules(unit, tenant_id, [name]).get(name)
        latest, about = known.latest, render_ref(known.ref)
        for ticket in unit.review.open_tickets_about(tenant_id, TicketKind.RULE_CERTIFICATION, about):
            return ticket
        shown = ShownRule(rule=latest, content=content_of(unit, tenant_id, name, latest.version))
        draft = TicketDraft(
            kind=TicketKind.RULE_CERTIFICATION,
            title=f"stand by rule {about}",
            shown=msgspec.json.format(msgspec.json.encode(shown), indent=2).decode(),
            eligible_roles=(BuiltInRole.REVIEWER,),
            opened_by=tools.delivery.principal_id,
            requested_by=latest.recorded_by,
            about=about,
        )
        opened = draft_ticket(tools, tenant_id, draft, at=caller.at)
        open_review_in(unit, opened)
        return opened

    return tools.database.write(work)


def certify_rule(
    tools: Tools, caller: Caller, request: CertifyRule, *, signing: Signer | SignedElsewhere | None = None
) -> DeskAnswer:
    """Certify the version of a rule in force, as a person in their own session who saw it with this hash.

    The author of the version cannot certify it. A person with a registered key answers the ticket instead.
    """
    require_session(caller)
    ticket = ask_certification(tools, caller, RequestCertification(rule_id=request.rule_id))
    reply = Reply(choice=CERTIFY, seen=parse_digest(request.seen), reason=request.reason, body="{}")
    return answer_desk(tools, caller, ticket.id, reply, signing=signing)
