"""Set-up for tests of delivery: each operation with a credential, permitted and performed as a door does it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assay.delivery.federate import Agreement
from assay.delivery.level import Level
from assay.delivery.outcome import ReporterGrant, Signal
from assay.delivery.plugin import Category
from assay.delivery.query import QueryType
from assay.delivery.rule import RuleRef
from assay.delivery.suggestion import HeldOut
from assay.delivery.tally import AlertRule
from assay.delivery.webhook import Webhook
from assay.flows.delivery.count_outcome import Reported
from assay.flows.delivery.deliver_answer import AnsweredQuestion
from assay.flows.delivery.peers import Forwarded
from assay.flows.delivery.query_types import ShortAnswer
from assay.flows.delivery.recount_rules import Recount
from assay.flows.delivery.root_causes import ShownItem
from assay.flows.delivery.rules import RuleAlert, RuleLine, ShownRuleRecord
from assay.flows.delivery.service_state import ShownTrust
from assay.flows.delivery.trace import ShownTrace
from assay.flows.delivery.webhooks import AddedWebhook
from assay.flows.request import BulkLine
from assay.flows.review.answer_desk import DeskAnswer
from assay.flows.tools import Tools
from assay.identity.caller import Caller, local_caller
from assay.identity.principal import Principal
from assay.identity.risk import RiskTier
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.json_text import JsonValue
from assay.operations.dispatch import Dispatcher
from assay.operations.parse import parse_request
from assay.operations.table import BY_NAME
from assay.ports.delivery_store import ReportingSession
from assay.ports.webhook_store import Letter
from assay.registry.documents import ProofDocument
from assay.review.ticket import Ticket
from tests.acting import acting, caller_of, viewing


def performed(tools: Tools, caller: Caller, operation: str, **given: object) -> Any:  # noqa: ANN401 - its result
    """The result of an operation; None is a field that is left out."""
    found = BY_NAME[operation]
    asked = {name: value for name, value in given.items() if value is not None}
    return Dispatcher(tools=tools)(found, caller, parse_request(found, asked)).value


def walked(tools: Tools, caller: Caller, operation: str, **given: object) -> tuple[Any, ...]:
    """Every item of a list, page by page."""
    items, cursor = [], None
    while True:
        page = performed(tools, caller, operation, cursor=cursor, **given)
        items += page.items
        cursor = page.next
        if cursor is None:
            return tuple(items)


def _local(tools: Tools, tenant_id: TenantId) -> Caller:
    return local_caller(tenant_id, at=tools.clock.now())


def _as(tools: Tools, tenant_id: TenantId, viewer: Principal | None) -> Caller:
    return _local(tools, tenant_id) if viewer is None else viewing(viewer, at=tools.clock.now())


def deliver_answer(
    tools: Tools,
    query_type: str,
    question: JsonValue,
    *,
    credential: str,
    session_id: str | None = None,
    nonce: str | None = None,
    at: Instant,
) -> AnsweredQuestion:
    caller, more = caller_of(tools, credential, at=at), {"session_id": session_id, "nonce": nonce}
    done: AnsweredQuestion = performed(tools, caller, "answer.ask", query_type=query_type, question=question, **more)
    return done


def resume_answer(tools: Tools, answer_id: str, *, credential: str, at: Instant) -> AnsweredQuestion:
    done: AnsweredQuestion = performed(tools, caller_of(tools, credential, at=at), "answer.resume", answer_id=answer_id)
    return done


def report_answer(
    tools: Tools, content: bytes, *, credential: str, idempotency_key: str | None = None, at: Instant
) -> Reported:
    """A signal that may leave out what its answer says."""
    caller = caller_of(tools, credential, at=at)
    done: Reported = performed(tools, caller, "outcome.report", signal=content, idempotency_key=idempotency_key)
    return done


def report_outcome(
    tools: Tools, content: bytes, *, credential: str, idempotency_key: str | None = None, at: Instant
) -> Reported:
    """A signal that must be whole."""
    caller = caller_of(tools, credential, at=at)
    done: Reported = performed(
        tools, caller, "outcome.report", signal=content, whole=True, idempotency_key=idempotency_key
    )
    return done


def report_lines(tools: Tools, lines: Sequence[bytes], *, credential: str, at: Instant) -> tuple[BulkLine, ...]:
    caller = caller_of(tools, credential, at=at)
    done: tuple[BulkLine, ...] = performed(tools, caller, "outcomes.report", signals=b"\n".join(lines))
    return done


def register_rule(
    tools: Tools,
    rule_id: str,
    content: str,
    *,
    domains: Iterable[str],
    capabilities: Iterable[str] = (),
    source: str = "text",
    credential: str,
    at: Instant,
) -> RuleRef:
    done: RuleRef = performed(
        tools,
        caller_of(tools, credential, at=at),
        "rule.register",
        rule_id=rule_id,
        content=content,
        domains=tuple(domains),
        capabilities=tuple(capabilities),
        source=source,
    )
    return done


def register_query(
    tools: Tools,
    slug: str,
    *,
    description: str,
    domain: str,
    expected_level: Level,
    answerer: str,
    rules: Iterable[str] = (),
    risk_tier: RiskTier = RiskTier.READ_ONLY,
    credential: str,
    at: Instant,
) -> QueryType:
    done: QueryType = performed(
        tools,
        caller_of(tools, credential, at=at),
        "query.register",
        slug=slug,
        description=description,
        domain=domain,
        expected_level=expected_level,
        answerer=answerer,
        rules=tuple(rules),
        risk_tier=risk_tier,
    )
    return done


def grant_reporter(
    tools: Tools,
    principal_id: PrincipalId,
    rules: Iterable[str],
    *,
    replace: bool = True,
    credential: str,
    at: Instant,
) -> ReporterGrant:
    caller = caller_of(tools, credential, at=at)
    done: ReporterGrant = performed(
        tools, caller, "reporter.grant", principal_id=principal_id, rules=tuple(rules), replace=replace
    )
    return done


def ask_certification(tools: Tools, tenant_id: TenantId, rule_id: str, *, at: Instant) -> Ticket:
    done: Ticket = performed(tools, local_caller(tenant_id, at=at), "rule.certification.request", rule_id=rule_id)
    return done


def certify_rule(
    tools: Tools, rule_id: str, *, seen: Digest, reason: str = "", credential: str, at: Instant
) -> DeskAnswer:
    caller = caller_of(tools, credential, at=at)
    done: DeskAnswer = performed(tools, caller, "rule.certify", rule_id=rule_id, seen=seen, reason=reason)
    return done


def conclude_rootcause(
    tools: Tools,
    item_id: str,
    category: Category,
    siddhanta: str,
    *,
    seen: Digest,
    corrected_rule: str | None = None,
    sub_category: str | None = None,
    credential: str,
    at: Instant,
) -> ShownItem:
    done: ShownItem = performed(
        tools,
        caller_of(tools, credential, at=at),
        "rootcause.conclude",
        item_id=item_id,
        failure_category=category,
        siddhanta=siddhanta,
        seen=seen,
        corrected_rule=corrected_rule,
        sub_category=sub_category,
    )
    return done


def measure_proof(
    tools: Tools, tenant_id: TenantId, texts: Mapping[str, str], *, by: PrincipalId, at: Instant
) -> ProofDocument:
    done: ProofDocument = performed(tools, acting(tenant_id, by, at=at), "rules.prove", texts=dict(texts))
    return done


def trace_answer(tools: Tools, tenant_id: TenantId, answer_id: str) -> ShownTrace:
    done: ShownTrace = performed(tools, _local(tools, tenant_id), "trace.show", id=answer_id)
    return done


def list_rules(tools: Tools, tenant_id: TenantId) -> tuple[RuleLine, ...]:
    return walked(tools, _local(tools, tenant_id), "rules.list")


def show_rule(tools: Tools, tenant_id: TenantId, rule_id: str) -> ShownRuleRecord:
    done: ShownRuleRecord = performed(tools, _local(tools, tenant_id), "rule.show", rule_id=rule_id)
    return done


def recount_rules(tools: Tools, tenant_id: TenantId) -> Recount:
    done: Recount = performed(tools, _local(tools, tenant_id), "rules.recount")
    return done


def list_alerts(tools: Tools, tenant_id: TenantId, rule: AlertRule | None = None) -> tuple[RuleAlert, ...]:
    wanted = rule or AlertRule()
    limits = {"min_total": wanted.min_total, "min_confidence": wanted.min_confidence}
    return walked(tools, _local(tools, tenant_id), "rules.alerts", **limits)


def list_shortfalls(
    tools: Tools, tenant_id: TenantId, *, limit: int, slug: str | None = None
) -> tuple[ShortAnswer, ...]:
    return walked(tools, _local(tools, tenant_id), "shortfalls.list", limit=limit, query_type=slug)


def list_sessions(tools: Tools, tenant_id: TenantId, *, limit: int) -> tuple[ReportingSession, ...]:
    return walked(tools, _local(tools, tenant_id), "sessions.list", limit=limit)


def show_session(tools: Tools, tenant_id: TenantId, session: str) -> tuple[Signal, ...]:
    return walked(tools, _local(tools, tenant_id), "session.outcomes", session=session)


def list_items(
    tools: Tools, tenant_id: TenantId, *, open_only: bool = False, viewer: Principal | None = None
) -> tuple[ShownItem, ...]:
    """The oldest first."""
    return walked(tools, _as(tools, tenant_id, viewer), "rootcauses.list", open=open_only)[::-1]


def show_item(tools: Tools, tenant_id: TenantId, item_id: str, *, viewer: Principal | None = None) -> ShownItem:
    done: ShownItem = performed(tools, _as(tools, tenant_id, viewer), "rootcause.show", item_id=item_id)
    return done


def export_pairs(tools: Tools, tenant_id: TenantId, form: str = "json", *, viewer: Principal | None = None) -> bytes:
    done: bytes = performed(tools, _as(tools, tenant_id, viewer), "pairs.export", format=str(form)).body
    return done


def measure_categories(tools: Tools, tenant_id: TenantId) -> HeldOut:
    done: HeldOut = performed(tools, _local(tools, tenant_id), "pairs.measure")
    return done


def show_trust(tools: Tools, tenant_id: TenantId, user_id: str, *, at: Instant) -> ShownTrust:
    done: ShownTrust = performed(tools, local_caller(tenant_id, at=at), "pramana.trust", user_id=user_id)
    return done


def agree_with_peer(tools: Tools, agreement: Agreement, *, credential: str, at: Instant) -> Agreement:
    done: Agreement = performed(tools, caller_of(tools, credential, at=at), "peer.agree", agreement=agreement)
    return done


def show_agreement(tools: Tools, tenant_id: TenantId, peer: str) -> Agreement:
    done: Agreement = performed(tools, _local(tools, tenant_id), "peer.show", peer=peer)
    return done


def forward_outcome(
    tools: Tools, content: bytes, *, credential: str, idempotency_key: str | None = None, at: Instant
) -> Forwarded:
    caller = caller_of(tools, credential, at=at)
    done: Forwarded = performed(tools, caller, "outcome.foreign", signal=content, idempotency_key=idempotency_key)
    return done


def add_webhook(
    tools: Tools, tenant_id: TenantId, url: str, types: Sequence[str] = (), *, by: PrincipalId, at: Instant
) -> AddedWebhook:
    done: AddedWebhook = performed(tools, acting(tenant_id, by, at=at), "webhook.add", url=url, types=tuple(types))
    return done


def remove_webhook(tools: Tools, tenant_id: TenantId, webhook_id: str, *, by: PrincipalId, at: Instant) -> Webhook:
    done: Webhook = performed(tools, acting(tenant_id, by, at=at), "webhook.remove", webhook_id=webhook_id)
    return done


def list_dead(tools: Tools, tenant_id: TenantId, webhook_id: str) -> tuple[Letter, ...]:
    return walked(tools, _local(tools, tenant_id), "webhook.dead", webhook_id=webhook_id)


def replay_webhook(
    tools: Tools, tenant_id: TenantId, webhook_id: str, *, after: int | None = None, by: PrincipalId, at: Instant
) -> int:
    caller = acting(tenant_id, by, at=at)
    done: int = performed(tools, caller, "webhook.replay", webhook_id=webhook_id, after=after).due
    return done
