"""What changed between two graphs, in sentences that a compliance officer reads: the rule by name, then what it means.

two graphs -> describe_diff -> sentences, those about rules and limits first
"""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal

from assay.kernel.instant import instant_of, render_instant
from assay.verdicts.graph.diff import Change, FieldChange, GraphDiff, NodeChange, diff_graphs
from assay.verdicts.graph.edge import Edge, EdgeType
from assay.verdicts.graph.graph import KnowledgeGraph, Node
from assay.verdicts.graph.node import (
    Citation,
    Definition,
    Exemption,
    Jurisdiction,
    NodeId,
    NodeType,
    Precedent,
    Rule,
    Subject,
)
from assay.verdicts.graph.obligation import Obligation
from assay.verdicts.graph.obligation_type import ObligationType

# For which a larger operand demands less.
_UPPER = frozenset(
    {ObligationType.MUST_NOT_EXCEED, ObligationType.MUST_BE_BELOW, ObligationType.MUST_NOT_EXCEED_IN_WINDOW}
)
_LOWER = frozenset({ObligationType.MUST_BE_AT_LEAST, ObligationType.MUST_BE_ABOVE})
_LONGEST = 160
_LINKS = {
    EdgeType.APPLIES_TO: ("applies to", "no longer applies to"),
    EdgeType.CONSISTS_OF: ("includes", "no longer includes"),
    EdgeType.DEFINED_BY: ("uses the definition of", "no longer uses the definition of"),
    EdgeType.EXEMPTED_BY: ("is exempted by", "is no longer exempted by"),
    EdgeType.INTERPRETED_BY: ("is read in the light of", "is no longer read in the light of"),
    EdgeType.AMENDED_BY: ("is amended by", "is no longer amended by"),
    EdgeType.SCOPED_TO: ("applies in", "no longer applies in"),
    EdgeType.CITED_BY: ("cites", "no longer cites"),
}
_ORDER = tuple(NodeType)


def describe_diff(before: KnowledgeGraph, after: KnowledgeGraph) -> tuple[str, ...]:
    """One sentence for each change; nothing for graphs that say the same."""
    diff = diff_graphs(before, after)
    return tuple(_Words(before, after, diff).sentences())


def demand_words(node: Obligation) -> str:
    """What an obligation demands, as one reads it."""
    asked = node.obligation_type.replace("_", " ")
    operand = "" if node.value is None else f" {_value(node.value)}"
    unit = "" if node.unit is None else f" {node.unit}"
    window = "" if node.window_seconds is None else f" over {_value(node.window_seconds)} s"
    named = "" if node.predicate is None else f" ({node.predicate.name})"
    return _short(f"{node.metric or 'a matter of judgement'} {asked}{named}{operand}{unit}{window}")


