"""The shape of a typed document that another implementation wrote, made ours: names of fields, arrays, edges, types.

raw JSON -> reshape -> typed document with our field names, each change noted; nothing is decided about the law here
"""

from collections.abc import Iterable, Iterator, Mapping

from assay.kernel.json_text import JsonValue
from assay.verdicts.graph.edge import EdgeType
from assay.verdicts.graph.node import NodeType, PrecedentRelation
from assay.verdicts.graph.upgrade import ChangeCode, UpgradeChange

NODE_FIELDS: dict[NodeType, tuple[str, ...]] = {
    NodeType.SUBJECT: ("name", "description"),
    NodeType.RULE: ("name", "risk_tier", "description"),
    NodeType.OBLIGATION: (
        "obligation_type",
        "metric",
        "value",
        "unit",
        "effective_date_start",
        "effective_date_end",
        "summary",
        "window_seconds",
        "predicate",
    ),
    NodeType.DEFINITION: ("term", "definition_text", "scope"),
    NodeType.EXEMPTION: ("condition", "description"),
    NodeType.PRECEDENT: ("summary", "relation"),
    NodeType.JURISDICTION: ("name", "parent"),
    NodeType.CITATION: ("source_document", "source_clause", "url"),
}
# What others call our fields; the first that is there counts, and only where ours is not.
_ALIASES: dict[NodeType, dict[str, tuple[str, ...]]] = {
    NodeType.SUBJECT: {"name": ("title", "label"), "description": ("text",)},
    NodeType.RULE: {"name": ("title", "label"), "risk_tier": ("tier", "risk"), "description": ("text", "summary")},
    NodeType.OBLIGATION: {
        "value": ("operand", "threshold", "limit"),
        "effective_date_start": ("effective_date", "effective_from", "start_date"),
        "effective_date_end": ("sunset_date", "effective_to", "end_date"),
        "summary": ("description", "text", "title"),
    },
    NodeType.DEFINITION: {"term": ("name", "title"), "definition_text": ("definition", "text", "description")},
    NodeType.EXEMPTION: {"condition": ("text", "expression")},
    NodeType.PRECEDENT: {"summary": ("description", "text", "title")},
    NodeType.JURISDICTION: {"name": ("title", "label", "code"), "parent": ("parent_id",)},
    NodeType.CITATION: {
        "source_document": ("document", "source", "title"),
        "source_clause": ("clause", "section", "article"),
        "url": ("link", "href"),
    },
}
# Fields without which a node is not read, and what stands for them.
_NEEDED = {
    NodeType.DEFINITION: {"term": "not stated", "definition_text": "not stated"},
    NodeType.EXEMPTION: {"condition": "not stated"},
    NodeType.PRECEDENT: {"summary": "not stated", "relation": PrecedentRelation.INTERPRETS.value},
    NodeType.CITATION: {"source_document": "not stated", "source_clause": "not stated"},
}
_EDGES = frozenset(kind.value for kind in EdgeType)
_RELATIONS = frozenset(relation.value for relation in PrecedentRelation)
_ENDS = {"from": ("source", "from_id", "source_id"), "to": ("target", "to_id", "target_id"), "type": ("relation",)}


class Changes:
    """What was changed so far, in order."""

    def __init__(self) -> None:
        self.found: list[UpgradeChange] = []

    def note(self, code: ChangeCode, message: str, node: str | None = None) -> None:
        self.found.append(UpgradeChange(code=code, message=message, node=node))


def reshape(document: Mapping[str, JsonValue], changes: Changes) -> dict[str, JsonValue]:
    """A document with `metadata`, `nodes` in an array for each kind, and `edges`, in our words."""
    for name in sorted(document.keys() - {"metadata", "nodes", "edges", "signature"}):
        changes.note(ChangeCode.FIELD_REMOVED, f"`{name[:80]}` is not part of a typed graph, and was removed")
    metadata = document.get("metadata")
    nodes: dict[str, JsonValue] = {f"{kind.value}s": [] for kind in NodeType}
    for kind, array in _arrays(document.get("nodes"), changes):
        kept = nodes[f"{kind.value}s"]
        if isinstance(kept, list):
            kept.extend(_node(kind, node, len(kept) + place, changes) for place, node in enumerate(array))
    edges = document.get("edges")
    return {
        "metadata": metadata if isinstance(metadata, dict) else {},
        "nodes": nodes,
        "edges": list(_edges(edges if isinstance(edges, list) else [], changes)),
    }


def _arrays(nodes: JsonValue, changes: Changes) -> Iterator[tuple[NodeType, list[dict[str, JsonValue]]]]:
    """Arrays by kind; one list of all nodes is sorted by their `type`."""
    if isinstance(nodes, list):
        changes.note(ChangeCode.NODES_GROUPED, "one list of nodes became an array for each kind")
        for node in nodes:
            kind = _kind(node.get("type")) if isinstance(node, dict) else None
            yield from _known(kind, [node], f"a node of type `{_shown(node)}`", changes)
        return
    for name, array in nodes.items() if isinstance(nodes, dict) else ():
        listed = array if isinstance(array, list) else []
        yield from _known(_kind(name.removesuffix("s")), listed, f"the array `{name[:80]}`", changes)


