"""The query registry: who answers which kind of question, on which rules, and which answers fell short of it."""

from functools import lru_cache
from typing import Annotated

from msgspec import Meta, Struct

from assay.delivery.level import Level
from assay.delivery.query import QueryRegistry, QueryType, fold_queries
from assay.delivery.rule import parse_rule_id
from assay.flows.delivery.answer_record import AnswerRecord
from assay.flows.delivery.delivery_entry import delivery_entry, news, read_text
from assay.flows.delivery.rule_rows import load_rules
from assay.flows.identity.authenticate import confirm
from assay.flows.request import Option, Page, Paged, Request, cut, cut_named, read_number
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.risk import RiskTier
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.delivery_store import DeliveredAnswer, RecordedQuery


class ListQueries(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which page of the query types."""


class RegisterQuery(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    slug: Annotated[
        str,
        Meta(description="The name of the query type, such as `vessel.ukc-status`."),
        Option(form="argument", metavar="QUERY_TYPE"),
    ]
    description: Annotated[str, Meta(description="What is asked, for people.")]
    domain: Annotated[str, Meta(description="The domain that its rules must be authoritative for.")]
    expected_level: Annotated[
        Level, Meta(description="The level that its answers should reach."), Option(flag="--expect")
    ] = Level.PARTIAL
    answerer: Annotated[
        str | None,
        Meta(
            description="`rule`, `verdict`, `truth`, or the name of a function; without it the query type's own name."
        ),
    ] = None
    rules: Annotated[
        tuple[str, ...], Meta(description="The rules that its answers rest on."), Option(flag="--rule")
    ] = ()
    risk_tier: Annotated[RiskTier, Meta(description="The risk of acting on an answer.")] = RiskTier.READ_ONLY


class ListShortfalls(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    query_type: Annotated[str | None, Meta(description="Only answers of this query type."), Option(flag="--of")] = None


class ShortAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer below the level that its query type should reach, and the owner of the query type."""

    answer_id: str
    query_type: str
    level: Level
    expected_level: Level
    strands_missing: tuple[str, ...]
    owner: PrincipalId | None
    answered_at: Instant
    sequence_number: int


def load_queries(unit: Unit, tenant_id: TenantId) -> QueryRegistry:
    return read_queries(unit, tenant_id)[0]


def read_queries(unit: Unit, tenant_id: TenantId) -> tuple[QueryRegistry, dict[str, RecordedQuery]]:
    """The query types in force, and their rows by slug."""
    rows = unit.delivery.queries(tenant_id)
    return fold_queries(_read(row.text) for row in rows), {row.slug: row for row in rows}


@lru_cache(maxsize=1024)
def _read(text: str) -> QueryType:
    """Every question reads them; the same text is the same query type."""
    return read_text(text, QueryType)


def queries(tools: Tools, caller: Caller, request: ListQueries) -> Page[QueryType]:
    """List query types in force by name: who answers, on which rules, and the expected level."""
    found = tools.database.read(lambda unit: load_queries(unit, caller.tenant_id))
    kinds = [found.types[slug] for slug in found.can_answer()]
    return cut_named("queries", kinds, request.cursor, request.limit, lambda one: one.slug)


def register_query(tools: Tools, caller: Caller, request: RegisterQuery) -> QueryType:
    """Record the next version of a query type; its rules must be in the rule registry.

    The caller owns the query type, and shortfalls name the owner.
    """
    named, tenant_id = tuple(parse_rule_id(one) for one in request.rules), caller.tenant_id

    def work(unit: Unit) -> QueryType:
        owner = confirm(unit, caller).principal.id
        registry = load_rules(unit, tenant_id, named)
        for rule_id in named:
            registry.get(rule_id)
        query_type = QueryType(
            slug=request.slug,
            version=len(unit.delivery.query_versions(tenant_id, request.slug)) + 1,
            description=request.description,
            domain=request.domain,
            expected_level=request.expected_level,
            owner=owner,
            answerer=request.answerer or request.slug,
            rules=named,
            risk_tier=request.risk_tier,
            recorded_at=caller.at,
            recorded_by=owner,
        )
        _add(unit, tenant_id, query_type)
        return query_type

    return tools.database.write(work)


def shortfalls(tools: Tools, caller: Caller, request: ListShortfalls) -> Page[ShortAnswer]:
    """List answers below the level that their query type should reach (PRAMANA 12.8), the oldest first."""
    after = read_number("shortfalls", request.cursor)

    def work(unit: Unit) -> tuple[ShortAnswer, ...]:
        rows = unit.delivery.short_answers(
            caller.tenant_id, after=after, limit=request.limit + 1, query_type=request.query_type
        )
        return tuple(map(_short, rows))

    return cut("shortfalls", tools.database.read(work), request.limit, lambda one: one.sequence_number)


def _short(row: DeliveredAnswer) -> ShortAnswer:
    record = read_text(row.text, AnswerRecord)
    return ShortAnswer(
        answer_id=row.answer_id,
        query_type=row.query_type,
        level=record.annotation.authenticity_level,
        expected_level=Level(str(row.short_of)),
        strands_missing=tuple(record.annotation.strands_missing),
        owner=None if record.shortfall is None else record.shortfall.owner,
        answered_at=row.answered_at,
        sequence_number=row.sequence_number,
    )


def _add(unit: Unit, tenant_id: TenantId, query_type: QueryType) -> None:
    told = {"query_type": query_type.slug, "version": query_type.version}
    event = news(EntryKind.QUERY_TYPE_RECORDED, query_type.slug, told)
    draft = delivery_entry(
        tenant_id, EntryKind.QUERY_TYPE_RECORDED, query_type, at=query_type.recorded_at, events=(event,)
    )
    unit.record(draft)
