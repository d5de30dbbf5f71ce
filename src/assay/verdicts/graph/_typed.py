"""The typed form of a knowledge graph: `nodes` in eight arrays, and `edges`."""

from collections.abc import Callable
from typing import TypeVar

from assay.kernel.json_text import JsonValue
from assay.verdicts.graph._read import Fields, Reader
from assay.verdicts.graph.condition import parse_conditions
from assay.verdicts.graph.edge import Edge, EdgeType
from assay.verdicts.graph.graph import KnowledgeGraph, NoticeCode
from assay.verdicts.graph.node import (
    Citation,
    Definition,
    Exemption,
    Jurisdiction,
    NodeId,
    NodeType,
    Precedent,
    PrecedentRelation,
    Rule,
    Subject,
)
from assay.verdicts.graph.obligation import PLAIN_PREDICATES, FlatPredicate, Obligation, PredicateName
from assay.verdicts.graph.problem import Path, ProblemCode

_Node = TypeVar("_Node")

_TOP = frozenset({"metadata", "nodes", "edges", "signature"})
_COMMON = frozenset({"id", "type", "version"})
_SUBJECT = _COMMON | {"name", "description"}
_RULE = _COMMON | {"name", "risk_tier", "description", "track"}
_OBLIGATION = _COMMON | {
    "obligation_type",
    "metric",
    "value",
    "unit",
    "effective_date_start",
    "effective_date_end",
    "summary",
    "window_seconds",
    "predicate",
}
_DEFINITION = _COMMON | {"term", "definition_text", "scope"}
_EXEMPTION = _COMMON | {"condition", "description"}
_PRECEDENT = _COMMON | {"summary", "relation"}
_JURISDICTION = _COMMON | {"name", "parent"}
_CITATION = _COMMON | {"source_document", "source_clause", "url"}
_EDGE = frozenset({"type", "from", "to"})
_PREDICATE = frozenset({"name", "value", "min", "max", "seconds", "op", "value_seconds"})
_EDGE_TYPES = {kind.value: kind for kind in EdgeType}
# What no obligation type can say; a comparison is written as a type.
_PREDICATES = {name.value: name for name in PredicateName if name not in PLAIN_PREDICATES}
_COMPARISONS = {name.value: name for name in list(PredicateName)[:5]}


def read_typed(document: Fields, metadata: dict[str, JsonValue], reader: Reader) -> KnowledgeGraph:
    reader.refuse_unknown(document, _TOP, ())
    nodes = reader.members(document.get("nodes"), ("nodes",))
    reader.refuse_unknown(nodes, frozenset(f"{kind}s" for kind in NodeType), ("nodes",))
    return KnowledgeGraph(
        metadata=metadata,
        subjects=_array(reader, nodes, "subjects", _subject),
        rules=_array(reader, nodes, "rules", _rule),
        obligations=_array(reader, nodes, "obligations", _obligation),
        definitions=_array(reader, nodes, "definitions", _definition),
        exemptions=_array(reader, nodes, "exemptions", _exemption),
        precedents=_array(reader, nodes, "precedents", _precedent),
        jurisdictions=_array(reader, nodes, "jurisdictions", _jurisdiction),
        citations=_array(reader, nodes, "citations", _citation),
        edges=_edges(reader, document.get("edges", [])),
        notices=tuple(reader.notices),
        rulings=reader.rulings,
    )


def track_notice(reader: Reader, fields: Fields, rule: NodeId) -> None:
    """SKI 11.3: ignored, and said so."""
    if "track" in fields:
        reader.notice(NoticeCode.TRACK_DEPRECATED, "`track` is deprecated since 3.0 and ignored", rule)


