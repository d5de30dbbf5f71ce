"""The edges of a graph by type and source, sound ones apart from the others.

The first of several nodes with one id counts. An edge is sound when both its ends exist and are of the right kinds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import NoneType
from typing import TypeVar, cast

from assay.verdicts.graph.constraint import Constraint, constraint_of
from assay.verdicts.graph.edge import ENDS, Edge, EdgeType
from assay.verdicts.graph.graph import NODE_TYPES, KnowledgeGraph, Node
from assay.verdicts.graph.node import Jurisdiction, NodeId
from assay.verdicts.graph.obligation import Obligation

_N = TypeVar("_N", bound=Node)
_BY_TYPE = {kind: cls for cls, kind in NODE_TYPES.items()}
_CLASSES = {kind: (source and _BY_TYPE[source], _BY_TYPE[target]) for kind, (source, target) in ENDS.items()}


class Links:
    """Made from one graph; what it remembers besides follows from that."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.nodes: dict[NodeId, Node] = {}
        for node in graph.nodes():
            self.nodes.setdefault(node.id, node)
        self.unsound: list[Edge] = []
        # Also by an edge that leads nowhere: what was meant to be scoped must not come to apply everywhere.
        self.scoped = {edge.source for edge in graph.edges if edge.type is EdgeType.SCOPED_TO}
        self._out: dict[EdgeType, dict[NodeId, list[Edge]]] = {kind: {} for kind in EdgeType}
        self._constraints: dict[NodeId, Constraint | None] = {}
        self._sort(graph.edges)

    def _sort(self, edges: Iterable[Edge]) -> None:
        nodes, sorted_out, unsound = self.nodes, self._out, self.unsound
        for edge in edges:
            source, kind = edge.source, edge.type
            wanted_source, wanted_target = _CLASSES[kind]
            source_class = type(nodes.get(source))
            is_source = source_class is wanted_source or (wanted_source is None and source_class is not NoneType)
            if is_source and type(nodes.get(edge.target)) is wanted_target:
                sorted_out[kind].setdefault(source, []).append(edge)
            else:
                unsound.append(edge)

    def constraint(self, node: Obligation) -> Constraint | None:
        """What satisfies an obligation, computed once."""
        if self.nodes.get(node.id) is not node:
            return constraint_of(node)  # Another node with this id: not the one that is remembered.
        if node.id not in self._constraints:
            self._constraints[node.id] = constraint_of(node)
        return self._constraints[node.id]

    def out(self, kind: EdgeType, source: NodeId) -> Sequence[Edge]:
        """Each once, by target."""
        found = self._out[kind].get(source)
        if found is None:
            return ()
        return found if len(found) == 1 else sorted(dict.fromkeys(found), key=edge_order)

    def all(self, kind: EdgeType) -> Iterator[Edge]:
        for found in self._out[kind].values():
            yield from found

    def has(self, kind: EdgeType, source: NodeId) -> bool:
        return source in self._out[kind]

    def targets(self, edges: Iterable[Edge], _kind: type[_N]) -> tuple[_N, ...]:
        """The nodes that sound edges lead to, which are of this kind."""
        return tuple([cast("_N", self.nodes[edge.target]) for edge in edges])


def edge_order(edge: Edge) -> tuple[str, str, str]:
    return edge.type, edge.source, edge.target


def chain_of(node: NodeId, nodes: Mapping[NodeId, Jurisdiction]) -> frozenset[NodeId]:
    """A jurisdiction and its ancestors; a loop ends where it closes."""
    chain: set[NodeId] = set()
    at: NodeId | None = node
    while at is not None and at in nodes and at not in chain:
        chain.add(at)
        at = nodes[at].parent
    return frozenset(chain)
