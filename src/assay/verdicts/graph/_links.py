"""The edges of a graph by type and source, sound ones apart from the others.

The first of several nodes with one id counts. An edge is sound when both its ends exist and are of the right kinds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar, cast

from assay.verdicts.graph.edge import ENDS, Edge, EdgeType
from assay.verdicts.graph.graph import KnowledgeGraph, Node, node_type
from assay.verdicts.graph.node import Jurisdiction, NodeId

__all__ = ["Links", "chain_of", "edge_order"]

_N = TypeVar("_N", bound=Node)


class Links:
    """Made from one graph, and never changed after that."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.nodes: dict[NodeId, Node] = {}
        for node in graph.nodes():
            self.nodes.setdefault(node.id, node)
        self.unsound: list[Edge] = []
        # Also by an edge that leads nowhere: what was meant to be scoped must not come to apply everywhere.
        self.scoped = {edge.source for edge in graph.edges if edge.type is EdgeType.SCOPED_TO}
        self._out: dict[EdgeType, dict[NodeId, list[Edge]]] = {kind: {} for kind in EdgeType}
        for edge in graph.edges:
            if self._is_sound(edge):
                self._out[edge.type].setdefault(edge.source, []).append(edge)
            else:
                self.unsound.append(edge)

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
        """The nodes that edges lead to; `_is_sound` has seen that they are of this kind."""
        return tuple([cast("_N", self.nodes[edge.target]) for edge in edges])

    def _is_sound(self, edge: Edge) -> bool:
        source, target = self.nodes.get(edge.source), self.nodes.get(edge.target)
        if source is None or target is None:
            return False
        wanted_source, wanted_target = ENDS[edge.type]
        return node_type(target) is wanted_target and (wanted_source is None or wanted_source is node_type(source))


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
