"""An index over a knowledge graph: from a subject to what may apply to it, without looking at the rest of the graph.

KnowledgeGraph -> GraphIndex, built once, never changed
The first of several nodes with one id counts, and edges that lead nowhere, or between the wrong kinds, are left out:
the validator tells of both.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeVar

from msgspec import Struct

from assay.verdicts.graph._links import Links, chain_of
from assay.verdicts.graph.edge import Edge, EdgeType
from assay.verdicts.graph.graph import GraphForm, KnowledgeGraph, Node
from assay.verdicts.graph.node import (
    UNIVERSAL,
    Citation,
    Definition,
    Exemption,
    Jurisdiction,
    NodeId,
    Precedent,
    Rule,
    Subject,
)
from assay.verdicts.graph.obligation import Obligation
from assay.verdicts.graph.unit import UnitTable
from assay.verdicts.rulings import Rulings

_N = TypeVar("_N", bound=Node)
_BY_ID = attrgetter("id")


class Cited(Struct, frozen=True, gc=False):
    """The citations of a node, and the edges that lead to them."""

    citations: tuple[Citation, ...]
    edges: tuple[Edge, ...]


class IndexedObligation(Struct, frozen=True, gc=False):
    """An obligation with all that hangs on it but its scopes, which depend on the record.

    `edges` are its own and those of what hangs on it; `scopes` are the jurisdictions, each with the edge to it, and
    None where the obligation has no scope at all. One whose scopes all lead nowhere applies nowhere.
    """

    obligation: Obligation
    scopes: tuple[tuple[Jurisdiction, Edge], ...] | None
    definitions: tuple[Definition, ...]
    exemptions: tuple[Exemption, ...]
    precedents: tuple[Precedent, ...]
    citations: tuple[Citation, ...]
    edges: tuple[Edge, ...]


class IndexedRule(Struct, frozen=True, gc=False):
    """`links` are the edges to its obligations, in the order of these."""

    rule: Rule
    obligations: tuple[IndexedObligation, ...]
    links: tuple[Edge, ...]
    cited: Cited


@dataclass(frozen=True, slots=True)
class GraphIndex:
    """Look-ups alone; every collection is sorted by id. `rules` has, with each rule, its edge to that subject.

    `folded_places` are ids and names of jurisdictions without case, where one jurisdiction alone has them. `measured`
    are subjects of a flat graph by the metric that they were made from: `a.b.metric` maps to the rule of `metric`.
    """

    subjects: Mapping[NodeId, Subject]
    subject_names: Mapping[str, NodeId]
    rules: Mapping[NodeId, tuple[tuple[IndexedRule, Edge], ...]]
    jurisdictions: Mapping[NodeId, Jurisdiction]
    jurisdiction_names: Mapping[str, NodeId]
    cited: Mapping[NodeId, Cited]
    folded_places: Mapping[str, NodeId]
    measured: Mapping[str, NodeId]
    rulings: Rulings
    units: UnitTable
    has_scopes: bool

    def find_subject(self, name: str) -> Subject | None:
        """The subject of this id, else the only one of this name, else that of the metric that the name ends with."""
        found = self.subjects.get(NodeId(name))
        if found is None and name in self.subject_names:
            return self.subjects[self.subject_names[name]]
        return found or self.find_measured(name)

    def find_measured(self, name: str) -> Subject | None:
        """The subject of the longest metric that the dotted name ends with, in a flat graph that names it not."""
        if not self.measured or name in self.subjects or name in self.subject_names:
            return None
        _, dot, rest = name.partition(".")
        while dot:
            if rest in self.measured:
                return self.subjects[self.measured[rest]]
            _, dot, rest = rest.partition(".")
        return None

    def find_jurisdiction(self, name: str | None) -> NodeId | None:
        """The jurisdiction of this id, else the only one of this name, at last without case; None if universal."""
        if name is None or name.lower() in UNIVERSAL:
            return None
        if name in self.jurisdictions:
            return NodeId(name)
        return self.jurisdiction_names.get(name) or self.folded_places.get(name.casefold())

    def chain(self, place: NodeId | None) -> frozenset[NodeId]:
        """A jurisdiction and all above it; none for none."""
        return frozenset() if place is None else chain_of(place, self.jurisdictions)


def sort_nodes(nodes: Iterable[_N]) -> tuple[_N, ...]:
    """Each once, by id."""
    return tuple(sorted({node.id: node for node in nodes}.values(), key=_BY_ID))


def build_index(graph: KnowledgeGraph) -> GraphIndex:
    links = Links(graph)
    obligations = {node.id: _indexed_obligation(node, links) for node in _first(graph.obligations)}
    rules = {node.id: _indexed_rule(node, obligations, links) for node in _first(graph.rules)}
    by_subject: defaultdict[NodeId, dict[NodeId, Edge]] = defaultdict(dict)
    for rule in rules:
        for edge in links.out(EdgeType.APPLIES_TO, rule):
            by_subject[edge.target][rule] = edge
    subjects = {node.id: node for node in _first(graph.subjects)}
    jurisdictions = {node.id: node for node in _first(graph.jurisdictions)}
    cited = {node: _cited(links, [node]) for node in (*subjects, *jurisdictions)}
    is_first = graph.rulings is Rulings.FIRST
    return GraphIndex(
        subjects=subjects,
        subject_names=_unique_names(subjects.values()),
        rules={node: tuple((rules[rule], found[rule]) for rule in sorted(found)) for node, found in by_subject.items()},
        jurisdictions=jurisdictions,
        jurisdiction_names=_unique_names(jurisdictions.values()),
        cited={node: found for node, found in cited.items() if found.edges},
        folded_places={} if is_first else _folded_places(jurisdictions.values()),
        measured={} if is_first else _measured(graph, subjects),
        rulings=graph.rulings,
        units=graph.units,
        has_scopes=bool(links.scoped),
    )


def _cited(links: Links, nodes: Iterable[NodeId]) -> Cited:
    edges = tuple([edge for node in nodes for edge in links.out(EdgeType.CITED_BY, node)])
    citations = links.targets(edges, Citation)
    return Cited(citations if len(citations) == 1 else sort_nodes(citations), edges)


def _indexed_obligation(node: Obligation, links: Links) -> IndexedObligation:
    defined, exempted, interpreted, scoped = (
        links.out(kind, node.id)
        for kind in (EdgeType.DEFINED_BY, EdgeType.EXEMPTED_BY, EdgeType.INTERPRETED_BY, EdgeType.SCOPED_TO)
    )
    hanging = (*defined, *exempted, *interpreted)
    cited = _cited(links, (node.id, *(edge.target for edge in hanging)))
    scopes = tuple(zip(links.targets(scoped, Jurisdiction), scoped, strict=True))
    return IndexedObligation(
        obligation=node,
        scopes=scopes if node.id in links.scoped else None,
        definitions=links.targets(defined, Definition),
        exemptions=links.targets(exempted, Exemption),
        precedents=links.targets(interpreted, Precedent),
        citations=cited.citations,
        edges=hanging + cited.edges,
    )


def _indexed_rule(node: Rule, obligations: Mapping[NodeId, IndexedObligation], links: Links) -> IndexedRule:
    edges = tuple(links.out(EdgeType.CONSISTS_OF, node.id))
    return IndexedRule(
        rule=node,
        obligations=tuple(obligations[edge.target] for edge in edges),
        links=edges,
        cited=_cited(links, [node.id]),
    )


def _first(nodes: Iterable[_N]) -> Iterator[_N]:
    seen: set[NodeId] = set()
    for node in nodes:
        if node.id not in seen:
            seen.add(node.id)
            yield node


def _unique_names(nodes: Iterable[Subject | Jurisdiction]) -> dict[str, NodeId]:
    """Names that would not be found as ids anyway, and that one node alone has."""
    found: dict[str, list[NodeId]] = {}
    for node in nodes:
        if node.name is not None and node.name != node.id:
            found.setdefault(node.name, []).append(node.id)
    return {name: ids[0] for name, ids in found.items() if len(ids) == 1}


def _folded_places(nodes: Iterable[Jurisdiction]) -> dict[str, NodeId]:
    found: dict[str, set[NodeId]] = {}
    for node in nodes:
        for name in (node.id, node.name):
            if name is not None:
                found.setdefault(name.casefold(), set()).add(node.id)
    return {name: ids.pop() for name, ids in found.items() if len(ids) == 1}


def _measured(graph: KnowledgeGraph, subjects: Mapping[NodeId, Subject]) -> dict[str, NodeId]:
    """Subjects that carry the name of a metric; a typed graph names its subjects itself."""
    if graph.form is not GraphForm.FLAT:
        return {}
    metrics = {node.metric for node in graph.obligations}
    return {node.name: node.id for node in subjects.values() if node.name is not None and node.name in metrics}
