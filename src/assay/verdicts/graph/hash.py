"""Content hashes of a knowledge graph (SKI 3.1, 7.3), and the plain JSON that nodes we made ourselves are written as.

A foreign node is hashed as it was received, by `node_version` over its JSON. `versioned` is for nodes that we make.
"""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from assay.kernel.canonical import MAX_SAFE_INTEGER, canonical_digest, canonicalize
from assay.kernel.digest import Digest, digest_of
from assay.kernel.instant import instant_of, render_instant
from assay.kernel.json_text import JsonValue
from assay.verdicts.graph.graph import KnowledgeGraph, Node, node_type
from assay.verdicts.graph.node import NodeType
from assay.verdicts.graph.obligation import PLAIN_PREDICATES, FlatPredicate

_Node = TypeVar("_Node", bound=Node)
# What we derive from the document and never write into one.
_DERIVED = frozenset({"basis", "formal"})
_ARRAYS = {kind: f"{kind.value}s" for kind in NodeType}


def node_version(content: Mapping[str, JsonValue]) -> Digest:
    """SHA-256 of the canonical bytes of a node's JSON without its `version`."""
    return canonical_digest({name: value for name, value in content.items() if name != "version"})


def stamp_versions(document: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """A typed document with every node's version as its content gives it, and without a signature, which is void."""
    nodes = document.get("nodes")
    arrays = nodes.items() if isinstance(nodes, dict) else ()
    stamped: dict[str, JsonValue] = {name: [_stamped(node) for node in _items(array)] for name, array in arrays}
    rest = {name: value for name, value in document.items() if name not in ("nodes", "signature")}
    return {**rest, "nodes": stamped} if isinstance(nodes, dict) else rest


def versioned(node: _Node) -> _Node:
    """The node with the version that its own content gives it."""
    return replace(node, version=node_version(render_node(node)))


def render_node(node: Node) -> dict[str, JsonValue]:
    """A node as the typed form writes it; absent fields are left out."""
    written: dict[str, JsonValue] = {"type": node_type(node).value}
    for name in node.__struct_fields__:
        value = getattr(node, name)
        if value is not None and value != () and name not in _DERIVED and not _is_plain_predicate(value):
            written[name] = _plain(value)
    return written


def render_graph(graph: KnowledgeGraph) -> dict[str, JsonValue]:
    """A graph as the typed form writes it, without a signature; a flat one comes out converted."""
    nodes: dict[str, JsonValue] = {
        array: [render_node(node) for node in getattr(graph, array)] for array in _ARRAYS.values()
    }
    edges: list[JsonValue] = [{"type": edge.type.value, "from": edge.source, "to": edge.target} for edge in graph.edges]
    return {"metadata": graph.metadata, "nodes": nodes, "edges": edges}


def graph_bytes(document: Mapping[str, JsonValue]) -> bytes:
    """What is hashed and signed: the canonical bytes of the whole document without `signature` (SKI 3.5)."""
    return canonicalize({name: value for name, value in document.items() if name != "signature"})


def graph_hash(document: Mapping[str, JsonValue]) -> Digest:
    return digest_of(graph_bytes(document))


def _is_plain_predicate(value: object) -> bool:
    """A flat comparison, which the obligation's type and operand say already."""
    return isinstance(value, FlatPredicate) and value.name in PLAIN_PREDICATES


def _items(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _stamped(node: JsonValue) -> JsonValue:
    return {**node, "version": node_version(node)} if isinstance(node, dict) else node


def _plain(value: object) -> JsonValue:
    if isinstance(value, Decimal):
        return _number(value)
    if isinstance(value, datetime):
        return render_instant(instant_of(value))
    if isinstance(value, Struct):
        parts = ((name, getattr(value, name)) for name in value.__struct_fields__)
        return {name: _plain(part) for name, part in parts if part is not None}
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value if isinstance(value, bool) else str(value)


def _number(value: Decimal) -> int | float:
    is_whole = value == value.to_integral_value() and abs(value) <= MAX_SAFE_INTEGER
    return int(value) if is_whole else float(value)