def _known(
    kind: NodeType | None, array: Iterable[JsonValue], what: str, changes: Changes
) -> Iterator[tuple[NodeType, list[dict[str, JsonValue]]]]:
    if kind is None:
        changes.note(ChangeCode.NODE_REMOVED, f"{what} is not a node type of SKI 3.1, and was removed")
        return
    yield kind, [node for node in array if isinstance(node, dict)]


def _kind(name: JsonValue) -> NodeType | None:
    return next((kind for kind in NodeType if isinstance(name, str) and kind.value == name.lower()), None)


def _shown(node: JsonValue) -> str:
    return str(node.get("type"))[:80] if isinstance(node, dict) else "none"


def _node(kind: NodeType, given: dict[str, JsonValue], place: int, changes: Changes) -> dict[str, JsonValue]:
    written = given.get("id")
    identity = written if isinstance(written, str) and written else f"{kind.value}-{place + 1}"
    if identity != written:
        changes.note(ChangeCode.ID_ADDED, f"a {kind.value} had no text as `id`; it is now `{identity}`", identity)
    node: dict[str, JsonValue] = {"id": identity, "type": kind.value}
    if "version" in given:
        node["version"] = given["version"]
    used = {"id", "type", "version"}
    for name in NODE_FIELDS[kind]:
        source = _source(kind, name, given)
        if source is not None:
            node[name] = given[source]
            used.add(source)
            if source != name:
                changes.note(ChangeCode.FIELD_RENAMED, f"`{source}` was renamed to `{name}`", identity)
    if kind is NodeType.OBLIGATION:
        _take_type(node, given)
    for name in sorted(given.keys() - used - ({"relation"} if kind is NodeType.OBLIGATION else set())):
        changes.note(
            ChangeCode.FIELD_REMOVED, f"`{name[:80]}` is not a field of a {kind.value}, and was removed", identity
        )
    _complete(kind, node, changes)
    return node


def _source(kind: NodeType, name: str, given: Mapping[str, JsonValue]) -> str | None:
    names = (name, *_ALIASES[kind].get(name, ()))
    return next((one for one in names if given.get(one) is not None), None)


def _take_type(node: dict[str, JsonValue], given: Mapping[str, JsonValue]) -> None:
    """The type of an obligation may stand in `type`, where others have it."""
    general = given.get("type")
    is_kind = isinstance(general, str) and general.lower() == NodeType.OBLIGATION
    if "obligation_type" not in node and isinstance(general, str) and not is_kind:
        node["obligation_type"] = general
    if "obligation_type" not in node and isinstance(given.get("relation"), str):
        node["obligation_type"] = given["relation"]


def _complete(kind: NodeType, node: dict[str, JsonValue], changes: Changes) -> None:
    """Texts that are missing or are none, where a node is not read without them."""
    identity = str(node["id"])
    texts = set(NODE_FIELDS[kind]) - {"value", "window_seconds", "predicate", "scope"}
    for name in sorted(texts & node.keys()):
        if not isinstance(node[name], str):
            changes.note(ChangeCode.FIELD_REMOVED, f"`{name}` was not a text, and was removed", identity)
            del node[name]
    if kind is NodeType.PRECEDENT and node.get("relation") not in _RELATIONS:
        node.pop("relation", None)
    for name, stand_in in _NEEDED.get(kind, {}).items():
        if not node.get(name):
            node[name] = stand_in
            changes.note(ChangeCode.FIELD_ADDED, f"`{name}` was missing; it is now `{stand_in}`", identity)


def _edges(given: Iterable[JsonValue], changes: Changes) -> Iterator[dict[str, JsonValue]]:
    seen = set()
    for edge in given:
        fields = edge if isinstance(edge, dict) else {}
        ends = {name: fields.get(name, _alias(fields, others)) for name, others in _ENDS.items()}
        told = f"{ends['from']} {ends['type']} {ends['to']}"[:200]
        if ends["type"] not in _EDGES or not all(isinstance(end, str) and end for end in ends.values()):
            changes.note(ChangeCode.EDGE_REMOVED, f"`{told}` is not an edge of SKI 3.2, and was removed")
        elif told in seen:
            changes.note(ChangeCode.EDGE_REMOVED, f"the edge `{told}` was there twice; one was removed")
        else:
            seen.add(told)
            yield {"type": ends["type"], "from": ends["from"], "to": ends["to"]}


def _alias(fields: Mapping[str, JsonValue], names: Iterable[str]) -> JsonValue:
    return next((fields[name] for name in names if name in fields), None)