def read_predicate(reader: Reader, fields: Fields, name: PredicateName, path: Path) -> FlatPredicate:
    op = reader.text(fields, "op", path)
    if op is not None and op not in _COMPARISONS:
        reader.choice(op, _COMPARISONS, (*path, "op"))
    return FlatPredicate(
        name=name,
        value=reader.operand(fields, "value", path),
        min=reader.scalar(fields, "min", path),
        max=reader.scalar(fields, "max", path),
        seconds=reader.positive(fields, "seconds", path),
        op=_COMPARISONS.get(op or ""),
        value_seconds=reader.positive(fields, "value_seconds", path),
    )


def _array(
    reader: Reader, nodes: Fields, name: str, read: Callable[[Reader, Fields, Path], _Node]
) -> tuple[_Node, ...]:
    values = reader.items(nodes.get(name, []), ("nodes", name))
    return tuple(
        read(reader, value if isinstance(value, dict) else reader.members(value, path), path)
        for value, path in ((value, ("nodes", name, index)) for index, value in enumerate(values))
    )


def _begin(reader: Reader, fields: Fields, path: Path, kind: NodeType, known: frozenset[str]) -> NodeId:
    """The id; also that the fields are known, and that `type`, where it is written, is that of the array."""
    reader.refuse_unknown(fields, known, path)
    written = reader.text(fields, "type", path)
    if written is not None and written != kind and written.lower() != kind:
        reader.choice(written, (kind,), (*path, "type"))
    return reader.id(fields, path)


def _subject(reader: Reader, fields: Fields, path: Path) -> Subject:
    node = _begin(reader, fields, path, NodeType.SUBJECT, _SUBJECT)
    return Subject(
        id=node,
        name=reader.text(fields, "name", path),
        description=reader.text(fields, "description", path),
        version=reader.version(fields, node, path),
    )


def _rule(reader: Reader, fields: Fields, path: Path) -> Rule:
    node = _begin(reader, fields, path, NodeType.RULE, _RULE)
    track_notice(reader, fields, node)
    return Rule(
        id=node,
        name=reader.text(fields, "name", path),
        risk_tier=reader.text(fields, "risk_tier", path),
        description=reader.text(fields, "description", path),
        version=reader.version(fields, node, path),
    )


def _obligation(reader: Reader, fields: Fields, path: Path) -> Obligation:
    reader.refuse_unknown(fields, _OBLIGATION, path)
    node = reader.id(fields, path)
    start, is_date_start = reader.instant(fields, "effective_date_start", path)
    end, is_date_end = reader.instant(fields, "effective_date_end", path, is_end=True)
    if is_date_start or is_date_end:
        reader.notice(NoticeCode.DATE_ONLY, "a date without a time counts as the whole day in UTC", node)
    predicate, unknown = _predicate(reader, fields, path)
    kind = _obligation_type(reader, fields, path)
    return Obligation(
        id=node,
        # A predicate that nobody knows makes the whole demand one: DISCRETIONARY, and told by its name (SKI 3.3).
        obligation_type=kind if unknown is None else f"{kind} {unknown}",
        metric=reader.text(fields, "metric", path),
        value=reader.operand(fields, "value", path),
        unit=reader.text(fields, "unit", path),
        effective_date_start=start,
        effective_date_end=end,
        summary=reader.text(fields, "summary", path),
        window_seconds=reader.positive(fields, "window_seconds", path),
        predicate=predicate,
        version=reader.version(fields, node, path),
    )


def _obligation_type(reader: Reader, fields: Fields, path: Path) -> str:
    """`obligation_type`, or `type` where that does not merely say that this is an obligation."""
    general, special = reader.text(fields, "type", path), reader.text(fields, "obligation_type", path)
    if general is not None and general.lower() == NodeType.OBLIGATION:
        general = None
    if special is None and general is None:
        reader.complain((*path, "obligation_type"), ProblemCode.REQUIRED, "expected `obligation_type`, got nothing")
    elif special is not None and general is not None and special != general:
        message = f"expected `obligation` or `{special[:80]}` as in `obligation_type`, got `{general[:80]}`"
        reader.complain((*path, "type"), ProblemCode.CHOICE, message)
    return special or general or ""


