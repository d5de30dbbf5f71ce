"""One rule registry for all rooms: loading a graph and releasing a contract project their rules into it.

rule | contract -> RuleVersion;   who accepted the graph -> Certification;   a rule that is gone -> no domain
all of it -> entry, which names the one that brought the graph or the contract into use
"""

from collections import defaultdict
from collections.abc import Callable
from hashlib import sha256
from typing import NamedTuple

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
from assay.facts.delivery import RulesProjected
from assay.flows.delivery.delivery_entry import delivery_entry
from assay.flows.delivery.rule_rows import load_registry, load_rules, rule_row
from assay.kernel.canonical import canonical_json
from assay.kernel.digest import digest_of
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
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
# Rules in one entry, which may not be as long as a graph.
_MOST_RULES = 200


class Projection(NamedTuple):
    """What a graph or a contract brings into the registry: versions with their texts, and certifications."""

    versions: tuple[tuple[RuleVersion, str], ...]
    certifications: tuple[Certification, ...] = ()


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
    """Record every rule of the graph that comes into use by `entry`, with its obligations."""

    def content_of(rule_id: RuleId) -> str:
        return unit.delivery.rule_versions(tenant_id, rule_id)[-1].content

    found = graph_projection(load_registry(unit, tenant_id), graph, reviews, content_of, by=by, at=at)
    record_projection(unit, tenant_id, found, through=entry, at=at)


def project_contract(
    unit: Unit, tenant_id: TenantId, contract: Contract, *, entry: int, by: PrincipalId, at: Instant
) -> None:
    """Record the contract that was released by `entry` as one rule."""
    registry = load_rules(unit, tenant_id, [parse_rule_id(contract.id)])
    found = contract_projection(registry, contract.id, contract.domain, contract.document, by=by, at=at)
    record_projection(unit, tenant_id, found, through=entry, at=at)


def graph_projection(
    registry: RuleRegistry,
    graph: KnowledgeGraph,
    reviews: tuple[RecordedReview, ...],
    content_of: Callable[[RuleId], str],
    *,
    by: PrincipalId,
    at: Instant,
) -> Projection:
    """Every rule of a graph, with its obligations; unchanged ones stay in their version.

    Whoever accepted the graph stands by its rules. A rule that the graph has no more is authoritative for nothing;
    `content_of` gives the text of such a rule.
    """
    domain, contents = _domain_of(graph), _contents(graph)
    versions: list[tuple[RuleVersion, str]] = []
    certified: list[Certification] = []
    for rule_id, content in contents.items():
        version = _next(registry, rule_id, content, (domain,), by=by, at=at)
        if version is not None:
            versions.append((version, content))
        latest = version or registry.get(rule_id).latest
        if version is not None or not registry.get(rule_id).is_certified:
            certified += _certified(latest, reviews, by=by)
    for rule_id, rule in registry.rules.items():
        latest = rule.latest
        if latest.source is RuleSource.GRAPH and rule_id not in contents and latest.domains:
            content = content_of(rule_id)
            retired = _next(registry, rule_id, content, (), by=by, at=at)
            versions += [] if retired is None else [(retired, content)]
    return Projection(tuple(versions), tuple(certified))


def contract_projection(
    registry: RuleRegistry, claim_type: str, domain: str, document: str, *, by: PrincipalId, at: Instant
) -> Projection:
    """A contract as one rule under its own id, for its domain; a person certifies it like any other."""
    version = next_version(
        registry,
        parse_rule_id(claim_type),
        content_hash=digest_of(document.encode()),
        source=RuleSource.CONTRACT,
        source_ref=claim_type,
        domains=(domain,),
        at=at,
        by=by,
    )
    return Projection(() if version is None else ((version, document),))


def record_projection(unit: Unit, tenant_id: TenantId, found: Projection, *, through: int, at: Instant) -> None:
    """Record it, also where nothing changed: what is known is then known up to `through`."""
    versions, certifications = list(found.versions), list(found.certifications)
    while True:
        some, versions = versions[:_MOST_RULES], versions[_MOST_RULES:]
        # After all versions, since they are about these.
        vouched, certifications = (
            ([], certifications) if versions else (certifications[:_MOST_RULES], certifications[_MOST_RULES:])
        )
        body = RulesProjected(
            through=through, versions=tuple(version for version, _ in some), certifications=tuple(vouched)
        )
        draft = delivery_entry(tenant_id, EntryKind.RULES_PROJECTED, body, at=at)
        unit.record(draft, *(rule_row(version, content) for version, content in some))
        if not versions and not certifications:
            return


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


def _certified(version: RuleVersion, reviews: tuple[RecordedReview, ...], *, by: PrincipalId) -> list[Certification]:
    """A certification by the first other person who accepted the whole graph; nobody certifies their own."""
    accepted = [one for one in reviews if one.choice is ReviewChoice.ACCEPT and one.by != by]
    return [
        Certification(
            rule_id=version.rule_id,
            version=version.version,
            content_hash=version.content_hash,
            certified_by=one.by,
            certified_at=one.reviewed_at,
            ticket_id=TicketId(one.ticket_id),
        )
        for one in accepted[:1]
    ]
