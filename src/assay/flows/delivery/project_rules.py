"""One rule registry for all rooms: loading a graph and releasing a contract project their rules into it.

rule | contract -> RuleVersion;   who accepted the graph -> Certification;   a rule that is gone -> no domain
"""

from collections import defaultdict
from hashlib import sha256

import msgspec

from assay.delivery.errors import InvalidRuleVersionError
from assay.delivery.rule import (
    Certification,
    RuleId,
    RuleRegistry,
    RuleSource,
    RuleVersion,
    next_version,
    parse_rule_id,
)
from assay.flows.delivery.rule_rows import add_certification, add_version, load_registry, load_rules
from assay.kernel.canonical import canonical_json
from assay.kernel.digest import digest_of
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.graph_store import RecordedReview, ReviewChoice
from assay.truth.contract import Contract
from assay.verdicts.graph.edge import EdgeType
from assay.verdicts.graph.graph import KnowledgeGraph
from assay.verdicts.graph.node import Rule
from assay.verdicts.graph.obligation import Obligation

# What a graph is about, where its metadata does not say.
GRAPH_DOMAIN = "compliance"
_GRAPH_REF = "graph"
_HEX = 32


def graph_rule_id(node_id: str) -> RuleId:
    """The registry's name of a graph's rule: its own, or where that has characters no annotation can carry, a hash."""
    try:
        return parse_rule_id(node_id)
    except InvalidRuleVersionError:
        return parse_rule_id(f"graph.{sha256(node_id.encode()).hexdigest()[:_HEX]}")


def project_graph(
    unit: Unit,
    tenant_id: TenantId,
    graph: KnowledgeGraph,
    reviews: tuple[RecordedReview, ...],
    *,
    entry: int,
    by: PrincipalId,
    at: Instant,
) -> None:
    """Every rule of the graph that comes into use, with its obligations; unchanged ones stay in their version.

    `entry` is the one that brought the graph into use, of which all this is a projection. Whoever accepted the graph
    stands by its rules. A rule that the graph has no more is authoritative for nothing.
    """
    registry = load_registry(unit, tenant_id)
    domain = _domain_of(graph)
    contents = _contents(graph)
    for rule_id, content in contents.items():
        version = _next(registry, rule_id, content, (domain,), by=by, at=at)
        if version is not None:
            add_version(unit, tenant_id, version, content, entry=entry)
        latest = version or registry.get(rule_id).latest
        if version is not None or not registry.get(rule_id).is_certified:
            _certify(unit, tenant_id, latest, reviews, entry=entry, by=by)
    _retire(unit, tenant_id, registry, set(contents), entry=entry, by=by, at=at)


def project_contract(
    unit: Unit, tenant_id: TenantId, contract: Contract, *, entry: int, by: PrincipalId, at: Instant
) -> None:
    """The contract as one rule under its own id, for its domain; a person certifies it like any other."""
    rule_id = parse_rule_id(contract.id)
    version = next_version(
        load_rules(unit, tenant_id, [rule_id]),
        rule_id,
        content_hash=digest_of(contract.document.encode()),
        source=RuleSource.CONTRACT,
        source_ref=contract.id,
        domains=(contract.domain,),
        at=at,
        by=by,
    )
    if version is not None:
        add_version(unit, tenant_id, version, contract.document, entry=entry)


def _domain_of(graph: KnowledgeGraph) -> str:
    named = graph.metadata.get("domain")
    return named if isinstance(named, str) and named else GRAPH_DOMAIN


def _contents(graph: KnowledgeGraph) -> dict[RuleId, str]:
    """Each rule with the obligations it consists of, as canonical text; what a verdict by it rests on."""
    obligations = {one.id: one for one in graph.obligations}
    parts: defaultdict[str, list[Obligation]] = defaultdict(list)
    for edge in graph.edges:
        if edge.type == EdgeType.CONSISTS_OF and edge.target in obligations:
            parts[edge.source].append(obligations[edge.target])
    return {graph_rule_id(rule.id): _content(rule, parts[rule.id]) for rule in graph.rules}


def _content(rule: Rule, obligations: list[Obligation]) -> str:
    told = sorted((msgspec.to_builtins(one) for one in obligations), key=lambda one: str(one["id"]))
    return canonical_json({"rule": msgspec.to_builtins(rule), "obligations": told})


def _next(
    registry: RuleRegistry, rule_id: RuleId, content: str, domains: tuple[str, ...], *, by: PrincipalId, at: Instant
) -> RuleVersion | None:
    return next_version(
        registry,
        rule_id,
        content_hash=digest_of(content.encode()),
        source=RuleSource.GRAPH,
        source_ref=_GRAPH_REF,
        domains=domains,
        at=at,
        by=by,
    )


def _certify(
    unit: Unit,
    tenant_id: TenantId,
    version: RuleVersion,
    reviews: tuple[RecordedReview, ...],
    *,
    entry: int,
    by: PrincipalId,
) -> None:
    """Certify a rule in the name of the first other person who accepted the whole graph; nobody certifies their own."""
    accepted = [one for one in reviews if one.choice is ReviewChoice.ACCEPT and one.by != by]
    if not accepted:
        return
    certification = Certification(
        rule_id=version.rule_id,
        version=version.version,
        content_hash=version.content_hash,
        certified_by=accepted[0].by,
        certified_at=accepted[0].reviewed_at,
        ticket_id=TicketId(accepted[0].ticket_id),
    )
    add_certification(unit, tenant_id, certification, at=certification.certified_at, entry=entry)


def _retire(
    unit: Unit,
    tenant_id: TenantId,
    registry: RuleRegistry,
    kept: set[RuleId],
    *,
    entry: int,
    by: PrincipalId,
    at: Instant,
) -> None:
    for rule_id, rule in registry.rules.items():
        latest = rule.latest
        if latest.source is not RuleSource.GRAPH or rule_id in kept or not latest.domains:
            continue
        content = unit.delivery.rule_versions(tenant_id, rule_id)[-1].content
        version = _next(registry, rule_id, content, (), by=by, at=at)
        if version is not None:
            add_version(unit, tenant_id, version, content, entry=entry)
