"""An index over a knowledge graph: from a subject to what may apply to it, without looking at the rest of the graph.

KnowledgeGraph -> GraphIndex, built once, never changed
The first of several nodes with one id counts, and edges that lead nowhere, or between the wrong kinds, are left out:
the validator tells of both.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeVar, cast

from msgspec import Struct

from assay.verdicts.graph.edge import ENDS, Edge, EdgeType
from assay.verdicts.graph.graph import KnowledgeGraph, Node, node_type
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

__all__ = ["Cited", "GraphIndex", "IndexedObligation", "IndexedRule", "build_index", "sort_nodes"]

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
    """Look-ups alone; every collection is sorted by id. `rules` has, with each rule, its edge to that subject."""

    subjects: Mapping[NodeId, Subject]
    subject_names: Mapping[str, NodeId]
    rules: Mapping[NodeId, tuple[tuple[IndexedRule, Edge], ...]]
    chains: Mapping[NodeId, frozenset[NodeId]]
    jurisdiction_names: Mapping[str, NodeId]
    cited: Mapping[NodeId, Cited]

    def find_subject(self, name: str) -> Subject | None:
        """By id, else by a name that only one subject has."""
        found = self.subjects.get(NodeId(name))
        if found is None and name in self.subject_names:
            return self.subjects[self.subject_names[name]]
        return found

    def find_jurisdiction(self, name: str | None) -> NodeId | None:
        """By id, else by a name that only one jurisdiction has; None for the universal forms."""
        if name is None or name.lower() in UNIVERSAL:
            return None
        return NodeId(name) if name in self.chains else self.jurisdiction_names.get(name)


def sort_nodes(nodes: Iterable[_N]) -> tuple[_N, ...]:
    """Each once, by id."""
    return tuple(sorted({node.id: node for node in nodes}.values(), key=_BY_ID))


def build_index(graph: KnowledgeGraph) -> GraphIndex:
    links = _Links(graph)
    obligations = {node.id: _indexed_obligation(node, links) for node in _first(graph.obligations)}
    rules = {node.id: _indexed_rule(node, obligations, links) for node in _first(graph.rules)}
    by_subject: defaultdict[NodeId, dict[NodeId, Edge]] = defaultdict(dict)
    for rule in rules:
        for edge in links.out(EdgeType.APPLIES_TO, rule):
            by_subject[edge.target][rule] = edge
    subjects = {node.id: node for node in _first(graph.subjects)}
    jurisdictions = {node.id: node for node in _first(graph.jurisdictions)}
    cited = {node: links.cited([node]) for node in (*subjects, *jurisdictions)}
    return GraphIndex(
        subjects=subjects,
        subject_names=_unique_names(subjects.values()),
        rules={node: tuple((rules[rule], found[rule]) for rule in sorted(found)) for node, found in by_subject.items()},
        chains={node: _chain(node, jurisdictions) for node in jurisdictions},
        jurisdiction_names=_unique_names(jurisdictions.values()),
        cited={node: found for node, found in cited.items() if found.edges},
    )


class _Links:
    """The edges by type and source, only those whose ends exist and are of the right kinds."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._nodes: dict[NodeId, Node] = {}
        for node in graph.nodes():
            self._nodes.setdefault(node.id, node)
        self._out: dict[EdgeType, dict[NodeId, list[Edge]]] = {kind: {} for kind in EdgeType}
        self.scoped = {edge.source for edge in graph.edges if edge.type is EdgeType.SCOPED_TO}
        for edge in graph.edges:
            if self._is_sound(edge):
                self._out[edge.type].setdefault(edge.source, []).append(edge)

    def out(self, kind: EdgeType, source: NodeId) -> Sequence[Edge]:
        found = self._out[kind].get(source)
        if found is None:
            return ()
        return found if len(found) == 1 else sorted(dict.fromkeys(found), key=_edge_order)

    def targets(self, edges: Iterable[Edge], _kind: type[_N]) -> tuple[_N, ...]:
        """The nodes that edges lead to; `_is_sound` has seen that they are of this kind."""
        return tuple(cast("_N", self._nodes[edge.target]) for edge in edges)

    def cited(self, nodes: Iterable[NodeId]) -> Cited:
        edges = tuple(edge for node in nodes for edge in self.out(EdgeType.CITED_BY, node))
        citations = self.targets(edges, Citation)
        return Cited(citations if len(citations) == 1 else sort_nodes(citations), edges)

    def _is_sound(self, edge: Edge) -> bool:
        source, target = self._nodes.get(edge.source), self._nodes.get(edge.target)
        if source is None or target is None:
            return False
        wanted_source, wanted_target = ENDS[edge.type]
        return node_type(target) is wanted_target and wanted_source in (None, node_type(source))


def _indexed_obligation(node: Obligation, links: _Links) -> IndexedObligation:
    defined, exempted, interpreted, scoped = (
        links.out(kind, node.id)
        for kind in (EdgeType.DEFINED_BY, EdgeType.EXEMPTED_BY, EdgeType.INTERPRETED_BY, EdgeType.SCOPED_TO)
    )
    hanging = (*defined, *exempted, *interpreted)
    cited = links.cited((node.id, *(edge.target for edge in hanging)))
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


def _indexed_rule(node: Rule, obligations: Mapping[NodeId, IndexedObligation], links: _Links) -> IndexedRule:
    edges = tuple(links.out(EdgeType.CONSISTS_OF, node.id))
    return IndexedRule(
        rule=node,
        obligations=tuple(obligations[edge.target] for edge in edges),
        links=edges,
        cited=links.cited([node.id]),
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


def _chain(node: NodeId, jurisdictions: Mapping[NodeId, Jurisdiction]) -> frozenset[NodeId]:
    """A jurisdiction and its ancestors; a loop ends where it closes."""
    chain: set[NodeId] = set()
    at: NodeId | None = node
    while at is not None and at in jurisdictions and at not in chain:
        chain.add(at)
        at = jurisdictions[at].parent
    return frozenset(chain)


def _edge_order(edge: Edge) -> tuple[str, str, str]:
    return edge.type, edge.source, edge.target