def _predicate(reader: Reader, fields: Fields, path: Path) -> tuple[FlatPredicate | None, str | None]:
    """The predicate, or the name of one that is not known."""
    if fields.get("predicate") is None:
        return None, None
    place = (*path, "predicate")
    members = reader.members(fields["predicate"], place)
    reader.refuse_unknown(members, _PREDICATE, place)
    written = reader.required(members, "name", place)
    name = _PREDICATES.get(written)
    if name is None and written in set(PredicateName):
        reader.choice(written, _PREDICATES, (*place, "name"))  # a comparison, which the obligation type says
        return None, None
    if name is None:
        return None, written[:80]
    return read_predicate(reader, members, name, place), None


def _definition(reader: Reader, fields: Fields, path: Path) -> Definition:
    node = _begin(reader, fields, path, NodeType.DEFINITION, _DEFINITION)
    return Definition(
        id=node,
        term=reader.required(fields, "term", path),
        definition_text=reader.required(fields, "definition_text", path),
        scope=reader.texts(fields, "scope", path),
        version=reader.version(fields, node, path),
    )


def _exemption(reader: Reader, fields: Fields, path: Path) -> Exemption:
    node = _begin(reader, fields, path, NodeType.EXEMPTION, _EXEMPTION)
    condition = reader.required(fields, "condition", path)
    return Exemption(
        id=node,
        condition=condition,
        formal=parse_conditions(condition),
        description=reader.text(fields, "description", path),
        version=reader.version(fields, node, path),
    )


def _precedent(reader: Reader, fields: Fields, path: Path) -> Precedent:
    node = _begin(reader, fields, path, NodeType.PRECEDENT, _PRECEDENT)
    written = reader.required(fields, "relation", path)
    if written and written not in set(PrecedentRelation):
        reader.choice(written, PrecedentRelation, (*path, "relation"))
    return Precedent(
        id=node,
        summary=reader.required(fields, "summary", path),
        relation=PrecedentRelation(written) if written in set(PrecedentRelation) else PrecedentRelation.INTERPRETS,
        version=reader.version(fields, node, path),
    )


def _jurisdiction(reader: Reader, fields: Fields, path: Path) -> Jurisdiction:
    node = _begin(reader, fields, path, NodeType.JURISDICTION, _JURISDICTION)
    parent = reader.text(fields, "parent", path)
    return Jurisdiction(
        id=node,
        name=reader.text(fields, "name", path),
        parent=NodeId(parent) if parent else None,
        version=reader.version(fields, node, path),
    )


def _citation(reader: Reader, fields: Fields, path: Path) -> Citation:
    node = _begin(reader, fields, path, NodeType.CITATION, _CITATION)
    return Citation(
        id=node,
        source_document=reader.required(fields, "source_document", path),
        source_clause=reader.required(fields, "source_clause", path),
        url=reader.text(fields, "url", path),
        version=reader.version(fields, node, path),
    )


def _edges(reader: Reader, value: JsonValue) -> tuple[Edge, ...]:
    read = (_edge(reader, part, ("edges", index)) for index, part in enumerate(reader.items(value, ("edges",))))
    return tuple(edge for edge in read if edge is not None)


def _edge(reader: Reader, value: JsonValue, path: Path) -> Edge | None:
    fields = reader.members(value, path)
    reader.refuse_unknown(fields, _EDGE, path)
    written = reader.required(fields, "type", path)
    kind = _EDGE_TYPES.get(written)
    source, target = reader.id(fields, path, "from"), reader.id(fields, path, "to")
    if kind is None:
        if written:
            reader.choice(written, _EDGE_TYPES, (*path, "type"), ProblemCode.UNKNOWN_EDGE_TYPE)
        return None
    return Edge(type=kind, source=source, target=target)
