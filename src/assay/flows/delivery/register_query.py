"""An operator records a kind of question: who answers it, on which rules, and how well founded it should be."""

from collections.abc import Iterable

from assay.delivery.level import Level
from assay.delivery.query import QueryRegistry, QueryType, fold_queries
from assay.delivery.rule import parse_rule_id
from assay.flows.delivery.delivery_entry import delivery_entry, news, read_text, text_of
from assay.flows.delivery.rule_rows import load_rules
from assay.flows.identity.admit_principal import admit_principal
from assay.flows.tools import Tools
from assay.identity.principal import BuiltInRole
from assay.identity.risk import RiskTier
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.delivery_store import RecordedQuery

__all__ = ["load_queries", "register_query"]


def load_queries(unit: Unit, tenant_id: TenantId) -> QueryRegistry:
    return fold_queries(read_text(one.text, QueryType) for one in unit.delivery.queries(tenant_id))


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
    """The version in force from now on; its rules must be in the rule registry.

    Who registers it owns it, and is told of shortfalls.
    """
    named = tuple(parse_rule_id(one) for one in rules)

    def work(unit: Unit) -> QueryType:
        principal = admit_principal(unit, credential, any_of=[BuiltInRole.OPERATOR], at=at)
        tenant_id = principal.tenant_id
        registry = load_rules(unit, tenant_id, named)
        for rule_id in named:
            registry.get(rule_id)
        query_type = QueryType(
            slug=slug,
            version=len(unit.delivery.query_versions(tenant_id, slug)) + 1,
            description=description,
            domain=domain,
            expected_level=expected_level,
            owner=principal.id,
            answerer=answerer,
            rules=named,
            risk_tier=risk_tier,
            recorded_at=at,
            recorded_by=principal.id,
        )
        _add(unit, tenant_id, query_type)
        return query_type

    return tools.database.write(work)


def _add(unit: Unit, tenant_id: TenantId, query_type: QueryType) -> None:
    told = {"query_type": query_type.slug, "version": query_type.version}
    event = news(EntryKind.QUERY_TYPE_RECORDED, query_type.slug, told)
    draft = delivery_entry(
        tenant_id, EntryKind.QUERY_TYPE_RECORDED, query_type, at=query_type.recorded_at, events=(event,)
    )
    row = RecordedQuery(
        slug=query_type.slug,
        version=query_type.version,
        text=text_of(query_type),
        sequence_number=unit.ledger.append(draft).sequence_number,
    )
    unit.delivery.add_query(tenant_id, row)