class _Words:
    """Names of both graphs; a node that is gone is still called by its name."""

    def __init__(self, before: KnowledgeGraph, after: KnowledgeGraph, diff: GraphDiff) -> None:
        self._old: dict[NodeId, Node] = {node.id: node for node in before.nodes()}
        self._new: dict[NodeId, Node] = {node.id: node for node in after.nodes()}
        self._rules = _rules_of(before) | _rules_of(after)
        self._diff = diff
        # Edges of nodes that come or go as a whole are part of their sentence.
        self._whole = {one.node for one in diff.nodes if one.change is not Change.CHANGED}

    def sentences(self) -> Iterator[str]:
        for change in sorted(self._diff.nodes, key=lambda one: (_ORDER.index(one.type), one.node)):
            yield from self._node(change)
        for edges, place, verb in ((self._diff.edges_added, 0, "now "), (self._diff.edges_removed, 1, "")):
            for edge in edges:
                if edge.source not in self._whole and edge.target not in self._whole:
                    yield f"{self._name(edge.source)} {verb}{_LINKS[edge.type][place]} {self._name(edge.target)}."
        for field in self._diff.metadata:
            yield f"Metadata `{field.field}`: {_was(field)}."

    def _node(self, change: NodeChange) -> Iterator[str]:
        name = self._name(change.node)
        node = self._new.get(change.node) or self._old[change.node]
        if change.change is not Change.CHANGED:
            what = f": {demand_words(node)}" if isinstance(node, Obligation) else ""
            since = f", {_since(node)}" if isinstance(node, Obligation) and change.change is Change.ADDED else ""
            yield f"{name} was {change.change}{what}{since}{self._reach(change)}."
            return
        old, new = self._old[change.node], self._new[change.node]
        is_limit = isinstance(old, Obligation) and isinstance(new, Obligation)
        told = {"value", "unit", "obligation_type", "metric", "window_seconds", "predicate"} if is_limit else set[str]()
        if isinstance(old, Obligation) and isinstance(new, Obligation) and told & {one.field for one in change.fields}:
            yield f"{name}: {demand_words(old)} became {demand_words(new)}{_direction(old, new)}."
        yield from (f"{name}: {_field_words(field)}." for field in change.fields if field.field not in told)

    def _reach(self, change: NodeChange) -> str:
        """What a rule that comes or goes is about."""
        edges = self._diff.edges_added if change.change is Change.ADDED else self._diff.edges_removed
        subjects = [self._name(one.target) for one in edges if _is_link(one, EdgeType.APPLIES_TO, change.node)]
        return (
            f"; it {'applies' if change.change is Change.ADDED else 'applied'} to {', '.join(subjects)}"
            if subjects
            else ""
        )

    def _name(self, identity: NodeId) -> str:
        node = self._new.get(identity) or self._old.get(identity)
        if isinstance(node, Obligation):
            rule = self._rules.get(identity)
            of_rule = f" of {self._name(rule)}" if rule is not None and rule != identity else ""
            return f"Obligation {_short(identity)}{of_rule}"
        return _short(_called(node, identity))


def _called(node: Node | None, identity: NodeId) -> str:  # noqa: PLR0911  one line for each kind of node
    match node:
        case Rule():
            return f'Rule "{node.name or identity}" ({identity})' if node.name else f"Rule {identity}"
        case Subject():
            return f'subject "{node.name}" ({identity})' if node.name else f"subject {identity}"
        case Jurisdiction():
            return f"{node.name} ({identity})" if node.name else f"jurisdiction {identity}"
        case Exemption():
            return f"the exemption `{node.condition}`"
        case Definition():
            return f'the definition of "{node.term}"'
        case Precedent():
            return f"the precedent {identity}"
        case Citation():
            return f"{node.source_document}, {node.source_clause}"
    return str(identity)


def _is_link(edge: Edge, kind: EdgeType, source: NodeId) -> bool:
    return edge.type is kind and edge.source == source


def _rules_of(graph: KnowledgeGraph) -> dict[NodeId, NodeId]:
    return {edge.target: edge.source for edge in graph.edges if edge.type is EdgeType.CONSISTS_OF}


def _direction(old: Obligation, new: Obligation) -> str:
    """Whether a limit became stricter, where only the limit moved."""
    if (old.obligation_type, old.unit, old.metric) != (new.obligation_type, new.unit, new.metric):
        return ""
    if not isinstance(old.value, Decimal) or not isinstance(new.value, Decimal) or old.value == new.value:
        return ""
    if old.kind in _UPPER:
        return " (stricter)" if new.value < old.value else " (less strict)"
    if old.kind in _LOWER:
        return " (stricter)" if new.value > old.value else " (less strict)"
    return ""


def _field_words(field: FieldChange) -> str:
    words = {
        "effective_date_start": "in force from",
        "effective_date_end": "in force until",
        "risk_tier": "risk tier",
        "parent": "part of",
    }
    return f"{words.get(field.field, field.field.replace('_', ' '))} {_was(field)}"


def _was(field: FieldChange) -> str:
    return f"{_shown(field.before)} became {_shown(field.after)}"


def _since(node: Obligation) -> str:
    start, end = node.effective_date_start, node.effective_date_end
    since = "always in force" if start is None else f"in force from {_day(start)}"
    return since if end is None else f"{since} until {_day(end)}"


def _day(moment: datetime) -> str:
    return render_instant(instant_of(moment)).removesuffix("T00:00:00Z")


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_value(part) for part in value)}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal):
        return format(value.normalize(), "f") if value == value.to_integral_value() else str(value)
    return str(value)


def _shown(value: object) -> str:
    return "nothing" if value is None else f"`{_short(_value(tuple(value) if isinstance(value, list) else value))}`"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
