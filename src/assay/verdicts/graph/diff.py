"""What changed between two knowledge graphs, node by node and field by field."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from assay.kernel.json_text import JsonValue
from assay.verdicts.graph._links import edge_order
from assay.verdicts.graph.edge import Edge
from assay.verdicts.graph.graph import KnowledgeGraph, Node, node_type
from assay.verdicts.graph.hash import render_node
from assay.verdicts.graph.node import NodeId, NodeType


class Change(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class FieldChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Any JSON value before and after; None is an absent field."""

    field: str
    before: Any
    after: Any


class NodeChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`fields` are those of a changed node; an added or removed one has all of its own, against nothing."""

    change: Change
    node: NodeId
    type: NodeType
    fields: tuple[FieldChange, ...]


class GraphDiff(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nodes by kind and id; edges by type and ends. `words` are sentences about the same, where they were asked for."""

    nodes: tuple[NodeChange, ...]
    edges_added: tuple[Edge, ...]
    edges_removed: tuple[Edge, ...]
    metadata: tuple[FieldChange, ...]
    words: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.nodes or self.edges_added or self.edges_removed or self.metadata)


def diff_graphs(before: KnowledgeGraph, after: KnowledgeGraph) -> GraphDiff:
    """From one to the other. A node is the same one by kind and id; it changed if its version did."""
    old, new = _by_key(before), _by_key(after)
    changes = [_node_change(old.get(key), new.get(key)) for key in sorted(old.keys() | new.keys())]
    edges_before, edges_after = set(before.edges), set(after.edges)
    return GraphDiff(
        nodes=tuple(change for change in changes if change is not None),
        edges_added=tuple(sorted(edges_after - edges_before, key=edge_order)),
        edges_removed=tuple(sorted(edges_before - edges_after, key=edge_order)),
        metadata=_fields(before.metadata, after.metadata),
    )


def _by_key(graph: KnowledgeGraph) -> dict[tuple[NodeType, NodeId], Node]:
    found: dict[tuple[NodeType, NodeId], Node] = {}
    for node in graph.nodes():
        found.setdefault((node_type(node), node.id), node)
    return found


def _node_change(old: Node | None, new: Node | None) -> NodeChange | None:
    kept = new or old
    if kept is None or (old is not None and new is not None and old.version == new.version):
        return None
    change = Change.ADDED if old is None else Change.REMOVED if new is None else Change.CHANGED
    fields = _fields(_content(old), _content(new))
    return NodeChange(change=change, node=kept.id, type=node_type(kept), fields=fields)


def _content(node: Node | None) -> Mapping[str, JsonValue]:
    written = {} if node is None else render_node(node)
    return {name: value for name, value in written.items() if name not in ("id", "type", "version")}


def _fields(before: Mapping[str, JsonValue], after: Mapping[str, JsonValue]) -> tuple[FieldChange, ...]:
    return tuple(
        FieldChange(field=name, before=before.get(name), after=after.get(name))
        for name in sorted(before.keys() | after.keys())
        if not _are_equal(before.get(name), after.get(name))
    )


def _are_equal(one: JsonValue, other: JsonValue) -> bool:
    """Whether two values read alike canonically: true is not 1, and 1.0 is 1."""
    return one == other and isinstance(one, bool) is isinstance(other, bool)
